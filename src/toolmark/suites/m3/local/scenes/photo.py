"""From a sheet to a picture: laid down a little askew, lit from one side, grainy, or as it is."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from math import cos, radians, sin

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.draw.fonts import FINE
from toolmark.draw.light import grainy, lit
from toolmark.draw.plane import Point, back

LONGEST = 1024  # pixels of the long side of a picture; many models scale down what is larger

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
        big, Image.Transform.PERSPECTIVE, back(fine, sheet.image.size), Image.Resampling.BILINEAR
    )
    desk.paste(warped.reduce(FINE), mask=mask)
    return desk


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
    shone = lit(rng, image, rng.randint(205, 245))
    if rng.random() < 0.4:
        shone = grainy(rng, shone)
    return shone.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
