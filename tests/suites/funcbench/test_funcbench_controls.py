"""Instruments behave as told, and the tables say so; agents without skill fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Reply, Request, Score, Task, Trajectory
from toolmark.models.scripted_model import ScriptedModel
from toolmark.scoring.episode import Episode
from toolmark.statistics.confidence_intervals import ratio_interval
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.funcbench import funcbench_controls
from toolmark.suites.funcbench.funcbench_suite import SCORER

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]


def judged(played: Sequence[tuple[Task, Trajectory]]) -> Columns:
    return gather_columns(
        (
            Score(task=t.id, item=t.item, axes=t.axes, verdicts=dict(SCORER.score(Episode(t, x))))
            for t, x in played
        ),
        "official",
    )


@pytest.fixture(scope="module")
def mixed() -> list[Task]:
    return list(tm.load("funcbench", preset="main-caption", graphs=1, seed=11))


@pytest.mark.parametrize("order", ["level", "call"])
def test_the_oracle_solves_everything_in_exactly_core_calls(
    order: str, mixed: list[Task], play: Play
) -> None:
    rows = judged(
        play(mixed, lambda task: funcbench_controls.make_oracle(task, 0, {"order": order}))
    )
    core = np.array([float(task.axes["core"]) for task in mixed])
    assert rows.correct.all()
    assert (rows.part("derived") == 1).all()
    assert (rows.part("calls") == core).all()
    assert (rows.part("errors") == 0).all()
    best = rows.part("levels") if order == "level" else core
    assert (rows.part("steps_with_calls") == best).all()
    assert (rows.part("levels") == [float(task.axes["depth"]) + 1 for task in mixed]).all()


def test_an_agent_that_does_nothing_scores_zero(mixed: list[Task], play: Play) -> None:
    class Null(Model):
        async def __call__(self, request: Request, /) -> Reply:
            return Reply()

    assert not judged(play(mixed, lambda task: Null())).correct.any()


@pytest.fixture(scope="module")
def open_ended() -> list[Task]:
    return list(
        tm.load("funcbench", core=6, depth=3, connected=2, graphs=1000, cap="none", seed=21)
    )


@pytest.mark.parametrize("fault", funcbench_controls.FAULT_CLASSES)
def test_the_failure_table_holds_the_injected_rate_and_nothing_else(
    fault: str, open_ended: list[Task], play: Play
) -> None:
    options = {"class": fault, "rate": "0.2"}
    rows = judged(play(open_ended, lambda task: funcbench_controls.make_faulty(task, 0, options)))
    assert len(rows) == 1000
    assert rows.correct.all()
    possible = rows.part("calls_with_unknowns" if fault == "not_known" else "calls")
    low, high = ratio_interval(rows.part(fault), possible, rows.item, level=0.99)
    assert low <= 0.2 <= high
    assert high - low < 0.03
    counted = "wrong_inputs" if fault == "ill_typed" else fault
    for name in ("not_found", "wrong_inputs", "not_known", "incorrect"):
        if name != counted:
            assert rows.part(name).sum() == 0
    assert (rows.part("errors") == rows.part(counted)).all()
    if fault != "ill_typed":
        assert rows.part("ill_typed").sum() == 0
    assert (rows.part("correct_core") == 6).all()


def test_faults_differ_between_repeats_and_are_the_same_again(open_ended: list[Task]) -> None:
    task = open_ended[0]
    options = {"class": "incorrect", "rate": "0.5"}
    first, again, other = (
        funcbench_controls.make_faulty(task, repeat, options) for repeat in (0, 0, 1)
    )
    assert isinstance(first, ScriptedModel)
    assert isinstance(again, ScriptedModel)
    assert isinstance(other, ScriptedModel)
    assert first.steps == again.steps
    assert first.steps != other.steps


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (funcbench_controls.make_faulty, {"class": "not_knwon"}, "did you mean: not_known"),
        (funcbench_controls.make_faulty, {"rate": "1"}, "rate must be from 0 to below 1; got '1'"),
        (
            funcbench_controls.make_faulty,
            {"rate": "lots"},
            "rate must be from 0 to below 1; got 'lots'",
        ),
        (funcbench_controls.make_faulty, {"rates": "0.1"}, "no option 'rates'; did you mean: rate"),
        (funcbench_controls.make_oracle, {"order": "levle"}, "did you mean: level"),
    ],
)
def test_wrong_options_name_the_right_ones(
    make: Callable[..., Any], options: dict[str, str], said: str, mixed: list[Task]
) -> None:
    with pytest.raises(UsageError, match=said):
        make(mixed[0], 0, options)
