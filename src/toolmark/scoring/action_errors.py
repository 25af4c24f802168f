"""Errors of continuous action vectors, by row and relative to a baseline (MultiNet v1.0).

The error of a row is the mean over dimensions of |x - y| (MAE) or (x - y)^2 (MSE); the error of a
data set is the mean over rows (eq. 4). RelMAE and RelMSE divide by the errors of a baseline that
always predicts the mean of the training set. They are ratios of sums (eq. 5), so that one easy row
cannot outweigh all others.

A prediction is valid if it is exactly D finite numbers. An invalid prediction gets the baseline's
error of its row under the grading rule `paper`, and the error between `low` and `high` of the
actions under `reference`. The quantile filter is at the percentiles 5 and 95 under `paper`, at 0.05
and 99.95 under `reference` (`error_statistics`). Under `reference` the measures also have the
reference's names, in its units (per cent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.scoring.error_statistics import (
    LARGEST_ERROR,
    GradingRule,
    Moments,
    NumberBuffer,
    Numbers,
    check_rule,
    error_quantiles,
    parse_floats,
    safe_ratio,
)

Mask: TypeAlias = NDArray[np.bool_]
Slices: TypeAlias = Mapping[str, tuple[int, int]]
Vector: TypeAlias = Sequence[float]

_NEGLIGIBLE_ERROR = 1e-6  # a smaller baseline error counts as 0 in the reference's mean of ratios
_REFERENCE_NAMES = {
    "total_dataset_amse": "total_mse", "total_dataset_amae": "total_mae", "num_timesteps": "n",
    "avg_dataset_amse": "mse_mean_over_dims", "avg_dataset_amae": "mae",
    "normalized_amse": "normalised_mse", "normalized_amae": "normalised_mae",
    "normalized_quantile_filtered_amae": "normalised_quantile_filtered_mae",
    "max_relative_mae": "max_rel_mae", "proportion_beyond_threshold_mae": "prop_beyond_3x_median",
    "total_invalid_preds": "invalid", "approximate_baseline_relative_mae": "approx_rel_mae",
    "approximate_baseline_relative_mse": "approx_rel_mse", "avg_baseline_mae": "baseline_mae",
    "avg_baseline_mse": "baseline_mse",
}  # fmt: skip


class RowError(NamedTuple):
    """Errors of one row and of its baseline, means over dimensions; nan without a baseline."""

    mae: float
    mse: float
    base_mae: float = nan
    base_mse: float = nan
    valid: bool = True


class RowErrors(NamedTuple):
    """As RowError, for many rows: arrays (N,); None without a baseline."""

    mae: Numbers
    mse: Numbers
    base_mae: Numbers | None
    base_mse: Numbers | None
    valid: Mask


# --- one row ----------------------------------------------------------------------------


def parse_vector(values: Any, n: int) -> tuple[float, ...] | None:
    """Return a predicted vector as floats, or None unless it is n finite numbers."""
    found = parse_floats(values, n)
    return found if found is not None and all(map(isfinite, found)) else None


def score_row(
    truth: Vector,
    predicted: Vector | None,
    *,
    baseline: Vector | None = None,
    low: Vector | None = None,
    high: Vector | None = None,
    rule: GradingRule = "paper",
    part: tuple[int, int] | None = None,
) -> RowError:
    """Score one predicted vector, None for an invalid one; `part` is a slice to score alone.

    Raises UsageError where an invalid prediction cannot be scored: `paper` needs `baseline`,
    `reference` needs `low` and `high`.
    """
    at = slice(*part) if part else slice(None)
    errors_of_row = None if baseline is None else _vector_errors(truth[at], baseline[at])
    base_mae, base_mse = errors_of_row or (nan, nan)
    if predicted is not None:
        return RowError(*_vector_errors(truth[at], predicted[at]), base_mae, base_mse)
    if rule == "reference":
        errors_of_row = None if low is None or high is None else _vector_errors(low[at], high[at])
    mae, mse = _require_penalty(errors_of_row, rule)
    return RowError(mae, mse, base_mae, base_mse, valid=False)


def _vector_errors(one: Vector, other: Vector) -> tuple[float, float]:
    differences = [x - y for x, y in zip(one, other, strict=True)]
    mae = sum(map(abs, differences)) / len(differences)
    mse = sum(x * x for x in differences) / len(differences)
    return min(float(mae), LARGEST_ERROR), min(float(mse), LARGEST_ERROR)


def _require_penalty(penalty: Any, rule: GradingRule) -> Any:
    if penalty is None:
        what = "baseline=" if rule == "paper" else "low= and high="
        raise UsageError(f"a prediction is invalid: the rule {rule!r} needs {what}")
    return penalty


# --- arrays -----------------------------------------------------------------------------


def score_rows(
    truth: Any,
    predicted: Any,
    *,
    baseline: Any = None,
    low: Any = None,
    high: Any = None,
    rule: GradingRule = "paper",
    slices: Slices | None = None,
) -> dict[str, RowErrors]:
    """Score predictions against truths (N, D); return errors by slice, "" for all dimensions.

    `predicted` is an array, or a sequence of rows of any type. A row that is not D finite numbers
    is invalid. `baseline` is (D,) or (N, D); `low` and `high` are (D,). Raises UsageError for
    truths that are not finite numbers, for other shapes, and as `score_row` does.
    """
    check_rule(rule)
    truth = _parse_truths(truth)
    width = truth.shape[1]
    numbers, valid = _parse_predictions(predicted, truth.shape)
    base = None if baseline is None else _parse_shaped("baseline", baseline, truth.shape)
    action_range = (
        None if low is None or high is None else _parse_shaped("low, high", (low, high), (2, width))
    )
    found = {}
    for name, (start, end) in {"": (0, width), **(slices or {})}.items():
        if not 0 <= start < end <= width:
            raise UsageError(f"slice {name!r} from {start} to {end}: expected 0 to {width}")
        at = slice(start, end)
        base_errors = None if base is None else _mean_errors(truth[:, at], base[..., at])
        mae, mse = _mean_errors(truth[:, at], numbers[:, at])
        if not valid.all():
            penalty = (
                _range_penalty(action_range, at)
                if rule == "reference"
                else _baseline_penalty(base_errors, ~valid)
            )
            mae[~valid], mse[~valid] = _require_penalty(penalty, rule)
        base_mae, base_mse = base_errors or (None, None)
        found[name] = RowErrors(mae, mse, base_mae, base_mse, valid)
    return found


def _range_penalty(action_range: Numbers | None, at: slice) -> tuple[float, float] | None:
    return None if action_range is None else _vector_errors(*action_range[:, at].tolist())


def _baseline_penalty(
    base_errors: tuple[Numbers, Numbers] | None, invalid: Mask
) -> tuple[Numbers, Numbers] | None:
    return (base_errors[0][invalid], base_errors[1][invalid]) if base_errors else None


def _mean_errors(one: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
    """Return the mean of |x - y| and of (x - y)^2 over the dimensions of each row."""
    width = one.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        differences = one - other
        mse = np.einsum("nd,nd->n", differences, differences) / width
        mae = np.einsum("nd->n", np.abs(differences, out=differences)) / width
    return np.minimum(mae, LARGEST_ERROR), np.minimum(mse, LARGEST_ERROR)


def _parse_truths(truth: Any) -> Numbers:
    truth = np.asarray(truth)
    if truth.ndim != 2 or not truth.shape[1] or truth.dtype.kind not in "fiub":
        raise UsageError(f"truths {truth.shape} of {truth.dtype}: expected numbers (N, D)")
    numbers = np.asarray(truth, dtype=np.float64)
    if not np.isfinite(numbers).all():
        wrong = ~np.isfinite(numbers).all(axis=1)
        n, first = np.count_nonzero(wrong), wrong.argmax()
        raise UsageError(f"{n} truths are not finite, first in row {first}; correct the data")
    return numbers


def _parse_shaped(name: str, values: Any, shape: tuple[int, ...]) -> Numbers:
    """Return finite numbers of that shape, or of its last dimension only. Raises UsageError."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape not in (shape, shape[-1:]) or not np.isfinite(numbers).all():
        raise UsageError(f"{name} {numbers.shape}: expected finite numbers {shape[-1:]} or {shape}")
    return numbers


def _parse_predictions(predicted: Any, shape: tuple[int, ...]) -> tuple[Numbers, Mask]:
    """Return predictions in the shape of the truths, and the mask of valid rows.

    Invalid rows may have any values. Raises UsageError for another number of rows.
    """
    if len(predicted) != shape[0]:
        raise UsageError(f"{shape[0]} truths and {len(predicted)} predictions")
    if not isinstance(predicted, np.ndarray) or predicted.dtype.kind == "O":
        found = [parse_vector(values, shape[1]) for values in predicted]
        blank = (0.0,) * shape[1]
        numbers = np.array([blank if row is None else row for row in found]).reshape(shape)
        return numbers, np.array([row is not None for row in found], dtype=bool)
    if predicted.shape != shape or predicted.dtype.kind not in "fiub":
        return np.zeros(shape), np.zeros(shape[0], dtype=bool)
    numbers = predicted.astype(np.float64, copy=False)
    finite = np.isfinite(numbers)
    return numbers, np.ones(shape[0], dtype=bool) if finite.all() else finite.all(axis=1)


# --- all rows ---------------------------------------------------------------------------


class ErrorAccumulator:
    """Measures of errors that come in chunks; stores one number per row and baseline row.

    `width` is the number of dimensions, None where it is not known.
    """

    def __init__(self, rule: GradingRule = "paper", width: int | None = None) -> None:
        check_rule(rule)
        self.rule = rule
        self.width = width
        self.invalid = 0
        self.exact = 0
        self._mae, self._mse = Moments(), Moments()
        self._base_mae, self._base_mse = Moments(), Moments()
        self._ratios = Moments(), Moments()
        self._n_infinite = [0, 0]
        self._rows, self._base = NumberBuffer(), NumberBuffer()

    def feed(self, rows: RowErrors) -> None:
        """Add rows. Raises UsageError where some have a baseline and others do not."""
        self.invalid += len(rows.valid) - int(np.count_nonzero(rows.valid))
        self.exact += int(np.count_nonzero((rows.mae == 0) & rows.valid))
        self._mae.feed(rows.mae)
        self._mse.feed(rows.mse)
        self._rows.feed(rows.mae)
        if rows.base_mae is not None and rows.base_mse is not None:
            self._base_mae.feed(rows.base_mae)
            self._base_mse.feed(rows.base_mse)
            self._base.feed(rows.base_mae)
            if self.rule == "reference":
                self._add_ratios(0, rows.mae, rows.base_mae, rows.valid)
                self._add_ratios(1, rows.mse, rows.base_mse, rows.valid)
        if len(self._base) not in (0, len(self._rows)):
            raise UsageError("some rows come with a baseline's errors, others without")

    def _add_ratios(self, at: int, errors: Numbers, base: Numbers, valid: Mask) -> None:
        """Add the reference's ratios by row; those of invalid rows are infinite."""
        negligible = base < _NEGLIGIBLE_ERROR
        with np.errstate(all="ignore"):
            ratios = np.where(
                negligible, np.where(errors < _NEGLIGIBLE_ERROR, 1.0, inf), errors / base
            )
        finite = np.isfinite(ratios) & valid
        self._n_infinite[at] += len(ratios) - int(np.count_nonzero(finite))
        self._ratios[at].feed(ratios[finite])

    def measures(self) -> dict[str, float]:
        """Return the measures; one that is 0/0 or needs a missing baseline is nan."""
        n, paired = self._mae.n, len(self._base) > 0
        base = self._base.view() if paired else None
        quantiles = error_quantiles(self._rows.view(), self.rule, base)
        inside_mean = quantiles.total / quantiles.n_inside if quantiles.n_inside else nan
        found = {
            "n": n,
            "invalid": self.invalid,
            "invalid_rate": self.invalid / n if n else nan,
            "exact": self.exact / n if n else nan,
            "mae": self._mae.mean,
            "mse_mean_over_dims": self._mse.mean,
            "mse_sum_over_dims": self._mse.mean * (self.width or nan),
            "total_mae": self._mae.total,
            "total_mse": self._mse.total,
            "normalised_mae": self._mae.normalised,
            "normalised_mse": self._mse.normalised,
            "normalised_quantile_filtered_mae": quantiles.normalised,
            "max_rel_mae": quantiles.max_relative,
            "prop_beyond_3x_median": quantiles.outlier_share,
            "n_inside": quantiles.n_inside,
            "baseline_mae": self._base_mae.mean,
            "baseline_mse": self._base_mse.mean,
            "approx_rel_mae": safe_ratio(self._mae.total, self._base_mae.total if paired else nan),
            "approx_rel_mse": safe_ratio(self._mse.total, self._base_mse.total if paired else nan),
            "quantile_filtered_rel_mae_pairwise": safe_ratio(quantiles.total, quantiles.base_total),
            "quantile_filtered_rel_mae_full_baseline": safe_ratio(inside_mean, self._base_mae.mean),
        }
        return {**found, **self._reference_measures(found)} if self.rule == "reference" else found

    def _reference_measures(self, found: Mapping[str, float]) -> dict[str, float]:
        """Return the measures under the reference's names; for one row its spread is nan."""
        few = (*_REFERENCE_NAMES,)[5:10] if found["n"] == 1 else ()
        named = {name: nan if name in few else found[own] for name, own in _REFERENCE_NAMES.items()}
        for what, moments, endless in zip(
            ("ae", "se"), self._ratios, self._n_infinite, strict=True
        ):
            named[f"avg_baseline_relative_m{what}"] = inf if endless else moments.mean
            named[f"normalized_baseline_relative_m{what}"] = moments.normalised
        named["action_success_rate"] = 100 * found["exact"]
        named["invalid_percentage"] = 100 * found["invalid_rate"]
        return named


class ErrorStream:
    """`measure_actions` in chunks: call `feed` with truths and predictions, then `measures`."""

    def __init__(
        self,
        *,
        baseline: Any = None,
        low: Any = None,
        high: Any = None,
        rule: GradingRule = "paper",
        slices: Slices | None = None,
    ) -> None:
        check_rule(rule)
        self._settings: dict[str, Any] = {
            "low": low, "high": high, "rule": rule, "slices": slices
        }  # fmt: skip
        self._baseline = baseline
        self._parts = {name: ErrorAccumulator(rule) for name in ("", *(slices or {}))}
        self._slices = dict(slices or {})

    def feed(self, truth: Any, predicted: Any, baseline: Any = None) -> None:
        """Add rows (N, D); `baseline` (N, D) has the guesses for these rows if not constant."""
        baseline_rows = self._baseline if baseline is None else baseline
        for name, more in score_rows(
            truth, predicted, baseline=baseline_rows, **self._settings
        ).items():
            start, end = self._slices.get(name, (0, np.shape(truth)[1]))
            self._parts[name].width = end - start
            self._parts[name].feed(more)

    def measures(self) -> dict[str, Any]:
        """Return the measures, with those of each slice under "slices"."""
        overall, *parts = (part.measures() for part in self._parts.values())
        slices = dict(zip(self._slices, parts, strict=True))
        return {**overall, "slices": slices} if slices else overall


def measure_actions(
    truth: Any,
    predicted: Any,
    *,
    baseline: Any = None,
    low: Any = None,
    high: Any = None,
    rule: GradingRule = "paper",
    slices: Slices | None = None,
) -> dict[str, Any]:
    """Score predictions against truths (N, D), in the units of the actions.

    `baseline` is a constant guess (D,), the mean of the training set, or a guess per row (N, D).
    `low` and `high` (D,) are the range of the actions. `slices` are named parts of the vector as
    (first, one past the last); their measures are under "slices". See `score_rows` for predictions
    and errors raised, and `ErrorAccumulator.measures` for the names. Under `reference` the names of
    the reference are added.
    """
    stream = ErrorStream(baseline=baseline, low=low, high=high, rule=rule, slices=slices)
    stream.feed(truth, predicted)
    return stream.measures()
