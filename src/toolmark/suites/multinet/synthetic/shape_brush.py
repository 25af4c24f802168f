"""Shapes in a thing's own units, turned and drawn on a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, radians, sin

from PIL import Image

from toolmark.generation.drawing.canvas import Canvas, Colour
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.perspective import Point

CIRCLE_POINTS = [(cos(pi * k / 12), sin(pi * k / 12)) for k in range(24)]


class Brush:
    """Draws around `at`, in units of `size` pixels, turned clockwise by `turn` degrees."""

    def __init__(self, sheet: Canvas, at: Point, size: float = 1.0, turn: float = 0.0) -> None:
        self.pen, self.home, self.size, self.turn = sheet.pen, at, size, turn
        self.cos, self.sin = cos(radians(turn)), sin(radians(turn))

    def to_sheet(self, x: float, y: float) -> Point:
        """Return the position of a point on the sheet, in its fine pixels."""
        right, down = x * self.cos - y * self.sin, x * self.sin + y * self.cos
        return (self.home[0] + right * self.size) * SUPERSAMPLING, (
            self.home[1] + down * self.size
        ) * SUPERSAMPLING

    def fill_polygon(
        self, points: Sequence[Point], fill: Colour, line: Colour | None = None, width: float = 1.5
    ) -> None:
        """Fill a polygon; `width` of its line is in pixels of the sheet."""
        spots = [self.to_sheet(*point) for point in points]
        self.pen.polygon(spots, fill)
        if line:
            self.pen.line(
                [*spots, spots[0], spots[1]], line, round(width * SUPERSAMPLING), joint="curve"
            )

    def fill_box(
        self, left: float, top: float, right: float, low: float, fill: Colour,
        line: Colour | None = None,
    ) -> None:  # fmt: skip
        """Fill a rectangle."""
        self.fill_polygon([(left, top), (right, top), (right, low), (left, low)], fill, line)

    def fill_ellipse(
        self, x: float, y: float, wide: float, fill: Colour, line: Colour | None = None,
        high: float | None = None,
    ) -> None:  # fmt: skip
        """Fill an ellipse of half widths `wide` and `high`, a circle where only one is given."""
        tall = wide if high is None else high
        self.fill_polygon([(x + a * wide, y + b * tall) for a, b in CIRCLE_POINTS], fill, line)

    def draw_line(self, points: Sequence[Point], ink: Colour, width: float) -> None:
        """Draw a line; `width` is in the thing's own units."""
        spots = [self.to_sheet(*point) for point in points]
        thick = max(1, round(width * self.size * SUPERSAMPLING))
        self.pen.line(spots, ink, thick, joint="curve")
        for x, y in (spots[0], spots[-1]):
            half = thick / 2
            self.pen.ellipse((x - half, y - half, x + half, y + half), ink)


def reduce_sheet(sheet: Canvas) -> Image.Image:
    """Return the sheet at its final size, with smooth edges."""
    return sheet.image.reduce(SUPERSAMPLING)
