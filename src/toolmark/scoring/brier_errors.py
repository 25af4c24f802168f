"""Class probabilities: validity, and Brier errors of joint actions and of single players.

The reference's error of a row is linear: the sum of |p - y| over classes (MultiNet v1.0), which is
2 (1 - p) for a distribution with probability p of the truth. It is not a proper score: all
probability on the likeliest class is best. The quadratic error, the sum of (p - y)^2, is proper.
Both are 2 where a row is invalid.

Validity is `strict` or `lax`. `strict` (the paper and the public harness) requires C numbers in
[0, 1] whose sum differs from 1 by less than 1e-5. `lax` (the code of the paper's runs) requires
only a list, C numbers and the sum. Thus nan and negative numbers pass, and a nan makes the errors
nan; a verdict has finite numbers only, so there such a row counts 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.scoring.error_statistics import (
    GradingRule,
    Moments,
    NumberBuffer,
    Numbers,
    check_rule,
    error_quantiles,
    parse_floats,
)

ValidityRule: TypeAlias = Literal["strict", "lax"]
Mask: TypeAlias = NDArray[np.bool_]
WORST_ERROR = 2.0
"""The errors of an invalid row."""
SUM_TOLERANCE = 1e-5
"""How far the sum may be from 1."""


class RowErrors(NamedTuple):
    """One row: both errors, and the probabilities of two classes.

    `predicted_class` is the likeliest class (-1 if invalid), `top_probability` its probability, and
    `truth_probability` the probability of the truth.
    """

    brier: float = WORST_ERROR
    brier_sq: float = WORST_ERROR
    predicted_class: int = -1
    truth_probability: float = nan
    top_probability: float = nan


class TableErrors(NamedTuple):
    """As RowErrors, for many rows: arrays (N,), with the mask of valid rows."""

    brier: Numbers
    brier_sq: Numbers
    predicted_classes: NDArray[np.int64]
    truth_probability: Numbers
    top_probability: Numbers
    valid: Mask


# --- one row ----------------------------------------------------------------------------


def parse_distribution(
    values: Any, n_classes: int, validity: ValidityRule = "strict"
) -> tuple[float, ...] | None:
    """Return probabilities as floats, or None where they are invalid."""
    if validity == "lax" and not isinstance(values, list):
        return None
    found = parse_floats(values, n_classes)
    if found is None:
        return None
    sum_error = abs(sum(found) - 1)
    if validity == "lax":
        return None if sum_error > SUM_TOLERANCE else found  # a nan passes
    return found if sum_error < SUM_TOLERANCE and all(0 <= p <= 1 for p in found) else None


def score_row(truth: int, probabilities: tuple[float, ...] | None) -> RowErrors:
    """Score one row's probabilities, None where they are invalid."""
    if probabilities is None:
        return RowErrors()
    p = probabilities[truth]
    likeliest = likeliest_class(probabilities)
    return RowErrors(
        sum(map(abs, probabilities)) - abs(p) + abs(1 - p),
        sum(q * q for q in probabilities) - p * p + (1 - p) * (1 - p),
        likeliest,
        p,
        probabilities[likeliest],
    )


def likeliest_class(probabilities: Sequence[float]) -> int:
    """Return the index that numpy's argmax returns: of the first nan, else of the first maximum."""
    first_nan = next((i for i, p in enumerate(probabilities) if isnan(p)), None)
    return probabilities.index(max(probabilities)) if first_nan is None else first_nan


# --- arrays -----------------------------------------------------------------------------


def score_rows(
    truth: Any, probabilities: Any, n_classes: int, validity: ValidityRule = "strict"
) -> TableErrors:
    """Score probabilities (N, C), or a sequence of rows of any type, against truths (N,).

    A single row may be given without its dimension. Raises UsageError for truths out of range and
    for sides of different length.
    """
    truth = np.asarray(truth)
    if truth.ndim == 0:
        truth, probabilities = truth[None], [probabilities]
    return score_table(truth, *parse_table(probabilities, n_classes, validity))


def score_table(truth: NDArray[Any], table: Numbers, valid: Mask) -> TableErrors:
    """Score the result of `parse_table`, as `score_rows` does."""
    if truth.shape != (len(table),) or (truth.dtype.kind not in "iu" and len(truth)):
        raise UsageError(f"truths {truth.shape} of {truth.dtype}: expected {len(table)} indices")
    if not len(truth):
        none = np.zeros(0)
        return TableErrors(none, none, np.zeros(0, dtype=np.int64), none, none, valid)
    if not 0 <= truth.min() <= truth.max() < table.shape[1]:
        last = table.shape[1] - 1
        raise UsageError(f"truths from {truth.min()} to {truth.max()}: expected 0 to {last}")
    at = np.arange(len(truth))
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.einsum("nc->n", table if table.min() >= 0 else np.abs(table))
        likeliest = table.argmax(axis=1)
        p, top = table[at, truth], table[at, likeliest]
        linear = total - np.abs(p) + np.abs(1 - p)
        square = np.einsum("nc,nc->n", table, table) - p * p + (1 - p) * (1 - p)
    if not valid.all():
        invalid = ~valid
        linear[invalid] = square[invalid] = WORST_ERROR
        p[invalid] = top[invalid] = nan
        likeliest[invalid] = -1
    return TableErrors(linear, square, likeliest, p, top, valid)


def parse_table(
    probabilities: Any, n_classes: int, validity: ValidityRule = "strict"
) -> tuple[Numbers, Mask]:
    """Return the numbers (N, C) and the mask of valid rows; invalid rows may have any values.

    Raises UsageError for an array that is not of numbers or has not two dimensions.
    """
    if not isinstance(probabilities, np.ndarray) or probabilities.dtype.kind == "O":
        found = [parse_distribution(values, n_classes, validity) for values in probabilities]
        blank = (0.0,) * n_classes
        numbers = np.array([blank if row is None else row for row in found], dtype=np.float64)
        valid = np.array([row is not None for row in found], dtype=bool)
        return numbers.reshape(len(found), n_classes), valid
    if probabilities.ndim != 2 or probabilities.dtype.kind not in "fiub":
        shape, kind = probabilities.shape, probabilities.dtype
        raise UsageError(f"probabilities {shape} of {kind}: expected numbers (N, {n_classes})")
    if probabilities.shape[1] != n_classes:
        n = len(probabilities)
        return np.zeros((n, n_classes)), np.zeros(n, dtype=bool)
    numbers = probabilities.astype(np.float64, copy=False)
    return numbers, _valid_rows(numbers, validity)


def _valid_rows(table: Numbers, validity: ValidityRule) -> Mask:
    with np.errstate(over="ignore", invalid="ignore"):
        sum_error = np.abs(np.einsum("nc->n", table) - 1)
    if validity == "lax":
        return np.asarray(~(sum_error > SUM_TOLERANCE))  # a nan passes
    valid: Mask = sum_error < SUM_TOLERANCE
    # rows are checked one by one only where a number is outside [0, 1]
    if table.size and not (table.min() >= 0 and table.max() <= 1):
        valid &= ((table >= 0) & (table <= 1)).all(axis=1)
    return valid


def player_marginals(table: Numbers, n_actions: int = 6) -> tuple[Numbers, Numbers]:
    """Return each player's probabilities (N, A) from those of joint actions (N, A * A)."""
    square = table.reshape(-1, n_actions, n_actions)
    return np.einsum("nij->ni", square), np.einsum("nij->nj", square)


# --- all rows ---------------------------------------------------------------------------


class BrierAccumulator:
    """Measures of Brier errors that come in chunks; stores one number per row."""

    def __init__(self) -> None:
        self.invalid = 0
        self._errors = NumberBuffer()
        self._linear = Moments()
        self._square = Moments()

    def feed(self, rows: TableErrors) -> None:
        """Add rows."""
        self.add_errors(rows.brier, rows.brier_sq, rows.valid)

    def add_errors(self, brier: Numbers, brier_sq: Numbers, valid: Mask) -> None:
        """Add the errors of rows, arrays (N,), in which invalid rows already have theirs."""
        self.invalid += len(valid) - int(np.count_nonzero(valid))
        self._errors.feed(brier)
        self._linear.feed(brier)
        self._square.feed(brier_sq)

    def measures(self, rule: GradingRule = "paper") -> dict[str, float]:
        """Return the measures; 0/0 is nan. The grading rule sets the quantile filter."""
        check_rule(rule)
        n, quantiles = self._linear.n, error_quantiles(self._errors.view(), rule)
        return {
            "n": n,
            "invalid": self.invalid,
            "invalid_rate": self.invalid / n if n else nan,
            "mae": self._linear.mean,
            "mse": self._square.mean,
            "total_mae": self._linear.total,
            "total_mse": self._square.total,
            "normalised_mae": self._linear.normalised,
            "normalised_mse": self._square.normalised,
            "normalised_quantile_filtered_mae": quantiles.normalised,
            "max_rel_mae": quantiles.max_relative,
            "prop_beyond_3x_median": quantiles.outlier_share,
        }


def measure_probabilities(
    truth: Any,
    probabilities: Any,
    n_classes: int,
    *,
    validity: ValidityRule = "strict",
    rule: GradingRule = "paper",
) -> dict[str, float]:
    """Score probabilities (N, C) against truths (N,): `mae` is linear, `mse` is quadratic.

    A row may be of any type; a row that is not a valid distribution has errors of 2. Raises
    UsageError for truths out of range and for sides of different length.
    """
    accumulator = BrierAccumulator()
    accumulator.feed(score_rows(truth, probabilities, n_classes, validity))
    return accumulator.measures(rule)
