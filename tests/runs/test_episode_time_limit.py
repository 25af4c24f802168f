"""An episode that takes too long is left, told and cleaned up; the others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import fault, gone, soon
from tests.runs import mini

import toolmark as tm
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Message, Reply, Request, Result, Task, Text, Turn
from toolmark.environments.mcp.mcp_environment import McpServersFactory
from toolmark.environments.mcp.server_config import parse_config
from toolmark.formats.native_format import NativeFormat
from toolmark.runs import episode_time_limit
from toolmark.runs.circuit_breaker import MAX_CONSECUTIVE_FAILURES
from toolmark.runs.run_store import Run
from toolmark.runs.suite import EnvironmentSource, Suite

pytestmark = pytest.mark.servers

FOREVER_S = 3600.0


class Stuck(mini.World):
    """Hangs in its calls; `was_called` is set by the first one."""

    was_called = False

    async def call(self, call: Call, /) -> Result:
        Stuck.was_called = True
        await asyncio.sleep(FOREVER_S)
        return await super().call(call)


class Stubborn(mini.World):
    """Makes something of its own of being cancelled."""

    async def call(self, call: Call, /) -> Result:
        try:
            await asyncio.sleep(FOREVER_S)
        except asyncio.CancelledError:
            raise RuntimeError("the line went dead") from None
        return await super().call(call)


class Site(EnvironmentFactory):
    """Gives worlds; some tasks get worlds that hang: in a call, when they open, as they close."""

    def __init__(self, hanging: Mapping[str, str]) -> None:
        self.hanging = hanging
        self.open = 0

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[mini.World]:
        how = self.hanging.get(task.id, "")
        if how == "opening":
            await asyncio.sleep(FOREVER_S)
        self.open += 1
        try:
            yield {"call": Stuck, "stubborn": Stubborn}.get(how, mini.World)(needed)
        finally:
            self.open -= 1
            if how == "closing":
                await asyncio.sleep(FOREVER_S)


def suite(site: Any, tasks: Any) -> Suite:
    @asynccontextmanager
    async def opened(media: MediaStore) -> AsyncIterator[Any]:
        yield site

    return Suite(
        name="mini",
        tasks=tasks,
        scorer=mini.SCORER,
        environment=EnvironmentSource(open=opened),
        tool_formats={"native": NativeFormat()},
    )


def reasons(run: Run) -> dict[str, tuple[str, str]]:
    return {each.task: (each.failure.stage, each.failure.kind) for each in run.attempts()}


def test_an_environment_that_hangs_costs_its_own_episode_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_time_limit, "CLEANUP_LIMIT_S", 0.2)
    site = Site({"sum-1": "call", "sum-3": "opening", "sum-4": "closing", "sum-6": "stubborn"})

    async def play() -> tuple[Run, int]:
        found = await tm.arun(
            suite(site, mini.Sums(12)), mini.Adder(), log_dir=tmp_path, time_limit_s=0.3,
            max_connections=2,
        )  # fmt: skip
        return found, len(asyncio.all_tasks())

    found, left = asyncio.run(play())
    assert reasons(found) == {f"sum-{i}": ("environment", "time_limit") for i in (1, 3, 4, 6)}
    assert found.summary()["n_run"] == 8 and found.summary()["score"]["value"] == 1.0
    assert site.open == 0 and left == 1  # the one that looks
    (stuck,) = [each for each in found.attempts() if each.task == "sum-1"]
    assert stuck.steps == ()

    site.hanging = {}  # the same command, and another limit, ask what is missing
    again = tm.run(suite(site, mini.Sums(12)), mini.Adder(), log_dir=tmp_path, time_limit_s=60)
    assert again.path == found.path and again.summary()["n_not_run"] == 0


class Slow(mini.Adder):
    """Answers some items never."""

    def __init__(self, never: range) -> None:
        super().__init__()
        self.never = never

    async def __call__(self, request: Request, /) -> Reply:
        reply = await super().__call__(request)
        if self.asked[-1][0] in self.never and request.messages[-1].role == "tool":
            await asyncio.sleep(FOREVER_S)
        return reply


def test_a_model_that_hangs_is_distinguished_and_its_steps_are_stored(tmp_path: Path) -> None:
    found = tm.run(
        mini.load(n=6), Slow(range(2, 3)), log_dir=tmp_path, time_limit_s=0.3, max_connections=1
    )
    assert reasons(found) == {"sum-2": ("model", "time_limit")}
    (attempt,) = found.attempts()
    assert [len(step.results) for step in attempt.steps] == [1]
    spent = found.summary()["spent"]
    assert spent["n_episodes"] == 5 and spent["not_run"] == {
        "input": 5, "output": 3, "reasoning": 0, "cached": 0, "cache_written": 0,
    }  # fmt: skip


def test_a_model_that_always_hangs_meets_the_breaker_and_an_environment_does_not(
    tmp_path: Path,
) -> None:
    n = MAX_CONSECUTIVE_FAILURES + 10
    dead = tm.run(
        mini.load(n=n), Slow(range(n)), log_dir=tmp_path / "a", time_limit_s=0.05, max_connections=1
    )
    stages = [stage for stage, _ in reasons(dead).values()]
    assert stages == ["model"] * MAX_CONSECUTIVE_FAILURES + ["run"] * 10
    site = Site({f"sum-{i}": "call" for i in range(n)})
    stuck = tm.run(
        suite(site, mini.Sums(n)), mini.Adder(), log_dir=tmp_path / "b", time_limit_s=0.05
    )
    assert {stage for stage, _ in reasons(stuck).values()} == {"environment"}


def test_who_stops_a_run_is_not_taken_for_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stuck, "was_called", False)

    async def play() -> Run:
        stop = asyncio.Event()

        async def stop_in_a_call() -> None:
            while not Stuck.was_called:
                await asyncio.sleep(0.01)
            stop.set()

        stopper = asyncio.create_task(stop_in_a_call())
        run = await tm.arun(
            suite(Site({"sum-0": "call"}), mini.Sums(1)), mini.Adder(), log_dir=tmp_path,
            time_limit_s=FOREVER_S, stop=stop,
        )  # fmt: skip
        await stopper
        return run

    assert reasons(asyncio.run(play())) == {"sum-0": ("run", "stopped")}  # its reply is paid for


class Caller(Model):
    """Calls one tool, and repeats what it says."""

    name = "caller"

    async def __call__(self, request: Request, /) -> Reply:
        last = request.messages[-1]
        if last.role == "tool":
            return Reply(text=last.text)
        return Reply(calls=(Call(name=request.messages[0].text, arguments="{}", id="c"),))


def test_a_server_that_hangs_ends_with_its_episode(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    tasks = [
        Task(
            id=name, item=name, suite="mini", data={"servers": (name[0],)},
            turns=(Turn(messages=(Message(role="user", parts=(Text(name),)),)),),
        )
        for name in ("a/hang", "b/where")
    ]  # fmt: skip
    servers = parse_config({"mcpServers": {"a": fault("--child", str(note)), "b": fault()}}, "x")

    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[McpServersFactory]:
        async with McpServersFactory(servers, media) as opened:
            yield opened

    played = Suite(
        name="mini",
        tasks=tasks,
        scorer=mini.SCORER,
        environment=EnvironmentSource(open=site),
        tool_formats={"native": NativeFormat()},
    )
    found = tm.run(
        played, Caller(), log_dir=tmp_path / "runs", time_limit_s=5, max_connections=1,
        sandbox="off",  # in one the ids of processes are others
    )  # fmt: skip
    assert reasons(found) == {"a/hang": ("environment", "time_limit")}
    assert [each.task for each in found.trajectories()] == ["b/where"]
    for pid in map(int, note.read_text().split()):
        assert asyncio.run(soon(lambda pid=pid: gone(pid)))  # type: ignore[misc]


@pytest.mark.parametrize("odd", [0, -1.0, float("nan"), float("inf"), "long"])
def test_what_is_no_length_is_refused(tmp_path: Path, odd: Any) -> None:
    with pytest.raises(UsageError, match="time_limit_s"):
        tm.run(mini.load(n=1), mini.Adder(), log_dir=tmp_path, time_limit_s=odd)
    assert not list(tmp_path.iterdir())


def test_a_reply_made_of_being_cancelled_is_no_answer(tmp_path: Path) -> None:
    async def careless(request: Request, /) -> Reply:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(FOREVER_S)
        return Reply(text="error")

    run = tm.run(mini.load(n=2), careless, log_dir=tmp_path, time_limit_s=0.2, max_retries=0)
    assert not run.completed_episodes()
    assert {kind for _, kind in reasons(run).values()} == {"time_limit"}
