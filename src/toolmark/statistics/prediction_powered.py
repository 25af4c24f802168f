"""The mean of people's labels, of which only some rows have one, with the help of a judge's values.

Prediction-powered inference: the judge's mean is corrected by the mean difference between label and
judge on the labelled rows, and the interval includes the error of both (Angelopoulos, Bates,
Fannjiang, Jordan and Zrnic, Science 2023). The judge's weight is tuned, so that a judge that says
nothing about the labels does not widen the interval (Angelopoulos, Duchi and Zrnic 2023, PPI++).
The labelled rows must be a random sample of the rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from toolmark.statistics.confidence_intervals import Groups, Vector, group_codes


class PoweredMean(NamedTuple):
    """The corrected mean with its interval; `weight` is that of the judge, from 0 to 1."""

    value: float
    low: float
    high: float
    weight: float


def powered_mean(
    values: Vector,
    labels: Vector,
    groups: Groups,
    *,
    level: float = 0.95,
    weight: float | None = None,
) -> PoweredMean:
    """Return the mean of the labels over all rows, estimated from judge and labels.

    With the labelled rows L and the others U, the judge's values f, labels y and the weight w, the
    estimate is mean_L(y) + w (mean_U(f) - mean_L(f)): labelled rows with a correction for which of
    them happened to be labelled. Its variance is the sum over groups of the squared sums of what
    each row adds, so rows of one group may be labelled and not labelled. The weight is the one with
    the least variance unless `weight` fixes it. Where all rows are labelled it is 0.

    Two further rows on which judge and label contradict each other, one each way, are added to the
    variance: without them a judge that made no error on the labelled rows would count as free of
    error. The interval is Student's, with the effective number of groups of the labelled rows, and
    lies within [0, 1].

    Args:
        values: The judge's values in [0, 1], one for each row.
        labels: The labels in [0, 1], nan where a row has none.
        groups: The units that the interval counts.
        level: The confidence level.
        weight: The weight of the judge, None for the best one.

    Raises:
        ValueError: Fewer than two rows, or groups, have a label.
    """
    judged, label = np.asarray(values, dtype=float), np.asarray(labels, dtype=float)
    code = group_codes(np.asarray(groups))
    labelled = ~np.isnan(label)
    n, n_other = int(labelled.sum()), int((~labelled).sum())
    sizes = np.bincount(code[labelled]).astype(np.float64)
    if n < 2 or (g := n**2 / float(np.square(sizes).sum())) < 2:
        raise ValueError("at least two groups need a label")
    label_sums = _influence(label, labelled, code)
    judge_sums = _influence(judged, labelled, code)
    shift = 0.0
    if n_other:
        judge_sums = judge_sums - _influence(judged, ~labelled, code)
        shift = float(judged[~labelled].mean() - judged[labelled].mean())
    w = _best_weight(label_sums, judge_sums) if weight is None else weight
    w = w if n_other else 0.0
    value = float(label[labelled].mean()) + w * shift
    squares = float(np.square(label_sums - w * judge_sums).sum())
    variance = squares * g / (g - 1) + (1 + w**2) / n**2
    reach = float(stdtrit(g - 1, 0.5 + level / 2)) * math.sqrt(variance)
    value = min(1.0, max(0.0, value))
    return PoweredMean(value, max(0.0, value - reach), min(1.0, value + reach), w)


def row_influences(values: Vector, labels: Vector, weight: float) -> NDArray[np.float64]:
    """Return what each row adds to the error of the corrected mean with this weight of the judge.

    `labels` are nan where a row has none.
    """
    judged, label = np.asarray(values, dtype=float), np.asarray(labels, dtype=float)
    labelled = ~np.isnan(label)
    found = np.zeros(len(judged))
    error = label - weight * judged
    found[labelled] = (error[labelled] - error[labelled].mean()) / labelled.sum()
    if (others := ~labelled).any():
        found[others] = weight * (judged[others] - judged[others].mean()) / others.sum()
    return found


def _influence(
    values: NDArray[np.float64], chosen: NDArray[np.bool_], code: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what each group adds to the error of the mean over the chosen rows."""
    rows = values[chosen]
    sums = np.bincount(code[chosen], rows - rows.mean(), minlength=int(code.max()) + 1)
    return sums.astype(np.float64) / len(rows)


def _best_weight(label_sums: NDArray[np.float64], judge_sums: NDArray[np.float64]) -> float:
    """Return the weight from 0 to 1 with the least variance of `label - weight * judge`."""
    spread = float(np.square(judge_sums).sum())
    if spread <= 0:
        return 0.0
    return min(1.0, max(0.0, float((label_sums * judge_sums).sum()) / spread))
