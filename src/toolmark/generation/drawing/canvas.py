"""A canvas that refuses to draw anything beyond its edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PIL import Image, ImageDraw

from toolmark.generation.drawing.fonts import SUPERSAMPLING, Font, choose_font, pillow_font

Colour: TypeAlias = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
INK_COLOURS: tuple[Colour, ...] = (
    (24, 24, 27), (30, 41, 59), (23, 37, 84), (63, 29, 56), (20, 53, 44), (68, 38, 20),
)  # fmt: skip
PAPER_COLOURS: tuple[Colour, ...] = (
    WHITE, (253, 250, 242), (248, 250, 252), (252, 246, 232), (244, 247, 243), (250, 244, 248),
)  # fmt: skip
# dark enough for white letters on them, and easy to distinguish
VIVID_COLOURS: tuple[Colour, ...] = (
    (200, 38, 46), (32, 92, 190), (22, 122, 66), (120, 52, 168), (196, 88, 8), (8, 118, 128),
    (120, 72, 40), (206, 48, 128), (88, 96, 108), (24, 40, 100),
)  # fmt: skip


class Canvas:
    """A drawing surface in logical pixels; drawing beyond its edge raises ValueError."""

    def __init__(self, width: float, height: float, colour: Colour = WHITE) -> None:
        self.width, self.height, self.background = round(width), round(height), colour
        self.image = Image.new(
            "RGB", (self.width * SUPERSAMPLING, self.height * SUPERSAMPLING), colour
        )
        self.pen = ImageDraw.Draw(self.image)

    def text(
        self, at: tuple[float, float], text: str, font: Font, ink: Colour, anchor: str = "la"
    ) -> None:
        """Write one line; `anchor` as in Pillow, `la` is the upper left of the letters' line."""
        font = choose_font(font, text)
        position = (at[0] * SUPERSAMPLING, at[1] * SUPERSAMPLING)
        face, stroke = pillow_font(font), font.stroke_width * SUPERSAMPLING
        box = self.pen.textbbox(position, text, font=face, anchor=anchor, stroke_width=stroke)
        if box[0] < 0 or box[1] < 0 or box[2] > self.image.width or box[3] > self.image.height:
            raise ValueError(f"{text[:60]!r} would be cut off at the edge of the picture")
        self.pen.text(position, text, ink, face, anchor, stroke_width=stroke)

    def text_lines(
        self, at: tuple[float, float], lines: Sequence[str], font: Font, ink: Colour
    ) -> float:
        """Write lines below each other; return the y where the next one would begin."""
        for row, line in enumerate(lines):
            self.text((at[0], at[1] + row * font.line_height), line, font, ink)
        return at[1] + len(lines) * font.line_height

    def rectangle(
        self,
        corners: tuple[float, float, float, float],
        fill: Colour | None = None,
        *,
        line: Colour | None = None,
        width: float = 2.0,
        round_by: float = 0.0,
    ) -> None:
        """Draw a rectangle (left, top, right, bottom), filled, outlined or both."""
        left, top, right, bottom = (round(side * SUPERSAMPLING) for side in corners)
        if left < 0 or top < 0 or right > self.image.width or bottom > self.image.height:
            raise ValueError(f"a box of {corners} crosses the edge of {self.width}x{self.height}")
        self.pen.rounded_rectangle(
            (left, top, right - 1, bottom - 1),
            round_by * SUPERSAMPLING,
            fill,
            line,
            round(width * SUPERSAMPLING) if line else 0,
        )

    def polyline(
        self, points: Sequence[tuple[float, float]], ink: Colour, width: float = 2.0
    ) -> None:
        """Draw a line through the points."""
        fine = [(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in points]
        self.pen.line(fine, ink, max(1, round(width * SUPERSAMPLING)), joint="curve")

    def dashed_line(
        self, start: tuple[float, float], end: float, ink: Colour, *, dash: float = 8.0
    ) -> None:
        """Draw a dashed horizontal line from `start` to the x of `end`."""
        x, y = start
        while x < end:
            self.polyline([(x, y), (min(x + dash, end), y)], ink, 1.5)
            x += 2 * dash


def blend_colours(one: Colour, two: Colour, share: float) -> Colour:
    """Return the mixed colour: `share` of `two`, the rest of `one`."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, two, strict=True))
    return red, green, blue
