"""Probabilities of classes: validity, and Brier errors of joint actions and of single players.

The reference's error of a row is linear, the sum of |p - y| over classes (MultiNet v1.0): 2 (1 - p)
of a distribution that gives p to the truth. It is no proper score: best is all on the likeliest
class. The quadratic one, the sum of (p - y)^2, is proper. Both are 2 where a row is invalid.

Validity is `strict` (the paper, and the public harness: C numbers in [0, 1] whose sum misses 1 by
less than 1e-5) or `lax` (the code of the paper's own runs: a list, C numbers, the sum; so nan and
negative numbers pass, and a nan makes errors nan; a verdict, whose numbers are finite, counts 2).
"""

from __future__ import annotations

from math import isnan, nan
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError
from toolmark.score.spread import Moments, Numbers, Reading, Shelf, check, floats, outliers

Rule: TypeAlias = Literal["strict", "lax"]
Mask: TypeAlias = NDArray[np.bool_]
WORST = 2.0
"""The errors of an invalid row."""
SUM = 1e-5
"""By how much the sum may miss 1."""


class Odds(NamedTuple):
    """A row: both errors, the likeliest class (-1 if invalid), `p` of the truth, the largest p."""

    brier: float = WORST
    brier_sq: float = WORST
    said: int = -1
    p: float = nan
    top: float = nan


class Rows(NamedTuple):
    """As Odds, of many rows: arrays (N,), and which are valid."""

    brier: Numbers
    brier_sq: Numbers
    said: NDArray[np.int64]
    p: Numbers
    top: Numbers
    valid: Mask


# --- one row ----------------------------------------------------------------------------


def distribution(values: Any, n_classes: int, rule: Rule = "strict") -> tuple[float, ...] | None:
    """Return probabilities as floats, None where they are invalid."""
    if rule == "lax" and not isinstance(values, list):
        return None
    found = floats(values, n_classes)
    if found is None:
        return None
    apart = abs(sum(found) - 1)
    if rule == "lax":
        return None if apart > SUM else found  # a nan passes
    return found if apart < SUM and all(0 <= p <= 1 for p in found) else None


def odds(truth: int, probabilities: tuple[float, ...] | None) -> Odds:
    """Score one row's probabilities, None where they are invalid; the first of equals is said."""
    if probabilities is None:
        return Odds()
    p = probabilities[truth]
    said = next((i for i, p in enumerate(probabilities) if isnan(p)), None)  # as argmax has it
    if said is None:
        said = probabilities.index(max(probabilities))
    return Odds(
        sum(map(abs, probabilities)) - abs(p) + abs(1 - p),
        sum(q * q for q in probabilities) - p * p + (1 - p) * (1 - p),
        said,
        p,
        probabilities[said],
    )


# --- arrays -----------------------------------------------------------------------------


def rows(truth: Any, probabilities: Any, n_classes: int, rule: Rule = "strict") -> Rows:
    """Score probabilities (N, C), or a sequence of rows of any kind, against truths (N,).

    One row may come without its dimension. Raises UsageError for truths out of range and for sides
    of different length.
    """
    truth = np.asarray(truth)
    if truth.ndim == 0:
        truth, probabilities = truth[None], [probabilities]
    return scored(truth, *table(probabilities, n_classes, rule))


def scored(truth: NDArray[Any], table: Numbers, valid: Mask) -> Rows:
    """Score probabilities (N, C) that were read, of which some are invalid, as `rows`."""
    if truth.shape != (len(table),) or (truth.dtype.kind not in "iu" and len(truth)):
        raise UsageError(f"truths {truth.shape} of {truth.dtype}: expected {len(table)} indices")
    if not len(truth):
        none = np.zeros(0)
        return Rows(none, none, np.zeros(0, dtype=np.int64), none, none, valid)
    if not 0 <= truth.min() <= truth.max() < table.shape[1]:
        last = table.shape[1] - 1
        raise UsageError(f"truths from {truth.min()} to {truth.max()}: expected 0 to {last}")
    at = np.arange(len(truth))
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.einsum("nc->n", table if table.min() >= 0 else np.abs(table))
        said = table.argmax(axis=1)
        p, top = table[at, truth], table[at, said]
        linear = total - np.abs(p) + np.abs(1 - p)
        square = np.einsum("nc,nc->n", table, table) - p * p + (1 - p) * (1 - p)
    if not valid.all():
        lost = ~valid
        linear[lost] = square[lost] = WORST
        p[lost] = top[lost] = nan
        said[lost] = -1
    return Rows(linear, square, said, p, top, valid)


def table(probabilities: Any, n_classes: int, rule: Rule = "strict") -> tuple[Numbers, Mask]:
    """Return the numbers (N, C), and which rows are valid; the others hold anything."""
    if not isinstance(probabilities, np.ndarray) or probabilities.dtype.kind == "O":
        found = [distribution(values, n_classes, rule) for values in probabilities]
        blank = (0.0,) * n_classes
        made = np.array([blank if row is None else row for row in found], dtype=np.float64)
        valid = np.array([row is not None for row in found], dtype=bool)
        return made.reshape(len(found), n_classes), valid
    if probabilities.ndim != 2 or probabilities.dtype.kind not in "fiub":
        shape, kind = probabilities.shape, probabilities.dtype
        raise UsageError(f"probabilities {shape} of {kind}: expected numbers (N, {n_classes})")
    if probabilities.shape[1] != n_classes:
        n = len(probabilities)
        return np.zeros((n, n_classes)), np.zeros(n, dtype=bool)
    made = probabilities.astype(np.float64, copy=False)
    return made, _valid(made, rule)


def _valid(table: Numbers, rule: Rule) -> Mask:
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(np.einsum("nc->n", table) - 1)
    if rule == "lax":
        return np.asarray(~(apart > SUM))  # a nan passes
    valid: Mask = apart < SUM
    # rows are looked at one by one only where something lies outside
    if table.size and not (table.min() >= 0 and table.max() <= 1):
        valid &= ((table >= 0) & (table <= 1)).all(axis=1)
    return valid


def marginals(table: Numbers, n_actions: int = 6) -> tuple[Numbers, Numbers]:
    """Sum probabilities of joint actions (N, A * A) to those of each player (N, A)."""
    square = table.reshape(-1, n_actions, n_actions)
    return np.einsum("nij->ni", square), np.einsum("nij->nj", square)


# --- all rows ---------------------------------------------------------------------------


class Brier:
    """Brier errors of rows that come in chunks; one number per row is kept."""

    def __init__(self) -> None:
        self.invalid = 0
        self._errors = Shelf()
        self._linear = Moments()
        self._square = Moments()

    def feed(self, more: Rows) -> None:
        """Take more rows."""
        self.add(more.brier, more.brier_sq, more.valid)

    def add(self, brier: Numbers, brier_sq: Numbers, valid: Mask) -> None:
        """Take the errors of more rows, in which invalid ones count already; arrays (N,)."""
        self.invalid += len(valid) - int(np.count_nonzero(valid))
        self._errors.feed(brier)
        self._linear.feed(brier)
        self._square.feed(brier_sq)

    def found(self, reading: Reading = "paper") -> dict[str, float]:
        """Return the measures; what is 0/0 is nan. The reading tells the quantile filter."""
        check(reading)
        n, spread = self._linear.n, outliers(self._errors.read(), reading)
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
            "normalised_quantile_filtered_mae": spread.normalised,
            "max_rel_mae": spread.max_relative,
            "prop_beyond_3x_median": spread.beyond,
        }


def brier(
    truth: Any,
    probabilities: Any,
    n_classes: int,
    *,
    rule: Rule = "strict",
    reading: Reading = "paper",
) -> dict[str, float]:
    """Score probabilities (N, C) against truths (N,): `mae` linear, `mse` quadratic, and spread.

    A row may be anything: what is no valid distribution counts 2. Raises UsageError for truths out
    of range and for sides of different length.
    """
    whole = Brier()
    whole.feed(rows(truth, probabilities, n_classes, rule))
    return whole.found(reading)
