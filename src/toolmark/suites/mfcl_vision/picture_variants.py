"""One picture in a variation: its bytes, and the new positions of its signs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple

from msgspec.structs import replace
from PIL import Image

from toolmark.core import seeds
from toolmark.perturb.image import box_geometry, picture_file, picture_variations
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.item_records import SignMark


class PictureVariant(NamedTuple):
    """A picture as shown, with its signs; a sign outside the picture has no box."""

    data: bytes
    mime: str
    size: tuple[int, int]
    marks: tuple[SignMark, ...]
    settings: dict[str, str | float | int]
    note: str


CLUE_ROLES = ("clue",)
CHOICE_ROLES = ("clue", "lookalike")
"""Roles of the signs that a choice is among."""


def required_roles(kind: str) -> Collection[str]:
    """Return the roles of the signs without which a question of this type has no answer."""
    return CHOICE_ROLES if kind == "select" else CLUE_ROLES


def render_variant(
    image: Image.Image,
    marks: Sequence[SignMark],
    name: str,
    seed: int,
    item: str,
    keep: Collection[str] = CLUE_ROLES,
) -> PictureVariant:
    """Return a picture in a variation. Signs with a role in `keep` are never cropped away.

    An occlusion covers only the clue. Variations that differ only in strength use the same random
    numbers. Raises DataError for boxes outside the picture.
    """
    rng = seeds.make_rng(seed, item, 0, f"picture {name.partition('=')[0]}")
    roles = keep if name.startswith("crop") else CLUE_ROLES
    protected_boxes = [mark.box for mark in marks if mark.role in roles and mark.box is not None]
    varied = picture_variations.vary_picture(image, name, rng, protected_boxes)
    data, mime = picture_file.encode_variation(varied.image, name)
    size = varied.image.size
    moved_marks = tuple(_move_mark(mark, varied.settings, size) for mark in marks)
    return PictureVariant(data, mime, size, moved_marks, varied.settings, varied.note)


# End marker of a JPEG; it cannot occur within pixel data.
_JPEG_END = b"\xff\xd9"
# Length of a JFIF header without a thumbnail.
_JFIF_HEADER_BYTES = 14


def passthrough_mime_type(data: bytes) -> str:
    """Return the MIME type of a picture that can be sent byte for byte, "" for all others.

    Only an RGB JPEG within the size limit and without any other content qualifies. Encoding it
    again would reduce its quality. The picture must have been decoded successfully before.
    """
    if not data.startswith(b"\xff\xd8") or data.find(_JPEG_END) != len(data) - len(_JPEG_END):
        return ""
    with warnings.catch_warnings():
        # Warnings concern other segments of the file; a file with such segments is refused below.
        warnings.simplefilter("ignore")
        image = Image.open(BytesIO(data), formats=("JPEG",))
    with image:
        other_segments = [
            part for part in getattr(image, "applist", ()) if not _is_plain_jfif(*part)
        ]
        is_suitable = image.mode == "RGB" and max(image.size) <= picture_file.MAX_SIDE_PX
        return picture_file.JPEG if is_suitable and not other_segments else ""


def _is_plain_jfif(name: str, content: bytes) -> bool:
    return name == "APP0" and content.startswith(b"JFIF") and len(content) == _JFIF_HEADER_BYTES


def _move_mark(
    mark: SignMark, settings: Mapping[str, str | float | int], size: tuple[int, int]
) -> SignMark:
    if mark.box is None:
        return mark
    left, top, right, bottom = box_geometry.clip_box(_move_box(mark.box, settings, size), size)
    inside = left < right and top < bottom
    return replace(mark, box=(left, top, right, bottom) if inside else None)


def _move_box(
    source_box: Box, settings: Mapping[str, str | float | int], size: tuple[int, int]
) -> Box:
    """Return the new position of a box; `settings` have the crop window or the resize scale."""
    if "x_scale" in settings:
        x, y = float(settings["x_scale"]), float(settings["y_scale"])
        return box_geometry.scale_boxes([source_box], x, y)[0]
    if "left" in settings and "width" in settings:
        shifted_boxes = box_geometry.shift_boxes(
            [source_box], -float(settings["left"]), -float(settings["top"])
        )
        x, y = size[0] / float(settings["width"]), size[1] / float(settings["height"])
        return box_geometry.scale_boxes(shifted_boxes, x, y)[0]
    return source_box
