"""Success as a logistic curve of difficulty, and the difficulty at which it is 50 %.

Firth (1993): the score equations have the term of Jeffreys' prior, so that estimates are finite
where success and failure are separated. Rows of one unit (an item with its repeats) have the same
difficulty: overdispersion among units widens the errors (quasi-binomial). The interval of a point
is Fieller's: all difficulties at which the curve does not differ from 50 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

Matrix = NDArray[np.float64]
_MAX_STEPS = 100
_MAX_CHANGE = 5.0  # of a coefficient in one step, in standardised units


@dataclass(frozen=True, slots=True)
class LogisticCurve:
    """Log odds = intercept + sum of slope times (difficulty - mean).

    `coefficients` has the intercept first; `covariance` is theirs. `means` are those of the
    difficulties, `degrees` the degrees of freedom: units less coefficients.
    """

    coefficients: Matrix
    covariance: Matrix
    means: Matrix
    degrees: int

    def slope_interval(self, at: int, level: float = 0.95) -> tuple[float, float, float]:
        """Return the slope of one difficulty, in log odds per unit, and its interval."""
        slope = float(self.coefficients[at + 1])
        margin = self._t_quantile(level) * math.sqrt(float(self.covariance[at + 1, at + 1]))
        return slope, slope - margin, slope + margin

    def half_point(self, at: int, level: float = 0.95) -> tuple[float, float, float] | None:
        """Return where success is 50 % in one difficulty, the others at their means; its interval.

        An end is infinite where the slope is not known to differ from 0. None for a slope of 0.
        """
        b0, b1 = (float(self.coefficients[i]) for i in (0, at + 1))
        if b1 == 0:
            return None
        v00, v11, v01 = (
            float(self.covariance[i, j]) for i, j in ((0, 0), (at + 1, at + 1), (0, at + 1))
        )
        mean, t = float(self.means[at]), self._t_quantile(level)
        # (b0 + b1 x)^2 <= t^2 (v00 + 2 v01 x + v11 x^2)
        a = b1**2 - t**2 * v11
        b = 2 * (b0 * b1 - t**2 * v01)
        c = b0**2 - t**2 * v00
        root = b**2 - 4 * a * c
        if a <= 0 or root < 0:
            return mean - b0 / b1, -math.inf, math.inf
        ends = sorted((-b + sign * math.sqrt(root)) / (2 * a) for sign in (-1, 1))
        return mean - b0 / b1, mean + ends[0], mean + ends[1]

    def _t_quantile(self, level: float) -> float:
        return float(stdtrit(self.degrees, (1 + level) / 2))


def fit_logistic(
    difficulties: Matrix, successes: NDArray[np.float64], units: NDArray[np.object_]
) -> LogisticCurve | None:
    """Fit a curve to rows of difficulties (rows x difficulties) and successes, 0 or 1 or between.

    `units` names the unit of each row; difficulties are equal within one. None for fewer units than
    coefficients, or difficulties that do not vary independently.
    """
    _, first, codes = np.unique(units.astype(str), return_index=True, return_inverse=True)
    n = np.bincount(codes).astype(float)
    y: Matrix = np.bincount(codes, weights=successes).astype(float)
    raw = difficulties[first]
    means, scales = raw.mean(axis=0), raw.std(axis=0)
    if (scales == 0).any():
        return None
    x = np.column_stack([np.ones(len(raw)), (raw - means) / scales])
    degrees = len(x) - x.shape[1]
    if degrees < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        return None
    beta = _solve_firth(x, y, n)
    p = expit(x @ beta)
    covariance = np.linalg.inv(_fisher_information(x, p, n)) * _variance_ratio(y, p, n, degrees)
    unscale = np.diag([1.0, *1 / scales])
    return LogisticCurve(unscale @ beta, unscale @ covariance @ unscale, means, degrees)


def _solve_firth(x: Matrix, y: Matrix, n: Matrix) -> Matrix:
    beta = np.zeros(x.shape[1])
    for _ in range(_MAX_STEPS):
        p = expit(x @ beta)
        inverse = np.linalg.inv(_fisher_information(x, p, n))
        leverage = n * p * (1 - p) * np.einsum("ij,jk,ik->i", x, inverse, x)
        step = inverse @ (x.T @ (y - n * p + leverage * (0.5 - p)))
        step *= min(1.0, _MAX_CHANGE / max(float(np.abs(step).max()), 1e-300))
        beta = beta + step
        if float(np.abs(step).max()) < 1e-10:
            break
    return beta


def _fisher_information(x: Matrix, p: Matrix, n: Matrix) -> Matrix:
    weights = np.maximum(n * p * (1 - p), 1e-12)
    information: Matrix = (x * weights[:, None]).T @ x
    return information


def _variance_ratio(y: Matrix, p: Matrix, n: Matrix, degrees: int) -> float:
    """Return Pearson's variance ratio of the units, at least 1; single rows cannot show it."""
    if (n <= 1).all():
        return 1.0
    variance = np.maximum(n * p * (1 - p), 1e-12)
    return max(1.0, float(((y - n * p) ** 2 / variance).sum()) / degrees)
