"""One number for many rows: a mean or a share with its interval, and the noise of repeats."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import binom

from toolmark.stats.columns import Columns
from toolmark.stats.interval import Groups, Vector, bootstrap, codes, ratio, wilson
from toolmark.types import Estimate


def mean(columns: Columns, name: str) -> Estimate:
    """Return the mean value over the rows that ran, with a 95 % interval.

    Wilson's interval where values are 0 or 1 and no item occurs twice; else rows of one item, or
    of one group (`Columns.cluster`), are alike and `interval.ratio` counts these (its docstring
    says why that method). `worst` and
    `best` count what was not run as 0 and as 1. Nothing ran: all None.
    """
    ran = columns.value[columns.run]
    n = len(ran)
    if n == 0:
        return Estimate(name=name)
    total = float(ran.sum())
    low, high = _interval(ran, columns.cluster[columns.run])
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


def average(columns: Columns, part: str) -> Estimate:
    """Return the mean of a part over the answers that have it; rates may pass 1, so by bootstrap.

    There is no interval of few items or groups, nor of values that are all alike (`bootstrap`).
    """
    values = columns.part(part)
    known = ~np.isnan(values)
    if not known.any():
        return Estimate(name=part)
    low, high = bootstrap(values[known], columns.cluster[known])
    ends = (None, None) if np.isnan(low) else (low, high)
    return Estimate(name=part, value=float(values[known].mean()), low=ends[0], high=ends[1],
                    n=int(known.sum()))  # fmt: skip


def passes(columns: Columns, k: int, name: str, *, every: bool) -> Estimate:
    """Return the chance that all of k answers to a task are right, or (not `every`) any of them.

    pass^k (arXiv 2406.12045) and pass@k (arXiv 2107.03374): the mean over tasks of the unbiased
    comb(c, k) / comb(n, k), and 1 - comb(n - c, k) / comb(n, k), c of a task's n answers being
    right. n counts tasks; those that ran fewer than k times are left out. The interval is that of
    `mean` over tasks. `worst` and `best` count what was not run as wrong and as right.
    """
    task = codes(columns.task)
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
    low, high = _interval(values, columns.cluster[first][known])
    whole = asked >= k
    return Estimate(
        name=name,
        value=float(values.mean()),
        low=low,
        high=high,
        n=int(known.sum()),
        worst=float(chance(right[whole], asked[whole]).mean()),
        best=float(chance((right + asked - ran)[whole], asked[whole]).mean()),
    )


def groups(columns: Columns) -> int:
    """Return of how many groups the rows that ran are, 0 where none hang together."""
    if not (columns.axis("group") != "").any():
        return 0
    return len(set(columns.cluster[columns.run]))


def share(name: str, hits: Vector, totals: Vector, groups: Groups) -> Estimate:
    """Return sum(hits) / sum(totals), pooled over rows; rows of one group are alike.

    For rates per call: `hits` calls of a kind among `totals` calls in each row. Rows whose total
    is nan were not run and are left out; n is the sum of the totals. No totals: all None.
    """
    hit, total = np.asarray(hits, dtype=float), np.asarray(totals, dtype=float)
    used = ~np.isnan(hit) & ~np.isnan(total) & (total > 0)
    n = float(total[used].sum())
    if n == 0:
        return Estimate(name=name)
    names = np.asarray(groups, dtype=object)[used]
    low, high = ratio(hit[used], total[used], names)
    return Estimate(name=name, value=float(hit[used].sum()) / n, low=low, high=high, n=round(n))


def noise(columns: Columns, name: str = "within-task standard deviation") -> Estimate:
    """Return the noise floor: how far repeats of one task scatter, pooled over tasks.

    The square root of the pooled variance between repeats, with the bootstrap interval over
    items; n is the number of tasks that ran at least twice. All None without repeats.
    """
    value = columns.value[columns.run]
    task = codes(columns.task[columns.run])
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
    low, high = _scatter(square[repeated], count[repeated] - 1, items)
    return Estimate(
        name=name,
        value=math.sqrt(square[repeated].sum() / (count[repeated] - 1).sum()),
        low=low,
        high=high,
        n=int(repeated.sum()),
    )


def _interval(values: NDArray[np.float64], items: NDArray[np.object_]) -> tuple[float, float]:
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    if binary and len(set(items)) == len(items):
        return wilson(int(values.sum()), len(values))
    return ratio(values, np.ones(len(values)), items)


def _scatter(
    square: NDArray[np.float64], freedom: NDArray[np.int64], items: NDArray[np.object_]
) -> tuple[float | None, float | None]:
    """Return the interval of the noise floor; None where the tasks show no scatter of it."""
    # one row per degree of freedom: the mean of these rows is the pooled variance
    rows = np.repeat(square / freedom, freedom)
    low, high = bootstrap(rows, np.repeat(items, freedom))
    if not low < high:
        return None, None
    return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
