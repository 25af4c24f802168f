"""Confidence sequences: intervals of a mean that hold at every time, however often one looks.

An interval that is made for one look covers the truth less often if it is watched until it shows
what was hoped for. A confidence sequence covers the truth at all times at once with its level, so a
run may be watched and stopped at any time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from toolmark.statistics.confidence_intervals import Vector
from toolmark.statistics.score_columns import Numbers

_N_MEANS = 1000  # candidate means: the ends are exact to a thousandth
_LARGEST_BET = 0.5  # of what a bet may risk


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """The ends of the interval after each cluster, shares within 0 and 1."""

    low: Numbers
    high: Numbers


def order_clusters(names: Iterable[str], seed: int) -> list[str]:
    """Return the clusters in a random order that the seed and the names alone decide.

    A sequence is valid for clusters in random order. Which clusters come first must not depend on
    how fast or how well they are answered, so the order is fixed before the first answer.
    """
    distinct = sorted(set(names))
    return sorted(distinct, key=lambda name: hashlib.sha256(f"{seed}\n{name}".encode()).digest())


def betting_sequence(
    totals: Vector, sizes: Vector | None = None, *, level: float = 0.95
) -> ConfidenceSequence:
    """Return the confidence sequence of a mean over clusters, by betting against each candidate.

    `totals` has the sum of the values, each within 0 and 1, of every cluster in a random order,
    `sizes` their numbers of rows (1 each where None). The mean is sum(totals) / sum(sizes), and
    rows of a cluster may depend on each other in any way. The clusters must be independent draws
    from what the mean is about.

    Against a candidate mean m a player starts with 1 and stakes a part on each cluster's
    total - m * size, once on either side. Were m true, the capital would be a martingale, so it
    reaches 2 / (1 - level) with a chance of at most (1 - level) / 2 a side (Ville 1939). The
    interval has all m whose capitals never did. The stakes follow the variance so far
    (Waudby-Smith and Ramdas 2024, J. R. Stat. Soc. B 86(1), the predictable plug-in).

    Raises ValueError for totals that are not within 0 and their sizes.
    """
    total = np.asarray(totals, dtype=float)
    size = np.ones(len(total)) if sizes is None else np.asarray(sizes, dtype=float)
    if len(total) != len(size) or not ((total >= 0) & (total <= size) & (size > 0)).all():
        raise ValueError("each total must lie between 0 and its size, and each size above 0")
    if not len(total):
        return ConfidenceSequence(np.zeros(0), np.zeros(0))
    # sizes are bounded in advance only by the largest there is: stakes are relative to it
    x, y = total / size.max(), size / size.max()
    stake = _plug_in_stakes(x, y, level)
    means = (np.arange(_N_MEANS) + 0.5) / _N_MEANS
    log_limit = math.log(2 / (1 - level))
    low, high = np.zeros(len(x)), np.ones(len(x))
    is_possible = np.ones(_N_MEANS, dtype=bool)
    capital = np.zeros((2, _N_MEANS))
    for at in range(len(x)):
        gain = x[at] - means * y[at]
        above = np.minimum(stake[at], _LARGEST_BET / means)
        below = np.minimum(stake[at], _LARGEST_BET / (1 - means))
        capital[0] += np.log1p(above * gain)
        capital[1] += np.log1p(-below * gain)
        is_possible &= (capital < log_limit).all(axis=0)
        if not is_possible.any():  # beyond the resolution of the candidates
            low[at:], high[at:] = low[at - 1], high[at - 1]
            break
        possible = np.flatnonzero(is_possible)
        low[at], high[at] = possible[0] / _N_MEANS, (possible[-1] + 1) / _N_MEANS
    return ConfidenceSequence(low, high)


def _plug_in_stakes(x: Numbers, y: Numbers, level: float) -> Numbers:
    """Return the stake before each cluster: from the variance of the clusters before it alone."""
    mean = (0.5 + np.cumsum(x)) / (1 + np.cumsum(y))
    square = np.cumsum(np.square(x - mean * y))
    number = np.arange(1, len(x) + 1)
    variance = np.concatenate([[0.25], (0.25 + square[:-1]) / (1 + number[:-1])])
    stakes: Numbers = np.sqrt(
        2 * math.log(2 / (1 - level)) / (variance * number * np.log(1 + number))
    )
    return stakes
