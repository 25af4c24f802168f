"""Numbers and tables as a reader sees them: shares in per cent, even decimals per column."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolmark import codec
from toolmark.stats.figures import DASH, count, plain
from toolmark.types import Table

Cell: TypeAlias = str | float | int | None

_SURROGATE = re.compile(f"{codec.MARK}([0-9a-f]{{4}})")
# what a terminal or a browser would obey instead of showing: controls, and letters that turn the
# direction of what follows
_OBEYED = [*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CONTROLS: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    **{code: f"\\u{code:04x}" for code in _OBEYED},
}


@dataclass(frozen=True, slots=True)
class Grid:
    """A table ready to print: cells are text, `numeric` says which columns align right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""


def grid(table: Table) -> Grid:
    """Format a table; short rows are filled with dashes."""
    width = len(table.head)
    rows = [(*row, *(None,) * (width - len(row)))[:width] for row in table.rows]
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    texts = [column(cells) for cells in columns]
    return Grid(
        title=visible(table.title),
        head=tuple(visible(name) for name in table.head),
        rows=tuple(zip(*texts, strict=True)) if rows else (),
        numeric=tuple(_numeric(cells) for cells in columns),
        note=visible(table.note),
    )


def column(cells: Sequence[Cell]) -> list[str]:
    """Format one column: its numbers share their decimals, None is a dash."""
    numbers = [x for x in cells if isinstance(x, float) and math.isfinite(x)]
    places = max((_places(x) for x in numbers), default=0)
    return [_cell(x, places) for x in cells]


def visible(text: str) -> str:
    r"""Show what cannot be shown: lone surrogates as \udXXX, control characters as pictures."""
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
    told = [x for x in cells if x is not None and x not in ("", DASH, "-")]
    return bool(told) and all(not isinstance(x, str) or _LEADING.match(x) for x in told)


_LEADING = re.compile(r"[<+\-−]?\s?\d[\d,.\u202f]*(\s?%|\s?\[|\s?/|\s?\(|\s?×|$)")


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
