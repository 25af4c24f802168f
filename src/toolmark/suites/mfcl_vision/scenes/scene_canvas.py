"""The picture during drawing: shapes, flat objects in perspective, positions of signs."""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from toolmark.generation.drawing.canvas import Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.lighting import add_camera_grain, add_side_light
from toolmark.generation.drawing.perspective import (
    Corners,
    Plane,
    Point,
    bounding_box,
    inverse_projection,
)
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.item_records import PlacedSign
from toolmark.suites.mfcl_vision.scenes.sign_faces import SignFace

# No size is 4:3 or 16:9, so that cropping or resizing to these changes the picture.
PICTURE_SIZES = ((1440, 960), (1280, 1024), (1500, 940), (1360, 906))
# Pixels around a sign's letters that belong to the sign.
SIGN_MARGIN = 3.0


class SceneCanvas:
    """A picture in logical pixels, drawn at `SUPERSAMPLING` times the size.

    Later objects cover earlier ones. Raises ValueError if an object would cover the letters of a
    sign, or if a sign is not completely in the picture. The caller then draws the scene again.
    """

    def __init__(self, rng: random.Random, size: tuple[int, int], colour: Colour) -> None:
        self.rng, (self.width, self.height) = rng, size
        self.image = Image.new(
            "RGB", (self.width * SUPERSAMPLING, self.height * SUPERSAMPLING), colour
        )
        self.pen = ImageDraw.Draw(self.image)
        self.boxes: dict[int, Box] = {}

    # shapes of the scenery

    def fill_polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        self.pen.polygon([(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in points], colour)

    def fill_rectangle(self, box: Box, colour: Colour, *, round_by: float = 0.0) -> None:
        """Fill a rectangle."""
        left, top, right, bottom = (side * SUPERSAMPLING for side in box)
        if right - left >= 1 and bottom - top >= 1:
            self.pen.rounded_rectangle(
                (left, top, right - 1, bottom - 1), round_by * SUPERSAMPLING, colour
            )

    def fill_ellipse(self, box: Box, colour: Colour) -> None:
        """Fill an ellipse."""
        left, top, right, bottom = (side * SUPERSAMPLING for side in box)
        self.pen.ellipse((left, top, right, bottom), colour)

    def draw_line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line through the points."""
        fine = [(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in points]
        self.pen.line(fine, colour, max(1, round(width * SUPERSAMPLING)), joint="curve")

    def fill_gradient(self, box: Box, upper: Colour, lower: Colour) -> None:
        """Fill a rectangle with a vertical gradient between two colours."""
        left, top, right, bottom = (round(side * SUPERSAMPLING) for side in box)
        # No band is wider than one step of colour.
        n = max(1, min(max(abs(a - b) for a, b in zip(upper, lower, strict=True)), bottom - top))
        for k in range(n):
            edge = (top + (bottom - top) * k // n, top + (bottom - top) * (k + 1) // n)
            band = blend_colours(upper, lower, k / n)
            self.pen.rectangle((left, edge[0], right - 1, max(edge[0], edge[1] - 1)), band)

    def shade_area(
        self, points: Sequence[Point], strength: float, *, blur: float = 8.0, white: bool = False
    ) -> None:
        """Darken (or lighten) the area of a polygon with soft edges; strength in [0, 1]."""
        left, top, right, bottom = bounding_box(points)
        pad = blur * 2
        corner = (max(0, round(left - pad)), max(0, round(top - pad)))
        size = (
            min(self.width, round(right + pad)) - corner[0],
            min(self.height, round(bottom + pad)) - corner[1],
        )
        if min(size) < 1:
            return
        mask = Image.new("L", size, 0)
        inside = [(x - corner[0], y - corner[1]) for x, y in points]
        ImageDraw.Draw(mask).polygon(inside, fill=round(255 * strength))
        mask = mask.filter(ImageFilter.BoxBlur(blur / 2)).filter(ImageFilter.BoxBlur(blur / 2))
        mask = mask.resize((size[0] * SUPERSAMPLING, size[1] * SUPERSAMPLING))
        colour = (255, 255, 250) if white else (8, 8, 14)
        self.image.paste(colour, (corner[0] * SUPERSAMPLING, corner[1] * SUPERSAMPLING), mask)

    # signs

    def place_face(self, face: SignFace, corners: Corners, sign: int | None = None) -> None:
        """Draw a face on four corners; `sign` is the index of the setting's sign that it shows."""
        self.check_free(bounding_box(corners))
        fine = [(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in corners]
        left, top, right, bottom = bounding_box(fine)
        spot, size = (int(left), int(top)), (int(right) - int(left) + 1, int(bottom) - int(top) + 1)
        local_corners = [(x - spot[0], y - spot[1]) for x, y in fine]
        coefficients = inverse_projection(local_corners, face.sheet.image.size)
        patch = face.sheet.image.transform(
            size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
        )
        # A polygon would include a pixel outside the sheet, where the patch is black.
        shape = face.mask or Image.new("L", face.sheet.image.size, 255)
        mask = shape.transform(
            size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
        )
        self.image.paste(patch, spot, mask)
        if sign is not None:
            self._record_box(face, Plane((face.sheet.width, face.sheet.height), corners), sign)

    def _record_box(self, face: SignFace, plane: Plane, sign: int) -> None:
        left, top, right, bottom = bounding_box(plane.rectangle_corners(*face.ink))
        box = (left - SIGN_MARGIN, top - SIGN_MARGIN, right + SIGN_MARGIN, bottom + SIGN_MARGIN)
        if box[0] < 0 or box[1] < 0 or box[2] > self.width or box[3] > self.height:
            raise ValueError(f"sign {sign} would be cut off at the edge of the picture")
        old = self.boxes.get(sign, box)
        self.boxes[sign] = (
            min(old[0], box[0]), min(old[1], box[1]), max(old[2], box[2]), max(old[3], box[3])
        )  # fmt: skip

    def is_free(self, box: Box, gap: float = 4.0) -> bool:
        """Tell whether the box contains nothing legible."""
        left, top, right, bottom = box
        return all(
            right + gap <= b[0] or left - gap >= b[2] or bottom + gap <= b[1] or top - gap >= b[3]
            for b in self.boxes.values()
        )

    def check_free(self, box: Box) -> None:
        """Raise ValueError if an object in this box would cover letters."""
        if not self.is_free(box, 0.0):
            raise ValueError("something would cover a sign")

    def finish_picture(self) -> tuple[Image.Image, tuple[PlacedSign, ...]]:
        """Return the picture with light and grain, and the positions of the signs."""
        rng, image = self.rng, self.image.reduce(SUPERSAMPLING)
        image = add_side_light(rng, image, rng.randint(190, 240))
        tint = blend_colours((255, 255, 255), rng.choice(_LIGHT_TINTS), rng.uniform(0, 0.5))
        image = ImageChops.multiply(image, Image.new("RGB", image.size, tint))
        if rng.random() < 0.7:
            image = add_camera_grain(rng, image)
        placed_signs = tuple(PlacedSign(sign=n, box=box) for n, box in sorted(self.boxes.items()))
        return image, placed_signs


_LIGHT_TINTS: tuple[Colour, ...] = (
    (255, 236, 206), (255, 244, 226), (222, 234, 255), (236, 246, 255), (240, 250, 236),
)  # fmt: skip
