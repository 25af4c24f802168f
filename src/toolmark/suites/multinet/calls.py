"""Conversations of function calls: as they are spelt, and as what they mean.

By text calls are compared as they are spelt, and by structure beside it: names, and values by name.
A tool call has no spelling of its own, so in that form both sides are brought to one by structure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.score import turns
from toolmark.suites.multinet import parse
from toolmark.suites.multinet.frame import Truth
from toolmark.suites.multinet.parse import READINGS, Reading, Said
from toolmark.types import Call, Cause, Step, Trajectory

Texts = tuple[tuple[str, ...], ...]
_CUT = 120
_ROOM, _TIMES = 4_096, 4  # a turn's calls that are longer than so are compared as they are spelt


class Sides(NamedTuple):
    """Truth and prediction, turn by turn: as spelt, and by structure."""

    truth: Texts
    made: Texts
    truth_read: Texts
    made_read: Texts


def sides(truth: Truth, trajectory: Trajectory) -> dict[Reading, Sides]:
    """Return both sides of an episode by reading.

    A turn that was not reached is empty, and so is one in which the reply was refused.
    """
    order = truth.parameters
    right, right_read = _right(truth)
    read: list[tuple[str, ...]] = [()] * len(right)
    spelt = {reading: list(read) for reading in READINGS}
    for step in _given(truth, trajectory):
        at = step.turn
        most = _most(right[at])
        if truth.form == "tool":
            read[at] = spelt["paper"][at] = spelt["reference"][at] = _all_called(step.calls, most)
            continue
        for reading, made in spelt.items():
            made[at] = parse.calls(step.reply.text, reading)
        read[at] = _all_read(spelt["paper"][at], order, most)
    shown = right_read if truth.form == "tool" else right
    return {
        reading: Sides(shown, tuple(made), right_read, tuple(read))
        for reading, made in spelt.items()
    }


def texts(truth: Truth, trajectory: Trajectory) -> tuple[str, str]:
    """Return truth and answer as one text each: its calls, and what was said, line by line."""
    right, right_read = _right(truth)
    said: list[str] = []
    for step in _given(truth, trajectory):
        made = _all_called(step.calls, _most(right[step.turn])) if truth.form == "tool" else ()
        said += made or (codec.restore(step.reply.text[: parse.MAX_WORDS]),)
    shown = right_read if truth.form == "tool" else right
    return "\n".join(call for calls in shown for call in calls), "\n".join(said)


def _right(truth: Truth) -> tuple[Texts, Texts]:
    """Return the truth's calls as they are spelt, and by structure."""
    right: Texts = tuple(tuple(map(str, calls)) for calls in truth.truth)  # type: ignore[union-attr, arg-type]
    return right, tuple(tuple(_read(text, truth.parameters) for text in calls) for calls in right)


def _given(truth: Truth, trajectory: Trajectory) -> Iterator[Step]:
    """Go through the replies that were not refused."""
    steps = trajectory.steps[: len(truth.truth)]  # type: ignore[arg-type]
    return (step for step in steps if step.reply.stop != "refused")


def _most(right: Sequence[str]) -> int:
    """Return how long a turn's calls may be to be read by structure."""
    return _ROOM + _TIMES * sum(map(len, right))


def fault(found: Sides) -> tuple[int, Cause, str]:
    """Return the first turn that is not as the truth has it, and what is wrong with it."""
    if found.made_read == found.truth_read:
        at = _first(found.truth, found.made)
        return at, "format", f"turn {at + 1}: spelt otherwise, {_told(found.made[at])}"
    at = _first(found.truth_read, found.made_read)
    want, made = found.truth_read[at], found.made_read[at]
    told = f"turn {at + 1}: {_told(made)} where {_told(want)} is wanted"
    return at, _cause(want, made), told


def _cause(want: Sequence[str], made: Sequence[str]) -> Cause:
    names = [[call.partition(" ")[0] for call in side] for side in (made, want)]
    if not made:
        return "missing_call"
    if names[0] == names[1]:
        return "wrong_value"
    if len(made) != len(want):
        return "missing_call" if len(made) < len(want) else "extra_call"
    return "drift" if sorted(names[0]) == sorted(names[1]) else "wrong_tool"


def guessed(truth: Truth, guess: Any) -> bool:
    """Tell whether a baseline's conversation is exact."""
    return turns.conversation(truth.truth, guess).exact  # type: ignore[arg-type]


def _first(truth: Texts, made: Texts) -> int:
    return next((k for k, (a, b) in enumerate(zip(truth, made, strict=True)) if a != b), 0)


def _told(calls: Sequence[str]) -> str:
    text = ", ".join(calls) or "no call"
    return text if len(text) <= _CUT else f"{text[:_CUT]}…"


def _all_read(
    calls: tuple[str, ...], order: Mapping[str, Sequence[str]], most: int
) -> tuple[str, ...]:
    """Return a turn's calls by structure; so long that nobody wants them, as they are."""
    if sum(map(len, calls)) > most:
        return calls
    return tuple(_read(call, order) for call in calls)


def _all_called(calls: Sequence[Call], most: int) -> tuple[str, ...]:
    """Return a turn's tool calls by structure; so long that nobody wants them, as they came."""
    if sum(len(call.name) + len(call.arguments) for call in calls) > most:
        return tuple(map(_raw, calls))
    return tuple(map(_called, calls))


def _raw(call: Call) -> str:
    return f"{call.name}({call.arguments})"


def _read(text: str, order: Mapping[str, Sequence[str]]) -> str:
    """Return a spelt call by structure, arguments given by place under their names; else itself."""
    try:
        (spoken,) = python.whole(text)
        places = order.get(spoken.name, map(str, range(len(spoken.positional))))
        given = {**dict(zip(places, spoken.positional, strict=False)), **spoken.named}
        return _written(spoken.name, given)
    except (python.Unreadable, ValueError, TypeError, RecursionError):
        return text


def _called(call: Call) -> str:
    """Return a tool call by structure; one whose arguments cannot be read as it came."""
    given = parse.arguments(call)
    if isinstance(given, Said):
        return _raw(call)
    try:
        return _written(codec.restore(call.name), given)
    except (ValueError, RecursionError):
        return _raw(call)


def _written(name: str, given: Mapping[Any, Any]) -> str:
    return f"{name} {json.dumps(_plain(given), sort_keys=True, ensure_ascii=False, default=repr)}"


def _plain(value: Any) -> Any:
    """Return a value without what JSON does not tell apart: tuples, 2.0, keys that are no text."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
