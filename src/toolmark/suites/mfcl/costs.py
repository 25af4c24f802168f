"""What a condition costs against another, paired by item: cells of a table, points of a chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from toolmark.stats import figures
from toolmark.stats.paired import Paired
from toolmark.types import Series

Cell: TypeAlias = str | float | int | None
CHANGED = ("points", "low", "high", "p", "items", "lost", "won")
PAIRED = (
    "Accuracy in percentage points, paired by item; 95 % intervals over items. Lost and won: items "
    "that turn from mostly right to mostly wrong, and back. Each row is a test of its own: p is of "
    "an exact or a permutation test, the interval is not read off it, so that close to p = 0.05 "
    "one may hold what the other denies."
)


def changed(found: Paired) -> tuple[Cell, ...]:
    """Return the cells under CHANGED; of no items all but the counts are None."""
    seen = found.difference
    ends = (None if x is None else 100 * x for x in (seen.value, seen.low, seen.high))
    p = None if found.p is None else figures.chance(found.p)
    return (*ends, p, found.n_items, len(found.only_b), len(found.only_a))


def line(name: str, x: Sequence[float], found: Sequence[Paired]) -> Series:
    """Return differences as points; one without items is no number, and is not drawn."""

    def points(values: Iterator[float | None]) -> tuple[float, ...]:
        return tuple(float("nan") if value is None else 100 * value for value in values)

    seen = [each.difference for each in found]
    return Series(
        name=name, x=tuple(x), y=points(e.value for e in seen), low=points(e.low for e in seen),
        high=points(e.high for e in seen),
    )  # fmt: skip
