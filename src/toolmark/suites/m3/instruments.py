"""Test models that see the reference: one that follows it, one that errs in a chosen way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.models.baselines.script import Script, rate_of
from toolmark.types import Call, Model, Task

Steps = list[list[Call]]


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Make the calls of the reference, step by step, then give its answer."""
    if options:
        raise UsageError("test/oracle takes no options here")
    return _played("test/oracle", right(task), task.reference["answer"])


def faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Follow the reference but for one class of fault, in a share of the tasks.

    Options: `class`, one of FAULTS, and `rate`, the share, 0.2 by default.
    """
    kind = options.get("class", "")
    if kind not in FAULTS:
        raise UsageError(f"no fault class {kind!r}{near(kind, FAULTS)}")
    steps, answer = right(task), task.reference["answer"]
    rng = seeds.of(task.seed, task.id, repeat, f"faulty {kind}")
    if rng.random() < rate_of(options.get("rate", "0.2")):
        steps, answer = FAULTS[kind](rng, steps, answer)
    return _played("test/faulty", steps, answer)


def right(task: Task) -> Steps:
    """Return the calls of the reference."""
    return [
        [
            Call(name=call["name"], arguments=json.dumps(call["arguments"], ensure_ascii=False))
            for call in step["calls"]
        ]
        for step in task.reference["steps"]
    ]


def _played(name: str, steps: Steps, answer: str) -> Script:
    numbered = [
        tuple(
            Call(name=call.name, arguments=call.arguments, id=f"call_{at}_{n}")
            for n, call in enumerate(step)
        )
        for at, step in enumerate(steps)
        if step
    ]
    return Script(name, numbered, answer)


# --- faults -----------------------------------------------------------------------------


def _picked(rng: Random, steps: Steps) -> tuple[int, int]:
    places = [(at, n) for at, step in enumerate(steps) for n in range(len(step))]
    return rng.choice(places)


def _changed(steps: Steps, at: int, n: int, *calls: Call) -> Steps:
    return [
        [*step[:n], *calls, *step[n + 1 :]] if row == at else step for row, step in enumerate(steps)
    ]


def _missing(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    return _changed(steps, *_picked(rng, steps)), answer


def _unknown(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    at, n = _picked(rng, steps)
    call = steps[at][n]
    return _changed(steps, at, n, Call(name=f"{call.name}_now", arguments=call.arguments)), answer


def _unread(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    at, n = _picked(rng, steps)
    return _changed(steps, at, n, Call(name=steps[at][n].name, arguments='{"torn')), answer


def _unsaid(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    return steps, ""


FAULTS: dict[str, Callable[[Random, Steps, str], tuple[Steps, str]]] = {
    "missing_call": _missing,
    "unknown_tool": _unknown,
    "format": _unread,
    "no_answer": _unsaid,
}
