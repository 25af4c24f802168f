"""One picture in a variation: its bytes, and where what is known of it came to lie."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple

from msgspec.structs import replace
from PIL import Image

from toolmark import seeds
from toolmark.perturb.image import box, picture, variation
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.item import Mark


class Shown(NamedTuple):
    """A picture as it is shown, and its signs; of one that lies outside the box is unknown."""

    data: bytes
    mime: str
    size: tuple[int, int]
    marks: tuple[Mark, ...]
    settings: dict[str, str | float | int]
    note: str


CLUE = ("clue",)
CHOICE = ("clue", "lookalike")
"""Roles of the signs that a choice is among."""


def needed(kind: str) -> Collection[str]:
    """Return the roles of the signs without which a question of a query type has no answer."""
    return CHOICE if kind == "select" else CLUE


def show(
    image: Image.Image,
    marks: Sequence[Mark],
    name: str,
    seed: int,
    item: str,
    keep: Collection[str] = CLUE,
) -> Shown:
    """Return a picture in a variation. Signs of the roles in `keep` stay in a crop.

    An occlusion covers the clue alone. Variations that differ in strength alone draw alike. Raises
    DataError for boxes that do not lie in the picture.
    """
    rng = seeds.of(seed, item, 0, f"picture {name.partition('=')[0]}")
    roles = keep if name.startswith("crop") else CLUE
    held = [mark.box for mark in marks if mark.role in roles and mark.box is not None]
    made = variation.vary(image, name, rng, held)
    data, mime = picture.encode(made.image, name)
    size = made.image.size
    kept = tuple(_kept(mark, made.settings, size) for mark in marks)
    return Shown(data, mime, size, kept, made.settings, made.note)


_END = b"\xff\xd9"  # of a JPEG: within its pixels it cannot stand
_HEAD = 14  # bytes of a JFIF header that holds no small picture


def kept(data: bytes) -> str:
    """Return the MIME type of a picture that can be shown byte for byte, "" for all others.

    That is a JPEG in RGB that is small enough and holds nothing but the picture: one that was
    written again would lose a little each time. The picture must have been read already.
    """
    if not data.startswith(b"\xff\xd8") or data.find(_END) != len(data) - len(_END):
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what stands beside a picture: it is not kept then
        image = Image.open(BytesIO(data), formats=("JPEG",))
    with image:
        beside = [part for part in getattr(image, "applist", ()) if not _jfif(*part)]
        fits = image.mode == "RGB" and max(image.size) <= picture.LONGEST
        return picture.JPEG if fits and not beside else ""


def _jfif(name: str, held: bytes) -> bool:
    return name == "APP0" and held.startswith(b"JFIF") and len(held) == _HEAD


def _kept(mark: Mark, settings: Mapping[str, str | float | int], size: tuple[int, int]) -> Mark:
    if mark.box is None:
        return mark
    left, top, right, bottom = box.clipped(_moved(mark.box, settings, size), size)
    inside = left < right and top < bottom
    return replace(mark, box=(left, top, right, bottom) if inside else None)


def _moved(place: Box, settings: Mapping[str, str | float | int], size: tuple[int, int]) -> Box:
    """Return where a box of the picture went: a crop tells its window, a resize its scale."""
    if "x_scale" in settings:
        x, y = float(settings["x_scale"]), float(settings["y_scale"])
        return box.scaled([place], x, y)[0]
    if "left" in settings and "width" in settings:
        held = box.shifted([place], -float(settings["left"]), -float(settings["top"]))
        x, y = size[0] / float(settings["width"]), size[1] / float(settings["height"])
        return box.scaled(held, x, y)[0]
    return place
