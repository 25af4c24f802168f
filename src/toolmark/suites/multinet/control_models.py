"""Controls that see the task: one that is always correct, one that makes a chosen fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, TypeAlias

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.model import Model
from toolmark.core.records import Reply, Task
from toolmark.core.task_data import read_task_data
from toolmark.models.scripted_model import parse_error_rate
from toolmark.suites.multinet.baseline_players import PreparedReplies, format_answer
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    Choice,
    Distribution,
    FreeText,
    FunctionCalls,
    Truth,
)

FaultMaker: TypeAlias = Callable[[Truth], Any]
_FAULTY_OPTIONS = ("class", "rate")


def oracle_control(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that gives the truth, in the form that the task asks for."""
    if options:
        raise UsageError("control/oracle takes no options here")
    return _correct_player(task)


def faulty_control(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that gives the truth, except for one fault in a share of the tasks.

    Option `class` names the fault, `rate` (default 1) is the share.
    """
    if unknown := options.keys() - {*_FAULTY_OPTIONS}:
        option = min(unknown)
        raise UsageError(f"faulty: no option {option!r}{suggest_names(option, _FAULTY_OPTIONS)}")
    truth = read_task_data(task, Truth)
    faults = FAULTS_BY_SPACE[type(truth.space)]
    fault = options.get("class", "invalid")
    if fault not in faults:
        raise UsageError(
            f"faulty: {task.suite} has no class {fault!r}{suggest_names(fault, faults)}"
        )
    draw = seeds.make_rng(task.seed, task.id, repeat, f"faulty {fault}").random()
    if draw >= parse_error_rate(options.get("rate", "1")):
        return _correct_player(task)
    answer = faults[fault](truth)
    if isinstance(answer, Reply):
        return PreparedReplies([answer] * len(task.turns))
    return PreparedReplies(format_answer(truth, answer, task.tools))


def _correct_player(task: Task) -> Model:
    truth = read_task_data(task, Truth)
    return PreparedReplies(format_answer(truth, truth.truth, task.tools))


# --- faults -----------------------------------------------------------------------------


def _unreadable_reply(truth: Truth) -> Reply:
    return Reply(text="I would rather not say.")


def _empty_reply(truth: Truth) -> Reply:
    return Reply()


def _wrong_answer(truth: Truth) -> Any:
    space, correct = truth.space, truth.truth
    if isinstance(space, Choice | Distribution) and len(space.options) < 2:
        return _unreadable_reply(truth)  # any option is the right one
    if isinstance(space, Choice | Distribution):
        assert isinstance(correct, int)
        return (correct + 1) % len(space.options)
    if isinstance(space, ActionVector):
        return tuple(
            high + (high - low) + 1 for low, high in zip(space.low, space.high, strict=True)
        )
    if isinstance(space, FreeText):
        return f"anything but {correct}"
    assert isinstance(correct, tuple)
    return tuple(("invented()",) for _ in correct)


def _index_out_of_range(truth: Truth) -> Any:
    return len(truth.space.options)  # type: ignore[union-attr]


def _certain_distribution(truth: Truth) -> list[float]:
    n = len(truth.space.options)  # type: ignore[union-attr]
    return [float(k == truth.truth) for k in range(n)]


def _true_vector(truth: Truth) -> list[Any]:
    return list(truth.truth)  # type: ignore[arg-type]


FAULTS_BY_SPACE: Mapping[type, Mapping[str, FaultMaker]] = {
    Choice: {
        "invalid": _unreadable_reply,
        "empty": _empty_reply,
        "wrong": _wrong_answer,
        "out_of_range": _index_out_of_range,
    },
    Distribution: {
        "invalid": _unreadable_reply,
        "empty": _empty_reply,
        "wrong": _wrong_answer,
        "out_of_range": lambda truth: [2.0, -1.0, *[0.0] * (len(_certain_distribution(truth)) - 2)],
        "dimension": lambda truth: [*_certain_distribution(truth), 0.0],
        "nan": lambda truth: [nan, *_certain_distribution(truth)[1:]],
        "sum": lambda truth: [p / 2 for p in _certain_distribution(truth)],
    },
    ActionVector: {
        "invalid": _unreadable_reply,
        "empty": _empty_reply,
        "wrong": _wrong_answer,
        "out_of_range": lambda truth: [1e300 for _ in _true_vector(truth)],
        "dimension": lambda truth: [*_true_vector(truth), 0.0],
        "nan": lambda truth: [nan, *_true_vector(truth)[1:]],
    },
    FreeText: {"invalid": _empty_reply, "empty": _empty_reply, "wrong": _wrong_answer},
    FunctionCalls: {"invalid": _unreadable_reply, "empty": _empty_reply, "wrong": _wrong_answer},
}
"""The possible faults of an answer, by the kind of its space."""
