"""Multi-turn episodes for tests: calls, tasks over the official simulators, verdicts."""

from __future__ import annotations

import json
from typing import Any

from toolmark.core.records import Call, Task, Verdict
from toolmark.official_bfcl import multi_turn_scoring, multi_turn_tasks


def call(name: str, /, **given: Any) -> Call:
    return Call(name=name, arguments=json.dumps(given))


def judge(task: Task, plays: multi_turn_tasks.CallsPerTurn) -> dict[str, Verdict]:
    return multi_turn_scoring.score_episode(task, multi_turn_tasks.make_trajectory(task, plays))


def first(verdict: Verdict) -> tuple[str, str]:
    """Return the cause and the official error type of a failure."""
    return next((label.cause, label.suite_cause) for label in verdict.labels if label.primary)


def own(classes: list[str], config: dict[str, Any], truth: list[list[str]], **more: Any) -> Task:
    """Return a task of our own over the official simulators."""
    reference = {"classes": classes, "config": config, "truth": truth}
    return Task(id="multi_turn_base_9", suite="bfcl", turns=(), data=reference, **more)
