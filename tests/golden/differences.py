"""What differs between a recorded value and a fresh one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from tests.golden import paths
from tests.golden.paths import Json, Place

TOLERANCE = "$tolerance"


class Absent:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Any = Absent()


@dataclass(frozen=True)
class Difference:
    """One place at which two records differ. The path is that in the record, or in the new one."""

    case: str
    scenario: str
    place: Place
    old: Json
    new: Json

    @property
    def pattern(self) -> str:
        """The place with every index left open."""
        return paths.text(tuple(paths.ANY_INDEX if isinstance(x, int) else x for x in self.place))


def compare(case: str, scenario: str, old: Json, new: Json) -> list[Difference]:
    """Return every difference of a scenario. Floats may differ as far as the old record says.

    A scenario that is an object may hold `$tolerance`: patterns of places with the greatest
    absolute difference.
    """
    given = old.get(TOLERANCE, {}) if isinstance(old, dict) else {}
    tolerance = {paths.parse(pattern): float(most) for pattern, most in given.items()}
    found = _compare(old, new, (), tolerance)
    return [Difference(case, scenario, place, a, b) for place, a, b in found]


def _compare(
    old: Json, new: Json, at: Place, tolerance: Mapping[Place, float]
) -> Iterator[tuple[Place, Json, Json]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            a, b = old.get(key, ABSENT), new.get(key, ABSENT)
            yield from _compare(a, b, (*at, key), tolerance)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(old, new, at, tolerance)
    elif not _equal(old, new, at, tolerance):
        yield at, old, new


def _lists(
    old: list[Json], new: list[Json], at: Place, tolerance: Mapping[Place, float]
) -> Iterator[tuple[Place, Json, Json]]:
    """Compare by index; where the lengths differ, equal stretches are laid side by side first."""
    if len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _compare(a, b, (*at, i), tolerance)
        return
    left, right = ([json.dumps(each, sort_keys=True) for each in side] for side in (old, new))
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for _, a, a_end, b, b_end in matcher.get_opcodes():
        for k in range(max(a_end - a, b_end - b)):
            inner_old = old[a + k] if a + k < a_end else ABSENT
            inner_new = new[b + k] if b + k < b_end else ABSENT
            index = a + k if inner_old is not ABSENT else b + k
            yield from _compare(inner_old, inner_new, (*at, index), tolerance)


def _equal(old: Json, new: Json, at: Place, tolerance: Mapping[Place, float]) -> bool:
    if old is ABSENT or new is ABSENT:
        return old is new
    if _number(old) and _number(new):
        most = max((x for p, x in tolerance.items() if paths.covers(p, at)), default=None)
        if most is not None:
            return math.isclose(old, new, rel_tol=0.0, abs_tol=most)
    return type(old) is type(new) and bool(old == new)


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
