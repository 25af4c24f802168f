from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import DataError, EndpointError, Rejected, Unavailable
from toolmark.core.failure import Failure, Kind, Subject
from toolmark.core.model import Model
from toolmark.core.records import Judgement, Reply, Request, Task, Trajectory
from toolmark.runs import judge_panels
from toolmark.runs.circuit_breaker import (
    MAX_CONSECUTIVE_FAILURES,
    MAX_REFUSALS,
    MAX_SAME_REFUSALS,
    CircuitBreaker,
)
from toolmark.runs.judging_plan import JudgeFunction
from toolmark.runs.run_store import Run
from toolmark.runs.runner import Progress

FORMS = {"taste": "v1"}
Say = Callable[[str, Trajectory], float | EndpointError | None]


class Named(Model):
    """A judge that only has a name: how it is asked is the test's affair."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, request: Request, /) -> Reply:
        raise AssertionError("asked in another way")


DOWN = Failure(stage="judge", kind="unavailable", message="down")
MUTE = Failure(stage="judge", kind="judge", message="nothing said")
KINDS = {
    401: "rejected.auth", 402: "rejected.billing", 403: "rejected.auth", 404: "rejected.not_found",
}  # fmt: skip


def refusal(
    kind: Kind = "rejected.other", subject: Subject = "", message: str = "too large"
) -> Failure:
    return Failure(stage="model", kind=kind, status=400, subject=subject, message=message)


def _asking(say: Say, asked: list[tuple[str, str, int]]) -> JudgeFunction:
    async def ask(model: Model, kind: str, task: Task, trajectory: Trajectory) -> Judgement:
        name = model.name
        asked.append((name, task.id, trajectory.repeat))
        await asyncio.sleep(0)
        value = say(name, trajectory)
        if isinstance(value, EndpointError):
            raise value
        return Judgement(
            task=task.id, repeat=trajectory.repeat, kind=kind, judge="", value=value,
            failure=None if value is not None else MUTE,
        )  # fmt: skip

    return ask


def _collect(
    run: Run, say: Say, judges: tuple[str, ...] = ("A", "B"), **settings: Any
) -> tuple[Progress, list[tuple[str, str, int]]]:
    asked: list[tuple[str, str, int]] = []
    forms: Mapping[str, str] = settings.pop("forms", FORMS)
    models = {name: Named(name) for name in judges}
    done = asyncio.run(
        judge_panels.collect_judgements(run, models, forms, _asking(say, asked), **settings)
    )
    return done, asked


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return tm.run(mini.load(n=5), mini.Adder(), log_dir=tmp_path, repeats=2)


def test_every_judge_is_asked_once_about_every_episode(run: Run) -> None:
    done, asked = _collect(run, lambda name, _: 0.5)
    assert len(asked) == len(set(asked)) == 2 * 10
    assert (done.n_planned, done.n_run, done.n_not_run) == (20, 20, 0)
    said = list(run.judgements())
    assert {(j.judge, j.task, j.repeat) for j in said} == set(asked)
    assert len(said) == 20 and all(j.form == "v1" and j.kind == "taste" for j in said)


def test_only_what_is_missing_is_asked_again(run: Run) -> None:
    def fails(name: str, trajectory: Trajectory) -> float | EndpointError | None:
        if trajectory.task == "sum-1":
            return Unavailable("down") if name == "A" else None
        return 0.25

    done, _ = _collect(run, fails)
    assert (done.n_run, done.n_not_run) == (16, 4)
    failures = {j.judge: j.failure for j in run.judgements() if j.value is None}
    assert failures == {"A": DOWN, "B": MUTE}
    done, asked = _collect(run, lambda name, _: 0.75)
    assert sorted(asked) == [(n, "sum-1", r) for n in "AB" for r in (0, 1)]
    assert done.n_done_before == 16
    values = {
        j.value for said in judge_panels.panel_judgements(run).values() for j in said.values()
    }
    assert values == {0.25, 0.75}
    assert _collect(run, lambda name, _: 0.0)[1] == []


def test_a_torn_last_line_is_dropped_and_asked_again(run: Run) -> None:
    _collect(run, lambda name, _: 0.5, ("A",))
    path = run.path / judge_panels.JUDGEMENTS_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    assert len(list(run.judgements())) == 4
    _, asked = _collect(run, lambda name, _: 0.5, ("A",))
    assert len(asked) == 6
    assert len(list(run.judgements())) == 10


def test_a_judge_that_ends_the_work_leaves_what_was_said(run: Run) -> None:
    n = 0

    def breaks(name: str, trajectory: Trajectory) -> float:
        nonlocal n
        n += 1
        if n > 6:
            raise KeyboardInterrupt
        return 0.5

    with pytest.raises(KeyboardInterrupt):
        _collect(run, breaks, n_concurrent=1)
    saved = len(list(run.judgements()))
    assert 1 <= saved <= 6
    _, asked = _collect(run, lambda name, _: 0.5, n_concurrent=1)
    assert len(asked) == 20 - saved


def test_the_panel_is_the_judges_of_the_last_command(run: Run) -> None:
    _collect(run, lambda name, _: 0.5)
    _collect(run, lambda name, _: 0.5, ("B", "C"))
    assert judge_panels.read_panels(run)["taste"].judges == ("B", "C")
    assert all(set(said) == {"B", "C"} for said in judge_panels.panel_judgements(run).values())
    _, asked = _collect(run, lambda name, _: 0.5)  # what A said once still stands
    assert asked == []


def test_what_was_asked_in_another_form_does_not_count(run: Run) -> None:
    _collect(run, lambda name, _: 0.1)
    _, asked = _collect(run, lambda name, _: 0.9, forms={"taste": "v2"})
    assert len(asked) == 20
    assert {
        j.value for said in judge_panels.panel_judgements(run).values() for j in said.values()
    } == {0.9}
    assert len(list(run.judgements())) == 40


def test_kinds_have_panels_of_their_own(run: Run) -> None:
    _collect(run, lambda name, _: 0.5, ("A",))
    _collect(run, lambda name, _: 0.5, ("B", "C"), forms={"smell": "v1"})
    found = {kind: panel.judges for kind, panel in judge_panels.read_panels(run).items()}
    assert found == {"taste": ("A",), "smell": ("B", "C")}
    assert len(judge_panels.panel_judgements(run)) == 20


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_refused_judge_is_asked_no_more_and_the_others_go_on(run: Run, status: int) -> None:
    def say(name: str, _: Trajectory) -> float | EndpointError:
        return Rejected("no such key", status) if name == "A" else 0.5

    _, asked = _collect(run, say, n_concurrent=1)
    assert sum(name == "A" for name, *_ in asked) == 1
    said = {name: [j for j in run.judgements() if j.judge == name] for name in "AB"}
    assert len(said["A"]) == len(said["B"]) == 10
    assert all(j.value == 0.5 for j in said["B"])
    assert [j.failure and j.failure.kind for j in said["A"]] == [KINDS[status], *["stopped"] * 9]


def test_a_dead_judge_is_given_up(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=50), mini.Adder(), log_dir=tmp_path)
    _, asked = _collect(run, lambda name, _: Unavailable("down"), ("A",), n_concurrent=1)
    assert len(asked) == MAX_CONSECUTIVE_FAILURES
    assert all(j.value is None for j in run.judgements())
    assert len(list(run.judgements())) == 50


def test_refusals_of_single_items_open_no_breaker_once_one_passed() -> None:
    early, late = CircuitBreaker(), CircuitBreaker()
    late.record_success()
    for _ in range(MAX_REFUSALS):
        early.record_failure(refusal())
        late.record_failure(refusal())
    assert early.trip_reason
    assert not late.trip_reason


def test_refusals_that_say_alike_what_is_refused_shut_it_sooner_than_others() -> None:
    same, mixed, other = CircuitBreaker(), CircuitBreaker(), CircuitBreaker()
    subjects: tuple[Subject, ...] = ("pictures", "tools", "setting")
    for n in range(MAX_SAME_REFUSALS):
        assert not same.trip_reason
        same.record_failure(refusal("rejected.unsupported", "pictures", f"words {n}"))
        mixed.record_failure(refusal("rejected.unsupported", subjects[n]))
        other.record_failure(refusal(message="the same words"))
    assert same.trip_reason and not mixed.trip_reason and not other.trip_reason


def test_refusals_that_come_before_the_answers_of_others_open_no_breaker() -> None:
    door = CircuitBreaker(n_concurrent=16)
    for _ in range(15):
        door.record_failure(refusal())
    assert not door.trip_reason
    door.record_failure(refusal())
    assert door.trip_reason


def test_failures_open_the_breaker_only_in_a_row() -> None:
    door = CircuitBreaker()
    for _ in range(3):
        for _ in range(MAX_CONSECUTIVE_FAILURES - 1):
            door.record_failure(DOWN)
        door.record_success()
    assert not door.trip_reason
    for _ in range(MAX_CONSECUTIVE_FAILURES):
        door.record_failure(MUTE)
    assert MUTE.message in door.trip_reason


def test_a_damaged_panel_is_named(run: Run) -> None:
    (run.path / judge_panels.PANELS_FILE).write_text('{"taste": {"judges": "A"}}')
    with pytest.raises(DataError, match=r"judging\.json"):
        judge_panels.panel_judgements(run)


def test_a_damaged_panel_says_what_to_do_and_doing_it_asks_nothing_again(run: Run) -> None:
    _collect(run, lambda name, _: 0.5)
    (run.path / judge_panels.PANELS_FILE).write_text("{")
    with pytest.raises(DataError, match=r"judging\.json.*toolmark judge"):
        judge_panels.panel_judgements(run)
    (run.path / judge_panels.PANELS_FILE).unlink()
    _, asked = _collect(run, lambda name, _: 0.5)
    assert asked == []


@pytest.mark.parametrize("value", ["37.5", "-0.1", '"nan"', '"inf"'])
def test_a_value_out_of_range_is_named_with_its_line(run: Run, value: str) -> None:
    _collect(run, lambda name, _: 0.5)
    path = run.path / judge_panels.JUDGEMENTS_FILE
    lines = path.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace('"value":0.5', f'"value":{value}')
    path.write_text("".join(lines))
    with pytest.raises(DataError, match="line 3: value"):
        judge_panels.panel_judgements(run)


def test_a_damaged_line_is_named(run: Run) -> None:
    _collect(run, lambda name, _: 0.5, ("A",))
    path = run.path / judge_panels.JUDGEMENTS_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{]\n", *lines[1:]]))
    with pytest.raises(DataError, match="line 2"):
        list(run.judgements())
    assert json.loads(lines[0])["judge"] == "A"
