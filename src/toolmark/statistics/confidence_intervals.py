"""Intervals for shares and means: Wilson's, a clustered ratio's, and the cluster bootstrap's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from toolmark.statistics.interval_limits import FEWEST_GROUPS

Vector: TypeAlias = NDArray[Any] | Sequence[float]
Groups: TypeAlias = NDArray[Any] | Sequence[object]

ignore_overflow = np.errstate(divide="ignore", invalid="ignore", over="ignore")
_TIE = 1e-14  # relative to the largest resampled mean
_CHUNK_CELLS = 2**21  # cells of one block of bootstrap draws: limits memory to 16 MB


def wilson(k: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for k of n independent successes; (0, 1) when n is 0."""
    if not 0 <= k <= n:
        raise ValueError(f"k must be within 0..n; got {k} of {n}")
    if n == 0:
        return 0.0, 1.0
    return wilson_score(k / n, n, float(ndtri(0.5 + level / 2)))


def ratio_interval(
    hits: Vector, totals: Vector, groups: Groups, *, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval for sum(hits) / sum(totals) of clustered rows.

    Rows of one group are correlated. Each row adds `hits` in [0, totals]. The interval is computed
    on the logit scale (Korn and Graubard 1998; Dean and Pagano, J. Surv. Stat. Methodol. 2015),
    with the linearised variance V between groups and Student's t. The number of groups, in V and in
    the degrees of freedom of t, is Kish's effective number g = n^2 / sum n_i^2: a few large groups
    among many small ones carry little more information than the large ones alone. The interval
    stays within [0, 1]. For shares near 0 or 1 and for few groups its coverage is better than that
    of a plain cluster-robust t and of the percentile bootstrap. V includes one additional group of
    the effective size with independent rows, so that the interval always has a width, even when
    all groups agree. Where all rows are 0, or all are 1, or one group outweighs the others (g < 2),
    the rows carry no information about V: the result is Wilson's interval for g rows. Returns
    (0, 1) when there are no rows. Raises ValueError for hits that are not within [0, totals].
    """
    hit, total = _group_sums(hits, totals, groups)
    n = float(total.sum())
    if n == 0:
        return 0.0, 1.0
    if (hit < 0).any() or (hit > total * (1 + 1e-9)).any():
        raise ValueError("hits must lie between 0 and their totals")
    p = min(float(hit.sum()) / n, 1.0)  # a sum of floats may exceed n by a rounding
    g = effective_n_groups(total)
    spread = p * (1 - p)
    if spread <= 0 or g < 2:
        return wilson_score(p, g, float(ndtri(0.5 + level / 2)))
    square = float(np.square(hit - p * total).sum())
    variance = (g / (g - 1) * square + spread * n / g) / n**2
    return logit_interval(p, variance, g, g - 1, level=level)


def logit_interval(
    p: float, variance: float, g: float, freedom: float, *, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a share p of g groups, 0 < p < 1, by Student's t on the logit scale.

    `variance` is that of p, `freedom` its degrees of freedom.
    """
    spread = p * (1 - p)
    t = float(stdtrit(freedom, 0.5 + level / 2))
    reach, middle = t * math.sqrt(variance) / spread, float(logit(p))
    # near 0 or 1 the linearised logit interval is far too wide: limit it to Wilson's for g rows
    least, most = wilson_score(p, g, t)
    low, high = float(expit(middle - reach)), float(expit(middle + reach))
    return min(p, max(low, least)), max(p, min(high, most))


def effective_n_groups(sizes: NDArray[np.float64]) -> float:
    """Return the effective number of groups of these sizes: n^2 / sum n_i^2 (Kish 1965)."""
    return float(sizes.sum()) ** 2 / float(np.square(sizes).sum())


@ignore_overflow
def bootstrap_interval(
    values: Vector,
    groups: Groups,
    *,
    denominators: Vector | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the cluster bootstrap interval of the mean, bias-corrected and accelerated (BCa).

    Entire groups are resampled (Efron 1987; the acceleration comes from leaving out one group at a
    time). The values may have any range; for shares `ratio_interval` is better. With `denominators`
    the interval is that of sum(values) / sum(over).

    Returns (nan, nan) in three cases: with fewer than FEWEST_GROUPS groups, since so few groups
    carry no information about the tails; where the means of all groups are equal, since they show
    no spread; and where a resampled or left-out set of groups divides by zero.
    """
    total, count = _group_sums(
        values, np.ones(len(values)) if denominators is None else denominators, groups
    )
    mean = float(total.sum() / count.sum()) if count.any() else math.nan
    return bootstrap_blocks(mean, [(1.0, total, count)], level=level, draws=draws, seed=seed)


@ignore_overflow
def bootstrap_blocks(
    value: float,
    blocks: Sequence[tuple[float, NDArray[np.float64], NDArray[np.float64]]],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the BCa interval of a sum of ratios, each over the groups of an independent block.

    A block is its coefficient and, for each of its groups, the sums of numerators and of
    denominators. Groups are resampled within their block. See `bootstrap_interval` for where there
    is no interval: every block must have an interval of its own.
    """
    if any(len(total) < FEWEST_GROUPS for _, total, _ in blocks):
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    means, left_out = np.full(draws, value), []
    for factor, total, count in blocks:
        mean = float(total.sum() / count.sum())
        if _are_equal_means(total / count, mean):
            return math.nan, math.nan
        drawn = _resample_means(total, count, draws, rng)
        means = drawn if len(blocks) == 1 else means + factor * (drawn - mean)
        without = (total.sum() - total) / (count.sum() - count)
        left_out.append(without if len(blocks) == 1 else value + factor * (without - mean))
    pulls = np.concatenate(left_out)
    wide = np.abs(pulls).sum()  # the sum, too, must not overflow
    if not (np.isfinite(means).all() and np.isfinite(wide)):
        return math.nan, math.nan
    low, high = _bca_ends(value, means, pulls, level)
    return float(low), float(high)


def _are_equal_means(means: NDArray[np.float64], mean: float) -> bool:
    """Tell whether the means of groups are equal except for rounding."""
    return bool((np.abs(means - mean) <= 1e-12 * abs(mean)).all())


def wilson_score(p: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's score interval for a share p of n trials; n need not be a whole number."""
    w = z * z / n
    middle = (p + w / 2) / (1 + w)
    half = math.sqrt(p * (1 - p) * w + w * w / 4) / (1 + w)
    # rounding must not push an end past the share itself: 0 of n starts at 0
    low = 0.0 if p == 0 else max(0.0, middle - half)
    high = 1.0 if p == 1 else min(1.0, middle + half)
    return low, high


def _group_sums(
    values: Vector, counts: Vector, groups: Groups
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of values and of counts within each group."""
    value = np.asarray(values, dtype=float)
    count = np.asarray(counts, dtype=float)
    names = np.asarray(groups)
    if not len(value) == len(count) == len(names):
        raise ValueError(f"lengths differ: {len(value)}, {len(count)}, {len(names)}")
    inverse = group_codes(names)
    n_groups = int(inverse.max()) + 1 if len(inverse) else 0
    return (
        np.bincount(inverse, value, minlength=n_groups).astype(np.float64),
        np.bincount(inverse, count, minlength=n_groups).astype(np.float64),
    )


def group_codes(names: Groups) -> NDArray[np.int64]:
    """Return a code for each name: distinct names are 0, 1, ... in order of appearance."""
    listed = names.tolist() if isinstance(names, np.ndarray) else names
    code = {name: number for number, name in enumerate(dict.fromkeys(listed))}
    return np.fromiter(map(code.__getitem__, listed), dtype=np.int64)


def _resample_means(
    total: NDArray[np.float64],
    count: NDArray[np.float64],
    draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the means of `draws` resamples with replacement, computed in blocks.

    Each resample has as many groups as there are.
    """
    n = len(total)
    rows = max(1, _CHUNK_CELLS // n)
    means = np.empty(draws)
    for start in range(0, draws, rows):
        stop = min(start + rows, draws)
        picked = rng.integers(0, n, size=(stop - start, n))
        means[start:stop] = total[picked].sum(axis=1) / count[picked].sum(axis=1)
    return means


def _bca_ends(
    mean: float, means: NDArray[np.float64], left_out: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return both ends: quantiles of the draws at ranks corrected for bias and skewness."""
    # sums in another order differ by a rounding, which is no difference
    tie = _TIE * float(np.abs(means).max())
    below = (np.mean(means < mean - tie) + np.mean(means <= mean + tie)) / 2
    bias = ndtri(np.clip(below, 1 / (len(means) + 1), len(means) / (len(means) + 1)))
    # skewness has no unit, and the cubes of very large numbers would overflow
    left_out = left_out / (np.abs(left_out).max() or 1.0)
    pull = left_out.mean() - left_out
    if (largest := float(np.abs(pull).max())) > 0:
        pull = pull / largest  # its powers stay in range; the ratio is the same
    acceleration = np.sum(pull**3) / (6 * max(np.sum(pull**2) ** 1.5, 1e-300))
    z = bias + ndtri(np.array([0.5 - level / 2, 0.5 + level / 2]))
    ranks = ndtr(bias + z / (1 - acceleration * z))
    ends: NDArray[np.float64] = np.quantile(means, ranks)
    return ends
