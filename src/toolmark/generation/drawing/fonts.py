"""Fonts: families that come with the libraries, widths of text, text fitted to a width."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

from PIL import ImageFont

SUPERSAMPLING = 2  # a canvas is drawn this much larger, then reduced: smooth edges

Family: TypeAlias = Literal["plain", "mono", "serif", "wide", "round", "hand"]

# a word whose other letters do not show whether it has O or 0, l or 1
_CODE_PATTERN = re.compile(
    r"(?<!\S)(?=\S*\d)(?=\S*[A-Za-z])\S{3,}|(?<![A-Za-z])[A-Za-z]+[-_/.:@]\S"
)


_FONT_PACKAGES: dict[Family, tuple[str, str]] = {
    "serif": ("font_caladea", "files"),
    "wide": ("font_manrope", "files"),
    "round": ("font_fredoka_one", "files"),
    "hand": ("font_amatic_sc", "files"),
}
# the regular and the bold file
_FONT_FILES: dict[Family, tuple[str, str]] = {
    "serif": ("Caladea-Regular.ttf", "Caladea-Bold.ttf"),
    "wide": ("Manrope-SemiBold.ttf", "Manrope-ExtraBold.ttf"),
    "round": ("FredokaOne-Regular.ttf", "FredokaOne-Regular.ttf"),
    "hand": ("AmaticSC-Bold.ttf", "AmaticSC-Bold.ttf"),
}


@dataclass(frozen=True, slots=True)
class Font:
    """A font: the family, the size in pixels of the canvas, and whether it is bold.

    `plain` is the font inside Pillow (Aileron), `mono` the one inside python-barcode (DejaVu Sans
    Mono); `serif` (Caladea), `wide` (Manrope), `round` (Fredoka One) and `hand` (Amatic SC) are
    packages of their own. All come with libraries, so a picture is the same on every machine.
    """

    family: Family = "plain"
    size: float = 24.0
    bold: bool = False

    @property
    def stroke_width(self) -> float:
        """The stroke width that makes letters bold if the family has no bold file."""
        return self.size / 48 if self.bold and self.family not in _FONT_FILES else 0.0

    @property
    def line_height(self) -> float:
        """The distance between two lines."""
        return self.size * 1.34

    def with_size(self, size: float) -> Font:
        """Return this font at another size."""
        return replace(self, size=size)

    def text_width(self, text: str) -> float:
        """Return the width of a line of text, in pixels of the canvas."""
        face = pillow_font(self)
        return (face.getlength(text) / SUPERSAMPLING if text else 0.0) + 2 * self.stroke_width


def choose_font(font: Font, *texts: str) -> Font:
    """Return the font, or one in which all of these texts are legible, such as codes, rare letters.

    Raises ValueError if neither family has all the letters.
    """
    text = " ".join(texts)
    families: tuple[Family, ...] = (
        ("mono",) if _CODE_PATTERN.search(text) else (font.family, "mono")
    )
    for family in families:
        if all(_has_glyph(family, letter) for letter in set(text)):
            return replace(font, family=family)
    missing = sorted(letter for letter in set(text) if not _has_glyph("mono", letter))
    raise ValueError(f"no letters for {missing} in {text[:60]!r}; write it otherwise")


def pillow_font(font: Font) -> ImageFont.FreeTypeFont:
    """Return the Pillow font for a canvas, at SUPERSAMPLING times the size."""
    return _load_face(font.family, font.size, font.bold and font.family in _FONT_FILES)


@cache
def _load_face(family: Family, size: float, bold: bool = False) -> ImageFont.FreeTypeFont:
    if family == "plain":
        found = ImageFont.load_default(size * SUPERSAMPLING)
        assert isinstance(found, ImageFont.FreeTypeFont)
        return found
    package, folder, name = ("barcode", "fonts", "DejaVuSansMono.ttf")
    if family != "mono":
        package, folder, name = (*_FONT_PACKAGES[family], _FONT_FILES[family][bold])
    with resources.as_file(resources.files(package) / folder / name) as path:
        # the other layout engine is not on every machine, and spaces letters differently
        return ImageFont.truetype(path, size * SUPERSAMPLING, layout_engine=ImageFont.Layout.BASIC)


@cache
def _has_glyph(family: Family, letter: str) -> bool:
    if letter == " ":
        return True
    face = _load_face(family, 24.0)
    # a missing letter is drawn as the same box as this unassigned character
    return letter.isprintable() and bytes(face.getmask(letter)) != bytes(face.getmask("\uffff"))


def wrap_text(text: str, font: Font, width: float) -> list[str]:
    """Break a text into lines no wider than `width`; raises ValueError if a word is wider."""
    lines: list[str] = []
    for word in text.split():
        if font.text_width(word) > width:
            raise ValueError(f"the word {word[:60]!r} is wider than the picture allows")
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.text_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def fit_font(text: str, font: Font, width: float, *, min_size: float = 18.0) -> Font:
    """Return the font, smaller if the line would be wider than `width`.

    Raises ValueError if the size would be below `min_size`.
    """
    font = choose_font(font, text)
    while font.text_width(text) > width:
        if font.size <= min_size:
            raise ValueError(f"{text[:60]!r} is too long for its place in the picture")
        font = font.with_size(max(min_size, font.size * 0.94))
    return font


def random_font(rng: random.Random, size: float, *, bold: bool = False) -> Font:
    """Choose a random font for running text."""
    return Font("plain" if rng.random() < 0.75 else "mono", size, bold)
