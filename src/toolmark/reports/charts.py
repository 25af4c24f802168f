"""Charts as SVG: lines or points over a number, bars over names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from toolmark.core import number_format, svg
from toolmark.core.records import Chart, Series
from toolmark.core.svg import Markup
from toolmark.reports import chart_axes, heat_map
from toolmark.reports.chart_axes import Scale
from toolmark.reports.table_format import visible_text

CHART_WIDTH = 480.0
CHART_HEIGHT = 280.0
BAR_HEIGHT = 14.0
MOST_ROWS = 10_000

# scoped to its group: a style element in a page also applies outside its drawing
CHART_CSS = (
    ".chart text{font:13px system-ui,sans-serif;fill:currentColor}"
    ".chart .grid{stroke:currentColor;stroke-opacity:.14}"
    ".chart .axis{stroke:currentColor;stroke-opacity:.55}"
    ".chart .name{fill-opacity:.75}.chart .whisker{stroke-width:1.4}"
)


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    y: float
    low: float | None
    high: float | None


def draw_chart(chart: Chart) -> Markup:
    """Draw a chart. Points that are not finite are omitted; no points give an empty frame.

    Bars are horizontal, one row per name, so that names of any length are readable. Raises
    ValueError for more than MOST_ROWS rows.
    """
    chart = visible_chart(chart)
    if chart.kind == "heat":
        return heat_map.draw_heat_map(chart)
    points = [list(_finite_points(series)) for series in chart.series]
    if chart.kind in ("bar", "stack"):
        return _draw_bars(chart, points)
    return _draw_plot(chart, points)


def visible_chart(chart: Chart) -> Chart:
    """Return a chart with the control characters of its texts made visible."""
    return replace(
        chart,
        title=visible_text(chart.title),
        note=visible_text(chart.note),
        x_label=visible_text(chart.x_label),
        y_label=visible_text(chart.y_label),
        ticks=tuple(map(visible_text, chart.ticks)),
        series=tuple(replace(each, name=visible_text(each.name)) for each in chart.series),
    )


def _finite_points(series: Series) -> Iterator[_Point]:
    for i, (x, y) in enumerate(zip(series.x, series.y, strict=False)):
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        low = series.low[i] if i < len(series.low) else math.nan
        high = series.high[i] if i < len(series.high) else math.nan
        has_interval = math.isfinite(low) and math.isfinite(high)
        yield _Point(x, y, low if has_interval else None, high if has_interval else None)


def _visible_values(points: list[list[_Point]]) -> list[float]:
    """Return all values that must be visible, including the ends of error bars."""
    values = [v for line in points for p in line for v in (p.y, p.low, p.high)]
    return [v for v in values if v is not None]


def _draw_plot(chart: Chart, points: list[list[_Point]]) -> Markup:
    left, right = 58.0, CHART_WIDTH - 14
    key, top = chart_axes.draw_legend([s.name for s in chart.series], left, right)
    top += 12
    base = top + CHART_HEIGHT - 60
    y = chart_axes.fit_scale(_visible_values(points), base, top, zero=True)
    xs = [p.x for line in points for p in line]
    x = _horizontal_scale(chart, xs, left + 8, right - 8)
    body = [*_draw_levels(y, left, right), *_draw_ticks(chart, x, left, right, base)]
    for index, line in enumerate(points):
        shift = 0.0 if len(points) < 2 else (index - (len(points) - 1) / 2) * 3
        body += _draw_series(chart, index, line, x, y, shift)
    height = base + (48 if chart.x_label else 28)
    return _draw_root(chart, height, [key, *body, *_draw_vertical_label(chart, top)])


def _horizontal_scale(chart: Chart, xs: list[float], start: float, end: float) -> Scale:
    if not xs:
        return chart_axes.fit_scale([], start, end, zero=False)
    if chart.ticks or len(set(xs)) <= 10:
        return chart_axes.fit_exact_scale(xs, start, end)
    return chart_axes.fit_scale(xs, start, end, zero=False)


def _draw_levels(y: Scale, left: float, right: float) -> list[Markup]:
    """Draw the level lines with their numbers."""
    parts: list[Markup] = []
    for tick in y.ticks:
        at = y.to_pixel(tick)
        kind = "axis" if tick == 0 else "grid"
        parts.append(svg.element("line", x1=left, x2=right, y1=at, y2=at, class_=kind))
        label = number_format.format_short(round(tick, 10))
        parts.append(svg.element("text", label, x=left - 8, y=at + 4, text_anchor="end"))
    return parts


def _draw_ticks(chart: Chart, x: Scale, left: float, right: float, base: float) -> list[Markup]:
    """Draw the ticks under the plot; omit those that would collide."""
    parts: list[Markup] = []
    tick_width = (right - left) / max(1, len(x.ticks))
    last_end = -math.inf
    for tick in x.ticks:
        label = _tick_label(chart, tick)
        half = min(len(label) * chart_axes.LETTER_PIXELS, 110) / 2
        at = x.to_pixel(tick)
        if at - half < last_end + 6:
            continue
        last_end = at + half
        text = chart_axes.clip_label(label, max(tick_width, 60))
        parts.append(svg.element("text", text, x=at, y=base + 18, text_anchor="middle"))
    if chart.x_label:
        middle = (left + right) / 2
        parts.append(svg.element("text", chart.x_label, x=middle, y=base + 40,
                             text_anchor="middle", class_="name"))  # fmt: skip
    return parts


def _tick_label(chart: Chart, value: float) -> str:
    has_name = chart.ticks and value == int(value) and 0 <= value < len(chart.ticks)
    return chart.ticks[int(value)] if has_name else number_format.format_short(round(value, 10))


def _draw_vertical_label(chart: Chart, top: float) -> list[Markup]:
    if not chart.y_label:
        return []
    middle = top + (CHART_HEIGHT - 60) / 2
    turn = f"rotate(-90 14 {middle:.0f})"
    return [svg.element("text", chart.y_label, x=14, y=middle, transform=turn,
                    text_anchor="middle", class_="name")]  # fmt: skip


def _draw_series(
    chart: Chart, index: int, line: list[_Point], x: Scale, y: Scale, shift: float
) -> Iterator[Markup]:
    """Draw one series: the line, the error bars, then the points over them."""
    placed = [(x.to_pixel(p.x) + shift, y.to_pixel(p.y), p) for p in line]
    if chart.kind == "line" and len(placed) > 1:
        path = " ".join(f"{at:.1f},{level:.1f}" for at, level, _ in placed)
        yield svg.element(
            "polyline",
            points=path,
            fill="none",
            style=f"stroke:{chart_axes.series_colour(index)};stroke-width:1.8",
        )
    for at, _, p in placed:
        if p.low is not None and p.high is not None:
            yield _draw_error_bar(index, at, y.to_pixel(p.low), at, y.to_pixel(p.high))
    for at, level, p in placed:
        where = _tick_label(chart, p.x)
        title = chart_axes.tooltip_text(chart.series[index].name, where, p.y, p.low, p.high)
        yield chart_axes.draw_marker(index, at, level, title=title)


def _draw_error_bar(index: int, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Draw an error bar with caps, vertical or horizontal."""
    if x1 == x2:
        caps = f"M{x1 - 3:.1f} {y1:.1f}h6M{x1 - 3:.1f} {y2:.1f}h6"
    else:
        caps = f"M{x1:.1f} {y1 - 3:.1f}v6M{x2:.1f} {y1 - 3:.1f}v6"
    path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}{caps}"
    paint = "stroke:currentColor" if index < 0 else f"stroke:{chart_axes.series_colour(index)}"
    return svg.element("path", d=path, fill="none", class_="whisker", style=paint)


def _draw_bars(chart: Chart, points: list[list[_Point]]) -> Markup:
    names = _row_names(chart, points)
    max_length = max((len(name) for name in names), default=0)
    left = min(max(60.0, 14 + max_length * chart_axes.LETTER_PIXELS), CHART_WIDTH * 0.4)
    right = CHART_WIDTH - 26
    key, top = chart_axes.draw_legend([s.name for s in chart.series], left, right)
    top += 4
    stacked = chart.kind == "stack"
    band = BAR_HEIGHT * (1 if stacked else max(1, len(points))) + 10
    base = top + band * len(names)
    x = chart_axes.fit_scale(
        _stack_totals(points) if stacked else _visible_values(points), left, right, zero=True
    )
    body = list(_draw_grid_lines(x, top, base))
    for row, name in enumerate(names):
        middle = top + band * (row + 0.5) + 4
        label = chart_axes.clip_label(name, left - 14)
        body.append(svg.element("text", label, x=left - 8, y=middle, text_anchor="end"))
    ends = [0.0] * len(names)  # where the next piece of each stack begins
    for index, line in enumerate(points):
        for p in line:
            row = int(p.x)
            level = top + band * p.x + 5 + (0.0 if stacked else BAR_HEIGHT * index)
            body += _draw_bar(chart, index, p, x, level, names[row], ends[row])
            ends[row] += max(p.y, 0.0) if stacked else 0.0
    if chart.y_label:
        body.append(svg.element("text", chart.y_label, x=(left + right) / 2, y=base + 38,
                            text_anchor="middle", class_="name"))  # fmt: skip
    height = base + (48 if chart.y_label else 26)
    return _draw_root(chart, height, [key, *body])


def _row_names(chart: Chart, points: list[list[_Point]]) -> list[str]:
    """Return the names of the rows; a position without a name shows its number."""
    rows = max((int(p.x) + 1 for line in points for p in line), default=0)
    if rows > MOST_ROWS or any(p.x < 0 for line in points for p in line):
        raise ValueError(f"a chart of {rows} rows, the limit is {MOST_ROWS}")
    extra = [str(i) for i in range(len(chart.ticks), rows)]
    return [*chart.ticks, *extra]


def _draw_grid_lines(x: Scale, top: float, base: float) -> Iterator[Markup]:
    for tick in x.ticks:
        at = x.to_pixel(tick)
        kind = "axis" if tick == 0 else "grid"
        yield svg.element("line", x1=at, x2=at, y1=top, y2=base, class_=kind)
        label = number_format.format_short(round(tick, 10))
        yield svg.element("text", label, x=at, y=base + 18, text_anchor="middle")


def _stack_totals(points: list[list[_Point]]) -> list[float]:
    """Return the sum of the values at each name."""
    ends: dict[float, float] = {}
    for line in points:
        for p in line:
            ends[p.x] = ends.get(p.x, 0.0) + max(p.y, 0.0)
    return list(ends.values())


def _draw_bar(
    chart: Chart, index: int, p: _Point, x: Scale, level: float, name: str, start: float
) -> Iterator[Markup]:
    value = max(p.y, 0.0) if chart.kind == "stack" else p.y
    zero, end = x.to_pixel(start), x.to_pixel(start + value)
    title = svg.element(
        "title", chart_axes.tooltip_text(chart.series[index].name, name, p.y, p.low, p.high)
    )
    min_width = 0 if chart.kind == "stack" else 1  # 0 is visible only in a bar
    yield svg.element(
        "rect",
        title,
        x=min(zero, end),
        y=level,
        width=max(abs(end - zero), min_width),
        height=BAR_HEIGHT - 3,
        rx=1.5,
        style=f"fill:{chart_axes.series_colour(index)}",
    )
    if p.low is not None and p.high is not None:
        middle = level + (BAR_HEIGHT - 3) / 2
        yield _draw_error_bar(-1, x.to_pixel(p.low), middle, x.to_pixel(p.high), middle)


def _draw_root(chart: Chart, height: float, body: list[Markup]) -> Markup:
    group = svg.element("g", *body, class_="chart")
    return svg.svg_element(
        CHART_WIDTH, height, group, label=_accessible_label(chart), css=CHART_CSS
    )


def _accessible_label(chart: Chart) -> str:
    """Describe the chart for screen readers: title, axes and the number of points."""
    n = sum(len(series.x) for series in chart.series)
    axis = " over ".join(name for name in (chart.y_label, chart.x_label) if name)
    named = ", ".join(series.name for series in chart.series if series.name)
    return "; ".join([part for part in (chart.title, axis, named) if part] + [f"{n} points"])
