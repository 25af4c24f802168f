"""Scores as columns, from which every metric, table and chart is computed."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from toolmark.core.records import VARIATION_AXIS, Score

Names = NDArray[np.object_]
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]
"""The axis of a varied task: the kind of variation. Tasks as a suite asks them do not have it."""
_TEXT_COLUMNS = ("task", "item", "category", "cause", "suite_cause")


@dataclass(frozen=True, slots=True)
class Columns:
    """One row per (task, repeat), all arrays of one length.

    `run` is False where the episode was not run; there `value` and every part are nan and
    `correct` is False. `cause` and `suite_cause` come from the primary label, "" without one.
    `traits` are the named words of the verdicts.
    `weight` says how much each row counts, None for rows that all count once.
    """

    task: Names
    item: Names
    category: Names
    repeat: NDArray[np.int64]
    run: Mask
    correct: Mask
    value: Numbers
    cause: Names
    suite_cause: Names
    axes: dict[str, Names]
    parts: dict[str, Numbers]
    traits: dict[str, Names] = field(default_factory=dict)
    weight: Numbers | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.value)

    def where(self, mask: Mask | NDArray[np.int64]) -> Columns:
        """Return the rows where the mask is True, or the rows with these indices in their order."""
        return Columns(
            self.task[mask],
            self.item[mask],
            self.category[mask],
            self.repeat[mask],
            self.run[mask],
            self.correct[mask],
            self.value[mask],
            self.cause[mask],
            self.suite_cause[mask],
            {name: column[mask] for name, column in self.axes.items()},
            {name: column[mask] for name, column in self.parts.items()},
            {name: column[mask] for name, column in self.traits.items()},
            None if self.weight is None else self.weight[mask],
        )

    def where_task(self, tasks: Iterable[str]) -> Columns:
        """Return the rows of these tasks."""
        wanted = set(tasks)  # numpy compares each row with each name where names are objects
        return self.where(np.fromiter((task in wanted for task in self.task), bool, len(self)))

    @property
    def mass(self) -> Numbers:
        """How much each row counts."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def cluster(self) -> Names:
        """The units that intervals and tests count: the axis `group` where it is set, else items.

        Steps of one game and questions about one room are correlated, as repeats of an item are.
        """
        group = self.axis("group")
        return np.where(group != "", group, self.item)

    def part(self, name: str) -> Numbers:
        """Return the column of a part; all nan where no score has it."""
        return self.parts.get(name, np.full(len(self), np.nan))

    def axis(self, name: str) -> Names:
        """Return the column of an axis; all "" where no score has it."""
        return self.axes.get(name, np.full(len(self), "", dtype=object))

    def trait_column(self, name: str) -> Names:
        """Return the column of a trait; all "" where no verdict has it."""
        return self.traits.get(name, np.full(len(self), "", dtype=object))


class ColumnsBuilder:
    """Collects scores under one grading rule, one at a time; `build` returns them as columns.

    Scores that were run but have no verdict of that rule are left out. So are those of varied
    tasks, unless a kind of `variation` is named: then only they are added. Equal strings are stored
    once.
    """

    def __init__(self, rule: str, variation: str = "") -> None:
        self._rule = rule
        self._variation = variation
        self._strings: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXT_COLUMNS}
        self._repeats = array("q")
        self._correct: list[bool] = []
        self._values = array("d")
        self._axes: dict[str, list[str]] = {}
        self._traits: dict[str, list[str]] = {}
        self._parts: dict[str, array[float]] = {}

    def add(self, score: Score) -> None:
        """Add a row."""
        if score.failure is None and self._rule not in score.verdicts:
            return
        if score.axes.get(VARIATION_AXIS, "") != self._variation:
            return
        row, intern = len(self._values), self._strings.setdefault
        verdict = score.verdicts.get(self._rule)
        label = next((x for x in verdict.labels if x.primary), None) if verdict else None
        cells = (score.task, score.item, score.category, label.cause if label else "",
                 label.suite_cause if label else "")  # fmt: skip
        for texts, cell in zip(self._texts.values(), cells, strict=True):
            texts.append(intern(cell, cell))
        self._repeats.append(score.repeat)
        self._correct.append(verdict is not None and verdict.outcome == "correct")
        self._values.append(verdict.value if verdict else math.nan)
        self._add_words(self._axes, score.axes, row)
        self._add_words(self._traits, verdict.traits if verdict else {}, row)
        for name, number in verdict.parts.items() if verdict else ():
            numbers = self._parts.setdefault(name, array("d"))
            numbers.extend([math.nan] * (row - len(numbers)))
            numbers.append(number)

    def _add_words(self, columns: dict[str, list[str]], words: Mapping[str, str], row: int) -> None:
        for name, word in words.items():
            column = columns.setdefault(name, [])
            column.extend([""] * (row - len(column)))
            column.append(self._strings.setdefault(word, word))

    def build_columns(self) -> Columns:
        """Return the rows added so far."""
        n, value = len(self._values), np.array(self._values, dtype=float)
        return Columns(
            **{name: np.array(texts, dtype=object) for name, texts in self._texts.items()},
            repeat=np.array(self._repeats, dtype=np.int64),
            run=~np.isnan(value),
            correct=np.array(self._correct, dtype=bool),
            value=value,
            axes=_word_columns(self._axes, n),
            traits=_word_columns(self._traits, n),
            parts={
                name: np.pad(np.array(numbers), (0, n - len(numbers)), constant_values=np.nan)
                for name, numbers in self._parts.items()
            },
        )


def _word_columns(words_by_name: Mapping[str, list[str]], n: int) -> dict[str, Names]:
    return {
        name: np.array(words + [""] * (n - len(words)), dtype=object)
        for name, words in words_by_name.items()
    }


def gather_columns(scores: Iterable[Score], rule: str, variation: str = "") -> Columns:
    """Return the columns of the scores under one grading rule (`ColumnsBuilder`)."""
    builder = ColumnsBuilder(rule, variation)
    for score in scores:
        builder.add(score)
    return builder.build_columns()


def without_variations(scores: Iterable[Score]) -> Iterator[Score]:
    """Yield the scores of tasks as the suite asks them."""
    return (score for score in scores if VARIATION_AXIS not in score.axes)


def with_values(columns: Columns, values: Numbers) -> Columns:
    """Return the rows with other values; a row whose value is nan counts as not run."""
    return replace(columns, value=values, run=~np.isnan(values), correct=values == 1)


def part_as_value(columns: Columns, part: str) -> Columns:
    """Return the rows with a part as their value; a row without it counts as not run."""
    return with_values(columns, columns.part(part))


def ordered_levels(column: Iterable[str], known: Sequence[str] = ()) -> list[str]:
    """Return the levels present: known ones in their order, then others by name; never ""."""
    found = {str(level) for level in column} - {""}
    return [*(level for level in known if level in found), *sorted(found - set(known))]


def split_rows(columns: Columns, levels: Names, known: Sequence[str] = ()) -> dict[str, Columns]:
    """Return the rows of each level, in the order of `ordered_levels`; `levels` has one per row."""
    return {name: columns.where(levels == name) for name in ordered_levels(levels, known)}


def runs_with_answers(runs: Mapping[str, Columns]) -> dict[str, Columns]:
    """Return the runs of which any row ran."""
    return {name: columns for name, columns in runs.items() if columns.run.any()}


def merge_equal_rules(by_rule: Mapping[str, Columns]) -> dict[str, Columns]:
    """Return the columns by grading rule; rules of equal values are joined: "official and fair"."""
    found: list[tuple[list[str], Columns]] = []
    for name, columns in by_rule.items():
        for names, other in found:
            if have_equal_values(other, columns):
                names.append(name)
                break
        else:
            found.append(([name], columns))
    return {" and ".join(names): columns for names, columns in found}


def have_equal_values(a: Columns, b: Columns) -> bool:
    """Tell whether two grading rules give the same tasks the same values."""
    return np.array_equal(a.task, b.task) and np.array_equal(a.value, b.value, equal_nan=True)


def describe_partial(columns: Columns, word: str) -> str:
    """Return how many categories ran, "4 of 5 categories run"; "" where all or none ran."""
    names, ran = (
        len({str(name) for name in each} - {""})
        for each in (columns.category, columns.category[columns.run])
    )
    return f"{ran} of {names} {word} run" if 0 < ran < names else ""
