"""FuncBench played by a scripted thinker, through the wire that its server speaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from tests.servers import fake

import toolmark as tm
from toolmark.models.wire_names import WireName
from toolmark.runs.run_store import Run

SIZES: dict[str, Any] = {"core": 6, "depth": 3, "graphs": 4, "seed": 5}
"""Tasks of several steps, some of which have more than one call."""


class ScriptedThinker(Protocol):
    """A server that plays the planner; it fails from request `fails_from` on."""

    fails_from: int | None
    bodies: list[dict[str, Any]]

    def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> Awaitable[None]: ...


def play(
    server: fake.Server, folder: Path, wire: WireName, model: str = "thinker", **more: Any
) -> Run:
    """Run FuncBench on a thinker."""
    settings: dict[str, Any] = {"wire": wire, "log_dir": folder, "max_retries": 0} | more
    return tm.run(tm.load("funcbench", **SIZES), f"{server.url}#{model}", **settings)


def success(run: Run) -> float:
    """Return the share of the tasks that were solved, all of which ran."""
    found = run.summary()
    assert found["n_not_run"] == 0
    return float(found["score"]["value"])


def check_resumption(
    thinker: ScriptedThinker, play: Callable[..., Run], folder: Path, *, stream: bool
) -> None:
    """Check a run that breaks off, goes on, and is played again from its cache.

    The thinker fails from its `fails_from` on until the run goes on. No request is sent twice.
    """
    settings: dict[str, Any] = {"cache": folder / "cache", "max_connections": 1, "stream": stream}
    with fake.in_thread(thinker) as server:
        broken = play(server, folder / "runs", **settings)
        assert len(broken.completed_episodes()) < broken.info.n_episodes
        n_asked = len(thinker.bodies)
        thinker.fails_from = None
        whole = play(server, folder / "runs", **settings)
        assert whole.path == broken.path and success(whole) == 1.0
        asked = [json.dumps(body) for body in thinker.bodies]
        assert len(asked) == len(set(asked)) > n_asked
        again = play(server, folder / "again", replay_only=True, **settings)
        assert success(again) == 1.0 and len(thinker.bodies) == len(asked)
