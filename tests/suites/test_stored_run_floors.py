"""Floors of stored runs: they are those of the run that had them from the start."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini
from typer.testing import CliRunner

import toolmark as tm
from toolmark.cli.app import app
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaOverlay, MediaStore
from toolmark.core.records import Verdict
from toolmark.environments.class_environments import ClassEnvironmentOpener
from toolmark.environments.mcp.server_supervisor import ServerSupervisor
from toolmark.environments.no_op_environment import NoOpEnvironment
from toolmark.runs.floors.floor_records import FLOORS_FILE, read_floors
from toolmark.runs.run_store import Run
from toolmark.runs.suite import EnvironmentSource, Suite
from toolmark.scoring.episode import Episode
from toolmark.suites import run_scorers

OWN_SUITE = '''
import toolmark as tm

@tm.suite
def sums(n: int = 3) -> tm.Suite:
    """Sums."""
    return tm.Suite(
        tasks=[
            tm.Task(id=f"t{at}", turns=(tm.Turn(messages=(tm.Message(
                role="user", parts=(tm.Text(f"What is {at} + 1?"),)),)),))
            for at in range(n)
        ],
        scorer=lambda episode: episode.answer == "1",
    )
'''
SMALL_GRAPHS: dict[str, Any] = {"graphs": 6, "core": 4, "depth": 2, "connected": 2}


@pytest.mark.parametrize(
    ("name", "parameters", "model"),
    [
        ("funcbench", {**SMALL_GRAPHS, "seed": 7}, "baseline/planner"),
        ("funcbench", SMALL_GRAPHS, "baseline/planner"),  # the seed is drawn
        ("multinet-piqa", {"items": 20, "seed": 7}, "baseline/last-word"),
        ("mfcl-transcripts", {"items": 2, "seed": 7, "conditions": ("text",)}, "baseline/lexical"),
    ],
)
def test_floors_that_a_stored_run_gets_are_those_it_would_have_had(
    name: str, parameters: dict[str, Any], model: str, tmp_path: Path
) -> None:
    suite = tm.load(name, **parameters)
    early = tm.run(suite, model, log_dir=tmp_path / "early")
    late = tm.run(suite, model, log_dir=tmp_path / "late", floors="off")
    assert "floors" not in late.summary()
    tm.rescore(late, floors="auto")
    assert read_floors(late.path) == read_floors(early.path) is not None
    assert late.summary()["floors"] == early.summary()["floors"]
    assert late.summary()["score"] == early.summary()["score"]


def test_score_plays_floors_on_demand_and_keeps_those_that_are_stored(tmp_path: Path) -> None:
    suite = tm.load("funcbench", **SMALL_GRAPHS, seed=7)
    run = tm.run(suite, "baseline/planner", log_dir=tmp_path, floors="off")
    for arguments, has_floors in (([], False), (["--floors", "auto"], True), ([], True)):
        done = CliRunner().invoke(app, ["score", str(run.path), *arguments])
        assert done.exit_code == 0, done.output
        assert ("floor " in done.output) == has_floors
    stored = (run.path / FLOORS_FILE).read_bytes()
    assert CliRunner().invoke(app, ["score", str(run.path), "--floors", "all"]).exit_code == 0
    assert (run.path / FLOORS_FILE).read_bytes() == stored


def test_an_interrupted_run_gets_floors_of_the_tasks_that_ran(tmp_path: Path) -> None:
    async def play() -> Run:
        stop = asyncio.Event()

        def stop_after_two(progress: Any) -> None:
            if progress.n_run >= 2:
                stop.set()

        return await tm.arun(
            mini.load(n=8), mini.Adder(), log_dir=tmp_path, watch=stop_after_two, stop=stop,
            max_connections=1,
        )  # fmt: skip

    run = asyncio.run(play())
    n_run = run.summary()["n_run"]
    assert 0 < n_run < 8 and "floors" not in run.summary()
    tm.rescore(run, mini.load(n=8), floors="auto")
    floor = run.summary()["floors"]["agents"]["control/null"]
    assert floor["above"]["n"] == n_run


def test_a_run_of_own_code_needs_the_suite_unless_its_code_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_sums.py").write_text(OWN_SUITE)
    run = tm.run("own_sums.py:sums", "baseline/last-number", log_dir="runs", floors="off")
    with pytest.raises(UsageError, match="give the Suite"):
        tm.rescore(run, tm.load("own_sums.py:sums").scorer, floors="auto")
    with pytest.raises(UsageError, match="is of suite"):
        tm.rescore(run, mini.load(n=3), floors="auto")
    tm.rescore(run, floors="auto")
    stored = read_floors(run.path)
    assert stored is not None and all(each.scores for each in stored.floors)
    (run.path / FLOORS_FILE).unlink()
    Path("own_sums.py").write_text(OWN_SUITE + "\n# edited\n")
    with pytest.raises(UsageError, match="nothing was imported"):
        tm.rescore(run, floors="auto")
    assert not (run.path / FLOORS_FILE).exists()
    named = ["score", str(run.path), "--suite", "own_sums.py:sums", "--floors", "auto"]
    done = CliRunner().invoke(app, named)
    assert done.exit_code == 0 and "control/null" in done.output


def test_a_control_is_measured_against_no_floor(tmp_path: Path) -> None:
    suite = tm.load("funcbench", **SMALL_GRAPHS, seed=7)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    with pytest.raises(UsageError, match="against no floor"):
        tm.rescore(run, floors="auto")
    with pytest.raises(UsageError, match="no choice 'none'"):
        tm.rescore(run, floors="none")


def test_a_suite_is_restored_with_the_seed_that_was_drawn(tmp_path: Path) -> None:
    run = tm.run("funcbench", "baseline/eager", log_dir=tmp_path, limit=2, floors="off")
    restored = run_scorers.suite_for_run(run)
    assert run.info.plan.parameters["seed"] is None
    assert [task.id for task in run.tasks()] == [task.id for task in restored][:2]
    assert restored.provenance.seed == run.info.seed


# --- scoring beside the loop ------------------------------------------------------------


def judge_while_the_loop_ticks(suite: Suite, wait: Callable[[], bool]) -> Suite:
    """Return the suite with a scorer that judges all episodes together, each once `wait` ends."""

    def prepare(run: Run) -> Any:
        def judge(episode: Episode) -> dict[str, Verdict]:
            is_right = wait()
            return {"exact": Verdict(outcome="correct", value=1.0 if is_right else 0.0)}

        return judge

    return replace(suite, scorer=replace(suite.scorer, prepare=prepare))


async def play_with_counted_loop(tmp_path: Path, n_ticks: int) -> Run:
    """Play floors whose scorer waits for each episode until the loop has gone round `n_ticks`."""
    rounds = threading.Semaphore(0)
    in_floors = threading.Event()

    def wait() -> bool:
        if threading.current_thread() is threading.main_thread():
            return True  # the run itself, scored when its floors are done
        in_floors.set()
        return all(rounds.acquire(timeout=30) for _ in range(n_ticks))

    async def tick() -> None:
        while True:
            await asyncio.sleep(0)
            if in_floors.is_set():
                rounds.release()

    ticking = asyncio.create_task(tick())
    try:
        suite = judge_while_the_loop_ticks(mini.load(n=3), wait)
        return await tm.arun(suite, mini.Adder(), log_dir=tmp_path)
    finally:
        ticking.cancel()


def test_the_loop_goes_on_while_floors_are_scored_together(tmp_path: Path) -> None:
    run = asyncio.run(play_with_counted_loop(tmp_path, n_ticks=20))
    assert run.summary()["floors"]["agents"]["control/null"]["value"] == 1.0


def test_floors_that_are_given_up_score_no_further_episode(tmp_path: Path) -> None:
    stopped = asyncio.Event()
    judged: list[int] = []
    may_end = threading.Event()

    async def play() -> Run:
        loop = asyncio.get_running_loop()

        def wait() -> bool:
            if threading.current_thread() is threading.main_thread():
                may_end.set()
                return True
            judged.append(1)
            loop.call_soon_threadsafe(stopped.set)
            return may_end.wait(30)

        suite = judge_while_the_loop_ticks(mini.load(n=5), wait)
        return await tm.arun(suite, mini.Adder(), log_dir=tmp_path, stop=stopped)

    run = asyncio.run(play())  # waits for its threads
    assert run.summary()["n_run"] == 5 and "floors" not in run.summary()
    assert judged == [1]


# --- pictures and servers ---------------------------------------------------------------


def test_media_of_a_floor_are_those_of_the_run_and_its_own_go_elsewhere(tmp_path: Path) -> None:
    source = MediaStore(tmp_path / "run")
    picture = source.add_image(b"a picture", "image/png")
    overlay = MediaOverlay(tmp_path / "floor", source)
    assert overlay.has_file(picture) and overlay.read(picture) == b"a picture"
    overlay.link_file(picture, tmp_path / "linked.png")
    assert (tmp_path / "linked.png").read_bytes() == b"a picture"
    made = overlay.add_image(b"made by a tool", "image/png")
    assert overlay.read(made) == b"made by a tool" and overlay.path(made).is_file()
    assert not source.has_file(made)
    assert not MediaStore(tmp_path / "floor").has_file(picture)


def forbid_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(supervisor: ServerSupervisor) -> Any:
        raise AssertionError("a server was started")

    monkeypatch.setattr(ServerSupervisor, "running_session", refuse)


def test_what_replies_nothing_is_played_without_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_servers(monkeypatch)
    suite = tm.load("m3-local", instances=1, family=("clock",), seed=1)
    assert suite.environment.starts_processes and suite.environment.open_idle is not None
    idle = replace(suite.environment, open=suite.environment.open_idle, starts_processes=False)
    run = tm.run(
        replace(suite, environment=idle), "baseline/last-word", log_dir=tmp_path, floors="off"
    )
    tm.rescore(run, floors="auto")
    found = run.summary()["floors"]
    assert found["highest"] == "control/null" and found["value"] == 0
    assert found["above"]["n"] == len(suite)


def test_what_calls_is_not_played_where_servers_would_be_started(
    tmp_path: Path,
) -> None:
    opener = ClassEnvironmentOpener(NoOpEnvironment)
    source = EnvironmentSource(opener, starts_processes=True, open_idle=opener)
    tasks = [*mini.Sums(3)]
    suite = Suite(name="own", tasks=tasks, scorer=lambda episode: True, environment=source)
    run = tm.run(suite, "baseline/last-word", log_dir=tmp_path)
    agents = run.summary()["floors"]["agents"]
    assert "value" in agents["control/null"]
    assert "--floors all" in agents["control/always-call"]["not_computed"]
    tm.rescore(run, suite, floors="all")
    assert "value" in run.summary()["floors"]["agents"]["control/always-call"]
