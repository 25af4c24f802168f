"""The formulas of metrics over errors, relative to the errors of a baseline on the same rows."""

from __future__ import annotations

import math

import numpy as np

from toolmark.core.records import Estimate
from toolmark.statistics import interval_limits
from toolmark.statistics.confidence_intervals import ignore_overflow
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.linearisation import (
    Linearisation,
    Scale,
    linearise_nothing,
    linearise_ratios,
)
from toolmark.statistics.score_columns import Columns, Numbers


class RelativeError(LinearisedFormula, frozen=True, kw_only=True, tag="relative_error"):
    """The sum of errors over the sum of a baseline's errors on the same rows.

    The baseline's errors are the part named `base_` plus the name of `part`.
    """

    part: str

    is_share = False

    @ignore_overflow
    def linearise(self, columns: Columns) -> Linearisation:
        """Return the ratio.

        There is no interval with fewer than FEWEST_ANSWERS rows: the baseline's errors may be large
        in rare rows only, and a small sample may have none of these.
        """
        counted = columns.run & ~np.isnan(columns.part(self.part))
        mass = columns.mass[counted]
        own = columns.part(self.part)[counted] * mass
        base = columns.part(f"base_{self.part}")[counted] * mass
        if not len(own) or not base.sum() > 0:
            return linearise_nothing(len(columns), Estimate(name="", is_share=False))
        value = float(own.sum() / base.sum())
        estimate = Estimate(name="", value=value, n=len(own), is_share=False)
        return linearise_ratios(counted, own, base, estimate, scale=_interval_scale(len(own)))


class FilteredRelativeError(LinearisedFormula, frozen=True, kw_only=True, tag="filtered_error"):
    """The relative error of the rows whose error lies between two percentiles of all errors.

    Both sums are over the rows that the filter leaves (MultiNet v1.0 names this measure, with the
    5th and 95th percentile). The baseline's errors are the part named `base_` plus the name of
    `part`. Percentiles are interpolated linearly, both ends included; with unequal weights of rows
    they are the least errors that reach the share.
    """

    part: str
    low_percent: float = 5.0
    high_percent: float = 95.0

    is_share = False

    @ignore_overflow
    def linearise(self, columns: Columns) -> Linearisation:
        """Return the ratio; `n` counts the rows that the filter leaves.

        The percentiles are estimates too. Where the upper one moves, rows next to it enter the sums
        or leave them, so every row has an influence, those that are left out too. With the ratio R
        and the sum D of the baseline's errors, it is (own - R * base, if the row is left, plus the
        part of both ends) / D, where an end q with the share p adds (p - [own <= q]) times
        E(own - R * base | own = q) (von Mises' expansion of a trimmed ratio; compare Stigler 1973).
        There is no interval with few rows, as for `RelativeError`.
        """
        known = columns.run & ~np.isnan(columns.part(self.part))
        own, mass = columns.part(self.part)[known], columns.mass[known]
        base = columns.part(f"base_{self.part}")[known]
        ends = _weighted_percentiles(own, mass, (self.low_percent, self.high_percent))
        is_inside = (own >= ends[0]) & (own <= ends[1])
        inside = np.where(is_inside, mass, 0.0)
        total = float((base * mass)[is_inside].sum())
        if not len(own) or not total > 0:
            return linearise_nothing(len(columns), Estimate(name="", is_share=False))
        ratio = float((own * mass)[is_inside].sum()) / total
        excess = own - ratio * base
        influence = np.where(is_inside, mass * excess, 0.0)  # an error left out may be infinite
        for sign, percent, end in zip(
            (-1, 1), (self.low_percent, self.high_percent), ends, strict=True
        ):
            influence = influence + mass * sign * (percent / 100 - (own <= end)) * _mean_near(
                excess, own, end
            )
        influence = (influence - mass * (influence.sum() / mass.sum())) / total
        found = Linearisation(
            estimate=Estimate(name="", value=ratio, n=int(is_inside.sum()), is_share=False),
            counted=np.ones(len(own), dtype=bool),
            influence=influence,
            weight=base * inside / total,
            centre=np.full(len(own), ratio),
            n_trials=np.ones(len(own)),
            stratum=np.zeros(len(own), dtype=np.int64),
            scale=_interval_scale(len(own)),
        )
        return found.spread_to(np.flatnonzero(known), len(columns))


def _interval_scale(n_rows: int) -> Scale:
    return "no interval" if n_rows < interval_limits.FEWEST_ANSWERS else "unbounded"


def _weighted_percentiles(
    values: Numbers, mass: Numbers, percents: tuple[float, float]
) -> tuple[float, float]:
    """Return both percentiles; nan without values."""
    if not len(values):
        return math.nan, math.nan
    if (mass == mass[0]).all():
        low, high = np.percentile(values, percents)
    else:
        low, high = np.percentile(values, percents, weights=mass, method="inverted_cdf")
    return float(low), float(high)


def _mean_near(values: Numbers, positions: Numbers, point: float) -> float:
    """Return the mean of the values whose positions are nearest to a point, the root of all."""
    n = math.isqrt(len(values)) + 1
    nearest = np.argsort(np.abs(positions - point), kind="stable")[:n]
    return float(values[nearest].mean())
