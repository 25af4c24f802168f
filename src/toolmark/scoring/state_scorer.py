"""A scorer of final states: the environment must end in the state that the row expects."""

from __future__ import annotations

from typing import Any

from toolmark.core.called_code import CodeHolder
from toolmark.core.errors import WrongResult, suggest_names
from toolmark.core.records import Verdict
from toolmark.scoring.episode import Episode
from toolmark.scoring.episode_scorer import incorrect

_MAX_SHOWN_CHARS = 120


class StateEquals(CodeHolder):
    """Judges an episode by the final state of its environment.

    Args:
        field: The field of `task.data` with the expected state.
        any_of: The field holds a list of states of which any is right.
    """

    def __init__(self, field: str = "expected", *, any_of: bool = False) -> None:
        self.field = field
        self.any_of = any_of

    def __call__(self, episode: Episode) -> Verdict:
        """Return the verdict; a failed one names the first place that differs."""
        expected = expected_value(episode, self.field)
        choices = expected if self.any_of else [expected]
        if not isinstance(choices, list) or not choices:
            raise WrongResult(f"{self.field}: expected a list of states, since any_of is set")
        differences = [find_difference(episode.state, each) for each in choices]
        if episode.state is None and expected is not None:
            return incorrect(
                episode, "there is no state; the environment must define final_state", cause="state"
            )
        if "" in differences:
            return Verdict(outcome="correct", value=1.0)
        return incorrect(episode, differences[0], cause="state")

    def settings(self) -> Any:
        """Return the arguments that it was made with."""
        return [self.field, self.any_of]


def expected_value(episode: Episode, field: str) -> Any:
    """Return a field of the data of a task. Raises WrongResult naming the nearest name."""
    data = episode.data
    if not isinstance(data, dict) or field not in data:
        known = data if isinstance(data, dict) else ()
        raise WrongResult(f"the task has no field {field!r}{suggest_names(field, known)}")
    return data[field]


def find_difference(found: Any, expected: Any, place: str = "state") -> str:
    """Return the first place where two JSON values differ, in words; "" where they are equal.

    Numbers are equal by value, so that 1 equals 1.0; true and 1 differ.
    """
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in [*expected, *(name for name in found if name not in expected)]:
            inner = f"{place}.{name}"
            if name not in found:
                return f"{inner} is missing, expected {_short_repr(expected[name])}"
            if name not in expected:
                return f"{inner} = {_short_repr(found[name])} is not expected"
            if difference := find_difference(found[name], expected[name], inner):
                return difference
        return ""
    if isinstance(found, list) and isinstance(expected, list):
        for at, (one, other) in enumerate(zip(found, expected, strict=False)):
            if difference := find_difference(one, other, f"{place}[{at}]"):
                return difference
        if len(found) != len(expected):
            return f"{place} has {len(found)} entries, expected {len(expected)}"
        return ""
    is_same_kind = isinstance(found, bool) == isinstance(expected, bool)
    if is_same_kind and found == expected:
        return ""
    return f"{place} is {_short_repr(found)}, expected {_short_repr(expected)}"


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}..."
