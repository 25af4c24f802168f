"""Symbols drawn from a description, such as "white anchor on a blue shield".

The symbol on the field is called the charge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi, radians, sin
from typing import TypeAlias

from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.perspective import Point

# easy to distinguish, by name too
COLOURS: dict[str, Colour] = {
    "red": (200, 34, 44), "blue": (28, 84, 184), "green": (20, 128, 66), "yellow": (246, 200, 40),
    "black": (26, 26, 30), "white": (250, 250, 248), "orange": (238, 126, 24),
    "purple": (118, 48, 160),
}  # fmt: skip
SHAPES = ("shield", "circle", "square", "diamond", "hexagon", "triangle")


@dataclass(frozen=True, slots=True)
class Emblem:
    """A symbol: the charge and its colour, the shape and colour of the field."""

    charge: str
    ink: str
    shape: str
    field: str


def parse_emblem(words: str) -> Emblem:
    """Parse a symbol's description: "COLOUR CHARGE on a COLOUR SHAPE".

    Either colour may be missing. Raises ValueError if no charge or no shape is known.
    """
    found = re.findall(r"[a-z]+", words.lower())
    charge, ink = _find_noun(found, tuple(CHARGES), words)
    shape, field = _find_noun(found, SHAPES, words)
    if not field:
        field = "blue" if ink in ("", "white", "yellow") else "white"
    if not ink:
        ink = "white" if field not in ("white", "yellow") else "black"
    if ink == field:
        raise ValueError(f"symbol {words!r}: {ink} on {field} cannot be seen")
    return Emblem(charge, ink, shape, field)


def _find_noun(found: Sequence[str], names: Sequence[str], words: str) -> tuple[str, str]:
    """Return the noun of `names` in the words, and the colour before it (or "")."""
    for i, word in enumerate(found):
        if word in names:
            before = found[i - 1] if i else ""
            return word, before if before in COLOURS else ""
    raise ValueError(f"symbol {words!r}: none of {', '.join(names)} is in it")


class Brush:
    """Draws on a canvas in the symbol's own units: its centre is (0, 0), its half height 1."""

    def __init__(
        self, sheet: Canvas, centre: Point, half: float, colours: tuple[Colour, Colour]
    ) -> None:
        self.pen, self.half_height, self.centre = sheet.pen, half, centre
        self.ink, self.field = colours

    def to_canvas(self, x: float, y: float) -> Point:
        """Return where a point of the symbol is on the canvas, in supersampled pixels."""
        return (self.centre[0] + x * self.half_height) * SUPERSAMPLING, (
            self.centre[1] + y * self.half_height
        ) * SUPERSAMPLING

    def polygon(self, points: Sequence[Point], colour: Colour | None = None) -> None:
        """Fill a polygon."""
        self.pen.polygon([self.to_canvas(*point) for point in points], colour or self.ink)

    def disc(self, x: float, y: float, radius: float, colour: Colour | None = None) -> None:
        """Fill a circle."""
        (left, top) = self.to_canvas(x - radius, y - radius)
        (right, bottom) = self.to_canvas(x + radius, y + radius)
        self.pen.ellipse((left, top, right, bottom), colour or self.ink)

    def line(self, points: Sequence[Point], width: float) -> None:
        """Draw a line through the points, with round ends."""
        thick = max(1, round(width * self.half_height * SUPERSAMPLING))
        self.pen.line([self.to_canvas(*point) for point in points], self.ink, thick, joint="curve")
        for x, y in (points[0], points[-1]):
            self.disc(x, y, width / 2)

    def ring(self, x: float, y: float, radius: float, width: float) -> None:
        """Draw the outline of a circle."""
        self.disc(x, y, radius)
        self.disc(x, y, radius - width, self.field)


def _regular_polygon(n: int, radius: float, start: float = -90.0) -> list[Point]:
    """Return the corners of a regular polygon."""
    turns = (radians(start + 360 * k / n) for k in range(n))
    return [(radius * cos(turn), radius * sin(turn)) for turn in turns]


def _draw_star(brush: Brush) -> None:
    outer, inner = _regular_polygon(5, 1.0), _regular_polygon(5, 0.42, -54.0)
    brush.polygon([point for pair in zip(outer, inner, strict=True) for point in pair])


def _draw_crescent(brush: Brush) -> None:
    brush.disc(0, 0, 0.95)
    brush.disc(0.38, -0.14, 0.76, brush.field)


def _draw_anchor(brush: Brush) -> None:
    brush.ring(0, -0.74, 0.24, 0.13)
    brush.line([(0, -0.5), (0, 0.8)], 0.17)
    brush.line([(-0.45, -0.28), (0.45, -0.28)], 0.15)
    arc = [(0.72 * cos(radians(a)), 0.12 + 0.7 * sin(radians(a))) for a in range(10, 171, 10)]
    brush.line(arc, 0.17)
    for side in (-1, 1):
        brush.polygon([(side * 0.98, 0.36), (side * 0.72, -0.06), (side * 0.44, 0.36)])


def _draw_tree(brush: Brush) -> None:
    brush.polygon([(-0.12, 0.3), (0.12, 0.3), (0.17, 0.98), (-0.17, 0.98)])
    for x, y, radius in ((-0.4, 0.08, 0.42), (0.4, 0.08, 0.42), (0, -0.42, 0.52), (0, 0.1, 0.42)):
        brush.disc(x, y, radius)


def _draw_wave(brush: Brush) -> None:
    for y in (-0.5, 0.02, 0.54):
        xs = [k / 16 for k in range(-15, 16)]
        brush.line([(x, y + 0.17 * sin(x * 2 * pi)) for x in xs], 0.22)


def _draw_mountain(brush: Brush) -> None:
    brush.polygon([(-1, 0.72), (-0.28, -0.72), (0.16, 0.1), (0.42, -0.3), (1, 0.72)])
    snow = blend_colours(brush.ink, brush.field, 0.75)
    brush.polygon([(-0.28, -0.72), (-0.5, -0.28), (-0.28, -0.4), (-0.06, -0.28)], snow)


def _draw_arrow(brush: Brush) -> None:
    brush.polygon([(0, -0.98), (0.72, -0.1), (0.28, -0.1), (0.28, 0.95), (-0.28, 0.95),
                 (-0.28, -0.1), (-0.72, -0.1)])  # fmt: skip


def _draw_sun(brush: Brush) -> None:
    brush.disc(0, 0, 0.5)
    for k in range(12):
        turn = radians(30 * k)
        tip = (0.98 * cos(turn), 0.98 * sin(turn))
        feet = [(0.6 * cos(turn + d), 0.6 * sin(turn + d)) for d in (-0.2, 0.2)]
        brush.polygon([tip, *feet])


def _draw_key(brush: Brush) -> None:
    brush.ring(0, -0.56, 0.4, 0.17)
    brush.line([(0, -0.2), (0, 0.88)], 0.18)
    brush.line([(0, 0.84), (0.36, 0.84)], 0.17)
    brush.line([(0, 0.48), (0.28, 0.48)], 0.17)


def _draw_leaf(brush: Brush) -> None:
    side = [(0.56 * sin(pi * k / 12), -0.98 + 1.6 * k / 12) for k in range(13)]
    brush.polygon([*side, *[(-x, y) for x, y in reversed(side)]])
    brush.line([(0, 0.5), (0, 0.95)], 0.12)
    for y in (-0.42, 0.0):
        for way in (-1, 1):
            tip = brush.to_canvas(way * 0.34, y - 0.14)
            brush.pen.line(
                [brush.to_canvas(0, y + 0.2), tip],
                brush.field,
                max(1, round(brush.half_height / 8)),
            )


def _draw_fish(brush: Brush) -> None:
    body = [(-0.2 + 0.78 * cos(a), 0.46 * sin(a)) for a in (radians(10 * k) for k in range(36))]
    brush.polygon(body)
    brush.polygon([(0.4, 0), (0.98, -0.46), (0.84, 0), (0.98, 0.46)])
    brush.disc(-0.6, -0.1, 0.09, brush.field)


def _draw_crown(brush: Brush) -> None:
    brush.polygon([(-0.85, 0.3), (-0.95, -0.5), (-0.45, -0.08), (0, -0.72), (0.45, -0.08),
                 (0.95, -0.5), (0.85, 0.3)])  # fmt: skip
    brush.polygon([(-0.85, 0.42), (0.85, 0.42), (0.85, 0.7), (-0.85, 0.7)])
    for x, y in ((-0.95, -0.55), (0, -0.78), (0.95, -0.55)):
        brush.disc(x, y, 0.13)


def _draw_bolt(brush: Brush) -> None:
    brush.polygon([(0.24, -1), (-0.58, 0.14), (-0.06, 0.14), (-0.26, 1), (0.58, -0.24),
                 (0.06, -0.24)])  # fmt: skip


def _draw_wheel(brush: Brush) -> None:
    brush.ring(0, 0, 0.95, 0.2)
    for x, y in _regular_polygon(8, 0.85, 0):
        brush.line([(0, 0), (x, y)], 0.12)
    brush.disc(0, 0, 0.26)
    brush.disc(0, 0, 0.1, brush.field)


def _draw_tower(brush: Brush) -> None:
    brush.polygon([(-0.5, -0.4), (0.5, -0.4), (0.6, 0.95), (-0.6, 0.95)])
    brush.polygon([(-0.66, -0.52), (0.66, -0.52), (0.66, -0.3), (-0.66, -0.3)])
    for x in (-0.66, -0.16, 0.34):
        brush.polygon([(x, -0.92), (x + 0.32, -0.92), (x + 0.32, -0.5), (x, -0.5)])
    door = [(-0.18, 0.95), (-0.18, 0.5), (0, 0.32), (0.18, 0.5), (0.18, 0.95)]
    brush.polygon(door, brush.field)
    brush.polygon([(-0.07, -0.14), (0.07, -0.14), (0.07, 0.1), (-0.07, 0.1)], brush.field)


def _draw_drop(brush: Brush) -> None:
    turns = (radians(a) for a in range(-20, 201, 10))
    bowl = [(0.6 * cos(turn), 0.38 + 0.6 * sin(turn)) for turn in turns]
    brush.polygon([(0, -0.98), *bowl])


ChargeDrawer: TypeAlias = Callable[[Brush], None]

CHARGES: dict[str, ChargeDrawer] = {
    "star": _draw_star,
    "crescent": _draw_crescent,
    "anchor": _draw_anchor,
    "tree": _draw_tree,
    "wave": _draw_wave,
    "mountain": _draw_mountain,
    "arrow": _draw_arrow,
    "sun": _draw_sun,
    "key": _draw_key,
    "leaf": _draw_leaf,
    "fish": _draw_fish,
    "crown": _draw_crown,
    "bolt": _draw_bolt,
    "wheel": _draw_wheel,
    "tower": _draw_tower,
    "drop": _draw_drop,
}

_SHIELD: list[Point] = [
    (-0.86, -1), (0.86, -1), (0.86, 0.05), (0.78, 0.36), (0.58, 0.64), (0.3, 0.86), (0, 1),
    (-0.3, 0.86), (-0.58, 0.64), (-0.78, 0.36), (-0.86, 0.05),
]  # fmt: skip
_OUTLINES: dict[str, list[Point]] = {
    "shield": _SHIELD,
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(0, -1), (1, 0), (0, 1), (-1, 0)],
    "hexagon": _regular_polygon(6, 1.0),
    "triangle": [(0, -0.98), (1.05, 0.88), (-1.05, 0.88)],
}
# how large the charge is on its field, and how far below the centre
_CHARGE_PLACEMENTS: dict[str, tuple[float, float]] = {
    "shield": (0.6, -0.1), "circle": (0.62, 0.0), "square": (0.66, 0.0), "diamond": (0.46, 0.0),
    "hexagon": (0.6, 0.0), "triangle": (0.44, 0.36),
}  # fmt: skip


def draw_emblem(canvas: Canvas, emblem: Emblem, centre: Point, half_height: float) -> None:
    """Draw a symbol of half height `half_height` around `centre`, in pixels of the canvas."""
    ink, field = COLOURS[emblem.ink], COLOURS[emblem.field]
    rim = blend_colours(field, (0, 0, 0) if sum(field) > 380 else (255, 255, 255), 0.5)
    for scale, colour in ((1.0, rim), (0.93, field)):
        base = Brush(canvas, centre, half_height * scale, (colour, field))
        if emblem.shape == "circle":
            base.disc(0, 0, 1.0)
        else:
            base.polygon(_OUTLINES[emblem.shape])
    size, lower = _CHARGE_PLACEMENTS[emblem.shape]
    position = (centre[0], centre[1] + lower * half_height)
    CHARGES[emblem.charge](Brush(canvas, position, half_height * size, (ink, field)))
