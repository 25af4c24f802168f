"""Lettering and symbols of a sign, and the flat objects that show it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw

from toolmark.generation.drawing import emblem
from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import (
    SUPERSAMPLING,
    Family,
    Font,
    choose_font,
    pillow_font,
    wrap_text,
)
from toolmark.generation.drawing.perspective import Point
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.item_records import Sign
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import LETTER_FAMILIES, StyledSign

# Pixels: smaller capitals are not legible.
MIN_CAPITAL_PX = 13.0
# Height of further lines as a share of the first one's.
SECOND_LINE_SHARE = 0.72
# Height of a symbol without letters, in letter heights.
SYMBOL_HEIGHT = 3.2


@dataclass(frozen=True, slots=True)
class LetteringStyle:
    """Colours and fonts of an object with text."""

    paper: Colour
    ink: Colour
    accent: Colour
    family: Family = "plain"
    bold: bool = True


@dataclass(frozen=True, slots=True)
class SignFace:
    """A flat object: its sheet, the box of its lettering and symbols, its outline mask if any."""

    sheet: Canvas
    ink: Box
    mask: Image.Image | None = None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lettering after layout: rows with their fonts, a symbol, and the size of both together.

    `half_symbol` is half the symbol's height, 0 without one. With `symbol_on_left`, the symbol is
    left of the rows.
    """

    rows: tuple[tuple[str, Font], ...]
    width: float
    height: float
    symbol: emblem.Emblem | None = None
    half_symbol: float = 0.0
    symbol_on_left: bool = False


@cache
def capital_height(family: Family) -> float:
    """Return the height of a capital as a share of the font's size."""
    box = pillow_font(Font(family, 200.0)).getbbox("H", anchor="ls")
    return -box[1] / (200.0 * SUPERSAMPLING)


def font_with_capitals(family: Family, height: float, *, bold: bool = True) -> Font:
    """Return a font whose capitals are `height` pixels high."""
    return Font(family, round(height / capital_height(family) * 2) / 2, bold)


def set_text(
    sign: Sign,
    look: LetteringStyle,
    cap: float,
    width: float,
    *,
    symbol_on_left: bool = False,
    comfortable_width: float = 0.0,
) -> TextBlock:
    """Lay out a sign within a width; `cap` is the height of its capitals in pixels.

    Rows wider than `comfortable_width` capital heights are broken if possible. Raises ValueError if
    a word is wider than the width, or if letters would be too small to read.
    """
    if cap < MIN_CAPITAL_PX:
        raise ValueError(f"letters of {cap:.0f} pixels cannot be read")
    symbol = emblem.parse_emblem(sign.symbol) if sign.symbol else None
    half_symbol = cap * (1.1 if sign.lines else SYMBOL_HEIGHT / 2) if symbol else 0.0
    room = width - (2 * half_symbol + cap * 0.6 if symbol_on_left and symbol else 0)
    rows: list[tuple[str, Font]] = []
    for n, line in enumerate(sign.lines):
        height = cap if n == 0 else max(MIN_CAPITAL_PX, cap * SECOND_LINE_SHARE)
        font = choose_font(font_with_capitals(look.family, height, bold=look.bold and n == 0), line)
        font = font_with_capitals(font.family, height, bold=font.bold)
        longest = max(font.text_width(word) for word in line.split())
        max_width = min(room, max(longest, comfortable_width * cap)) if comfortable_width else room
        rows += [(row, font) for row in wrap_text(line, font, max_width)]
    widest = max((font.text_width(row) for row, font in rows), default=0.0)
    height = _rows_height([font for _, font in rows])
    symbol_on_left = symbol_on_left and bool(rows)
    if not symbol:
        return TextBlock(tuple(rows), widest, height)
    if symbol_on_left:
        across = widest + 2 * half_symbol + cap * 0.6
        return TextBlock(
            tuple(rows), across, max(height, 2 * half_symbol), symbol, half_symbol, True
        )
    gap = cap * 0.6 if rows else 0.0
    return TextBlock(
        tuple(rows),
        max(widest, 2 * half_symbol),
        height + 2 * half_symbol + gap,
        symbol,
        half_symbol,
    )


def set_part_text(
    rng: random.Random,
    part: StyledSign,
    look: LetteringStyle,
    cap: float,
    width: float,
    row_widths: tuple[float, float],
    *,
    symbol_on_left: bool = False,
) -> TextBlock:
    """Lay out a part's sign; its comfortable row width is drawn between two capital heights."""
    return set_text(
        part.sign,
        look,
        cap,
        width,
        symbol_on_left=symbol_on_left,
        comfortable_width=rng.uniform(*row_widths) * part.row_width_factor,
    )


def _rows_height(fonts: Sequence[Font]) -> float:
    caps = [font.size * capital_height(font.family) for font in fonts]
    return sum(caps) + 0.62 * sum(caps[1:]) + (0.3 * caps[-1] if caps else 0.0)


def draw_block(
    sheet: Canvas,
    block: TextBlock,
    position: tuple[float, float],
    ink: Colour,
    *,
    left_aligned: bool,
) -> Box:
    """Draw a block with its upper left corner at `position`; return the box of the drawing.

    With `left_aligned`, rows begin at the left; otherwise they are centred.
    """
    x, y = position
    boxes: list[Box] = []
    across = block.width
    if block.symbol:
        shift = block.half_symbol if block.symbol_on_left else block.width / 2
        down = block.height / 2 if block.symbol_on_left else block.half_symbol
        emblem.draw_emblem(sheet, block.symbol, (x + shift, y + down), block.half_symbol)
        reach = block.half_symbol * 1.06
        boxes.append((x + shift - reach, y + down - reach, x + shift + reach, y + down + reach))
        if block.symbol_on_left:
            aside = block.width - max(font.text_width(row) for row, font in block.rows)
            x, across = x + aside, block.width - aside
    y += (
        block.height - _rows_height([font for _, font in block.rows])
        if not block.symbol_on_left
        else 0
    )
    if block.symbol_on_left:
        y += (block.height - _rows_height([font for _, font in block.rows])) / 2
    for n, (row, font) in enumerate(block.rows):
        cap = font.size * capital_height(font.family)
        y += cap * (1.62 if n else 1.0)
        spot = (x, y) if left_aligned else (x + across / 2, y)
        boxes.append(_draw_row(sheet, row, font, spot, ink, "ls" if left_aligned else "ms"))
    return (
        min(b[0] for b in boxes), min(b[1] for b in boxes),
        max(b[2] for b in boxes), max(b[3] for b in boxes),
    )  # fmt: skip


def draw_centred_block(sheet: Canvas, block: TextBlock, top: float, ink: Colour) -> Box:
    """Draw a block in the middle of a sheet's width; return the box of the drawing."""
    corner = ((sheet.width - block.width) / 2, top)
    return draw_block(sheet, block, corner, ink, left_aligned=False)


def _draw_row(
    sheet: Canvas, row: str, font: Font, spot: tuple[float, float], ink: Colour, anchor: str
) -> Box:
    sheet.text(spot, row, font, ink, anchor)
    stroke = font.stroke_width * SUPERSAMPLING
    box = sheet.pen.textbbox(
        (spot[0] * SUPERSAMPLING, spot[1] * SUPERSAMPLING),
        row,
        pillow_font(font),
        anchor,
        stroke_width=stroke,
    )
    return (
        box[0] / SUPERSAMPLING,
        box[1] / SUPERSAMPLING,
        box[2] / SUPERSAMPLING,
        box[3] / SUPERSAMPLING,
    )


def make_plate(
    block: TextBlock,
    look: LetteringStyle,
    *,
    pad: tuple[float, float],
    size: tuple[float, float] = (0, 0),
    rim: float = 0.0,
    round_by: float = 0.0,
) -> SignFace:
    """Return a plain plate around a block: `pad` next to and above it, at least of `size`."""
    width = max(size[0], block.width + 2 * pad[0])
    height = max(size[1], block.height + 2 * pad[1])
    sheet = Canvas(width, height, look.paper)
    mask = None
    if round_by:
        cover = Canvas(width, height, (0, 0, 0))
        cover.rectangle((0, 0, sheet.width, sheet.height), (255, 255, 255), round_by=round_by)
        mask = cover.image.convert("L")
    if rim:
        inside = (0.0, 0.0, float(sheet.width), float(sheet.height))
        sheet.rectangle(inside, line=look.accent, width=rim, round_by=round_by)
    corner = ((sheet.width - block.width) / 2, (sheet.height - block.height) / 2)
    return SignFace(sheet, draw_block(sheet, block, corner, look.ink, left_aligned=False), mask)


def polygon_mask(sheet: Canvas, points: list[Point]) -> Image.Image:
    """Return the mask of a polygon on a sheet."""
    mask = Image.new("L", sheet.image.size, 0)
    ImageDraw.Draw(mask).polygon(
        [(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in points], fill=255
    )
    return mask


def shade_colour(colour: Colour, share: float) -> Colour:
    """Return a darker colour (share > 0) or a lighter one (share < 0)."""
    return blend_colours(colour, (0, 0, 0) if share > 0 else (255, 255, 255), abs(share))


def legible_ink(paper: Colour) -> Colour:
    """Return the most legible ink for a paper colour."""
    red, green, blue = paper
    return (22, 22, 26) if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else (252, 252, 248)


def draw_style(rng: random.Random, paper: Colour, *families: Family) -> LetteringStyle:
    """Return a style for a paper colour: a font of one of the families, and legible ink."""
    ink = legible_ink(paper)
    accent = blend_colours(paper, ink, rng.uniform(0.3, 0.7))
    return LetteringStyle(paper, ink, accent, rng.choice(families or LETTER_FAMILIES))
