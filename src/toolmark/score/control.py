"""Vectors of continuous actions: errors by row, and relative to a constant guess (MultiNet v1.0).

A row's error is the mean over dimensions of |x - y| (MAE) or (x - y)^2 (MSE); a data set's the mean
over rows (eq. 4). RelMAE and RelMSE divide by the same of a baseline that always says the training
set's mean: a ratio of sums (eq. 5), so that one easy row cannot outweigh all others.

A prediction is valid if it is exactly D finite numbers. An invalid one has in `paper` the
baseline's error of its row, in `reference` that of the whole range, low to high, of the actions.
The quantile filter lies at 5/95 in `paper`, at 0.05/99.95 in `reference` (`score.spread`). In
`reference` the measures stand under its own names too, in its own units (per cent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError
from toolmark.score.spread import (
    LARGEST,
    Moments,
    Numbers,
    Reading,
    Shelf,
    check,
    floats,
    outliers,
    ratio,
)

Mask: TypeAlias = NDArray[np.bool_]
Slices: TypeAlias = Mapping[str, tuple[int, int]]
Vector: TypeAlias = Sequence[float]

_EASY = 1e-6  # a baseline's error below it is taken for none in the reference's mean of ratios
_NAMES = {
    "total_dataset_amse": "total_mse", "total_dataset_amae": "total_mae", "num_timesteps": "n",
    "avg_dataset_amse": "mse_mean_over_dims", "avg_dataset_amae": "mae",
    "normalized_amse": "normalised_mse", "normalized_amae": "normalised_mae",
    "normalized_quantile_filtered_amae": "normalised_quantile_filtered_mae",
    "max_relative_mae": "max_rel_mae", "proportion_beyond_threshold_mae": "prop_beyond_3x_median",
    "total_invalid_preds": "invalid", "approximate_baseline_relative_mae": "approx_rel_mae",
    "approximate_baseline_relative_mse": "approx_rel_mse", "avg_baseline_mae": "baseline_mae",
    "avg_baseline_mse": "baseline_mse",
}  # fmt: skip


class Row(NamedTuple):
    """Errors of one row, means over dimensions; of the baseline too, nan without one."""

    mae: float
    mse: float
    base_mae: float = nan
    base_mse: float = nan
    valid: bool = True


class Rows(NamedTuple):
    """As Row, of many rows: arrays (N,); None without a baseline."""

    mae: Numbers
    mse: Numbers
    base_mae: Numbers | None
    base_mse: Numbers | None
    valid: Mask


# --- one row ----------------------------------------------------------------------------


def vector(values: Any, n: int) -> tuple[float, ...] | None:
    """Return a predicted vector as floats; None unless it is n finite numbers."""
    found = floats(values, n)
    return found if found is not None and all(map(isfinite, found)) else None


def row(
    truth: Vector,
    predicted: Vector | None,
    *,
    baseline: Vector | None = None,
    low: Vector | None = None,
    high: Vector | None = None,
    reading: Reading = "paper",
    part: tuple[int, int] | None = None,
) -> Row:
    """Score one valid vector, or None for an invalid one; `part` is a slice to score alone.

    Raises UsageError where an invalid one cannot be scored: `paper` asks for `baseline`,
    `reference` for `low` and `high`.
    """
    at = slice(*part) if part else slice(None)
    held = None if baseline is None else _apart(truth[at], baseline[at])
    base_mae, base_mse = held or (nan, nan)
    if predicted is not None:
        return Row(*_apart(truth[at], predicted[at]), base_mae, base_mse)
    if reading == "reference":
        held = None if low is None or high is None else _apart(low[at], high[at])
    mae, mse = _needed(held, reading)
    return Row(mae, mse, base_mae, base_mse, valid=False)


def _apart(one: Vector, other: Vector) -> tuple[float, float]:
    apart = [x - y for x, y in zip(one, other, strict=True)]
    mae, mse = sum(map(abs, apart)) / len(apart), sum(x * x for x in apart) / len(apart)
    return min(float(mae), LARGEST), min(float(mse), LARGEST)


def _needed(penalty: Any, reading: Reading) -> Any:
    if penalty is None:
        what = "baseline=" if reading == "paper" else "low= and high="
        raise UsageError(f"a prediction is invalid: the reading {reading!r} needs {what}")
    return penalty


# --- arrays -----------------------------------------------------------------------------


def rows(
    truth: Any,
    predicted: Any,
    *,
    baseline: Any = None,
    low: Any = None,
    high: Any = None,
    reading: Reading = "paper",
    slices: Slices | None = None,
) -> dict[str, Rows]:
    """Score predictions against truths (N, D): the errors of all dimensions as "", and by slice.

    `predicted` is an array, in which a row with anything but finite numbers is invalid, or a
    sequence of rows of any kind. `baseline` is (D,) or (N, D); `low` and `high` are (D,). Raises
    UsageError for truths that are no finite numbers, other shapes, and as `row`.
    """
    check(reading)
    truth = _truths(truth)
    width = truth.shape[1]
    made, valid = _predictions(predicted, truth.shape)
    base = None if baseline is None else _shaped("baseline", baseline, truth.shape)
    wide = None if low is None or high is None else _shaped("low, high", (low, high), (2, width))
    found = {}
    for name, (start, end) in {"": (0, width), **(slices or {})}.items():
        if not 0 <= start < end <= width:
            raise UsageError(f"slice {name!r} from {start} to {end}: expected 0 to {width}")
        at = slice(start, end)
        held = None if base is None else _errors(truth[:, at], base[..., at])
        mae, mse = _errors(truth[:, at], made[:, at])
        if not valid.all():
            penalty = _range(wide, at) if reading == "reference" else _least(held, ~valid)
            mae[~valid], mse[~valid] = _needed(penalty, reading)
        base_mae, base_mse = held or (None, None)
        found[name] = Rows(mae, mse, base_mae, base_mse, valid)
    return found


def _range(wide: Numbers | None, at: slice) -> tuple[float, float] | None:
    return None if wide is None else _apart(*wide[:, at].tolist())


def _least(held: tuple[Numbers, Numbers] | None, invalid: Mask) -> tuple[Numbers, Numbers] | None:
    return (held[0][invalid], held[1][invalid]) if held else None


def _errors(one: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
    """Return the mean of |x - y| and of (x - y)^2 over the dimensions of each row."""
    width = one.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = one - other
        mse = np.einsum("nd,nd->n", apart, apart) / width
        mae = np.einsum("nd->n", np.abs(apart, out=apart)) / width
    return np.minimum(mae, LARGEST), np.minimum(mse, LARGEST)


def _truths(truth: Any) -> Numbers:
    truth = np.asarray(truth)
    if truth.ndim != 2 or not truth.shape[1] or truth.dtype.kind not in "fiub":
        raise UsageError(f"truths {truth.shape} of {truth.dtype}: expected numbers (N, D)")
    made = np.asarray(truth, dtype=np.float64)
    if not np.isfinite(made).all():
        wrong = ~np.isfinite(made).all(axis=1)
        n, first = np.count_nonzero(wrong), wrong.argmax()
        raise UsageError(f"{n} truths are not finite, first in row {first}; mend the data")
    return made


def _shaped(name: str, values: Any, shape: tuple[int, ...]) -> Numbers:
    """Return finite numbers of that shape, or of its last dimension alone."""
    made = np.asarray(values, dtype=np.float64)
    if made.shape not in (shape, shape[-1:]) or not np.isfinite(made).all():
        raise UsageError(f"{name} {made.shape}: expected finite numbers {shape[-1:]} or {shape}")
    return made


def _predictions(predicted: Any, shape: tuple[int, ...]) -> tuple[Numbers, Mask]:
    """Return predictions in the shape of the truths, and which are valid; others hold anything."""
    if len(predicted) != shape[0]:
        raise UsageError(f"{shape[0]} truths and {len(predicted)} predictions")
    if not isinstance(predicted, np.ndarray) or predicted.dtype.kind == "O":
        found = [vector(values, shape[1]) for values in predicted]
        blank = (0.0,) * shape[1]
        made = np.array([blank if row is None else row for row in found]).reshape(shape)
        return made, np.array([row is not None for row in found], dtype=bool)
    if predicted.shape != shape or predicted.dtype.kind not in "fiub":
        return np.zeros(shape), np.zeros(shape[0], dtype=bool)
    made = predicted.astype(np.float64, copy=False)
    finite = np.isfinite(made)
    return made, np.ones(shape[0], dtype=bool) if finite.all() else finite.all(axis=1)


# --- all rows ---------------------------------------------------------------------------


class Errors:
    """Errors of rows that come in chunks; one number per row is kept, and the baseline's.

    `width` is the number of dimensions, where it is known.
    """

    def __init__(self, reading: Reading = "paper", width: int | None = None) -> None:
        check(reading)
        self.reading = reading
        self.width = width
        self.invalid = 0
        self.exact = 0
        self._mae, self._mse = Moments(), Moments()
        self._base_mae, self._base_mse = Moments(), Moments()
        self._ratios = Moments(), Moments()
        self._endless = [0, 0]
        self._rows, self._base = Shelf(), Shelf()

    def feed(self, more: Rows) -> None:
        """Take more rows. Raises UsageError where some come with a baseline, others without."""
        self.invalid += len(more.valid) - int(np.count_nonzero(more.valid))
        self.exact += int(np.count_nonzero((more.mae == 0) & more.valid))
        self._mae.feed(more.mae)
        self._mse.feed(more.mse)
        self._rows.feed(more.mae)
        if more.base_mae is not None and more.base_mse is not None:
            self._base_mae.feed(more.base_mae)
            self._base_mse.feed(more.base_mse)
            self._base.feed(more.base_mae)
            if self.reading == "reference":
                self._ratio(0, more.mae, more.base_mae, more.valid)
                self._ratio(1, more.mse, more.base_mse, more.valid)
        if len(self._base) not in (0, len(self._rows)):
            raise UsageError("some rows come with a baseline's errors, others without")

    def _ratio(self, at: int, errors: Numbers, base: Numbers, valid: Mask) -> None:
        """Take ratios by row as the reference has them: infinite of invalid rows."""
        easy = base < _EASY
        with np.errstate(all="ignore"):
            ratios = np.where(easy, np.where(errors < _EASY, 1.0, inf), errors / base)
        finite = np.isfinite(ratios) & valid
        self._endless[at] += len(ratios) - int(np.count_nonzero(finite))
        self._ratios[at].feed(ratios[finite])

    def found(self) -> dict[str, float]:
        """Return the measures; what is 0/0, or needs a baseline that there is not, is nan."""
        n, paired = self._mae.n, len(self._base) > 0
        base = self._base.read() if paired else None
        spread = outliers(self._rows.read(), self.reading, base)
        kept_mean = spread.total / spread.kept if spread.kept else nan
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
            "normalised_quantile_filtered_mae": spread.normalised,
            "max_rel_mae": spread.max_relative,
            "prop_beyond_3x_median": spread.beyond,
            "n_kept": spread.kept,
            "baseline_mae": self._base_mae.mean,
            "baseline_mse": self._base_mse.mean,
            "approx_rel_mae": ratio(self._mae.total, self._base_mae.total if paired else nan),
            "approx_rel_mse": ratio(self._mse.total, self._base_mse.total if paired else nan),
            "quantile_filtered_rel_mae_pairwise": ratio(spread.total, spread.base),
            "quantile_filtered_rel_mae_full_baseline": ratio(kept_mean, self._base_mae.mean),
        }
        return {**found, **self._named(found)} if self.reading == "reference" else found

    def _named(self, found: Mapping[str, float]) -> dict[str, float]:
        """Return the measures under the reference's names; of one row it tells no spread."""
        few = (*_NAMES,)[5:10] if found["n"] == 1 else ()
        named = {name: nan if name in few else found[own] for name, own in _NAMES.items()}
        for what, moments, endless in zip(("ae", "se"), self._ratios, self._endless, strict=True):
            named[f"avg_baseline_relative_m{what}"] = inf if endless else moments.mean
            named[f"normalized_baseline_relative_m{what}"] = moments.normalised
        named["action_success_rate"] = 100 * found["exact"]
        named["invalid_percentage"] = 100 * found["invalid_rate"]
        return named


class Stream:
    """`errors` in chunks: `feed` truths and predictions, then ask for what was `found`."""

    def __init__(
        self,
        *,
        baseline: Any = None,
        low: Any = None,
        high: Any = None,
        reading: Reading = "paper",
        slices: Slices | None = None,
    ) -> None:
        check(reading)
        self._held: dict[str, Any] = {
            "low": low, "high": high, "reading": reading, "slices": slices
        }  # fmt: skip
        self._baseline = baseline
        self._parts = {name: Errors(reading) for name in ("", *(slices or {}))}
        self._slices = dict(slices or {})

    def feed(self, truth: Any, predicted: Any, baseline: Any = None) -> None:
        """Take more rows (N, D); `baseline` (N, D) is of these rows where it is no constant."""
        given = self._baseline if baseline is None else baseline
        for name, more in rows(truth, predicted, baseline=given, **self._held).items():
            start, end = self._slices.get(name, (0, np.shape(truth)[1]))
            self._parts[name].width = end - start
            self._parts[name].feed(more)

    def found(self) -> dict[str, Any]:
        """Return the measures, and those of each slice under "slices"."""
        whole, *parts = (part.found() for part in self._parts.values())
        slices = dict(zip(self._slices, parts, strict=True))
        return {**whole, "slices": slices} if slices else whole


def errors(
    truth: Any,
    predicted: Any,
    *,
    baseline: Any = None,
    low: Any = None,
    high: Any = None,
    reading: Reading = "paper",
    slices: Slices | None = None,
) -> dict[str, Any]:
    """Score predictions against truths (N, D), in the units of the actions.

    `baseline` is what is always guessed (D,), the training set's mean, or a guess per row (N, D);
    `low` and `high` (D,) are the actions' range; `slices` are parts of the vector by name, first
    and one past the last, told under "slices". See `rows` for predictions and errors. The names
    are those of `Errors.found`; in `reference` its own stand there too.
    """
    whole = Stream(baseline=baseline, low=low, high=high, reading=reading, slices=slices)
    whole.feed(truth, predicted)
    return whole.found()
