"""Estimates over rows: means and shares with their intervals, and the noise of repeats."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from toolmark.core.records import Estimate
from toolmark.statistics.cluster_inference import measure_with_interval
from toolmark.statistics.confidence_intervals import (
    Groups,
    Vector,
    bootstrap_interval,
    group_codes,
    ratio_interval,
)
from toolmark.statistics.linearisation import (
    Linearisation,
    linearise_mean,
    linearise_part,
    linearise_pass_rate,
    sum_by_code,
)
from toolmark.statistics.score_columns import Columns


def estimate_mean(columns: Columns, name: str) -> Estimate:
    """Return the mean value over the rows that ran, with a 95 % interval.

    `worst` and `best` count rows that were not run as 0 and as 1. Where nothing ran, all numbers
    are None.
    """
    return replace(measure_with_interval(linearise_mean(columns), columns), name=name)


def estimate_part_average(columns: Columns, part: str) -> Estimate:
    """Return the mean of a part over the answers that have it.

    The values may exceed 1. There is no interval with few items or groups, or where all values are
    equal.
    """
    return measure_with_interval(linearise_part(columns, part), columns)


def estimate_pass_rate(columns: Columns, k: int, name: str, *, every: bool) -> Estimate:
    """Return pass^k or pass@k with its interval (`linearise_pass_rate`)."""
    found = linearise_pass_rate(columns, k, every=every)
    return replace(measure_with_interval(found, columns), name=name)


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


def estimate_repeat_error(found: Linearisation, columns: Columns) -> float | None:
    """Return the standard error of a number that comes from asking again alone.

    The influences of a task's rows differ from their mean by chance from repeat to repeat, so a
    task that ran n times adds n / (n - 1) times the sum of these squares. Tasks that ran once are
    taken to vary as the others, in proportion to their squared weights. None where no task ran
    twice. Two runs of one model, an A/A comparison, differ in 95 % of cases by at most
    NORMAL_QUANTILE times the root of two times this.
    """
    rows = np.flatnonzero(found.counted)
    task = group_codes(columns.task[rows])
    n_tasks = int(task.max(initial=-1)) + 1
    count = np.bincount(task, minlength=n_tasks)
    repeated = count > 1
    influence = found.influence[rows]
    mean = sum_by_code(task, influence, n_tasks) / np.maximum(count, 1)
    square = sum_by_code(task, np.square(influence - mean[task]), n_tasks)
    weight = sum_by_code(task, np.square(found.weight[rows]), n_tasks)
    known = float(weight[repeated].sum())
    if not known > 0:
        return None
    variance = float((square[repeated] * count[repeated] / (count[repeated] - 1)).sum())
    return math.sqrt(variance * float(weight.sum()) / known)


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
