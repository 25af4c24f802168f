"""What a simulated user may tell: the values that the reference asks for, by parameter.

A topic is a parameter's path (`body.mode`); where calls give one parameter different values, the
second is `path 2`. A value is the accepted one that the user's own words hold, else the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolmark.suites.bfcl import replay
from toolmark.suites.mfcl import words
from toolmark.types import Task

Value: TypeAlias = str | int | float
Whitelist: TypeAlias = Mapping[str, Value]

_DEPTH = 8


def of(truth: Sequence[Mapping[str, Any]], written: str) -> dict[str, Value]:
    """Return the whitelist of a single-turn truth: per call the accepted values of each parameter.

    An argument that may be left out is in it only where the user's words hold its value.
    """
    said = words.tokens(written)
    found: dict[str, Value] = {}
    for call in truth:
        for arguments in call.values():
            if isinstance(arguments, Mapping):
                for name, accepted in arguments.items():
                    for topic, value in _accepted(str(name), accepted, said):
                        _add(found, topic, value)
    return found


def turns(task: Task, written: Sequence[str]) -> tuple[dict[str, Value], ...]:
    """Return the whitelist of every turn of a multi-turn task.

    `written` is what the user says in each turn. A value that is in none of it so far is not the
    user's to tell: it comes out of a tool.
    """
    lists: list[dict[str, Value]] = []
    said: list[str] = []
    for text, acts in zip(written, replay.check(task).plain, strict=True):
        said += words.tokens(text)
        found: dict[str, Value] = {}
        for act in acts:
            for name, given in act.arguments.items():
                for topic, value in _plain(name, given):
                    if words.holds(said, value):
                        _add(found, topic, value)
        lists.append(found)
    return tuple(lists)


def _accepted(
    path: str, accepted: Any, said: Sequence[str], depth: int = 0
) -> Iterator[tuple[str, Value]]:
    """Go through the leaves of a parameter's accepted values."""
    if not isinstance(accepted, list) or depth > _DEPTH:
        return
    first = next((value for value in accepted if value != ""), None)
    if isinstance(first, Mapping):
        for name, inner in first.items():
            yield from _accepted(f"{path}.{name}", inner, said, depth + 1)
    elif isinstance(first, list) and first and isinstance(first[0], Mapping):
        for at, entry in enumerate(first, 1):
            for name, inner in entry.items():
                yield from _accepted(f"{path}.{at}.{name}", inner, said, depth + 1)
    else:
        values = [value for value in map(_leaf, accepted) if value is not None]
        held = next((value for value in values if words.holds(said, value)), None)
        if held is not None or (values and "" not in accepted):
            yield path, values[0] if held is None else held


def _plain(path: str, given: Any, depth: int = 0) -> Iterator[tuple[str, Value]]:
    if isinstance(given, Mapping) and depth <= _DEPTH:
        for name, inner in given.items():
            yield from _plain(f"{path}.{name}", inner, depth + 1)
    elif (value := _leaf(given)) is not None:
        yield path, value


def _leaf(value: Any) -> Value | None:
    """Return a value that can be told; a list of such is told as one."""
    if isinstance(value, list):
        leaves = [leaf for leaf in map(_leaf, value) if leaf is not None]
        return ", ".join(map(str, leaves)) if leaves and len(leaves) == len(value) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return value if str(value).strip() else None


def _add(found: dict[str, Value], topic: str, value: Value) -> None:
    same = [name for name in found if name == topic or name.startswith(f"{topic} ")]
    if value not in (found[name] for name in same):
        found[f"{topic} {len(same) + 1}" if same else topic] = value
