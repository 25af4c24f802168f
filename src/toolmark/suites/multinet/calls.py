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
from toolmark.suites.multinet.making import PARAMETERS
from toolmark.suites.multinet.parse import Reading, Said
from toolmark.types import Call, Cause, Task, Trajectory

Texts = tuple[tuple[str, ...], ...]
_CUT = 120


class Sides(NamedTuple):
    """Truth and prediction, turn by turn: as spelt, and by structure. `said` is what was said."""

    truth: Texts
    made: Texts
    truth_read: Texts
    made_read: Texts
    said: str


def sides(task: Task, truth: Truth, trajectory: Trajectory, reading: Reading) -> Sides:
    """Return both sides of an episode; a turn that was not reached is empty."""
    order: Mapping[str, Sequence[str]] = task.reference.get(PARAMETERS, {})
    right: Texts = tuple(tuple(map(str, calls)) for calls in truth.truth)  # type: ignore[union-attr, arg-type]
    right_read = tuple(tuple(_read(text, order) for text in calls) for calls in right)
    made: list[tuple[str, ...]] = [()] * len(right)
    read = list(made)
    said: list[str] = []
    for step in trajectory.steps[: len(right)]:
        if truth.form == "tool":
            made[step.turn] = read[step.turn] = tuple(map(_called, step.calls))
            said += made[step.turn] or [step.reply.text]
            continue
        text = codec.restore(step.reply.text)
        made[step.turn] = parse.calls(text, reading)
        read[step.turn] = tuple(_read(call, order) for call in parse.calls(text, "paper"))
        said.append(text)
    shown = right_read if truth.form == "tool" else right
    return Sides(shown, tuple(made), right_read, tuple(read), "\n".join(said))


def fault(found: Sides) -> tuple[Cause, str]:
    """Say what is wrong with the first turn that is not as the truth has it."""
    if found.made_read == found.truth_read:
        at = _first(found.truth, found.made)
        return "format", f"turn {at + 1}: spelt otherwise, {_told(found.made[at])}"
    at = _first(found.truth_read, found.made_read)
    want, made = found.truth_read[at], found.made_read[at]
    told = f"turn {at + 1}: {_told(made)} where {_told(want)} is wanted"
    names = [[call.partition(" ")[0] for call in side] for side in (made, want)]
    if not made:
        return "missing_call", told
    if names[0] == names[1]:
        return "wrong_value", told
    if len(made) != len(want):
        return ("missing_call" if len(made) < len(want) else "extra_call"), told
    return ("drift" if sorted(names[0]) == sorted(names[1]) else "wrong_tool"), told


def guessed(truth: Truth, guess: Any) -> bool:
    """Tell whether a baseline's conversation is exact."""
    return turns.conversation(truth.truth, guess).exact  # type: ignore[arg-type]


def _first(truth: Texts, made: Texts) -> int:
    return next((k for k, (a, b) in enumerate(zip(truth, made, strict=True)) if a != b), 0)


def _told(calls: Sequence[str]) -> str:
    text = ", ".join(calls) or "no call"
    return text if len(text) <= _CUT else f"{text[:_CUT]}…"


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
    raw = f"{call.name}({call.arguments})"
    if isinstance(given, Said):
        return raw
    try:
        return _written(codec.restore(call.name), given)
    except (ValueError, RecursionError):
        return raw


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


def flat(texts: Texts) -> Iterator[str]:
    """Go through the calls of all turns."""
    return (call for calls in texts for call in calls)
