"""Light that falls on a finished picture, and the grain of a camera."""

from __future__ import annotations

import random

from PIL import Image, ImageChops


def lit(rng: random.Random, image: Image.Image, darkest: int) -> Image.Image:
    """Return the picture with light from one side; `darkest` of 255 on the other."""
    slope = Image.linear_gradient("L").rotate(rng.choice((0, 90, 180, 270)))
    light = slope.resize(image.size).point(
        [darkest + v * (255 - darkest) // 255 for v in range(256)]
    )
    return ImageChops.multiply(image, Image.merge("RGB", (light, light, light)))


def grainy(rng: random.Random, image: Image.Image) -> Image.Image:
    """Return the picture with a camera's grain."""
    wide, high = image.width // 2, image.height // 2
    grain = Image.frombytes("L", (wide, high), rng.randbytes(wide * high)).resize(image.size)
    faint = grain.point([118 + v // 13 for v in range(256)])
    return ImageChops.add(image, Image.merge("RGB", (faint, faint, faint)), 1.0, -128)
