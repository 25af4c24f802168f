"""Comparison of two runs on the same items: difference, test, flips, detectable difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri, stdtrit

from toolmark.core.records import Estimate, Record
from toolmark.statistics.confidence_intervals import effective_n_groups, group_codes
from toolmark.statistics.score_columns import Columns, Mask, Names, Numbers

Method = Literal["exact McNemar", "exact sign-flip permutation", "sign-flip permutation", "none"]

EXACT_ITEMS = 14  # up to this number of items all 2^n sign patterns are counted
N_DRAWS = 20_000
POWER = 0.8
_BLOCK_SIGNS = 2**17  # signs drawn at a time
# values may be as large as the largest float
_ignore_overflow = np.errstate(over="ignore", invalid="ignore")
# a difference of so many standard errors is found at the 5 % level with POWER
_DETECTABLE_STANDARD_ERRORS = float(ndtri(0.975) + ndtri(POWER))


class PairedComparison(Record, frozen=True, kw_only=True):
    """The difference of run A and run B on tasks that both ran; every difference is A minus B.

    `difference.n` and `n_pairs` count tasks that ran in both runs, `n_items` their items, and
    `n_groups` their groups (`Columns.cluster`), 0 where the groups are the items. `p` is two-sided.
    `value_a` and `value_b` are the means of both runs over these pairs. Pairs are `pairing` task,
    or by item where the runs have no common task. `only_a` and `only_b` name the items that only
    one run answered correctly (in more than half of its answers). `detectable` is the true
    difference that a comparison of this size finds at the 5 % level in four of five cases.
    `unpaired_*` counts episodes without a partner in the other run, `not_run_*` episodes that have
    a partner but were not run. Without pairs the numbers are None.
    """

    difference: Estimate
    p: float | None = None
    method: Method = "none"
    pairing: Literal["task", "item"] = "task"
    value_a: float | None = None
    value_b: float | None = None
    n_pairs: int = 0
    n_items: int = 0
    n_groups: int = 0
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    detectable: float | None = None
    unpaired_a: int = 0
    unpaired_b: int = 0
    not_run_a: int = 0
    not_run_b: int = 0


@dataclass(frozen=True, slots=True)
class _RunAverages:
    """One run's rows averaged by key; `value` and `is_correct` are nan where nothing ran.

    `worst` and `best` count rows that were not run as 0 and as 1.
    """

    value: Numbers
    is_correct: Numbers
    worst: Numbers
    best: Numbers
    n_not_run: int
    n_unpaired: int


@dataclass(frozen=True, slots=True)
class _PairedRows:
    """The rows of a run that have a partner, sorted by key: each row's index and its key's code."""

    row: NDArray[np.int64]
    key: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _RunPairs:
    """The averages of two runs over their common keys."""

    a: _RunAverages
    b: _RunAverages
    item: Names
    cluster: Names
    pairing: Literal["task", "item"]


@_ignore_overflow
def compare_paired(
    a: Columns,
    b: Columns,
    *,
    name: str = "A - B",
    seed: int = 0,
    part: str = "",
    share: bool = True,
) -> PairedComparison:
    """Compare two runs task by task; each task is averaged over its repeats that ran.

    `part` names a part of the verdicts to compare instead of their value; answers without it count
    as not run. `share` says that the numbers lie within 0 and 1.

    Where the runs have no common task (an axis differs), they are matched by item, and the tasks of
    one item are averaged; an item with a task that never ran counts as not run. The interval is
    Bonett and Price's (2012) for single 0/1 pairs; otherwise it counts groups
    (`_difference_interval`). The test is McNemar's exact test for single 0/1 pairs. Otherwise it is
    a permutation test that flips the sign of each group: it counts all patterns for up to 14 groups
    that differ, and beyond that 20,000 seeded draws, with p = (1 + as extreme) / (1 + draws).
    """
    if part:
        a, b = (_with_part_values(each, part) for each in (a, b))
    pairs = _match_rows(a, b)
    delta = pairs.a.value - pairs.b.value
    ran = ~np.isnan(delta)
    n = int(ran.sum())
    without_pairs = PairedComparison(
        difference=Estimate(name=name, is_share=share),
        pairing=pairs.pairing,
        unpaired_a=pairs.a.n_unpaired,
        unpaired_b=pairs.b.n_unpaired,
        not_run_a=pairs.a.n_not_run,
        not_run_b=pairs.b.n_not_run,
    )
    if n == 0:
        return without_pairs
    item, group = pairs.item[ran], group_codes(pairs.cluster[ran])
    low, high, error = _difference_interval(delta[ran], group)
    if share:
        low, high, error = (
            max(-1.0, low),
            min(1.0, high),
            min(error, 1.0 / _DETECTABLE_STANDARD_ERRORS),
        )
    p, method = _paired_test(pairs.a.value[ran], pairs.b.value[ran], group, seed)
    only_a, only_b = _flipped_items(pairs.a.is_correct[ran], pairs.b.is_correct[ran], item)
    n_items, n_groups = len(set(item)), int(group.max()) + 1
    return structs.replace(
        without_pairs,
        difference=_difference_estimate(without_pairs.difference, pairs, delta[ran], (low, high)),
        value_a=float(pairs.a.value[ran].mean()),
        value_b=float(pairs.b.value[ran].mean()),
        p=p,
        method=method,
        n_pairs=n,
        n_items=n_items,
        n_groups=0 if n_groups == n_items else n_groups,
        only_a=only_a,
        only_b=only_b,
        detectable=_DETECTABLE_STANDARD_ERRORS * error,
    )


def holm_adjusted(ps: Sequence[float]) -> list[float]:
    """Return p-values adjusted for several tests (Holm, Scand. J. Stat. 1979).

    Whichever null hypotheses are true, the chance that any of them is rejected at 5 % is at most
    5 %.
    """
    adjusted, least = [0.0] * len(ps), 0.0
    for n_done, index in enumerate(np.argsort(ps, kind="stable").tolist()):
        least = max(least, min(1.0, (len(ps) - n_done) * ps[index]))
        adjusted[index] = least
    return adjusted


def _match_rows(a: Columns, b: Columns) -> _RunPairs:
    """Match the rows of both runs by task, or by item where they have no common task.

    Keys are numbered in the order of their first appearance in A's rows.
    """
    by: Literal["task", "item"] = "item" if set(a.task).isdisjoint(b.task) else "task"
    names = (a.task, b.task) if by == "task" else (a.item, b.item)
    code = group_codes(np.concatenate(names))
    code_a, code_b = code[: len(a)], code[len(a) :]
    common = np.zeros((2, 1 + int(code.max(initial=-1))), dtype=bool)
    common[0, code_a] = common[1, code_b] = True
    both = common[0] & common[1]
    rows_a, rows_b = (_sort_paired_rows(code, both) for code in (code_a, code_b))
    first = rows_a.row[np.flatnonzero(np.diff(rows_a.key, prepend=-1))]
    return _RunPairs(
        a=_average_rows(a, rows_a, len(first)),
        b=_average_rows(b, rows_b, len(first)),
        item=a.item[first],
        cluster=a.cluster[first],
        pairing=by,
    )


def _sort_paired_rows(code: NDArray[np.int64], both: Mask) -> _PairedRows:
    """Return the rows whose code both runs have, sorted by code; codes are renumbered from 0."""
    row = np.flatnonzero(both[code])
    key = (np.cumsum(both) - 1)[code[row]]
    order = np.argsort(key, kind="stable")
    return _PairedRows(row[order], key[order])


def _average_rows(columns: Columns, rows: _PairedRows, n: int) -> _RunAverages:
    """Average the repeats of each task that ran, then the tasks of each of the n keys.

    Repeats of two runs are independent, so they are not matched one by one.
    """
    flat = rows.row
    task = group_codes(columns.task[flat])
    owner = np.zeros(1 + int(task.max(initial=-1)), dtype=np.int64)
    owner[task] = rows.key
    run, value = columns.run[flat], columns.value[flat]

    def average(values: Numbers, counted: Mask) -> Numbers:
        with np.errstate(invalid="ignore"):  # a task that never ran is 0 / 0 = nan
            each = np.bincount(task, values * counted, len(owner)) / np.bincount(
                task, counted, len(owner)
            )
        mean: Numbers = np.bincount(owner, each, n) / np.bincount(owner, None, n)
        return mean

    every = np.ones(len(flat), dtype=bool)
    return _RunAverages(
        value=average(np.nan_to_num(value), run),
        is_correct=average(columns.correct[flat].astype(float), run),
        worst=average(np.where(run, value, 0.0), every),
        best=average(np.where(run, value, 1.0), every),
        n_not_run=int((~run).sum()),
        n_unpaired=len(columns) - len(flat),
    )


def _with_part_values(columns: Columns, part: str) -> Columns:
    values = columns.part(part)
    return replace(columns, value=values, run=columns.run & ~np.isnan(values))


def _difference_estimate(
    empty: Estimate, pairs: _RunPairs, delta: Numbers, ends: tuple[float, float]
) -> Estimate:
    low, high = ends
    found = structs.replace(empty, value=float(delta.mean()), low=low, high=high, n=len(delta))
    if not empty.is_share:  # the values have no bounds
        return found
    worst, best = _difference_bounds(pairs)
    return structs.replace(found, worst=worst, best=best)


def _difference_bounds(pairs: _RunPairs) -> tuple[float, float]:
    """Return the difference if all rows not run favoured B, and if all of them favoured A."""
    worst, best = pairs.a.worst - pairs.b.best, pairs.a.best - pairs.b.worst
    return float(worst.mean()), float(best.mean())


def _difference_interval(delta: Numbers, group: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return low, high and standard error of the mean difference over groups.

    Two pseudo-groups are added, one in each direction, which differ as much as the group with the
    largest difference (by 1 where none differs). For single 0/1 pairs this is Bonett and Price,
    Statistics in Medicine 2012, with Student's t. The interval thus has a width even where a few
    groups all agree. Groups of several rows count by Kish's effective number
    (`effective_n_groups`).
    """
    total = np.bincount(group, delta)
    count = np.bincount(group).astype(float)
    reach = float(np.abs(total / count).max()) or 1.0
    size = count.mean()
    total = np.concatenate([total, [reach * size, -reach * size]])
    count = np.concatenate([count, [size, size]])
    middle = total.sum() / count.sum()
    n = effective_n_groups(count)
    square = float(np.square(total - middle * count).sum())
    error = math.sqrt(square * n / (n - 1)) / float(count.sum())
    half = float(stdtrit(n - 1, 0.975)) * error
    return float(middle - half), float(middle + half), error


def _paired_test(
    a: Numbers, b: Numbers, group: NDArray[np.int64], seed: int
) -> tuple[float, Method]:
    binary = bool(np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all())
    if binary and len(np.unique(group)) == len(group):
        return mcnemar(int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum()))
    return _sign_flip_test(np.bincount(group, a - b).astype(np.float64), seed)


def mcnemar(only_a: int, only_b: int) -> tuple[float, Method]:
    """Return McNemar's exact two-sided p for two counts of discordant pairs; 1 for none."""
    tail = float(bdtr(min(only_a, only_b), only_a + only_b, 0.5))
    return min(1.0, 2 * tail), "exact McNemar"


def _sign_flip_test(total: Numbers, seed: int) -> tuple[float, Method]:
    """Return the two-sided p of the summed difference under random signs of the groups."""
    total = total[np.abs(total) > 1e-12]  # flipping a group without a difference changes nothing
    observed = abs(float(total.sum())) - 1e-9  # equal sums in another order differ by rounding
    n = len(total)
    if n <= EXACT_ITEMS:
        signs = 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return float(np.mean(np.abs(signs @ total) >= observed)), "exact sign-flip permutation"
    extreme = sum(int(np.sum(np.abs(signs @ total) >= observed)) for signs in _draw_signs(n, seed))
    return (1 + extreme) / (1 + N_DRAWS), "sign-flip permutation"


def _draw_signs(n: int, seed: int) -> Iterator[Numbers]:
    """Yield N_DRAWS rows of n random signs, in blocks that fit into the processor's cache.

    They equal the draws of `default_rng(seed).integers(0, 2)`, which uses the highest bit of each
    half of the generator's 64-bit numbers, the lower half first. An even number of rows uses each
    64-bit number completely.
    """
    generator = np.random.default_rng(seed).bit_generator
    rows = max(2, _BLOCK_SIGNS // n // 2 * 2)
    block = np.empty((rows, n))
    for start in range(0, N_DRAWS, rows):
        signs = block[: min(rows, N_DRAWS - start)]
        raw = np.asarray(generator.random_raw(signs.size // 2)).astype("<u8", copy=False)
        np.multiply((raw.view("<u4") >> 31).reshape(signs.shape), -2.0, out=signs)
        signs += 1.0
        yield signs


def _flipped_items(
    right_a: Numbers, right_b: Numbers, item: Names
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the items that only A, and only B, answered correctly in more than half of cases."""
    group = group_codes(item)
    count = np.bincount(group)
    mostly_a = np.bincount(group, right_a) > count / 2
    mostly_b = np.bincount(group, right_b) > count / 2
    names = item[np.unique(group, return_index=True)[1]]
    return tuple(names[mostly_a & ~mostly_b]), tuple(names[mostly_b & ~mostly_a])
