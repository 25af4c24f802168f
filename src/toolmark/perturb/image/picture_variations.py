"""The variations of MFCL Vision by name; they work on any picture.

The variations of the paper's Table 2 are fixed. The paper names others without a definition; their
names give the strength: `occlusion=0.5` covers half of the clue, `jitter=2` shifts colours by
severity 2 (1 to 4). `edges=50/150` are edges with other thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import NamedTuple

from PIL import Image

from toolmark.core.errors import UsageError, suggest_names
from toolmark.perturb.image import box_geometry, colour_changes, occlusion, reshaping
from toolmark.perturb.image.box_geometry import Box

TABLE_2_VARIATIONS = (
    "base", "crop-16:9", "crop-4:3", "resize-16:9", "resize-4:3", "gray", "edges", "red-green",
)  # fmt: skip
OTHER_VARIATIONS = ("occlusion=0.5", "jitter=2")
"""One of each variation that is not in Table 2; other numbers are allowed."""

VariationSettings = dict[str, str | float | int]

_RATIOS = {"16:9": Fraction(16, 9), "4:3": Fraction(4, 3)}
_NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?")
_THRESHOLDS = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
_STRENGTH_HELP = {"occlusion": "a share from 0 to 1", "jitter": "1, 2, 3 or 4",
         "edges": "two thresholds, LOW/HIGH"}  # fmt: skip


class VariedPicture(NamedTuple):
    """A changed picture, its boxes after the change, the settings that were applied, and a note.

    `settings` are plain JSON values.
    """

    image: Image.Image
    boxes: tuple[Box, ...]
    settings: VariationSettings
    note: str = ""


def variation_names() -> tuple[str, ...]:
    """Return the names: Table 2, then one of each kind with a free strength."""
    return (*TABLE_2_VARIATIONS, *OTHER_VARIATIONS)


def normalise_variation(name: str) -> str:
    """Return the canonical name of a variation: `occlusion=0.50` is `occlusion=0.5`.

    Raises UsageError if no variation has this name.
    """
    kind, equals, value = name.partition("=")
    if name in TABLE_2_VARIATIONS:
        return name
    if not equals or kind not in _STRENGTH_HELP:
        raise UsageError(f"no variation {name!r}{suggest_names(name, variation_names())}")
    match kind:
        case "occlusion":
            if _NUMBER.fullmatch(value) and float(value) <= 1:
                return f"{kind}={float(value):g}"
        case "jitter":
            if value in {str(n + 1) for n in range(len(colour_changes.JITTER_RANGES))}:
                return name
        case _:
            thresholds = _THRESHOLDS.fullmatch(value)
            if thresholds and 0 < (low := int(thresholds[1])) <= (high := int(thresholds[2])):
                return (
                    kind
                    if (low, high) == (colour_changes.CANNY_LOW, colour_changes.CANNY_HIGH)
                    else f"{kind}={low}/{high}"
                )
    raise UsageError(f"variation {name!r}: {kind}= takes {_STRENGTH_HELP[kind]}")


def vary_picture(
    image: Image.Image, name: str, rng: Random, boxes: Sequence[Box] = ()
) -> VariedPicture:
    """Return the variation of an RGB picture; the same for the same picture, name, rng and boxes.

    The boxes mark the clue: it stays visible in a crop, and an occlusion covers it. Without boxes a
    crop is taken from the middle, an occlusion's clue is the middle quarter, and the note says so.
    Raises UsageError for an unknown name, DataError for boxes that are not within the picture.
    """
    clue_boxes = box_geometry.check_boxes(boxes, image.size)
    kind, _, value = normalise_variation(name).partition("=")
    match kind.partition("-")[0]:
        case "crop":
            return VariedPicture(
                *reshaping.crop_to_ratio(
                    image, _RATIOS[kind.removeprefix("crop-")], rng, clue_boxes
                )
            )
        case "resize":
            return VariedPicture(
                *reshaping.resize_to_ratio(image, _RATIOS[kind.removeprefix("resize-")], clue_boxes)
            )
        case "gray":
            return VariedPicture(colour_changes.to_gray(image), clue_boxes, {})
        case "red":
            return VariedPicture(colour_changes.remove_blue(image), clue_boxes, {})
        case "edges":
            low, high = (
                map(int, value.split("/"))
                if value
                else (colour_changes.CANNY_LOW, colour_changes.CANNY_HIGH)
            )
            edge_picture = colour_changes.detect_edges(image, low, high)
            blur: VariationSettings = {
                "blur": colour_changes.BLUR_SIZE,
                "sigma": colour_changes.BLUR_SIGMA,
            }
            return VariedPicture(edge_picture, clue_boxes, {"low": low, "high": high, **blur})
        case "jitter":
            jittered, drawn = colour_changes.jitter_colours(image, int(value), rng)
            return VariedPicture(jittered, clue_boxes, {"severity": int(value), **drawn})
        case "occlusion":
            return _occlude_clue(image, float(value), rng, clue_boxes)
        case _:
            return VariedPicture(image, clue_boxes, {})


def _occlude_clue(
    image: Image.Image, share: float, rng: Random, boxes: tuple[Box, ...]
) -> VariedPicture:
    clue = boxes or (_middle_box(image),)
    note = "" if boxes else reshaping.UNKNOWN_CLUE_NOTE
    if share == 0:
        covered, room_note = occlusion.cover_next_to_clues(image, rng, clue)
        notes = "; ".join(filter(None, (note, room_note)))
        return VariedPicture(covered, boxes, {"share": share, "side": "outside"}, notes)
    covered, side = occlusion.cover_clues(image, share, rng, clue)
    return VariedPicture(covered, boxes, {"share": share, "side": side}, note)


def _middle_box(image: Image.Image) -> Box:
    return image.width / 4, image.height / 4, image.width * 3 / 4, image.height * 3 / 4
