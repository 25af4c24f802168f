"""Agreement of raters: mean absolute difference of each pair, and Krippendorff's alpha.

Ratings are a table with a row per rater and a column per unit, nan where there is no rating.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ratings = NDArray[np.float64]


class RaterPair(NamedTuple):
    """Two raters by row index, the number `n` of units both rated, and their mean difference."""

    first: int
    second: int
    n: int
    difference: float | None


def rater_pairs(ratings: Ratings) -> list[RaterPair]:
    """Return every pair of raters; the difference is None where they share no unit."""
    found = []
    for one, other in combinations(range(len(ratings)), 2):
        differences = np.abs(ratings[one] - ratings[other])
        both = differences[~np.isnan(differences)]
        mean = float(both.mean()) if len(both) else None
        found.append(RaterPair(one, other, len(both), mean))
    return found


def mean_difference(ratings: Ratings) -> float | None:
    """Return the mean over pairs of their mean absolute differences; None without such a pair."""
    known = [pair.difference for pair in rater_pairs(ratings) if pair.difference is not None]
    return sum(known) / len(known) if known else None


def krippendorff_alpha(ratings: Ratings) -> float | None:
    """Return Krippendorff's alpha for interval data: 1 - observed / expected disagreement.

    Units that fewer than two raters rated are left out (Krippendorff, Computing Krippendorff's
    Alpha-Reliability, 2011). Returns None where no unit remains, or where all ratings are equal:
    then the expected disagreement is 0.
    """
    count = (~np.isnan(ratings)).sum(axis=0)
    paired = ratings[:, count > 1]
    m = count[count > 1]
    values = paired[~np.isnan(paired)]
    if not len(values) or np.ptp(values) == 0:
        return None
    centred = paired - values.mean()  # squares of centred values are small: no digits are lost
    # over ordered pairs of m values, the squared differences sum to 2 (m sum x^2 - (sum x)^2)
    total, square = np.nansum(centred, axis=0), np.nansum(np.square(centred), axis=0)
    observed = float((2 * (m * square - np.square(total)) / (m - 1)).sum()) / len(values)
    n, x = len(values), values - values.mean()
    expected = 2 * (n * float(np.square(x).sum()) - float(x.sum()) ** 2) / (n * (n - 1))
    return 1 - observed / expected
