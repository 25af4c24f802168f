"""The formulas of metrics over the levels of an axis: their mean, and how far they are apart."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from toolmark.core.records import Estimate
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.linearisation import (
    Linearisation,
    combine_linearisations,
    linearise_mean,
    linearise_nothing,
)
from toolmark.statistics.score_columns import Columns, ordered_levels


class LevelMean(LinearisedFormula, frozen=True, kw_only=True, tag="level_mean"):
    """The mean over the levels of an axis, with equal weights; each level is a stratum.

    `levels_label` is the displayed name for levels. The levels in `order` are added first.
    """

    axis: str
    levels_label: str
    order: tuple[str, ...] = ()

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the mean; it is `partial` where a level has no row that ran.

        `worst` and `best` are the means over levels of their `worst` and `best`.
        """
        parts = _level_means(columns, self.axis, self.order)
        ran = [part for part in parts if part.value is not None]
        if not ran:
            return linearise_nothing(len(columns), Estimate(name=""))
        bounds = [part.estimate for part in parts]
        n = len(parts)
        estimate = Estimate(
            name="",
            value=sum(part.value or 0.0 for part in ran) / len(ran),
            n=sum(part.estimate.n for part in ran),
            worst=sum(part.worst or 0.0 for part in bounds) / n,
            best=sum(1.0 if part.best is None else part.best for part in bounds) / n,
            partial="" if len(ran) == n else f"{len(ran)} of {n} {self.levels_label} run",
        )
        return combine_linearisations([(1 / len(ran), part) for part in ran], estimate)


class LevelSpread(LinearisedFormula, frozen=True, kw_only=True, tag="spread"):
    """The spread of the means of an axis's levels; no interval.

    `range` is the greatest minus the least mean, `deviation` the sample standard deviation (n - 1).
    Both are 0 for fewer than two levels. Both are too large by chance where levels are nearly
    alike, so an interval around them would not cover the truth. The difference between two runs on
    the same items has an interval: the two errors of this kind are then of about the same size.
    """

    axis: str
    statistic: Literal["range", "deviation"]

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the spread; `n` counts the rows that ran.

        The influences are those of the levels' means, each times the derivative of the spread.
        """
        parts = [each for each in _level_means(columns, self.axis) if each.value is not None]
        values = [float(each.value or 0.0) for each in parts]
        n = sum(each.estimate.n for each in parts)
        if len(values) < 2:
            return linearise_nothing(len(columns), Estimate(name="", value=0.0, n=n))
        if self.statistic == "deviation":
            value = statistics.stdev(values)
            slope = (np.array(values) - np.mean(values)) / ((len(values) - 1) * (value or 1.0))
        else:
            value = max(values) - min(values)
            slope = np.zeros(len(values))
            slope[int(np.argmax(values))] += 1.0
            slope[int(np.argmin(values))] -= 1.0
        moved = combine_linearisations(
            list(zip(slope.tolist(), parts, strict=True)), Estimate(name="", value=value, n=n)
        )
        mass = np.where(moved.counted, columns.mass, 0.0)
        return replace(
            moved, weight=mass / mass.sum(), centre=mass * 0 + value, scale="no interval"
        )


def _level_means(columns: Columns, axis: str, order: Sequence[str] = ()) -> list[Linearisation]:
    """Return the mean of each level of an axis, over all rows."""
    levels = columns.axis(axis)
    found = []
    for name in ordered_levels(levels, order):
        rows = np.flatnonzero(levels == name)
        found.append(linearise_mean(columns.where(rows)).spread_to(rows, len(columns)))
    return found
