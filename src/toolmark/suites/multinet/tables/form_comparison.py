"""Text answers against tool answers on the same rows: format errors and action errors.

An answer fails because it cannot be read, or because it is wrong. Asking in both forms separates
the two: what changes with the form is the format, what stays the same is the action.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, EpisodeFilter, Table
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.score_columns import Columns, Mask, part_as_value
from toolmark.statistics.table_cells import mean_share_cell, p_value_cell
from toolmark.suites.multinet.tables import score_columns
from toolmark.suites.multinet.tables.row_links import link_filters
from toolmark.suites.multinet.tables.score_columns import FORMS

_COMPARISON_NOTE = (
    "Answers that ran in both forms; differences are text minus tool in percentage points, "
    "paired by row, in brackets 95 % intervals. Valid: can it be read, which is format. Of rows "
    "that are valid in both forms only the action decides."
)


def form_comparison_tables(
    columns_by_rule: Mapping[str, Columns], correct_label: str
) -> Iterator[Table]:
    """Yield tables of the two forms side by side; nothing if only one was asked."""
    columns = next(iter(columns_by_rule.values()))
    text, tool = (columns.where(columns.axis("form") == form) for form in FORMS)
    text, tool = (part.where(part.run) for part in (text, tool))
    both = {*_row_keys(text)} & {*_row_keys(tool)}
    text, tool = (_select_keys(part, both) for part in (text, tool))
    if len(text) and len(tool):
        yield _share_table(text, tool, correct_label)
        yield _outcome_table(text, tool)


def _key_by_row(columns: Columns) -> Columns:
    """Pair answers of both forms by row and repeat, and count them by group."""
    keys = [f"{item} {repeat}" for item, repeat in _row_keys(columns)]
    return replace(columns, task=np.array(keys, dtype=object))


def _pair_forms(text: Columns, tool: Columns) -> PairedComparison:
    return compare_paired(_key_by_row(text), _key_by_row(tool))


def _share_table(text: Columns, tool: Columns, correct_label: str) -> Table:
    """Return valid, correct, and correct of the valid, in both forms with their difference."""
    valid = [part_as_value(part, "valid") for part in (text, tool)]
    shared = _valid_keys(text) & _valid_keys(tool)
    valid_in_both = [_select_keys(part, shared) for part in (text, tool)]
    rows = (
        _comparison_row("valid: it can be read", *valid),
        _comparison_row(f"{correct_label}, of what is valid in both forms", *valid_in_both),
        _comparison_row(f"{correct_label}, of all", text, tool),
    )
    table = Table(
        title="Format against action: text and tool",
        head=("", "rows", "text", "tool", "text minus tool", "p"),
        rows=rows,
        note=f"{_COMPARISON_NOTE} Intervals count {score_columns.interval_unit(text)}.",
    )
    return link_filters(table, (EpisodeFilter(outcome="run"),) * len(rows))


def _comparison_row(name: str, text: Columns, tool: Columns) -> tuple[Cell, ...]:
    if not len(text):
        return (name, 0)
    found = _pair_forms(text, tool)
    shares = map(mean_share_cell, (text, tool))
    change = number_format.format_points(found.difference)
    return (name, found.n_pairs, *shares, change, p_value_cell(found.p))


def _row_keys(columns: Columns) -> list[tuple[str, int]]:
    return list(zip(columns.item.tolist(), columns.repeat.tolist(), strict=True))


def _select_keys(columns: Columns, keys: Collection[tuple[str, int]]) -> Columns:
    return columns.where(np.array([key in keys for key in _row_keys(columns)], dtype=bool))


def _valid_keys(columns: Columns) -> set[tuple[str, int]]:
    return set(_row_keys(score_columns.valid_rows(columns)))


def _outcome_table(text: Columns, tool: Columns) -> Table:
    """Return the outcomes of rows in one form by their outcomes in the other."""
    names = ("right", "wrong", "invalid")
    text_outcomes = {
        key: fate for key, fate in zip(_row_keys(text), _row_outcomes(text), strict=True) if fate
    }
    tool_outcomes = {
        key: fate for key, fate in zip(_row_keys(tool), _row_outcomes(tool), strict=True) if fate
    }
    pairs = [
        (fate, tool_outcomes[key]) for key, fate in text_outcomes.items() if key in tool_outcomes
    ]
    rows: list[tuple[Cell, ...]] = [
        (f"text {name}", *(sum(pair == (name, to) for pair in pairs) for to in names))
        for name in names
    ]
    table = Table(
        title="What became of each row in both forms",
        head=("", *(f"tool {name}" for name in names)),
        rows=tuple(rows),
        note="Right in one form and invalid in the other: the model can act, and cannot format "
        "there. Wrong in both: it cannot act, however it is asked.",
    )
    return link_filters(table, (EpisodeFilter(outcome="run"),) * len(rows))


def _row_outcomes(columns: Columns) -> list[str]:
    valid: Mask = columns.part("valid") == 1
    outcomes = np.where(columns.correct, "right", np.where(valid, "wrong", "invalid"))
    result: list[str] = np.where(columns.run, outcomes, "").tolist()
    return result
