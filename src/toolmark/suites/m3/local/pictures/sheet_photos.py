"""Pictures of sheets: turned a little, lit from one side and grainy, or flat."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from math import cos, radians, sin

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from toolmark.core import number_format
from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.lighting import add_camera_grain, add_side_light
from toolmark.generation.drawing.perspective import Point, inverse_projection

# Pixels of the long side of a picture; many models scale larger pictures down.
MAX_SIDE_PX = 1024

DESK_COLOURS: tuple[Colour, ...] = (
    (148, 112, 78), (104, 78, 58), (92, 104, 116), (62, 68, 78), (176, 160, 140), (70, 96, 92),
    (128, 88, 92), (196, 190, 180), (54, 74, 104), (160, 140, 92),
)  # fmt: skip
# The smallest scale of a sheet at which the smallest letters remain legible.
MIN_SCALE = 0.72
# Colours of the finished picture: limits a grainy one to less than half a megabyte.
MAX_COLOURS = 160


def render_flat(sheet: Canvas) -> bytes:
    """Return the sheet without changes as a PNG."""
    return encode_png(_limit_size(sheet.image.reduce(SUPERSAMPLING)))


def render_on_desk(
    rng: random.Random, sheet: Canvas, *, tilt: float = 2.6, bend: float = 0.014
) -> bytes:
    """Return a PNG of the complete sheet on a desk, turned by at most `tilt` degrees.

    `bend` is the largest shift of a corner, as a share of the sheet's sides: the perspective.
    """
    corners = _place_corners(rng, sheet, tilt=tilt, bend=bend)
    left, top = (min(point[axis] for point in corners) for axis in (0, 1))
    right, bottom = (max(point[axis] for point in corners) for axis in (0, 1))
    margin = rng.uniform(22, 48)
    scale = min(1.0, (MAX_SIDE_PX - 2 * margin) / max(right - left, bottom - top))
    _check_legible(scale)
    placed_corners = [((x - left) * scale + margin, (y - top) * scale + margin) for x, y in corners]
    size = (
        round((right - left) * scale + 2 * margin),
        round((bottom - top) * scale + 2 * margin),
    )
    return encode_png(_add_light(rng, _compose_desk(rng, sheet, placed_corners, size)))


def encode_png(image: Image.Image) -> bytes:
    """Return the picture as PNG bytes."""
    out = io.BytesIO()
    image.save(out, "PNG", optimize=False, compress_level=6)
    return out.getvalue()


def _limit_size(image: Image.Image) -> Image.Image:
    scale = MAX_SIDE_PX / max(image.size)
    if scale >= 1:
        return image
    _check_legible(scale)
    size = (round(image.width * scale), round(image.height * scale))
    return image.resize(size, Image.Resampling.LANCZOS)


def _check_legible(scale: float) -> None:
    if scale < MIN_SCALE:
        share = number_format.format_percent(scale, 0)
        raise ValueError(f"too much for one picture: it would be shrunk to {share}")


def _place_corners(rng: random.Random, sheet: Canvas, *, tilt: float, bend: float) -> list[Point]:
    """Return the new corners: upper left, upper right, lower right, lower left."""
    turn = radians(rng.uniform(-tilt, tilt))
    found = []
    for right, down in ((0, 0), (1, 0), (1, 1), (0, 1)):
        x = sheet.width * (right + rng.uniform(-bend, bend))
        y = sheet.height * (down + rng.uniform(-bend, bend))
        moved = (x * cos(turn) - y * sin(turn), x * sin(turn) + y * cos(turn))
        # Rounded to a sixteenth of a pixel, so that the last digit of a sine does not matter.
        found.append((round(moved[0] * 16) / 16, round(moved[1] * 16) / 16))
    return found


def _compose_desk(
    rng: random.Random, sheet: Canvas, corners: Sequence[Point], size: tuple[int, int]
) -> Image.Image:
    """Return the desk with the sheet's shadow and the sheet on it."""
    desk = _draw_desk(rng, size)
    fine = [(x * SUPERSAMPLING, y * SUPERSAMPLING) for x, y in corners]
    big = (size[0] * SUPERSAMPLING, size[1] * SUPERSAMPLING)
    outline = Image.new("L", big, 0)
    ImageDraw.Draw(outline).polygon(fine, fill=255)
    mask = outline.reduce(SUPERSAMPLING)
    shadow = ImageChops.offset(mask, rng.randint(-9, 9), rng.randint(4, 10))
    dark = shadow.filter(ImageFilter.BoxBlur(rng.randint(5, 9))).point(
        [v * 2 // 5 for v in range(256)]
    )
    desk.paste((10, 10, 14), mask=dark)
    warped = sheet.image.transform(
        big,
        Image.Transform.PERSPECTIVE,
        inverse_projection(fine, sheet.image.size),
        Image.Resampling.BILINEAR,
    )
    desk.paste(warped.reduce(SUPERSAMPLING), mask=mask)
    return desk


def _draw_desk(rng: random.Random, size: tuple[int, int]) -> Image.Image:
    colour = rng.choice(DESK_COLOURS)
    image = Image.new("RGB", size, colour)
    pen = ImageDraw.Draw(image)
    match rng.choice(("plain", "planks", "cloth", "tiles")):
        case "planks":
            high = rng.randint(40, 90)
            for y in range(-rng.randint(0, 30), size[1], high):
                shade = blend_colours(
                    colour, rng.choice(((0, 0, 0), (255, 255, 255))), rng.uniform(0, 0.1)
                )
                pen.rectangle((0, y, size[0], y + high - 2), shade)
        case "cloth":
            step, shade = rng.randint(6, 12), blend_colours(colour, (255, 255, 255), 0.08)
            for x in range(-size[1], size[0], step):
                pen.line((x, 0, x + size[1], size[1]), shade, step // 3)
        case "tiles":
            step, shade = rng.randint(60, 120), blend_colours(colour, (0, 0, 0), 0.14)
            for x in range(rng.randint(0, step), size[0], step):
                pen.line((x, 0, x, size[1]), shade, 2)
            for y in range(rng.randint(0, step), size[1], step):
                pen.line((0, y, size[0], y), shade, 2)
        case _:
            pass
    return image


def _add_light(rng: random.Random, image: Image.Image) -> Image.Image:
    """Return the picture with light from one side, and in some cases with grain."""
    lighted = add_side_light(rng, image, rng.randint(205, 245))
    if rng.random() < 0.4:
        lighted = add_camera_grain(rng, lighted)
    return lighted.quantize(MAX_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
