"""Places in a record, and patterns of places.

A place is a tuple of keys and indices. It is written `scores[3].parts["a b"]`. In a pattern `[]` is
any index, `*` any key, and `**` any number of keys and indices; a key may hold `*` and `?`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

Json: TypeAlias = Any
Place: TypeAlias = tuple[str | int, ...]
ANY_INDEX = -1
DEEP = "**"
_PLAIN = re.compile(r"[^\s.\[\]\"]+")
_PIECE = re.compile(r'\[(\d*)\]|\["((?:[^"\\]|\\.)*)"\]|\.?([^\s.\[\]"]+)')


class BadPattern(ValueError):
    """A pattern of places that cannot be read."""


def text(place: Place) -> str:
    """Write a place; the whole record is `.`."""
    made = ""
    for each in place:
        if isinstance(each, int):
            made += "[]" if each == ANY_INDEX else f"[{each}]"
        elif _PLAIN.fullmatch(each):
            made += f".{each}" if made else each
        else:
            made += f"[{json.dumps(each, ensure_ascii=False)}]"
    return made or "."


@lru_cache(maxsize=4096)
def parse(pattern: str) -> Place:
    """Read a pattern, or a place. Raises BadPattern."""
    if pattern == ".":
        return ()
    made: list[str | int] = []
    at = 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None:
            raise BadPattern(f"{pattern!r}: cannot be read from {pattern[at:]!r} on")
        index, quoted, plain = found.groups()
        if index is not None:
            made.append(int(index) if index else ANY_INDEX)
        else:
            made.append(plain if plain is not None else json.loads(f'"{quoted}"'))
        at = found.end()
    return tuple(made)


def matches(pattern: Place, place: Place) -> bool:
    """Tell whether a place is one of the pattern's."""
    if not pattern:
        return not place
    if pattern[0] == DEEP:
        return any(matches(pattern[1:], place[i:]) for i in range(len(place) + 1))
    return bool(place) and _step(pattern[0], place[0]) and matches(pattern[1:], place[1:])


def covers(pattern: Place, place: Place) -> bool:
    """Tell whether a place, or one that holds it, is one of the pattern's."""
    return any(matches(pattern, place[:n]) for n in range(len(place) + 1))


def _step(pattern: str | int, step: str | int) -> bool:
    if isinstance(pattern, int) or isinstance(step, int):
        return isinstance(step, int) and pattern in (ANY_INDEX, step)
    return pattern == step or fnmatchcase(step, pattern)


def walk(value: Json, at: Place = ()) -> Iterator[tuple[Place, Json]]:
    """Go through every place of a value, the whole first."""
    yield at, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*at, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from walk(inner, (*at, i))


def find(value: Json, pattern: Place) -> list[Place]:
    """Return the places of a value that are the pattern's."""
    return [place for place, _ in walk(value) if matches(pattern, place)]


def get(value: Json, place: Place) -> Json:
    """Return what stands at a place. Raises KeyError or IndexError."""
    for step in place:
        value = value[step]
    return value


def put(value: Json, place: Place, new: Json) -> None:
    """Set what stands at a place; objects on the way are made where they are missing."""
    for step, following in pairwise(place):
        if isinstance(value, dict) and step not in value and isinstance(following, str):
            value[step] = {}
        value = value[step]
    value[place[-1]] = new


def remove(value: Json, place: Place) -> Json:
    """Take a key of an object away and return what stood there."""
    return get(value, place[:-1]).pop(place[-1])
