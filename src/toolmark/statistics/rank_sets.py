"""Confidence sets for ranks: which places of a ranking the data allow for each run.

The sets hold jointly: with probability `level` every run's true rank is in its set. They follow
from simultaneous intervals for all pairwise differences (Mogstad, Romano, Shaikh and Wilhelm 2024,
Review of Economic Studies 91(1), doi 10.1093/restud/rdad006; one step, studentised). The critical
value is the quantile of the largest |z| among all pairs, for estimates that are jointly normal with
the estimated covariance. Each difference has an estimated variance of its own: the value is that of
Student's t with the chance, for one pair, of the normal one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Matrix: TypeAlias = NDArray[np.float64]

SET_DRAWS = 10_000  # of the critical value
_TIE = 1e-12  # values that differ by less are equal, relative to the largest or to 1
_CHUNK_CELLS = 2**22  # differences of one block of draws: limits memory to 32 MB
_CERTAIN_CLUSTERS = 10  # that all differ in one direction: the sign test's p is below 0.002
_NO_SPREAD = 1e-12  # a standard error below it, relative to the largest, is none


@dataclass(frozen=True, slots=True)
class RankSets:
    """Ranks of runs, 1 for the best, with the lowest and highest rank that the data allow.

    `rank` is 1 + the number of runs with a higher value. `wins` and `losses` count the runs that
    are below and above by the simultaneous test. `critical_value` is that of |t|.
    """

    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    wins: NDArray[np.int64]
    losses: NDArray[np.int64]
    critical_value: float
    n_clusters: int


def rank_confidence_sets(
    values: NDArray[np.float64] | list[float],
    influence: Matrix,
    *,
    freedom: float | None = None,
    level: float = 0.95,
    draws: int = SET_DRAWS,
    seed: int = 0,
) -> RankSets:
    """Return the joint confidence sets of the ranks of M values; a higher value is better.

    `influence` has one row per cluster and one column per value. The sum over clusters of the
    products of two columns is the covariance of the two values. With G clusters the covariance
    is enlarged by G / (G - 1), and differences have `freedom` degrees of freedom, G - 1 where None.
    A difference that is the same in every cluster has no variance: from ten clusters on, any such
    difference counts. Raises ValueError for values that are not finite, for shapes that do not
    agree, and for fewer than two clusters.
    """
    value = np.asarray(values, dtype=float)
    n_clusters = len(influence)
    if value.ndim != 1 or influence.ndim != 2 or influence.shape[1] != len(value):
        raise ValueError(f"{influence.shape} influences for {value.shape} values")
    if not (np.isfinite(value).all() and np.isfinite(influence).all()):
        raise ValueError("values and influences must be finite")
    if n_clusters < 2:
        raise ValueError("ranks need at least two clusters")
    covariance = influence.T @ influence * (n_clusters / (n_clusters - 1))
    spread = np.diag(covariance)
    error = np.sqrt(np.maximum(spread[:, None] + spread[None, :] - 2 * covariance, 0.0))
    has_spread = error > _NO_SPREAD * max(float(error.max(initial=0.0)), 1e-300)
    freedom = n_clusters - 1 if freedom is None else freedom
    limit = _critical_value(covariance, error, has_spread, freedom, level, draws, seed)
    difference = value[:, None] - value[None, :]
    least = _least_difference(value) if n_clusters >= _CERTAIN_CLUSTERS else np.inf
    reach = np.where(has_spread, limit * error, least)
    wins = (difference > reach).sum(axis=1)
    losses = (difference < -reach).sum(axis=1)
    return RankSets(
        rank=competition_ranks(value),
        low=1 + losses,
        high=len(value) - wins,
        wins=wins,
        losses=losses,
        critical_value=limit,
        n_clusters=n_clusters,
    )


def competition_ranks(values: Matrix) -> NDArray[np.int64]:
    """Return 1 + the number of higher values, along the last axis; a rounding makes none higher."""
    limit = values[..., :, None] + _least_difference(values)[..., None, None]
    higher: NDArray[np.int64] = (values[..., None, :] > limit).sum(axis=-1)
    return 1 + higher


def _least_difference(values: Matrix) -> Matrix:
    """Return what equal values may differ by, along the last axis."""
    least: Matrix = _TIE * np.maximum(1.0, np.abs(values).max(axis=-1, initial=0.0))
    return least


def _critical_value(
    covariance: Matrix,
    error: Matrix,
    has_spread: NDArray[np.bool_],
    freedom: float,
    level: float,
    draws: int,
    seed: int,
) -> float:
    """Return the quantile of the largest |difference| / error among pairs, over the draws.

    It is turned from the normal distribution, by which is drawn, to Student's.
    """
    first, second = np.nonzero(np.triu(has_spread, k=1))
    if not len(first):
        return 0.0
    scale = 1 / error[first, second]
    strengths, directions = np.linalg.eigh(covariance)
    root = directions * np.sqrt(np.maximum(strengths, 0.0))
    rng = np.random.default_rng(seed)
    largest = np.empty(draws)
    block = max(1, _CHUNK_CELLS // len(first))
    for start in range(0, draws, block):
        stop = min(start + block, draws)
        drawn = rng.standard_normal((stop - start, len(covariance))) @ root.T
        pairs = np.abs(drawn[:, first] - drawn[:, second]) * scale
        largest[start:stop] = pairs.max(axis=1)
    return -float(stdtrit(freedom, float(ndtr(-np.quantile(largest, level)))))
