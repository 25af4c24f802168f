"""Estimates over rows: means and shares with their intervals, and the noise of repeats."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import binom

from toolmark.core.records import Estimate
from toolmark.statistics.confidence_intervals import (
    Groups,
    Vector,
    bootstrap_interval,
    group_codes,
    ratio_interval,
    wilson,
)
from toolmark.statistics.score_columns import Columns


def estimate_mean(columns: Columns, name: str) -> Estimate:
    """Return the mean value over the rows that ran, with a 95 % interval.

    The interval is Wilson's where all values are 0 or 1 and no item occurs twice. Otherwise it is
    that of `ratio_interval`, which counts items or groups (`Columns.cluster`), since rows of one
    item or group are correlated. `worst` and `best` count rows that were not run as 0 and as 1.
    Where nothing ran, all numbers are None.
    """
    ran = columns.value[columns.run]
    n = len(ran)
    if n == 0:
        return Estimate(name=name)
    total = float(ran.sum())
    low, high = _mean_interval(ran, columns.cluster[columns.run])
    missing = len(columns) - n
    return Estimate(
        name=name,
        value=total / n,
        low=low,
        high=high,
        n=n,
        worst=total / len(columns),
        best=(total + missing) / len(columns),
    )


def estimate_part_average(columns: Columns, part: str) -> Estimate:
    """Return the mean of a part over the answers that have it.

    The values may exceed 1, so the interval is that of `bootstrap_interval`. There is no interval
    with few items or groups, or where all values are equal.
    """
    values = columns.part(part)
    known = ~np.isnan(values)
    if not known.any():
        return Estimate(name=part)
    low, high = bootstrap_interval(values[known], columns.cluster[known])
    ends = (None, None) if np.isnan(low) else (low, high)
    return Estimate(name=part, value=float(values[known].mean()), low=ends[0], high=ends[1],
                    n=int(known.sum()))  # fmt: skip


def estimate_pass_rate(columns: Columns, k: int, name: str, *, every: bool) -> Estimate:
    """Return the chance that all of k answers to a task are correct, or any of them if not `every`.

    These are pass^k (arXiv 2406.12045) and pass@k (arXiv 2107.03374): the means over tasks of the
    unbiased comb(c, k) / comb(n, k) and 1 - comb(n - c, k) / comb(n, k), where c of a task's n
    answers are correct. `n` of the estimate counts tasks; tasks that ran fewer than k times are
    left out. The interval is that of `estimate_mean` over tasks. `worst` and `best` count answers
    that were not run as incorrect and as correct.
    """
    task = group_codes(columns.task)
    asked = np.bincount(task).astype(np.float64)
    ran, right = (
        np.bincount(task, each).astype(np.float64) for each in (columns.run, columns.correct)
    )
    known = ran >= k

    def chance(c: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
        drawn: NDArray[np.float64] = binom(c if every else n - c, k) / binom(n, k)
        return drawn if every else 1 - drawn

    if not known.any():
        return Estimate(name=name)
    values = chance(right[known], ran[known])
    first = np.unique(task, return_index=True)[1]
    low, high = _mean_interval(values, columns.cluster[first][known])
    complete = asked >= k
    return Estimate(
        name=name,
        value=float(values.mean()),
        low=low,
        high=high,
        n=int(known.sum()),
        worst=float(chance(right[complete], asked[complete]).mean()),
        best=float(chance((right + asked - ran)[complete], asked[complete]).mean()),
    )


def count_groups(columns: Columns) -> int:
    """Return the number of groups among the rows that ran, 0 where no row has a group."""
    if not (columns.axis("group") != "").any():
        return 0
    return len(set(columns.cluster[columns.run]))


def estimate_pooled_share(name: str, hits: Vector, totals: Vector, groups: Groups) -> Estimate:
    """Return sum(hits) / sum(totals), pooled over rows; rows of one group are correlated.

    It serves for rates per call: each row has `hits` calls of a kind among `totals` calls. Rows
    with nan were not run and are left out. `n` is the sum of the totals. Where that is 0, all
    numbers are None.
    """
    hit, total = np.asarray(hits, dtype=float), np.asarray(totals, dtype=float)
    used = ~np.isnan(hit) & ~np.isnan(total) & (total > 0)
    n = float(total[used].sum())
    if n == 0:
        return Estimate(name=name)
    names = np.asarray(groups, dtype=object)[used]
    low, high = ratio_interval(hit[used], total[used], names)
    return Estimate(name=name, value=float(hit[used].sum()) / n, low=low, high=high, n=round(n))


def estimate_repeat_noise(
    columns: Columns, name: str = "within-task standard deviation"
) -> Estimate:
    """Return the noise floor: the standard deviation between repeats of a task, pooled over tasks.

    It is the square root of the pooled variance between repeats, with the bootstrap interval over
    items. `n` is the number of tasks that ran at least twice. Without repeats all numbers are None.
    """
    value = columns.value[columns.run]
    task = group_codes(columns.task[columns.run])
    if not len(task):
        return Estimate(name=name)
    count = np.bincount(task)
    centre = np.bincount(task, value) / count
    square = np.bincount(task, np.square(value - centre[task])).astype(np.float64)
    repeated = count > 1
    if not repeated.any():
        return Estimate(name=name)
    first = np.unique(task, return_index=True)[1]
    items = columns.cluster[columns.run][first][repeated]
    low, high = _noise_interval(square[repeated], count[repeated] - 1, items)
    return Estimate(
        name=name,
        value=math.sqrt(square[repeated].sum() / (count[repeated] - 1).sum()),
        low=low,
        high=high,
        n=int(repeated.sum()),
    )


def _mean_interval(values: NDArray[np.float64], items: NDArray[np.object_]) -> tuple[float, float]:
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    if binary and len(set(items)) == len(items):
        return wilson(int(values.sum()), len(values))
    return ratio_interval(values, np.ones(len(values)), items)


def _noise_interval(
    square: NDArray[np.float64], freedom: NDArray[np.int64], items: NDArray[np.object_]
) -> tuple[float | None, float | None]:
    """Return the interval of the noise floor; None where `bootstrap_interval` gives none."""
    # one row per degree of freedom: the mean of these rows is the pooled variance
    rows = np.repeat(square / freedom, freedom)
    low, high = bootstrap_interval(rows, np.repeat(items, freedom))
    if not low < high:
        return None, None
    return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
