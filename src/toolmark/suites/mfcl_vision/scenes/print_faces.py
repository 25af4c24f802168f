"""Flat printed objects with a sign: posters, packages, covers, sleeves, tickets, leaflets."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.perspective import Point
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import PAPER_COLOURS, StyledSign
from toolmark.suites.mfcl_vision.scenes.sign_faces import (
    LetteringStyle,
    SignFace,
    TextBlock,
    draw_block,
    draw_centred_block,
    draw_style,
    polygon_mask,
    set_part_text,
    shade_colour,
)

FaceMaker: TypeAlias = Callable[[random.Random, StyledSign, float, float], SignFace]
"""Makes an object from its styled sign, the height of its capitals and its maximum width.

Sizes are in pixels.
"""

NO_LETTERING: Box = (0.0, 0.0, 0.0, 0.0)


def draw_artwork(rng: random.Random, sheet: Canvas, box: Box, paper: Colour) -> None:
    """Fill a rectangle with a drawing without meaning: hills, rings, stripes, facets, dots."""
    left, top, right, bottom = box
    if min(right - left, bottom - top) < 8:
        return
    tones = [rng.choice(PAPER_COLOURS) for _ in range(5)]
    ground = blend_colours(paper, tones[0], 0.35)
    sheet.rectangle(box, ground)
    clip = Canvas(right - left, bottom - top, ground)
    draw = rng.choice((_draw_hills, _draw_rings, _draw_stripes, _draw_facets, _draw_dots))
    draw(rng, clip, tones)
    sheet.image.paste(clip.image, (round(left) * SUPERSAMPLING, round(top) * SUPERSAMPLING))


def _draw_disc(sheet: Canvas, spot: Point, size: float, colour: Colour) -> None:
    x, y = spot
    box = (x - size, y - size, x + size, y + size)
    sheet.pen.ellipse([side * SUPERSAMPLING for side in box], colour)


def _draw_polygon(sheet: Canvas, points: list[Point], colour: Colour) -> None:
    sheet.pen.polygon([(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in points], colour)


def _draw_hills(rng: random.Random, sheet: Canvas, tones: list[Colour]) -> None:
    width, height = sheet.width, sheet.height
    sun = (rng.uniform(0.2, 0.8) * width, rng.uniform(0.2, 0.5) * height)
    _draw_disc(sheet, sun, width * rng.uniform(0.1, 0.2), tones[1])
    for k in range(3):
        peak = (rng.uniform(0.1, 0.9) * width, height * (0.35 + 0.15 * k))
        foot = width * rng.uniform(0.5, 0.9)
        _draw_polygon(
            sheet, [(peak[0] - foot, height), peak, (peak[0] + foot, height)], tones[2 + k]
        )


def _draw_rings(rng: random.Random, sheet: Canvas, tones: list[Colour]) -> None:
    width, height = sheet.width, sheet.height
    middle = (rng.uniform(0.3, 0.7) * width, rng.uniform(0.3, 0.7) * height)
    for k in range(6, 0, -1):
        _draw_disc(sheet, middle, max(width, height) * 0.12 * k, tones[k % 4])


def _draw_stripes(rng: random.Random, sheet: Canvas, tones: list[Colour]) -> None:
    step, lean = sheet.width / rng.randint(4, 9), rng.uniform(-1, 1) * sheet.width
    for k in range(-12, 24, 2):
        lower_corners = [((k + 1) * step + lean, sheet.height), (k * step + lean, sheet.height)]
        _draw_polygon(
            sheet, [(k * step, 0), ((k + 1) * step, 0), *lower_corners], tones[1 + k // 2 % 3]
        )


def _draw_facets(rng: random.Random, sheet: Canvas, tones: list[Colour]) -> None:
    for _ in range(12):
        points = [(rng.uniform(-0.1, 1.1) * sheet.width, rng.uniform(-0.1, 1.1) * sheet.height)
                  for _ in range(3)]  # fmt: skip
        _draw_polygon(sheet, points, rng.choice(tones))


def _draw_dots(rng: random.Random, sheet: Canvas, tones: list[Colour]) -> None:
    step = max(8.0, sheet.width / rng.randint(4, 8))
    for k in range(int(sheet.width / step) + 1):
        for j in range(int(sheet.height / step) + 1):
            spot, size = ((k + 0.5) * step, (j + 0.5) * step), step * rng.uniform(0.15, 0.42)
            _draw_disc(sheet, spot, size, tones[(k + j) % 3 + 1])


def make_poster(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a poster: a drawing, with the text above or below it."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 1.2, (5, 9))
    width = max(block.width + cap * 1.2, min(room, block.height * 0.9))
    band = block.height + cap * 1.3
    height = max(width * rng.uniform(1.15, 1.4), band + width * 0.4)
    sheet = Canvas(width, height, style.paper)
    above = rng.random() < 0.4
    edge = (0.0, band, sheet.width, sheet.height) if above else (0, 0, sheet.width, height - band)
    draw_artwork(rng, sheet, (edge[0] + 8, edge[1] + 8, edge[2] - 8, edge[3] - 8), style.paper)
    top = cap * 0.65 if above else height - band + cap * 0.65
    ink = draw_centred_block(sheet, block, top, style.ink)
    return SignFace(sheet, ink)


def make_blank_poster(rng: random.Random, size: tuple[float, float]) -> SignFace:
    """Return a picture or poster without text."""
    sheet = Canvas(size[0], size[1], rng.choice(PAPER_COLOURS))
    draw_artwork(rng, sheet, (7, 7, sheet.width - 7, sheet.height - 7), sheet.background)
    return SignFace(sheet, NO_LETTERING)


def make_package(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return the front of a box, a tin or a bag with its label."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap, (4, 7))
    width, label = block.width + cap, block.height + cap
    height = max(label * rng.uniform(1.5, 2.0), width * rng.uniform(0.8, 1.3))
    return _make_package_front(rng, (width, height), label, style, block)


def make_blank_package(rng: random.Random, size: tuple[float, float]) -> SignFace:
    """Return a package without text: a box, a bottle or a jar."""
    if rng.random() < 0.5:
        return make_blank_bottle(rng, size)
    return _make_package_front(
        rng,
        size,
        size[1] * rng.uniform(0.25, 0.4),
        draw_style(rng, rng.choice(PAPER_COLOURS)),
        None,
    )


def make_blank_bottle(rng: random.Random, size: tuple[float, float]) -> SignFace:
    """Return a bottle or a jar without text."""
    width, height = size
    paper = rng.choice(PAPER_COLOURS)
    kind = rng.choice(("bottle", "jar"))
    width *= 0.62 if kind == "bottle" else 0.9
    sheet, cover = Canvas(width, height, paper), Canvas(width, height, (0, 0, 0))
    neck = 0.34 if kind == "bottle" else 0.1
    slim = 0.32 if kind == "bottle" else 0.06
    white = (255, 255, 255)
    cover.rectangle((0, height * neck, sheet.width, sheet.height), white, round_by=width * 0.14)
    cover.rectangle(
        (width * slim, 0, width * (1 - slim), height * (neck + 0.12)), white, round_by=4
    )
    label = rng.choice(PAPER_COLOURS)
    sheet.rectangle((0, height * 0.52, sheet.width, height * 0.84), label)
    sheet.rectangle((0, height * 0.6, sheet.width, height * 0.66), blend_colours(label, paper, 0.6))
    sheet.rectangle((0, 0, sheet.width, height * neck * 0.4), shade_colour(paper, 0.5))
    return SignFace(sheet, NO_LETTERING, cover.image.convert("L"))


def _make_package_front(
    rng: random.Random,
    size: tuple[float, float],
    label: float,
    style: LetteringStyle,
    block: TextBlock | None,
) -> SignFace:
    """Return a box with a band of `label` pixels for the text, and other bands around it."""
    sheet = Canvas(size[0], size[1], style.paper)
    width, height, stripe = sheet.width, sheet.height, rng.choice(PAPER_COLOURS)
    top = (height - label) * rng.uniform(0.3, 0.6)
    match rng.choice(("art", "bands", "corner")):
        case "art":
            draw_artwork(rng, sheet, (0, 0, width, top - 4), style.paper)
            sheet.rectangle((0, height - (height - top - label) * 0.5, width, height), stripe)
        case "bands":
            sheet.rectangle((0, 0, width, top * 0.5), stripe)
            sheet.rectangle((0, height - (height - top - label) * 0.4, width, height), stripe)
        case _:
            draw_artwork(rng, sheet, (0, top + label + 4, width, height), style.paper)
            sheet.rectangle((0, 0, width, max(4.0, top * 0.16)), stripe)
    ink = NO_LETTERING
    if block:
        spot = ((width - block.width) / 2, top + (label - block.height) / 2)
        ink = draw_block(sheet, block, spot, style.ink, left_aligned=False)
    sheet.rectangle((0, 0, width, height), line=shade_colour(style.paper, 0.25), width=2)
    return SignFace(sheet, ink)


def make_book_cover(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return the front of a book or a magazine: text above, a drawing with a line below."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 1.1, (4, 6.5))
    width = block.width + cap * 1.1
    band = block.height + cap * 1.1
    sheet = Canvas(width, max(width * rng.uniform(1.3, 1.5), band * 1.3), style.paper)
    draw_artwork(rng, sheet, (0, band, sheet.width, sheet.height * 0.93), style.paper)
    spot = ((sheet.width - block.width) / 2, cap * 0.6)
    ink = draw_block(sheet, block, spot, style.ink, left_aligned=False)
    sheet.rectangle((0, 0, width * 0.035, sheet.height), shade_colour(style.paper, 0.3))
    return SignFace(sheet, ink)


def make_record_sleeve(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return the square sleeve of a record."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap, (5, 8))
    band = block.height + cap
    width = max(block.width + cap, min(room, band * 1.5))
    sheet = Canvas(width, max(width, band), style.paper)
    lower = rng.random() < 0.5
    edges = (0.0, sheet.height - band) if lower else (band, float(sheet.height))
    draw_artwork(rng, sheet, (0, edges[0], sheet.width, edges[1]), style.paper)
    top = (sheet.height - band if lower else 0) + cap / 2
    ink = draw_centred_block(sheet, block, top, style.ink)
    return SignFace(sheet, ink)


def make_ticket(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a ticket with a stub; the bar code on the stub has no meaning."""
    style = draw_style(rng, shade_colour(part.paper, -0.55), *part.families)
    stub = cap * rng.uniform(1.8, 2.4)
    block = set_part_text(rng, part, style, cap, room - stub - cap * 1.4, (7, 11))
    width, height = block.width + stub + cap * 1.4, block.height + cap * 2.2
    sheet = Canvas(width, height, style.paper)
    sheet.rectangle((0, 0, sheet.width, cap * 0.5), part.paper)
    edge = sheet.width - stub
    for k in range(int(sheet.height / 12)):
        sheet.rectangle((edge - 2, k * 12, edge + 1, k * 12 + 6), style.accent)
    y = cap * 0.8
    while y < sheet.height - cap * 0.6:
        bar = rng.choice((2.0, 3.0, 5.0))
        sheet.rectangle((edge + stub * 0.25, y, edge + stub * 0.75, y + bar), style.ink)
        y += bar + rng.choice((2.0, 4.0))
    spot = ((edge - block.width) / 2, (sheet.height + cap * 0.5 - block.height) / 2)
    return SignFace(sheet, draw_block(sheet, block, spot, style.ink, left_aligned=False))


def make_blank_book(rng: random.Random, size: tuple[float, float]) -> SignFace:
    """Return a book without text: its spine, or its front."""
    if rng.random() < 0.4:
        return make_blank_poster(rng, (min(size[0], size[1] / 1.4), min(size[0] * 1.4, size[1])))
    return make_blank_spine(rng, size)


def make_blank_spine(rng: random.Random, size: tuple[float, float]) -> SignFace:
    """Return the spine of a book or of a box of records, at most five times as high as wide."""
    width = size[0] * rng.uniform(0.2, 0.42)
    height = min(size[1], width * 5)
    sheet = Canvas(width, height, rng.choice(PAPER_COLOURS))
    for top in (0.08, 0.84):
        sheet.rectangle(
            (0, height * top, sheet.width, height * (top + 0.03)), rng.choice(PAPER_COLOURS)
        )
    return SignFace(sheet, NO_LETTERING)


def make_blank_sleeve(rng: random.Random, size: tuple[float, float]) -> SignFace:
    """Return a record's sleeve without text."""
    side = min(size)
    return make_blank_poster(rng, (side, side))


def make_leaflet(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return an open leaflet: text on its left page, lines for small print, a fold."""
    paper = rng.choice(((250, 249, 244), (250, 244, 226), (232, 240, 246)))
    style = draw_style(rng, paper, *part.families)
    block = set_part_text(rng, part, style, cap, room * 0.5 - cap, (4, 6))
    page, fold_depth = block.width + cap, cap * 0.4
    sheet = Canvas(page * 2, block.height + cap * 3.6, paper)
    width, height = float(sheet.width), float(sheet.height)
    fold = width / 2
    ink = draw_block(
        sheet, block, (cap * 0.5, fold_depth + cap * 0.6), style.ink, left_aligned=False
    )
    step, grey = cap * 0.42, blend_colours(paper, (96, 96, 100), 0.7)
    for left, top in ((cap * 0.5, ink[3] + step), (fold + cap * 0.5, fold_depth + cap * 0.6)):
        y = top
        while y < height - fold_depth - step:
            end = left + (page - cap) * rng.choice((1.0, 0.96, 0.92, 0.6))
            sheet.rectangle((left, y, end, y + step * 0.3), grey)
            y += step
    sheet.rectangle((fold, 0, fold + cap * 0.22, height), shade_colour(paper, 0.16))
    sheet.rectangle((fold - 1.5, 0, fold + 1.5, height), shade_colour(paper, 0.4))
    # The pages rise towards their outer edges.
    points = [
        (0.0, 0.0),
        (fold, fold_depth),
        (width, 0.0),
        (width, height - fold_depth),
        (fold, height),
        (0.0, height - fold_depth),
    ]
    return SignFace(sheet, ink, polygon_mask(sheet, points))
