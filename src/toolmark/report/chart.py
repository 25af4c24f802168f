"""Charts as SVG: lines or points over a number, bars over names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from toolmark import svg
from toolmark.report import axes, heat
from toolmark.report.axes import Scale
from toolmark.report.tables import visible
from toolmark.svg import Markup
from toolmark.types import Chart, Series

WIDTH = 480.0
HEIGHT = 280.0
BAR = 14.0
MOST_ROWS = 10_000

# scoped to its group: a style element in a page reaches beyond its drawing
CSS = (
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


def draw(chart: Chart) -> Markup:
    """Draw a chart. Points that are not finite are left out; no points give an empty frame.

    Bars lie flat, one row per name, so that names of any length can be read. Raises ValueError for
    more rows than a page could hold.
    """
    chart = shown(chart)
    if chart.kind == "heat":
        return heat.draw(chart)
    points = [list(_points(series)) for series in chart.series]
    if chart.kind in ("bar", "stack"):
        return _bars(chart, points)
    return _plot(chart, points)


def shown(chart: Chart) -> Chart:
    """Return a chart whose words show what a browser would obey."""
    return replace(
        chart,
        title=visible(chart.title),
        note=visible(chart.note),
        x_label=visible(chart.x_label),
        y_label=visible(chart.y_label),
        ticks=tuple(map(visible, chart.ticks)),
        series=tuple(replace(each, name=visible(each.name)) for each in chart.series),
    )


def _points(series: Series) -> Iterator[_Point]:
    for i, (x, y) in enumerate(zip(series.x, series.y, strict=False)):
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        low = series.low[i] if i < len(series.low) else math.nan
        high = series.high[i] if i < len(series.high) else math.nan
        known = math.isfinite(low) and math.isfinite(high)
        yield _Point(x, y, low if known else None, high if known else None)


def _extent(points: list[list[_Point]]) -> list[float]:
    """Gather every value that must be in sight, ends of error bars included."""
    values = [v for line in points for p in line for v in (p.y, p.low, p.high)]
    return [v for v in values if v is not None]


def _plot(chart: Chart, points: list[list[_Point]]) -> Markup:
    left, right = 58.0, WIDTH - 14
    key, top = axes.legend([s.name for s in chart.series], left, right)
    top += 12
    base = top + HEIGHT - 60
    y = axes.scale(_extent(points), base, top, zero=True)
    xs = [p.x for line in points for p in line]
    x = _across(chart, xs, left + 8, right - 8)
    body = [*_frame(y, left, right), *_below(chart, x, left, right, base)]
    for index, line in enumerate(points):
        shift = 0.0 if len(points) < 2 else (index - (len(points) - 1) / 2) * 3
        body += _line(chart, index, line, x, y, shift)
    height = base + (48 if chart.x_label else 28)
    return _root(chart, height, [key, *body, *_side(chart, top)])


def _across(chart: Chart, xs: list[float], start: float, end: float) -> Scale:
    if not xs:
        return axes.scale([], start, end, zero=False)
    if chart.ticks or len(set(xs)) <= 10:
        return axes.exact(xs, start, end)
    return axes.scale(xs, start, end, zero=False)


def _frame(y: Scale, left: float, right: float) -> list[Markup]:
    """Draw the level lines with their numbers."""
    parts: list[Markup] = []
    for tick in y.ticks:
        at = y.at(tick)
        kind = "axis" if tick == 0 else "grid"
        parts.append(svg.tag("line", x1=left, x2=right, y1=at, y2=at, class_=kind))
        label = axes.number(round(tick, 10))
        parts.append(svg.tag("text", label, x=left - 8, y=at + 4, text_anchor="end"))
    return parts


def _below(chart: Chart, x: Scale, left: float, right: float, base: float) -> list[Markup]:
    """Draw the ticks under the plot; where they would collide some are left out."""
    parts: list[Markup] = []
    room = (right - left) / max(1, len(x.ticks))
    last = -math.inf
    for tick in x.ticks:
        label = _tick(chart, tick)
        half = min(len(label) * axes.LETTER, 110) / 2
        at = x.at(tick)
        if at - half < last + 6:
            continue
        last = at + half
        text = axes.clip(label, max(room, 60))
        parts.append(svg.tag("text", text, x=at, y=base + 18, text_anchor="middle"))
    if chart.x_label:
        middle = (left + right) / 2
        parts.append(svg.tag("text", chart.x_label, x=middle, y=base + 40,
                             text_anchor="middle", class_="name"))  # fmt: skip
    return parts


def _tick(chart: Chart, value: float) -> str:
    named = chart.ticks and value == int(value) and 0 <= value < len(chart.ticks)
    return chart.ticks[int(value)] if named else axes.number(round(value, 10))


def _side(chart: Chart, top: float) -> list[Markup]:
    if not chart.y_label:
        return []
    middle = top + (HEIGHT - 60) / 2
    turn = f"rotate(-90 14 {middle:.0f})"
    return [svg.tag("text", chart.y_label, x=14, y=middle, transform=turn,
                    text_anchor="middle", class_="name")]  # fmt: skip


def _line(
    chart: Chart, index: int, line: list[_Point], x: Scale, y: Scale, shift: float
) -> Iterator[Markup]:
    """Draw one series: the line, the error bars, then the points over them."""
    placed = [(x.at(p.x) + shift, y.at(p.y), p) for p in line]
    if chart.kind == "line" and len(placed) > 1:
        path = " ".join(f"{at:.1f},{level:.1f}" for at, level, _ in placed)
        yield svg.tag("polyline", points=path, fill="none",
                      style=f"stroke:{axes.colour(index)};stroke-width:1.8")  # fmt: skip
    for at, _, p in placed:
        if p.low is not None and p.high is not None:
            yield _whisker(index, at, y.at(p.low), at, y.at(p.high))
    for at, level, p in placed:
        where = _tick(chart, p.x)
        title = axes.tip(chart.series[index].name, where, p.y, p.low, p.high)
        yield axes.marker(index, at, level, title=title)


def _whisker(index: int, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Draw an error bar with caps, upright or flat."""
    if x1 == x2:
        caps = f"M{x1 - 3:.1f} {y1:.1f}h6M{x1 - 3:.1f} {y2:.1f}h6"
    else:
        caps = f"M{x1:.1f} {y1 - 3:.1f}v6M{x2:.1f} {y1 - 3:.1f}v6"
    path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}{caps}"
    paint = "stroke:currentColor" if index < 0 else f"stroke:{axes.colour(index)}"
    return svg.tag("path", d=path, fill="none", class_="whisker", style=paint)


def _bars(chart: Chart, points: list[list[_Point]]) -> Markup:
    names = _names(chart, points)
    longest = max((len(name) for name in names), default=0)
    left = min(max(60.0, 14 + longest * axes.LETTER), WIDTH * 0.4)
    right = WIDTH - 26
    key, top = axes.legend([s.name for s in chart.series], left, right)
    top += 4
    stacked = chart.kind == "stack"
    band = BAR * (1 if stacked else max(1, len(points))) + 10
    base = top + band * len(names)
    x = axes.scale(_totals(points) if stacked else _extent(points), left, right, zero=True)
    body = list(_rules(x, top, base))
    for row, name in enumerate(names):
        middle = top + band * (row + 0.5) + 4
        label = axes.clip(name, left - 14)
        body.append(svg.tag("text", label, x=left - 8, y=middle, text_anchor="end"))
    ends = [0.0] * len(names)  # where the next piece of each stack begins
    for index, line in enumerate(points):
        for p in line:
            row = int(p.x)
            level = top + band * p.x + 5 + (0.0 if stacked else BAR * index)
            body += _bar(chart, index, p, x, level, names[row], ends[row])
            ends[row] += max(p.y, 0.0) if stacked else 0.0
    if chart.y_label:
        body.append(svg.tag("text", chart.y_label, x=(left + right) / 2, y=base + 38,
                            text_anchor="middle", class_="name"))  # fmt: skip
    height = base + (48 if chart.y_label else 26)
    return _root(chart, height, [key, *body])


def _names(chart: Chart, points: list[list[_Point]]) -> list[str]:
    """Return the names of the rows; a position without one shows its number."""
    rows = max((int(p.x) + 1 for line in points for p in line), default=0)
    if rows > MOST_ROWS or any(p.x < 0 for line in points for p in line):
        raise ValueError(f"a chart of {rows} rows, the limit is {MOST_ROWS}")
    extra = [str(i) for i in range(len(chart.ticks), rows)]
    return [*chart.ticks, *extra]


def _rules(x: Scale, top: float, base: float) -> Iterator[Markup]:
    for tick in x.ticks:
        at = x.at(tick)
        kind = "axis" if tick == 0 else "grid"
        yield svg.tag("line", x1=at, x2=at, y1=top, y2=base, class_=kind)
        label = axes.number(round(tick, 10))
        yield svg.tag("text", label, x=at, y=base + 18, text_anchor="middle")


def _totals(points: list[list[_Point]]) -> list[float]:
    """Add up the values at each name."""
    ends: dict[float, float] = {}
    for line in points:
        for p in line:
            ends[p.x] = ends.get(p.x, 0.0) + max(p.y, 0.0)
    return list(ends.values())


def _bar(
    chart: Chart, index: int, p: _Point, x: Scale, level: float, name: str, start: float
) -> Iterator[Markup]:
    value = max(p.y, 0.0) if chart.kind == "stack" else p.y
    zero, end = x.at(start), x.at(start + value)
    title = svg.tag("title", axes.tip(chart.series[index].name, name, p.y, p.low, p.high))
    thin = 0 if chart.kind == "stack" else 1  # a bar of nothing is still seen, a piece is not
    yield svg.tag("rect", title, x=min(zero, end), y=level, width=max(abs(end - zero), thin),
                  height=BAR - 3, rx=1.5, style=f"fill:{axes.colour(index)}")  # fmt: skip
    if p.low is not None and p.high is not None:
        middle = level + (BAR - 3) / 2
        yield _whisker(-1, x.at(p.low), middle, x.at(p.high), middle)


def _root(chart: Chart, height: float, body: list[Markup]) -> Markup:
    group = svg.tag("g", *body, class_="chart")
    return svg.root(WIDTH, height, group, label=_spoken(chart), css=CSS)


def _spoken(chart: Chart) -> str:
    """Word the chart for those who listen: title, axes and the number of points."""
    n = sum(len(series.x) for series in chart.series)
    axis = " over ".join(name for name in (chart.y_label, chart.x_label) if name)
    named = ", ".join(series.name for series in chart.series if series.name)
    return "; ".join([part for part in (chart.title, axis, named) if part] + [f"{n} points"])
