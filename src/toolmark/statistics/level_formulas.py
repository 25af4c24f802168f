"""The formulas of metrics over the levels of an axis: their mean, and how far they are apart."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal

import numpy as np

from toolmark.core.records import Estimate, Record
from toolmark.statistics.confidence_intervals import ratio_interval
from toolmark.statistics.estimates import (
    estimate_mean,
)
from toolmark.statistics.score_columns import Columns, ordered_levels


class LevelMean(Record, frozen=True, kw_only=True, tag="level_mean"):
    """The mean over the levels of an axis, with equal weights; the interval counts items.

    `levels_label` is the displayed name for levels. The levels in `order` are added first.
    """

    axis: str
    levels_label: str
    order: tuple[str, ...] = ()

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; it is `partial` where a level has no row that ran.

        `worst` and `best` are the means over levels of their `worst` and `best`.
        """
        levels = columns.axis(self.axis)
        names = ordered_levels(levels, self.order)
        parts = {name: estimate_mean(columns.where(levels == name), name) for name in names}
        ran = [name for name in names if parts[name].n]
        if not ran:
            return Estimate(name="")
        rows = columns.where(columns.run & np.isin(levels, np.array(ran, dtype=object)))
        # weights have a mean of 1, so that the variance in ratio_interval is that of plain rows
        size = len(rows) / len(ran)
        weight = np.array([size / parts[str(name)].n for name in rows.axis(self.axis)])
        low, high = ratio_interval(rows.value * weight, weight, rows.item)
        n = len(parts)
        return Estimate(
            name="",
            value=sum(parts[name].value or 0.0 for name in ran) / len(ran),
            low=low,
            high=high,
            n=len(rows),
            worst=sum(part.worst or 0.0 for part in parts.values()) / n,
            best=sum(1.0 if part.best is None else part.best for part in parts.values()) / n,
            partial="" if len(ran) == n else f"{len(ran)} of {n} {self.levels_label} run",
        )


class LevelSpread(Record, frozen=True, kw_only=True, tag="spread"):
    """The spread of the means of an axis's levels; no interval.

    `range` is the greatest minus the least mean, `deviation` the sample standard deviation (n - 1).
    Both are 0 for fewer than two levels.
    """

    axis: str
    statistic: Literal["range", "deviation"]

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; `n` counts the rows that ran."""
        levels = columns.axis(self.axis)
        names = ordered_levels(levels)
        found = [estimate_mean(columns.where(levels == name), name) for name in names]
        values = [each.value for each in found if each.value is not None]
        spread = statistics.stdev if self.statistic == "deviation" else _value_range
        value = spread(values) if len(values) > 1 else 0.0
        return Estimate(name="", value=value, n=sum(each.n for each in found))


def _value_range(values: Sequence[float]) -> float:
    return max(values) - min(values)
