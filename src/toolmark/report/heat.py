"""Heat maps as SVG: a cell per pair of names, shaded by its share; for tables of many columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolmark import svg
from toolmark.report import axes
from toolmark.stats import figures
from toolmark.svg import Markup
from toolmark.types import Chart

LEAST, MOST, WIDE = 13.0, 24.0, 420.0  # of a cell, and of all columns if cells allow
GUIDE = 6  # cells between two guides for the eye
_LETTER, _SHORT = 5.4, 2  # width of a letter; names of so many stand upright above a column
_CSS = (
    ".heat text{font:9px system-ui,sans-serif;fill:currentColor}"
    ".heat .name{font-size:13px;fill-opacity:.75}.heat .c{fill:var(--accent,#0a5a9c)}"
    ".heat .guide{stroke:currentColor;stroke-opacity:.22}"
    ".heat .own{fill:none;stroke:currentColor;stroke-opacity:.4}"
)


def draw(chart: Chart) -> Markup:
    """Draw a heat map: rows are the series, columns the ticks; what is 0 or unknown stays empty."""
    rows = [series.name for series in chart.series]
    longest = max((len(_cut(name)) for name in chart.ticks), default=0)
    frame = _Frame(
        left=32.0 + _LETTER * max((len(_cut(name)) for name in rows), default=0),
        top=30.0 + (_LETTER * longest if longest > _SHORT else 20.0),
        cell=min(MOST, max(LEAST, WIDE / max(1, len(chart.ticks)))),
        n_columns=len(chart.ticks),
        n_rows=len(rows),
    )
    body = [
        *_guides(frame),
        *_cells(chart, frame),
        *_names(chart, rows, frame, turned=longest > _SHORT),
        *_diagonal(chart, rows, frame),
    ]
    label = f"{chart.title}; {chart.y_label} by {chart.x_label}, {len(rows)} rows"
    # room behind the last column for its turned name
    group = svg.tag("g", *body, class_="heat")
    return svg.root(frame.x(frame.n_columns) + 8, frame.y(len(rows)) + 4, group, label=label,
                    css=_CSS)  # fmt: skip


class _Frame(NamedTuple):
    """Where the cells are."""

    left: float
    top: float
    cell: float
    n_columns: int
    n_rows: int

    def x(self, column: float) -> float:
        """Return the left edge of a column."""
        return self.left + self.cell * column

    def y(self, row: float) -> float:
        """Return the upper edge of a row."""
        return self.top + self.cell * row


def _cut(name: str) -> str:
    return axes.clip(name, 22 * axes.LETTER)


def _cells(chart: Chart, frame: _Frame) -> Iterator[Markup]:
    """Draw the cells; the darkest is the greatest share of all."""
    most = max((y for s in chart.series for y in s.y if math.isfinite(y)), default=0.0)
    for row, series in enumerate(chart.series):
        for x, share in zip(series.x, series.y, strict=True):
            if math.isfinite(share) and share > 0:
                told = f"{series.name} → {chart.ticks[int(x)]}: {figures.percent(share)}"
                yield svg.tag(
                    "rect", svg.tag("title", told), x=frame.x(x), y=frame.y(row),
                    width=frame.cell - 1, height=frame.cell - 1, class_="c",
                    fill_opacity=round(0.06 + 0.94 * share / most, 2),
                )  # fmt: skip


def _guides(frame: _Frame) -> Iterator[Markup]:
    right, base = frame.x(frame.n_columns) - 0.5, frame.y(frame.n_rows) - 0.5
    for at in (*range(0, frame.n_columns, GUIDE), frame.n_columns):
        x = frame.x(at) - 0.5
        yield svg.tag("line", x1=x, x2=x, y1=frame.top, y2=base, class_="guide")
    for at in (*range(0, frame.n_rows, GUIDE), frame.n_rows):
        y = frame.y(at) - 0.5
        yield svg.tag("line", x1=frame.left, x2=right, y1=y, y2=y, class_="guide")


def _diagonal(chart: Chart, rows: Sequence[str], frame: _Frame) -> Iterator[Markup]:
    """Frame the cells where a name meets itself, by place: two classes may have one name."""
    for at, (name, other) in enumerate(zip(rows, chart.ticks, strict=False)):
        if name == other:
            yield svg.tag("rect", x=frame.x(at), y=frame.y(at), width=frame.cell - 1,
                          height=frame.cell - 1, class_="own")  # fmt: skip


def _names(chart: Chart, rows: Sequence[str], frame: _Frame, *, turned: bool) -> Iterator[Markup]:
    middle = frame.y(len(rows) / 2)
    yield svg.tag("text", chart.y_label, x=11, y=middle, text_anchor="middle", class_="name",
                  transform=f"rotate(-90 11 {middle:.0f})")  # fmt: skip
    yield svg.tag("text", chart.x_label, x=frame.left, y=13, class_="name")
    for row, name in enumerate(rows):
        y = frame.y(row + 0.5) + 3
        yield svg.tag("text", _cut(name), x=frame.left - 4, y=y, text_anchor="end")
    for at, name in enumerate(chart.ticks):
        x, y = frame.x(at + 0.5), frame.top - 4
        if turned:
            turn = f"rotate(-90 {x + 3:.1f} {y:.1f})"
            yield svg.tag("text", _cut(name), x=x + 3, y=y, transform=turn)
            continue
        for up, letter in enumerate(reversed(name)):  # a cell is too narrow for two
            yield svg.tag("text", letter, x=x - 0.5, y=y - 10 * up, text_anchor="middle")
