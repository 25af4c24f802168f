"""Tools as the official handlers of each style send them, and as ours are rendered."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.parity.process import Ask, asker

from toolmark import api
from toolmark.core.records import Message, Request, Text, Tool
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wires.wire import EncoderSettings
from toolmark.models.wires.wire_registry import wire_by_name
from toolmark.official_bfcl import handler_settings
from toolmark.official_bfcl.handler_settings import HandlerSettings
from toolmark.official_bfcl.official_native import OfficialNative

HELLO = (Message(role="user", parts=(Text("hello"),)),)
STYLES = {
    "OPENAI_COMPLETIONS": "OpenAICompletions",
    "OPENAI_RESPONSES": "OpenAIResponses",
    "ANTHROPIC": "Claude",
    "GOOGLE": "Gemini",
    "NOVITA_AI": "Novita",
    "FIREWORK_AI": "Fireworks",
    "WRITER": "Writer",
}
CATEGORIES = (
    "simple_python", "live_multiple", "live_irrelevance", "multi_turn_miss_func", "memory_kv",
    "memory_rec_sum", "web_search_base",
)  # fmt: skip


@pytest.fixture(scope="module")
def looped() -> Ask:
    return asker("official_loops.py")


def digest(tools: tuple[Tool, ...], settings: HandlerSettings) -> str:
    """Return the hash of tools as the wire sends them: it may change their names."""
    profile = EndpointProfile(allows_dots=settings.keeps_dots)
    encoder = wire_by_name(settings.wire).make_encoder(EncoderSettings("m", profile))
    names = encoder.encode_request(Request(messages=HELLO, tools=tools)).names.sent
    sent = [
        {
            "name": names.get(tool.name, tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
            **{name: each for name, each in tool.extra_fields.items() if each is not None},
        }
        for tool in tools
    ]
    return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()


@pytest.mark.long
def test_tools_are_those_of_the_official_handlers(looped: Ask) -> None:
    jobs = [["tools", style, category] for style in STYLES for category in CATEGORIES]
    answers = looped(jobs)
    ours: dict[tuple[str, str], Any] = {}
    for category in CATEGORIES:
        tasks = list(api.load("bfcl", category=category))
        for style, handler in STYLES.items():
            settings = handler_settings.handler_table().handlers[handler]
            shown = OfficialNative(settings)
            ours[style, category] = {
                task.id: digest(
                    shown.render_opening((), task.tools)[1]
                    + shown.render_turn((), tuple(x for turn in task.turns for x in turn.tools))[1],
                    settings,
                )
                for task in tasks
            }
    n = 0
    for (_, style, category), entries in zip(jobs, answers, strict=True):
        apart = [id for id, made in entries if ours[style, category][id] != made]
        n += len(entries)
        assert not apart, (style, category, len(apart), apart[:3])
    print(f"{n} lists of tools in {len(STYLES)} styles")
