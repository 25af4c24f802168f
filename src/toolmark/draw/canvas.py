"""A sheet to draw on that refuses to lose anything over its edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PIL import Image, ImageDraw

from toolmark.draw.fonts import FINE, Font, cut, letters

Colour: TypeAlias = tuple[int, int, int]

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
        face, stroke = cut(font), font.stroke * FINE
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
