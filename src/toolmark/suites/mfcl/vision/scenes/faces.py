"""What a sign says, set in letters and symbols, and the flat things that bear it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw

from toolmark.draw import emblem
from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.draw.fonts import FINE, Family, Font, cut, letters, wrap
from toolmark.draw.plane import Point
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.item import Sign

LEAST = 13.0  # pixels: capitals lower than this are not read any more
SECOND = 0.72  # height of further lines as a share of the first one's
SYMBOL = 3.2  # height of a symbol without letters, in heights of letters


@dataclass(frozen=True, slots=True)
class Look:
    """Colours and letters of a thing that says something."""

    paper: Colour
    ink: Colour
    accent: Colour
    family: Family = "plain"
    bold: bool = True


@dataclass(frozen=True, slots=True)
class Face:
    """A flat thing: its sheet, where on it the letters and symbols lie, its outline (or all)."""

    sheet: Sheet
    ink: Box
    mask: Image.Image | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Lettering that was set: rows with their fonts, a symbol, and the room that all take.

    `half` is half the symbol's height, 0 without one; `beside`: the symbol stands on the left.
    """

    rows: tuple[tuple[str, Font], ...]
    width: float
    height: float
    symbol: emblem.Emblem | None = None
    half: float = 0.0
    beside: bool = False


@cache
def capital(family: Family) -> float:
    """Return the height of a capital as a share of the font's size."""
    box = cut(Font(family, 200.0)).getbbox("H", anchor="ls")
    return -box[1] / (200.0 * FINE)


def sized(family: Family, height: float, *, bold: bool = True) -> Font:
    """Return letters whose capitals are `height` pixels high."""
    return Font(family, round(height / capital(family) * 2) / 2, bold)


def text(
    sign: Sign, look: Look, cap: float, width: float, *, beside: bool = False, cosy: float = 0.0
) -> Block:
    """Set a sign within a width; `cap` is the height of its capitals in pixels.

    `cosy`: rows wider than this many heights of a capital are broken where they can be. Raises
    ValueError where a word is wider than the width or letters would be too small to read.
    """
    if cap < LEAST:
        raise ValueError(f"letters of {cap:.0f} pixels cannot be read")
    symbol = emblem.parse(sign.symbol) if sign.symbol else None
    half = cap * (1.1 if sign.lines else SYMBOL / 2) if symbol else 0.0
    room = width - (2 * half + cap * 0.6 if beside and symbol else 0)
    rows: list[tuple[str, Font]] = []
    for n, line in enumerate(sign.lines):
        high = cap if n == 0 else max(LEAST, cap * SECOND)
        font = letters(sized(look.family, high, bold=look.bold and n == 0), line)
        font = sized(font.family, high, bold=font.bold)
        longest = max(font.width(word) for word in line.split())
        most = min(room, max(longest, cosy * cap)) if cosy else room
        rows += [(row, font) for row in wrap(line, font, most)]
    widest = max((font.width(row) for row, font in rows), default=0.0)
    high = _height([font for _, font in rows])
    beside = beside and bool(rows)
    if not symbol:
        return Block(tuple(rows), widest, high)
    if beside:
        across = widest + 2 * half + cap * 0.6
        return Block(tuple(rows), across, max(high, 2 * half), symbol, half, True)
    gap = cap * 0.6 if rows else 0.0
    return Block(tuple(rows), max(widest, 2 * half), high + 2 * half + gap, symbol, half)


def _height(fonts: Sequence[Font]) -> float:
    caps = [font.size * capital(font.family) for font in fonts]
    return sum(caps) + 0.62 * sum(caps[1:]) + (0.3 * caps[-1] if caps else 0.0)


def write(sheet: Sheet, block: Block, at: tuple[float, float], ink: Colour, *, left: bool) -> Box:
    """Draw a block with its upper left at `at`; return the box of what was drawn.

    `left`: rows begin at the left, else they are centred.
    """
    x, y = at
    boxes: list[Box] = []
    across = block.width
    if block.symbol:
        shift = block.half if block.beside else block.width / 2
        down = block.height / 2 if block.beside else block.half
        emblem.draw(sheet, block.symbol, (x + shift, y + down), block.half)
        reach = block.half * 1.06
        boxes.append((x + shift - reach, y + down - reach, x + shift + reach, y + down + reach))
        if block.beside:
            aside = block.width - max(font.width(row) for row, font in block.rows)
            x, across = x + aside, block.width - aside
    y += block.height - _height([font for _, font in block.rows]) if not block.beside else 0
    if block.beside:
        y += (block.height - _height([font for _, font in block.rows])) / 2
    for n, (row, font) in enumerate(block.rows):
        cap = font.size * capital(font.family)
        y += cap * (1.62 if n else 1.0)
        spot = (x, y) if left else (x + across / 2, y)
        boxes.append(_row(sheet, row, font, spot, ink, "ls" if left else "ms"))
    return (
        min(b[0] for b in boxes), min(b[1] for b in boxes),
        max(b[2] for b in boxes), max(b[3] for b in boxes),
    )  # fmt: skip


def _row(
    sheet: Sheet, row: str, font: Font, spot: tuple[float, float], ink: Colour, anchor: str
) -> Box:
    sheet.text(spot, row, font, ink, anchor)
    stroke = font.stroke * FINE
    box = sheet.pen.textbbox(
        (spot[0] * FINE, spot[1] * FINE), row, cut(font), anchor, stroke_width=stroke
    )
    return box[0] / FINE, box[1] / FINE, box[2] / FINE, box[3] / FINE


def plate(
    block: Block,
    look: Look,
    *,
    pad: tuple[float, float],
    size: tuple[float, float] = (0, 0),
    rim: float = 0.0,
    round_by: float = 0.0,
) -> Face:
    """Return a plain plate around a block: `pad` beside and above it, at least of `size`."""
    wide = max(size[0], block.width + 2 * pad[0])
    high = max(size[1], block.height + 2 * pad[1])
    sheet = Sheet(wide, high, look.paper)
    mask = None
    if round_by:
        cover = Sheet(wide, high, (0, 0, 0))
        cover.box((0, 0, sheet.width, sheet.height), (255, 255, 255), round_by=round_by)
        mask = cover.image.convert("L")
    if rim:
        inside = (0.0, 0.0, float(sheet.width), float(sheet.height))
        sheet.box(inside, line=look.accent, width=rim, round_by=round_by)
    corner = ((sheet.width - block.width) / 2, (sheet.height - block.height) / 2)
    return Face(sheet, write(sheet, block, corner, look.ink, left=False), mask)


def outline(sheet: Sheet, points: list[Point]) -> Image.Image:
    """Return the mask of a polygon on a sheet."""
    mask = Image.new("L", sheet.image.size, 0)
    ImageDraw.Draw(mask).polygon([(x * FINE, y * FINE) for x, y in points], fill=255)
    return mask


def shaded(colour: Colour, share: float) -> Colour:
    """Return a darker colour (share > 0) or a lighter one (share < 0)."""
    return blend(colour, (0, 0, 0) if share > 0 else (255, 255, 255), abs(share))


def legible(paper: Colour) -> Colour:
    """Return the ink that is read best on a paper."""
    red, green, blue = paper
    return (22, 22, 26) if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else (252, 252, 248)


LETTERS: tuple[Family, ...] = ("plain", "plain", "serif", "wide", "wide", "round")


def look(rng: random.Random, paper: Colour, *families: Family) -> Look:
    """Draw a look on a paper: letters of one of the families, ink that is read well on it."""
    ink = legible(paper)
    accent = blend(paper, ink, rng.uniform(0.3, 0.7))
    return Look(paper, ink, accent, rng.choice(families or LETTERS))
