"""Classification: exact match, micro and macro measures, per class, per player (MultiNet v1.0).

Everything is computed from a tally: a table of counts, truths by predictions. The tallies of chunks
add up to that of the whole, so streaming is addition: `table += labels.tally(truth, predicted, n)`.
`measures`, `rates`, `classes`, `confusion` and `clipped` read it; `classify` is both in one. Of
probabilities `brier` tells as much.

A prediction is a whole number, in range or not, or no value at all: None in a sequence, nan in an
array of floats, `NONE` in one of whole numbers. All but numbers in range are invalid: a wrong
answer that is no class. Two readings:

* `paper` (eq. 1 to 3): truths must lie in range; True is no number.
* `reference`: a truth out of range counts as a miss of no class (and as exact where the very same
  number was said); True is 1 and False 0.

Micro and macro measures are the same in both: 0/0 is 0 there, and macro is the mean over all
declared classes (1/C), those that never occur too.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError
from toolmark.score.brier import brier as brier
from toolmark.score.spread import Numbers, Reading, check

Whole: TypeAlias = NDArray[np.int64]
NONE = int(np.iinfo(np.int64).min)
"""No value, in an array of whole numbers."""
_FAR = 2**62  # whole numbers beyond are held as this: out of range all the same
_MORE = 5  # columns beside the classes: below, above, none; below and above, and as the truth


# --- one row ----------------------------------------------------------------------------


def said(value: Any, reading: Reading = "paper") -> int | None:
    """Return the whole number that a prediction is, in range or not; None where it is none.

    Text and floats, 1.0 too, are none; nor is a bool but in the reading `reference`.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return int(value) if reading == "reference" else None
    return int(value) if isinstance(value, (int, np.integer)) else None


# --- arrays -----------------------------------------------------------------------------


def whole(values: Any, reading: Reading = "paper") -> Whole:
    """Return predictions as whole numbers, `NONE` where there is no value.

    A numpy array is a column of numbers: of floats a whole one counts, nan and fractions are no
    value. Any other sequence is gone through value by value, by the rule of `said`.
    """
    if not isinstance(values, np.ndarray):
        found = (said(value, reading) for value in values)
        return np.array(
            [NONE if x is None else max(-_FAR, min(x, _FAR)) for x in found], dtype=np.int64
        )
    values = np.atleast_1d(values)
    match values.dtype.kind:
        case "i":
            return np.asarray(values, dtype=np.int64)
        case "u":
            held = np.minimum(values.astype(np.uint64), np.uint64(_FAR))
            return np.asarray(held, dtype=np.int64)
        case "b" if reading == "reference":
            return np.asarray(values, dtype=np.int64)
        case "f":
            with np.errstate(invalid="ignore"):
                there = np.isfinite(values) & (values == np.floor(values))
                return np.where(
                    there, np.clip(np.where(there, values, 0), -_FAR, _FAR).astype(np.int64), NONE
                )
        case "O":
            return whole(values.tolist(), reading)
        case _:
            return np.full(len(values), NONE, dtype=np.int64)


def tally(
    truth: Any, predicted: Any, n_classes: int, *, reading: Reading = "paper"
) -> NDArray[np.int64]:
    """Count rows by truth and prediction; the tallies of chunks add up.

    Returns (C + 1, C + 5): a row per class and one of truths out of range; a column per class, then
    numbers below, above, no value, and numbers below and above that are the truth itself. Raises
    UsageError for sides of different length, and for truths out of range but in `reference`.
    """
    check(reading)
    if n_classes < 1:
        raise UsageError(f"n_classes={n_classes}: expected 1 or more")
    truth, predicted = whole(truth, "reference"), whole(predicted, reading)
    if truth.shape != predicted.shape or truth.ndim != 1:
        raise UsageError(f"{truth.shape} truths and {predicted.shape} predictions: expected (N,)")
    shape = n_classes + 1, n_classes + _MORE
    if not len(truth):
        return np.zeros(shape, dtype=np.int64)
    n = n_classes
    # columns here: below, the classes, above, no value, below and above as the truth
    code = np.clip(predicted, -1, n)
    code += 1
    if predicted.min() == NONE:
        code[predicted == NONE] = n + 2
    if truth.min() < 0 or truth.max() >= n:
        outside = (truth < 0) | (truth >= n)
        _refuse(truth, outside, n, reading)
        same = outside & (truth == predicted)
        code[same] = np.where(predicted[same] < 0, n + 3, n + 4)
        truth = np.where(outside, n, truth)
    code += truth * shape[1]
    found = np.bincount(code, minlength=shape[0] * shape[1]).reshape(shape)
    return found[:, [*range(1, n + 1), 0, *range(n + 1, n + _MORE)]]


def _refuse(truth: Whole, outside: NDArray[np.bool_], n: int, reading: Reading) -> None:
    if reading == "reference" and not (truth == NONE).any():
        return
    row = int(outside.argmax())
    told = "none" if truth[row] == NONE else truth[row]
    raise UsageError(
        f"{np.count_nonzero(outside)} of {len(truth)} truths are not in 0..{n - 1}, first in row "
        f"{row}: {told}; mend the data, or take the reading 'reference' for numbers out of range"
    )


def clipped(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the tally with numbers out of range clipped to the first and last class.

    What has no value stays invalid: it cannot be clipped.
    """
    n = len(table) - 1
    made = table.copy()
    made[:, 0] += table[:, n] + table[:, n + 3]
    made[:, n - 1] += table[:, n + 1] + table[:, n + 4]
    made[:, [n, n + 1, n + 3, n + 4]] = 0
    return made


def confusion(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts (C, C + 1), a row per truth, a column per prediction; the last is invalid."""
    n = len(table) - 1
    return np.column_stack((table[:n, :n], table[:n, n:].sum(axis=1)))


class Classes(NamedTuple):
    """What each class got, arrays (C,): nan is 0/0, which a reader is shown as a dash.

    `support` counts rows whose truth it is, `predicted` those where it was said.
    """

    support: Whole
    predicted: Whole
    right: Whole
    precision: Numbers
    recall: Numbers
    f1: Numbers


def classes(table: NDArray[np.int64]) -> Classes:
    """Return precision, recall and F1 of each class; invalid predictions are in the recall alone.

    F1 is 0/0 where a class is neither there nor said.
    """
    n = len(table) - 1
    right = table[:n, :n].diagonal()
    support, predicted = table[:n].sum(axis=1), table[:, :n].sum(axis=0)
    with np.errstate(invalid="ignore"):
        return Classes(
            support, predicted, right,
            right / predicted, right / support, 2 * right / (support + predicted),
        )  # fmt: skip


def measures(table: NDArray[np.int64]) -> dict[str, Any]:
    """Return what the reference's functions tell, under their names.

    Counts: `tp`, `fp`, `fn`, and of `fp` those that are valid and invalid. `exact_match` (eq. 1)
    counts invalid predictions as wrong; where all truths are in range it is micro precision, recall
    and F1. Of no rows shares are nan. Classes are named "0", "1", ...: 0/0 is 0 there (`classes`
    tells such ones apart), as it is in the macro means, over all classes (eq. 3).
    `micro_f1_without_invalid` joins the precision over valid rows with the recall over all, as the
    reference has it.
    """
    n, rows = len(table) - 1, int(table.sum())
    right = int(table[:n, :n].trace())
    valid_fp = int(table[:, :n].sum()) - right
    invalid_fp, fn = rows - right - valid_fp, int(table[:n].sum()) - right
    recall, found = _share(right, right + fn, rows), classes(table)
    precision = _share(right, rows, rows)
    without = _share(right, right + valid_fp, rows)
    per = {
        name: np.nan_to_num(values)
        for name, values in zip(("precision", "recall", "f1"), found[3:], strict=True)
    }
    return {
        "exact_match": _share(right + int(table[n, n + 3 :].sum()), rows, rows),
        "tp": right, "fp": valid_fp + invalid_fp, "fn": fn,
        "valid_fp": valid_fp, "invalid_fp": invalid_fp,
        "micro_precision": precision, "micro_recall": recall, "micro_f1": _f1(precision, recall),
        "micro_precision_without_invalid": without,
        "micro_f1_without_invalid": _f1(without, recall),
        **{f"class_{name}s": _named(values) for name, values in per.items()},
        **{f"macro_{name}": float(values.mean()) if rows else nan for name, values in per.items()},
    }  # fmt: skip


def rates(table: NDArray[np.int64]) -> dict[str, float]:
    """Return both exact-match rates, and how many predictions are valid; shares, nan of nothing.

    `emr` is over all rows, an invalid one counting as wrong (eq. 1); `emr_valid` over valid ones,
    what the paper's text has for vision and language (it is also the precision without invalids).
    `clippable` are numbers out of range.
    """
    n, rows = len(table) - 1, int(table.sum())
    valid = int(table[:, :n].sum())
    right = int(table[:n, :n].trace())
    return {
        "n": rows,
        "valid": valid,
        "invalid": rows - valid,
        "invalid_rate": _share(rows - valid, rows, rows),
        "emr": _share(right + int(table[n, n + 3 :].sum()), rows, rows),
        "emr_valid": right / valid if valid else nan,
        "clippable": int(table[:, n : n + 2].sum() + table[:, n + 3 :].sum()),
    }


def classify(
    truth: Any, predicted: Any, n_classes: int, *, reading: Reading = "paper"
) -> dict[str, Any]:
    """Score predictions (N,) against truths (N,) of classes 0 to C - 1: `measures` of the tally.

    Raises UsageError for sides of different length, and for truths out of range but in `reference`.
    """
    return measures(tally(truth, predicted, n_classes, reading=reading))


def players(joint: Any, n_actions: int = 6, reading: Reading = "paper") -> tuple[Whole, Whole]:
    """Split joint actions (N,) into the two players' (N,); what is out of range is `NONE`.

    A joint action is `n_actions` times the first player's plus the second's.
    """
    joint = whole(joint, reading)
    inside = (joint >= 0) & (joint < n_actions * n_actions)
    first, second = np.divmod(np.where(inside, joint, 0), n_actions)
    return np.where(inside, first, NONE), np.where(inside, second, NONE)


def _share(part: int, of: int, rows: int) -> float:
    """Return a share by the reference's rule that 0/0 is 0; nan where there are no rows."""
    return nan if not rows else part / of if of else 0.0


def _f1(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _named(values: Iterable[Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in enumerate(values)}
