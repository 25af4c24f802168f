"""Filters of rows by one of their columns, and strata named by columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolmark.core.records import Record
from toolmark.statistics.confidence_intervals import group_codes
from toolmark.statistics.score_columns import Columns, Mask, Names, Numbers


def check_column_name(name: str) -> None:
    """Raise ValueError for an unknown kind of column."""
    if not re.match(r"category\Z|axes\.|parts\.", name):
        raise ValueError(f"no column {name!r}; known: category, axes.NAME, parts.NAME")


def column_cells(columns: Columns, name: str) -> Names | Numbers:
    """Return the cells of the column `category`, `axes.NAME` or `parts.NAME`."""
    kind, _, name = name.partition(".")
    match kind:
        case "category":
            return columns.category
        case "axes":
            return columns.axis(name)
        case _:
            return columns.part(name)


def stratum_codes(columns: Columns, names: Sequence[str]) -> NDArray[np.int64] | None:
    """Return a code for each combination of the named columns, None without a name."""
    if not names:
        return None
    code = np.zeros(len(columns), dtype=np.int64)
    for name in names:
        own = group_codes(column_cells(columns, name))
        code = np.unique(code * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    return code.astype(np.int64)


class RowFilter(Record, frozen=True, kw_only=True):
    """A filter of rows by one of their columns.

    `column` is `category`, `axes.NAME` or `parts.NAME`. The filter selects rows whose cell is one
    of `values` (numbers for a part, text for the others), or with `is_excluding` is none of them.
    With `all_if_none` it selects all rows where it would select none.
    """

    column: str
    values: tuple[str | float, ...]
    is_excluding: bool = False
    all_if_none: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown kind of column."""
        check_column_name(self.column)

    def row_mask(self, columns: Columns) -> Mask:
        """Return which rows are selected."""
        cells = column_cells(columns, self.column)
        mask: Mask = np.isin(cells, np.array(self.values, dtype=cells.dtype)) != self.is_excluding
        return np.ones_like(mask) if self.all_if_none and not mask.any() else mask

    def select_rows(self, columns: Columns) -> Columns:
        """Return the selected rows."""
        mask = self.row_mask(columns)
        return columns if mask.all() else columns.where(mask)


def selected_indices(columns: Columns, filters: Sequence[RowFilter]) -> NDArray[np.int64]:
    """Return the indices of the rows that every filter selects, applied in order."""
    rows = np.arange(len(columns))
    for each in filters:
        chosen = columns if len(rows) == len(columns) else columns.where(rows)
        rows = rows[each.row_mask(chosen)]
    return rows


def apply_filters(columns: Columns, filters: Sequence[RowFilter]) -> Columns:
    """Return the rows that every filter selects, applied in order."""
    return columns.where(selected_indices(columns, filters)) if filters else columns
