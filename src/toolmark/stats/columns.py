"""Scores as columns: what every metric, table and chart is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toolmark.types import Score

Names = NDArray[np.object_]
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]
X = TypeVar("X")


@dataclass(frozen=True, slots=True)
class Columns:
    """One row per (task, repeat), all arrays of one length.

    `run` is False where the episode was not run; there `value` and every part are nan and
    `correct` is False. `cause` and `native` are those of the primary label, "" without one.
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
        """Return the rows where the mask holds, or those of these numbers, in their order."""
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
        """What intervals and tests count: the axis `group` of rows that hang together, else items.

        Steps of one game and questions on one room are alike, as repeats of one item are.
        """
        group = self.axis("group")
        return np.where(group != "", group, self.item)

    def part(self, name: str) -> Numbers:
        """Return a part's column; all nan where no score has it."""
        return self.parts.get(name, np.full(len(self), np.nan))

    def axis(self, name: str) -> Names:
        """Return an axis's column; all "" where no score has it."""
        return self.axes.get(name, np.full(len(self), "", dtype=object))


def columns(scores: Iterable[Score], reading: str) -> Columns:
    """Gather one reading of the scores; those that were run but have no such reading are left out.

    Equal strings are kept once.
    """
    shared: dict[str, str] = {}
    keep = shared.setdefault
    words: tuple[list[str], ...] = ([], [], [], [], [])
    tasks, items, categories, causes, natives = words
    repeats: list[int] = []
    correct: list[bool] = []
    values: list[float] = []
    axes: dict[str, list[str]] = {}
    parts: dict[str, list[float]] = {}
    told = (score for score in scores if score.failure is not None or reading in score.readings)
    for row, score in enumerate(told):
        verdict = score.readings.get(reading)
        label = next((x for x in verdict.labels if x.primary), None) if verdict else None
        tasks.append(keep(score.task, score.task))
        items.append(keep(score.item, score.item))
        categories.append(keep(score.category, score.category))
        causes.append(label.cause if label else "")
        natives.append(keep(label.native, label.native) if label else "")
        repeats.append(score.repeat)
        correct.append(verdict is not None and verdict.outcome == "correct")
        values.append(verdict.value if verdict else np.nan)
        for name, level in score.axes.items():
            _put(axes, name, row, keep(level, level), "")
        for name, number in verdict.parts.items() if verdict else ():
            _put(parts, name, row, number, np.nan)
    n, value = len(values), np.array(values, dtype=float)
    task, item, category, cause, native = (np.array(column, dtype=object) for column in words)
    return Columns(
        task=task, item=item, category=category,
        repeat=np.array(repeats, dtype=np.int64),
        run=~np.isnan(value), correct=np.array(correct, dtype=bool), value=value,
        cause=cause, native=native,
        axes={k: np.array(v + [""] * (n - len(v)), dtype=object) for k, v in axes.items()},
        parts={k: np.array(v + [np.nan] * (n - len(v)), dtype=float) for k, v in parts.items()},
    )  # fmt: skip


def valued(columns: Columns, values: Numbers) -> Columns:
    """Return the rows with other values, nan where there is none: those are not run."""
    return replace(columns, value=values, run=~np.isnan(values), correct=values == 1)


def distinct(readings: Mapping[str, Columns]) -> dict[str, Columns]:
    """Return the readings by name, those of equal values under one: "official and fair"."""
    found: list[tuple[list[str], Columns]] = []
    for name, columns in readings.items():
        for names, known in found:
            if same(known, columns):
                names.append(name)
                break
        else:
            found.append(([name], columns))
    return {" and ".join(names): columns for names, columns in found}


def same(a: Columns, b: Columns) -> bool:
    """Tell whether two readings judge the same answers alike."""
    return np.array_equal(a.task, b.task) and np.array_equal(a.value, b.value, equal_nan=True)


def _put(table: dict[str, list[X]], name: str, row: int, value: X, missing: X) -> None:
    """Set one cell of a column that may be younger than the row."""
    column = table.setdefault(name, [])
    column.extend([missing] * (row - len(column)))
    column.append(value)
