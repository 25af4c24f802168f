"""Colour changes: grey, edges, no blue, jitter."""

from __future__ import annotations

from math import cos, pi, sin
from random import Random
from typing import NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

BLUR_SIZE, BLUR_SIGMA = 5, 1.4
CANNY_LOW, CANNY_HIGH = 100, 200
MIDDLE_LEVEL = 127.5


ColourMatrix: TypeAlias = tuple[
    float, float, float, float, float, float, float, float, float, float, float, float
]


class JitterRange(NamedTuple):
    """The least and the largest change of a jitter of one severity, up or down.

    `light`, `contrast` and `saturation` are shares; `hue` is in degrees.
    """

    light: tuple[float, float]
    contrast: tuple[float, float]
    saturation: tuple[float, float]
    hue: tuple[float, float]


JITTER_RANGES: tuple[JitterRange, ...] = (
    JitterRange((0.04, 0.08), (0.05, 0.10), (0.10, 0.20), (5, 10)),
    JitterRange((0.08, 0.14), (0.10, 0.18), (0.20, 0.35), (10, 25)),
    JitterRange((0.14, 0.20), (0.18, 0.28), (0.35, 0.50), (25, 60)),
    JitterRange((0.20, 0.26), (0.28, 0.40), (0.50, 0.75), (60, 120)),
)

# brightness and two axes of colour (the YIQ of NTSC television)
_RGB_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_YIQ_TO_RGB: NDArray[np.float64] = np.linalg.inv(_RGB_TO_YIQ)


def to_gray(image: Image.Image) -> Image.Image:
    """Return the picture in grey (ITU-R 601 luma), in three channels."""
    return image.convert("L").convert("RGB")


def remove_blue(image: Image.Image) -> Image.Image:
    """Return the picture without its blue channel."""
    red, green, _ = image.split()
    return Image.merge("RGB", (red, green, Image.new("L", image.size)))


def detect_edges(image: Image.Image, low: float, high: float) -> Image.Image:
    """Return the edges, white on black (Canny 1986, L1 gradient, after a 5 x 5 blur of 1.4)."""
    luma = np.asarray(image.convert("L"))
    smooth = cv2.GaussianBlur(luma, (BLUR_SIZE, BLUR_SIZE), BLUR_SIGMA)
    found = cv2.Canny(smooth, low, high, apertureSize=3, L2gradient=False)
    return Image.fromarray(found).convert("RGB")


def jitter_colours(
    image: Image.Image, severity: int, rng: Random
) -> tuple[Image.Image, dict[str, float]]:
    """Return the picture in other colours, and the change of light, contrast, saturation and hue.

    Each goes up or down by an amount drawn within the range of the severity, so that a severity is
    never weaker than a lower one. All four are one linear map of (red, green, blue): the order does
    not matter, and each pixel is computed once.
    """
    ranges = JITTER_RANGES[severity - 1]
    light, contrast, saturation, hue = (_draw_amount(rng, span) for span in ranges)
    jittered = image.convert("RGB", colour_matrix(light, contrast, saturation, hue))
    return jittered, {"light": light, "contrast": contrast, "saturation": saturation, "hue": hue}


def colour_matrix(light: float, contrast: float, saturation: float, hue: float) -> ColourMatrix:
    """Return the map of (red, green, blue, 1) to new (red, green, blue), row by row.

    Greys stay grey: saturation and hue scale and rotate the colour plane around them. Contrast
    scales from the middle level, light is added. Units are those of `JitterRange`.
    """
    turn = hue * pi / 180
    change = np.eye(3)
    change[1:, 1:] = (1 + saturation) * np.array([[cos(turn), -sin(turn)], [sin(turn), cos(turn)]])
    rows = (1 + contrast) * (_YIQ_TO_RGB @ change @ _RGB_TO_YIQ)
    offset = light * 255 - contrast * MIDDLE_LEVEL
    # six digits: the same on every machine and with every BLAS library
    (a, b, c), (d, e, f), (g, h, i) = rows.round(6).tolist()
    return a, b, c, offset, d, e, f, offset, g, h, i, offset


def _draw_amount(rng: Random, span: tuple[float, float]) -> float:
    low, high = span
    sign = 1 if rng.random() < 0.5 else -1
    # four digits: the recorded numbers are exactly those that are applied
    return round(sign * (low + (high - low) * rng.random()), 4)
