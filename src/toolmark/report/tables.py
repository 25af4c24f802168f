"""Numbers and tables as a reader sees them: shares in per cent, even decimals per column."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolmark import codec
from toolmark.stats import figures
from toolmark.stats.figures import DASH, count, plain
from toolmark.types import Estimate, Table

Cell: TypeAlias = str | float | int | None

_SURROGATE = re.compile(f"{codec.MARK}([0-9a-f]{{4}})")
# what a terminal or a browser would obey instead of showing: controls, what ends a line (U+0085,
# U+2028, U+2029), and marks that turn the direction of what follows
_OBEYED = [
    *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)
]  # fmt: skip
_CONTROLS: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    **{code: f"\\u{code:04x}" for code in _OBEYED},
}


@dataclass(frozen=True, slots=True)
class Heat:
    """The shading of a table's last columns: each cell's place between the ends, in per cent."""

    low: str
    high: str
    first: int
    places: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table ready to print: cells are text, `numeric` says which columns align right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""
    heat: Heat | None = None
    fold: bool = False


def grid(table: Table) -> Grid:
    """Format a table; short rows are filled with dashes, columns of nothing but "" are left out.

    Three columns of a share and its ends, the last two headed low and high, become one.
    """
    width = len(table.head)
    rows = [(*row, *(None,) * (width - len(row)))[:width] for row in table.rows]
    named = zip(table.head, zip(*rows, strict=True) if rows else [()] * width, strict=True)
    kept = [(name, cells) for name, cells in named if not cells or any(x != "" for x in cells)]
    cold, hot = kept[: len(kept) - table.heat], kept[len(kept) - table.heat :]
    kept = [*_joined(cold), *hot]
    columns = [cells for _, cells in kept]
    texts = [column(cells) for cells in columns[: len(columns) - len(hot)]]
    texts += [[_percent(x) for x in cells] for _, cells in hot]
    return Grid(
        title=visible(table.title),
        head=tuple(visible(name) for name, _ in kept),
        rows=tuple(zip(*texts, strict=True)) if rows else (),
        numeric=tuple(_numeric(cells) for cells in columns),
        note=visible(table.note),
        heat=_heat([cells for _, cells in hot], len(kept) - len(hot)),
        fold=table.fold,
    )


def _percent(cell: Cell) -> str:
    return _cell(cell, 0) if (share := _share(cell)) is None else figures.percent(share)


def _share(cell: Cell) -> float | None:
    return cell if isinstance(cell, float | int) and math.isfinite(cell) else None


def _heat(hot: Sequence[Sequence[Cell]], first: int) -> Heat | None:
    """Place every share of the columns between the least and the greatest; none that differ: None.

    A cell without a number has no place.
    """
    rows = [tuple(map(_share, row)) for row in zip(*hot, strict=True)]
    shares = [share for row in rows for share in row if share is not None]
    if not shares or min(shares) == max(shares):
        return None
    low, high = min(shares), max(shares)
    places = tuple(
        tuple(None if x is None else round(100 * (x - low) / (high - low)) for x in row)
        for row in rows
    )
    return Heat(figures.percent(low), figures.percent(high), first, places)


def plural(n: int, word: str) -> str:
    """Return "1 task", "2 tasks"."""
    return f"{count(n)} {word}" if n == 1 else f"{count(n)} {word}s"


def _joined(named: list[tuple[str, tuple[Cell, ...]]]) -> list[tuple[str, tuple[Cell, ...]]]:
    """Join a column with the `low` and `high` after it, so that a page has one format of them."""
    heads = [name for name, _ in named]
    for i in range(len(heads) - 2):
        if heads[i + 1 : i + 3] == ["low", "high"]:
            three = [cells for _, cells in named[i : i + 3]]
            told = tuple(_told(heads[i], *row) for row in zip(*three, strict=True))
            head = f"{heads[i]} [95 % interval]"
            return [*named[:i], (head, told), *_joined(named[i + 3 :])]
    return named


def _told(name: str, value: Cell, low: Cell, high: Cell) -> Cell:
    """Format a share and its ends; points come in hundredths and carry a sign."""
    numbers = [x if isinstance(x, float | int) else None for x in (value, low, high)]
    if name == "points":
        ends = [None if x is None else x / 100 for x in numbers]
        return figures.points(Estimate(name="", value=ends[0], low=ends[1], high=ends[2]))
    return figures.share(Estimate(name="", value=numbers[0], low=numbers[1], high=numbers[2]))


def column(cells: Sequence[Cell]) -> list[str]:
    """Format one column: its numbers share their decimals, None is a dash."""
    numbers = [x for x in cells if isinstance(x, float) and math.isfinite(x)]
    places = max((_places(x) for x in numbers), default=0)
    return [_cell(x, places) for x in cells]


def visible(text: str) -> str:
    r"""Show what cannot be shown: lone surrogates as \udXXX, control characters as pictures.

    Line separators and marks of direction become their escapes; newlines and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATE.sub(r"\\u\1", text).translate(_CONTROLS)


def text(table: Table) -> str:
    """Return a table as aligned plain text for a terminal."""
    made = grid(table)
    lines = [made.head, *made.rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(made.head))]
    body = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, made.numeric, strict=True)
        ).rstrip()
        for row in lines
    ]
    return plain("\n".join([made.title, *(f"  {line}" for line in body), *_lines(made.note)]))


def _lines(note: str) -> list[str]:
    return [f"  {note}"] if note else []


def _numeric(cells: Sequence[Cell]) -> bool:
    """Say whether a column holds numbers, or texts that begin with one."""
    told = [x for x in cells if x is not None and x not in ("", "-") and not _dashed(x)]
    return bool(told) and all(not isinstance(x, str) or _LEADING.match(x) for x in told)


def _dashed(cell: Cell) -> bool:
    """Say whether a dash stands for the number, with or without the reason."""
    return isinstance(cell, str) and (cell == DASH or cell.startswith(f"{DASH} ("))


_LEADING = re.compile(r"[<+\-−]?\s?(\d[\d,.\u202f]*|∞)(\s?%|\s?\[|\s?/|\s?\(|\s?×|\s±|$)")


def _cell(value: Cell, places: int) -> str:
    match value:
        case None:
            return DASH
        case bool():
            return "yes" if value else "no"
        case int():
            return count(value)
        case float() if not math.isfinite(value):
            return DASH
        case float():
            return f"{value:,.{places}f}".replace(",", "\u202f").replace("-", "−")
        case _:
            return visible(value)


def _places(value: float) -> int:
    """Return how many decimals show three significant digits, trailing zeros aside."""
    size = abs(value)
    most = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
    shown = f"{size:.{most}f}".rstrip("0")
    return len(shown.partition(".")[2])
