"""The formulas of metrics over classes: macro F1 and macro recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.core.records import Estimate
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.linearisation import (
    Linearisation,
    combine_linearisations,
    linearise_nothing,
    sum_by_code,
)
from toolmark.statistics.score_columns import (
    Columns,
    Numbers,
    describe_partial,
    ordered_levels,
)

MOST_CLASSES = 1_000_000
_LEAST_MASS = 1e-300  # a class without rows divides by no zero


class MacroMeasure(LinearisedFormula, frozen=True, kw_only=True):
    """The mean of a measure over all classes, including those that never occur.

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

    def _measure_classes(self, counts: ClassCounts) -> tuple[Numbers, Numbers]:
        """Return the measure of each class, and each row's influence on the sum of them."""
        raise NotImplementedError

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the number; `n` counts the rows that ran."""
        ran, sets = np.flatnonzero(columns.run), self._class_sets(columns)
        if not sets:
            return linearise_nothing(len(columns), Estimate(name=""))
        parts = [
            self._linearise_set(columns.where(rows)).spread_to(rows, len(columns)) for rows in sets
        ]
        partial = describe_partial(columns, self.categories_label) if self.categories_label else ""
        value = float(np.mean([part.value for part in parts]))
        estimate = Estimate(name="", value=value, n=len(ran), partial=partial)
        return combine_linearisations([(1 / len(parts), part) for part in parts], estimate)

    def count_absent_classes(self, columns: Columns) -> tuple[int, int]:
        """Return how many classes have no row that ran, and how many classes there are.

        Raises UsageError for a truth that is not a class.
        """
        supports = self._class_supports(columns)
        return sum(int((each == 0).sum()) for each in supports), sum(map(len, supports))

    def highest_value(self, columns: Columns) -> float:
        """Return the number of an agent that answers every row that ran correctly; 0 without rows.

        It is below 1 where classes have no row.
        """
        shares = [float((each > 0).mean()) for each in self._class_supports(columns)]
        return float(np.mean(shares)) if shares else 0.0

    def _class_supports(self, columns: Columns) -> list[Numbers]:
        return [
            _count_classes(columns.where(rows), self.default_n_classes).support
            for rows in self._class_sets(columns)
        ]

    def _class_sets(self, columns: Columns) -> list[NDArray[np.int64]]:
        """Return the rows that ran of each set of classes."""
        ran = np.flatnonzero(columns.run)
        if not len(ran):
            return []
        category = columns.category[ran]
        names = ordered_levels(category) if self.by_category else []
        return [ran[category == name] for name in names] or [ran]

    def _linearise_set(self, columns: Columns) -> Linearisation:
        """Return the mean over classes. Raises UsageError for a truth that is not a class."""
        counts = _count_classes(columns, self.default_n_classes)
        measure, influence = self._measure_classes(counts)
        value = float(np.mean(measure))
        rows, mass = len(columns), columns.mass
        return Linearisation(
            estimate=Estimate(name="", value=value, n=rows),
            counted=np.ones(rows, dtype=bool),
            influence=mass * influence / len(measure),
            weight=mass / mass.sum(),
            centre=np.full(rows, value),
            n_trials=np.ones(rows),
            stratum=np.zeros(rows, dtype=np.int64),
        )


class MacroF1(MacroMeasure, frozen=True, kw_only=True, tag="macro_f1"):
    """The mean F1 of all classes (`MacroMeasure`)."""

    def _measure_classes(self, counts: ClassCounts) -> tuple[Numbers, Numbers]:
        """Return 2 * correct / (support + answered), 0 for 0 / 0.

        The F1 of a class is a ratio of sums over rows, and a row adds to the classes of its truth
        and of its answer.
        """
        size = counts.support + counts.answered
        f1 = np.divide(2 * counts.correct, size, out=np.zeros(len(size)), where=size > 0)
        truth, predicted = counts.truth, counts.predicted
        influence = (2 * (truth == predicted) - f1[truth]) / size[truth]
        is_class = predicted >= 0
        influence[is_class] -= (f1 / np.maximum(size, _LEAST_MASS))[predicted[is_class]]
        return f1, influence


class MacroRecall(MacroMeasure, frozen=True, kw_only=True, tag="macro_recall"):
    """The mean recall of all classes (`MacroMeasure`); a class that never occurs counts as 0."""

    def _measure_classes(self, counts: ClassCounts) -> tuple[Numbers, Numbers]:
        """Return correct / support, 0 for 0 / 0; a row adds to the class of its truth alone."""
        support, truth = counts.support, counts.truth
        recall = np.divide(counts.correct, support, out=np.zeros(len(support)), where=support > 0)
        return recall, ((truth == counts.predicted) - recall[truth]) / support[truth]


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Truths and answers of rows, -1 for an answer that is no class, and sums of mass by class."""

    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    support: Numbers
    answered: Numbers
    correct: Numbers


def _count_classes(columns: Columns, default_n_classes: int) -> ClassCounts:
    """Return the counts of each class. Raises UsageError for a truth that is not a class."""
    numbers = columns.part("classes")
    found = default_n_classes if np.isnan(numbers).all() else float(np.nanmax(numbers))
    n = int(min(max(found, 1), MOST_CLASSES))
    answers = columns.part("predicted")
    answers = np.where(answers < 0, columns.part("raw"), answers)
    truth, predicted = _truth_indices(columns.part("truth"), n), _class_indices(answers, n)
    mass, is_class, is_right = columns.mass, predicted >= 0, truth == predicted
    return ClassCounts(
        truth=truth,
        predicted=predicted,
        support=sum_by_code(truth, mass, n),
        answered=sum_by_code(predicted[is_class], mass[is_class], n),
        correct=sum_by_code(truth[is_right], mass[is_right], n),
    )


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
