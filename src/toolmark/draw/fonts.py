"""Letters: families that come with the libraries, their widths, lines that fit."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

from PIL import ImageFont

FINE = 2  # a sheet is drawn this many times larger and reduced at the end: smooth edges

Family: TypeAlias = Literal["plain", "mono", "serif", "wide", "round", "hand"]

# a word in which O and 0, l and 1 cannot be told apart by what stands around them
_CODE = re.compile(r"(?<!\S)(?=\S*\d)(?=\S*[A-Za-z])\S{3,}|(?<![A-Za-z])[A-Za-z]+[-_/.:@]\S")


_PACKAGES: dict[Family, tuple[str, str]] = {
    "serif": ("font_caladea", "files"),
    "wide": ("font_manrope", "files"),
    "round": ("font_fredoka_one", "files"),
    "hand": ("font_amatic_sc", "files"),
}
# the regular and the bold cut
_CUTS: dict[Family, tuple[str, str]] = {
    "serif": ("Caladea-Regular.ttf", "Caladea-Bold.ttf"),
    "wide": ("Manrope-SemiBold.ttf", "Manrope-ExtraBold.ttf"),
    "round": ("FredokaOne-Regular.ttf", "FredokaOne-Regular.ttf"),
    "hand": ("AmaticSC-Bold.ttf", "AmaticSC-Bold.ttf"),
}


@dataclass(frozen=True, slots=True)
class Font:
    """Letters: the family, the size in pixels of the sheet, and whether they are bold.

    `plain` is the font inside Pillow (Aileron), `mono` the one inside python-barcode (DejaVu Sans
    Mono); `serif` (Caladea), `wide` (Manrope), `round` (Fredoka One) and `hand` (Amatic SC) are
    packages of their own. All come with libraries, so a picture is the same on every machine.
    """

    family: Family = "plain"
    size: float = 24.0
    bold: bool = False

    @property
    def stroke(self) -> float:
        """The width that makes letters bold where the family has no bold cut of its own."""
        return self.size / 48 if self.bold and self.family not in _CUTS else 0.0

    @property
    def leading(self) -> float:
        """The distance of two lines."""
        return self.size * 1.34

    def at(self, size: float) -> Font:
        """Return these letters at another size."""
        return replace(self, size=size)

    def width(self, text: str) -> float:
        """Return the width of a line of text, in pixels of the sheet."""
        face = cut(self)
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


def cut(font: Font) -> ImageFont.FreeTypeFont:
    """Return the face that draws these letters on a sheet, FINE times their size."""
    return _face(font.family, font.size, font.bold and font.family in _CUTS)


@cache
def _face(family: Family, size: float, bold: bool = False) -> ImageFont.FreeTypeFont:
    if family == "plain":
        found = ImageFont.load_default(size * FINE)
        assert isinstance(found, ImageFont.FreeTypeFont)
        return found
    package, folder, name = ("barcode", "fonts", "DejaVuSansMono.ttf")
    if family != "mono":
        package, folder, name = (*_PACKAGES[family], _CUTS[family][bold])
    with resources.as_file(resources.files(package) / folder / name) as path:
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


def face(rng: random.Random, size: float, *, bold: bool = False) -> Font:
    """Draw a font for running text."""
    return Font("plain" if rng.random() < 0.75 else "mono", size, bold)
