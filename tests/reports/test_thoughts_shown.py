"""Readable thoughts of every wire are shown with the reply that they came with."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.models import thinking_runs
from tests.reports.page_reader import read_page
from tests.servers import (
    anthropic_server,
    fake,
    gemini_server,
    planning_endpoint,
    responses_server,
    streams,
)

import toolmark as tm
from toolmark.cli.episode_output import print_episode
from toolmark.models.wire_names import WireName

Behaviour = Callable[[fake.Asked, asyncio.StreamWriter], Awaitable[Any]]


async def think_in_chat(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
    """Stream the planner's reply with thoughts."""
    answer = await planning_endpoint.play(fake.Asked("", {}, json.dumps(asked.json).encode()))
    step = sum(each["role"] == "assistant" for each in asked.json["messages"])
    answer["choices"][0]["message"]["reasoning_content"] = f"Step {step}."
    writer.write(streams.chunked([streams.events(streams.chunks(answer))]))
    await writer.drain()


THINKERS: dict[WireName, Callable[[], Behaviour]] = {
    "chat": lambda: think_in_chat,
    "anthropic": anthropic_server.Thinker,
    "responses": responses_server.Thinker,
    "gemini": gemini_server.Thinker,
}


@pytest.mark.parametrize("wire", THINKERS)
def test_thoughts_and_times_of_every_wire_are_shown(wire: WireName, tmp_path: Path) -> None:
    with fake.in_thread(THINKERS[wire]()) as server:
        run = thinking_runs.play(server, tmp_path, wire, stream=True)
    episode = next(run.trajectories())
    thoughts = [f"Step {index}." for index in range(len(episode.steps))]
    console = Console(record=True, width=400, file=io.StringIO())
    print_episode(console, run.task(episode.task), episode, None, ())
    lines = console.export_text().splitlines()
    shown = [line for line in lines if line.startswith("  reasoning: ")]
    assert shown == [f"  reasoning: {each}" for each in thoughts]
    blocks = read_page(tm.write_report(run)).blocks
    pages = [each["steps"] for name, each in blocks.items() if name.startswith("e")]
    assert thoughts in [[step["reasoning"] for step in each] for each in pages]
    facts = run.summary()["replies"]
    assert facts["first_token_s"]["n"] == facts["latency_s"]["n"] == facts["n_replies"]
    steps = [step for each in run.trajectories() for step in each.steps]
    assert facts["first_call_s"]["n"] == sum(bool(step.reply.calls) for step in steps)
    assert facts["models"]["n_names"] == 1
