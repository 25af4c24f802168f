"""Text against tools on the same rows: who cannot format, and who cannot act.

An answer fails because it cannot be read, or because it is wrong. Asked in both forms the two come
apart: what changes with the form is format, what stays is the action.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from toolmark.stats import figures
from toolmark.stats.columns import Columns, Mask, valued
from toolmark.stats.paired import Paired, paired
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import FORMS, Cell
from toolmark.types import Table

_NOTE = (
    "Answers that ran in both forms; differences are text minus tool in percentage points, "
    "paired by row, in brackets 95 % intervals. Valid: can it be read, which is format. Of rows "
    "that are valid in both forms only the action decides."
)


def tables(readings: Mapping[str, Columns], right: str) -> Iterator[Table]:
    """Return the two forms beside each other; nothing where only one was asked."""
    columns = next(iter(readings.values()))
    text, tool = (columns.where(columns.axis("form") == form) for form in FORMS)
    text, tool = (part.where(part.run) for part in (text, tool))
    both = {*_keys(text)} & {*_keys(tool)}
    text, tool = (_among(part, both) for part in (text, tool))
    if len(text) and len(tool):
        yield _shares(text, tool, right)
        yield _fates(text, tool)


def _keyed(columns: Columns) -> Columns:
    """Let answers of both forms meet by their row and repeat, and count by their group."""
    told = [f"{item} {repeat}" for item, repeat in _keys(columns)]
    return replace(columns, task=np.array(told, dtype=object))


def _pair(text: Columns, tool: Columns) -> Paired:
    return paired(_keyed(text), _keyed(tool))


def _shares(text: Columns, tool: Columns, right: str) -> Table:
    """Return valid, right, and right of the valid, in both forms with their difference."""
    valid = [valued(part, part.part("valid")) for part in (text, tool)]
    shared = _valid(text) & _valid(tool)
    read = [_among(part, shared) for part in (text, tool)]
    rows = (
        _row("valid: it can be read", *valid),
        _row(f"{right}, of what is valid in both forms", *read),
        _row(f"{right}, of all", text, tool),
    )
    return Table(
        title="Format against action: text and tool",
        head=("", "rows", "text", "tool", "text minus tool", "p"),
        rows=rows,
        note=f"{_NOTE} Intervals count {measure.counted(text)}.",
    )


def _row(name: str, text: Columns, tool: Columns) -> tuple[Cell, ...]:
    if not len(text):
        return (name, 0)
    found = _pair(text, tool)
    p = None if found.p is None else figures.chance(found.p)
    told = (figures.share(measure.exact(part)) for part in (text, tool))
    return (name, found.n_pairs, *told, figures.points(found.difference), p)


def _keys(columns: Columns) -> list[tuple[str, int]]:
    return list(zip(columns.item.tolist(), columns.repeat.tolist(), strict=True))


def _among(columns: Columns, kept: Collection[tuple[str, int]]) -> Columns:
    return columns.where(np.array([key in kept for key in _keys(columns)], dtype=bool))


def _valid(columns: Columns) -> set[tuple[str, int]]:
    return set(_keys(measure.readable(columns)))


def _fates(text: Columns, tool: Columns) -> Table:
    """Return what became of a row in one form by what became of it in the other."""
    names = ("right", "wrong", "invalid")
    mine = {key: fate for key, fate in zip(_keys(text), _fate(text), strict=True) if fate}
    other = {key: fate for key, fate in zip(_keys(tool), _fate(tool), strict=True) if fate}
    pairs = [(fate, other[key]) for key, fate in mine.items() if key in other]
    rows: list[tuple[Cell, ...]] = [
        (f"text {name}", *(sum(pair == (name, to) for pair in pairs) for to in names))
        for name in names
    ]
    return Table(
        title="What became of each row in both forms",
        head=("", *(f"tool {name}" for name in names)),
        rows=tuple(rows),
        note="Right in one form and invalid in the other: the model can act, and cannot format "
        "there. Wrong in both: it cannot act, however it is asked.",
    )


def _fate(columns: Columns) -> list[str]:
    valid: Mask = columns.part("valid") == 1
    told = np.where(columns.correct, "right", np.where(valid, "wrong", "invalid"))
    fates: list[str] = np.where(columns.run, told, "").tolist()
    return fates
