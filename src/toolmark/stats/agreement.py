"""How far raters agree: mean absolute difference of each pair, and Krippendorff's alpha.

Ratings are a table, a row per rater and a column per unit, nan where a rater said nothing.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ratings = NDArray[np.float64]


class Pair(NamedTuple):
    """Two raters by row: over how many units both spoke, and how far they were apart on average."""

    one: int
    other: int
    n: int
    difference: float | None


def pairs(ratings: Ratings) -> list[Pair]:
    """Return every pair of raters; the difference is None where they share no unit."""
    found = []
    for one, other in combinations(range(len(ratings)), 2):
        apart = np.abs(ratings[one] - ratings[other])
        both = apart[~np.isnan(apart)]
        mean = float(both.mean()) if len(both) else None
        found.append(Pair(one, other, len(both), mean))
    return found


def difference(ratings: Ratings) -> float | None:
    """Return the mean over pairs of their mean absolute differences; None without any."""
    known = [pair.difference for pair in pairs(ratings) if pair.difference is not None]
    return sum(known) / len(known) if known else None


def alpha(ratings: Ratings) -> float | None:
    """Return Krippendorff's alpha for interval data: 1 - observed / expected disagreement.

    Units that fewer than two raters rated are left out (Krippendorff, Computing Krippendorff's
    Alpha-Reliability, 2011). None where nothing is left, or where all ratings are equal: then
    there is no disagreement that could be expected.
    """
    count = (~np.isnan(ratings)).sum(axis=0)
    paired = ratings[:, count > 1]
    m = count[count > 1]
    values = paired[~np.isnan(paired)]
    if not len(values) or np.ptp(values) == 0:
        return None
    centred = paired - values.mean()  # squares of what is left are small: no digits are lost
    # ordered pairs of a set of m values differ in square by 2 (m sum x^2 - (sum x)^2) in all
    total, square = np.nansum(centred, axis=0), np.nansum(np.square(centred), axis=0)
    observed = float((2 * (m * square - np.square(total)) / (m - 1)).sum()) / len(values)
    n, x = len(values), values - values.mean()
    expected = 2 * (n * float(np.square(x).sum()) - float(x.sum()) ** 2) / (n * (n - 1))
    return 1 - observed / expected
