"""The interval of a linearised number, from its influences summed by cluster.

A *cluster* is what varies together: an item with its repeats, or a declared group of items. A
*block* is a set of strata that share no cluster with other strata: blocks are independent samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from toolmark.core.records import Estimate
from toolmark.statistics.confidence_intervals import (
    bootstrap_blocks,
    group_codes,
    ignore_overflow,
    logit_interval,
    wilson,
    wilson_score,
)
from toolmark.statistics.interval_limits import NORMAL_QUANTILE
from toolmark.statistics.interval_warnings import interval_warning
from toolmark.statistics.linearisation import Codes, Linearisation, sum_by_code
from toolmark.statistics.score_columns import Columns, Names, Numbers

_ROUNDING = 1e-9
_FEWEST_CLUSTERS = 2 - _ROUNDING  # fewer do not show how clusters vary
_ADDED_TRIALS = 10  # of the cluster that is added to the variance, at most


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """A linearised number by cluster; all arrays have one cell per cluster.

    `influence`, `weight`, `n_trials` are the sums over the cluster's rows, `centre_weight` that of
    weight times centre. `trial_variance` is the sum of squared weights per trial: times p (1 - p)
    it is the variance of independent trials with the share p.
    """

    influence: Numbers
    weight: Numbers
    centre_weight: Numbers
    trial_variance: Numbers
    n_trials: Numbers


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Weights of the blocks, with one cell per block.

    `weight` is the sum of the clusters' weights, `n_effective` the effective number of clusters,
    (sum w)^2 / sum w^2 (Kish 1965).
    """

    weight: Numbers
    n_effective: Numbers


def sum_clusters(
    numbers: Sequence[Linearisation], clusters: Sequence[Names]
) -> tuple[list[ClusterSums], Codes]:
    """Return the cluster sums of numbers over common clusters, and the block of each cluster.

    `clusters` has, for each number, the cluster of each of its rows. Clusters of one name are one
    cluster in all numbers. All sums have a cell for each cluster of any number.

    Blocks with fewer than two effective clusters are joined to one, in which influences are
    measured from the common mean: a single cluster does not show how clusters of its stratum vary.
    The differences of the joined strata then count as variation, so the interval is too wide,
    never too narrow (collapsed strata; Cochran 1977, section 5A.12).
    """
    rows = [np.flatnonzero(each.counted) for each in numbers]
    names = np.concatenate([each[at] for each, at in zip(clusters, rows, strict=True)])
    code = group_codes(names)
    n_clusters = int(code.max(initial=-1)) + 1
    codes = np.split(code, np.cumsum([len(at) for at in rows])[:-1])
    strata = [each.stratum[at] for each, at in zip(numbers, rows, strict=True)]
    block = _find_blocks(codes, strata, n_clusters)
    weights = [each.weight[at] for each, at in zip(numbers, rows, strict=True)]
    size = sum_by_code(code, np.concatenate(weights), n_clusters)
    is_small = measure_blocks(block, size).n_effective < _FEWEST_CLUSTERS
    has_joined = np.count_nonzero(is_small) > 1
    sums = []
    for number, at, own, weight in zip(numbers, rows, codes, weights, strict=True):
        centre, influence = number.centre[at], number.influence[at]
        if has_joined:
            joined = is_small[block[own]]
            mass = float(weight[joined].sum())
            common = float((weight * centre)[joined].sum()) / mass if mass > 0 else 0.0
            influence = influence + np.where(joined, weight * (centre - common), 0.0)
            centre = np.where(joined, common, centre)
        sums.append(
            ClusterSums(
                influence=sum_by_code(own, influence, n_clusters),
                weight=sum_by_code(own, weight, n_clusters),
                centre_weight=sum_by_code(own, weight * centre, n_clusters),
                trial_variance=sum_by_code(
                    own, np.square(weight) / np.maximum(number.n_trials[at], 1e-300), n_clusters
                ),
                n_trials=sum_by_code(own, number.n_trials[at], n_clusters),
            )
        )
    if has_joined:
        block = np.unique(np.where(is_small[block], -1, block), return_inverse=True)[1]
    return sums, block.astype(np.int64)


def _find_blocks(codes: Sequence[Codes], strata: Sequence[Codes], n_clusters: int) -> Codes:
    """Return the block of each cluster: a stratum of a number connects all clusters in it."""
    if all((each == each[:1]).all() for each in strata):
        return np.zeros(n_clusters, dtype=np.int64)
    start, nodes = n_clusters, []
    for stratum in strata:
        nodes.append(stratum + start)
        start += int(stratum.max(initial=0)) + 1
    edges = np.concatenate(codes), np.concatenate(nodes)
    graph = coo_array((np.ones(len(edges[0]), dtype=bool), edges), shape=(start, start))
    label = connected_components(graph, directed=False)[1][:n_clusters]
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def measure_blocks(block: Codes, weight: Numbers) -> BlockSizes:
    """Return the weights and the effective numbers of clusters of the blocks."""
    n = int(block.max(initial=-1)) + 1
    total = sum_by_code(block, weight, n)
    square = sum_by_code(block, np.square(weight), n)
    return BlockSizes(total, _divide_or_zero(np.square(total), square))


def _divide_or_zero(a: Numbers, b: Numbers) -> Numbers:
    """Return a / b, 0 where b is 0."""
    return np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 0)


# --- intervals --------------------------------------------------------------------------


@ignore_overflow
def measure_with_interval(found: Linearisation, columns: Columns) -> Estimate:
    """Return the estimate of a number with its 95 % interval over clusters.

    - A share of single trials, one for each cluster, all right or wrong: Wilson's interval.
    - Any other number within [0, 1]: Student's t on the logit scale (`_share_interval`).
    - Any other number: the cluster bootstrap (`confidence_intervals.bootstrap_blocks`).
    """
    if found.value is None or found.scale == "no interval" or not math.isfinite(found.value):
        return found.estimate
    (sums,), block = sum_clusters([found], [columns.cluster])
    if found.scale == "unbounded":
        low, high = _bootstrap_interval(found.value, sums, block)
        if math.isnan(low):
            return found.estimate
    else:
        low, high = _share_interval(found.value, sums, block)
    warning = interval_warning(found, columns)
    return structs.replace(found.estimate, low=low, high=high, warning=warning)


def _share_interval(value: float, sums: ClusterSums, block: Codes) -> tuple[float, float]:
    """Return the interval of a number within [0, 1].

    The variance of the value is the sum over blocks of g / (g - 1) times the squared influences of
    their clusters, where g is the effective number of clusters (Kish). The degrees of freedom of t
    combine g - 1 of the blocks (`combine_freedom`). One more cluster, with independent trials, is
    added to the variance, so that clusters that agree by chance leave room for doubt; of clusters
    with more than ten trials a part of one. The interval is computed on the logit scale (Korn and
    Graubard 1998; Dean and Pagano 2015) and limited to Wilson's for as many trials as there are
    effective clusters. Where all trials are wrong, or all are right, or one cluster outweighs the
    others, the interval is Wilson's for that number of trials.
    """
    n_effective = float(sums.weight.sum()) ** 2 / float(np.square(sums.weight).sum())
    spread = value * (1 - value)
    if spread <= 0 or n_effective < _FEWEST_CLUSTERS:
        return wilson_score(min(1.0, max(0.0, value)), n_effective, NORMAL_QUANTILE)
    if (k := _count_single_successes(sums, block)) is not None:
        return wilson(k, len(block))
    sizes = measure_blocks(block, sums.weight)
    share = _shrunken_shares(value, sums, block, sizes)
    variances, freedom = _block_variances(sums, block, sizes, share)
    largest = np.square(sizes.weight) * share * (1 - share) / np.maximum(sizes.n_effective, 1.0)
    degrees = combine_freedom(variances, freedom, largest)
    independent = sum_by_code(block, sums.trial_variance, len(share)) * share * (1 - share)
    size = float(sums.n_trials.sum()) / len(block)  # trials of a cluster
    added = float(independent.sum()) * min(1.0, _ADDED_TRIALS / size) / n_effective
    return logit_interval(value, float(variances.sum()) + added, n_effective, degrees)


def _count_single_successes(sums: ClusterSums, block: Codes) -> int | None:
    """Return how many trials are right where each cluster is one; None where any is not.

    All trials are of one block and have equal weights.
    """
    weight = sums.weight
    if block.any() or (sums.n_trials != 1).any() or (weight != weight[0]).any():
        return None
    own = (sums.centre_weight + sums.influence) / weight
    right = np.rint(own)
    is_binary = (np.abs(own - right) < _ROUNDING).all() and ((right == 0) | (right == 1)).all()
    return int(right.sum()) if is_binary else None


def _block_variances(
    sums: ClusterSums, block: Codes, sizes: BlockSizes, share: Numbers
) -> tuple[Numbers, Numbers]:
    """Return each block's part in the variance of a share, and its degrees of freedom.

    A block in which all clusters agree shows no variance, although its clusters were drawn too.
    Over all such blocks not one of g clusters disagreed; where there are several blocks, the
    chance that a cluster does is taken as 1 / (g + 2) (Laplace). A block of fewer than two
    effective clusters has the largest variance that its share can have. `share` has the share of
    each block.
    """
    g, n = sizes.n_effective, len(sizes.weight)
    square = sum_by_code(block, np.square(sums.influence), n)
    is_small = g < _FEWEST_CLUSTERS
    freedom = np.where(is_small, 1.0, g - 1)
    variances = np.where(is_small, 0.0, square * g / np.maximum(g - 1, _ROUNDING))
    if n == 1:
        return variances, freedom
    variances = np.where(is_small, np.square(sizes.weight) * share * (1 - share), variances)
    agreeing = ~is_small & (square <= _ROUNDING * np.square(sizes.weight))
    if agreeing.any():
        doubt = 1 / (float(g[agreeing].sum()) + 2)
        guard = np.square(sizes.weight) * doubt * (1 - doubt) / np.maximum(g, 1.0)
        variances = np.where(agreeing, guard, variances)
    return variances, freedom


def _shrunken_shares(value: float, sums: ClusterSums, block: Codes, sizes: BlockSizes) -> Numbers:
    """Return the blocks' shares, drawn to the whole value by the weight of one cluster."""
    own = _divide_or_zero(sum_by_code(block, sums.centre_weight, len(sizes.weight)), sizes.weight)
    g = sizes.n_effective
    return np.clip((g * own + value) / (g + 1), 0.0, 1.0)


def combine_freedom(variances: Numbers, freedom: Numbers, largest: Numbers) -> float:
    """Return the degrees of freedom of a sum of independent variances.

    Satterthwaite's (1946) number takes the estimated variances for the true ones. Where a block of
    few clusters happens to show little variance, that number is too large. So its inverse is
    averaged with the one for the variances that the blocks would have if the rows of a cluster were
    all alike, `largest`, which do not vary by chance.
    """
    if len(variances) == 1:
        return float(freedom[0])
    shares = [each / each.sum() for each in (variances, largest) if each.sum() > 0]
    if not shares:
        return float(freedom.min())
    return 1 / float(np.mean([(np.square(share) / freedom).sum() for share in shares]))


def _bootstrap_interval(value: float, sums: ClusterSums, block: Codes) -> tuple[float, float]:
    """Return the bootstrap interval of a number that is not a share, (nan, nan) without one."""
    sizes = measure_blocks(block, sums.weight)
    blocks = []
    for code, weight in enumerate(sizes.weight):
        at = block == code
        if weight <= 0:
            return math.nan, math.nan
        local = float(sums.centre_weight[at].sum()) / weight
        blocks.append((weight, sums.influence[at] + local * sums.weight[at], sums.weight[at]))
    return bootstrap_blocks(value, blocks)
