"""Less or other colour: grey, edges, no blue, jitter."""

from __future__ import annotations

from math import cos, pi, sin
from random import Random
from typing import NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

BLUR, SIGMA = 5, 1.4
LOW, HIGH = 100, 200
MIDDLE = 127.5


Matrix: TypeAlias = tuple[
    float, float, float, float, float, float, float, float, float, float, float, float
]


class Reach(NamedTuple):
    """The least and the most that a jitter of one severity does, either way.

    `light`, `contrast` and `saturation` are shares; `hue` is in degrees.
    """

    light: tuple[float, float]
    contrast: tuple[float, float]
    saturation: tuple[float, float]
    hue: tuple[float, float]


SEVERITIES: tuple[Reach, ...] = (
    Reach((0.04, 0.08), (0.05, 0.10), (0.10, 0.20), (5, 10)),
    Reach((0.08, 0.14), (0.10, 0.18), (0.20, 0.35), (10, 25)),
    Reach((0.14, 0.20), (0.18, 0.28), (0.35, 0.50), (25, 60)),
    Reach((0.20, 0.26), (0.28, 0.40), (0.50, 0.75), (60, 120)),
)

# to brightness and two axes of colour and back (the YIQ of NTSC television)
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_RGB: NDArray[np.float64] = np.linalg.inv(_YIQ)


def gray(image: Image.Image) -> Image.Image:
    """Return the picture in greys (ITU-R 601 luma), still in three channels."""
    return image.convert("L").convert("RGB")


def red_green(image: Image.Image) -> Image.Image:
    """Return the picture without its blue."""
    red, green, _ = image.split()
    return Image.merge("RGB", (red, green, Image.new("L", image.size)))


def edges(image: Image.Image, low: float, high: float) -> Image.Image:
    """Return its edges, white on black (Canny 1986, L1 gradient, after a 5 x 5 blur of 1.4)."""
    luma = np.asarray(image.convert("L"))
    smooth = cv2.GaussianBlur(luma, (BLUR, BLUR), SIGMA)
    found = cv2.Canny(smooth, low, high, apertureSize=3, L2gradient=False)
    return Image.fromarray(found).convert("RGB")


def jitter(image: Image.Image, severity: int, rng: Random) -> tuple[Image.Image, dict[str, float]]:
    """Return the picture in other colours, and by how much: light, contrast, saturation, hue.

    Each goes up or down by what is drawn within the severity's reach, so that none is ever weaker
    than a lower one. All are one linear map of (red, green, blue): the order does not matter, and
    the picture is gone through once.
    """
    reach = SEVERITIES[severity - 1]
    light, contrast, saturation, hue = (_drawn(rng, span) for span in reach)
    made = image.convert("RGB", matrix(light, contrast, saturation, hue))
    return made, {"light": light, "contrast": contrast, "saturation": saturation, "hue": hue}


def matrix(light: float, contrast: float, saturation: float, hue: float) -> Matrix:
    """Return the map of (red, green, blue, 1) to new (red, green, blue), row by row.

    Greys stay grey: saturation and hue scale and turn the plane of colours about them; contrast
    spreads from the middle, light is added. Units as in `Reach`.
    """
    turn = hue * pi / 180
    change = np.eye(3)
    change[1:, 1:] = (1 + saturation) * np.array([[cos(turn), -sin(turn)], [sin(turn), cos(turn)]])
    rows = (1 + contrast) * (_RGB @ change @ _YIQ)
    offset = light * 255 - contrast * MIDDLE
    # six digits: the same on every machine, whoever multiplied
    (a, b, c), (d, e, f), (g, h, i) = rows.round(6).tolist()
    return a, b, c, offset, d, e, f, offset, g, h, i, offset


def _drawn(rng: Random, span: tuple[float, float]) -> float:
    low, high = span
    sign = 1 if rng.random() < 0.5 else -1
    # four digits: what is recorded is what was done
    return round(sign * (low + (high - low) * rng.random()), 4)
