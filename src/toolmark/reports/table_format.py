"""Numbers and tables as a reader sees them: shares in per cent, equal decimals in a column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolmark.core import json_codec, number_format
from toolmark.core.number_format import DASH, format_count, replace_special_spaces
from toolmark.core.records import VARIATION_AXIS, Cell, EpisodeFilter, Estimate, Table

_INTERVAL_HEAD = " [95 % interval]"
AS_ASKED: dict[str, str | tuple[str, ...]] = {VARIATION_AXIS: ("",)}
"""The axes of a link to tasks as the suite asks them, in a run with variations."""
TASK_MARK = "id:"
"""Before a task's id in the page's search: only that task is found."""
_SURROGATE = re.compile(f"{json_codec.SURROGATE_MARK}([0-9a-f]{{4}})")
# what a terminal or a browser would interpret instead of showing: controls, line ends (U+0085,
# U+2028, U+2029), and marks that change the direction of text
_CONTROL_CODES = [
    *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)
]  # fmt: skip
_CONTROL_REPLACEMENTS: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    **{code: f"\\u{code:04x}" for code in _CONTROL_CODES},
}


@dataclass(frozen=True, slots=True)
class Shading:
    """The shading of a table's last columns: each cell's position from low to high, in per cent."""

    low: str
    high: str
    first_column: int
    positions: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table ready to print: cells are text, `numeric` says which columns align right.

    `links` has the page's filters for each cell as JSON, "" for none; it is empty without links.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""
    shading: Shading | None = None
    is_collapsed: bool = False
    links: tuple[tuple[str, ...], ...] = ()


def make_grid(
    table: Table, run_index: int | Mapping[str, int] | None = None, *, has_variations: bool = False
) -> Grid:
    """Format a table; `run_index` is the place on the page of the run whose episodes it links to.

    It may name the run of each column by its head; other columns then have no links. With
    `has_variations` the page lists varied tasks too, which links to other tasks leave out.

    Short rows are filled with dashes; columns that contain only "" are removed.
    Three columns of a share and its interval, the last two headed low and high, become one.
    """
    width = len(table.head)
    rows = [(*row, *(None,) * (width - len(row)))[:width] for row in table.rows]
    named_columns = zip(table.head, zip(*rows, strict=True) if rows else [()] * width, strict=True)
    shown_columns = [
        (name, cells) for name, cells in named_columns if not cells or any(x != "" for x in cells)
    ]
    plain_columns = shown_columns[: len(shown_columns) - table.n_shaded_columns]
    shaded_columns = shown_columns[len(shown_columns) - table.n_shaded_columns :]
    shown_columns = [*_join_interval_columns(plain_columns), *shaded_columns]
    columns = [cells for _, cells in shown_columns]
    texts = [format_column(cells) for cells in columns[: len(columns) - len(shaded_columns)]]
    texts += [[_percent_text(x) for x in cells] for _, cells in shaded_columns]
    return Grid(
        title=visible_text(table.title),
        head=tuple(visible_text(name) for name, _ in shown_columns),
        rows=tuple(zip(*texts, strict=True)) if rows else (),
        numeric=tuple(_is_numeric(cells) for cells in columns),
        note=visible_text(table.note),
        shading=_heat_shading(
            [cells for _, cells in shaded_columns], len(shown_columns) - len(shaded_columns)
        ),
        is_collapsed=table.is_collapsed,
        links=tuple(
            _cell_links(table, [name for name, _ in shown_columns], run_index, has_variations)
        ),
    )


def _cell_links(
    table: Table,
    head: Sequence[str],
    run_index: int | Mapping[str, int] | None,
    has_variations: bool,
) -> Iterator[tuple[str, ...]]:
    """Yield the links of each row, for the columns that are shown."""
    if run_index is None or not (table.row_episodes or table.column_episodes):
        return
    anything = EpisodeFilter()
    by_row = table.row_episodes or (anything,) * len(table.rows)
    columns = table.column_episodes or (anything,) * len(table.head)
    by_name = dict(zip(table.head, columns, strict=False))
    shown = [by_name.get(name.removesuffix(_INTERVAL_HEAD)) for name in head]
    runs = [run_index if isinstance(run_index, int) else run_index.get(name) for name in head]
    for row in by_row:
        yield tuple(
            _link_text(run, row, column, has_variations)
            if row and column and run is not None
            else ""
            for column, run in zip(shown, runs, strict=True)
        )


class _NothingFits(Exception):
    """Two filters of which no episode can fit both."""


_Words = str | tuple[str, ...]


def _common_words(one: _Words, two: _Words) -> _Words:
    """Return the words that both allow; "" allows any. Raises _NothingFits."""
    if "" in (one, two) or one == two:
        return one or two
    a, b = ((each,) if isinstance(each, str) else each for each in (one, two))
    found = tuple(word for word in a if word in b)
    if not found:
        raise _NothingFits
    return found[0] if len(found) == 1 and found[0] else found


def _common_fields(one: Mapping[str, _Words], two: Mapping[str, _Words]) -> dict[str, _Words]:
    names = [*one, *(name for name in two if name not in one)]
    return {name: _common_words(one.get(name, ""), two.get(name, "")) for name in names}


def _common_causes(one: Sequence[str], two: Sequence[str]) -> list[str]:
    """Return a cause, and a class of the suite below it, of both."""
    found = [""] * max(len(one), len(two))
    for listed in (one, two):
        for at, word in enumerate(listed):
            if word and found[at] not in ("", word):
                raise _NothingFits
            found[at] = word or found[at]
    return found


def _link_text(
    run_index: int, row: EpisodeFilter, column: EpisodeFilter, has_variations: bool
) -> str:
    """Return the page's filters for a cell as JSON; "" where no episode fits both of them.

    The outcome, the rule and the task of the column replace those of the row.
    """
    task = column.task or row.task
    own_axes = AS_ASKED if has_variations and not task else {}
    try:
        cause = _common_causes(row.cause, column.cause)
        category = _common_words(row.category, column.category)
        axes = own_axes | _common_fields(row.axes, column.axes)
        traits = _common_fields(row.traits, column.traits)
    except _NothingFits:
        return ""
    filters = {
        "run": str(run_index),
        "rule": column.rule or row.rule,
        "outcome": column.outcome or row.outcome,
        "cause": json_codec.encode_record(cause).decode() if cause else "",
        "category": category,
        "axes": axes,
        "traits": traits,
        "find": f"{TASK_MARK}{task}" if task else "",
    }
    chosen = {name: value for name, value in filters.items() if value}
    return json_codec.encode_record(chosen).decode()


def _percent_text(cell: Cell) -> str:
    return (
        _cell_text(cell, 0)
        if (share := _finite_number(cell)) is None
        else number_format.format_percent(share)
    )


def _finite_number(cell: Cell) -> float | None:
    return cell if isinstance(cell, float | int) and math.isfinite(cell) else None


def _heat_shading(shaded_columns: Sequence[Sequence[Cell]], first_column: int) -> Shading | None:
    """Position every share between the minimum and the maximum; None if no shares differ.

    A cell without a number has no position.
    """
    rows = [tuple(map(_finite_number, row)) for row in zip(*shaded_columns, strict=True)]
    shares = [share for row in rows for share in row if share is not None]
    if not shares or min(shares) == max(shares):
        return None
    low, high = min(shares), max(shares)
    places = tuple(
        tuple(None if x is None else round(100 * (x - low) / (high - low)) for x in row)
        for row in rows
    )
    return Shading(
        number_format.format_percent(low), number_format.format_percent(high), first_column, places
    )


def _join_interval_columns(
    named_columns: list[tuple[str, tuple[Cell, ...]]],
) -> list[tuple[str, tuple[Cell, ...]]]:
    """Join a column with the `low` and `high` after it, so that intervals have one format."""
    heads = [name for name, _ in named_columns]
    for i in range(len(heads) - 2):
        if heads[i + 1 : i + 3] == ["low", "high"]:
            interval_columns = [cells for _, cells in named_columns[i : i + 3]]
            intervals = tuple(
                _interval_text(heads[i], *row) for row in zip(*interval_columns, strict=True)
            )
            head = f"{heads[i]}{_INTERVAL_HEAD}"
            return [
                *named_columns[:i],
                (head, intervals),
                *_join_interval_columns(named_columns[i + 3 :]),
            ]
    return named_columns


def _interval_text(name: str, value: Cell, low: Cell, high: Cell) -> Cell:
    """Format a share and its interval; a column named points is in points and shows a sign."""
    numbers = [x if isinstance(x, float | int) else None for x in (value, low, high)]
    if name == "points":
        ends = [None if x is None else x / 100 for x in numbers]
        return number_format.format_points(
            Estimate(name="", value=ends[0], low=ends[1], high=ends[2])
        )
    return number_format.format_share(
        Estimate(name="", value=numbers[0], low=numbers[1], high=numbers[2])
    )


def format_column(cells: Sequence[Cell]) -> list[str]:
    """Format one column: its numbers have the same number of decimals, None is a dash."""
    numbers = [x for x in cells if isinstance(x, float) and math.isfinite(x)]
    places = max((_n_decimals(x) for x in numbers), default=0)
    return [_cell_text(x, places) for x in cells]


def visible_text(text: str) -> str:
    r"""Make characters visible: lone surrogates as \udXXX, control characters as pictures.

    Line separators and direction marks become their escapes; newlines and tabs are unchanged.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATE.sub(r"\\u\1", text).translate(_CONTROL_REPLACEMENTS)


def render_text(table: Table) -> str:
    """Return a table as aligned plain text for a terminal."""
    formatted = make_grid(table)
    lines = [formatted.head, *formatted.rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(formatted.head))]
    body = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, formatted.numeric, strict=True)
        ).rstrip()
        for row in lines
    ]
    return replace_special_spaces(
        "\n".join([formatted.title, *(f"  {line}" for line in body), *_note_lines(formatted.note)])
    )


def _note_lines(note: str) -> list[str]:
    return [f"  {note}"] if note else []


def _is_numeric(cells: Sequence[Cell]) -> bool:
    """Return whether a column contains numbers, or texts that begin with one."""
    values = [x for x in cells if x is not None and x not in ("", "-") and not _is_dash(x)]
    return bool(values) and all(not isinstance(x, str) or _LEADING_NUMBER.match(x) for x in values)


def _is_dash(cell: Cell) -> bool:
    """Return whether a dash replaces the number, with or without the reason."""
    return isinstance(cell, str) and (cell == DASH or cell.startswith(f"{DASH} ("))


_LEADING_NUMBER = re.compile(r"[<+\-−]?\s?(\d[\d.\u202f]*|∞)(\s?%|\s?\[|\s?/|\s?\(|\s?×|\s±|$)")


def _cell_text(value: Cell, n_decimals: int) -> str:
    match value:
        case None:
            return DASH
        case bool():
            return "yes" if value else "no"
        case int():
            return format_count(value)
        case float() if not math.isfinite(value):
            return DASH
        case float():
            return number_format.format_fixed(value, n_decimals)
        case _:
            return visible_text(value)


def _n_decimals(value: float) -> int:
    """Return how many decimals show three significant digits, without trailing zeros."""
    size = abs(value)
    max_decimals = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
    digits = f"{size:.{max_decimals}f}".rstrip("0")
    return len(digits.partition(".")[2])
