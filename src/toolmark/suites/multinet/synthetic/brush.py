"""Shapes in a thing's own measures, turned and put on a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, radians, sin

from PIL import Image

from toolmark.draw.canvas import Colour, Sheet
from toolmark.draw.fonts import FINE
from toolmark.draw.plane import Point

ROUND = [(cos(pi * k / 12), sin(pi * k / 12)) for k in range(24)]


class Brush:
    """Draws around `at`, in units of `size` pixels, turned clockwise by `turn` degrees."""

    def __init__(self, sheet: Sheet, at: Point, size: float = 1.0, turn: float = 0.0) -> None:
        self.pen, self.home, self.size, self.turn = sheet.pen, at, size, turn
        self.cos, self.sin = cos(radians(turn)), sin(radians(turn))

    def at(self, x: float, y: float) -> Point:
        """Return where a point lies on the sheet, in its fine pixels."""
        right, down = x * self.cos - y * self.sin, x * self.sin + y * self.cos
        return (self.home[0] + right * self.size) * FINE, (self.home[1] + down * self.size) * FINE

    def shape(
        self, points: Sequence[Point], fill: Colour, line: Colour | None = None, width: float = 1.5
    ) -> None:
        """Fill a polygon; `width` of its line is in pixels of the sheet."""
        spots = [self.at(*point) for point in points]
        self.pen.polygon(spots, fill)
        if line:
            self.pen.line([*spots, spots[0], spots[1]], line, round(width * FINE), joint="curve")

    def box(
        self, left: float, top: float, right: float, low: float, fill: Colour,
        line: Colour | None = None,
    ) -> None:  # fmt: skip
        """Fill a rectangle."""
        self.shape([(left, top), (right, top), (right, low), (left, low)], fill, line)

    def disc(
        self, x: float, y: float, wide: float, fill: Colour, line: Colour | None = None,
        high: float | None = None,
    ) -> None:  # fmt: skip
        """Fill an ellipse of half widths `wide` and `high`, a circle where only one is given."""
        tall = wide if high is None else high
        self.shape([(x + a * wide, y + b * tall) for a, b in ROUND], fill, line)

    def line(self, points: Sequence[Point], ink: Colour, width: float) -> None:
        """Draw a line; `width` is in the thing's own units."""
        spots = [self.at(*point) for point in points]
        thick = max(1, round(width * self.size * FINE))
        self.pen.line(spots, ink, thick, joint="curve")
        for x, y in (spots[0], spots[-1]):
            half = thick / 2
            self.pen.ellipse((x - half, y - half, x + half, y + half), ink)


def finished(sheet: Sheet) -> Image.Image:
    """Return the sheet in its own size, with smooth edges."""
    return sheet.image.reduce(FINE)
