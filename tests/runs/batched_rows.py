"""Rows that are asked in batches: runs of them, what they come to, and how they are stopped."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
from tests.servers.batch_server import BatchServer

import toolmark as tm
from toolmark.models.wire_names import check_wire_name
from toolmark.runs import runner
from toolmark.runs.run_store import Run

Json = dict[str, Any]
N_ROWS = 24
ROWS = "rows.jsonl"


def write_rows(folder: Path) -> None:
    """Write the rows into a folder."""
    schema = {"type": "object", "properties": {"of": {"type": "string"}}}
    tool = {"name": "add", "parameters": schema}
    rows = [
        {"id": f"row-{i}", "question": _question(i), "tools": [tool], "expected": [
            {"name": "add", "arguments": {"of": _question(i)}}], "category": f"c{i % 3}"}
        for i in range(N_ROWS)
    ]  # fmt: skip
    (folder / ROWS).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _question(number: int) -> str:
    """Return a question whose answer is right, wrong, a complaint, or none."""
    word = "say" if number % 4 == 0 else "long" if number == 5 else "call"
    return f"{'wrong' if number == 6 else word} {number}"


def run_rows(url: str, wire: str, *, batch: bool, **more: Any) -> Run:
    """Run the rows of the current folder."""
    settings: Json = {"wire": wire, "log_dir": "batched" if batch else "single", "max_retries": 0}
    return tm.run(ROWS, f"{url}#m", batch=batch, **settings, **more)


def facts(run: Run) -> tuple[Any, Any, Any]:
    """Return scores, replies and failures, without times and places."""
    summary = dict(run.summary())
    spent = {name: summary["spent"][name] for name in ("n_episodes", "n_requests", "tokens")}
    named = summary | {"run_dir": "", "model": "", "spent": spent, "replies": None}
    replies = sorted(
        (t.task, s.reply.text, s.reply.calls, s.reply.stop, s.reply.usage)
        for t in run.trajectories()
        for s in t.steps
    )
    scores = sorted(
        (
            each.task,
            json.dumps(msgspec.to_builtins(each.verdicts)),
            each.failure and each.failure.summary.partition(" (request id")[0],
        )
        for each in run.scores()
    )
    return named, replies, scores


class Stopped:
    """A watcher that stops a run when a server was asked a request."""

    def __init__(self, server: BatchServer, at: str) -> None:
        self.stop: asyncio.Event | None = None
        self.server, self.at = server, at
        self.seen: list[str] = []

    def __call__(self, progress: runner.Progress) -> None:
        self.seen.append(progress.activity)
        if self.stop is not None and any(r.startswith(self.at) for r in self.server.asked):
            self.stop.set()


def stop_at(url: str, wire: str, server: BatchServer, at: str) -> tuple[Run, list[str]]:
    """Run in batches until the server is asked this; return what was shown too."""

    async def main() -> tuple[Run, list[str]]:
        watcher = Stopped(server, at)
        watcher.stop = asyncio.Event()
        found = await tm.arun(
            ROWS, f"{url}#m", batch=True, wire=check_wire_name(wire), log_dir="batched",
            max_retries=0, watch=watcher, stop=watcher.stop,
        )  # fmt: skip
        return found, watcher.seen

    return asyncio.run(main())
