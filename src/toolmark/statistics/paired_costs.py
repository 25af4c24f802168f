"""Cost of one condition against another, paired by item: cells of a table, points of a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.records import Cell, Chart, Series
from toolmark.statistics import estimate_charts
from toolmark.statistics.paired_comparison import PairedComparison
from toolmark.statistics.table_cells import p_value_cell

COST_COLUMNS = ("points", "low", "high", "p", "items", "lost", "won")
COST_NOTE = (
    "Accuracy in percentage points, paired by item; 95 % intervals over items. Lost and won: items "
    "that turn from mostly right to mostly wrong, and back. Each row is a test of its own, not "
    "corrected for the number of rows; its interval is of the same test as p."
)


def cost_cells(found: PairedComparison) -> tuple[Cell, ...]:
    """Return the cells for COST_COLUMNS; without items all but the counts are None."""
    difference = found.difference
    ends = (
        None if x is None else 100 * x for x in (difference.value, difference.low, difference.high)
    )
    return (*ends, p_value_cell(found.p), found.n_items, len(found.only_b), len(found.only_a))


def cost_series(found: Sequence[PairedComparison], x: Sequence[float] = ()) -> Series:
    """Return differences in percentage points; one without items is nan and is not drawn."""
    differences = [pair.difference for pair in found]
    return estimate_charts.estimate_series("", differences, x, scale=100)


def cost_bars(title: str, costs: Mapping[str, PairedComparison], y_label: str) -> Chart:
    """Return a bar per condition with its cost in percentage points."""
    return Chart(
        title=title,
        kind="bar",
        ticks=tuple(costs),
        series=(cost_series(list(costs.values())),),
        y_label=y_label,
        note="Paired by item; whiskers are 95 % intervals.",
    )
