"""Boards, banners, plaques, screens and clothes that bear a sign."""

from __future__ import annotations

import random

from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.draw.fonts import FINE
from toolmark.draw.plane import Point
from toolmark.suites.mfcl.vision.scenes.cast import Part
from toolmark.suites.mfcl.vision.scenes.faces import (
    Face,
    Look,
    look,
    outline,
    plate,
    shaded,
    text,
    write,
)
from toolmark.suites.mfcl.vision.scenes.things import art

BRONZE: tuple[Colour, ...] = ((120, 88, 50), (92, 82, 70), (62, 68, 66), (150, 118, 66))


def board(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a wide board as it hangs in halls, with a band at one edge."""
    style = look(rng, part.paper, *part.families)
    block = text(
        part.sign, style, cap, room - cap * 1.6, beside=True, cosy=rng.uniform(9, 14) * part.loose
    )
    rim = rng.choice((0.0, 4.0))
    face = plate(block, style, pad=(cap * 0.8, cap * 0.75), rim=rim)
    face.sheet.box((0, 0, face.sheet.width, cap * 0.22), shaded(style.paper, 0.4))
    return face


def banner(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a long hanging banner, its lower edge straight, notched or pointed."""
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, room - cap * 1.1, cosy=rng.uniform(4, 6) * part.loose)
    wide = block.width + cap * 1.1
    high = max(block.height + cap * 3.4, wide * rng.uniform(1.3, 1.9))
    sheet = Sheet(wide, high, style.paper)
    deep = cap * 1.2
    top = (high - deep - block.height) * rng.uniform(0.35, 0.6)
    art(rng, sheet, (0, 0, sheet.width, max(0.0, top - cap * 0.6)), style.paper)
    ink = write(sheet, block, ((sheet.width - block.width) / 2, top), style.ink, left=False)
    tip = rng.choice((0.0, deep, -deep))
    low, base = float(sheet.height), sheet.height - max(0.0, tip)
    middle = (wide / 2, low if tip >= 0 else low - deep)
    points = [(0.0, 0.0), (wide + 1, 0.0), (wide + 1, base), middle, (0.0, base)]
    return Face(sheet, ink, outline(sheet, points))


def plaque(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a plaque of metal or stone, with screws at its corners."""
    paper = rng.choice(BRONZE)
    style = look(rng, paper, "serif", "plain", "serif")
    style = Look(paper, blend(style.ink, paper, 0.08), shaded(paper, -0.45), style.family)
    block = text(part.sign, style, cap, room - cap * 2.0, cosy=rng.uniform(6, 10) * part.loose)
    pad = (cap * 1.0, cap * 1.0)
    face = plate(block, style, pad=pad, rim=5, round_by=rng.choice((0.0, 8.0)))
    wide, high, size = face.sheet.width, face.sheet.height, cap * 0.13
    for x in (cap * 0.42, wide - cap * 0.42):
        for y in (cap * 0.42, high - cap * 0.42):
            spot = (x - size, y - size, x + size, y + size)
            face.sheet.box(spot, style.accent, round_by=size)
    return face


def caption(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a small card beside a work of art."""
    paper = rng.choice(((250, 249, 244), (34, 36, 40), (232, 226, 212)))
    style = look(rng, paper, *part.families)
    block = text(part.sign, style, cap, room - cap * 1.4, cosy=rng.uniform(6, 9) * part.loose)
    return plate(block, style, pad=(cap * 0.7, cap * 0.7), rim=1.5)


def screen(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a television that shows a picture and, on a band, the words."""
    style = look(rng, part.paper, *part.families)
    block = text(
        part.sign, style, cap, room - cap * 2.0, beside=True, cosy=rng.uniform(7, 11) * part.loose
    )
    band = block.height + cap
    wide = max(block.width + cap * 2.0, band * 1.5)
    high = max(wide * 0.56, band * 1.35)
    sheet, rim = Sheet(wide, high, (16, 16, 18)), cap * 0.24
    right, low = sheet.width - rim, sheet.height - rim
    top = low - band - rng.uniform(0, 0.2) * max(0.0, low - band - rim)
    art(rng, sheet, (rim, rim, right, low), shaded(style.paper, 0.3))
    sheet.box((rim, top, right, top + band), style.paper)
    ink = write(
        sheet, block, ((sheet.width - block.width) / 2, top + cap * 0.5), style.ink, left=False
    )
    return Face(sheet, ink)


def jersey(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return a jersey from the front: sleeves, collar, the words across the chest."""
    style = look(rng, part.paper, *part.families)
    block = text(
        part.sign, style, cap, room * 0.62 - cap * 0.5, cosy=rng.uniform(3, 5) * part.loose
    )
    chest = max(block.width + cap * 0.7, block.height * 1.0)
    wide, high = chest / 0.62, max(chest * 1.28, block.height + cap * 3.6)
    sheet = Sheet(wide, high, style.paper)
    trim = style.accent
    side = (sheet.width - chest) / 2
    sheet.box((0, high * 0.3, side * 0.9, high * 0.36), trim)
    sheet.box((sheet.width - side * 0.9, high * 0.3, sheet.width, high * 0.36), trim)
    sheet.box((0, high * 0.94, sheet.width, sheet.height), trim)
    neck = sheet.width / 2
    for reach, colour in ((0.24, trim), (0.19, (30, 28, 28))):
        size = chest * reach
        spot = ((neck - size) * FINE, -size * 0.7 * FINE, (neck + size) * FINE, size * 0.7 * FINE)
        sheet.pen.ellipse(spot, colour)
    top = max(chest * 0.24, (high - block.height) * 0.38)
    ink = write(sheet, block, ((sheet.width - block.width) / 2, top), style.ink, left=False)
    return Face(sheet, ink, outline(sheet, _shirt(sheet.width, high, side, chest)))


def _shirt(wide: float, high: float, side: float, chest: float) -> list[Point]:
    left, right = side, side + chest
    return [
        (left + chest * 0.26, 0), (right - chest * 0.26, 0), (right, high * 0.06),
        (wide, high * 0.34), (wide - side * 0.72, high * 0.42), (right, high * 0.27),
        (right, high), (left, high), (left, high * 0.27), (side * 0.72, high * 0.42),
        (0, high * 0.34), (left, high * 0.06),
    ]  # fmt: skip


def bib(rng: random.Random, part: Part, cap: float, room: float) -> Face:
    """Return the number cloth of a runner, with a coloured band and pins."""
    style = look(rng, (250, 250, 248), *part.families)
    block = text(part.sign, style, cap, room - cap * 1.2, cosy=rng.uniform(4, 7) * part.loose)
    sheet = Sheet(block.width + cap * 1.2, block.height + cap * 2.0, style.paper)
    sheet.box((0, 0, sheet.width, cap * 0.7), part.paper)
    sheet.box((0, sheet.height - cap * 0.25, sheet.width, sheet.height), part.paper)
    ink = write(sheet, block, ((sheet.width - block.width) / 2, cap * 1.15), style.ink, left=False)
    return Face(sheet, ink)
