"""Shortcut agents on every generated set: none scores above chance, but for a list of known ones.

An agent fails where the lower end of the 95 % interval of its headline is above chance. Seeds are
fixed, so the same agents fail each time; without any flaw 2.5 % of the pairs would, by chance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.baselines.shortcut_agents import SHORTCUT_NAMES, make_shortcut
from toolmark.core.model import Control, Model
from toolmark.core.records import Task
from toolmark.core.task_data import read_task_data
from toolmark.runs.run_store import Run
from toolmark.runs.suite import TaskMaker
from toolmark.suites.multinet.baseline_players import PreparedReplies, format_answer
from toolmark.suites.multinet.frame_records import Choice, Truth

KNOWN_FILE = Path(__file__).parents[1] / "data" / "known_shortcuts.json"
KNOWN = {(each["set"], each["agent"]): each for each in json.loads(KNOWN_FILE.read_text())}
ROUNDING = 1e-9

SETS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "funcbench small": ("funcbench", {"graphs": 25, "core": 4, "depth": 2, "connected": 4}),
    "funcbench": ("funcbench", {"graphs": 25}),
    "funcbench minimum": ("funcbench", {"graphs": 25, "connected": 10, "cap": "minimum+0"}),
    "funcbench realistic": (
        "funcbench", {"graphs": 25, "core": 5, "depth": 3, "surface": "realistic", "link": "names"},
    ),
    "multinet-piqa": ("multinet-piqa", {"items": 150}),
    "multinet-sqa3d": ("multinet-sqa3d", {"items": 100, "pictures": False, "similarity": "none"}),
    "multinet-odinw": ("multinet-odinw", {"items": 150, "pictures": False}),
    "multinet-robovqa": (
        "multinet-robovqa", {"items": 100, "pictures": False, "similarity": "none"},
    ),
    "mfcl-vision": ("mfcl-vision", {"items": 12, "variations": ("base",)}),
    "mfcl-transcripts": ("mfcl-transcripts", {"items": 8, "conditions": ("text",)}),
}  # fmt: skip


class OptionAgent(Control):
    """Chooses an option by its place or length; of the task it sees the options alone."""

    def __init__(self, name: str, choose: Callable[[tuple[str, ...]], int]) -> None:
        self.name = f"control/{name}"
        self._choose = choose

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the model that gives this option."""
        truth = read_task_data(task, Truth)
        assert isinstance(truth.space, Choice)
        answer = self._choose(tuple(truth.space.options))
        return PreparedReplies(format_answer(truth, answer, task.tools))


OPTION_RULES: Mapping[str, Callable[[tuple[str, ...]], int]] = {
    "first-option": lambda options: 0,
    "last-option": lambda options: len(options) - 1,
    "longest-option": lambda options: max(range(len(options)), key=lambda at: len(options[at])),
    "shortest-option": lambda options: min(range(len(options)), key=lambda at: len(options[at])),
}


def agents_of(name: str, suite: tm.Suite) -> dict[str, Any]:
    """Return the shortcut agents that can answer a set, by name."""
    first = next(iter(suite))
    found: dict[str, Any] = {each: make_shortcut(each) for each in SHORTCUT_NAMES}
    found |= {"no-reply": "control/null", "always-call": "control/always-call"}
    if name.startswith("funcbench"):
        found["no-planning"] = "baseline/eager"
    if not name.startswith("multinet"):
        return found
    found["most-frequent"] = "baseline/majority"
    if isinstance(read_task_data(first, Truth).space, Choice):
        found |= {each: OptionAgent(each, rule) for each, rule in OPTION_RULES.items()}
    return found


def chance_of(name: str, suite: tm.Suite, null: float) -> float:
    """Return what a guess scores: among the options, else among the answers to the same type."""
    if not name.startswith("multinet"):
        return null  # requests that no tool serves are right without a call
    truths = [(task.axes.get("type", ""), read_task_data(task, Truth)) for task in suite]
    answers: dict[str, set[str]] = {}
    for kind, truth in truths:
        answers.setdefault(kind, set()).add(str(truth.truth))
    sizes = [
        len(truth.space.options) if isinstance(truth.space, Choice) else len(answers[kind])
        for kind, truth in truths
    ]
    return sum(1 / n for n in sizes) / len(sizes)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name == "mfcl-vision" else [])
        for name in SETS
    ],
)
def test_no_shortcut_scores_above_chance_but_for_the_known_ones(name: str, tmp_path: Path) -> None:
    suite_name, parameters = SETS[name]

    suite = tm.load(suite_name, **parameters, seed=20)

    def play(agent: Any, played: tm.Suite) -> Run:
        return tm.run(played, agent, log_dir=tmp_path, floors="off", resume=False)

    first = play("control/null", suite)
    made = replace(suite, tasks=[*first.tasks()], maker=TaskMaker())  # pictures are drawn once
    chance = chance_of(name, suite, first.summary()["score"]["value"])
    failed = {}
    for agent, model in agents_of(name, suite).items():
        found = play(model, made).summary()["score"]
        if found["low"] > chance + ROUNDING:
            failed[agent] = round(found["value"], 3)
    known = {agent: each["value"] for (of, agent), each in KNOWN.items() if of == name}
    assert failed == known, f"chance {chance:.3f}"


def test_the_list_of_known_shortcuts_has_reasons_and_names_sets_and_agents() -> None:
    for (name, _), each in KNOWN.items():
        assert name in SETS
        assert {*each} == {"set", "agent", "value", "reason"} and each["reason"]
