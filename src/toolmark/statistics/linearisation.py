"""Linearised numbers: a value, and what each row adds to its error.

Every number that a suite reports, a mean, a ratio of sums or a weighted combination of these, is to
first order its expected value plus a sum over rows. A row's term is its *influence* (Hampel 1974;
for surveys Deville 1999). The interval of the number, the interval and the test of its difference
between two runs, and its rank follow from the influences (`cluster_inference`,
`paired_difference`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from scipy.special import binom

from toolmark.core.records import Estimate
from toolmark.statistics.confidence_intervals import group_codes, ignore_overflow
from toolmark.statistics.score_columns import Columns, Mask, Numbers

Codes: TypeAlias = NDArray[np.int64]
Scale: TypeAlias = Literal["share", "unbounded", "no interval"]
"""How the interval is made: for a number within [0, 1], for any other, or not at all.

A difference between two runs has an interval on each scale.
"""


@dataclass(frozen=True, slots=True)
class Linearisation:
    """A number over rows, and per row what its error is made of.

    All arrays have one cell per row of the columns that were measured.

    - `estimate`: the value, `n`, `worst`, `best` and `partial`, without an interval.
    - `counted`: the rows that the value is computed from. Elsewhere all other arrays are 0.
    - `influence`: what the row adds to the error of the value, in the unit of the value. The
      influences of a stratum sum to 0.
    - `weight`: the row's share in the value. The weights sum to 1, or to less where parts of the
      value are missing and count as 0.
    - `centre`: the mean of the row's stratum, from which its influence is measured.
    - `n_trials`: the number of independent trials that a row would stand for if rows were
      independent: 1 for a mean, the number of calls for a rate per call.
    - `stratum`: a code per independent sample of fixed size, such as a category or a setting of a
      designed grid. Clusters that occur in several strata connect them.
    """

    estimate: Estimate
    counted: Mask
    influence: Numbers
    weight: Numbers
    centre: Numbers
    n_trials: Numbers
    stratum: Codes
    scale: Scale = "share"

    @property
    def value(self) -> float | None:
        """The value, None where nothing ran."""
        return self.estimate.value

    def spread_to(self, rows: NDArray[np.int64], n: int) -> Linearisation:
        """Return it over n rows, of which these were measured."""

        def spread(cells: NDArray[Any]) -> NDArray[Any]:
            full = np.zeros(n, dtype=cells.dtype)
            full[rows] = cells
            return full

        return replace(
            self,
            counted=spread(self.counted),
            influence=spread(self.influence),
            weight=spread(self.weight),
            centre=spread(self.centre),
            n_trials=spread(self.n_trials),
            stratum=spread(self.stratum),
        )


def sum_by_code(code: Codes, values: Numbers, n: int) -> Numbers:
    """Return the sums of the values of each code, for codes 0 to n - 1."""
    return np.bincount(code, values, n).astype(np.float64)


def linearise_nothing(n: int, estimate: Estimate) -> Linearisation:
    """Return the linearisation of a number that no row contributes to."""
    zeros = np.zeros(n)
    return Linearisation(
        estimate,
        np.zeros(n, dtype=bool),
        zeros,
        zeros,
        zeros,
        zeros,
        np.zeros(n, dtype=np.int64),
        "no interval",
    )


def linearise_mean(columns: Columns, stratum: Codes | None = None) -> Linearisation:
    """Return the mean value over the rows that ran.

    `worst` and `best` count rows that were not run as 0 and as 1. `stratum` has the stratum of
    each row; influences are measured from the strata's means.
    """
    counted, mass = columns.run, columns.mass
    weights = mass[counted]
    if not len(weights):
        return linearise_nothing(len(columns), Estimate(name=""))
    values = columns.value[counted]
    total, sum_weights = float((values * weights).sum()), float(weights.sum())
    all_weights = float(mass.sum())
    estimate = Estimate(
        name="",
        value=total / sum_weights,
        n=len(values),
        worst=total / all_weights,
        best=(total + all_weights - sum_weights) / all_weights,
    )
    return linearise_ratios(
        counted,
        values * weights,
        weights,
        estimate,
        None if stratum is None else stratum[counted],
    )


@ignore_overflow
def linearise_part(columns: Columns, part: str) -> Linearisation:
    """Return the mean of a part of any size over the rows that have it."""
    values = columns.part(part)
    counted = ~np.isnan(values)
    known, mass = values[counted], columns.mass[counted]
    if not len(known):
        return linearise_nothing(len(columns), Estimate(name=part))
    value = float(known.mean() if columns.weight is None else (known * mass).sum() / mass.sum())
    return linearise_ratios(
        counted,
        known * mass,
        mass,
        Estimate(name=part, value=value, n=len(known)),
        scale="unbounded",
    )


def linearise_pass_rate(columns: Columns, k: int, *, every: bool) -> Linearisation:
    """Return the chance that all of k answers to a task are correct, or any of them if not `every`.

    These are pass^k (arXiv 2406.12045) and pass@k (arXiv 2107.03374): the means over tasks of the
    unbiased comb(c, k) / comb(n, k) and 1 - comb(n - c, k) / comb(n, k), where c of a task's n
    answers are correct. `n` of the estimate counts tasks, which all have the same weight; tasks
    that ran fewer than k times are left out. `worst` and `best` count answers that were not run as
    incorrect and as correct.
    """
    task = group_codes(columns.task)
    asked = np.bincount(task).astype(np.float64)
    ran, right = (
        np.bincount(task, each).astype(np.float64) for each in (columns.run, columns.correct)
    )
    known = ran >= k

    def chance(c: Numbers, n: Numbers) -> Numbers:
        drawn: Numbers = binom(c if every else n - c, k) / binom(n, k)
        return drawn if every else 1 - drawn

    if not known.any():
        return linearise_nothing(len(columns), Estimate(name=""))
    values = np.zeros(len(ran))
    values[known] = chance(right[known], ran[known])
    complete = asked >= k
    estimate = Estimate(
        name="",
        value=float(values[known].mean()),
        n=int(known.sum()),
        worst=float(chance(right[complete], asked[complete]).mean()),
        best=float(chance((right + asked - ran)[complete], asked[complete]).mean()),
    )
    counted = columns.run & known[task]
    share = 1 / ran[task[counted]]  # of a row in its task
    return linearise_ratios(counted, values[task[counted]] * share, share, estimate, n_trials=share)


@ignore_overflow
def linearise_ratios(
    counted: Mask,
    numerator: Numbers,
    denominator: Numbers,
    estimate: Estimate,
    stratum: Codes | None = None,
    *,
    n_trials: float | Numbers = 1.0,
    scale: Scale = "share",
) -> Linearisation:
    """Return the linearised sum(numerator) / sum(denominator) over the counted rows.

    The influence of a row in a stratum with the ratio r is (numerator - r * denominator) /
    sum(denominator) (Woodruff 1971). `numerator`, `denominator`, `stratum` and `n_trials` have a
    cell per counted row.
    """
    code = np.zeros(len(numerator), dtype=np.int64) if stratum is None else stratum
    total = float(denominator.sum())
    sums = np.bincount(code, numerator), np.bincount(code, denominator)
    ratio = np.divide(sums[0], sums[1], out=np.zeros(len(sums[0])), where=sums[1] > 0)
    centre = ratio[code]
    found = Linearisation(
        estimate=estimate,
        counted=np.ones(len(numerator), dtype=bool),
        influence=(numerator - centre * denominator) / total,
        weight=denominator / total,
        centre=centre,
        n_trials=np.broadcast_to(np.asarray(n_trials, dtype=float), len(numerator)),
        stratum=code,
        scale=scale,
    )
    return found.spread_to(np.flatnonzero(counted), len(counted))


def combine_linearisations(
    parts: Sequence[tuple[float, Linearisation]], estimate: Estimate
) -> Linearisation:
    """Return the sum of the parts, each times its coefficient.

    The value and the bounds are given by `estimate`. Rows may occur in several parts. The strata
    of the result are the combinations of those of the parts.
    """
    known = [(factor, part) for factor, part in parts if part.value is not None]
    n = len(parts[0][1].counted)
    if not known:
        return linearise_nothing(n, estimate)
    counted = np.zeros(n, dtype=bool)
    influence, weight, weighted_centre, n_trials = (np.zeros(n) for _ in range(4))
    stratum = np.zeros(n, dtype=np.int64)
    for factor, part in known:
        counted |= part.counted
        influence += factor * part.influence
        weight += factor * part.weight
        weighted_centre += factor * part.weight * part.centre
        n_trials = np.maximum(n_trials, part.n_trials)
        own = np.where(part.counted, part.stratum + 1, 0)
        stratum = np.unique(stratum * (own.max() + 1) + own, return_inverse=True)[1]
    centre = np.divide(weighted_centre, weight, out=np.zeros(n), where=weight > 0)
    return Linearisation(
        estimate, counted, influence, weight, centre, n_trials, stratum, _joint_scale(known)
    )


def _joint_scale(parts: Sequence[tuple[float, Linearisation]]) -> Scale:
    """Return the scale of a sum of parts: that of the part about which least is known."""
    scales = {part.scale for _, part in parts}
    if "no interval" in scales:
        return "no interval"
    return "unbounded" if "unbounded" in scales else "share"


def with_estimate(found: Linearisation, **fields: Any) -> Linearisation:
    """Return it with some fields of the estimate replaced."""
    return replace(found, estimate=structs.replace(found.estimate, **fields))
