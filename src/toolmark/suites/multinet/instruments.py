"""Test instruments that see the task: one that is always right, one that errs on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, TypeAlias

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.models.baselines.script import rate_of
from toolmark.suites.multinet.frame import Calls, Choice, Motion, Odds, Truth, Words, truth_of
from toolmark.suites.multinet.players import Player, replies
from toolmark.types import Model, Reply, Task

Fault: TypeAlias = Callable[[Truth], Any]


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that gives the truth, in the form asked."""
    if options:
        raise UsageError("test/oracle takes no options here")
    return _right(task)


def faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that gives the truth but for one fault, in a share of the tasks.

    Option `class` names the fault, `rate` (default 1) the share.
    """
    if unknown := options.keys() - {"class", "rate"}:
        raise UsageError(f"faulty: no option {min(unknown)!r}; known: class, rate")
    truth = truth_of(task)
    known = FAULTS[type(truth.space)]
    fault = options.get("class", "invalid")
    if fault not in known:
        raise UsageError(f"faulty: {task.suite} has no class {fault!r}{near(fault, known)}")
    drawn = seeds.of(task.seed, task.id, repeat, f"faulty {fault}").random()
    if drawn >= rate_of(options.get("rate", "1")):
        return _right(task)
    answer = known[fault](truth)
    if isinstance(answer, Reply):
        return Player([answer] * len(task.turns))
    return Player(replies(truth, answer, task.tools))


def _right(task: Task) -> Model:
    truth = truth_of(task)
    return Player(replies(truth, truth.truth, task.tools))


# --- faults -----------------------------------------------------------------------------


def _babble(truth: Truth) -> Reply:
    return Reply(text="I would rather not say.")


def _silence(truth: Truth) -> Reply:
    return Reply()


def _other(truth: Truth) -> Any:
    space, right = truth.space, truth.truth
    if isinstance(space, Choice | Odds) and len(space.options) < 2:
        return _babble(truth)  # any option is the right one
    if isinstance(space, Choice | Odds):
        assert isinstance(right, int)
        return (right + 1) % len(space.options)
    if isinstance(space, Motion):
        return tuple(
            high + (high - low) + 1 for low, high in zip(space.low, space.high, strict=True)
        )
    if isinstance(space, Words):
        return f"anything but {right}"
    assert isinstance(right, tuple)
    return tuple(("invented()",) for _ in right)


def _beyond(truth: Truth) -> Any:
    return len(truth.space.options)  # type: ignore[union-attr]


def _shares(truth: Truth) -> list[float]:
    n = len(truth.space.options)  # type: ignore[union-attr]
    return [float(k == truth.truth) for k in range(n)]


def _vector(truth: Truth) -> list[Any]:
    return list(truth.truth)  # type: ignore[arg-type]


FAULTS: Mapping[type, Mapping[str, Fault]] = {
    Choice: {"invalid": _babble, "empty": _silence, "wrong": _other, "out_of_range": _beyond},
    Odds: {
        "invalid": _babble, "empty": _silence, "wrong": _other,
        "out_of_range": lambda truth: [2.0, -1.0, *[0.0] * (len(_shares(truth)) - 2)],
        "dimension": lambda truth: [*_shares(truth), 0.0],
        "nan": lambda truth: [nan, *_shares(truth)[1:]],
        "sum": lambda truth: [p / 2 for p in _shares(truth)],
    },
    Motion: {
        "invalid": _babble, "empty": _silence, "wrong": _other,
        "out_of_range": lambda truth: [1e300 for _ in _vector(truth)],
        "dimension": lambda truth: [*_vector(truth), 0.0],
        "nan": lambda truth: [nan, *_vector(truth)[1:]],
    },
    Words: {"invalid": _silence, "empty": _silence, "wrong": _other},
    Calls: {"invalid": _babble, "empty": _silence, "wrong": _other},
}  # fmt: skip
"""What can be wrong with an answer, by the kind of its space."""
