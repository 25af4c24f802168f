"""Heat maps as SVG: one cell per pair of names, shaded by its share; for tables of many columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolmark.core import number_format, svg
from toolmark.core.records import Chart
from toolmark.core.svg import Markup
from toolmark.reports import chart_axes

# of a cell, and of all columns if the cell limits allow
MIN_CELL_PIXELS = 13.0
MAX_CELL_PIXELS = 24.0
MAP_WIDTH_PIXELS = 420.0
CELLS_PER_GUIDE = 6  # cells between two guide lines
# width of a letter; names up to this length are upright above a column
_LETTER_PIXELS = 5.4
_MAX_UPRIGHT_LETTERS = 2
_CSS = (
    ".heat text{font:9px system-ui,sans-serif;fill:currentColor}"
    ".heat .name{font-size:13px;fill-opacity:.75}.heat .c{fill:var(--accent,#0a5a9c)}"
    ".heat .guide{stroke:currentColor;stroke-opacity:.22}"
    ".heat .own{fill:none;stroke:currentColor;stroke-opacity:.4}"
)


def draw_heat_map(chart: Chart) -> Markup:
    """Draw a heat map: rows are the series, columns the ticks; 0 and unknown values stay empty."""
    rows = [series.name for series in chart.series]
    max_length = max((len(_clip_name(name)) for name in chart.ticks), default=0)
    layout = _HeatMapLayout(
        left=32.0 + _LETTER_PIXELS * max((len(_clip_name(name)) for name in rows), default=0),
        top=30.0 + (_LETTER_PIXELS * max_length if max_length > _MAX_UPRIGHT_LETTERS else 20.0),
        cell=min(
            MAX_CELL_PIXELS, max(MIN_CELL_PIXELS, MAP_WIDTH_PIXELS / max(1, len(chart.ticks)))
        ),
        n_columns=len(chart.ticks),
        n_rows=len(rows),
    )
    body = [
        *_draw_guides(layout),
        *_draw_cells(chart, layout),
        *_draw_names(chart, rows, layout, turned=max_length > _MAX_UPRIGHT_LETTERS),
        *_draw_diagonal(chart, rows, layout),
    ]
    label = f"{chart.title}; {chart.y_label} by {chart.x_label}, {len(rows)} rows"
    # 8 pixels after the last column for its rotated name
    group = svg.element("g", *body, class_="heat")
    return svg.svg_element(
        layout.x(layout.n_columns) + 8, layout.y(len(rows)) + 4, group, label=label, css=_CSS
    )


class _HeatMapLayout(NamedTuple):
    """The positions and sizes of the cells."""

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


def _clip_name(name: str) -> str:
    return chart_axes.clip_label(name, 22 * chart_axes.LETTER_PIXELS)


def _draw_cells(chart: Chart, layout: _HeatMapLayout) -> Iterator[Markup]:
    """Draw the cells; the greatest share of all is the darkest."""
    max_share = max((y for s in chart.series for y in s.y if math.isfinite(y)), default=0.0)
    for row, series in enumerate(chart.series):
        for x, share in zip(series.x, series.y, strict=True):
            if math.isfinite(share) and share > 0:
                tooltip = (
                    f"{series.name} → {chart.ticks[int(x)]}: {number_format.format_percent(share)}"
                )
                yield svg.element(
                    "rect", svg.element("title", tooltip), x=layout.x(x), y=layout.y(row),
                    width=layout.cell - 1, height=layout.cell - 1, class_="c",
                    fill_opacity=round(0.06 + 0.94 * share / max_share, 2),
                )  # fmt: skip


def _draw_guides(layout: _HeatMapLayout) -> Iterator[Markup]:
    right, base = layout.x(layout.n_columns) - 0.5, layout.y(layout.n_rows) - 0.5
    for at in (*range(0, layout.n_columns, CELLS_PER_GUIDE), layout.n_columns):
        x = layout.x(at) - 0.5
        yield svg.element("line", x1=x, x2=x, y1=layout.top, y2=base, class_="guide")
    for at in (*range(0, layout.n_rows, CELLS_PER_GUIDE), layout.n_rows):
        y = layout.y(at) - 0.5
        yield svg.element("line", x1=layout.left, x2=right, y1=y, y2=y, class_="guide")


def _draw_diagonal(chart: Chart, rows: Sequence[str], layout: _HeatMapLayout) -> Iterator[Markup]:
    """Frame the diagonal cells with equal names, by position: two classes may have one name."""
    for at, (name, other) in enumerate(zip(rows, chart.ticks, strict=False)):
        if name == other:
            yield svg.element("rect", x=layout.x(at), y=layout.y(at), width=layout.cell - 1,
                          height=layout.cell - 1, class_="own")  # fmt: skip


def _draw_names(
    chart: Chart, rows: Sequence[str], layout: _HeatMapLayout, *, turned: bool
) -> Iterator[Markup]:
    middle = layout.y(len(rows) / 2)
    yield svg.element("text", chart.y_label, x=11, y=middle, text_anchor="middle", class_="name",
                  transform=f"rotate(-90 11 {middle:.0f})")  # fmt: skip
    yield svg.element("text", chart.x_label, x=layout.left, y=13, class_="name")
    for row, name in enumerate(rows):
        y = layout.y(row + 0.5) + 3
        yield svg.element("text", _clip_name(name), x=layout.left - 4, y=y, text_anchor="end")
    for at, name in enumerate(chart.ticks):
        x, y = layout.x(at + 0.5), layout.top - 4
        if turned:
            turn = f"rotate(-90 {x + 3:.1f} {y:.1f})"
            yield svg.element("text", _clip_name(name), x=x + 3, y=y, transform=turn)
            continue
        for up, letter in enumerate(reversed(name)):  # a cell is too narrow for two
            yield svg.element("text", letter, x=x - 0.5, y=y - 10 * up, text_anchor="middle")
