"""Boards, banners, plaques, screens and clothes that show a sign."""

from __future__ import annotations

import random

from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.perspective import Point
from toolmark.suites.mfcl_vision.scenes.print_faces import draw_artwork
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import StyledSign
from toolmark.suites.mfcl_vision.scenes.sign_faces import (
    LetteringStyle,
    SignFace,
    draw_centred_block,
    draw_style,
    make_plate,
    polygon_mask,
    set_part_text,
    shade_colour,
)

PLAQUE_COLOURS: tuple[Colour, ...] = ((120, 88, 50), (92, 82, 70), (62, 68, 66), (150, 118, 66))


def make_board(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a wide board, as in station halls, with a band at one edge."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 1.6, (9, 14), symbol_on_left=True)
    rim = rng.choice((0.0, 4.0))
    face = make_plate(block, style, pad=(cap * 0.8, cap * 0.75), rim=rim)
    face.sheet.rectangle((0, 0, face.sheet.width, cap * 0.22), shade_colour(style.paper, 0.4))
    return face


def make_banner(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a long hanging banner, its lower edge straight, notched or pointed."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 1.1, (4, 6))
    width = block.width + cap * 1.1
    height = max(block.height + cap * 3.4, width * rng.uniform(1.3, 1.9))
    sheet = Canvas(width, height, style.paper)
    notch_depth = cap * 1.2
    top = (height - notch_depth - block.height) * rng.uniform(0.35, 0.6)
    draw_artwork(rng, sheet, (0, 0, sheet.width, max(0.0, top - cap * 0.6)), style.paper)
    ink = draw_centred_block(sheet, block, top, style.ink)
    tip = rng.choice((0.0, notch_depth, -notch_depth))
    bottom, base = float(sheet.height), sheet.height - max(0.0, tip)
    middle = (width / 2, bottom if tip >= 0 else bottom - notch_depth)
    points = [(0.0, 0.0), (width + 1, 0.0), (width + 1, base), middle, (0.0, base)]
    return SignFace(sheet, ink, polygon_mask(sheet, points))


def make_plaque(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a plaque of metal or stone, with screws at its corners."""
    paper = rng.choice(PLAQUE_COLOURS)
    style = draw_style(rng, paper, "serif", "plain", "serif")
    style = LetteringStyle(
        paper, blend_colours(style.ink, paper, 0.08), shade_colour(paper, -0.45), style.family
    )
    block = set_part_text(rng, part, style, cap, room - cap * 2.0, (6, 10))
    pad = (cap * 1.0, cap * 1.0)
    face = make_plate(block, style, pad=pad, rim=5, round_by=rng.choice((0.0, 8.0)))
    width, height, size = face.sheet.width, face.sheet.height, cap * 0.13
    for x in (cap * 0.42, width - cap * 0.42):
        for y in (cap * 0.42, height - cap * 0.42):
            spot = (x - size, y - size, x + size, y + size)
            face.sheet.rectangle(spot, style.accent, round_by=size)
    return face


def make_caption_card(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a small card next to a work of art."""
    paper = rng.choice(((250, 249, 244), (34, 36, 40), (232, 226, 212)))
    style = draw_style(rng, paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 1.4, (6, 9))
    return make_plate(block, style, pad=(cap * 0.7, cap * 0.7), rim=1.5)


def make_screen(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a television that shows a picture, with the text on a band."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 2.0, (7, 11), symbol_on_left=True)
    band = block.height + cap
    width = max(block.width + cap * 2.0, band * 1.5)
    height = max(width * 0.56, band * 1.35)
    sheet, rim = Canvas(width, height, (16, 16, 18)), cap * 0.24
    right, bottom = sheet.width - rim, sheet.height - rim
    top = bottom - band - rng.uniform(0, 0.2) * max(0.0, bottom - band - rim)
    draw_artwork(rng, sheet, (rim, rim, right, bottom), shade_colour(style.paper, 0.3))
    sheet.rectangle((rim, top, right, top + band), style.paper)
    ink = draw_centred_block(sheet, block, top + cap * 0.5, style.ink)
    return SignFace(sheet, ink)


def make_jersey(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return a jersey from the front: sleeves, collar, the text across the chest."""
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, room * 0.62 - cap * 0.5, (3, 5))
    chest = max(block.width + cap * 0.7, block.height * 1.0)
    width, height = chest / 0.62, max(chest * 1.28, block.height + cap * 3.6)
    sheet = Canvas(width, height, style.paper)
    trim = style.accent
    side = (sheet.width - chest) / 2
    sheet.rectangle((0, height * 0.3, side * 0.9, height * 0.36), trim)
    sheet.rectangle((sheet.width - side * 0.9, height * 0.3, sheet.width, height * 0.36), trim)
    sheet.rectangle((0, height * 0.94, sheet.width, sheet.height), trim)
    neck = sheet.width / 2
    for reach, colour in ((0.24, trim), (0.19, (30, 28, 28))):
        size = chest * reach
        spot = (
            (neck - size) * SUPERSAMPLING,
            -size * 0.7 * SUPERSAMPLING,
            (neck + size) * SUPERSAMPLING,
            size * 0.7 * SUPERSAMPLING,
        )
        sheet.pen.ellipse(spot, colour)
    top = max(chest * 0.24, (height - block.height) * 0.38)
    ink = draw_centred_block(sheet, block, top, style.ink)
    return SignFace(
        sheet, ink, polygon_mask(sheet, _shirt_outline(sheet.width, height, side, chest))
    )


def _shirt_outline(width: float, height: float, side: float, chest: float) -> list[Point]:
    left, right = side, side + chest
    return [
        (left + chest * 0.26, 0), (right - chest * 0.26, 0), (right, height * 0.06),
        (width, height * 0.34), (width - side * 0.72, height * 0.42), (right, height * 0.27),
        (right, height), (left, height), (left, height * 0.27), (side * 0.72, height * 0.42),
        (0, height * 0.34), (left, height * 0.06),
    ]  # fmt: skip


def make_bib(rng: random.Random, part: StyledSign, cap: float, room: float) -> SignFace:
    """Return the bib of a runner, with a coloured band and pins."""
    style = draw_style(rng, (250, 250, 248), *part.families)
    block = set_part_text(rng, part, style, cap, room - cap * 1.2, (4, 7))
    sheet = Canvas(block.width + cap * 1.2, block.height + cap * 2.0, style.paper)
    sheet.rectangle((0, 0, sheet.width, cap * 0.7), part.paper)
    sheet.rectangle((0, sheet.height - cap * 0.25, sheet.width, sheet.height), part.paper)
    ink = draw_centred_block(sheet, block, cap * 1.15, style.ink)
    return SignFace(sheet, ink)
