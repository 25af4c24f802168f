"""Items seen through many runs: how difficult they are, and whether they tell good runs from bad.

The score vectors of runs are the examinees of classical test theory (Lord and Novick 1968). The
discrimination of an item is its correlation with the mean of all other items (item-rest, corrected
point-biserial). An item that good runs fail and bad ones solve has probably a wrong reference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from toolmark.statistics.interval_limits import NORMAL_QUANTILE
from toolmark.statistics.rank_sets import Matrix

FEWEST_VECTORS = 50  # score vectors from which a logistic slope is fitted
_ITERATIONS = 30
_RIDGE = 0.05  # of the logistic fit: keeps slopes finite where an item separates the runs


@dataclass(frozen=True, slots=True)
class ItemAnalysis:
    """Arrays with one cell per item.

    - `difficulty`: the share of runs that do not solve it.
    - `discrimination`: its item-rest correlation; nan where all runs, or all rests, are equal.
    - `upper`: the upper end of the 95 % interval of the discrimination (Fisher's z).
    - `slope` and `location`: of the logistic curve over the standardised rest score; nan with fewer
      than `FEWEST_VECTORS` runs.
    """

    difficulty: NDArray[np.float64]
    discrimination: NDArray[np.float64]
    upper: NDArray[np.float64]
    slope: NDArray[np.float64]
    location: NDArray[np.float64]
    n_runs: int

    @property
    def discriminates_wrongly(self) -> NDArray[np.bool_]:
        """Items whose interval lies below 0; 2.5 % of items without discrimination do by chance."""
        return self.upper < 0


def analyse_items(scores: Matrix) -> ItemAnalysis:
    """Return the analysis of items; `scores` has a row per item and a column per run.

    Scores are within [0, 1]. An item that was not run (nan) in a run counts there as the mean of
    the item. Raises ValueError for an item without any score, and for scores out of range.
    """
    known = ~np.isnan(scores)
    if not known.any(axis=1).all():
        raise ValueError("an item without any score cannot be analysed")
    if (scores[known] < 0).any() or (scores[known] > 1).any():
        raise ValueError("scores must lie within [0, 1]")
    n_items, n_runs = scores.shape
    item_mean = np.where(known, scores, 0.0).sum(axis=1) / known.sum(axis=1)
    filled = np.where(known, scores, item_mean[:, None])
    rest = (filled.sum(axis=0)[None, :] - filled) / max(n_items - 1, 1)
    correlation = _row_correlations(filled, rest)
    slope = location = np.full(n_items, np.nan)
    if n_runs >= FEWEST_VECTORS:
        slope, location = _fit_logistic_curves(filled, _standardise_rows(rest))
    return ItemAnalysis(
        difficulty=1 - item_mean,
        discrimination=correlation,
        upper=_upper_end(correlation, n_runs),
        slope=slope,
        location=location,
        n_runs=n_runs,
    )


def _row_correlations(a: Matrix, b: Matrix) -> NDArray[np.float64]:
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(a).sum(axis=1) * np.square(b).sum(axis=1))
    shared = (a * b).sum(axis=1)
    found: NDArray[np.float64] = np.divide(
        shared, size, out=np.full(len(a), np.nan), where=size > 1e-12
    )
    return found


def _upper_end(correlation: NDArray[np.float64], n_runs: int) -> NDArray[np.float64]:
    """Return the upper end of the two-sided 95 % interval, nan for fewer than four runs."""
    if n_runs < 4:
        return np.full(len(correlation), np.nan)
    z = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    found: NDArray[np.float64] = np.tanh(z + NORMAL_QUANTILE / np.sqrt(n_runs - 3))
    return found


def _standardise_rows(values: Matrix) -> Matrix:
    centred = values - values.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    found: Matrix = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-12)
    return found


def _fit_logistic_curves(
    scores: Matrix, ability: Matrix
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return slope and location of each item's curve, by Newton's steps with a ridge.

    The curve is 1 / (1 + exp(-(a x - b'))), the location b' / a. The rest score stands for the
    ability of a run, so that this is the two-parameter model with known abilities.
    """
    n = len(scores)
    offset, slope = np.zeros(n), np.zeros(n)
    for _ in range(_ITERATIONS):
        chance = expit(offset[:, None] + slope[:, None] * ability)
        spread = chance * (1 - chance)
        error = scores - chance
        g0, g1 = error.sum(axis=1) - _RIDGE * offset, (error * ability).sum(axis=1) - _RIDGE * slope
        h00 = spread.sum(axis=1) + _RIDGE
        h01 = (spread * ability).sum(axis=1)
        h11 = (spread * np.square(ability)).sum(axis=1) + _RIDGE
        determinant = h00 * h11 - np.square(h01)
        step0, step1 = (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant
        offset, slope = offset + np.clip(step0, -2, 2), slope + np.clip(step1, -2, 2)
    location = np.divide(-offset, slope, out=np.full(n, np.nan), where=np.abs(slope) > 1e-6)
    return slope, location
