"""Change the shape of a picture: crop it around its boxes, or resize it to another ratio."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from random import Random
from typing import NamedTuple

from PIL import Image

from toolmark.core import seeds
from toolmark.perturb.image import box_geometry
from toolmark.perturb.image.box_geometry import Box, Size
from toolmark.perturb.image.picture_file import MAX_SIDE_PX

MARGIN = 0.03
"""The visible margin around the clue, as a share of the picture's width and height."""
UNKNOWN_CLUE_NOTE = "roi unknown"
BARS_NOTE = "what must stay visible does not fit into this shape: bars added"
_SAME_NOTE = "of this shape already: nothing changed"
_SMALL_NOTE = "too small for this shape"
_RATIO_TOLERANCE = 0.05  # share of the ratio: rounding to a pixel changes very short sides
BAR_COLOUR = (0, 0, 0)


class CropWindow(NamedTuple):
    """The part that a crop shows: its corner and size. It may exceed the picture, to show bars."""

    left: int
    top: int
    width: int
    height: int


class ReshapedPicture(NamedTuple):
    """A picture in its new shape, its boxes, and the settings."""

    image: Image.Image
    boxes: tuple[Box, ...]
    settings: dict[str, str | float | int]
    note: str


def crop_to_ratio(
    image: Image.Image, ratio: Fraction, rng: Random, boxes: Sequence[Box]
) -> ReshapedPicture:
    """Crop to a ratio of width to height; the boxes stay visible, with a margin.

    The window is the largest one of the ratio, at a drawn place among those that show the boxes, or
    in the middle without boxes. If no window of the ratio contains them, the picture is cut as far
    as they allow, and black bars make up the ratio; it is then made smaller if its longer side
    would exceed MAX_SIDE_PX.
    """
    cut = crop_window(image.size, ratio, rng, boxes)
    barred = cut.width > image.width or cut.height > image.height
    cropped = _crop_with_bars(image, cut) if barred else image.crop(_window_corners(cut))
    moved = box_geometry.shift_boxes(boxes, -cut.left, -cut.top)
    scale = min(1.0, MAX_SIDE_PX / max(cropped.size))
    if scale < 1:
        small = (max(1, round(cropped.width * scale)), max(1, round(cropped.height * scale)))
        moved = box_geometry.scale_boxes(moved, small[0] / cropped.width, small[1] / cropped.height)
        cropped = cropped.resize(small, Image.Resampling.LANCZOS)
    settings: dict[str, str | float | int] = {
        "left": cut.left, "top": cut.top, "width": cut.width, "height": cut.height,
    }  # fmt: skip
    moved = tuple(box_geometry.clip_box(one, cropped.size) for one in moved)
    same = (cut.width, cut.height) == image.size
    unknown_note = UNKNOWN_CLUE_NOTE if not (boxes or same) else ""
    notes = (unknown_note, BARS_NOTE if barred else "", _shape_note(cropped.size, ratio, same=same))
    return ReshapedPicture(cropped, moved, settings, "; ".join(filter(None, notes)))


def resize_to_ratio(image: Image.Image, ratio: Fraction, boxes: Sequence[Box]) -> ReshapedPicture:
    """Resize the picture to the ratio without cropping; its longer side keeps its length."""
    longest = max(image.size)
    new = _largest_size((longest, longest), ratio)
    x, y = new[0] / image.width, new[1] / image.height
    resized = image.resize(new, Image.Resampling.LANCZOS)
    note = _shape_note(new, ratio, same=new == image.size)
    settings: dict[str, str | float | int] = {"x_scale": x, "y_scale": y}
    moved = tuple(box_geometry.clip_box(one, new) for one in box_geometry.scale_boxes(boxes, x, y))
    return ReshapedPicture(resized, moved, settings, note)


def crop_window(size: Size, ratio: Fraction, rng: Random, boxes: Sequence[Box]) -> CropWindow:
    """Return the window of a crop of the ratio; it covers all or a part of each axis."""
    width, height = _largest_size(size, ratio)
    if not boxes:
        return CropWindow((size[0] - width) // 2, (size[1] - height) // 2, width, height)
    left, top, right, bottom = _visible_region(size, boxes)
    if right - left > width:  # too wide for the ratio: the visible width decides the height
        width = right - left
        height = max(size[1], round(width / ratio))
    elif bottom - top > height:
        height = bottom - top
        width = max(size[0], round(height * ratio))
    return CropWindow(
        _draw_offset(rng, size[0], width, left, right),
        _draw_offset(rng, size[1], height, top, bottom),
        width,
        height,
    )


def _largest_size(size: Size, ratio: Fraction) -> Size:
    """Return the largest size of the ratio that fits, exact to a pixel."""
    width, height = size
    if Fraction(width, height) > ratio:
        return max(1, min(width, round(height * ratio))), height
    return width, max(1, min(height, round(width / ratio)))


def _visible_region(size: Size, boxes: Sequence[Box]) -> tuple[int, int, int, int]:
    """Return the region that must be visible, in full pixels: all boxes and the margin."""
    left, top, right, bottom = box_geometry.union_box(boxes)
    x, y = MARGIN * size[0], MARGIN * size[1]
    return (
        max(0, floor(left - x)), max(0, floor(top - y)),
        min(size[0], ceil(right + x)), min(size[1], ceil(bottom + y)),
    )  # fmt: skip


def _draw_offset(rng: Random, side: int, length: int, low: int, high: int) -> int:
    """Draw the start of an interval that contains low..high; if longer than the side, centre it."""
    if length > side:
        return -((length - side) // 2)
    return seeds.draw_between(rng, max(0, high - length), min(low, side - length))


def _crop_with_bars(image: Image.Image, cut: CropWindow) -> Image.Image:
    barred = Image.new("RGB", (cut.width, cut.height), BAR_COLOUR)
    barred.paste(image, (-cut.left, -cut.top))
    return barred


def _window_corners(cut: CropWindow) -> tuple[int, int, int, int]:
    return cut.left, cut.top, cut.left + cut.width, cut.top + cut.height


def _shape_note(size: Size, ratio: Fraction, *, same: bool) -> str:
    """Return the note on how a picture got its shape."""
    if abs(Fraction(*size) / ratio - 1) > _RATIO_TOLERANCE:
        return _SMALL_NOTE
    return _SAME_NOTE if same else ""
