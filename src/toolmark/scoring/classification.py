"""Classification: exact match, micro and macro measures, per class, per player (MultiNet v1.0).

All measures are computed from a tally, a table of counts by truth and prediction. Tallies of chunks
are added: `table += tally_predictions(truth, predicted, n)`. From a tally,
`classification_measures`, `exact_match_rates`, `class_measures`, `confusion_matrix` and
`clip_tally` compute their results. `measure_labels` tallies and measures in one call. For
probabilities see `brier_errors.measure_probabilities`.

A prediction is a whole number, in range or not, or no value: None in a sequence, nan in an array of
floats, `NO_VALUE` in an array of whole numbers. All predictions except numbers in range are
invalid: they are wrong and belong to no class. The grading rules are:

* `paper` (eq. 1 to 3): truths must be in range; True is not a number.
* `reference`: a truth out of range counts as a miss of no class (and as exact where the prediction
  is the same number); True is 1 and False is 0.

Micro and macro measures are the same under both: 0/0 is 0, and macro is the mean over all declared
classes (1/C), including those that never occur.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.scoring.brier_errors import measure_probabilities as measure_probabilities
from toolmark.scoring.error_statistics import GradingRule, Numbers, check_rule

WholeNumbers: TypeAlias = NDArray[np.int64]
NO_VALUE = int(np.iinfo(np.int64).min)
"""Marks a missing value in an array of whole numbers."""
_LARGEST_NUMBER = 2**62  # larger numbers are clipped to it, which is also out of range
_N_EXTRA_COLUMNS = (
    5  # columns after the classes: below, above, none; below and above, equal to the truth
)


# --- one row ----------------------------------------------------------------------------


def parse_prediction(value: Any, rule: GradingRule = "paper") -> int | None:
    """Return a prediction as a whole number, in range or not, or None where it is not one.

    Text and floats, including 1.0, are not whole numbers. A bool is one only under `reference`.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return int(value) if rule == "reference" else None
    return int(value) if isinstance(value, (int, np.integer)) else None


# --- arrays -----------------------------------------------------------------------------


def parse_predictions(values: Any, rule: GradingRule = "paper") -> WholeNumbers:
    """Return predictions as whole numbers, `NO_VALUE` where there is none.

    In a numpy array of floats a whole number counts, while nan and fractions are not values. Any
    other sequence is parsed value by value with `parse_prediction`.
    """
    if not isinstance(values, np.ndarray):
        found = (parse_prediction(value, rule) for value in values)
        return np.array(
            [
                NO_VALUE if x is None else max(-_LARGEST_NUMBER, min(x, _LARGEST_NUMBER))
                for x in found
            ],
            dtype=np.int64,
        )
    values = np.atleast_1d(values)
    match values.dtype.kind:
        case "i":
            return np.asarray(values, dtype=np.int64)
        case "u":
            bounded = np.minimum(values.astype(np.uint64), np.uint64(_LARGEST_NUMBER))
            return np.asarray(bounded, dtype=np.int64)
        case "b" if rule == "reference":
            return np.asarray(values, dtype=np.int64)
        case "f":
            with np.errstate(invalid="ignore"):
                is_whole = np.isfinite(values) & (values == np.floor(values))
                return np.where(
                    is_whole,
                    np.clip(
                        np.where(is_whole, values, 0), -_LARGEST_NUMBER, _LARGEST_NUMBER
                    ).astype(np.int64),
                    NO_VALUE,
                )
        case "O":
            return parse_predictions(values.tolist(), rule)
        case _:
            return np.full(len(values), NO_VALUE, dtype=np.int64)


def tally_predictions(
    truth: Any, predicted: Any, n_classes: int, *, rule: GradingRule = "paper"
) -> NDArray[np.int64]:
    """Count rows by truth and prediction; tallies of chunks can be added.

    Returns (C + 1, C + 5). The rows are the classes, then truths out of range. The columns are the
    classes, then numbers below the range, numbers above it, no value, and numbers below and above
    that equal the truth. Raises UsageError for sides of different length, and for truths out of
    range except under `reference`.
    """
    check_rule(rule)
    if n_classes < 1:
        raise UsageError(f"n_classes={n_classes}: expected 1 or more")
    truth, predicted = parse_predictions(truth, "reference"), parse_predictions(predicted, rule)
    if truth.shape != predicted.shape or truth.ndim != 1:
        raise UsageError(f"{truth.shape} truths and {predicted.shape} predictions: expected (N,)")
    shape = n_classes + 1, n_classes + _N_EXTRA_COLUMNS
    if not len(truth):
        return np.zeros(shape, dtype=np.int64)
    n = n_classes
    # columns here: below, the classes, above, no value, below and above as the truth
    code = np.clip(predicted, -1, n)
    code += 1
    if predicted.min() == NO_VALUE:
        code[predicted == NO_VALUE] = n + 2
    if truth.min() < 0 or truth.max() >= n:
        outside = (truth < 0) | (truth >= n)
        _check_truth_range(truth, outside, n, rule)
        same = outside & (truth == predicted)
        code[same] = np.where(predicted[same] < 0, n + 3, n + 4)
        truth = np.where(outside, n, truth)
    code += truth * shape[1]
    found = np.bincount(code, minlength=shape[0] * shape[1]).reshape(shape)
    return found[:, [*range(1, n + 1), 0, *range(n + 1, n + _N_EXTRA_COLUMNS)]]


def _check_truth_range(
    truth: WholeNumbers, outside: NDArray[np.bool_], n: int, rule: GradingRule
) -> None:
    if rule == "reference" and not (truth == NO_VALUE).any():
        return
    row = int(outside.argmax())
    shown_value = "none" if truth[row] == NO_VALUE else truth[row]
    raise UsageError(
        f"{np.count_nonzero(outside)} of {len(truth)} truths are not in 0..{n - 1}, first in row "
        f"{row}: {shown_value}; correct the data, or take the rule 'reference' for numbers out of "
        "range"
    )


def clip_tally(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the tally with numbers out of range clipped to the first and last class.

    Predictions without a value stay invalid.
    """
    n = len(table) - 1
    copy = table.copy()
    copy[:, 0] += table[:, n] + table[:, n + 3]
    copy[:, n - 1] += table[:, n + 1] + table[:, n + 4]
    copy[:, [n, n + 1, n + 3, n + 4]] = 0
    return copy


def confusion_matrix(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts (C, C + 1), a row per truth, a column per prediction, invalid ones last."""
    n = len(table) - 1
    return np.column_stack((table[:n, :n], table[:n, n:].sum(axis=1)))


class ClassMeasures(NamedTuple):
    """Measures of each class, arrays (C,); 0/0 is nan, displayed as a dash.

    `support` counts the rows with this truth, `predicted` the rows with this prediction.
    """

    support: WholeNumbers
    predicted: WholeNumbers
    correct: WholeNumbers
    precision: Numbers
    recall: Numbers
    f1: Numbers


def class_measures(table: NDArray[np.int64]) -> ClassMeasures:
    """Return precision, recall and F1 of each class; invalid predictions lower only the recall.

    F1 is 0/0 = nan where a class is neither a truth nor a prediction.
    """
    n = len(table) - 1
    right = table[:n, :n].diagonal()
    support, predicted = table[:n].sum(axis=1), table[:, :n].sum(axis=0)
    with np.errstate(invalid="ignore"):
        return ClassMeasures(
            support, predicted, right,
            right / predicted, right / support, 2 * right / (support + predicted),
        )  # fmt: skip


def classification_measures(table: NDArray[np.int64]) -> dict[str, Any]:
    """Return the measures of the reference's functions, under their names.

    The counts are `tp`, `fp`, `fn`, `valid_fp` and `invalid_fp`. `exact_match` (eq. 1) counts
    invalid predictions as wrong; where all truths are in range it equals micro precision, recall
    and F1. Without rows all shares are nan. Classes are named "0", "1", ...; for them 0/0 is 0
    (`class_measures` returns nan instead), and so it is in the macro means over all classes (eq.
    3). `micro_f1_without_invalid` combines the precision over valid rows with the recall over all
    rows, as in the reference.
    """
    n, rows = len(table) - 1, int(table.sum())
    right = int(table[:n, :n].trace())
    valid_fp = int(table[:, :n].sum()) - right
    invalid_fp, fn = rows - right - valid_fp, int(table[:n].sum()) - right
    recall, found = _ratio(right, right + fn, rows), class_measures(table)
    precision = _ratio(right, rows, rows)
    without = _ratio(right, right + valid_fp, rows)
    per = {
        name: np.nan_to_num(values)
        for name, values in zip(("precision", "recall", "f1"), found[3:], strict=True)
    }
    return {
        "exact_match": _ratio(right + int(table[n, n + 3 :].sum()), rows, rows),
        "tp": right, "fp": valid_fp + invalid_fp, "fn": fn,
        "valid_fp": valid_fp, "invalid_fp": invalid_fp,
        "micro_precision": precision, "micro_recall": recall, "micro_f1": _f1(precision, recall),
        "micro_precision_without_invalid": without,
        "micro_f1_without_invalid": _f1(without, recall),
        **{f"class_{name}s": _by_class_name(values) for name, values in per.items()},
        **{f"macro_{name}": float(values.mean()) if rows else nan for name, values in per.items()},
    }  # fmt: skip


def exact_match_rates(table: NDArray[np.int64]) -> dict[str, float]:
    """Return both exact-match rates and the counts of valid and invalid predictions.

    `emr` is the rate over all rows, where an invalid one counts as wrong (eq. 1). `emr_valid` is
    the rate over valid rows, as in the paper's text for vision and language (it is also the
    precision without invalid predictions). `clippable` counts numbers out of range. A rate over no
    rows is nan.
    """
    n, rows = len(table) - 1, int(table.sum())
    valid = int(table[:, :n].sum())
    right = int(table[:n, :n].trace())
    return {
        "n": rows,
        "valid": valid,
        "invalid": rows - valid,
        "invalid_rate": _ratio(rows - valid, rows, rows),
        "emr": _ratio(right + int(table[n, n + 3 :].sum()), rows, rows),
        "emr_valid": right / valid if valid else nan,
        "clippable": int(table[:, n : n + 2].sum() + table[:, n + 3 :].sum()),
    }


def measure_labels(
    truth: Any, predicted: Any, n_classes: int, *, rule: GradingRule = "paper"
) -> dict[str, Any]:
    """Return `classification_measures` of predictions (N,) and truths (N,), classes 0 to C - 1.

    Raises UsageError for sides of different length, and for truths out of range except under
    `reference`.
    """
    return classification_measures(tally_predictions(truth, predicted, n_classes, rule=rule))


def split_joint_actions(
    joint: Any, n_actions: int = 6, rule: GradingRule = "paper"
) -> tuple[WholeNumbers, WholeNumbers]:
    """Split joint actions (N,) into the actions of two players (N,).

    A joint action is `n_actions` times the first player's action plus the second player's. An
    action out of range gives `NO_VALUE`.
    """
    joint = parse_predictions(joint, rule)
    inside = (joint >= 0) & (joint < n_actions * n_actions)
    first, second = np.divmod(np.where(inside, joint, 0), n_actions)
    return np.where(inside, first, NO_VALUE), np.where(inside, second, NO_VALUE)


def _ratio(part: int, of: int, rows: int) -> float:
    """Return a share; 0/0 is 0 as in the reference, and without rows it is nan."""
    return nan if not rows else part / of if of else 0.0


def _f1(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _by_class_name(values: Iterable[Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in enumerate(values)}
