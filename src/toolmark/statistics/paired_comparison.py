"""Comparison of two runs on the same items by any formula: difference, test, flips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from msgspec import structs

from toolmark.core.records import Estimate, Record
from toolmark.statistics.cluster_inference import ClusterSums, sum_clusters
from toolmark.statistics.confidence_intervals import group_codes, ignore_overflow
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.interval_warnings import difference_warning
from toolmark.statistics.linearisation import Codes, Linearisation
from toolmark.statistics.metric_formulas import Mean
from toolmark.statistics.paired_rows import Pairing, RunPairs, match_runs
from toolmark.statistics.paired_tests import (
    ClusterDifferences,
    DifferenceTest,
    compare_clusters,
    compare_single_pairs,
)
from toolmark.statistics.score_columns import Columns, Names, Numbers

Method: TypeAlias = Literal["McNemar mid-p", "t over clusters", "none"]

_ROUNDING = 1e-9


class PairedComparison(Record, frozen=True, kw_only=True):
    """The difference of run A and run B on tasks that both ran; every difference is A minus B.

    `value_a` and `value_b` are the formula's values over these tasks, and `difference` is exactly
    the one minus the other. `difference.n` and `n_pairs` count tasks that ran in both runs,
    `n_items` their items, and `n_groups` their groups (`Columns.cluster`), 0 where the groups are
    the items. `p` is two-sided; the interval of the difference is that of the same test. Pairs are
    `pairing` task, or by item where the runs have no common task. `only_a` and `only_b` name the
    items that only one run answered correctly (in more than half of its answers). `detectable` is
    the true difference that a comparison of this size finds at the 5 % level in four of five cases,
    None where there is none. `unpaired_*` counts episodes without a partner in the other run,
    `not_run_*` episodes that have a partner but were not run, or lack the compared number. Without
    pairs the numbers are None.
    """

    difference: Estimate
    p: float | None = None
    method: Method = "none"
    pairing: Pairing = "task"
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
class _Sides:
    """A formula over the paired rows of both runs: values, and the joint sums of clusters."""

    value_a: float
    value_b: float
    a: ClusterSums
    b: ClusterSums
    block: Codes
    is_share: bool


@ignore_overflow
def compare_paired(
    a: Columns, b: Columns, formula: LinearisedFormula | None = None, *, name: str = "A - B"
) -> PairedComparison:
    """Compare two runs by a formula, the mean value where None, over the tasks that both ran.

    Rows of a task that ran several times count once together. Where the runs have no common task
    (an axis differs), they are matched by item, and the tasks of one item count once together; an
    item with a task that never ran counts as not run.

    The difference is the formula's value for A minus that for B over the same tasks. Its error
    is the sum over clusters of A's influences minus B's, so what a cluster has in common in both
    runs cancels. Single 0/1 pairs have McNemar's mid-p test (`compare_single_pairs`), all others
    Student's t over clusters (`compare_clusters`). Where parts of the value are missing in both
    runs, the weights of the others are scaled to sum to 1.
    """
    formula = Mean() if formula is None else formula
    pairs = match_runs(a, b, formula)
    found = PairedComparison(
        difference=Estimate(name=name, is_share=formula.is_share),
        pairing=pairs.pairing,
        unpaired_a=pairs.a.n_unpaired,
        unpaired_b=pairs.b.n_unpaired,
        not_run_a=pairs.a.n_not_run,
        not_run_b=pairs.b.n_not_run,
    )
    sides = _measure_sides(pairs, formula)
    if sides is None:
        return found
    only_a, only_b = _flipped_items(pairs.a.is_correct, pairs.b.is_correct, pairs.item)
    n_items, n_groups = len(set(pairs.item)), len(set(pairs.cluster))
    test, method = _test_difference(sides, len(pairs.item))
    difference = structs.replace(
        found.difference,
        value=sides.value_a - sides.value_b,
        low=test.low,
        high=test.high,
        n=len(pairs.item),
        warning=_difference_warning(sides, len(pairs.item)) if test.p is not None else "",
        **_difference_bounds(pairs, formula),
    )
    return structs.replace(
        found,
        difference=difference,
        value_a=sides.value_a,
        value_b=sides.value_b,
        p=test.p,
        method=method if test.p is not None else "none",
        n_pairs=len(pairs.item),
        n_items=n_items,
        n_groups=0 if n_groups == n_items else n_groups,
        only_a=only_a,
        only_b=only_b,
        detectable=test.detectable,
    )


def _measure_sides(pairs: RunPairs, formula: LinearisedFormula) -> _Sides | None:
    """Return the formula over both runs' paired rows, None where it has no value."""
    numbers = [formula.linearise(side.rows) for side in (pairs.a, pairs.b)]
    values = [_whole_value(each) for each in numbers]
    if not len(pairs.item) or values[0] is None or values[1] is None:
        return None
    sums, block = sum_clusters(numbers, [pairs.cluster[side.key] for side in (pairs.a, pairs.b)])
    scaled = [_scale_sums(each, 1 / float(each.weight.sum())) for each in sums]
    is_share = all(each.scale == "share" for each in numbers)
    return _Sides(values[0], values[1], scaled[0], scaled[1], block, is_share)


def _whole_value(number: Linearisation) -> float | None:
    """Return the value with weights that sum to 1, where parts that are missing count as 0."""
    total = float(number.weight.sum())
    if number.value is None or total <= 0:
        return None
    return number.value if abs(total - 1) < _ROUNDING else number.value / total


def _scale_sums(sums: ClusterSums, factor: float) -> ClusterSums:
    if abs(factor - 1) < _ROUNDING:
        return sums
    return replace(
        sums,
        influence=sums.influence * factor,
        weight=sums.weight * factor,
        centre_weight=sums.centre_weight * factor,
    )


def _test_difference(sides: _Sides, n_pairs: int) -> tuple[DifferenceTest, Method]:
    value = sides.value_a - sides.value_b
    counts = _count_single_flips(sides, n_pairs)
    if counts is not None:
        return compare_single_pairs(*counts, n_pairs), "McNemar mid-p"
    weight = (sides.a.weight + sides.b.weight) / 2
    influence = sides.a.influence - sides.b.influence
    moved = influence + sides.a.centre_weight - sides.b.centre_weight
    own = np.divide(moved, weight, out=np.zeros_like(weight), where=weight > 0)
    clusters = ClusterDifferences(influence, weight, own, sides.block)
    return compare_clusters(value, clusters, is_share=sides.is_share), "t over clusters"


def _count_single_flips(sides: _Sides, n_pairs: int) -> tuple[int, int] | None:
    """Return the pairs that only A, and only B, has right; None unless all are single and 0/1."""
    if not sides.is_share or len(sides.block) != n_pairs:
        return None
    values = []
    for side in (sides.a, sides.b):
        if (np.abs(side.weight - side.weight[0]) > _ROUNDING * side.weight[0]).any():
            return None
        if (side.n_trials != 1).any():
            return None
        own = (side.centre_weight + side.influence) / side.weight
        right = np.rint(own)
        if (np.abs(own - right) > _ROUNDING).any() or ((right != 0) & (right != 1)).any():
            return None
        values.append(right)
    return int((values[0] > values[1]).sum()), int((values[0] < values[1]).sum())


def _difference_warning(sides: _Sides, n_pairs: int) -> str:
    return difference_warning((sides.a.weight + sides.b.weight) / 2, n_pairs)


def _difference_bounds(pairs: RunPairs, formula: LinearisedFormula) -> dict[str, float]:
    """Return the difference if all rows not run favoured B, and if all of them favoured A."""
    one, two = (formula.linearise(side.all_rows).estimate for side in (pairs.a, pairs.b))
    if one.worst is None or one.best is None or two.worst is None or two.best is None:
        return {}
    return {"worst": one.worst - two.best, "best": one.best - two.worst}


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


def adjust_together(ps: Sequence[float | None]) -> list[float | None]:
    """Return p-values that are read together, adjusted by `holm_adjusted`.

    None stays None: nothing was tested there. A single test is not adjusted, and all are None.
    """
    tested = [p for p in ps if p is not None]
    adjusted = iter(holm_adjusted(tested))
    return [None if p is None or len(tested) < 2 else next(adjusted) for p in ps]


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
