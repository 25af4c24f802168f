"""From a sheet to a picture: laid down a little askew, lit from one side, grainy, or as it is."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from math import cos, radians, sin
from typing import TypeAlias

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from toolmark.suites.m3.local.scenes.canvas import FINE, LONGEST, Colour, Sheet, blend

Point: TypeAlias = tuple[float, float]

DESKS: tuple[Colour, ...] = (
    (148, 112, 78), (104, 78, 58), (92, 104, 116), (62, 68, 78), (176, 160, 140), (70, 96, 92),
    (128, 88, 92), (196, 190, 180), (54, 74, 104), (160, 140, 92),
)  # fmt: skip
SCALE = 0.72  # a sheet is made no smaller than this: the smallest letters stay legible
COLOURS = 160  # of the finished picture: keeps a grainy one below half a megabyte


def flat(sheet: Sheet) -> bytes:
    """Return the sheet as it is, as a PNG."""
    return png(_bounded(sheet.image.reduce(FINE)))


def laid(rng: random.Random, sheet: Sheet, *, tilt: float = 2.6, bend: float = 0.014) -> bytes:
    """Return a PNG of all of the sheet on a desk, turned by at most `tilt` degrees.

    `bend` is how far a corner moves, as a share of the sheet's sides: the perspective.
    """
    corners = _corners(rng, sheet, tilt=tilt, bend=bend)
    left, top = (min(point[axis] for point in corners) for axis in (0, 1))
    right, bottom = (max(point[axis] for point in corners) for axis in (0, 1))
    margin = rng.uniform(22, 48)
    scale = min(1.0, (LONGEST - 2 * margin) / max(right - left, bottom - top))
    _legible(scale)
    placed = [((x - left) * scale + margin, (y - top) * scale + margin) for x, y in corners]
    size = (
        round((right - left) * scale + 2 * margin),
        round((bottom - top) * scale + 2 * margin),
    )
    return png(_lit(rng, _composed(rng, sheet, placed, size)))


def png(image: Image.Image) -> bytes:
    """Return the picture as PNG bytes."""
    out = io.BytesIO()
    image.save(out, "PNG", optimize=False, compress_level=6)
    return out.getvalue()


def _bounded(image: Image.Image) -> Image.Image:
    scale = LONGEST / max(image.size)
    if scale >= 1:
        return image
    _legible(scale)
    size = (round(image.width * scale), round(image.height * scale))
    return image.resize(size, Image.Resampling.LANCZOS)


def _legible(scale: float) -> None:
    if scale < SCALE:
        raise ValueError(f"too much for one picture: it would be shrunk to {scale:.0%}")


def _corners(rng: random.Random, sheet: Sheet, *, tilt: float, bend: float) -> list[Point]:
    """Return where the corners go: upper left, upper right, lower right, lower left."""
    turn = radians(rng.uniform(-tilt, tilt))
    found = []
    for right, down in ((0, 0), (1, 0), (1, 1), (0, 1)):
        x = sheet.width * (right + rng.uniform(-bend, bend))
        y = sheet.height * (down + rng.uniform(-bend, bend))
        moved = (x * cos(turn) - y * sin(turn), x * sin(turn) + y * cos(turn))
        # to a sixteenth of a pixel, so that the last digit of a sine does not matter
        found.append((round(moved[0] * 16) / 16, round(moved[1] * 16) / 16))
    return found


def _composed(
    rng: random.Random, sheet: Sheet, corners: Sequence[Point], size: tuple[int, int]
) -> Image.Image:
    """Return the desk with the sheet's shadow and the sheet on it."""
    desk = _desk(rng, size)
    fine = [(x * FINE, y * FINE) for x, y in corners]
    big = (size[0] * FINE, size[1] * FINE)
    outline = Image.new("L", big, 0)
    ImageDraw.Draw(outline).polygon(fine, fill=255)
    mask = outline.reduce(FINE)
    shadow = ImageChops.offset(mask, rng.randint(-9, 9), rng.randint(4, 10))
    dark = shadow.filter(ImageFilter.BoxBlur(rng.randint(5, 9))).point(
        [v * 2 // 5 for v in range(256)]
    )
    desk.paste((10, 10, 14), mask=dark)
    warped = sheet.image.transform(
        big, Image.Transform.PERSPECTIVE, _back(fine, sheet.image.size), Image.Resampling.BILINEAR
    )
    desk.paste(warped.reduce(FINE), mask=mask)
    return desk


def _back(corners: Sequence[Point], size: tuple[int, int]) -> tuple[float, ...]:
    """Return the eight numbers that lead from a point inside the corners back to the sheet.

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
    wide, high = size
    rows = (
        (wide * (e - f * h), wide * (c * h - b), wide * (b * f - c * e)),
        (high * (f * g - d), high * (a - c * g), high * (c * d - a * f)),
        (d * h - e * g, b * g - a * h, last),
    )
    return tuple(value / last for row in rows for value in row)[:8]


def _desk(rng: random.Random, size: tuple[int, int]) -> Image.Image:
    colour = rng.choice(DESKS)
    image = Image.new("RGB", size, colour)
    pen = ImageDraw.Draw(image)
    match rng.choice(("plain", "planks", "cloth", "tiles")):
        case "planks":
            high = rng.randint(40, 90)
            for y in range(-rng.randint(0, 30), size[1], high):
                shade = blend(colour, rng.choice(((0, 0, 0), (255, 255, 255))), rng.uniform(0, 0.1))
                pen.rectangle((0, y, size[0], y + high - 2), shade)
        case "cloth":
            step, shade = rng.randint(6, 12), blend(colour, (255, 255, 255), 0.08)
            for x in range(-size[1], size[0], step):
                pen.line((x, 0, x + size[1], size[1]), shade, step // 3)
        case "tiles":
            step, shade = rng.randint(60, 120), blend(colour, (0, 0, 0), 0.14)
            for x in range(rng.randint(0, step), size[0], step):
                pen.line((x, 0, x, size[1]), shade, 2)
            for y in range(rng.randint(0, step), size[1], step):
                pen.line((0, y, size[0], y), shade, 2)
        case _:
            pass
    return image


def _lit(rng: random.Random, image: Image.Image) -> Image.Image:
    """Return the picture with light from one side, and grain on some."""
    darkest = rng.randint(205, 245)
    slope = Image.linear_gradient("L").rotate(rng.choice((0, 90, 180, 270)))
    light = slope.resize(image.size).point(
        [darkest + v * (255 - darkest) // 255 for v in range(256)]
    )
    lit = ImageChops.multiply(image, Image.merge("RGB", (light, light, light)))
    if rng.random() < 0.4:
        lit = _grainy(rng, lit)
    return lit.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def _grainy(rng: random.Random, image: Image.Image) -> Image.Image:
    wide, high = image.width // 2, image.height // 2
    grain = Image.frombytes("L", (wide, high), rng.randbytes(wide * high)).resize(image.size)
    faint = grain.point([118 + v // 13 for v in range(256)])
    return ImageChops.add(image, Image.merge("RGB", (faint, faint, faint)), 1.0, -128)
