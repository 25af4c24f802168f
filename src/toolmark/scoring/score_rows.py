"""Scored episodes as rows, from which a suite's author makes tables and charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from toolmark.core.called_code import CodeHolder
from toolmark.core.errors import UsageError
from toolmark.core.records import Cell, Chart, Series, Table
from toolmark.statistics.score_columns import Columns


class Row(NamedTuple):
    """One scored episode.

    - `id`: the task's id. `repeat`: the number of the repeat, from 0.
    - `category`, `group`: those of the task.
    - `correct`: whether it counts as right. `value`: its value from 0 to 1.
    - `cause`: why it is wrong, "" where it is right.
    - `numbers`: the metrics of the episode, by name.
    """

    id: str
    repeat: int
    category: str
    group: str
    correct: bool
    value: float
    cause: str
    numbers: Mapping[str, float]


RowPresenter: TypeAlias = Callable[[Sequence[Row]], "Table | Chart | Sequence[Table | Chart]"]


def rows_of(columns: Columns) -> list[Row]:
    """Return the episodes that were run as rows, in the order of the scores."""
    groups = columns.axis("group")
    return [
        Row(
            id=str(columns.task[at]),
            repeat=int(columns.repeat[at]),
            category=str(columns.category[at]),
            group=str(groups[at]),
            correct=bool(columns.correct[at]),
            value=float(columns.value[at]),
            cause=str(columns.cause[at]),
            numbers={
                name: float(numbers[at])
                for name, numbers in columns.parts.items()
                if not math.isnan(numbers[at])
            },
        )
        for at in range(len(columns))
        if columns.run[at]
    ]


class RowTables(CodeHolder):
    """The tables and charts that functions make of the rows of a run."""

    def __init__(self, presenters: Sequence[RowPresenter]) -> None:
        self._presenters = tuple(presenters)

    def __call__(self, columns_by_rule: Mapping[str, Columns]) -> list[Table | Chart]:
        """Return what the functions make of the rows of the headline rule, in their order."""
        rows = rows_of(next(iter(columns_by_rule.values())))
        made: list[Table | Chart] = []
        for present in self._presenters:
            found: object = present(rows)
            shown = list(found) if isinstance(found, list | tuple) else [found]
            made += [_check_shown(each, present) for each in shown]
        return made

    def called_code(self) -> Iterable[RowPresenter]:
        """Return the functions."""
        return self._presenters


def _check_shown(shown: object, present: RowPresenter) -> Table | Chart:
    if isinstance(shown, Table | Chart):
        return shown
    name = getattr(present, "__qualname__", type(present).__qualname__)
    raise TypeError(
        f"{name} returned {type(shown).__name__}; it returns tm.table(...), tm.bar_chart(...), or "
        "a list of them"
    )


def table(title: str, rows: Iterable[Mapping[str, Cell]], *, note: str = "") -> Table:
    """Return a table for the report: one mapping for each row, with the columns' names as keys.

    The columns are those of the first row, then those that further rows add; a missing cell is a
    dash.
    """
    found = list(rows)
    head = tuple(dict.fromkeys(name for row in found for name in row))
    cells = tuple(tuple(row.get(name) for name in head) for row in found)
    return Table(title=title, head=head, rows=cells, note=note)


def bar_chart(
    title: str,
    values: Mapping[str, float] | Mapping[str, Mapping[str, float]],
    *,
    y_label: str = "",
    note: str = "",
) -> Chart:
    """Return a bar chart: one bar for each name, or with nested mappings one for each name in each.

    `{"Monday": 0.5, ...}` has one series; `{"this": {"Monday": 0.5, ...}, ...}` one for each key.
    """
    if not values:
        raise UsageError(f"chart {title!r} has no bars")
    series: dict[str, Mapping[str, float]] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            series[name] = value
        else:
            series.setdefault("", {})  # one series without a name
            series[""] = {**series[""], name: float(value)}
    ticks = tuple(dict.fromkeys(name for bars in series.values() for name in bars))
    return Chart(
        title=title,
        kind="bar",
        series=tuple(
            Series(
                name=name,
                x=tuple(float(at) for at, tick in enumerate(ticks) if tick in bars),
                y=tuple(float(bars[tick]) for tick in ticks if tick in bars),
            )
            for name, bars in series.items()
        ),
        ticks=ticks,
        y_label=y_label,
        note=note,
    )
