"""Intervals for shares and means: Wilson, one over clusters, and the cluster bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

Vector: TypeAlias = NDArray[Any] | Sequence[float]
Groups: TypeAlias = NDArray[Any] | Sequence[object]

FEWEST = 20
"""Groups to draw from: of fewer a bootstrap gives intervals that are far too narrow."""
_CHUNK = 2**21  # cells of one block of bootstrap draws: bounds memory at 16 MB


def wilson(k: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for k of n independent successes; (0, 1) when n is 0."""
    if not 0 <= k <= n:
        raise ValueError(f"k must be within 0..n; got {k} of {n}")
    if n == 0:
        return 0.0, 1.0
    return _score(k / n, n, NormalDist().inv_cdf(0.5 + level / 2))


def ratio(
    hits: Vector, totals: Vector, groups: Groups, *, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval for sum(hits) / sum(totals), rows of one group being alike.

    Each row adds `hits` in [0, totals]. The interval lies around the share's logit (Korn and
    Graubard 1998; Dean and Pagano, J. Surv. Stat. Methodol. 2015), with the linearised variance V
    between groups and Student's t. Groups count by Kish's number g = n^2 / sum n_i^2, for V and for
    t's degrees of freedom: a few large groups among many small ones say little more than the large
    ones alone. It stays within [0, 1], and keeps its coverage for shares near the ends and for few
    groups better than a plain cluster-robust t and the percentile bootstrap do. One group more, of
    the size that counts and its rows independent, is added to V, so that groups that happen to
    agree never give an interval of no width. Where all rows are 0, or all 1, or one group
    outweighs the others (g < 2), the rows say nothing about V: Wilson's interval for g rows.
    (0, 1) when there are no rows. Raises ValueError for hits that are not within [0, totals].
    """
    hit, total = _sums(hits, totals, groups)
    n = float(total.sum())
    if n == 0:
        return 0.0, 1.0
    if (hit < 0).any() or (hit > total * (1 + 1e-9)).any():
        raise ValueError("hits must lie between 0 and their totals")
    p = min(float(hit.sum()) / n, 1.0)  # a sum of floats may exceed n by a rounding
    square = float(np.square(hit - p * total).sum())
    return _pooled(p, n, square, effective(total), level)


def moments(n: int, value: float, squares: float, *, level: float = 0.95) -> tuple[float, float]:
    """Return the interval for the mean of n independent values in [0, 1], known by their sums.

    `squares` sums their squares. It is `wilson` of values that are all 0 or 1, else `ratio`.
    """
    if n == 0 or math.isclose(value, squares):
        return wilson(round(value), n, level=level)
    p = min(value / n, 1.0)
    return _pooled(p, n, max(squares - n * p * p, 0.0), n, level)


def _pooled(p: float, n: float, square: float, g: float, level: float) -> tuple[float, float]:
    """Return the interval of a share p of n rows in g groups, `square` apart between groups."""
    spread = p * (1 - p)
    if spread <= 0 or g < 2:
        return _score(p, g, NormalDist().inv_cdf(0.5 + level / 2))
    variance = (g / (g - 1) * square + spread * n / g) / n**2
    t = float(stdtrit(g - 1, 0.5 + level / 2))
    reach, middle = t * math.sqrt(variance) / spread, float(logit(p))
    # next to 0 or 1 the logit's line is all reach: no more is open than if each group counted once
    least, most = _score(p, g, t)
    low, high = float(expit(middle - reach)), float(expit(middle + reach))
    return min(p, max(low, least)), max(p, min(high, most))


def effective(sizes: NDArray[np.float64]) -> float:
    """Return as how many groups of one size these count: n^2 / sum n_i^2 (Kish 1965)."""
    return float(sizes.sum()) ** 2 / float(np.square(sizes).sum())


def bootstrap(
    values: Vector,
    groups: Groups,
    *,
    over: Vector | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the cluster bootstrap interval of the mean, bias-corrected and accelerated (BCa).

    Whole groups are resampled (Efron 1987, acceleration by leaving groups out), for numbers of
    any range; shares are better served by `ratio`. `over`: of sum(values) / sum(over) instead.
    There is none, (nan, nan), of fewer than FEWEST groups: so few draws know nothing of the tails.
    Nor is there where every group says the same: values that are all alike do not tell how far
    others would lie from them; nor where a draw of groups divides by nothing.
    """
    total, count = _sums(values, np.ones(len(values)) if over is None else over, groups)
    if len(total) < FEWEST:
        return math.nan, math.nan
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = float(total.sum() / count.sum())
        if _alike(total / count, mean):
            return math.nan, math.nan
        means = _resample(total, count, draws, seed)
        left_out = (total.sum() - total) / (count.sum() - count)
        wide = np.abs(left_out).sum()  # not even a sum may be beyond all numbers
    if not (np.isfinite(means).all() and np.isfinite(wide)):
        return math.nan, math.nan
    low, high = _bca(mean, means, left_out, level)
    return float(low), float(high)


def _alike(means: NDArray[np.float64], mean: float) -> bool:
    """Tell whether groups' means are one but for rounding."""
    return bool((np.abs(means - mean) <= 1e-12 * abs(mean)).all())


def _score(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval for a share p seen with (effective) size n."""
    w = z * z / n
    middle = (p + w / 2) / (1 + w)
    half = math.sqrt(p * (1 - p) * w + w * w / 4) / (1 + w)
    # rounding must not push an end past the share itself: 0 of n starts at 0
    low = 0.0 if p == 0 else max(0.0, middle - half)
    high = 1.0 if p == 1 else min(1.0, middle + half)
    return low, high


def _sums(
    values: Vector, counts: Vector, groups: Groups
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add up values and counts within each group."""
    value = np.asarray(values, dtype=float)
    count = np.asarray(counts, dtype=float)
    names = np.asarray(groups)
    if not len(value) == len(count) == len(names):
        raise ValueError(f"lengths differ: {len(value)}, {len(count)}, {len(names)}")
    inverse = codes(names)
    n_groups = int(inverse.max()) + 1 if len(inverse) else 0
    return (
        np.bincount(inverse, value, minlength=n_groups).astype(np.float64),
        np.bincount(inverse, count, minlength=n_groups).astype(np.float64),
    )


def codes(names: Groups) -> NDArray[np.int64]:
    """Return each name's number: distinct names count 0, 1, ... in order of appearance."""
    seen: dict[Any, int] = {}
    return np.fromiter((seen.setdefault(name, len(seen)) for name in names), dtype=np.int64)


def _resample(
    total: NDArray[np.float64], count: NDArray[np.float64], draws: int, seed: int
) -> NDArray[np.float64]:
    """Draw means of as many groups as there are, with replacement, in blocks."""
    rng = np.random.default_rng(seed)
    n = len(total)
    rows = max(1, _CHUNK // n)
    means = np.empty(draws)
    for start in range(0, draws, rows):
        stop = min(start + rows, draws)
        picked = rng.integers(0, n, size=(stop - start, n))
        means[start:stop] = total[picked].sum(axis=1) / count[picked].sum(axis=1)
    return means


def _bca(
    mean: float, means: NDArray[np.float64], left_out: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Read the two ends off the draws, at ranks corrected for bias and skewness."""
    below = (np.mean(means < mean) + np.mean(means <= mean)) / 2
    bias = ndtri(np.clip(below, 1 / (len(means) + 1), len(means) / (len(means) + 1)))
    # skewness has no unit: of huge numbers the cubes would overflow
    left_out = left_out / (np.abs(left_out).max() or 1.0)
    pull = left_out.mean() - left_out
    if (largest := float(np.abs(pull).max())) > 0:
        pull = pull / largest  # its powers stay in range; the ratio is the same
    acceleration = np.sum(pull**3) / (6 * max(np.sum(pull**2) ** 1.5, 1e-300))
    z = bias + ndtri(np.array([0.5 - level / 2, 0.5 + level / 2]))
    ranks = ndtr(bias + z / (1 - acceleration * z))
    ends: NDArray[np.float64] = np.quantile(means, ranks)
    return ends
