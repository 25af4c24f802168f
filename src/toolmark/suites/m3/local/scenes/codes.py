"""QR codes and barcodes: on a poster, a sticker or a parcel, each with a caption if wished."""

from __future__ import annotations

import random
from collections.abc import Sequence

import segno
from barcode.codex import Code128
from barcode.ean import EAN13

from toolmark.draw.canvas import INKS, PAPERS, VIVID, WHITE, Colour, Sheet, blend
from toolmark.draw.fonts import Font, face, letters, wrap
from toolmark.suites.m3.local.scenes.photo import laid

# dark on white: what every reader reads
_DARK: tuple[Colour, ...] = ((0, 0, 0), (20, 24, 60), (12, 52, 36), (72, 16, 32), (48, 28, 72))
_QUIET = 4  # modules around a QR code, ISO/IEC 18004
_SILENT = 11  # modules beside the bars, GS1 General Specifications


def qr(rng: random.Random, *, text: str, caption: str = "") -> bytes:
    """Return a PNG of a QR code that holds `text`, with the caption beside it in clear.

    Raises ValueError for a text that is empty or needs a code too fine for a picture (about 300
    characters).
    """
    if not text:
        raise ValueError("a QR code needs a text")
    # a byte-order mark or an ECI header would be read back as part of the text by some readers
    code = segno.make(text, error=rng.choice("LMQ"), micro=False, boost_error=False)
    cells = [[bool(cell) for cell in row] for row in code.matrix]
    across = len(cells) + 2 * _QUIET
    if across > 85:
        raise ValueError(f"a text of {len(text)} characters is too much for a legible QR code")
    module = max(5, min(14, rng.randint(330, 560) // across))
    side = float(module * across)
    draw = rng.choice((_poster, _sticker, _card))
    return laid(rng, draw(rng, cells, module, side, caption), tilt=6)


def barcode(rng: random.Random, *, digits: str, caption: str = "") -> bytes:
    """Return a PNG of a barcode and its digits in clear on a label.

    EAN-13 for thirteen digits with a right check digit, Code 128 for any other text: each reads
    back as given. (EAN-13 with a leading zero is a UPC-A to some readers, so it is Code 128 too.)
    Raises ValueError for an empty text and for one that is not ASCII or has over 20 characters.
    """
    if not digits or len(digits) > 20 or not digits.isascii() or not digits.isprintable():
        raise ValueError(f"no barcode for {digits[:60]!r}: 1 to 20 ASCII characters")
    ean = _is_ean(digits)
    bars = (EAN13(digits) if ean else Code128(digits)).build()[0]
    across = len(bars) + 2 * _SILENT
    module = min(6, 840 // across)
    wide = module * across
    high = rng.randint(150, 240)
    return laid(rng, _label(rng, bars, digits, caption, (module, wide, high)), tilt=3)


def _is_ean(digits: str) -> bool:
    if len(digits) != 13 or not digits.isdecimal() or digits[0] == "0":
        return False
    return bool(EAN13(digits[:12]).get_fullcode() == digits)


def _caption(caption: str, font: Font, width: float) -> tuple[Font, list[str]]:
    font = letters(font, caption)
    return font, wrap(caption, font, width)


def _cells(
    sheet: Sheet, at: tuple[float, float], cells: Sequence[Sequence[bool]], module: int, ink: Colour
) -> None:
    """Draw the modules inside a white field with the quiet zone around them."""
    side = module * (len(cells) + 2 * _QUIET)
    sheet.box((at[0], at[1], at[0] + side, at[1] + side), WHITE)
    for row, line in enumerate(cells):
        for column, dark in enumerate(line):
            if dark:
                x = at[0] + (column + _QUIET) * module
                y = at[1] + (row + _QUIET) * module
                sheet.box((x, y, x + module, y + module), ink)


def _poster(
    rng: random.Random, cells: Sequence[Sequence[bool]], module: int, side: float, caption: str
) -> Sheet:
    """A coloured sheet with the caption above the code."""
    ground = rng.choice(VIVID)
    font, lines = _caption(caption, face(rng, rng.randint(30, 42), bold=True), side)
    pad = rng.randint(30, 60)
    head = len(lines) * font.leading + (24 if lines else 0)
    sheet = Sheet(side + 2 * pad, side + 2 * pad + head, ground)
    for row, line in enumerate(lines):
        spot = (sheet.width / 2, pad + row * font.leading)
        sheet.text(spot, line, font, WHITE, "ma")
    _cells(sheet, (pad, pad + head), cells, module, rng.choice(_DARK))
    return sheet


def _sticker(
    rng: random.Random, cells: Sequence[Sequence[bool]], module: int, side: float, caption: str
) -> Sheet:
    """A pale sticker with a frame and the caption below the code."""
    ink, ground = rng.choice(VIVID), rng.choice(PAPERS)
    font, lines = _caption(caption, face(rng, rng.randint(26, 36)), side)
    pad = rng.randint(26, 44)
    sheet = Sheet(side + 2 * pad, side + 2 * pad + len(lines) * font.leading, ground)
    edge = (8, 8, sheet.width - 8, sheet.height - 8)
    sheet.box(edge, line=ink, width=rng.randint(3, 7), round_by=rng.choice((0, 16)))
    _cells(sheet, (pad, pad), cells, module, rng.choice(_DARK))
    for row, line in enumerate(lines):
        spot = (sheet.width / 2, pad + side + row * font.leading - 4)
        sheet.text(spot, line, font, ink, "ma")
    return sheet


def _card(
    rng: random.Random, cells: Sequence[Sequence[bool]], module: int, side: float, caption: str
) -> Sheet:
    """A card with the code on one side and the caption on the other."""
    ink, ground = rng.choice(INKS), rng.choice(PAPERS)
    accent = rng.choice(VIVID)
    font, lines = _caption(caption, face(rng, rng.randint(28, 38), bold=True), 320)
    pad, beside = rng.randint(24, 40), 340.0 if lines else 40.0
    high = max(side, len(lines) * font.leading) + 2 * pad
    sheet = Sheet(side + beside + 2 * pad, high, ground)
    sheet.box((0, 0, 14, sheet.height), accent)
    left = rng.random() < 0.5
    code_x = pad + 10 if left else sheet.width - pad - side
    text_x = pad + 10 + side + 20 if left else pad + 10
    _cells(sheet, (code_x, (high - side) / 2), cells, module, rng.choice(_DARK))
    top = (high - len(lines) * font.leading) / 2
    sheet.lines((text_x, top), lines, font, ink)
    return sheet


def _label(
    rng: random.Random, bars: str, digits: str, caption: str, size: tuple[int, int, int]
) -> Sheet:
    """A product label: caption, bars, digits, and a stripe of colour or a box's tape."""
    module, wide, high = size
    ground, accent, ink = rng.choice(PAPERS), rng.choice(VIVID), rng.choice(INKS)
    font, lines = _caption(caption, face(rng, rng.randint(28, 40), bold=True), wide - 40)
    pad = rng.randint(24, 48)
    banner = rng.random() < 0.5
    head = len(lines) * font.leading + (34 if lines else 0)
    below = Font("mono", 30)
    sheet = Sheet(wide + 2 * pad, head + high + 2 * pad + 52, ground)
    if lines and banner:
        sheet.box((0, 0, sheet.width, head + pad - 8), accent)
    elif rng.random() < 0.6:
        sheet.box((6, 6, sheet.width - 6, sheet.height - 6), line=accent, width=4, round_by=10)
    for row, line in enumerate(lines):
        spot = (sheet.width / 2, pad * 0.6 + row * font.leading)
        sheet.text(spot, line, font, WHITE if banner else ink, "ma")
    top = pad + head
    sheet.box((pad, top, pad + wide, top + high + 48), WHITE)
    for place, bar in enumerate(bars):
        if bar == "1":
            x = pad + (place + _SILENT) * module
            sheet.box((x, top + 8, x + module, top + high), (0, 0, 0))
    spaced = "  ".join((digits[0], digits[1:7], digits[7:])) if _is_ean(digits) else digits
    sheet.text((sheet.width / 2, top + high + 6), spaced, below, blend(ink, (0, 0, 0), 0.5), "ma")
    return sheet
