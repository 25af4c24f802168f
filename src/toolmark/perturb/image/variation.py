"""The variations of MFCL Vision by name, for any picture.

Those of the paper's Table 2 are fixed; of the others, which it names without a definition, the
name holds how much: `occlusion=0.5` covers half of the clue, `jitter=2` shifts colours by
severity 2 of 1 to 4. `edges=50/150` are edges with other thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import NamedTuple

from PIL import Image

from toolmark.errors import UsageError, near
from toolmark.perturb.image import box, colour, cover, shape
from toolmark.perturb.image.box import Box

TABLE2 = (
    "base", "crop-16:9", "crop-4:3", "resize-16:9", "resize-4:3", "gray", "edges", "red-green",
)  # fmt: skip
BEYOND = ("occlusion=0.5", "jitter=2")
"""Of those not in Table 2, one each; the numbers are free."""

Settings = dict[str, str | float | int]

_RATIOS = {"16:9": Fraction(16, 9), "4:3": Fraction(4, 3)}
_NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?")
_THRESHOLDS = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
_OPEN = {"occlusion": "a share from 0 to 1", "jitter": "1, 2, 3 or 4",
         "edges": "two thresholds, LOW/HIGH"}  # fmt: skip


class Varied(NamedTuple):
    """A picture as it is shown, where its boxes went, what was done to it, and what to know of it.

    `settings` are plain JSON values.
    """

    image: Image.Image
    boxes: tuple[Box, ...]
    settings: Settings
    note: str = ""


def names() -> tuple[str, ...]:
    """Return the names: Table 2, then one of each kind whose strength is free."""
    return (*TABLE2, *BEYOND)


def check(name: str) -> str:
    """Return the one name of a variation: `occlusion=0.50` is `occlusion=0.5`.

    Raises UsageError where a name is no variation's.
    """
    kind, equals, value = name.partition("=")
    if name in TABLE2:
        return name
    if not equals or kind not in _OPEN:
        raise UsageError(f"no variation {name!r}{near(name, names())}")
    match kind:
        case "occlusion":
            if _NUMBER.fullmatch(value) and float(value) <= 1:
                return f"{kind}={float(value):g}"
        case "jitter":
            if value in {str(n + 1) for n in range(len(colour.SEVERITIES))}:
                return name
        case _:
            held = _THRESHOLDS.fullmatch(value)
            if held and 0 < (low := int(held[1])) <= (high := int(held[2])):
                return kind if (low, high) == (colour.LOW, colour.HIGH) else f"{kind}={low}/{high}"
    raise UsageError(f"variation {name!r}: {kind}= takes {_OPEN[kind]}")


def vary(image: Image.Image, name: str, rng: Random, boxes: Sequence[Box] = ()) -> Varied:
    """Return the variation of an RGB picture; the same for the same picture, name, rng and boxes.

    The boxes hold what must stay visible in a crop and is covered by an occlusion: the clue. Where
    there are none a crop is of the middle, an occlusion's clue is the middle quarter, and the note
    says so. Raises UsageError for an unknown name, DataError for boxes not within the picture.
    """
    held = box.checked(boxes, image.size)
    kind, _, value = check(name).partition("=")
    match kind.partition("-")[0]:
        case "crop":
            return Varied(*shape.crop(image, _RATIOS[kind.removeprefix("crop-")], rng, held))
        case "resize":
            return Varied(*shape.squash(image, _RATIOS[kind.removeprefix("resize-")], held))
        case "gray":
            return Varied(colour.gray(image), held, {})
        case "red":
            return Varied(colour.red_green(image), held, {})
        case "edges":
            low, high = map(int, value.split("/")) if value else (colour.LOW, colour.HIGH)
            made = colour.edges(image, low, high)
            blur: Settings = {"blur": colour.BLUR, "sigma": colour.SIGMA}
            return Varied(made, held, {"low": low, "high": high, **blur})
        case "jitter":
            shifted, drawn = colour.jitter(image, int(value), rng)
            return Varied(shifted, held, {"severity": int(value), **drawn})
        case "occlusion":
            return _occluded(image, float(value), rng, held)
        case _:
            return Varied(image, held, {})


def _occluded(image: Image.Image, share: float, rng: Random, boxes: tuple[Box, ...]) -> Varied:
    clue = boxes or (_middle(image),)
    note = "" if boxes else shape.UNKNOWN
    if share == 0:
        made, full = cover.beside(image, rng, clue)
        told = "; ".join(filter(None, (note, full)))
        return Varied(made, boxes, {"share": share, "side": "beside"}, told)
    made, side = cover.over(image, share, rng, clue)
    return Varied(made, boxes, {"share": share, "side": side}, note)


def _middle(image: Image.Image) -> Box:
    return image.width / 4, image.height / 4, image.width * 3 / 4, image.height * 3 / 4
