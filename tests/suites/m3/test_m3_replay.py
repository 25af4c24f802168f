"""Trajectories are executed again from a clean start; every call is accounted for."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.servers import mcp_fault
from tests.suites.m3.endpoints import Command

from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Image, Result, Task, Text, Tool
from toolmark.environments.mcp import server_packages
from toolmark.runs.record_files import read_records
from toolmark.studio import m3_prediction_layout, m3_replay
from toolmark.studio.m3_replay import RecordedCall, RecordedTrajectory, ReplayedCall

pytestmark = pytest.mark.servers

FAULT = str(Path(mcp_fault.__file__))
ALL = ("one", "two")


def call(name: str, result: Any = ..., **arguments: Any) -> dict[str, Any]:
    collected = {} if result is ... else {"result": result}
    return {"name": name, "arguments": arguments, **collected}


def entry(id: str, *steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    staged = [{"step": at, "calls": calls} for at, calls in enumerate(steps, 1)]
    return {"id": id, "question": "Where?", "steps": staged, "final_reply": "There.", **more}


def files(folder: Path, *entries: dict[str, Any], **servers: Any) -> tuple[Path, Path]:
    """Return a file of trajectories and one of servers; each server fails as its tools say."""
    known = {
        name: {"command": sys.executable, "args": [FAULT], **servers.get(name, {})} for name in ALL
    }
    paths = folder / "held.json", folder / "mcp.json"
    for path, collected in zip(paths, (list(entries), {"mcpServers": known}), strict=True):
        path.write_text(json.dumps(collected))
    return paths


def rows(path: Path) -> list[ReplayedCall]:
    return list(read_records(path, ReplayedCall))


# --- on servers -------------------------------------------------------------------------


def test_each_call_has_its_outcome_and_is_compared_with_its_record(
    toolmark: Command, tmp_path: Path
) -> None:
    collected, servers = files(
        tmp_path,
        entry(
            "a",
            [call("one/echo", "hi", text="hi"), call("one/echo", "ho", text="hi")],
            [call("two/wrong", "[Tool error] there is no such page"), call("two/nothing", "?")],
            [call("two/echo", "Error: not found", odd=1), call("nobody/echo", "Unknown tool: x")],
        ),
        entry("b", [call("one/echo", text="hi"), call("two/picture")]),
    )
    said = toolmark(
        "replay", collected, "--servers", servers, "-o", tmp_path / "out.jsonl", "--json"
    )
    assert said.code == 0, said.err
    made = rows(tmp_path / "out.jsonl")
    assert [(row.task, row.step, row.position) for row in made] == [
        ("a", 1, 1), ("a", 1, 2), ("a", 2, 1), ("a", 2, 2), ("a", 3, 1), ("a", 3, 2),
        ("b", 1, 1), ("b", 1, 2),
    ]  # fmt: skip
    assert [(row.outcome, row.recorded_outcome, row.agreement) for row in made] == [
        ("success", "success", "equal"),
        ("success", "success", "different"),
        ("tool_error", "tool_error", "equal"),
        ("unknown_tool", "success", "different"),
        ("invalid_arguments", "not_found", "different"),
        ("unknown_tool", "unknown_tool", "different"),
        ("success", "", "no record"),
        ("success", "", "no record"),
    ]
    shown = made[-1].result
    assert shown is not None and isinstance(shown.parts[0], Image)
    assert MediaStore(tmp_path / "out.media").read(shown.parts[0]) == mcp_fault.PNG
    found = said.json
    assert (found["n_trajectories"], found["n_calls"], found["n_lost"]) == (2, 8, 0)
    assert found["outcomes"] == {
        "unknown_tool": 2, "invalid_arguments": 1, "tool_error": 1, "success": 4,
    }  # fmt: skip
    assert found["results"] == {"equal": 2, "different": 4, "no record": 2, "not replayed": 0}
    assert found["tools"]["one/echo"] == {
        "success": 3, "equal": 1, "different": 1, "no record": 1,
    }  # fmt: skip


def test_every_trajectory_starts_from_a_clean_workspace(toolmark: Command, tmp_path: Path) -> None:
    made = [
        [call("one/count", "1"), call("one/count", "2")],
        [call("one/count", "3"), call("one/write", path="here.txt", text="x")],
        [call("one/frail", marker="/workspace/here.txt")],
    ]
    collected, servers = files(tmp_path, *(entry(id, *made) for id in "abcdef"))
    out = tmp_path / "out.jsonl"
    said = toolmark("replay", collected, "--servers", servers, "-o", out)
    assert said.code == 0, said.text + said.err
    counted = [row for row in rows(out) if row.name == "one/count"]
    assert {row.agreement for row in counted} == {"equal"} and len(counted) == 18
    texts = {row.result.text for row in rows(out) if row.result and row.name == "one/write"}
    assert texts == {"written: /workspace/here.txt"}
    assert "one     count     18" in said.text and "the call succeeded   30" in said.text


def test_what_cannot_be_replayed_is_said_and_the_rest_goes_on(
    toolmark: Command, tmp_path: Path
) -> None:
    collected, servers = files(
        tmp_path,
        entry("lost", [call("one/echo", "a", text="a"), call("one/die")], [call("one/echo", "b")]),
        entry("dead", [call("two/echo", "a", text="a")]),
        entry("absent", [call("three/echo", "a", text="a")]),
        entry("blind", [call("one/echo", "a", text="a")], image="images/gone.png"),
        entry("good", [call("one/echo", "a", text="a")]),
        one={"restart": False},
        two={"args": [FAULT, "--refuse"]},
    )
    out = tmp_path / "out.jsonl"
    said = toolmark("replay", collected, "--servers", servers, "-o", out, "--json")
    assert said.code == 3
    made = {(row.task, row.step, row.position): row for row in rows(out)}
    assert made["lost", 1, 1].agreement in ("equal", "not replayed")  # they ran at the same time
    assert made["good", 1, 1].agreement == "equal" and not made["good", 1, 1].reason
    reasons = {
        ("lost", 1, 2): "one", ("lost", 2, 1): "an earlier call", ("dead", 1, 1): "two",
        ("absent", 1, 1): "three: not configured", ("blind", 1, 1): "gone.png",
    }  # fmt: skip
    for place, reported in reasons.items():
        assert made[place].agreement == "not replayed" and not made[place].outcome
        assert reported in made[place].reason, made[place]
    assert said.json["n_lost"] == 4
    assert toolmark("replay", collected, "--servers", servers, "-o", out, "--ids", "good").code == 0
    assert [row.task for row in rows(out)] == ["good"]
    assert "did you mean: good" in toolmark(
        "replay", collected, "--servers", servers, "--ids", "god"
    ).err  # fmt: skip


def test_arguments_are_sent_as_the_published_executor_sends_them(
    toolmark: Command, tmp_path: Path
) -> None:
    made: list[dict[str, Any]] = [
        {"name": "one/echo", "arguments": '{"text": "hi"}', "result": "hi"},
        {"name": "one/count", "arguments": None, "result": "1"},
        {"name": "one/where", "result": "/workspace"},
    ]
    collected, servers = files(tmp_path, entry("a", *([each] for each in made)))
    out = tmp_path / "out.jsonl"
    assert toolmark("replay", collected, "--servers", servers, "-o", out).code == 0
    assert [row.agreement for row in rows(out)] == ["equal"] * 3


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_said_of_equal_results_is_said_where_any_were_compared(
    toolmark: Command, tmp_path: Path, recorded: bool
) -> None:
    collected, servers = files(
        tmp_path, entry("a", [call("one/echo", *(["hi"] if recorded else []), text="hi")])
    )
    said = toolmark("replay", collected, "--servers", servers, "-o", tmp_path / "again.jsonl")
    assert said.code == 0
    assert ("Results are equal where" in said.text) == recorded


# --- a run ------------------------------------------------------------------------------


def test_a_recorded_run_is_replayed_from_its_recording(toolmark: Command, tmp_path: Path) -> None:
    collected, servers = files(
        tmp_path,
        entry("a", [call("one/count"), call("one/echo", text="hi")], [call("one/count")]),
        entry("b", [call("two/wrong")]),
    )
    tape = tmp_path / "tape.jsonl"
    words = ("-T", f"truths={collected}", "-T", f"servers={servers}", "-T", "similarity=exact")
    run = toolmark("run", "m3", "-m", "control/oracle", *words, "-T", f"cassette={tape}",
                   "-T", "mode=record", "--log-dir", tmp_path / "runs", "--json")  # fmt: skip
    assert run.json["n_run"] == 2, run.err
    path = Path(run.json["run_dir"])
    part = toolmark("replay", path, "--cassette", tape, "--ids", "b", "--json")
    assert part.json["path"] == str(path / "replay-part.jsonl") and part.json["n_calls"] == 1
    assert not (path / "replay.jsonl").exists()
    for source in ("--cassette", tape), ("--servers", servers):
        again = toolmark("replay", path, *source, "--json")
        assert again.code == 0, again.text
        assert again.json["results"]["equal"] == again.json["n_calls"] == 4
        assert again.json["outcomes"] == again.json["recorded"]
        assert [row.agreement for row in rows(path / "replay.jsonl")] == ["equal"] * 4
    saved = [line for line in tape.read_text().splitlines() if '"echo"' not in line]
    tape.write_text("".join(f"{line}\n" for line in saved if '"text":"hi"' not in line))
    again = toolmark("replay", path, "--cassette", tape, "--json")
    assert again.code == 3 and again.json["n_lost"] == 1
    assert any("no recorded answer" in reason for reason in again.json["reasons"])


def test_a_run_of_m3_local_is_replayed_on_its_own_servers(
    toolmark: Command, tmp_path: Path
) -> None:
    assert server_packages.install_environments(server_packages.read_pinned_environments()) == {}
    run = toolmark("run", "m3-local", "-m", "control/oracle", "-T", "family=clock", "--seed", "3",
                   "--limit", "1", "--log-dir", tmp_path, "--json")  # fmt: skip
    assert run.json["n_run"] == 1, run.err
    again = toolmark("replay", run.json["run_dir"], "--json")
    assert again.code == 0, again.text
    assert again.json["results"]["equal"] == again.json["n_calls"] > 1


def test_what_has_no_trajectories_or_nobody_to_answer_is_refused(
    toolmark: Command, tmp_path: Path
) -> None:
    collected, servers = files(tmp_path, entry("a", [call("one/echo")]))
    assert toolmark("replay", collected).code == 2
    collected.write_text(json.dumps([{"id": "a", "steps": [{"calls": [{}]}]}]))
    said = toolmark("replay", collected, "--servers", servers)
    assert said.code == 2 and "$[0].steps[0].calls[0]" in said.err
    said = toolmark("replay", tmp_path, "--servers", servers)
    assert said.code == 2 and "not a run folder" in said.err


# --- in a world of the test's own -------------------------------------------------------


class Meeting(Environment):
    """A world whose calls end only when all of their step are there; steps follow each other."""

    max_parallel_calls = 3

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.met: list[int] = []
        self.here = 0
        self.all = asyncio.Event()

    async def tools(self) -> tuple[Tool, ...]:
        return (Tool(name="t"),)

    async def call(self, call: Call, /) -> Result:
        self.here += 1
        everybody = self.all
        if self.here == self.sizes[len(self.met)]:
            self.met.append(self.here)
            self.here, self.all = 0, asyncio.Event()
            everybody.set()
        await everybody.wait()
        return Result(parts=(Text(f"{len(self.met)}"),))

    async def final_state(self) -> Any:
        return None


class Hall(EnvironmentFactory):
    """A site of one world, or of one that cannot be opened."""

    def __init__(self, environment: Environment | None) -> None:
        self.collected = environment

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        if self.collected is None:
            raise ToolEnvironmentError("closed")
        yield self.collected


def past(*sizes: int) -> RecordedTrajectory:
    task = Task(id="t", suite="m3", turns=(), data={"answer": "", "similarity": "exact"})
    done = RecordedCall(Call(name="t"), None, "")
    return RecordedTrajectory(task, 0, tuple((done,) * size for size in sizes))


async def played(site: EnvironmentFactory, each: RecordedTrajectory) -> list[ReplayedCall]:
    async with asyncio.timeout(20):
        return await m3_replay.replay_trajectory(each, site)


def test_calls_of_a_step_run_together_and_steps_follow_each_other() -> None:
    found = asyncio.run(played(Hall(Meeting([3, 1, 2])), past(3, 1, 2)))
    assert [row.result.text for row in found if row.result] == ["1", "1", "1", "2", "3", "3"]


def test_no_call_is_replayed_where_the_environment_does_not_open() -> None:
    found = asyncio.run(played(Hall(None), past(2, 1)))
    assert [row.reason for row in found] == ["closed"] * 3
    assert asyncio.run(played(Hall(None), past())) == []


def test_results_are_equal_where_a_model_sees_the_same(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    picture = media.add_image(mcp_fault.PNG, "image/png")
    own = Result(parts=(Text("a"), Text("b"), picture), structured={"x": 1}, is_error=True)
    text = m3_prediction_layout.published_result(Result(parts=own.parts), media)
    collected = m3_prediction_layout.entry_to_trajectory(
        Task(id="a", suite="m3", turns=(), data={"answer": "", "similarity": "exact"}),
        entry("a", [{"name": "t", "result": text}]),
        media,
    )
    assert m3_replay.visible_result(collected.steps[0].results[0]) == m3_replay.visible_result(own)
    assert m3_replay.visible_result(Result(structured=1)) != m3_replay.visible_result(
        Result(structured=2)
    )
