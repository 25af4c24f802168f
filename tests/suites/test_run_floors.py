"""Floors: what agents without a key score on the tasks of a run, and what the run is above them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import structs
from tests.runs import mini

import toolmark as tm
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Result, Task, Verdict
from toolmark.environments.search_providers import PROVIDERS, WebEngine
from toolmark.reports import rank_report, run_comparison
from toolmark.reports.floor_text import summary_lines
from toolmark.runs.floors import floor_playing
from toolmark.runs.floors.floor_playing import play_floor
from toolmark.runs.floors.floor_records import FLOORS_FILE, read_floors, write_floors
from toolmark.runs.run_store import Run
from toolmark.runs.suite import EnvironmentSource
from toolmark.suites import run_floors

SUITES: list[tuple[str, dict[str, Any], str, dict[str, str]]] = [
    (
        "funcbench",
        {"graphs": 12, "core": 6, "depth": 3, "connected": 2, "disconnected": 3, "seed": 7},
        "baseline/planner",
        {"eager": "baseline/eager", "always": "control/always-call", "null": "control/null"},
    ),
    (
        "multinet-piqa",
        {"items": 20, "seed": 7},
        "baseline/majority",
        {"uniform": "baseline/uniform", "null": "control/null"},
    ),
]


def fields_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.summary()["floors"]
    return found


@pytest.mark.parametrize(("name", "parameters", "model", "agents"), SUITES)
def test_a_floor_is_what_its_agent_scores_and_the_difference_is_that_of_the_headlines(
    name: str, parameters: dict[str, Any], model: str, agents: dict[str, str], tmp_path: Path
) -> None:
    run = tm.run(tm.load(name, **parameters), model, log_dir=tmp_path, repeats=2)
    found = fields_of(run)
    head = run.summary()["score"]["value"]
    assert found["value"] == max(each["value"] for each in found["agents"].values())
    for agent in agents.values():
        alone = tm.run(tm.load(name, **parameters), agent, log_dir=tmp_path / "alone", floors="off")
        value = alone.summary()["score"]["value"]
        floor = found["agents"][agent]
        assert floor["value"] == pytest.approx(value, abs=1e-12)
        assert floor["above"]["value"] == pytest.approx(head - value, abs=1e-12)
        assert floor["above"]["low"] <= floor["above"]["value"] <= floor["above"]["high"]


def test_a_difference_from_a_floor_is_that_which_compare_finds(tmp_path: Path) -> None:
    name, parameters, model, _ = SUITES[0]
    run = tm.run(tm.load(name, **parameters), model, log_dir=tmp_path)
    eager = tm.run(tm.load(name, **parameters), "baseline/eager", log_dir=tmp_path)
    above = fields_of(run)["agents"]["baseline/eager"]["above"]
    compared = tm.compare(run, eager)
    difference = compared.paired.difference
    assert difference.value is not None
    assert (difference.value, difference.low, difference.high) == (
        above["value"], above["low"], above["high"],
    )  # fmt: skip
    assert compared.above_a is not None and compared.above_b is not None
    one, other = compared.above_a.difference.value, compared.above_b.difference.value
    assert one is not None and other is not None
    assert one - other == pytest.approx(difference.value)
    ranked = rank_report.rank_stored_runs([run, eager])
    assert ranked.floor == compared.floor
    by_run = {each.run: each.above_floor for each in ranked.runs}
    assert by_run["baseline/planner"] == compared.above_a.difference


def test_a_comparison_over_common_tasks_has_their_floor(tmp_path: Path) -> None:
    name, parameters, model, _ = SUITES[0]
    whole = tm.run(tm.load(name, **parameters), model, log_dir=tmp_path)
    part = tm.run(tm.load(name, **parameters), model, log_dir=tmp_path, limit=5)
    found = run_comparison.compare_runs(whole, part)
    assert found.above_a is not None and found.above_a.n_pairs == 5
    assert found.above_a.value_b == pytest.approx(fields_of(part)["value"])


def test_controls_and_off_have_no_floors(tmp_path: Path) -> None:
    suite = mini.load(n=3)
    off = tm.run(suite, mini.Adder(), log_dir=tmp_path / "off", floors="off")
    control = tm.run(suite, "control/null", log_dir=tmp_path / "control")
    for run in (off, control):
        assert "floors" not in run.summary() and not (run.path / FLOORS_FILE).exists()
    with pytest.raises(UsageError, match="of"):
        tm.run(suite, mini.Adder(), log_dir=tmp_path, floors="of")


def test_a_floor_that_fails_is_named_with_its_reason(tmp_path: Path) -> None:
    def fail(task: tm.Task) -> Any:
        raise RuntimeError("no room")

    tasks = [*mini.Sums(3)]
    suite = tm.Suite(name="own", tasks=tasks, environment=fail, scorer=lambda episode: True)
    run = tm.run(suite, mini.Adder(), log_dir=tmp_path)
    agents = fields_of(run)["agents"]
    assert {*agents} == {"control/null", "control/always-call"}
    assert all("no room" in each["not_computed"] for each in agents.values())


def test_a_scorer_that_fails_on_a_floor_alone_costs_no_run(tmp_path: Path) -> None:
    def gather(found: Run) -> Any:
        answers = [int(each.answer) for each in found.trajectories()]  # a floor says nothing
        return lambda episode: {"exact": Verdict(outcome="correct", value=float(min(answers) > 0))}

    suite = mini.load(n=3)
    suite = replace(suite, scorer=replace(suite.scorer, prepare=gather))
    run = tm.run(suite, mini.Adder(), log_dir=tmp_path)
    assert run.is_finished and run.summary()["score"]["value"] == 1
    agents = fields_of(run)["agents"]
    assert "ValueError" in agents["control/null"]["not_computed"]


def test_an_environment_that_opens_only_once_costs_no_run(tmp_path: Path) -> None:
    opened: list[MediaStore] = []
    base = mini.load(n=3)

    @asynccontextmanager
    async def open_once(media: MediaStore) -> AsyncIterator[Any]:
        if opened:
            raise OSError("the port is taken")
        opened.append(media)
        async with base.environment.open(media) as factory:
            yield factory

    suite = replace(base, environment=EnvironmentSource(open=open_once))
    run = tm.run(suite, mini.Adder(), log_dir=tmp_path)
    assert run.is_finished and run.summary()["score"]["value"] == 1
    assert "port is taken" in fields_of(run)["agents"]["control/null"]["not_computed"]


def test_floors_search_nothing_in_the_web(tmp_path: Path) -> None:
    """A call of a floor reaches the engine, which refuses it: the episode is not run."""
    sent: list[str] = []

    class Answer(NamedTuple):
        status: int
        body: bytes

    class Line:
        async def get(self, url: str) -> Any:
            sent.append(url)
            return Answer(200, b'{"organic_results": []}')

    class Search(tm.Environment):
        """A search."""

        @tm.tool
        async def look_up(self, words: str = "tea") -> str:
            """Look something up."""
            web = WebEngine(PROVIDERS["serpapi"], Line(), "k", waits_s=())  # type: ignore[arg-type]
            return str(await web.find(words, "x"))

    tasks = [tm.Task(id="a", turns=next(iter(mini.Sums(1))).turns)]
    suite = tm.Suite(name="own", tasks=tasks, environment=Search, scorer=lambda episode: True)
    run = tm.run(suite, "control/always-call", log_dir=tmp_path)
    n_sent = len(sent)
    assert n_sent and run.summary()["n_run"] == 1
    again = tm.run(suite, mini.Adder(lambda item, repeat: "no"), log_dir=tmp_path)
    assert len(sent) == n_sent
    reason = fields_of(again)["agents"]["control/always-call"]["not_computed"]
    assert "without a model" in reason


def test_all_workers_of_a_floor_take_a_quarter_of_the_time_until_nobody_is_asked() -> None:
    shares = floor_playing.N_WORKERS / (1 + floor_playing.REST)
    assert shares == pytest.approx(floor_playing.MOST_OF_THE_TIME)

    async def rest_until_freed() -> None:
        pace = floor_playing.FloorPace()
        asyncio.get_running_loop().call_later(0.01, pace.enter_foreground, 1.0)
        await asyncio.wait_for(pace.rest_after(1e6), 30)
        await asyncio.wait_for(pace.rest_after(1e6), 30)

    asyncio.run(rest_until_freed())


def test_runs_without_floors_are_measured_against_those_of_the_others(tmp_path: Path) -> None:
    without = tm.run(mini.load(n=6), mini.Adder(), log_dir=tmp_path / "a", floors="off")
    with_floors = tm.run(mini.load(n=6), mini.Adder(), log_dir=tmp_path / "b")
    for pair in ((without, with_floors), (with_floors, without)):
        found = tm.compare(*pair)
        assert found.floor and found.above_a is not None and found.above_b is not None
        assert rank_report.rank_stored_runs(pair).floor == found.floor


def test_processes_are_started_for_floors_only_where_all_are_wanted(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path, floors="off")
    suite = tm.load("m3-local", instances=1, seed=1)
    assert suite.environment.starts_processes
    assert "--floors all" in run_floors._refusal_reason(run, suite, "auto")
    assert run_floors._refusal_reason(run, suite, "all") == ""


def test_a_large_set_says_that_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_floors, "MAX_TASKS", 2)
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    found = fields_of(run)
    assert "value" not in found
    assert {each["not_computed"] for each in found["agents"].values()} == {"more than 2 tasks"}


def test_floors_of_other_tasks_or_scorers_are_not_shown(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    stored = read_floors(run.path)
    assert stored is not None and "value" in fields_of(run)
    for other in ({"tasks_sha256": "0" * 64}, {"scorer_sha256": "0" * 64}):
        write_floors(run.path, structs.replace(stored, **other))
        again = tm.rescore(run, mini.load(n=3).scorer)
        found = fields_of(again)
        assert "value" not in found
        assert "other tasks" in found["agents"]["control/null"]["not_computed"]


def test_damaged_floors_are_as_none(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    (run.path / FLOORS_FILE).write_text('{"tasks_sha256": 1')
    assert "floors" not in tm.rescore(run, mini.load(n=3).scorer).summary()


class Silent(Model):
    """Calls nothing."""

    name = "silent"

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(text="no")


class Hanging(mini.World):
    """Never answers a call, and counts them."""

    n_calls = 0

    async def call(self, call: Call, /) -> Result:
        Hanging.n_calls += 1
        await asyncio.sleep(3600)
        return await super().call(call)


def hanging_suite(n: int) -> Any:
    return replace(mini.load(n=n), environment=EnvironmentSource(open=open_hanging))


@asynccontextmanager
async def open_hanging(media: MediaStore) -> AsyncIterator[Any]:
    class Factory(EnvironmentFactory):
        @asynccontextmanager
        async def open_environment(
            self, task: Task, needed: Mapping[str, Any], /
        ) -> AsyncIterator[mini.World]:
            yield Hanging(needed)

    yield Factory()


def test_an_environment_that_hangs_ends_its_floor_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hanging, "n_calls", 0)
    run = tm.run(hanging_suite(30), Silent(), log_dir=tmp_path, time_limit_s=0.05)
    agents = fields_of(run)["agents"]
    assert "value" in agents["control/null"]
    assert "its environment hangs" in agents["control/always-call"]["not_computed"]
    assert 0 < Hanging.n_calls <= floor_playing.N_WORKERS


def test_a_run_waits_for_floors_for_a_part_of_its_own_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(floor_playing, "MIN_FOREGROUND_S", 0.0)
    monkeypatch.setattr(floor_playing, "SHARE_OF_RUN", 0.0)
    found = fields_of(tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path / "a"))
    assert (
        "next: toolmark score RUN --floors auto" in found["agents"]["control/null"]["not_computed"]
    )
    waited = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path / "b", floors="all")
    assert "value" in fields_of(waited)


def test_who_stops_a_run_does_not_wait_for_its_floors(tmp_path: Path) -> None:
    async def play() -> Run:
        stop = asyncio.Event()

        async def stop_in_a_floor() -> None:
            while not Hanging.n_calls:
                await asyncio.sleep(0.01)
            stop.set()

        stopper = asyncio.create_task(stop_in_a_floor())
        run = await tm.arun(hanging_suite(3), Silent(), log_dir=tmp_path, stop=stop)
        await stopper
        return run

    Hanging.n_calls = 0
    run = asyncio.run(play())
    assert run.summary()["n_run"] == 3 and "floors" not in run.summary()


def test_floors_of_a_set_are_played_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(run_floors, "MIN_CACHED_TASKS", 1)
    played: list[str] = []

    async def count(run: Run, suite: Any, model: Any, *rest: Any) -> Any:
        played.append(model.name)
        return await play_floor(run, suite, model, *rest)

    monkeypatch.setattr(run_floors, "play_floor", count)
    parameters = SUITES[0][1]

    def ask(**more: Any) -> dict[str, Any]:
        suite = tm.load("funcbench", **(parameters | more))
        return fields_of(tm.run(suite, "baseline/planner", log_dir=tmp_path, resume=False))

    first = ask()
    assert sorted(played) == ["baseline/eager", "control/always-call", "control/null"]
    assert ask() == first and len(played) == 3
    ask(seed=8)
    assert len(played) == 6
    for path in (tmp_path / "home" / "floors").iterdir():
        path.write_text("{")
    assert ask() == first and len(played) == 9


def test_the_highest_floor_is_said_first(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    line, *_ = summary_lines(json.loads((run.path / "summary.json").read_text())["floors"])
    assert line.startswith("floor ") and "above it" in line and "control/null" in line
