"""How the error of a number divides: between groups, items, variants of an item, and repeats.

The components are those of a nested random model, estimated by the method of moments: products of
the residuals of two rows are averaged over all pairs that share a group, an item, a task (Koch,
Technometrics 9, 1967; Searle, Casella and McCulloch 1992, section 2.1). Pairs have the weights that
their rows have in the number, so the components are those of the headline and not of a plain mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import chdtri

from toolmark.core.records import Record
from toolmark.statistics.confidence_intervals import group_codes
from toolmark.statistics.linearisation import Codes, Linearisation, sum_by_code
from toolmark.statistics.score_columns import Columns, Numbers

ASSURANCE = 0.8
"""How often a pilot's upper bound is above the true variance."""
_ROUNDING = 1e-12
_LEAST_EXCESS = 0.05  # of a kurtosis over 1: few values that are alike prove no fixed variance


class VarianceComponents(Record, frozen=True, kw_only=True):
    """The variance of one answer around the mean of its category, by where it comes from.

    `group`, `item`, `variant` and `repeat` are in the squared unit of the number. `variant` is that
    between tasks of one item, such as formats or conditions. What the data cannot separate is in
    the coarser component: without repeats `item` has that of `repeat` too. `separated` names the
    levels that were separated from the next coarser one.

    `freedom` is the effective number of degrees of freedom of the estimate, and `kurtosis_excess`
    the kurtosis of the clusters' totals less 1, from which it follows.
    """

    group: float = 0.0
    item: float = 0.0
    variant: float = 0.0
    repeat: float = 0.0
    separated: tuple[str, ...] = ()
    freedom: float = math.inf
    kurtosis_excess: float = 2.0

    @property
    def total(self) -> float:
        """The variance of one answer."""
        return self.group + self.item + self.variant + self.repeat

    def scale_by(self, factor: float) -> VarianceComponents:
        """Return all components times a factor."""
        return VarianceComponents(
            group=self.group * factor,
            item=self.item * factor,
            variant=self.variant * factor,
            repeat=self.repeat * factor,
            separated=self.separated,
            freedom=self.freedom,
            kurtosis_excess=self.kurtosis_excess,
        )


@dataclass(frozen=True, slots=True)
class _Level:
    """Squared sums over the cells of a level: of influences and of weights."""

    influence: float
    weight: float


def estimate_components(found: Linearisation, columns: Columns) -> VarianceComponents:
    """Return the variance components of a linearised number over its rows.

    All are 0 where no row adds to the error.
    """
    rows = np.flatnonzero(found.counted & (found.weight != 0))
    part = columns.where(rows)
    influence, weight = found.influence[rows], found.weight[rows]
    if not len(rows) or not np.square(influence).sum() > 0:
        return VarianceComponents()
    cluster = group_codes(part.cluster)
    item = group_codes([*zip(cluster.tolist(), part.item, strict=True)])
    task = group_codes([*zip(item.tolist(), part.task, strict=True)])
    every = np.arange(len(rows), dtype=np.int64)
    levels = [_sum_level(code, influence, weight) for code in (every, task, item, cluster)]
    own, *shared = _pair_covariances(levels)
    unrelated = _unrelated_covariance(found.stratum[rows], cluster, influence, weight)
    total = own - unrelated
    names = ("repeat", "variant", "item")
    covariances = [total]  # of rows that share less and less
    separated = []
    for name, covariance in zip(names, shared, strict=True):
        if math.isnan(covariance):
            covariances.append(covariances[-1])
            continue
        separated.append(name)
        covariances.append(min(max(covariance - unrelated, 0.0), covariances[-1]))
    by_row, by_task, by_item, by_group = covariances
    if "item" not in separated:  # no two items of a group: what is common is the item's
        by_group = 0.0
    excess = _kurtosis_excess(cluster, influence)
    n_clusters = int(cluster.max()) + 1
    return VarianceComponents(
        group=by_group,
        item=by_item - by_group,
        variant=by_task - by_item,
        repeat=by_row - by_task,
        separated=tuple(separated),
        freedom=2 * max(n_clusters - 1, 1) / excess,
        kurtosis_excess=excess,
    )


def _sum_level(code: Codes, influence: Numbers, weight: Numbers) -> _Level:
    n = int(code.max()) + 1
    sums = (sum_by_code(code, each, n) for each in (influence, weight))
    return _Level(*(float(np.square(each).sum()) for each in sums))


def _pair_covariances(levels: Sequence[_Level]) -> list[float]:
    """Return the mean product of a row with itself, and of two rows that share each level.

    Rows that share a finer level are left out of the coarser one. nan for a level without pairs.
    """
    found = [levels[0].influence / levels[0].weight]
    for finer, coarser in pairwise(levels):
        mass = coarser.weight - finer.weight
        is_known = mass > _ROUNDING * coarser.weight
        found.append((coarser.influence - finer.influence) / mass if is_known else math.nan)
    return found


def _unrelated_covariance(
    stratum: Codes, cluster: Codes, influence: Numbers, weight: Numbers
) -> float:
    """Return the mean product of two rows of one stratum that share no cluster.

    Residuals are measured from an estimated mean, so it is a little below 0, and so are all other
    products: it is subtracted from them.
    """
    cell = group_codes([*zip(stratum.tolist(), cluster.tolist(), strict=True)])
    whole, cells = (_sum_level(code, influence, weight) for code in (stratum, cell))
    mass = whole.weight - cells.weight
    if mass <= _ROUNDING * whole.weight:
        return 0.0
    return min(0.0, (whole.influence - cells.influence) / mass)


def _kurtosis_excess(cluster: Codes, influence: Numbers) -> float:
    """Return the kurtosis of the clusters' totals less 1, which the variance's own error has."""
    total = sum_by_code(cluster, influence, int(cluster.max()) + 1)
    square = np.square(total)
    mean = float(square.mean())
    if not mean > 0:
        return 2.0
    n = len(total)
    # in samples of normal values the plain ratio is 3 (n - 1) / (n + 1) on average
    kurtosis = float(np.square(square).mean()) / mean**2 * (n + 1) / max(n - 1, 1)
    return max(_LEAST_EXCESS, kurtosis - 1)


def bound_factor(found: VarianceComponents, n_planned: float = math.inf) -> float:
    """Return the factor from the estimated variance to its upper bound of ASSURANCE.

    An estimated variance with f degrees of freedom is below f / chi-squared(f) times itself
    (Browne, Stat. Med. 14, 1995), where the true variance is in ASSURANCE of all pilots. f is taken
    from the kurtosis, so that 0/1 answers near one half, whose variance hardly varies, are not
    treated as normal ones. With `n_planned` clusters in the later run, the bound is that of the
    variance which that run will estimate itself.
    """
    later = found.kurtosis_excess / n_planned
    freedom = 2 / (2 / found.freedom + later) if math.isfinite(found.freedom) else 0.0
    if not freedom:
        freedom = 2 / later if later > 0 else math.inf
    if math.isinf(freedom):
        return 1.0
    return freedom / float(chdtri(freedom, ASSURANCE))
