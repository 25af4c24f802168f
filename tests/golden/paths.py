"""Places in a record, and patterns of places.

A place is a tuple of keys and indices. It is written `scores[3].parts["a b"]`. In a pattern `[]` is
any index, `*` any key, and `**` any number of keys and indices; a key may hold `*` and `?`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
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
    """Return the places of a value that are the pattern's, in the order of `walk`."""
    return [*_descend(value, (), _Search(pattern), frozenset((0,)))]


def _descend(value: Json, at: Place, search: _Search, reached: frozenset[int]) -> Iterator[Place]:
    """Go through the pattern's places, and into nothing that the pattern cannot lead to."""
    if search.ends(reached):
        yield at
    steps = value.items() if isinstance(value, dict) else ()
    for step, inner in enumerate(value) if isinstance(value, list) else steps:
        following = search.advance(reached, step)
        if following:
            yield from _descend(inner, (*at, step), search, following)


class _Search:
    """A pattern as states: each is the number of its steps that a place has met."""

    def __init__(self, pattern: Place) -> None:
        self._pattern = pattern
        self._known: dict[tuple[frozenset[int], str | int], frozenset[int]] = {}
        self._ends: dict[frozenset[int], bool] = {}

    def ends(self, reached: frozenset[int]) -> bool:
        """Tell whether a place that reached these states is one of the pattern's."""
        if reached not in self._ends:
            self._ends[reached] = len(self._pattern) in self._passed(reached)
        return self._ends[reached]

    def advance(self, reached: frozenset[int], step: str | int) -> frozenset[int]:
        """Return the states one step further, none where no place below is the pattern's."""
        key = reached, step if isinstance(step, str) or self._counts else 0
        if key not in self._known:
            self._known[key] = self._advanced(reached, step)
        return self._known[key]

    @cached_property
    def _counts(self) -> bool:
        """Whether the pattern names an index: else all of them lead to the same states."""
        return any(isinstance(each, int) and each != ANY_INDEX for each in self._pattern)

    def _advanced(self, reached: frozenset[int], step: str | int) -> frozenset[int]:
        found = set()
        for state in self._passed(reached):
            if state < len(self._pattern):
                if self._pattern[state] == DEEP:
                    found.add(state)
                elif _step(self._pattern[state], step):
                    found.add(state + 1)
        return frozenset(found)

    def _passed(self, reached: frozenset[int]) -> set[int]:
        """Add the states behind each `**`, which may stand for no step at all."""
        found = {*reached}
        for state in reached:
            while state < len(self._pattern) and self._pattern[state] == DEEP:
                state += 1
                found.add(state)
        return found


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
