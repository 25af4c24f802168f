"""Light on a finished picture, and the noise of a camera."""

from __future__ import annotations

import random

from PIL import Image, ImageChops


def add_side_light(rng: random.Random, image: Image.Image, min_light: int) -> Image.Image:
    """Return the picture lit from one side; the other side has `min_light` of 255."""
    slope = Image.linear_gradient("L").rotate(rng.choice((0, 90, 180, 270)))
    light = slope.resize(image.size).point(
        [min_light + v * (255 - min_light) // 255 for v in range(256)]
    )
    return ImageChops.multiply(image, Image.merge("RGB", (light, light, light)))


def add_camera_grain(rng: random.Random, image: Image.Image) -> Image.Image:
    """Return the picture with the noise of a camera."""
    width, height = image.width // 2, image.height // 2
    grain = Image.frombytes("L", (width, height), rng.randbytes(width * height)).resize(image.size)
    faint = grain.point([118 + v // 13 for v in range(256)])
    return ImageChops.add(image, Image.merge("RGB", (faint, faint, faint)), 1.0, -128)
