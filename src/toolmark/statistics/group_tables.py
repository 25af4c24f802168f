"""A table with a row per group of scores, and functions for its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from toolmark.core.records import Cell, Table
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.score_columns import Columns

CellFunction: TypeAlias = Callable[[Columns], Cell]


def group_table(
    title: str,
    by: tuple[str, ...],
    groups: Iterable[tuple[tuple[Cell, ...], Columns]],
    cells: Mapping[str, CellFunction],
    note: str = "",
    *,
    n_shaded_columns: int = 0,
    whole: Columns | None = None,
) -> Table:
    """Return a row per group: its names under the heads `by`, then a cell for each function.

    `whole` has all rows of the run, if the cells are to link to the episodes behind them.
    """
    listed = list(groups)
    table = Table(
        title=title,
        head=(*by, *cells),
        rows=tuple((*names, *(cell(rows) for cell in cells.values())) for names, rows in listed),
        note=note,
        n_shaded_columns=n_shaded_columns,
    )
    return (
        table
        if whole is None
        else link_rows(table, whole, (rows for _, rows in listed), n_names=len(by))
    )


def count_run(columns: Columns) -> int:
    """Return the number of rows that ran."""
    return int(columns.run.sum())


def part_mean(part: str) -> Callable[[Columns], float | None]:
    """Return a function for the mean of a part over the rows that have it, None without any."""

    def mean(columns: Columns) -> float | None:
        values = columns.part(part)
        return None if np.isnan(values).all() else float(np.nanmean(values))

    return mean
