"""Occlusion: patches over a given share of the clue, or next to it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from random import Random

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolmark.core import seeds
from toolmark.perturb.image import box_geometry
from toolmark.perturb.image.box_geometry import Box, Size

PATCH_COLOUR = (128, 128, 128)
NO_ROOM_NOTE = "no room next to the clue: nothing covered"
_SIDES = ("left", "right", "top", "bottom")
_GAP_PX = 2  # pixels between the clue and a patch next to it
_MAX_TRIES = 64

_PixelBox = tuple[int, int, int, int]


def cover_clues(
    image: Image.Image, share: float, rng: Random, boxes: Sequence[Box]
) -> tuple[Image.Image, str]:
    """Cover a share of every clue's area, from a drawn side; return the picture and the side.

    Boxes that overlap are one clue, and so are boxes within the frame of others. The area of a clue
    is that of its boxes in full pixels. The patch grows pixel by pixel from the side, so that its
    area is exact to half a pixel.
    """
    side = seeds.draw_one(rng, _SIDES)
    covered = image.copy()
    for frame, group in _group_clues(boxes, image.size):
        covered.paste(
            PATCH_COLOUR, frame[:2], Image.fromarray(_patch_mask(frame, group, share, side))
        )
    return covered, side


def cover_next_to_clues(
    image: Image.Image, rng: Random, boxes: Sequence[Box]
) -> tuple[Image.Image, str]:
    """Put a patch of a clue's size next to each clue, over none; return the picture and a note.

    This shows the effect of a patch without hiding the clue.
    """
    covered = image.copy()
    patches = [
        patch
        for frame, _ in _group_clues(boxes, image.size)
        if (patch := _draw_patch_place(rng, frame, image.size, boxes)) is not None
    ]
    for patch in patches:
        covered.paste(PATCH_COLOUR, patch)
    return covered, "" if patches else NO_ROOM_NOTE


def _group_clues(boxes: Sequence[Box], size: Size) -> list[tuple[_PixelBox, list[_PixelBox]]]:
    """Return frames that share no pixel, and the boxes in each, in full pixels."""
    clues: list[tuple[_PixelBox, list[_PixelBox]]] = []
    for one in boxes:
        frame, group = _whole_pixel_box(one, size), [_whole_pixel_box(one, size)]
        while near := [other for other in clues if not box_geometry.are_disjoint(frame, other[0])]:
            clues = [other for other in clues if other not in near]
            group += [inner for _, inners in near for inner in inners]
            frame = _bounding_frame(group)
        clues.append((frame, group))
    return clues


def _bounding_frame(group: Sequence[_PixelBox]) -> _PixelBox:
    lefts, tops, rights, bottoms = zip(*group, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _patch_mask(
    frame: _PixelBox, group: Sequence[_PixelBox], share: float, side: str
) -> NDArray[np.uint8]:
    """Return the mask of the frame around a clue: 255 where the patch is."""
    left, top, right, bottom = frame
    clue = np.zeros((bottom - top, right - left), bool)
    for x0, y0, x1, y1 in group:
        clue[y0 - top : y1 - top, x0 - left : x1 - left] = True
    # turned so that the side is on top: pixels are counted by rows, from the top
    turned = clue.T if side in ("left", "right") else clue
    flat = (turned[::-1] if side in ("right", "bottom") else turned).reshape(-1)
    n_covered = round(share * int(flat.sum()))
    covered = (np.cumsum(flat) <= n_covered).reshape(turned.shape)
    covered &= n_covered > 0
    straight = covered[::-1] if side in ("right", "bottom") else covered
    mask = straight.T if side in ("left", "right") else straight
    return np.ascontiguousarray(mask).astype(np.uint8) * 255


def _draw_patch_place(
    rng: Random, frame: _PixelBox, size: Size, boxes: Sequence[Box]
) -> _PixelBox | None:
    """Draw the place of a patch of the frame's size: next to it, else anywhere, over no box."""
    left, top, right, bottom = frame
    width, height = right - left, bottom - top
    next_to = [
        (left - width - _GAP_PX, top), (right + _GAP_PX, top),
        (left, top - height - _GAP_PX), (left, bottom + _GAP_PX),
    ]  # fmt: skip
    seeds.shuffle_items(rng, next_to)
    for x, y in next_to:
        if _is_free(place := (x, y, x + width, y + height), size, boxes):
            return place
    for _ in range(_MAX_TRIES):
        x = seeds.draw_below(rng, size[0] - width + 1)
        y = seeds.draw_below(rng, size[1] - height + 1)
        if _is_free(place := (x, y, x + width, y + height), size, boxes):
            return place
    return None


def _is_free(place: _PixelBox, size: Size, boxes: Sequence[Box]) -> bool:
    inside = place[0] >= 0 and place[1] >= 0 and place[2] <= size[0] and place[3] <= size[1]
    return inside and all(box_geometry.are_disjoint(place, one) for one in boxes)


def _whole_pixel_box(one: Box, size: Size) -> _PixelBox:
    left, top, right, bottom = one
    return (
        max(0, floor(left)), max(0, floor(top)),
        min(size[0], ceil(right)), min(size[1], ceil(bottom)),
    )  # fmt: skip
