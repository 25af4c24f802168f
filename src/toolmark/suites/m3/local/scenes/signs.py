"""What hangs or stands about: slides, shelves, boards; and plain shapes to edit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil

from PIL import Image, ImageColor, ImageDraw, ImageFont

from toolmark.draw.canvas import INKS, PAPERS, VIVID, WHITE, Colour, Sheet, blend
from toolmark.draw.fonts import Font, face, fit, letters, wrap
from toolmark.suites.m3.local.scenes.photo import flat, laid, png

_NOTES: tuple[Colour, ...] = (
    (255, 240, 150), (255, 214, 165), (202, 240, 190), (190, 226, 250), (250, 206, 224),
)  # fmt: skip


def slide(rng: random.Random, *, title: str, bullets: Sequence[str]) -> bytes:
    """Return a PNG of a slide of a presentation, 16:9. Raises ValueError for more than fits."""
    accent, dark = rng.choice(VIVID), rng.random() < 0.3
    ground = blend(accent, (12, 14, 20), 0.85) if dark else rng.choice(PAPERS)
    ink = (238, 240, 245) if dark else rng.choice(INKS)
    sheet = Sheet(1000, 562, ground)
    look = rng.choice(("band", "bar", "rule"))
    left = 90.0 if look == "bar" else 60.0
    heading = letters(face(rng, rng.randint(38, 46), bold=True), title)
    tops = wrap(title, heading, 1000 - left - 60)
    base = 40 + len(tops) * heading.leading
    if look == "band":
        sheet.box((0, 0, 1000, base + 16), accent)
    elif look == "bar":
        sheet.box((0, 0, 44, 562), accent)
    else:
        sheet.box((left, base + 6, left + 160, base + 14), accent)
    sheet.lines((left, 32), tops, heading, WHITE if look == "band" else ink)
    _bullets(
        rng, sheet, (left, base + 46), bullets, (ink, blend(accent, WHITE, 0.35 if dark else 0))
    )
    return flat(sheet) if rng.random() < 0.65 else laid(rng, sheet, tilt=1.5, bend=0.02)


def _bullets(
    rng: random.Random,
    sheet: Sheet,
    place: tuple[float, float],
    bullets: Sequence[str],
    colours: tuple[Colour, Colour],
) -> None:
    """Write the bullets as large as the room allows."""
    x, y = place
    base = face(rng, rng.randint(30, 34))
    while True:
        base = letters(base, *bullets)
        folded = [wrap(bullet, base, sheet.width - x - 90) for bullet in bullets]
        gap = base.size * 0.45
        high = sum(len(lines) * base.leading + gap for lines in folded)
        if y + high <= sheet.height - 16:
            break
        if base.size < 20:
            raise ValueError(f"{len(bullets)} bullets do not fit a slide")
        base = base.at(base.size * 0.93)
    mark = rng.choice((0.0, 10.0))
    for lines in folded:
        middle = y + base.size * 0.58
        sheet.box((x + 4, middle - 6, x + 16, middle + 6), colours[1], round_by=mark)
        y = sheet.lines((x + 36, y), lines, base, colours[0])
        y += gap


def shelf(rng: random.Random, *, goods: Sequence[tuple[str, str]]) -> bytes:
    """Return a PNG of a shelf: packages with their names, and a price tag below each.

    Raises ValueError for no goods and for more than 12.
    """
    if not 1 <= len(goods) <= 12:
        raise ValueError(f"{len(goods)} goods: a shelf holds 1 to 12")
    across = min(len(goods), rng.choice((3, 4)))
    levels = ceil(len(goods) / across)
    wood = rng.choice(((150, 112, 76), (120, 122, 128), (196, 176, 148), (88, 66, 52)))
    wall = blend(wood, WHITE, rng.uniform(0.62, 0.82))
    slot, high = 232, 240
    sheet = Sheet(across * slot + 40, levels * high + 40, wall)
    colours = [VIVID[place % len(VIVID)] for place in rng.sample(range(len(VIVID)), len(VIVID))]
    for level in range(levels):
        board = 20 + level * high + 168
        sheet.box((0, board, sheet.width, board + 14), wood)
        sheet.box((0, board + 14, sheet.width, board + 19), blend(wood, (0, 0, 0), 0.35))
    for place, (name, price) in enumerate(goods):
        x = 20 + (place % across + 0.5) * slot
        board = 20 + (place // across) * high + 168
        colour = colours[place % len(colours)]
        _package(rng, sheet, (x, board), name, colour)
        _tag(rng, sheet, (x, board + 20), price)
    return laid(rng, sheet, tilt=1.8)


def _package(
    rng: random.Random, sheet: Sheet, place: tuple[float, float], name: str, colour: Colour
) -> None:
    """Draw one product that stands on the board: a box, a jar or a bag with a label."""
    x, board = place
    wide, high = rng.randint(176, 204), rng.randint(126, 152)
    left, top, right = x - wide / 2, board - high, x + wide / 2
    kind = rng.choice(("box", "jar", "bag"))
    sheet.box((left, top, right, board), colour, round_by={"box": 2, "jar": 22, "bag": 10}[kind])
    if kind == "jar":
        sheet.box(
            (left + 24, top - 10, right - 24, top + 12), blend(colour, (0, 0, 0), 0.4), round_by=5
        )
    elif kind == "bag":
        sheet.box((left, top, right, top + 14), blend(colour, WHITE, 0.35), round_by=3)
    font = letters(Font("plain", 26, True), name)
    while True:
        try:
            lines = wrap(name, font, wide - 20)
        except ValueError:
            lines = []
        if lines and len(lines) * font.leading <= 96:
            break
        if font.size < 17:
            raise ValueError(f"{name[:60]!r} is too long for a package")
        font = font.at(font.size * 0.93)
    label = len(lines) * font.leading + 12
    middle = board - high / 2 + 6
    pale = rng.choice(PAPERS)
    sheet.box((left + 6, middle - label / 2, right - 6, middle + label / 2), pale, round_by=5)
    for row, line in enumerate(lines):
        y = middle - label / 2 + 6 + (row + 0.5) * font.leading
        sheet.text((x, y), line, font, rng.choice(INKS), "mm")


def _tag(rng: random.Random, sheet: Sheet, place: tuple[float, float], price: str) -> None:
    x, y = place
    font = fit(price, Font("plain", 27, True), 150)
    half = font.width(price) / 2 + 14
    ground = rng.choice((WHITE, (255, 236, 120), (255, 250, 230)))
    sheet.box((x - half, y + 3, x + half, y + 41), ground, line=(90, 90, 90), width=1.5, round_by=3)
    sheet.text((x, y + 22), price, font, (150, 20, 24) if ground != WHITE else (20, 20, 24), "mm")


def board(rng: random.Random, *, heading: str, lines: Sequence[str]) -> bytes:
    """Return a PNG of a notice: on a whiteboard, a blackboard, or a note stuck to the wall.

    Raises ValueError for no lines and for more than fit (about 14).
    """
    if not lines:
        raise ValueError("a board needs lines")
    look = rng.choice(("white", "black", "note", "notice"))
    grounds = {"white": (250, 251, 252), "black": (38, 52, 46), "notice": rng.choice(PAPERS)}
    ground = grounds.get(look) or rng.choice(_NOTES)
    ink = (236, 240, 232) if look == "black" else rng.choice(INKS)
    accent = (250, 224, 130) if look == "black" else rng.choice(VIVID)
    wide = rng.randint(620, 700) if look == "note" else rng.randint(780, 880)
    title = letters(face(rng, rng.randint(38, 44), bold=True), heading)
    tops = wrap(heading, title, wide - 130)
    base = letters(face(rng, rng.randint(28, 33)), *lines)
    folded = [wrap(line, base, wide - 170) for line in lines]
    gap = base.size * rng.uniform(0.3, 0.6)
    body = sum(len(rows) * base.leading + gap for rows in folded)
    sheet = Sheet(wide, 60 + len(tops) * title.leading + 34 + body + 56, ground)
    _mounted(rng, sheet, look)
    y = sheet.lines((62, 54), tops, title, accent) + 8
    sheet.stroke([(62, y), (62 + min(wide - 130, title.width(tops[0])), y)], accent, 4)
    y += 22
    bullet = rng.choice(("-", "*", "", ">"))
    for rows in folded:
        sheet.text((64, y), bullet, base, accent)
        y = sheet.lines((98, y), rows, base, ink) + gap
    return laid(rng, sheet, tilt=4 if look == "note" else 2)


def _mounted(rng: random.Random, sheet: Sheet, look: str) -> None:
    """Draw what holds the board: a frame, a strip of tape, or pins."""
    wide, high = sheet.width, sheet.height
    match look:
        case "white" | "black":
            frame = (150, 154, 160) if look == "white" else (132, 96, 62)
            sheet.box((0, 0, wide, high), line=frame, width=16)
        case "note":
            tape = blend(sheet.ground, WHITE, 0.55)
            x = wide * rng.uniform(0.4, 0.6)
            sheet.box((x - 70, 0, x + 70, 30), tape)
        case _:
            colour = rng.choice(VIVID)
            for x in (18, wide - 40):
                sheet.box((x, 14, x + 22, 36), colour, round_by=11)


def shapes(rng: random.Random, *, boxes: Sequence[tuple[str, int, int, int, int]]) -> bytes:
    """Return a PNG of flat rectangles, exactly where they are asked: (colour, x, y, width, height).

    Later ones lie on top. The picture is 640 x 480 or as much larger as they need, with numbers
    along its edges that tell pixels. Colours are CSS names or `#rrggbb`. Raises ValueError for a
    box without area or outside 0 to 1,024, or for an unknown colour.
    """
    for colour, x, y, wide, high in boxes:
        if min(x, y) < 0 or min(wide, high) < 1 or max(x + wide, y + high) > 1024:
            raise ValueError(f"the {colour} box ({x}, {y}, {wide}, {high}) leaves 0 to 1,024")
    size = (
        max(640, *(x + wide for _, x, _, wide, _ in boxes)),
        max(480, *(y + high for _, _, y, _, high in boxes)),
    )
    ground = rng.choice(PAPERS)
    image = Image.new("RGB", size, ground)
    pen = ImageDraw.Draw(image)
    _rulers(pen, size, blend(rng.choice(INKS), ground, 0.45), rng.choice((50, 100)))
    for colour, x, y, wide, high in boxes:
        pen.rectangle((x, y, x + wide - 1, y + high - 1), ImageColor.getrgb(colour))
    return png(image)


def _rulers(pen: ImageDraw.ImageDraw, size: tuple[int, int], ink: Colour, step: int) -> None:
    """Draw ticks along the upper and left edge, with numbers."""
    font = ImageFont.load_default(14)
    for x in range(step, size[0] - 20, step):
        pen.line((x, 0, x, 8), ink, 1)
        pen.text((x, 10), str(x), ink, font, "ma")
    for y in range(step, size[1] - 10, step):
        pen.line((0, y, 8, y), ink, 1)
        pen.text((11, y), str(y), ink, font, "lm")
