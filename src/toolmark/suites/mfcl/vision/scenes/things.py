"""Flat things that bear a sign: posters, packages, covers, plaques, banners, jerseys, screens."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.draw.fonts import FINE
from toolmark.draw.plane import Point
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.scenes.cast import PAPERS, Part
from toolmark.suites.mfcl.vision.scenes.faces import (
    Block,
    Face,
    Look,
    look,
    outline,
    shaded,
    text,
    write,
)

Make: TypeAlias = Callable[[random.Random, Part, float, float], Face]
"""Makes a thing from its part, the height of its capitals and the most width, in pixels."""

NOTHING: Box = (0.0, 0.0, 0.0, 0.0)


def art(rng: random.Random, sheet: Sheet, box: Box, paper: Colour) -> None:
    """Fill a rectangle with a drawing without meaning: hills, rings, stripes, facets, dots."""
    left, top, right, low = box
    if min(right - left, low - top) < 8:
        return
    tones = [rng.choice(PAPERS) for _ in range(5)]
    ground = blend(paper, tones[0], 0.35)
    sheet.box(box, ground)
    clip = Sheet(right - left, low - top, ground)
    draw = rng.choice((_hills, _rings, _stripes, _facets, _dots))
    draw(rng, clip, tones)
    sheet.image.paste(clip.image, (round(left) * FINE, round(top) * FINE))


def _disc(sheet: Sheet, spot: Point, size: float, colour: Colour) -> None:
    x, y = spot
    box = (x - size, y - size, x + size, y + size)
    sheet.pen.ellipse([side * FINE for side in box], colour)


def _poly(sheet: Sheet, points: list[Point], colour: Colour) -> None:
    sheet.pen.polygon([(x * FINE, y * FINE) for x, y in points], colour)


def _hills(rng: random.Random, sheet: Sheet, tones: list[Colour]) -> None:
    wide, high = sheet.width, sheet.height
    sun = (rng.uniform(0.2, 0.8) * wide, rng.uniform(0.2, 0.5) * high)
    _disc(sheet, sun, wide * rng.uniform(0.1, 0.2), tones[1])
    for k in range(3):
        peak = (rng.uniform(0.1, 0.9) * wide, high * (0.35 + 0.15 * k))
        foot = wide * rng.uniform(0.5, 0.9)
        _poly(sheet, [(peak[0] - foot, high), peak, (peak[0] + foot, high)], tones[2 + k])


def _rings(rng: random.Random, sheet: Sheet, tones: list[Colour]) -> None:
    wide, high = sheet.width, sheet.height
    middle = (rng.uniform(0.3, 0.7) * wide, rng.uniform(0.3, 0.7) * high)
    for k in range(6, 0, -1):
        _disc(sheet, middle, max(wide, high) * 0.12 * k, tones[k % 4])


def _stripes(rng: random.Random, sheet: Sheet, tones: list[Colour]) -> None:
    step, lean = sheet.width / rng.randint(4, 9), rng.uniform(-1, 1) * sheet.width
    for k in range(-12, 24, 2):
        low = [((k + 1) * step + lean, sheet.height), (k * step + lean, sheet.height)]
        _poly(sheet, [(k * step, 0), ((k + 1) * step, 0), *low], tones[1 + k // 2 % 3])


def _facets(rng: random.Random, sheet: Sheet, tones: list[Colour]) -> None:
    for _ in range(12):
        points = [(rng.uniform(-0.1, 1.1) * sheet.width, rng.uniform(-0.1, 1.1) * sheet.height)
                  for _ in range(3)]  # fmt: skip
        _poly(sheet, points, rng.choice(tones))


def _dots(rng: random.Random, sheet: Sheet, tones: list[Colour]) -> None:
    step = max(8.0, sheet.width / rng.randint(4, 8))
    for k in range(int(sheet.width / step) + 1):
        for j in range(int(sheet.height / step) + 1):
            spot, size = ((k + 0.5) * step, (j + 0.5) * step), step * rng.uniform(0.15, 0.42)
            _disc(sheet, spot, size, tones[(k + j) % 3 + 1])


def poster(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a poster: a drawing, and the words above or below it."""
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, room - cap * 1.2, cosy=rng.uniform(5, 9) * part.loose)
    wide = max(block.width + cap * 1.2, min(room, block.height * 0.9))
    band = block.height + cap * 1.3
    high = max(wide * rng.uniform(1.15, 1.4), band + wide * 0.4)
    sheet = Sheet(wide, high, style.paper)
    above = rng.random() < 0.4
    edge = (0.0, band, sheet.width, sheet.height) if above else (0, 0, sheet.width, high - band)
    art(rng, sheet, (edge[0] + 8, edge[1] + 8, edge[2] - 8, edge[3] - 8), style.paper)
    top = cap * 0.65 if above else high - band + cap * 0.65
    ink = write(sheet, block, ((sheet.width - block.width) / 2, top), style.ink, left=False)
    return Face(sheet, ink)


def bare(rng: random.Random, size: tuple[float, float]) -> Face:
    """Return a picture or poster without words."""
    sheet = Sheet(size[0], size[1], rng.choice(PAPERS))
    art(rng, sheet, (7, 7, sheet.width - 7, sheet.height - 7), sheet.ground)
    return Face(sheet, NOTHING)


def package(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return the front of a box, a tin or a bag with its label."""
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, room - cap, cosy=rng.uniform(4, 7) * part.loose)
    wide, label = block.width + cap, block.height + cap
    high = max(label * rng.uniform(1.5, 2.0), wide * rng.uniform(0.8, 1.3))
    return _packed(rng, (wide, high), label, style, block)


def ware(rng: random.Random, size: tuple[float, float]) -> Face:
    """Return a package without words: a box, a bottle or a jar."""
    if rng.random() < 0.5:
        return bottle(rng, size)
    return _packed(rng, size, size[1] * rng.uniform(0.25, 0.4), look(rng, rng.choice(PAPERS)), None)


def bottle(rng: random.Random, size: tuple[float, float]) -> Face:
    """Return a bottle or a jar without words."""
    wide, high = size
    paper = rng.choice(PAPERS)
    kind = rng.choice(("bottle", "jar"))
    wide *= 0.62 if kind == "bottle" else 0.9
    sheet, cover = Sheet(wide, high, paper), Sheet(wide, high, (0, 0, 0))
    neck = 0.34 if kind == "bottle" else 0.1
    slim = 0.32 if kind == "bottle" else 0.06
    white = (255, 255, 255)
    cover.box((0, high * neck, sheet.width, sheet.height), white, round_by=wide * 0.14)
    cover.box((wide * slim, 0, wide * (1 - slim), high * (neck + 0.12)), white, round_by=4)
    label = rng.choice(PAPERS)
    sheet.box((0, high * 0.52, sheet.width, high * 0.84), label)
    sheet.box((0, high * 0.6, sheet.width, high * 0.66), blend(label, paper, 0.6))
    sheet.box((0, 0, sheet.width, high * neck * 0.4), shaded(paper, 0.5))
    return Face(sheet, NOTHING, cover.image.convert("L"))


def _packed(
    rng: random.Random, size: tuple[float, float], label: float, style: Look, block: Block | None
) -> Face:
    """Return a box with a band of `label` pixels for the words, and other bands about it."""
    sheet = Sheet(size[0], size[1], style.paper)
    wide, high, stripe = sheet.width, sheet.height, rng.choice(PAPERS)
    top = (high - label) * rng.uniform(0.3, 0.6)
    match rng.choice(("art", "bands", "corner")):
        case "art":
            art(rng, sheet, (0, 0, wide, top - 4), style.paper)
            sheet.box((0, high - (high - top - label) * 0.5, wide, high), stripe)
        case "bands":
            sheet.box((0, 0, wide, top * 0.5), stripe)
            sheet.box((0, high - (high - top - label) * 0.4, wide, high), stripe)
        case _:
            art(rng, sheet, (0, top + label + 4, wide, high), style.paper)
            sheet.box((0, 0, wide, max(4.0, top * 0.16)), stripe)
    ink = NOTHING
    if block:
        spot = ((wide - block.width) / 2, top + (label - block.height) / 2)
        ink = write(sheet, block, spot, style.ink, left=False)
    sheet.box((0, 0, wide, high), line=shaded(style.paper, 0.25), width=2)
    return Face(sheet, ink)


def cover(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return the front of a book or a magazine: words above, a drawing with a line below."""
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, room - cap * 1.1, cosy=rng.uniform(4, 6.5) * part.loose)
    wide = block.width + cap * 1.1
    band = block.height + cap * 1.1
    sheet = Sheet(wide, max(wide * rng.uniform(1.3, 1.5), band * 1.3), style.paper)
    art(rng, sheet, (0, band, sheet.width, sheet.height * 0.93), style.paper)
    spot = ((sheet.width - block.width) / 2, cap * 0.6)
    ink = write(sheet, block, spot, style.ink, left=False)
    sheet.box((0, 0, wide * 0.035, sheet.height), shaded(style.paper, 0.3))
    return Face(sheet, ink)


def sleeve(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return the square sleeve of a record."""
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, room - cap, cosy=rng.uniform(5, 8) * part.loose)
    band = block.height + cap
    wide = max(block.width + cap, min(room, band * 1.5))
    sheet = Sheet(wide, max(wide, band), style.paper)
    lower = rng.random() < 0.5
    edges = (0.0, sheet.height - band) if lower else (band, float(sheet.height))
    art(rng, sheet, (0, edges[0], sheet.width, edges[1]), style.paper)
    top = (sheet.height - band if lower else 0) + cap / 2
    ink = write(sheet, block, ((sheet.width - block.width) / 2, top), style.ink, left=False)
    return Face(sheet, ink)


def ticket(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a ticket with a stub whose code of bars says nothing."""
    style = look(rng, shaded(part.paper, -0.55), *part.families)
    stub = cap * rng.uniform(1.8, 2.4)
    block = text(
        part.sign, style, cap, room - stub - cap * 1.4, cosy=rng.uniform(7, 11) * part.loose
    )
    wide, high = block.width + stub + cap * 1.4, block.height + cap * 2.2
    sheet = Sheet(wide, high, style.paper)
    sheet.box((0, 0, sheet.width, cap * 0.5), part.paper)
    edge = sheet.width - stub
    for k in range(int(sheet.height / 12)):
        sheet.box((edge - 2, k * 12, edge + 1, k * 12 + 6), style.accent)
    y = cap * 0.8
    while y < sheet.height - cap * 0.6:
        bar = rng.choice((2.0, 3.0, 5.0))
        sheet.box((edge + stub * 0.25, y, edge + stub * 0.75, y + bar), style.ink)
        y += bar + rng.choice((2.0, 4.0))
    spot = ((edge - block.width) / 2, (sheet.height + cap * 0.5 - block.height) / 2)
    return Face(sheet, write(sheet, block, spot, style.ink, left=False))


def volume(rng: random.Random, size: tuple[float, float]) -> Face:
    """Return a book without words: its back, or its front."""
    if rng.random() < 0.4:
        return bare(rng, (min(size[0], size[1] / 1.4), min(size[0] * 1.4, size[1])))
    return spine(rng, size)


def spine(rng: random.Random, size: tuple[float, float]) -> Face:
    """Return the back of a book or of a box of records, at most five times as high as wide."""
    wide = size[0] * rng.uniform(0.2, 0.42)
    high = min(size[1], wide * 5)
    sheet = Sheet(wide, high, rng.choice(PAPERS))
    for top in (0.08, 0.84):
        sheet.box((0, high * top, sheet.width, high * (top + 0.03)), rng.choice(PAPERS))
    return Face(sheet, NOTHING)


def disc(rng: random.Random, size: tuple[float, float]) -> Face:
    """Return a record's sleeve without words."""
    side = min(size)
    return bare(rng, (side, side))


def leaflet(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return an open leaflet: words on its left page, strokes for small print, a fold."""
    paper = rng.choice(((250, 249, 244), (250, 244, 226), (232, 240, 246)))
    style = look(rng, paper, *part.families)
    block = text(part.sign, style, cap, room * 0.5 - cap, cosy=rng.uniform(4, 6) * part.loose)
    page, deep = block.width + cap, cap * 0.4
    sheet = Sheet(page * 2, block.height + cap * 3.6, paper)
    wide, high = float(sheet.width), float(sheet.height)
    fold = wide / 2
    ink = write(sheet, block, (cap * 0.5, deep + cap * 0.6), style.ink, left=False)
    step, grey = cap * 0.42, blend(paper, (96, 96, 100), 0.7)
    for left, top in ((cap * 0.5, ink[3] + step), (fold + cap * 0.5, deep + cap * 0.6)):
        y = top
        while y < high - deep - step:
            end = left + (page - cap) * rng.choice((1.0, 0.96, 0.92, 0.6))
            sheet.box((left, y, end, y + step * 0.3), grey)
            y += step
    sheet.box((fold, 0, fold + cap * 0.22, high), shaded(paper, 0.16))
    sheet.box((fold - 1.5, 0, fold + 1.5, high), shaded(paper, 0.4))
    # the pages rise towards their outer edges
    points = [(0.0, 0.0), (fold, deep), (wide, 0.0), (wide, high - deep), (fold, high),
              (0.0, high - deep)]  # fmt: skip
    return Face(sheet, ink, outline(sheet, points))
