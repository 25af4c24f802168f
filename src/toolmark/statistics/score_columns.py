"""Scores as columns, from which every metric, table and chart is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toolmark.core.records import Score

Names = NDArray[np.object_]
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]
X = TypeVar("X")


@dataclass(frozen=True, slots=True)
class Columns:
    """One row per (task, repeat), all arrays of one length.

    `run` is False where the episode was not run; there `value` and every part are nan and
    `correct` is False. `cause` and `native` come from the primary label, "" without one.
    """

    task: Names
    item: Names
    category: Names
    repeat: NDArray[np.int64]
    run: Mask
    correct: Mask
    value: Numbers
    cause: Names
    native: Names
    axes: dict[str, Names]
    parts: dict[str, Numbers]

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
            self.native[mask],
            {name: column[mask] for name, column in self.axes.items()},
            {name: column[mask] for name, column in self.parts.items()},
        )

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


def gather_columns(scores: Iterable[Score], rule: str) -> Columns:
    """Return the columns of the scores under one grading rule.

    Scores that were run but have no verdict of that rule are left out. Equal strings are stored
    once.
    """
    shared: dict[str, str] = {}
    intern = shared.setdefault
    text_columns: tuple[list[str], ...] = ([], [], [], [], [])
    tasks, items, categories, causes, natives = text_columns
    repeats: list[int] = []
    correct: list[bool] = []
    values: list[float] = []
    axes: dict[str, list[str]] = {}
    parts: dict[str, list[float]] = {}
    judged_scores = (
        score for score in scores if score.failure is not None or rule in score.readings
    )
    for row, score in enumerate(judged_scores):
        verdict = score.readings.get(rule)
        label = next((x for x in verdict.labels if x.primary), None) if verdict else None
        tasks.append(intern(score.task, score.task))
        items.append(intern(score.item, score.item))
        categories.append(intern(score.category, score.category))
        causes.append(label.cause if label else "")
        natives.append(intern(label.native, label.native) if label else "")
        repeats.append(score.repeat)
        correct.append(verdict is not None and verdict.outcome == "correct")
        values.append(verdict.value if verdict else np.nan)
        for name, level in score.axes.items():
            _set_cell(axes, name, row, intern(level, level), "")
        for name, number in verdict.parts.items() if verdict else ():
            _set_cell(parts, name, row, number, np.nan)
    n, value = len(values), np.array(values, dtype=float)
    task, item, category, cause, native = (
        np.array(column, dtype=object) for column in text_columns
    )
    return Columns(
        task=task, item=item, category=category,
        repeat=np.array(repeats, dtype=np.int64),
        run=~np.isnan(value), correct=np.array(correct, dtype=bool), value=value,
        cause=cause, native=native,
        axes={k: np.array(v + [""] * (n - len(v)), dtype=object) for k, v in axes.items()},
        parts={k: np.array(v + [np.nan] * (n - len(v)), dtype=float) for k, v in parts.items()},
    )  # fmt: skip


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


def _set_cell(table: dict[str, list[X]], name: str, row: int, value: X, missing: X) -> None:
    """Set one cell of a column that may have begun after the first row."""
    column = table.setdefault(name, [])
    column.extend([missing] * (row - len(column)))
    column.append(value)
