"""QR codes and barcodes: on a poster, a sticker or a parcel, each with an optional caption."""

from __future__ import annotations

import random
from collections.abc import Sequence

import segno
from barcode.codex import Code128
from barcode.ean import EAN13

from toolmark.generation.drawing.canvas import (
    INK_COLOURS,
    PAPER_COLOURS,
    VIVID_COLOURS,
    WHITE,
    Canvas,
    Colour,
    blend_colours,
)
from toolmark.generation.drawing.fonts import Font, choose_font, random_font, wrap_text
from toolmark.suites.m3.local.pictures.sheet_photos import render_on_desk

# Dark on white, which every reader supports.
_DARK_COLOURS: tuple[Colour, ...] = (
    (0, 0, 0),
    (20, 24, 60),
    (12, 52, 36),
    (72, 16, 32),
    (48, 28, 72),
)
# Modules around a QR code, ISO/IEC 18004.
_QR_MARGIN_MODULES = 4
# Modules next to the bars, GS1 General Specifications.
_BAR_MARGIN_MODULES = 11


def draw_qr_code(rng: random.Random, *, text: str, caption: str = "") -> bytes:
    """Return a PNG of a QR code for `text`, with the caption next to it in plain letters.

    Raises ValueError for an empty text, or for one that needs a code too fine for a picture (about
    300 characters).
    """
    if not text:
        raise ValueError("a QR code needs a text")
    # Some readers return a byte-order mark or an ECI header as part of the text.
    code = segno.make(text, error=rng.choice("LMQ"), micro=False, boost_error=False)
    cells = [[bool(cell) for cell in row] for row in code.matrix]
    across = len(cells) + 2 * _QR_MARGIN_MODULES
    if across > 85:
        raise ValueError(f"a text of {len(text)} characters is too much for a legible QR code")
    module = max(5, min(14, rng.randint(330, 560) // across))
    side = float(module * across)
    draw = rng.choice((_draw_poster, _draw_sticker, _draw_card))
    return render_on_desk(rng, draw(rng, cells, module, side, caption), tilt=6)


def draw_barcode(rng: random.Random, *, digits: str, caption: str = "") -> bytes:
    """Return a PNG of a label with a barcode and its digits in plain letters.

    Thirteen digits with a correct check digit are encoded as EAN-13, any other text as Code 128:
    each is read back as given. (Some readers return an EAN-13 with a leading zero as UPC-A, so it
    is encoded as Code 128 too.) Raises ValueError for an empty text, and for one that is not ASCII
    or has more than 20 characters.
    """
    if not digits or len(digits) > 20 or not digits.isascii() or not digits.isprintable():
        raise ValueError(f"no barcode for {digits[:60]!r}: 1 to 20 ASCII characters")
    ean = _is_ean(digits)
    bars = (EAN13(digits) if ean else Code128(digits)).build()[0]
    across = len(bars) + 2 * _BAR_MARGIN_MODULES
    module = min(6, 840 // across)
    wide = module * across
    high = rng.randint(150, 240)
    return render_on_desk(
        rng, _draw_label(rng, bars, digits, caption, (module, wide, high)), tilt=3
    )


def _is_ean(digits: str) -> bool:
    if len(digits) != 13 or not digits.isdecimal() or digits[0] == "0":
        return False
    return bool(EAN13(digits[:12]).get_fullcode() == digits)


def _wrap_caption(caption: str, font: Font, width: float) -> tuple[Font, list[str]]:
    font = choose_font(font, caption)
    return font, wrap_text(caption, font, width)


def _draw_modules(
    sheet: Canvas,
    at: tuple[float, float],
    cells: Sequence[Sequence[bool]],
    module: int,
    ink: Colour,
) -> None:
    """Draw the modules inside a white field with the quiet zone around them."""
    side = module * (len(cells) + 2 * _QR_MARGIN_MODULES)
    sheet.rectangle((at[0], at[1], at[0] + side, at[1] + side), WHITE)
    for row, line in enumerate(cells):
        for column, dark in enumerate(line):
            if dark:
                x = at[0] + (column + _QR_MARGIN_MODULES) * module
                y = at[1] + (row + _QR_MARGIN_MODULES) * module
                sheet.rectangle((x, y, x + module, y + module), ink)


def _draw_poster(
    rng: random.Random, cells: Sequence[Sequence[bool]], module: int, side: float, caption: str
) -> Canvas:
    """Return a coloured sheet with the caption above the code."""
    ground = rng.choice(VIVID_COLOURS)
    font, lines = _wrap_caption(caption, random_font(rng, rng.randint(30, 42), bold=True), side)
    pad = rng.randint(30, 60)
    head = len(lines) * font.line_height + (24 if lines else 0)
    sheet = Canvas(side + 2 * pad, side + 2 * pad + head, ground)
    for row, line in enumerate(lines):
        spot = (sheet.width / 2, pad + row * font.line_height)
        sheet.text(spot, line, font, WHITE, "ma")
    _draw_modules(sheet, (pad, pad + head), cells, module, rng.choice(_DARK_COLOURS))
    return sheet


def _draw_sticker(
    rng: random.Random, cells: Sequence[Sequence[bool]], module: int, side: float, caption: str
) -> Canvas:
    """Return a pale sticker with a frame and the caption below the code."""
    ink, ground = rng.choice(VIVID_COLOURS), rng.choice(PAPER_COLOURS)
    font, lines = _wrap_caption(caption, random_font(rng, rng.randint(26, 36)), side)
    pad = rng.randint(26, 44)
    sheet = Canvas(side + 2 * pad, side + 2 * pad + len(lines) * font.line_height, ground)
    edge = (8, 8, sheet.width - 8, sheet.height - 8)
    sheet.rectangle(edge, line=ink, width=rng.randint(3, 7), round_by=rng.choice((0, 16)))
    _draw_modules(sheet, (pad, pad), cells, module, rng.choice(_DARK_COLOURS))
    for row, line in enumerate(lines):
        spot = (sheet.width / 2, pad + side + row * font.line_height - 4)
        sheet.text(spot, line, font, ink, "ma")
    return sheet


def _draw_card(
    rng: random.Random, cells: Sequence[Sequence[bool]], module: int, side: float, caption: str
) -> Canvas:
    """Return a card with the code on one side and the caption on the other."""
    ink, ground = rng.choice(INK_COLOURS), rng.choice(PAPER_COLOURS)
    accent = rng.choice(VIVID_COLOURS)
    font, lines = _wrap_caption(caption, random_font(rng, rng.randint(28, 38), bold=True), 320)
    pad, text_width = rng.randint(24, 40), 340.0 if lines else 40.0
    high = max(side, len(lines) * font.line_height) + 2 * pad
    sheet = Canvas(side + text_width + 2 * pad, high, ground)
    sheet.rectangle((0, 0, 14, sheet.height), accent)
    left = rng.random() < 0.5
    code_x = pad + 10 if left else sheet.width - pad - side
    text_x = pad + 10 + side + 20 if left else pad + 10
    _draw_modules(sheet, (code_x, (high - side) / 2), cells, module, rng.choice(_DARK_COLOURS))
    top = (high - len(lines) * font.line_height) / 2
    sheet.text_lines((text_x, top), lines, font, ink)
    return sheet


def _draw_label(
    rng: random.Random, bars: str, digits: str, caption: str, size: tuple[int, int, int]
) -> Canvas:
    """Return a product label: caption, bars, digits, and a coloured stripe or a box's tape."""
    module, wide, high = size
    ground = rng.choice(PAPER_COLOURS)
    accent = rng.choice(VIVID_COLOURS)
    ink = rng.choice(INK_COLOURS)
    font, lines = _wrap_caption(
        caption, random_font(rng, rng.randint(28, 40), bold=True), wide - 40
    )
    pad = rng.randint(24, 48)
    banner = rng.random() < 0.5
    head = len(lines) * font.line_height + (34 if lines else 0)
    digit_font = Font("mono", 30)
    sheet = Canvas(wide + 2 * pad, head + high + 2 * pad + 52, ground)
    if lines and banner:
        sheet.rectangle((0, 0, sheet.width, head + pad - 8), accent)
    elif rng.random() < 0.6:
        sheet.rectangle(
            (6, 6, sheet.width - 6, sheet.height - 6), line=accent, width=4, round_by=10
        )
    for row, line in enumerate(lines):
        spot = (sheet.width / 2, pad * 0.6 + row * font.line_height)
        sheet.text(spot, line, font, WHITE if banner else ink, "ma")
    top = pad + head
    sheet.rectangle((pad, top, pad + wide, top + high + 48), WHITE)
    for place, bar in enumerate(bars):
        if bar == "1":
            x = pad + (place + _BAR_MARGIN_MODULES) * module
            sheet.rectangle((x, top + 8, x + module, top + high), (0, 0, 0))
    spaced = "  ".join((digits[0], digits[1:7], digits[7:])) if _is_ean(digits) else digits
    sheet.text(
        (sheet.width / 2, top + high + 6),
        spaced,
        digit_font,
        blend_colours(ink, (0, 0, 0), 0.5),
        "ma",
    )
    return sheet
