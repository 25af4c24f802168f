"""Tests of the difference of two runs, each with the interval that belongs to it.

An interval contains 0 exactly where its test does not reject at the 5 % level: the interval is the
set of differences that the same test does not reject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import bdtr, ndtri, stdtr, stdtrit

from toolmark.statistics.cluster_inference import combine_freedom, measure_blocks
from toolmark.statistics.interval_limits import NORMAL_QUANTILE
from toolmark.statistics.linearisation import Codes, sum_by_code
from toolmark.statistics.score_columns import Numbers

SIGNIFICANCE_LEVEL = 0.05
POWER = 0.8
N_DRAWS = 2000  # simulated comparisons for a detectable difference
_MOST_RESAMPLED = 400  # clusters; with more the means are normal
_ROUNDING = 1e-9
_FEWEST_CLUSTERS = 2 - _ROUNDING
_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class DifferenceTest:
    """A two-sided test of no difference, and the interval of the difference by the same test.

    `detectable` is the true difference that is found in four of five comparisons of this size. None
    where there is no interval, or no size that is found so often.
    """

    p: float | None
    low: float | None
    high: float | None
    detectable: float | None


# --- single right and wrong -------------------------------------------------------------


def mcnemar(only_a: int, only_b: int) -> float:
    """Return McNemar's two-sided mid-p for two counts of discordant pairs; 1 for none.

    The chance of a count that is more extreme, plus half the chance of one that is as extreme
    (Fagerland, Lydersen and Laake 2013).
    """
    n, k = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 1.0
    at_most = float(bdtr(k, n, 0.5))
    below = float(bdtr(k - 1, n, 0.5)) if k else 0.0
    return min(1.0, at_most + below)


def compare_single_pairs(only_a: int, only_b: int, n: int) -> DifferenceTest:
    """Return McNemar's mid-p test over n pairs of right and wrong, with its interval.

    The interval is Tango's (1998): the differences that the score test does not reject. The score
    statistic is multiplied by the number that makes its p-value at a difference of 0 the mid-p.
    """
    p = mcnemar(only_a, only_b)
    quantile = NORMAL_QUANTILE
    if only_a != only_b:
        statistic = abs(only_a - only_b) / math.sqrt(only_a + only_b)
        quantile *= statistic / -float(ndtri(p / 2))
    low, high = tango_interval(only_a, only_b, n, quantile)
    return DifferenceTest(p, low, high, detectable_of_single_pairs(only_a + only_b, n))


def tango_interval(only_a: int, only_b: int, n: int, z: float) -> tuple[float, float]:
    """Return the differences whose score statistic is within -z and z (Tango 1998)."""
    low = -_tango_end(only_b, only_a, n, z)
    return low, _tango_end(only_a, only_b, n, z)


def _tango_end(only_a: int, only_b: int, n: int, z: float) -> float:
    """Return the greatest difference whose score statistic is at least -z."""
    least, most = (only_a - only_b) / n, 1.0
    for _ in range(_BISECTIONS):
        middle = (least + most) / 2
        if _score_statistic(only_a, only_b, n, middle) >= -z:
            least = middle
        else:
            most = middle
    return least


def _score_statistic(only_a: int, only_b: int, n: int, difference: float) -> float:
    """Return Tango's score statistic; the variance is that of the likeliest pairs at a difference.

    `share` is the likeliest share of pairs that only B has right: the larger root of
    2 n x^2 + `linear` x + `constant` = 0.
    """
    linear = -only_a - only_b + (2 * n - only_a + only_b) * difference
    constant = -only_b * difference * (1 - difference)
    root = math.sqrt(max(0.0, linear**2 - 8 * n * constant))
    share = (root - linear) / (4 * n)
    variance = n * (2 * share + difference * (1 - difference))
    distance = only_a - only_b - n * difference
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


@lru_cache(maxsize=65536)
def _least_significant(n: int) -> int:
    """Return the smallest larger count of n discordant pairs that is significant; n + 1 if none."""
    low, high = n // 2, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if mcnemar(middle, n - middle) <= SIGNIFICANCE_LEVEL:
            high = middle
        else:
            low = middle
    return high


def power_of_single_pairs(difference: float, discordant: float, n: int) -> float:
    """Return the chance that McNemar's mid-p test over n pairs finds a difference.

    `discordant` is the share of pairs of which one side is right, at least `difference`.
    """
    rate = min(1.0, max(discordant, difference))
    share_a = (1 + difference / rate) / 2 if rate > 0 else 0.5
    reach = 6 * math.sqrt(n * rate * (1 - rate)) + 1
    counts = np.arange(max(0, int(n * rate - reach)), min(n, int(n * rate + reach)) + 1)
    weights = np.diff(bdtr(np.concatenate([counts[:1] - 1, counts]), n, rate).clip(0, 1))
    weights[0] = float(bdtr(counts[0], n, rate))
    least = np.array([_least_significant(int(count)) for count in counts])
    found = 1 - bdtr(least - 1, counts, share_a)
    found = np.where(least > counts, 0.0, found)
    other = np.where(least > counts, 0.0, bdtr(counts - least, counts, share_a))
    return float((weights * (found + other)).sum())


def detectable_of_single_pairs(n_discordant: int, n: int) -> float | None:
    """Return the difference that McNemar's mid-p test over n pairs finds with POWER.

    The share of discordant pairs is the observed one, or the difference itself where that is more.
    """
    rate = max(n_discordant, 1) / n
    if power_of_single_pairs(1.0, rate, n) < POWER:
        return None
    low, high = 0.0, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        if power_of_single_pairs(middle, rate, n) < POWER:
            low = middle
        else:
            high = middle
    return high


# --- clusters ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClusterDifferences:
    """What each cluster adds to a difference of two runs; all arrays have a cell per cluster.

    `influence` is the joint influence, A's minus B's, `weight` the mean of both weights,
    `difference` the cluster's own difference, and `block` its block. The influences of a block sum
    to 0.
    """

    influence: Numbers
    weight: Numbers
    difference: Numbers
    block: Codes


def compare_clusters(value: float, found: ClusterDifferences, *, is_share: bool) -> DifferenceTest:
    """Return the t-test of a difference, over clusters, with its interval.

    The variance of a block is g / (g - 1) times its squared influences, and one more cluster of the
    mean size: times 1 + 1 / g, where g is the effective number of clusters (Kish). Its degrees of
    freedom are the least of g - 1 and those for clusters whose rows are all alike,
    (sum w^2)^2 / sum w^4 - 1 (Satterthwaite 1946); several blocks combine by `combine_freedom`.

    Where all clusters differ alike, or only one differs, the variance is that of two more clusters,
    one each way (Bonett and Price 2012). There is no interval where all values are equal and have
    no scale, and for a share the interval of fewer than two effective clusters is everything.
    """
    variance, freedom = difference_variance(found, is_share=is_share)
    has_error = math.isfinite(variance) or (is_share and math.isinf(variance))
    if not has_error or not math.isfinite(value):
        return DifferenceTest(None, None, None, None)
    if math.isinf(variance):
        return DifferenceTest(1.0, -1.0, 1.0, None)
    if variance <= 0:  # a number without a scale, alike in every cluster
        return DifferenceTest(1.0 if value == 0 else None, None, None, None)
    error = math.sqrt(variance)
    p = min(1.0, 2 * float(stdtr(freedom, -abs(value) / error)))
    half = float(stdtrit(freedom, 1 - SIGNIFICANCE_LEVEL / 2)) * error
    low, high = value - half, value + half
    if is_share:
        low, high = max(-1.0, low), min(1.0, high)
    detectable = _detectable_difference(found, error, freedom, is_share=is_share)
    if is_share and detectable > 1:
        return DifferenceTest(p, low, high, None)
    return DifferenceTest(p, low, high, detectable)


def difference_variance(found: ClusterDifferences, *, is_share: bool) -> tuple[float, float]:
    """Return the variance of a difference and its degrees of freedom.

    The variance is infinite where too few clusters show none, nan where it has no bound either.
    """
    sizes = measure_blocks(found.block, found.weight)
    g, n = sizes.n_effective, len(sizes.weight)
    square = sum_by_code(found.block, np.square(found.influence), n)
    fourth = sum_by_code(found.block, found.weight**4, n)
    alike = np.divide(
        (np.square(sizes.weight) / np.maximum(g, _ROUNDING)) ** 2,
        fourth,
        out=np.zeros(n),
        where=fourth > 0,
    )
    is_small = g < _FEWEST_CLUSTERS
    if is_small.any() and not is_share:
        return math.nan, 1.0
    if is_small.all():
        return math.inf, 1.0
    freedom = np.where(is_small, 1.0, np.maximum(np.minimum(g, alike) - 1, 0.5))
    safe = np.where(is_small, 2.0, g)
    variances = square * safe / (safe - 1) * (1 + 1 / safe)
    variances = np.where(is_small, np.square(sizes.weight), variances)
    agreeing = ~is_small & (square <= _ROUNDING**2 * np.square(sizes.weight))
    if n == 1:
        reach = float(np.abs(found.difference).max())
        if agreeing.any() or np.count_nonzero(np.abs(found.difference) > _ROUNDING * reach) < 2:
            reach = reach or float(is_share)
            variances = np.maximum(variances, 2 * (reach * float(found.weight.mean())) ** 2)
        return float(variances[0]), float(freedom[0])
    if agreeing.any() and is_share:
        doubt = 1 / (float(g[agreeing].sum()) + 2)
        variances = np.where(agreeing, np.square(sizes.weight) * doubt / safe, variances)
    largest = np.square(sizes.weight) / safe
    return float(variances.sum()), combine_freedom(variances, freedom, largest)


def _detectable_difference(
    found: ClusterDifferences, error: float, freedom: float, *, is_share: bool
) -> float:
    """Return the difference that the t-test over these clusters finds with POWER.

    Clusters are drawn again with replacement within their block, and each draw is tested: the
    result is the shift with which POWER of the draws are significant. With many clusters means are
    normal, and nothing is drawn.
    """
    quantile = float(stdtrit(freedom, 1 - SIGNIFICANCE_LEVEL / 2))
    n = len(found.weight)
    if n > _MOST_RESAMPLED:
        return (quantile + float(ndtri(POWER))) * error
    moved, square = np.zeros(N_DRAWS), np.zeros(N_DRAWS)
    for code in range(int(found.block.max()) + 1):
        own = found.influence[found.block == code]
        counts = _resampled_counts(len(own), code)
        total = counts @ own
        moved += total
        square += np.maximum(counts @ np.square(own) - np.square(total) / len(own), 0.0)
    observed = float(np.square(found.influence).sum()) * (n - 1) / n
    scale = np.sqrt(square / observed) if observed > 0 else np.ones(N_DRAWS)
    return float(np.quantile(quantile * error * scale - moved, POWER))


@lru_cache(maxsize=16)
def _resampled_counts(n: int, seed: int) -> Numbers:
    """Return how often each of n clusters is in each of N_DRAWS resamples (a row per resample)."""
    drawn = np.random.default_rng(seed).integers(0, n, (N_DRAWS, n))
    counts = np.zeros((N_DRAWS, n))
    np.add.at(counts, (np.arange(N_DRAWS)[:, None], drawn), 1.0)
    counts.flags.writeable = False
    return counts
