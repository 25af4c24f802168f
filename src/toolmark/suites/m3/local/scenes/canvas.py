"""A sheet to draw on that refuses to lose anything over its edge, and the letters for it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

from PIL import Image, ImageDraw, ImageFont

FINE = 2  # a sheet is drawn this many times larger and reduced at the end: smooth edges
LONGEST = 1024  # pixels of the long side of a picture; many models scale down what is larger

Colour: TypeAlias = tuple[int, int, int]
Family: TypeAlias = Literal["plain", "mono"]

WHITE: Colour = (255, 255, 255)
INKS: tuple[Colour, ...] = (
    (24, 24, 27), (30, 41, 59), (23, 37, 84), (63, 29, 56), (20, 53, 44), (68, 38, 20),
)  # fmt: skip
PAPERS: tuple[Colour, ...] = (
    WHITE, (253, 250, 242), (248, 250, 252), (252, 246, 232), (244, 247, 243), (250, 244, 248),
)  # fmt: skip
# dark enough for white letters on them, and easily told apart
VIVID: tuple[Colour, ...] = (
    (200, 38, 46), (32, 92, 190), (22, 122, 66), (120, 52, 168), (196, 88, 8), (8, 118, 128),
    (120, 72, 40), (206, 48, 128), (88, 96, 108), (24, 40, 100),
)  # fmt: skip

# a word in which O and 0, l and 1 cannot be told apart by what stands around them
_CODE = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{3,}|[A-Za-z]+[-_/.:@][^\s]+")


@dataclass(frozen=True, slots=True)
class Font:
    """Letters: the family, the size in pixels of the sheet, and whether they are bold.

    `plain` is the font inside Pillow (Aileron), `mono` the one inside python-barcode (DejaVu Sans
    Mono): both come with the libraries, so a picture is the same on every machine.
    """

    family: Family = "plain"
    size: float = 24.0
    bold: bool = False

    @property
    def stroke(self) -> float:
        """The width that makes letters bold: neither family has a bold cut of its own."""
        return self.size / 48 if self.bold else 0.0

    @property
    def leading(self) -> float:
        """The distance of two lines."""
        return self.size * 1.34

    def at(self, size: float) -> Font:
        """Return these letters at another size."""
        return replace(self, size=size)

    def width(self, text: str) -> float:
        """Return the width of a line of text, in pixels of the sheet."""
        face = _face(self.family, self.size)
        return (face.getlength(text) / FINE if text else 0.0) + 2 * self.stroke


def letters(font: Font, *texts: str) -> Font:
    """Return the font, or the one in which all of these texts are clear: codes, rarer letters.

    Raises ValueError where neither family has all the letters.
    """
    text = " ".join(texts)
    families: tuple[Family, ...] = ("mono",) if _CODE.search(text) else (font.family, "mono")
    for family in families:
        if all(_drawn(family, letter) for letter in set(text)):
            return replace(font, family=family)
    lacking = sorted(letter for letter in set(text) if not _drawn("mono", letter))
    raise ValueError(f"no letters for {lacking} in {text[:60]!r}; write it otherwise")


@cache
def _face(family: Family, size: float) -> ImageFont.FreeTypeFont:
    if family == "plain":
        found = ImageFont.load_default(size * FINE)
        assert isinstance(found, ImageFont.FreeTypeFont)
        return found
    with resources.as_file(resources.files("barcode") / "fonts" / "DejaVuSansMono.ttf") as path:
        # the other layout engine is there on some machines only, and spaces otherwise
        return ImageFont.truetype(path, size * FINE, layout_engine=ImageFont.Layout.BASIC)


@cache
def _drawn(family: Family, letter: str) -> bool:
    if letter == " ":
        return True
    face = _face(family, 24.0)
    # what a font lacks is drawn as one and the same box, as is this unassigned character
    return letter.isprintable() and bytes(face.getmask(letter)) != bytes(face.getmask("\uffff"))


def wrap(text: str, font: Font, width: float) -> list[str]:
    """Break a text into lines no wider than `width`. Raises ValueError where a word is wider."""
    lines: list[str] = []
    for word in text.split():
        if font.width(word) > width:
            raise ValueError(f"the word {word[:60]!r} is wider than the picture allows")
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def fit(text: str, font: Font, width: float, *, least: float = 18.0) -> Font:
    """Return the font, smaller where the line would be wider than `width`.

    Raises ValueError where that takes letters smaller than `least`.
    """
    font = letters(font, text)
    while font.width(text) > width:
        if font.size <= least:
            raise ValueError(f"{text[:60]!r} is too long for its place in the picture")
        font = font.at(max(least, font.size * 0.94))
    return font


class Sheet:
    """A drawing surface in logical pixels. Whatever would cross its edge raises ValueError."""

    def __init__(self, width: float, height: float, colour: Colour = WHITE) -> None:
        self.width, self.height, self.ground = round(width), round(height), colour
        self.image = Image.new("RGB", (self.width * FINE, self.height * FINE), colour)
        self.pen = ImageDraw.Draw(self.image)

    def text(
        self, at: tuple[float, float], text: str, font: Font, ink: Colour, anchor: str = "la"
    ) -> None:
        """Write one line; `anchor` as in Pillow, `la` is the upper left of the letters' line."""
        font = letters(font, text)
        spot = (at[0] * FINE, at[1] * FINE)
        face, stroke = _face(font.family, font.size), font.stroke * FINE
        box = self.pen.textbbox(spot, text, font=face, anchor=anchor, stroke_width=stroke)
        if box[0] < 0 or box[1] < 0 or box[2] > self.image.width or box[3] > self.image.height:
            raise ValueError(f"{text[:60]!r} would be cut off at the edge of the picture")
        self.pen.text(spot, text, ink, face, anchor, stroke_width=stroke)

    def lines(
        self, at: tuple[float, float], lines: Sequence[str], font: Font, ink: Colour
    ) -> float:
        """Write lines below each other; return where the next one would begin."""
        for row, line in enumerate(lines):
            self.text((at[0], at[1] + row * font.leading), line, font, ink)
        return at[1] + len(lines) * font.leading

    def box(
        self,
        corners: tuple[float, float, float, float],
        fill: Colour | None = None,
        *,
        line: Colour | None = None,
        width: float = 2.0,
        round_by: float = 0.0,
    ) -> None:
        """Draw a rectangle (left, top, right, bottom), filled, outlined or both."""
        left, top, right, bottom = (round(side * FINE) for side in corners)
        if left < 0 or top < 0 or right > self.image.width or bottom > self.image.height:
            raise ValueError(f"a box of {corners} crosses the edge of {self.width}x{self.height}")
        self.pen.rounded_rectangle(
            (left, top, right - 1, bottom - 1),
            round_by * FINE,
            fill,
            line,
            round(width * FINE) if line else 0,
        )

    def stroke(
        self, points: Sequence[tuple[float, float]], ink: Colour, width: float = 2.0
    ) -> None:
        """Draw a line through the points."""
        fine = [(x * FINE, y * FINE) for x, y in points]
        self.pen.line(fine, ink, max(1, round(width * FINE)), joint="curve")

    def dashes(
        self, start: tuple[float, float], end: float, ink: Colour, *, dash: float = 8.0
    ) -> None:
        """Draw a dashed horizontal line from `start` to the x of `end`."""
        x, y = start
        while x < end:
            self.stroke([(x, y), (min(x + dash, end), y)], ink, 1.5)
            x += 2 * dash


def blend(one: Colour, two: Colour, share: float) -> Colour:
    """Return the colour between: `share` of `two` in `one`."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, two, strict=True))
    return red, green, blue


def face(rng: random.Random, size: float, *, bold: bool = False) -> Font:
    """Draw a font for running text."""
    return Font("plain" if rng.random() < 0.75 else "mono", size, bold)
