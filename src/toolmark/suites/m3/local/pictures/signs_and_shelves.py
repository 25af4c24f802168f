"""Slides, shelves and boards; and plain shapes to edit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil

from PIL import Image, ImageColor, ImageDraw, ImageFont

from toolmark.generation.drawing.canvas import (
    INK_COLOURS,
    PAPER_COLOURS,
    VIVID_COLOURS,
    WHITE,
    Canvas,
    Colour,
    blend_colours,
)
from toolmark.generation.drawing.fonts import Font, choose_font, fit_font, random_font, wrap_text
from toolmark.suites.m3.local.pictures.sheet_photos import encode_png, render_flat, render_on_desk

_NOTE_COLOURS: tuple[Colour, ...] = (
    (255, 240, 150), (255, 214, 165), (202, 240, 190), (190, 226, 250), (250, 206, 224),
)  # fmt: skip


def draw_slide(rng: random.Random, *, title: str, bullets: Sequence[str]) -> bytes:
    """Return a PNG of a presentation slide, 16:9. Raises ValueError for more than fits."""
    accent, dark = rng.choice(VIVID_COLOURS), rng.random() < 0.3
    ground = blend_colours(accent, (12, 14, 20), 0.85) if dark else rng.choice(PAPER_COLOURS)
    ink = (238, 240, 245) if dark else rng.choice(INK_COLOURS)
    sheet = Canvas(1000, 562, ground)
    look = rng.choice(("band", "bar", "rule"))
    left = 90.0 if look == "bar" else 60.0
    heading = choose_font(random_font(rng, rng.randint(38, 46), bold=True), title)
    tops = wrap_text(title, heading, 1000 - left - 60)
    base = 40 + len(tops) * heading.line_height
    if look == "band":
        sheet.rectangle((0, 0, 1000, base + 16), accent)
    elif look == "bar":
        sheet.rectangle((0, 0, 44, 562), accent)
    else:
        sheet.rectangle((left, base + 6, left + 160, base + 14), accent)
    sheet.text_lines((left, 32), tops, heading, WHITE if look == "band" else ink)
    _draw_bullets(
        rng,
        sheet,
        (left, base + 46),
        bullets,
        (ink, blend_colours(accent, WHITE, 0.35 if dark else 0)),
    )
    return (
        render_flat(sheet)
        if rng.random() < 0.65
        else render_on_desk(rng, sheet, tilt=1.5, bend=0.02)
    )


def _draw_bullets(
    rng: random.Random,
    sheet: Canvas,
    place: tuple[float, float],
    bullets: Sequence[str],
    colours: tuple[Colour, Colour],
) -> None:
    """Write the bullets as large as the space allows."""
    x, y = place
    base = random_font(rng, rng.randint(30, 34))
    while True:
        base = choose_font(base, *bullets)
        folded = [wrap_text(bullet, base, sheet.width - x - 90) for bullet in bullets]
        gap = base.size * 0.45
        high = sum(len(lines) * base.line_height + gap for lines in folded)
        if y + high <= sheet.height - 16:
            break
        if base.size < 20:
            raise ValueError(f"{len(bullets)} bullets do not fit a slide")
        base = base.with_size(base.size * 0.93)
    mark = rng.choice((0.0, 10.0))
    for lines in folded:
        middle = y + base.size * 0.58
        sheet.rectangle((x + 4, middle - 6, x + 16, middle + 6), colours[1], round_by=mark)
        y = sheet.text_lines((x + 36, y), lines, base, colours[0])
        y += gap


def draw_shelf(rng: random.Random, *, goods: Sequence[tuple[str, str]]) -> bytes:
    """Return a PNG of a shelf: packages with their names, and a price tag below each.

    Raises ValueError for no goods, and for more than 12.
    """
    if not 1 <= len(goods) <= 12:
        raise ValueError(f"{len(goods)} goods: a shelf holds 1 to 12")
    across = min(len(goods), rng.choice((3, 4)))
    levels = ceil(len(goods) / across)
    wood = rng.choice(((150, 112, 76), (120, 122, 128), (196, 176, 148), (88, 66, 52)))
    wall = blend_colours(wood, WHITE, rng.uniform(0.62, 0.82))
    slot, high = 232, 240
    sheet = Canvas(across * slot + 40, levels * high + 40, wall)
    colours = [
        VIVID_COLOURS[place % len(VIVID_COLOURS)]
        for place in rng.sample(range(len(VIVID_COLOURS)), len(VIVID_COLOURS))
    ]
    for level in range(levels):
        board = 20 + level * high + 168
        sheet.rectangle((0, board, sheet.width, board + 14), wood)
        sheet.rectangle(
            (0, board + 14, sheet.width, board + 19), blend_colours(wood, (0, 0, 0), 0.35)
        )
    for place, (name, price) in enumerate(goods):
        x = 20 + (place % across + 0.5) * slot
        board = 20 + (place // across) * high + 168
        colour = colours[place % len(colours)]
        _draw_package(rng, sheet, (x, board), name, colour)
        _draw_price_tag(rng, sheet, (x, board + 20), price)
    return render_on_desk(rng, sheet, tilt=1.8)


def _draw_package(
    rng: random.Random, sheet: Canvas, place: tuple[float, float], name: str, colour: Colour
) -> None:
    """Draw one product on the shelf board: a box, a jar or a bag with a label."""
    x, board = place
    wide, high = rng.randint(176, 204), rng.randint(126, 152)
    left, top, right = x - wide / 2, board - high, x + wide / 2
    kind = rng.choice(("box", "jar", "bag"))
    sheet.rectangle(
        (left, top, right, board), colour, round_by={"box": 2, "jar": 22, "bag": 10}[kind]
    )
    if kind == "jar":
        sheet.rectangle(
            (left + 24, top - 10, right - 24, top + 12),
            blend_colours(colour, (0, 0, 0), 0.4),
            round_by=5,
        )
    elif kind == "bag":
        sheet.rectangle(
            (left, top, right, top + 14), blend_colours(colour, WHITE, 0.35), round_by=3
        )
    font = choose_font(Font("plain", 26, True), name)
    while True:
        try:
            lines = wrap_text(name, font, wide - 20)
        except ValueError:
            lines = []
        if lines and len(lines) * font.line_height <= 96:
            break
        if font.size < 17:
            raise ValueError(f"{name[:60]!r} is too long for a package")
        font = font.with_size(font.size * 0.93)
    label = len(lines) * font.line_height + 12
    middle = board - high / 2 + 6
    pale = rng.choice(PAPER_COLOURS)
    sheet.rectangle((left + 6, middle - label / 2, right - 6, middle + label / 2), pale, round_by=5)
    for row, line in enumerate(lines):
        y = middle - label / 2 + 6 + (row + 0.5) * font.line_height
        sheet.text((x, y), line, font, rng.choice(INK_COLOURS), "mm")


def _draw_price_tag(
    rng: random.Random, sheet: Canvas, place: tuple[float, float], price: str
) -> None:
    x, y = place
    font = fit_font(price, Font("plain", 27, True), 150)
    half = font.text_width(price) / 2 + 14
    ground = rng.choice((WHITE, (255, 236, 120), (255, 250, 230)))
    sheet.rectangle(
        (x - half, y + 3, x + half, y + 41), ground, line=(90, 90, 90), width=1.5, round_by=3
    )
    sheet.text((x, y + 22), price, font, (150, 20, 24) if ground != WHITE else (20, 20, 24), "mm")


def draw_board(rng: random.Random, *, heading: str, lines: Sequence[str]) -> bytes:
    """Return a PNG of a notice: on a whiteboard, a blackboard, or a note on a wall.

    Raises ValueError for no lines, and for more than fit (about 14).
    """
    if not lines:
        raise ValueError("a board needs lines")
    look = rng.choice(("white", "black", "note", "notice"))
    grounds = {"white": (250, 251, 252), "black": (38, 52, 46), "notice": rng.choice(PAPER_COLOURS)}
    ground = grounds.get(look) or rng.choice(_NOTE_COLOURS)
    ink = (236, 240, 232) if look == "black" else rng.choice(INK_COLOURS)
    accent = (250, 224, 130) if look == "black" else rng.choice(VIVID_COLOURS)
    wide = rng.randint(620, 700) if look == "note" else rng.randint(780, 880)
    title = choose_font(random_font(rng, rng.randint(38, 44), bold=True), heading)
    tops = wrap_text(heading, title, wide - 130)
    base = choose_font(random_font(rng, rng.randint(28, 33)), *lines)
    folded = [wrap_text(line, base, wide - 170) for line in lines]
    gap = base.size * rng.uniform(0.3, 0.6)
    body = sum(len(rows) * base.line_height + gap for rows in folded)
    sheet = Canvas(wide, 60 + len(tops) * title.line_height + 34 + body + 56, ground)
    _draw_mount(rng, sheet, look)
    y = sheet.text_lines((62, 54), tops, title, accent) + 8
    sheet.polyline([(62, y), (62 + min(wide - 130, title.text_width(tops[0])), y)], accent, 4)
    y += 22
    bullet = rng.choice(("-", "*", "", ">"))
    for rows in folded:
        sheet.text((64, y), bullet, base, accent)
        y = sheet.text_lines((98, y), rows, base, ink) + gap
    return render_on_desk(rng, sheet, tilt=4 if look == "note" else 2)


def _draw_mount(rng: random.Random, sheet: Canvas, look: str) -> None:
    """Draw the mount of the board: a frame, a strip of tape, or pins."""
    wide, high = sheet.width, sheet.height
    match look:
        case "white" | "black":
            frame = (150, 154, 160) if look == "white" else (132, 96, 62)
            sheet.rectangle((0, 0, wide, high), line=frame, width=16)
        case "note":
            tape = blend_colours(sheet.background, WHITE, 0.55)
            x = wide * rng.uniform(0.4, 0.6)
            sheet.rectangle((x - 70, 0, x + 70, 30), tape)
        case _:
            colour = rng.choice(VIVID_COLOURS)
            for x in (18, wide - 40):
                sheet.rectangle((x, 14, x + 22, 36), colour, round_by=11)


def draw_shapes(rng: random.Random, *, boxes: Sequence[tuple[str, int, int, int, int]]) -> bytes:
    """Return a PNG of flat rectangles at exact positions: (colour, x, y, width, height).

    Later ones cover earlier ones. The picture is 640 x 480, or larger if needed, with pixel numbers
    along its edges. Colours are CSS names or `#rrggbb`. Raises ValueError for a box without area or
    outside 0 to 1,024, or for an unknown colour.
    """
    for colour, x, y, wide, high in boxes:
        if min(x, y) < 0 or min(wide, high) < 1 or max(x + wide, y + high) > 1024:
            raise ValueError(f"the {colour} box ({x}, {y}, {wide}, {high}) leaves 0 to 1,024")
    size = (
        max(640, *(x + wide for _, x, _, wide, _ in boxes)),
        max(480, *(y + high for _, _, y, _, high in boxes)),
    )
    ground = rng.choice(PAPER_COLOURS)
    image = Image.new("RGB", size, ground)
    pen = ImageDraw.Draw(image)
    _draw_rulers(
        pen, size, blend_colours(rng.choice(INK_COLOURS), ground, 0.45), rng.choice((50, 100))
    )
    for colour, x, y, wide, high in boxes:
        pen.rectangle((x, y, x + wide - 1, y + high - 1), ImageColor.getrgb(colour))
    return encode_png(image)


def _draw_rulers(pen: ImageDraw.ImageDraw, size: tuple[int, int], ink: Colour, step: int) -> None:
    """Draw ticks along the upper and left edge, with numbers."""
    font = ImageFont.load_default(14)
    for x in range(step, size[0] - 20, step):
        pen.line((x, 0, x, 8), ink, 1)
        pen.text((x, 10), str(x), ink, font, "ma")
    for y in range(step, size[1] - 10, step):
        pen.line((0, y, 8, y), ink, 1)
        pen.text((11, y), str(y), ink, font, "lm")
