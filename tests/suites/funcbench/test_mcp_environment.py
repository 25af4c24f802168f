"""The same tasks over MCP: equal episodes, an exact schedule, and a server that never stays."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.environments.mcp.mcp_episodes import gone, soon
from tests.reports.page_reader import read_page
from tests.suites.funcbench.mcp_episodes import MODELS, Make, Stage, play, some
from tests.timeless import without_durations

import toolmark as tm
from toolmark import api
from toolmark.core import json_codec
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Result, Task
from toolmark.environments.class_environments import ClassEnvironments
from toolmark.environments.function_graph import (
    FunctionGraphEnvironment,
    GraphIndex,
    read_graph,
)
from toolmark.runs.floors.floor_records import FLOORS_FILE, read_floors
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench import funcbench_controls, mcp_environment, workflow_alignment
from toolmark.suites.funcbench.funcbench_suite import SCORER
from toolmark.suites.funcbench.mcp_task_server import find_in_folder

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    found = Stage(tmp_path_factory.mktemp("media"))
    yield found
    found.close()


# --- episodes ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_an_episode_over_mcp_is_the_one_in_the_process(name: str, stage: Stage) -> None:
    tasks = [
        *some(cap="none"),
        *some(cap="none", restate=True),
        *some(core=12, depth=6, graphs=1),
    ]
    near = asyncio.run(play(ClassEnvironments(FunctionGraphEnvironment), tasks, MODELS[name]))
    near = [*map(without_durations, near)]
    far = [*map(without_durations, stage.run(play(stage.site, tasks, MODELS[name])))]
    assert far == near  # steps, results, answers, final states, tools
    for task, one, other in zip(sorted(tasks, key=lambda t: t.id), near, far, strict=True):
        assert SCORER.score(Episode(task, one)) == SCORER.score(Episode(task, other))


FUNCTION = some()[0].data["graph"]["nodes"][0]
NAMES = [x["parameter"] for x in FUNCTION["inputs"]]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = (
    st.dictionaries(st.sampled_from([*NAMES, "other", "_meta", "/workspace"]), VALUES).map(
        json.dumps
    )
    | st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 999) | VALUES)).map(json.dumps)
    | VALUES.map(json.dumps)
    | st.text()
    | st.sampled_from(["", "null", "{", '{"a": 1e999}', '{"\\ud800": 1}', f'{{"a": {"9" * 5000}}}'])
)
CALLS = st.builds(
    Call,
    name=st.just(FUNCTION["function"]) | st.sampled_from(["", "nope", "funcbench/x", "\ufdd0d800"]),
    arguments=ARGUMENTS,
)


@given(st.lists(CALLS, min_size=1, max_size=20))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_call_has_the_result_it_has_in_the_process(stage: Stage, calls: list[Call]) -> None:
    task = some(restate=True)[0]

    async def scene() -> tuple[list[Result], list[Result]]:
        dag = FunctionGraphEnvironment(task)
        async with stage.site.open_environment(task, {}) as world:
            return (
                [await dag.call(call) for call in calls],
                [await world.call(call) for call in calls],
            )

    near, far = stage.run(scene())
    assert far == near


def test_episodes_of_one_task_do_not_know_each_others_values(stage: Stage) -> None:
    task = some(restate=True)[0]
    copies = [replace(task, id=str(number)) for number in range(20)]
    found = stage.run(play(stage.site, copies, MODELS["oracle, one by one"], n=20))
    (near,) = asyncio.run(
        play(ClassEnvironments(FunctionGraphEnvironment), [task], MODELS["oracle, one by one"])
    )
    steps = without_durations(near).steps
    assert all(without_durations(trajectory).steps == steps for trajectory in found)


def test_calls_of_a_reply_run_at_once_unless_their_order_shows(stage: Stage) -> None:
    async def at_once(task: Task) -> int:
        async with stage.site.open_environment(task, {}) as world:
            return world.max_parallel_calls

    assert stage.run(at_once(some()[0])) > 1
    assert stage.run(at_once(some(restate=True)[0])) == 1


def test_a_run_over_mcp_scores_reports_and_pairs_with_one_in_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parameters = {"core": 5, "depth": 2, "graphs": 4, "seed": 9}
    near = api.run(api.load("funcbench", **parameters), "control/oracle", log_dir=tmp_path)
    far = api.run(
        api.load("funcbench", transport="mcp", **parameters), "control/oracle", log_dir=tmp_path
    )
    by_task = {x.task: without_durations(x) for x in near.trajectories()}
    assert {x.task: without_durations(x) for x in far.trajectories()} == by_task
    schedule = "Alignment with the ideal schedule"
    assert schedule in read_page(api.write_report(far)).root.tables
    assert schedule not in read_page(api.write_report(near)).root.tables
    assert api.compare(near, far).paired.n_pairs == 4


def test_what_replies_nothing_scores_without_the_server_as_with_it(tmp_path: Path) -> None:
    suite = api.load("funcbench", core=4, depth=2, graphs=3, seed=9, transport="mcp")
    run = api.run(suite, "baseline/planner", log_dir=tmp_path)
    found = run.summary()["floors"]["agents"]
    assert found["control/null"]["value"] == 0
    assert "--floors all" in found["baseline/eager"]["not_computed"]
    idle = read_floors(run.path)
    source = dataclasses.replace(suite.environment, open_idle=None)
    with_server = dataclasses.replace(suite, environment=source)
    (run.path / FLOORS_FILE).unlink()
    api.rescore(run, with_server, floors="all")
    played = read_floors(run.path)
    assert idle is not None and played is not None
    assert played.floors[0].scores == idle.floors[0].scores
    assert run.summary()["floors"]["agents"]["baseline/eager"]["value"] > 0


# --- the server process -----------------------------------------------------------------


@asynccontextmanager
async def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open a site and give it with the server processes that it starts."""
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def spy(*words: Any, **more: Any) -> asyncio.subprocess.Process:
        started.append(await start(*words, **more))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", spy)
    async with (
        asyncio.timeout(100),
        mcp_environment.open_mcp_environments(MediaStore(folder)) as site,
    ):
        yield site, started


def test_one_process_serves_all_episodes_and_ends_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with watched(tmp_path, monkeypatch) as (site, started):
            await play(site, some(), MODELS["planner"])
            assert len(started) == 1 and started[0].returncode is None
        assert gone(started[0].pid)

    asyncio.run(scene())


def test_a_server_that_dies_costs_the_episodes_under_way_and_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = some()[0]

    async def discard(
        site: EnvironmentFactory, started: list[asyncio.subprocess.Process], n: int
    ) -> None:
        with pytest.raises(ToolEnvironmentError, match="'funcbench'"):
            async with site.open_environment(task, {}) as world:
                assert len(started) == n
                started[-1].kill()
                await started[-1].wait()
                for node in task.data["graph"]["nodes"]:
                    await world.call(Call(name=node["function"], arguments='{"a": 1}'))

    async def scene() -> None:
        async with watched(tmp_path, monkeypatch) as (site, started):
            await discard(site, started, 1)
            (solved,) = await play(site, [task], MODELS["planner"])
            assert SCORER.score(Episode(task, solved))["official"].outcome == "correct"
            assert len(started) == 2
            await discard(site, started, 2)
            with pytest.raises(ToolEnvironmentError, match="'funcbench' did not start"):
                async with site.open_environment(task, {}):
                    pass
            assert len(started) == 2

    asyncio.run(scene())


def test_a_server_that_cannot_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_environment, "_MODULE", "toolmark.no_such_module")

    async def scene() -> None:
        async with watched(tmp_path, monkeypatch) as (site, started):
            with pytest.raises(ToolEnvironmentError, match=r"stderr: .*no_such_module"):
                async with site.open_environment(some()[0], {}):
                    pass
            assert await soon(lambda: len(started) == 2)

    asyncio.run(scene())


def test_the_server_ends_when_the_run_is_gone_without_a_word(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd = listener.fileno()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "toolmark.suites.funcbench.mcp_task_server",
                str(fd),
                str(tmp_path),
            ],
            pass_fds=(fd,),
            stdin=subprocess.PIPE,
        )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 0


@pytest.mark.parametrize("name", ["nope", "../outside", "%2e%2e/outside", ""])
def test_the_server_knows_no_task_outside_its_folder(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.json").write_bytes(json_codec.encode_record(some()[0]))
    assert find_in_folder(inside)(name) is None
    (inside / "e1.json").write_bytes(json_codec.encode_record(some()[0]))
    assert find_in_folder(inside)("/tmp/any/e1") == some()[0]


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "mcp" else find(name))
    with pytest.raises(UsageError, match=r"-m pip install .*\[m3\]'"):
        tm.load("funcbench", transport="mcp")
    with pytest.raises(UsageError, match="did you mean: mcp"):
        tm.load("funcbench", transport="mpc")


# --- the ideal schedule -----------------------------------------------------------------

SIZES = st.fixed_dictionaries(
    {
        "core": st.integers(7, 14),
        "depth": st.integers(1, 6),
        "connected": st.integers(0, 4),
        "disconnected": st.integers(0, 4),
        "root_inputs": st.integers(1, 2),
        "seed": st.integers(0, 2**32),
    }
)


@given(SIZES)
@settings(max_examples=60, deadline=None)
def test_the_schedule_makes_every_needed_call_as_early_as_can_be(sizes: dict[str, Any]) -> None:
    (task,) = tm.load("funcbench", graphs=1, **sizes)
    truth = GraphIndex(read_graph(task))
    steps = workflow_alignment.ideal_schedule(task)
    assert [step["step"] for step in steps] == list(range(1, sizes["depth"] + 2))
    at = {call["name"]: step["step"] for step in steps for call in step["calls"]}
    calls = [call for step in steps for call in step["calls"]]
    assert len(at) == len(calls) == sizes["core"]
    for call in calls:
        node = truth.nodes[call["name"]]
        assert node.kind == "core" and truth.has_true_inputs(node, call["arguments"])
        assert set(call["arguments"]) == {x.parameter for x in node.inputs}
        assert at[call["name"]] == 1 + max(at.get(x.source, 0) for x in node.inputs)


@pytest.mark.parametrize(("core", "threads"), [(4, "single"), (6, "multi")])
def test_a_task_over_mcp_is_the_same_task_with_its_kind(core: int, threads: str) -> None:
    near = list(tm.load("funcbench", core=core, depth=3, graphs=3, seed=2))
    far = list(tm.load("funcbench", core=core, depth=3, graphs=3, seed=2, transport="mcp"))
    more = {"transport": "mcp", "hops": "multi", "threads": threads}
    assert far == [replace(task, axes=task.axes | more) for task in near]


def aligned(task: Task, make: Make, play: Any) -> Mapping[str, float]:
    ((_, trajectory),) = play([task], make)
    return {
        name: value
        for name, value in SCORER.score(Episode(task, trajectory))["official"].parts.items()
        if name.startswith("align_")
    }


NAMED = {f"align_{name}" for name in ("recall", "precision", "order", "coherence", "purity")}


@pytest.mark.parametrize("name", ["oracle", "planner"])
def test_whoever_keeps_to_the_schedule_is_aligned_with_it(name: str, play: Any) -> None:
    for task in tm.load("funcbench", preset="main-caption", graphs=1, seed=11, transport="mcp"):
        assert aligned(task, MODELS[name], play) == dict.fromkeys(NAMED, 1.0)


def test_tasks_in_the_process_are_not_aligned(play: Any) -> None:
    assert aligned(some()[0], MODELS["oracle"], play) == {}


def test_one_call_at_a_time_only_breaks_the_levels(play: Any) -> None:
    for task in some(transport="mcp"):
        found = aligned(task, MODELS["oracle, one by one"], play)
        n_levels, n_calls = len(workflow_alignment.ideal_schedule(task)), int(task.axes["core"])
        assert found == dict.fromkeys(NAMED, 1.0) | {"align_coherence": n_levels / n_calls}


def test_doing_nothing_is_worth_nothing(play: Any) -> None:
    class Null(Model):
        async def __call__(self, request: Request, /) -> Reply:
            return Reply()

    for task in some(transport="mcp"):
        assert aligned(task, lambda task: Null(), play) == dict.fromkeys(NAMED, 0.0)


@pytest.mark.parametrize("fault", funcbench_controls.FAULT_CLASSES)
def test_bad_calls_lower_precision_and_nothing_that_is_of_the_schedule(
    fault: str, play: Any
) -> None:
    lower = 0
    for task in some(transport="mcp", cap="none", graphs=6):
        ((_, trajectory),) = play([task], MODELS[fault])
        parts = SCORER.score(Episode(task, trajectory))["official"].parts
        core = float(task.axes["core"])
        assert parts["align_recall"] == 1.0
        assert parts["align_precision"] == pytest.approx(core / parts["calls"])
        lower += parts["align_precision"] < 1
    assert lower > 2


def test_a_whole_float_is_the_integer_it_is(play: Any) -> None:
    (task, *_) = some(transport="mcp")

    class Floats(Model):
        def __init__(self) -> None:
            self.inner = MODELS["oracle"](task)

        async def __call__(self, request: Request, /) -> Reply:
            reply = await self.inner(request)
            calls = tuple(
                replace(call, arguments=json.dumps({k: float(v) for k, v in given.items()}))
                for call in reply.calls
                if (given := json.loads(call.arguments))
            )
            return replace(reply, calls=calls)

    assert aligned(task, lambda task: Floats(), play) == dict.fromkeys(NAMED, 1.0)
