"""The picture while it is drawn: shapes, flat things in perspective, where signs came to lie."""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from toolmark.draw.canvas import Colour, blend
from toolmark.draw.fonts import FINE
from toolmark.draw.light import grainy, lit
from toolmark.draw.plane import Corners, Plane, Point, back, bounds
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.item import Seen
from toolmark.suites.mfcl.vision.scenes.faces import Face

# none is 4:3 or 16:9: to crop or to resize to those must change the picture
SIZES = ((1440, 960), (1280, 1024), (1500, 940), (1360, 906))
MARGIN = 3.0  # pixels around a sign's letters that still count as the sign


class Stage:
    """A picture in logical pixels, drawn FINE times larger; things laid later cover earlier ones.

    Where something would cover the letters of a sign, or a sign leaves the picture, ValueError is
    raised: the caller draws the scene anew.
    """

    def __init__(self, rng: random.Random, size: tuple[int, int], colour: Colour) -> None:
        self.rng, (self.width, self.height) = rng, size
        self.image = Image.new("RGB", (self.width * FINE, self.height * FINE), colour)
        self.pen = ImageDraw.Draw(self.image)
        self.boxes: dict[int, Box] = {}

    # shapes of the scenery

    def poly(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        self.pen.polygon([(x * FINE, y * FINE) for x, y in points], colour)

    def rect(self, box: Box, colour: Colour, *, round_by: float = 0.0) -> None:
        """Fill a rectangle."""
        left, top, right, low = (side * FINE for side in box)
        if right - left >= 1 and low - top >= 1:
            self.pen.rounded_rectangle((left, top, right - 1, low - 1), round_by * FINE, colour)

    def oval(self, box: Box, colour: Colour) -> None:
        """Fill an ellipse."""
        left, top, right, low = (side * FINE for side in box)
        self.pen.ellipse((left, top, right, low), colour)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line through the points."""
        fine = [(x * FINE, y * FINE) for x, y in points]
        self.pen.line(fine, colour, max(1, round(width * FINE)), joint="curve")

    def slope(self, box: Box, upper: Colour, lower: Colour) -> None:
        """Fill a rectangle with colours that run into each other from top to bottom."""
        left, top, right, low = (round(side * FINE) for side in box)
        # no band is wider than one step of colour
        n = max(1, min(max(abs(a - b) for a, b in zip(upper, lower, strict=True)), low - top))
        for k in range(n):
            edge = (top + (low - top) * k // n, top + (low - top) * (k + 1) // n)
            band = blend(upper, lower, k / n)
            self.pen.rectangle((left, edge[0], right - 1, max(edge[0], edge[1] - 1)), band)

    def shade(
        self, points: Sequence[Point], strength: float, *, blur: float = 8.0, white: bool = False
    ) -> None:
        """Darken (or lighten) what lies under a polygon with soft edges; strength in [0, 1]."""
        left, top, right, low = bounds(points)
        pad = blur * 2
        corner = (max(0, round(left - pad)), max(0, round(top - pad)))
        size = (
            min(self.width, round(right + pad)) - corner[0],
            min(self.height, round(low + pad)) - corner[1],
        )
        if min(size) < 1:
            return
        mask = Image.new("L", size, 0)
        inside = [(x - corner[0], y - corner[1]) for x, y in points]
        ImageDraw.Draw(mask).polygon(inside, fill=round(255 * strength))
        mask = mask.filter(ImageFilter.BoxBlur(blur / 2)).filter(ImageFilter.BoxBlur(blur / 2))
        mask = mask.resize((size[0] * FINE, size[1] * FINE))
        colour = (255, 255, 250) if white else (8, 8, 14)
        self.image.paste(colour, (corner[0] * FINE, corner[1] * FINE), mask)

    # signs

    def put(self, face: Face, corners: Corners, sign: int | None = None) -> None:
        """Lay a face on four corners; `sign` is the one of the setting that it shows."""
        self.clear(bounds(corners))
        fine = [(x * FINE, y * FINE) for x, y in corners]
        left, top, right, low = bounds(fine)
        spot, size = (int(left), int(top)), (int(right) - int(left) + 1, int(low) - int(top) + 1)
        near = [(x - spot[0], y - spot[1]) for x, y in fine]
        way = back(near, face.sheet.image.size)
        patch = face.sheet.image.transform(
            size, Image.Transform.PERSPECTIVE, way, Image.Resampling.BILINEAR
        )
        # a polygon would reach a pixel beyond the sheet, where the patch is black
        shape = face.mask or Image.new("L", face.sheet.image.size, 255)
        mask = shape.transform(size, Image.Transform.PERSPECTIVE, way, Image.Resampling.BILINEAR)
        self.image.paste(patch, spot, mask)
        if sign is not None:
            self._note(face, Plane((face.sheet.width, face.sheet.height), corners), sign)

    def _note(self, face: Face, plane: Plane, sign: int) -> None:
        left, top, right, low = bounds(plane.quad(*face.ink))
        box = (left - MARGIN, top - MARGIN, right + MARGIN, low + MARGIN)
        if box[0] < 0 or box[1] < 0 or box[2] > self.width or box[3] > self.height:
            raise ValueError(f"sign {sign} would be cut off at the edge of the picture")
        old = self.boxes.get(sign, box)
        self.boxes[sign] = (
            min(old[0], box[0]), min(old[1], box[1]), max(old[2], box[2]), max(old[3], box[3])
        )  # fmt: skip

    def free(self, box: Box, gap: float = 4.0) -> bool:
        """Say whether nothing legible lies within the box."""
        left, top, right, low = box
        return all(
            right + gap <= b[0] or left - gap >= b[2] or low + gap <= b[1] or top - gap >= b[3]
            for b in self.boxes.values()
        )

    def clear(self, box: Box) -> None:
        """Raise ValueError where something would cover letters."""
        if not self.free(box, 0.0):
            raise ValueError("something would cover a sign")

    def finish(self) -> tuple[Image.Image, tuple[Seen, ...]]:
        """Return the picture with its light and grain, and where the signs lie."""
        rng, image = self.rng, self.image.reduce(FINE)
        image = lit(rng, image, rng.randint(190, 240))
        tint = blend((255, 255, 255), rng.choice(_TINTS), rng.uniform(0, 0.5))
        image = ImageChops.multiply(image, Image.new("RGB", image.size, tint))
        if rng.random() < 0.7:
            image = grainy(rng, image)
        seen = tuple(Seen(sign=n, box=box) for n, box in sorted(self.boxes.items()))
        return image, seen


_TINTS: tuple[Colour, ...] = (
    (255, 236, 206), (255, 244, 226), (222, 234, 255), (236, 246, 255), (240, 250, 236),
)  # fmt: skip
