"""Each way to fail gets the label that was planted, whatever the task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from tests.suites.funcbench.behaviours import ALL, BEHAVIOURS, NOTHING, Misbehaving, Plan, Script

from toolmark.core.model import Model
from toolmark.core.records import Task, Trajectory, Verdict
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench.funcbench_scoring import score_episode
from toolmark.suites.funcbench.graph_shape import GraphSize
from toolmark.suites.funcbench.task_generation import Variant, make_tasks

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]
SIZES = (
    GraphSize(core=5, depth=2, connected=2, disconnected=3),
    GraphSize(core=8, depth=4, connected=3, disconnected=4, root_inputs=2),
    GraphSize(core=12, depth=6, disconnected=6, types=3),
    GraphSize(core=20, depth=5, connected=10, disconnected=10),
)


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    found = [
        next(make_tasks(size, graph, (Variant(),), seed=19))
        for size, graph in itertools.product(SIZES, range(3))
    ]
    assert len({task.id for task in found}) == 12
    return found


def judge(task: Task, trajectory: Trajectory) -> Verdict:
    return score_episode(Episode(task, trajectory))["official"]


def test_there_are_22_behaviours() -> None:
    assert len(BEHAVIOURS) == 22
    assert len({each[1:] for each in BEHAVIOURS.values()}) >= 20


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_gets_its_planted_label(play: Play, tasks: list[Task], name: str) -> None:
    planted = BEHAVIOURS[name]
    played = play(tasks, lambda task: Misbehaving(planted.script(Plan(task))))
    found = []
    for task, trajectory in played:
        verdict = judge(task, trajectory)
        (label,) = (each for each in verdict.labels if each.primary)
        found.append((label.cause, label.suite_cause, *verdict.traits.values()))
    assert found == [planted[1:]] * 12


def test_a_success_has_an_ending_and_a_recovery_and_no_label(play: Play, tasks: list[Task]) -> None:
    def solve(task: Task, *, detour: bool) -> Model:
        plan = Plan(task)

        def script() -> Script:
            if detour:
                yield [plan.wrong_call(plan.root)]
            for node in plan.order:
                yield [plan.call(node)]
            return plan.answer(plan.target.output.value)

        return Misbehaving(script())

    for detour, recovery in ((False, NOTHING), (True, ALL)):
        for task, trajectory in play(tasks, lambda task: solve(task, detour=detour)):  # noqa: B023
            verdict = judge(task, trajectory)
            assert verdict.outcome == "correct" and not verdict.labels
            assert verdict.traits == {"ending": "answer", "recovery": recovery}
            assert verdict.parts["divergences"] == verdict.parts["repaired"] == detour
