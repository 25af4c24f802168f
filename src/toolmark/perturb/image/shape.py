"""Another shape: cut around what must stay visible, or squashed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from random import Random
from typing import NamedTuple

from PIL import Image

from toolmark import seeds
from toolmark.perturb.image import box
from toolmark.perturb.image.box import Box, Size
from toolmark.perturb.image.picture import LONGEST

MARGIN = 0.03
"""What stays visible around the clue, as a share of the picture's width and height."""
UNKNOWN = "roi unknown"
BARRED = "what must stay visible does not fit into this shape: bars added"
_SAME = "of this shape already: nothing changed"
_SMALL = "too small for this shape"
_OFF = 0.05  # of the ratio: what rounding to a pixel does to sides of a few pixels
BARS = (0, 0, 0)


class Window(NamedTuple):
    """What a crop shows: its corner in the picture, and its size. It may stand out: bars do."""

    left: int
    top: int
    width: int
    height: int


class Shaped(NamedTuple):
    """A picture in its new shape, the boxes in it, and how it was made."""

    image: Image.Image
    boxes: tuple[Box, ...]
    settings: dict[str, str | float | int]
    note: str


def crop(image: Image.Image, ratio: Fraction, rng: Random, boxes: Sequence[Box]) -> Shaped:
    """Cut to the ratio of width to height; the boxes stay visible, with a margin.

    As much as can stays: the window is the largest of the ratio, at a drawn place among those that
    show the boxes, in the middle where there are none. Where no window of the ratio holds them, the
    picture is cut only as far as they allow, and black bars make up the ratio; it is made smaller
    where its longer side would pass LONGEST then.
    """
    cut = window(image.size, ratio, rng, boxes)
    barred = cut.width > image.width or cut.height > image.height
    made = _barred(image, cut) if barred else image.crop(_corners(cut))
    moved = box.shifted(boxes, -cut.left, -cut.top)
    scale = min(1.0, LONGEST / max(made.size))
    if scale < 1:
        small = (max(1, round(made.width * scale)), max(1, round(made.height * scale)))
        moved = box.scaled(moved, small[0] / made.width, small[1] / made.height)
        made = made.resize(small, Image.Resampling.LANCZOS)
    settings: dict[str, str | float | int] = {
        "left": cut.left, "top": cut.top, "width": cut.width, "height": cut.height,
    }  # fmt: skip
    moved = tuple(box.clipped(one, made.size) for one in moved)
    same = (cut.width, cut.height) == image.size
    lost = UNKNOWN if not (boxes or same) else ""
    notes = (lost, BARRED if barred else "", _matched(made.size, ratio, same=same))
    return Shaped(made, moved, settings, "; ".join(filter(None, notes)))


def squash(image: Image.Image, ratio: Fraction, boxes: Sequence[Box]) -> Shaped:
    """Press or pull the picture into the ratio; its longer side keeps its length."""
    longest = max(image.size)
    new = _fitting((longest, longest), ratio)
    x, y = new[0] / image.width, new[1] / image.height
    made = image.resize(new, Image.Resampling.LANCZOS)
    note = _matched(new, ratio, same=new == image.size)
    settings: dict[str, str | float | int] = {"x_scale": x, "y_scale": y}
    moved = tuple(box.clipped(one, new) for one in box.scaled(boxes, x, y))
    return Shaped(made, moved, settings, note)


def window(size: Size, ratio: Fraction, rng: Random, boxes: Sequence[Box]) -> Window:
    """Return what a crop of the ratio shows; of each axis it is all, or a stretch of it."""
    width, height = _fitting(size, ratio)
    if not boxes:
        return Window((size[0] - width) // 2, (size[1] - height) // 2, width, height)
    left, top, right, bottom = _kept(size, boxes)
    if right - left > width:  # too wide for the ratio: what is kept of the width sets the height
        width = right - left
        height = max(size[1], round(width / ratio))
    elif bottom - top > height:
        height = bottom - top
        width = max(size[0], round(height * ratio))
    return Window(
        _place(rng, size[0], width, left, right), _place(rng, size[1], height, top, bottom),
        width, height,
    )  # fmt: skip


def _fitting(size: Size, ratio: Fraction) -> Size:
    """Return the largest size of the ratio that fits, to a pixel."""
    width, height = size
    if Fraction(width, height) > ratio:
        return max(1, min(width, round(height * ratio))), height
    return width, max(1, min(height, round(width / ratio)))


def _kept(size: Size, boxes: Sequence[Box]) -> tuple[int, int, int, int]:
    """Return what must be seen, in whole pixels: all boxes and the margin, within the picture."""
    left, top, right, bottom = box.union(boxes)
    x, y = MARGIN * size[0], MARGIN * size[1]
    return (
        max(0, floor(left - x)), max(0, floor(top - y)),
        min(size[0], ceil(right + x)), min(size[1], ceil(bottom + y)),
    )  # fmt: skip


def _place(rng: Random, side: int, length: int, low: int, high: int) -> int:
    """Draw where a stretch that holds low..high begins; one longer than the axis is centred."""
    if length > side:
        return -((length - side) // 2)
    return seeds.between(rng, max(0, high - length), min(low, side - length))


def _barred(image: Image.Image, cut: Window) -> Image.Image:
    made = Image.new("RGB", (cut.width, cut.height), BARS)
    made.paste(image, (-cut.left, -cut.top))
    return made


def _corners(cut: Window) -> tuple[int, int, int, int]:
    return cut.left, cut.top, cut.left + cut.width, cut.top + cut.height


def _matched(size: Size, ratio: Fraction, *, same: bool) -> str:
    """Return what is to be known of how a picture came by its shape."""
    if abs(Fraction(*size) / ratio - 1) > _OFF:
        return _SMALL
    return _SAME if same else ""
