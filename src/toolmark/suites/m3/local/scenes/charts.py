"""Charts whose every value stands beside its mark: bars, lines, pies."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import floor, log10
from typing import Literal, TypeAlias

from toolmark.draw.canvas import INKS, PAPERS, VIVID, WHITE, Colour, Sheet, blend
from toolmark.draw.fonts import FINE, Font, face, fit, letters, wrap
from toolmark.suites.m3.local.scenes.photo import flat, laid

MOST = 10  # values in one chart
_APART = (*VIVID[:7], VIVID[8])

Data: TypeAlias = Sequence[tuple[str, float]]
Frame: TypeAlias = tuple[float, float, float, float]


def chart(
    rng: random.Random,
    *,
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    kind: Literal["bar", "line", "pie"] = "bar",
    unit: str = "",
) -> bytes:
    """Return a PNG of a chart. Each value is written at its mark, as `str` of it, `unit` once.

    Raises ValueError for no or more than ten values, for labels of another number, and in a pie
    for values that are not all above zero.
    """
    if not 1 <= len(values) <= MOST or len(labels) != len(values):
        raise ValueError(f"{len(values)} values and {len(labels)} labels: 1 to {MOST} of both")
    ground = rng.choice(PAPERS) if rng.random() < 0.8 else (30, 34, 44)
    ink = rng.choice(INKS) if ground[0] > 128 else (232, 236, 242)
    sheet = Sheet(rng.randint(880, 980), rng.randint(600, 700), ground)
    top = _heading(rng, sheet, f"{title} ({unit})" if unit else title, ink)
    data = list(zip(labels, values, strict=True))
    match kind:
        case "bar" if min(values) < 0 or (rng.random() < 0.6 and _stand(labels, sheet)):
            _columns(rng, sheet, top, data, ink)
        case "bar":
            _rows(rng, sheet, top, data, ink)
        case "line":
            _line(rng, sheet, top, data, ink)
        case "pie":
            _pie(rng, sheet, top, data, ink)
    return flat(sheet) if rng.random() < 0.5 else laid(rng, sheet, tilt=1.6)


def _heading(rng: random.Random, sheet: Sheet, title: str, ink: Colour) -> float:
    """Write the title; return where the drawing may begin."""
    font = letters(face(rng, rng.randint(30, 36), bold=True), title)
    middle = rng.random() < 0.5
    lines = wrap(title, font, sheet.width - 90)
    for row, line in enumerate(lines):
        x = sheet.width / 2 if middle else 40
        sheet.text((x, 28 + row * font.leading), line, font, ink, "ma" if middle else "la")
    return 28 + len(lines) * font.leading + 24


def _written(value: float) -> str:
    return f"{value:.10g}"


def _step(span: float) -> float:
    """Return a round distance for about four grid lines over `span`."""
    power = 10.0 ** floor(log10(span / 4))
    return next(power * step for step in (1, 2, 2.5, 5, 10) if power * step >= span / 4 * 0.999)


def _range(data: Data) -> tuple[float, float]:
    """Return round ends that hold zero and all values, with room for what is written at them."""
    low = min(0.0, *(float(value) for _, value in data))
    high = max(0.0, *(float(value) for _, value in data))
    if low == high:
        return 0.0, 1.0
    step = _step(high - low)
    below, above = floor(low / step), -floor(-high / step)
    below -= low < 0 and low / step - below < 0.4
    above += high > 0 and above - high / step < 0.4
    return below * step, above * step


def _grid(sheet: Sheet, frame: Frame, span: tuple[float, float], ink: Colour) -> None:
    """Draw horizontal grid lines with their numbers left of the frame."""
    left, _, right, _ = frame
    step = _step(span[1] - span[0])
    for tick in range(round((span[1] - span[0]) / step) + 1):
        value = span[0] + tick * step
        y = _height(value, frame, span)
        sheet.stroke([(left, y), (right, y)], blend(ink, sheet.ground, 0.8), 1.5)
        grey = blend(ink, sheet.ground, 0.35)
        sheet.text((left - 12, y), _written(round(value, 9)), Font("plain", 20), grey, "rm")
    zero = _height(0.0, frame, span)
    sheet.stroke([(left, zero), (right, zero)], ink, 2)


def _height(value: float, frame: Frame, span: tuple[float, float]) -> float:
    return frame[3] - (value - span[0]) / (span[1] - span[0]) * (frame[3] - frame[1])


def _frame(sheet: Sheet, top: float, span: tuple[float, float]) -> Frame:
    widest = max(Font("plain", 20).width(_written(round(end, 9))) for end in (*span, sum(span) / 3))
    return 44 + max(widest, 50), top + 10, sheet.width - 36, sheet.height - 92


def _stand(labels: Sequence[str], sheet: Sheet) -> bool:
    """Say whether the labels fit below columns."""
    room = (sheet.width - 140) / len(labels) - 8
    return all(letters(Font(size=21), label).width(label) <= room for label in labels)


def _columns(rng: random.Random, sheet: Sheet, top: float, data: Data, ink: Colour) -> None:
    span = _range(data)
    frame = _frame(sheet, top, span)
    _grid(sheet, frame, span, ink)
    slot = (frame[2] - frame[0]) / len(data)
    half = slot * rng.uniform(0.26, 0.38)
    colours = _colours(rng, len(data), sheet.ground, one=rng.random() < 0.6)
    for place, ((label, value), colour) in enumerate(zip(data, colours, strict=True)):
        x = frame[0] + (place + 0.5) * slot
        ends = sorted((_height(value, frame, span), _height(0.0, frame, span)))
        sheet.box((x - half, ends[0], x + half, ends[1]), colour)
        font = fit(_written(value), Font(size=24, bold=True), slot - 4, least=15)
        above = value >= 0
        spot = (x, ends[0] - 5) if above else (x, ends[1] + 5)
        sheet.text(spot, _written(value), font, ink, "md" if above else "ma")
        small = fit(label, Font(size=21), slot - 8, least=16)
        sheet.text((x, frame[3] + 14), label, small, ink, "ma")


def _rows(rng: random.Random, sheet: Sheet, top: float, data: Data, ink: Colour) -> None:
    """Draw horizontal bars, the labels in a column before them."""
    fonts = [fit(label, Font(size=23), 300) for label, _ in data]
    left = 40 + max(font.width(label) for font, (label, _) in zip(fonts, data, strict=True))
    widest = max(Font(size=24, bold=True).width(_written(value)) for _, value in data)
    room = sheet.width - left - widest - 70
    slot = (sheet.height - top - 40) / len(data)
    half = slot * rng.uniform(0.26, 0.38)
    colours = _colours(rng, len(data), sheet.ground, one=rng.random() < 0.6)
    most = max(max(float(value) for _, value in data), 1e-9)
    for place, ((label, value), colour) in enumerate(zip(data, colours, strict=True)):
        y = top + (place + 0.5) * slot
        end = left + 18 + room * float(value) / most
        sheet.box((left + 18, y - half, max(end, left + 20), y + half), colour)
        sheet.text((left, y), label, fonts[place], ink, "rm")
        sheet.text((end + 12, y), _written(value), Font(size=24, bold=True), ink, "lm")
    sheet.stroke([(left + 18, top), (left + 18, sheet.height - 40)], ink, 2)


def _line(rng: random.Random, sheet: Sheet, top: float, data: Data, ink: Colour) -> None:
    span = _range(data)
    frame = _frame(sheet, top, span)
    _grid(sheet, frame, span, ink)
    slot = (frame[2] - frame[0]) / len(data)
    spots = [
        (frame[0] + (place + 0.5) * slot, _height(value, frame, span))
        for place, (_, value) in enumerate(data)
    ]
    (colour,) = _colours(rng, 1, sheet.ground, one=True)
    sheet.stroke(spots, colour, rng.randint(3, 6))
    radius, round_by = rng.randint(6, 9), rng.choice((0, 9))
    for place, ((x, y), (label, value)) in enumerate(zip(spots, data, strict=True)):
        sheet.box((x - radius, y - radius, x + radius, y + radius), colour, round_by=round_by)
        font = fit(_written(value), Font(size=24, bold=True), slot - 4, least=15)
        wide, high = font.width(_written(value)) / 2 + 3, font.size * 0.5
        away = _side([height for _, height in spots], place) * (radius + 22.0)
        if y + away + high > frame[3] - 4:  # it would stand among the labels
            away = -away
        sheet.box((x - wide, y + away - high, x + wide, y + away + high), sheet.ground)
        sheet.text((x, y + away), _written(value), font, ink, "mm")
        # neighbours stand on two levels where they would touch
        tight = letters(Font(size=21), label).width(label) > slot - 8
        low = 26 if tight and place % 2 else 0
        small = fit(label, Font(size=21), 2 * slot - 12, least=16)
        sheet.text((x, frame[3] + 14 + low), label, small, ink, "ma")


def _side(heights: Sequence[float], place: int) -> int:
    """Return -1 where a number stands better above its point, 1 where below: off the line."""
    before = heights[place - 1] if place else heights[place]
    after = heights[place + 1] if place + 1 < len(heights) else heights[place]
    return 1 if before + after < 2 * heights[place] else -1


def _pie(rng: random.Random, sheet: Sheet, top: float, data: Data, ink: Colour) -> None:
    """Draw slices, clockwise from above, and a key with the label and the value of each."""
    if any(value <= 0 for _, value in data):
        raise ValueError("a pie has values above zero")
    side = min(sheet.height - top - 36, sheet.width * 0.46)
    left = 44 if rng.random() < 0.5 else sheet.width - side - 44
    box = [left * FINE, top * FINE, (left + side) * FINE, (top + side) * FINE]
    colours = _colours(rng, len(data), sheet.ground, one=False)
    total, begin = sum(float(value) for _, value in data), -90.0
    for (_, value), colour in zip(data, colours, strict=True):
        end = begin + 360 * float(value) / total
        sheet.pen.pieslice(box, begin, end, colour, sheet.ground, 2 * FINE)
        begin = end
    if rng.random() < 0.4:
        hole = side * rng.uniform(0.18, 0.28) * FINE
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        sheet.pen.ellipse((x - hole, y - hole, x + hole, y + hole), sheet.ground)
    _key(
        sheet,
        (left + side + 40 if left < 60 else 44, top, sheet.width - side - 128),
        data,
        colours,
        ink,
    )


def _key(
    sheet: Sheet,
    place: tuple[float, float, float],
    data: Data,
    colours: Sequence[Colour],
    ink: Colour,
) -> None:
    """Write swatch, label and value of each slice below each other; `place`: x, y, width."""
    x, y, room = place
    widest = max(Font(size=25, bold=True).width(_written(value)) for _, value in data)
    slot = min(62.0, (sheet.height - y - 40) / len(data))
    y += max(0.0, (sheet.height - y - 40 - slot * len(data)) / 2)
    for row, ((label, value), colour) in enumerate(zip(data, colours, strict=True)):
        middle = y + (row + 0.5) * slot
        sheet.box((x, middle - 13, x + 26, middle + 13), colour, round_by=4)
        font = fit(label, Font(size=25), room - widest - 56)
        sheet.text((x + 38, middle), label, font, ink, "lm")
        sheet.text((x + room, middle), _written(value), Font(size=25, bold=True), ink, "rm")


def _colours(rng: random.Random, n: int, ground: Colour, *, one: bool) -> list[Colour]:
    """Draw colours that differ, or one for all; lighter ones on a dark ground."""
    # red beside pink and blue beside navy only where there is no choice
    pool = VIVID if n > len(_APART) else _APART
    drawn = [rng.choice(VIVID)] * n if one else rng.sample(pool, n)
    return [blend(colour, WHITE, 0.2) if ground[0] < 128 else colour for colour in drawn]
