"""Shortcut agents on every generated set: none scores above chance, but for a list of known ones.

An agent fails where the lower end of the 95 % interval of its headline is above chance. Seeds are
fixed, so the same agents fail each time; without any flaw 2.5 % of the pairs would, by chance.
The agents are those that `toolmark check` plays. At least ten behave differently on each set.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.core.records import Task, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.runs.floors import floor_playing
from toolmark.runs.run_store import Run
from toolmark.statistics.score_columns import gather_columns
from toolmark.suites import run_floors
from toolmark.suites.multinet.frame_records import ActionVector, Choice, Truth
from toolmark.suites.suite_names import SUITES

KNOWN_FILE = Path(__file__).parents[1] / "data" / "known_shortcuts.json"
KNOWN = {(each["set"], each["agent"]): each for each in json.loads(KNOWN_FILE.read_text())}
ROUNDING = 1e-9
MIN_AGENTS = 10
UNPICTURED: Mapping[str, Any] = {"pictures": False, "form": "both"}

SETS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "funcbench small": ("funcbench", {"graphs": 25, "core": 4, "depth": 2, "connected": 4}),
    "funcbench": ("funcbench", {"graphs": 25}),
    "funcbench minimum": ("funcbench", {"graphs": 25, "connected": 10, "cap": "minimum+0"}),
    "funcbench realistic": (
        "funcbench", {"graphs": 25, "core": 5, "depth": 3, "surface": "realistic", "link": "names"},
    ),
    "multinet-piqa": ("multinet-piqa", {"items": 150, "form": "both"}),
    "multinet-sqa3d": ("multinet-sqa3d", {**UNPICTURED, "items": 100, "similarity": "none"}),
    "multinet-odinw": ("multinet-odinw", {**UNPICTURED, "items": 150}),
    "multinet-robovqa": ("multinet-robovqa", {**UNPICTURED, "items": 100, "similarity": "none"}),
    "multinet-overcooked": (
        "multinet-overcooked", {**UNPICTURED, "items": 150, "data": "synthetic"},
    ),
    "multinet-openx": ("multinet-openx", {**UNPICTURED, "items": 150}),
    "mfcl-vision": ("mfcl-vision", {"items": 12, "variations": ("base",)}),
    "mfcl-transcripts": ("mfcl-transcripts", {"items": 8, "conditions": ("text",)}),
    "mfcl-speech": ("mfcl-speech", {"items": 2, "conditions": ("clean",)}),
    "m3-local": ("m3-local", {"instances": 1, "family": ("clock",)}),
}  # fmt: skip
NOT_GENERATED = {"bfcl": "official", "multinet-bfcl": "official", "m3": "published"}
MARKS: Mapping[str, tuple[pytest.MarkDecorator, ...]] = {
    "mfcl-vision": (pytest.mark.long,),
    "mfcl-speech": (pytest.mark.speech, pytest.mark.long),
    "m3-local": (pytest.mark.servers, pytest.mark.long, pytest.mark.timeout(900)),
}


def chance_of(name: str, suite: tm.Suite, null: float) -> float:
    """Return what a guess scores: among the options, else among the answers to the same type."""
    if not name.startswith("multinet"):
        return null  # requests that no tool serves are right without a call
    truths = [(task.axes.get("type", ""), read_task_data(task, Truth)) for task in suite]
    if isinstance(truths[0][1].space, ActionVector):
        return 0.5  # of being nearer than the mean action
    answers: dict[str, set[str]] = {}
    for kind, truth in truths:
        answers.setdefault(kind, set()).add(str(truth.truth))
    sizes = [
        len(truth.space.options) if isinstance(truth.space, Choice) else len(answers[kind])
        for kind, truth in truths
    ]
    return sum(1 / n for n in sizes) / len(sizes)


def play_null(suite: tm.Suite, folder: Path) -> Run:
    """Return the run of no reply; a suite with servers plays it without them."""
    source = suite.environment
    if source.open_idle is not None:
        source = replace(source, open=source.open_idle, starts_processes=False)
    return tm.run(replace(suite, environment=source), "control/null", log_dir=folder)


def behaviour(trajectory: Trajectory) -> tuple[Any, ...]:
    """Return what an agent replied in an episode."""
    return tuple(
        (step.reply.text, tuple((call.name, call.arguments) for call in step.reply.calls))
        for step in trajectory.steps
    )


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in SETS])
def test_no_shortcut_scores_above_chance_but_for_the_known_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite_name, parameters = SETS[name]
    suite = tm.load(suite_name, **parameters, seed=20)
    replies: dict[str, Any] = {}
    store = floor_playing._Game.store_episode

    def note_and_store(game: Any, task: Task, trajectory: Trajectory) -> None:
        replies[task.id] = behaviour(trajectory)
        store(game, task, trajectory)

    monkeypatch.setattr(floor_playing._Game, "store_episode", note_and_store)
    run = play_null(suite, tmp_path)
    chance = chance_of(name, suite, run.summary()["score"]["value"])
    failed, behaviours = {}, set()
    for agent in run_floors.list_shortcuts(suite):
        replies.clear()
        scores = asyncio.run(run_floors.play_shortcut(run, suite, agent, float("inf")))
        behaviours.add(repr(sorted(replies.items())))
        columns = gather_columns(scores, suite.scorer.rules[0])
        found = suite.scorer.metrics(columns)[0].measure(columns)
        assert found.value is not None and found.low is not None
        assert found.n == len(replies) == run.info.n_tasks
        if found.low > chance + ROUNDING:
            failed[agent] = round(found.value, 3)
    known = {agent: each["value"] for (of, agent), each in KNOWN.items() if of == name}
    assert failed == known, f"chance {chance:.3f}"
    assert len(behaviours) >= MIN_AGENTS


def test_every_generated_suite_has_a_set() -> None:
    assert {suite for suite, _ in SETS.values()} | {*NOT_GENERATED} == {*SUITES}


def test_the_list_of_known_shortcuts_has_reasons_and_names_sets_and_agents() -> None:
    for (name, agent), each in KNOWN.items():
        assert name in SETS and agent.startswith(("baseline/", "control/"))
        assert {*each} == {"set", "agent", "value", "reason"} and each["reason"]
