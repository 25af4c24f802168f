"""Controls that see the reference: one follows it, one makes a chosen kind of fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.model import Model
from toolmark.core.records import Call, Task
from toolmark.core.task_data import read_task_data
from toolmark.models.scripted_model import ScriptedModel, parse_error_rate
from toolmark.suites.m3.m3_task_data import M3TaskData

Steps = list[list[Call]]


def make_oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the control that makes the calls of the reference step by step, then gives its answer.

    Raises UsageError for any option.
    """
    if options:
        raise UsageError("control/oracle takes no options here")
    return _make_script(
        "control/oracle", reference_calls(task), read_task_data(task, M3TaskData).answer
    )


def make_faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the control that follows the reference, except for one class of fault in some tasks.

    Options: `class`, a key of `FAULT_CLASSES`; `rate`, the share of tasks with the fault, 0.2 by
    default. Raises UsageError for an unknown class.
    """
    kind = options.get("class", "")
    if kind not in FAULT_CLASSES:
        raise UsageError(f"no fault class {kind!r}{suggest_names(kind, FAULT_CLASSES)}")
    steps, answer = reference_calls(task), read_task_data(task, M3TaskData).answer
    rng = seeds.make_rng(task.seed, task.id, repeat, f"faulty {kind}")
    if rng.random() < parse_error_rate(options.get("rate", "0.2")):
        steps, answer = FAULT_CLASSES[kind](rng, steps, answer)
    return _make_script("control/faulty", steps, answer)


def reference_calls(task: Task) -> Steps:
    """Return the calls of the reference, by step."""
    return [
        [
            Call(name=call["name"], arguments=json.dumps(call["arguments"], ensure_ascii=False))
            for call in step["calls"]
        ]
        for step in read_task_data(task, M3TaskData).reference_steps
    ]


def _make_script(name: str, steps: Steps, answer: str) -> ScriptedModel:
    numbered = [
        tuple(
            Call(name=call.name, arguments=call.arguments, id=f"call_{at}_{n}")
            for n, call in enumerate(step)
        )
        for at, step in enumerate(steps)
        if step
    ]
    return ScriptedModel(name, numbered, answer)


# --- faults -----------------------------------------------------------------------------


def _pick_call(rng: Random, steps: Steps) -> tuple[int, int]:
    positions = [(at, n) for at, step in enumerate(steps) for n in range(len(step))]
    return rng.choice(positions)


def _replace_call(steps: Steps, at: int, n: int, *calls: Call) -> Steps:
    return [
        [*step[:n], *calls, *step[n + 1 :]] if row == at else step for row, step in enumerate(steps)
    ]


def _drop_call(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    return _replace_call(steps, *_pick_call(rng, steps)), answer


def _rename_tool(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    at, n = _pick_call(rng, steps)
    call = steps[at][n]
    return _replace_call(
        steps, at, n, Call(name=f"{call.name}_now", arguments=call.arguments)
    ), answer


def _break_arguments(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    at, n = _pick_call(rng, steps)
    return _replace_call(steps, at, n, Call(name=steps[at][n].name, arguments='{"torn')), answer


def _drop_answer(rng: Random, steps: Steps, answer: str) -> tuple[Steps, str]:
    return steps, ""


FAULT_CLASSES: dict[str, Callable[[Random, Steps, str], tuple[Steps, str]]] = {
    "missing_call": _drop_call,
    "unknown_tool": _rename_tool,
    "format": _break_arguments,
    "no_answer": _drop_answer,
}
