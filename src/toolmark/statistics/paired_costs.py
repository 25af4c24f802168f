"""Cost of one condition against another, paired by item: cells of a table, points of a chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from toolmark.core import number_format
from toolmark.core.records import Series
from toolmark.statistics.paired_comparison import PairedComparison

Cell: TypeAlias = str | float | int | None
COST_COLUMNS = ("points", "low", "high", "p", "items", "lost", "won")
COST_NOTE = (
    "Accuracy in percentage points, paired by item; 95 % intervals over items. Lost and won: items "
    "that turn from mostly right to mostly wrong, and back. Each row is a test of its own: p is of "
    "an exact or a permutation test, the interval is not read off it, so that close to p = 0.05 "
    "one may hold what the other denies."
)


def cost_cells(found: PairedComparison) -> tuple[Cell, ...]:
    """Return the cells for COST_COLUMNS; without items all but the counts are None."""
    difference = found.difference
    ends = (
        None if x is None else 100 * x for x in (difference.value, difference.low, difference.high)
    )
    p = None if found.p is None else number_format.format_p_value(found.p)
    return (*ends, p, found.n_items, len(found.only_b), len(found.only_a))


def cost_series(name: str, x: Sequence[float], found: Sequence[PairedComparison]) -> Series:
    """Return differences in percentage points; one without items is nan and is not drawn."""

    def points(values: Iterator[float | None]) -> tuple[float, ...]:
        return tuple(float("nan") if value is None else 100 * value for value in values)

    differences = [pair.difference for pair in found]
    return Series(
        name=name,
        x=tuple(x),
        y=points(estimate.value for estimate in differences),
        low=points(estimate.low for estimate in differences),
        high=points(estimate.high for estimate in differences),
    )
