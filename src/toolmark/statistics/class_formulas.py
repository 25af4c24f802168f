"""The formula of a metric over classes: macro F1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.core.records import Estimate, Record
from toolmark.statistics.score_columns import (
    Columns,
    Numbers,
    describe_partial,
    ordered_levels,
)

MOST_CLASSES = 1_000_000


class MacroF1(Record, frozen=True, kw_only=True, tag="macro_f1"):
    """The mean F1 of all classes, including those that never occur; no interval.

    Parts of each row: `truth` is the index of the correct class, `predicted` that of the answer
    (`raw` is used where `predicted` is negative), and `classes` the number of classes
    (`default_n_classes` where no row has it). With `by_category` the classes differ by category,
    and the number is the unweighted mean over categories. `categories_label` is the displayed name
    for categories; with it the number is `partial` where a category has no row that ran.
    """

    default_n_classes: int
    by_category: bool = False
    categories_label: str = ""

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; `n` counts the rows that ran."""
        ran = columns.where(columns.run)
        if not len(ran):
            return Estimate(name="")
        names = ordered_levels(ran.category) if self.by_category else []
        sets = [ran.where(ran.category == name) for name in names] or [ran]
        partial = describe_partial(columns, self.categories_label) if self.categories_label else ""
        value = float(np.mean([self._mean_f1(each) for each in sets]))
        return Estimate(name="", value=value, n=len(ran), partial=partial)

    def _mean_f1(self, columns: Columns) -> float:
        """Return the mean over classes of 2 * correct / (support + answered), 0 for 0 / 0.

        Raises UsageError for a row whose truth is not one of the classes.
        """
        numbers = columns.part("classes")
        found = self.default_n_classes if np.isnan(numbers).all() else float(np.nanmax(numbers))
        n = int(min(max(found, 1), MOST_CLASSES))
        answers = columns.part("predicted")
        answers = np.where(answers < 0, columns.part("raw"), answers)
        truth, predicted = _truth_indices(columns.part("truth"), n), _class_indices(answers, n)
        support, answered = (
            np.bincount(each[each >= 0], minlength=n) for each in (truth, predicted)
        )
        correct = np.bincount(truth[truth == predicted], minlength=n)
        return float(np.mean(2 * correct / np.maximum(support + answered, 1)))


def _truth_indices(values: Numbers, n: int) -> NDArray[np.int64]:
    """Return the indices of the correct classes. Raises UsageError for one outside 0..n-1."""
    found = _class_indices(values, n)
    outside = found < 0
    if outside.any():
        row = int(outside.argmax())
        shown_value = "none" if np.isnan(values[row]) else f"{values[row]:g}"
        raise UsageError(
            f"{np.count_nonzero(outside)} of {len(found)} truths are not in 0..{n - 1}, first in "
            f"row {row}: {shown_value}"
        )
    return found


def _class_indices(values: Numbers, n: int) -> NDArray[np.int64]:
    """Return the values as class indices, -1 for a value that is not one of 0..n-1."""
    with np.errstate(invalid="ignore"):
        known = (values == np.floor(values)) & (values >= 0) & (values < n)
    return np.where(known, np.where(known, values, 0), -1).astype(np.int64)
