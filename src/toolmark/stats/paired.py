"""Two runs on the same items: difference, test, flips, and what could have been found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri, stdtrit

from toolmark.stats.columns import Columns, Mask, Names, Numbers
from toolmark.stats.interval import codes, effective
from toolmark.types import Estimate, Record

Method = Literal["exact McNemar", "exact sign-flip permutation", "sign-flip permutation", "none"]

EXACT_ITEMS = 14  # up to 2^14 sign patterns are all gone through
DRAWS = 20_000
POWER = 0.8
_BLOCK = 2**17  # signs that are drawn at a time
_quiet = np.errstate(over="ignore", invalid="ignore")  # values may be as large as numbers go
_REACH = float(ndtri(0.975) + ndtri(POWER))  # standard errors that are found at the 5 % level


class Paired(Record, frozen=True, kw_only=True):
    """How run A differs from run B on what both ran; every difference is A minus B.

    `difference.n` and `n_pairs` count tasks that ran on both sides, `n_items` their items,
    `n_groups` what hangs together (`Columns.cluster`), 0 where that is the items. `p` is
    two-sided. `value_a` and `value_b` are the means of both sides over these pairs, which are `by`
    task, or by item where no task is common. `only_a` and `only_b` name the items that one run
    alone got right (in more than half of its answers). `detectable` is the true difference that a
    comparison of this size finds at the 5 % level in four of five cases. `unpaired_*` episodes
    have no partner in the other run, `not_run_*` episodes have one but were not run. No pairs: the
    numbers are None.
    """

    difference: Estimate
    p: float | None = None
    method: Method = "none"
    by: Literal["task", "item"] = "task"
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
class _Side:
    """One run's rows put together by key; `value` and `right` are nan where nothing ran.

    `worst` and `best` count what was not run as 0 and as 1.
    """

    value: Numbers
    right: Numbers
    worst: Numbers
    best: Numbers
    n_not_run: int
    n_left: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a run that have a partner, key by key: each row's place and its key's number."""

    row: NDArray[np.int64]
    key: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What both runs have, side by side."""

    a: _Side
    b: _Side
    item: Names
    cluster: Names
    by: Literal["task", "item"]


@_quiet
def paired(
    a: Columns,
    b: Columns,
    *,
    name: str = "A - B",
    seed: int = 0,
    part: str = "",
    share: bool = True,
) -> Paired:
    """Compare two runs task by task, each over those of its repeats that ran.

    `part` names a part of the verdicts to compare instead of their value: answers that lack it
    count as not run. `share`: it lies within 0 and 1, as the value does.

    Where no task is common (an axis differs) they are matched by item, the tasks of one item
    averaged; an item with a task that never ran is not run. The interval is Bonett and Price's
    (2012) for single 0/1 pairs, by items
    otherwise (`_spread`); the test is McNemar's exact one for single 0/1 pairs, else signs are
    flipped item by item: all patterns up to 14 items that differ, beyond that 20,000 seeded
    draws, p = (1 + as extreme) / (1 + draws).
    """
    if part:
        a, b = (_measured(each, part) for each in (a, b))
    pairs = _match(a, b)
    delta = pairs.a.value - pairs.b.value
    ran = ~np.isnan(delta)
    n = int(ran.sum())
    bare = Paired(
        difference=Estimate(name=name, share=share),
        by=pairs.by,
        unpaired_a=pairs.a.n_left,
        unpaired_b=pairs.b.n_left,
        not_run_a=pairs.a.n_not_run,
        not_run_b=pairs.b.n_not_run,
    )
    if n == 0:
        return bare
    item, group = pairs.item[ran], codes(pairs.cluster[ran])
    low, high, error = _spread(delta[ran], group)
    if share:
        low, high, error = max(-1.0, low), min(1.0, high), min(error, 1.0 / _REACH)
    p, method = _test(pairs.a.value[ran], pairs.b.value[ran], group, seed)
    only_a, only_b = _flips(pairs.a.right[ran], pairs.b.right[ran], item)
    n_items, n_groups = len(set(item)), int(group.max()) + 1
    return structs.replace(
        bare,
        difference=_estimate(bare.difference, pairs, delta[ran], (low, high)),
        value_a=float(pairs.a.value[ran].mean()),
        value_b=float(pairs.b.value[ran].mean()),
        p=p,
        method=method,
        n_pairs=n,
        n_items=n_items,
        n_groups=0 if n_groups == n_items else n_groups,
        only_a=only_a,
        only_b=only_b,
        detectable=_REACH * error,
    )


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values that hold for all of these tests together (Holm, Scand. J. Stat. 1979).

    Whichever of the null hypotheses are true, one of them falls at 5 % in at most 5 % of cases.
    """
    adjusted, least = [0.0] * len(ps), 0.0
    for n_done, index in enumerate(np.argsort(ps, kind="stable").tolist()):
        least = max(least, min(1.0, (len(ps) - n_done) * ps[index]))
        adjusted[index] = least
    return adjusted


def _match(a: Columns, b: Columns) -> _Pairs:
    """Put both runs' rows side by side by task, by item where no task is common.

    Keys count in the order in which A's rows name them first.
    """
    by: Literal["task", "item"] = "item" if set(a.task).isdisjoint(b.task) else "task"
    names = (a.task, b.task) if by == "task" else (a.item, b.item)
    code = codes(np.concatenate(names))
    code_a, code_b = code[: len(a)], code[len(a) :]
    common = np.zeros((2, 1 + int(code.max(initial=-1))), dtype=bool)
    common[0, code_a] = common[1, code_b] = True
    both = common[0] & common[1]
    rows_a, rows_b = (_sorted(code, both) for code in (code_a, code_b))
    first = rows_a.row[np.flatnonzero(np.diff(rows_a.key, prepend=-1))]
    return _Pairs(
        a=_gather(a, rows_a, len(first)),
        b=_gather(b, rows_b, len(first)),
        item=a.item[first],
        cluster=a.cluster[first],
        by=by,
    )


def _sorted(code: NDArray[np.int64], both: Mask) -> _Rows:
    """Return the rows whose numbers both runs have, by number; these count anew, without gaps."""
    row = np.flatnonzero(both[code])
    key = (np.cumsum(both) - 1)[code[row]]
    order = np.argsort(key, kind="stable")
    return _Rows(row[order], key[order])


def _gather(columns: Columns, rows: _Rows, n: int) -> _Side:
    """Average the repeats of each task that ran, then the tasks of each of the n keys.

    Repeats of two runs share nothing: they are not matched one by one.
    """
    flat = rows.row
    task = codes(columns.task[flat])
    owner = np.zeros(1 + int(task.max(initial=-1)), dtype=np.int64)
    owner[task] = rows.key
    run, value = columns.run[flat], columns.value[flat]

    def averaged(values: Numbers, kept: Mask) -> Numbers:
        with np.errstate(invalid="ignore"):  # a task that never ran is 0 / 0: nan
            each = np.bincount(task, values * kept, len(owner)) / np.bincount(
                task, kept, len(owner)
            )
        mean: Numbers = np.bincount(owner, each, n) / np.bincount(owner, None, n)
        return mean

    every = np.ones(len(flat), dtype=bool)
    return _Side(
        value=averaged(np.nan_to_num(value), run),
        right=averaged(columns.correct[flat].astype(float), run),
        worst=averaged(np.where(run, value, 0.0), every),
        best=averaged(np.where(run, value, 1.0), every),
        n_not_run=int((~run).sum()),
        n_left=len(columns) - len(flat),
    )


def _measured(columns: Columns, part: str) -> Columns:
    values = columns.part(part)
    return replace(columns, value=values, run=columns.run & ~np.isnan(values))


def _estimate(bare: Estimate, pairs: _Pairs, delta: Numbers, ends: tuple[float, float]) -> Estimate:
    low, high = ends
    found = structs.replace(bare, value=float(delta.mean()), low=low, high=high, n=len(delta))
    if not bare.share:  # which has no bounds
        return found
    worst, best = _bounds(pairs)
    return structs.replace(found, worst=worst, best=best)


def _bounds(pairs: _Pairs) -> tuple[float, float]:
    """Return the difference if what was not run had gone all one way, and all the other."""
    worst, best = pairs.a.worst - pairs.b.best, pairs.a.best - pairs.b.worst
    return float(worst.mean()), float(best.mean())


def _spread(delta: Numbers, group: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return low, high and standard error of the mean difference, counting items.

    Two pseudo-items are added, one flipped each way as far as the item that differs most (all
    the way when none differs): for single 0/1 pairs this is Bonett and Price, Statistics in
    Medicine 2012, with Student's t; a few items that all agree then still leave room for doubt.
    Items of several rows count by Kish's number (`interval.effective`).
    """
    total = np.bincount(group, delta)
    count = np.bincount(group).astype(float)
    reach = float(np.abs(total / count).max()) or 1.0
    size = count.mean()
    total = np.concatenate([total, [reach * size, -reach * size]])
    count = np.concatenate([count, [size, size]])
    middle = total.sum() / count.sum()
    n = effective(count)
    square = float(np.square(total - middle * count).sum())
    error = math.sqrt(square * n / (n - 1)) / float(count.sum())
    half = float(stdtrit(n - 1, 0.975)) * error
    return float(middle - half), float(middle + half), error


def _test(a: Numbers, b: Numbers, group: NDArray[np.int64], seed: int) -> tuple[float, Method]:
    binary = bool(np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all())
    if binary and len(np.unique(group)) == len(group):
        return mcnemar(int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum()))
    return _permute(np.bincount(group, a - b).astype(np.float64), seed)


def mcnemar(only_a: int, only_b: int) -> tuple[float, Method]:
    """Return McNemar's exact two-sided p for two counts of discordant pairs; 1 for none."""
    tail = float(bdtr(min(only_a, only_b), only_a + only_b, 0.5))
    return min(1.0, 2 * tail), "exact McNemar"


def _permute(total: Numbers, seed: int) -> tuple[float, Method]:
    """Return the two-sided p of the summed difference when each item's sign is a coin toss."""
    total = total[np.abs(total) > 1e-12]  # flipping an item without a difference changes nothing
    seen = abs(float(total.sum())) - 1e-9  # equal sums in another order differ by rounding
    n = len(total)
    if n <= EXACT_ITEMS:
        signs = 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return float(np.mean(np.abs(signs @ total) >= seen)), "exact sign-flip permutation"
    extreme = sum(int(np.sum(np.abs(signs @ total) >= seen)) for signs in _signs(n, seed))
    return (1 + extreme) / (1 + DRAWS), "sign-flip permutation"


def _signs(n: int, seed: int) -> Iterator[Numbers]:
    """Draw n signs DRAWS times, in blocks that stay in the processor's cache.

    They are those of `default_rng(seed).integers(0, 2)`, which takes the highest bit of each half
    of the generator's 64-bit numbers, the lower half first: an even number of rows takes whole
    ones.
    """
    generator = np.random.default_rng(seed).bit_generator
    rows = max(2, _BLOCK // n // 2 * 2)
    block = np.empty((rows, n))
    for start in range(0, DRAWS, rows):
        signs = block[: min(rows, DRAWS - start)]
        raw = np.asarray(generator.random_raw(signs.size // 2)).astype("<u8", copy=False)
        np.multiply((raw.view("<u4") >> 31).reshape(signs.shape), -2.0, out=signs)
        signs += 1.0
        yield signs


def _flips(
    right_a: Numbers, right_b: Numbers, item: Names
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the items that only A, and only B, got right in more than half of the cases."""
    group = codes(item)
    count = np.bincount(group)
    mostly_a = np.bincount(group, right_a) > count / 2
    mostly_b = np.bincount(group, right_b) > count / 2
    names = item[np.unique(group, return_index=True)[1]]
    return tuple(names[mostly_a & ~mostly_b]), tuple(names[mostly_b & ~mostly_a])
