"""A flat object seen at an angle: how its points and pixels are projected into the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Corners: TypeAlias = tuple[Point, Point, Point, Point]


def inverse_projection(corners: Sequence[Point], size: tuple[int, int]) -> tuple[float, ...]:
    """Return the eight coefficients that map a point inside the corners back to the canvas.

    The unit square's projection onto a quadrilateral (Heckbert, Fundamentals of Texture Mapping,
    1989, section 2.2.3), inverted by its adjugate.
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners
    dx1, dx2, sx = x1 - x2, x3 - x2, x0 - x1 + x2 - x3
    dy1, dy2, sy = y1 - y2, y3 - y2, y0 - y1 + y2 - y3
    det = dx1 * dy2 - dx2 * dy1
    g, h = (sx * dy2 - dx2 * sy) / det, (dx1 * sy - sx * dy1) / det
    a, b, c = x1 - x0 + g * x1, x3 - x0 + h * x3, x0
    d, e, f = y1 - y0 + g * y1, y3 - y0 + h * y3, y0
    last = a * e - b * d
    width, height = size
    rows = (
        (width * (e - f * h), width * (c * h - b), width * (b * f - c * e)),
        (height * (f * g - d), height * (a - c * g), height * (c * d - a * f)),
        (d * h - e * g, b * g - a * h, last),
    )
    return tuple(value / last for row in rows for value in row)[:8]


@dataclass(frozen=True, slots=True)
class Plane:
    """A flat object of `size` (width, height) whose corners are at `corners` in the picture.

    The corners: upper left, upper right, lower right, lower left.
    """

    size: tuple[float, float]
    corners: Corners

    def to_picture(self, x: float, y: float) -> Point:
        """Return where a point of the plane is in the picture."""
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = self.corners
        dx1, dx2, sx = x1 - x2, x3 - x2, x0 - x1 + x2 - x3
        dy1, dy2, sy = y1 - y2, y3 - y2, y0 - y1 + y2 - y3
        det = dx1 * dy2 - dx2 * dy1
        g, h = (sx * dy2 - dx2 * sy) / det, (dx1 * sy - sx * dy1) / det
        u, v = x / self.size[0], y / self.size[1]
        depth = g * u + h * v + 1
        across = (x1 - x0 + g * x1) * u + (x3 - x0 + h * x3) * v + x0
        down = (y1 - y0 + g * y1) * u + (y3 - y0 + h * y3) * v + y0
        return across / depth, down / depth

    def rectangle_corners(self, left: float, top: float, right: float, bottom: float) -> Corners:
        """Return the corners of a rectangle of the plane."""
        return (
            self.to_picture(left, top),
            self.to_picture(right, top),
            self.to_picture(right, bottom),
            self.to_picture(left, bottom),
        )


def bounding_box(points: Sequence[Point]) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of the points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
