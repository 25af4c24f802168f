"""Charts with every value written next to its mark: bars, lines, pies."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import floor, log10
from typing import Literal, TypeAlias

from toolmark.generation.drawing.canvas import (
    INK_COLOURS,
    PAPER_COLOURS,
    VIVID_COLOURS,
    WHITE,
    Canvas,
    Colour,
    blend_colours,
)
from toolmark.generation.drawing.fonts import (
    SUPERSAMPLING,
    Font,
    choose_font,
    fit_font,
    random_font,
    wrap_text,
)
from toolmark.suites.m3.local.pictures.sheet_photos import render_flat, render_on_desk

# Values in one chart.
MAX_VALUES = 10
_DISTINCT_COLOURS = (*VIVID_COLOURS[:7], VIVID_COLOURS[8])

Data: TypeAlias = Sequence[tuple[str, float]]
Frame: TypeAlias = tuple[float, float, float, float]


def draw_chart(
    rng: random.Random,
    *,
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    kind: Literal["bar", "line", "pie"] = "bar",
    unit: str = "",
) -> bytes:
    """Return a PNG of a chart; each value is written at its mark by `str`, `unit` once.

    Raises ValueError for no values or more than ten, for another number of labels, and in a pie for
    values that are not all above zero.
    """
    if not 1 <= len(values) <= MAX_VALUES or len(labels) != len(values):
        raise ValueError(
            f"{len(values)} values and {len(labels)} labels: 1 to {MAX_VALUES} of both"
        )
    ground = rng.choice(PAPER_COLOURS) if rng.random() < 0.8 else (30, 34, 44)
    ink = rng.choice(INK_COLOURS) if ground[0] > 128 else (232, 236, 242)
    sheet = Canvas(rng.randint(880, 980), rng.randint(600, 700), ground)
    top = _draw_heading(rng, sheet, f"{title} ({unit})" if unit else title, ink)
    data = list(zip(labels, values, strict=True))
    match kind:
        case "bar" if min(values) < 0 or (rng.random() < 0.6 and _labels_fit(labels, sheet)):
            _draw_columns(rng, sheet, top, data, ink)
        case "bar":
            _draw_rows(rng, sheet, top, data, ink)
        case "line":
            _draw_line(rng, sheet, top, data, ink)
        case "pie":
            _draw_pie(rng, sheet, top, data, ink)
    return render_flat(sheet) if rng.random() < 0.5 else render_on_desk(rng, sheet, tilt=1.6)


def _draw_heading(rng: random.Random, sheet: Canvas, title: str, ink: Colour) -> float:
    """Write the title; return the y position at which the drawing may begin."""
    font = choose_font(random_font(rng, rng.randint(30, 36), bold=True), title)
    middle = rng.random() < 0.5
    lines = wrap_text(title, font, sheet.width - 90)
    for row, line in enumerate(lines):
        x = sheet.width / 2 if middle else 40
        sheet.text((x, 28 + row * font.line_height), line, font, ink, "ma" if middle else "la")
    return 28 + len(lines) * font.line_height + 24


def _format_value(value: float) -> str:
    return f"{value:.10g}"


def _grid_step(span: float) -> float:
    """Return a round distance for about four grid lines over `span`."""
    power = 10.0 ** floor(log10(span / 4))
    return next(power * step for step in (1, 2, 2.5, 5, 10) if power * step >= span / 4 * 0.999)


def _value_range(data: Data) -> tuple[float, float]:
    """Return round limits that include zero and all values, with room for the written values."""
    low = min(0.0, *(float(value) for _, value in data))
    high = max(0.0, *(float(value) for _, value in data))
    if low == high:
        return 0.0, 1.0
    step = _grid_step(high - low)
    below, above = floor(low / step), -floor(-high / step)
    below -= low < 0 and low / step - below < 0.4
    above += high > 0 and above - high / step < 0.4
    return below * step, above * step


def _draw_grid(sheet: Canvas, frame: Frame, span: tuple[float, float], ink: Colour) -> None:
    """Draw horizontal grid lines with their numbers left of the frame."""
    left, _, right, _ = frame
    step = _grid_step(span[1] - span[0])
    for tick in range(round((span[1] - span[0]) / step) + 1):
        value = span[0] + tick * step
        y = _value_y(value, frame, span)
        sheet.polyline([(left, y), (right, y)], blend_colours(ink, sheet.background, 0.8), 1.5)
        grey = blend_colours(ink, sheet.background, 0.35)
        sheet.text((left - 12, y), _format_value(round(value, 9)), Font("plain", 20), grey, "rm")
    zero = _value_y(0.0, frame, span)
    sheet.polyline([(left, zero), (right, zero)], ink, 2)


def _value_y(value: float, frame: Frame, span: tuple[float, float]) -> float:
    return frame[3] - (value - span[0]) / (span[1] - span[0]) * (frame[3] - frame[1])


def _chart_frame(sheet: Canvas, top: float, span: tuple[float, float]) -> Frame:
    widest = max(
        Font("plain", 20).text_width(_format_value(round(end, 9))) for end in (*span, sum(span) / 3)
    )
    return 44 + max(widest, 50), top + 10, sheet.width - 36, sheet.height - 92


def _labels_fit(labels: Sequence[str], sheet: Canvas) -> bool:
    """Tell whether the labels fit below columns."""
    room = (sheet.width - 140) / len(labels) - 8
    return all(choose_font(Font(size=21), label).text_width(label) <= room for label in labels)


def _draw_columns(rng: random.Random, sheet: Canvas, top: float, data: Data, ink: Colour) -> None:
    span = _value_range(data)
    frame = _chart_frame(sheet, top, span)
    _draw_grid(sheet, frame, span, ink)
    slot = (frame[2] - frame[0]) / len(data)
    half = slot * rng.uniform(0.26, 0.38)
    colours = _choose_colours(rng, len(data), sheet.background, one=rng.random() < 0.6)
    for place, ((label, value), colour) in enumerate(zip(data, colours, strict=True)):
        x = frame[0] + (place + 0.5) * slot
        ends = sorted((_value_y(value, frame, span), _value_y(0.0, frame, span)))
        sheet.rectangle((x - half, ends[0], x + half, ends[1]), colour)
        font = fit_font(_format_value(value), Font(size=24, bold=True), slot - 4, min_size=15)
        above = value >= 0
        spot = (x, ends[0] - 5) if above else (x, ends[1] + 5)
        sheet.text(spot, _format_value(value), font, ink, "md" if above else "ma")
        small = fit_font(label, Font(size=21), slot - 8, min_size=16)
        sheet.text((x, frame[3] + 14), label, small, ink, "ma")


def _draw_rows(rng: random.Random, sheet: Canvas, top: float, data: Data, ink: Colour) -> None:
    """Draw horizontal bars, with the labels in a column before them."""
    fonts = [fit_font(label, Font(size=23), 300) for label, _ in data]
    left = 40 + max(font.text_width(label) for font, (label, _) in zip(fonts, data, strict=True))
    widest = max(Font(size=24, bold=True).text_width(_format_value(value)) for _, value in data)
    room = sheet.width - left - widest - 70
    slot = (sheet.height - top - 40) / len(data)
    half = slot * rng.uniform(0.26, 0.38)
    colours = _choose_colours(rng, len(data), sheet.background, one=rng.random() < 0.6)
    most = max(max(float(value) for _, value in data), 1e-9)
    for place, ((label, value), colour) in enumerate(zip(data, colours, strict=True)):
        y = top + (place + 0.5) * slot
        end = left + 18 + room * float(value) / most
        sheet.rectangle((left + 18, y - half, max(end, left + 20), y + half), colour)
        sheet.text((left, y), label, fonts[place], ink, "rm")
        sheet.text((end + 12, y), _format_value(value), Font(size=24, bold=True), ink, "lm")
    sheet.polyline([(left + 18, top), (left + 18, sheet.height - 40)], ink, 2)


def _draw_line(rng: random.Random, sheet: Canvas, top: float, data: Data, ink: Colour) -> None:
    span = _value_range(data)
    frame = _chart_frame(sheet, top, span)
    _draw_grid(sheet, frame, span, ink)
    slot = (frame[2] - frame[0]) / len(data)
    spots = [
        (frame[0] + (place + 0.5) * slot, _value_y(value, frame, span))
        for place, (_, value) in enumerate(data)
    ]
    (colour,) = _choose_colours(rng, 1, sheet.background, one=True)
    sheet.polyline(spots, colour, rng.randint(3, 6))
    radius, round_by = rng.randint(6, 9), rng.choice((0, 9))
    for place, ((x, y), (label, value)) in enumerate(zip(spots, data, strict=True)):
        sheet.rectangle((x - radius, y - radius, x + radius, y + radius), colour, round_by=round_by)
        font = fit_font(_format_value(value), Font(size=24, bold=True), slot - 4, min_size=15)
        wide, high = font.text_width(_format_value(value)) / 2 + 3, font.size * 0.5
        away = _label_side([height for _, height in spots], place) * (radius + 22.0)
        # The number would overlap the labels.
        if y + away + high > frame[3] - 4:
            away = -away
        sheet.rectangle((x - wide, y + away - high, x + wide, y + away + high), sheet.background)
        sheet.text((x, y + away), _format_value(value), font, ink, "mm")
        # Neighbouring labels are on two levels if they would touch.
        tight = choose_font(Font(size=21), label).text_width(label) > slot - 8
        low = 26 if tight and place % 2 else 0
        small = fit_font(label, Font(size=21), 2 * slot - 12, min_size=16)
        sheet.text((x, frame[3] + 14 + low), label, small, ink, "ma")


def _label_side(heights: Sequence[float], place: int) -> int:
    """Return -1 if a number fits better above its point, 1 if below, to avoid the line."""
    before = heights[place - 1] if place else heights[place]
    after = heights[place + 1] if place + 1 < len(heights) else heights[place]
    return 1 if before + after < 2 * heights[place] else -1


def _draw_pie(rng: random.Random, sheet: Canvas, top: float, data: Data, ink: Colour) -> None:
    """Draw slices clockwise from the top, and a key with the label and value of each."""
    if any(value <= 0 for _, value in data):
        raise ValueError("a pie has values above zero")
    side = min(sheet.height - top - 36, sheet.width * 0.46)
    left = 44 if rng.random() < 0.5 else sheet.width - side - 44
    box = [
        left * SUPERSAMPLING,
        top * SUPERSAMPLING,
        (left + side) * SUPERSAMPLING,
        (top + side) * SUPERSAMPLING,
    ]
    colours = _choose_colours(rng, len(data), sheet.background, one=False)
    total, begin = sum(float(value) for _, value in data), -90.0
    for (_, value), colour in zip(data, colours, strict=True):
        end = begin + 360 * float(value) / total
        sheet.pen.pieslice(box, begin, end, colour, sheet.background, 2 * SUPERSAMPLING)
        begin = end
    if rng.random() < 0.4:
        hole = side * rng.uniform(0.18, 0.28) * SUPERSAMPLING
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        sheet.pen.ellipse((x - hole, y - hole, x + hole, y + hole), sheet.background)
    _draw_legend(
        sheet,
        (left + side + 40 if left < 60 else 44, top, sheet.width - side - 128),
        data,
        colours,
        ink,
    )


def _draw_legend(
    sheet: Canvas,
    place: tuple[float, float, float],
    data: Data,
    colours: Sequence[Colour],
    ink: Colour,
) -> None:
    """Write swatch, label and value of each slice below each other; `place`: x, y, width."""
    x, y, room = place
    widest = max(Font(size=25, bold=True).text_width(_format_value(value)) for _, value in data)
    slot = min(62.0, (sheet.height - y - 40) / len(data))
    y += max(0.0, (sheet.height - y - 40 - slot * len(data)) / 2)
    for row, ((label, value), colour) in enumerate(zip(data, colours, strict=True)):
        middle = y + (row + 0.5) * slot
        sheet.rectangle((x, middle - 13, x + 26, middle + 13), colour, round_by=4)
        font = fit_font(label, Font(size=25), room - widest - 56)
        sheet.text((x + 38, middle), label, font, ink, "lm")
        sheet.text((x + room, middle), _format_value(value), Font(size=25, bold=True), ink, "rm")


def _choose_colours(rng: random.Random, n: int, ground: Colour, *, one: bool) -> list[Colour]:
    """Return n different colours, or one for all; lighter ones on a dark ground."""
    # Red next to pink and blue next to navy are used only if there are too few other colours.
    pool = VIVID_COLOURS if n > len(_DISTINCT_COLOURS) else _DISTINCT_COLOURS
    drawn = [rng.choice(VIVID_COLOURS)] * n if one else rng.sample(pool, n)
    return [blend_colours(colour, WHITE, 0.2) if ground[0] < 128 else colour for colour in drawn]
