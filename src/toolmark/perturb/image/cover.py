"""Occlusion: patches over a stated share of the clue, or beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from random import Random

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolmark import seeds
from toolmark.perturb.image import box
from toolmark.perturb.image.box import Box, Size

PATCH = (128, 128, 128)
NO_ROOM = "no room beside the clue: nothing covered"
_SIDES = ("left", "right", "top", "bottom")
_GAP = 2  # pixels between the clue and a patch beside it
_TRIES = 64

_Pixels = tuple[int, int, int, int]


def over(
    image: Image.Image, share: float, rng: Random, boxes: Sequence[Box]
) -> tuple[Image.Image, str]:
    """Cover the share of every clue's area, from a drawn side; return the picture and the side.

    Boxes that overlap are one clue, and so are those within the frame of others. The patch grows
    pixel by pixel from the side, so that it is right to half a pixel of the clue's area, which is
    its boxes' in whole pixels.
    """
    side = seeds.choice(rng, _SIDES)
    made = image.copy()
    for frame, group in _clues(boxes, image.size):
        made.paste(PATCH, frame[:2], Image.fromarray(_patch(frame, group, share, side)))
    return made, side


def beside(image: Image.Image, rng: Random, boxes: Sequence[Box]) -> tuple[Image.Image, str]:
    """Put a patch of a clue's size beside each clue, over none; return the picture and a note.

    What the patch does to a picture, apart from hiding the clue, shows so.
    """
    made = image.copy()
    placed = [
        spot
        for frame, _ in _clues(boxes, image.size)
        if (spot := _spot(rng, frame, image.size, boxes)) is not None
    ]
    for spot in placed:
        made.paste(PATCH, spot)
    return made, "" if placed else NO_ROOM


def _clues(boxes: Sequence[Box], size: Size) -> list[tuple[_Pixels, list[_Pixels]]]:
    """Return frames that share no pixel, and the boxes in each, in whole pixels."""
    clues: list[tuple[_Pixels, list[_Pixels]]] = []
    for one in boxes:
        frame, group = _outward(one, size), [_outward(one, size)]
        while near := [other for other in clues if not box.apart(frame, other[0])]:
            clues = [other for other in clues if other not in near]
            group += [inner for _, inners in near for inner in inners]
            frame = _frame(group)
        clues.append((frame, group))
    return clues


def _frame(group: Sequence[_Pixels]) -> _Pixels:
    lefts, tops, rights, bottoms = zip(*group, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _patch(frame: _Pixels, group: Sequence[_Pixels], share: float, side: str) -> NDArray[np.uint8]:
    """Return the mask, 255 where the patch is, of the frame around a clue."""
    left, top, right, bottom = frame
    clue = np.zeros((bottom - top, right - left), bool)
    for x0, y0, x1, y1 in group:
        clue[y0 - top : y1 - top, x0 - left : x1 - left] = True
    # seen so that the side is where pixels are counted from: rows first, from the top
    turned = clue.T if side in ("left", "right") else clue
    flat = (turned[::-1] if side in ("right", "bottom") else turned).reshape(-1)
    wanted = round(share * int(flat.sum()))
    covered = (np.cumsum(flat) <= wanted).reshape(turned.shape)
    covered &= wanted > 0
    straight = covered[::-1] if side in ("right", "bottom") else covered
    mask = straight.T if side in ("left", "right") else straight
    return np.ascontiguousarray(mask).astype(np.uint8) * 255


def _spot(rng: Random, frame: _Pixels, size: Size, boxes: Sequence[Box]) -> _Pixels | None:
    """Draw where a patch of the frame's size lies: next to it, else anywhere, over no box."""
    left, top, right, bottom = frame
    width, height = right - left, bottom - top
    next_to = [
        (left - width - _GAP, top), (right + _GAP, top),
        (left, top - height - _GAP), (left, bottom + _GAP),
    ]  # fmt: skip
    seeds.shuffle(rng, next_to)
    for x, y in next_to:
        if _free(spot := (x, y, x + width, y + height), size, boxes):
            return spot
    for _ in range(_TRIES):
        x, y = seeds.below(rng, size[0] - width + 1), seeds.below(rng, size[1] - height + 1)
        if _free(spot := (x, y, x + width, y + height), size, boxes):
            return spot
    return None


def _free(spot: _Pixels, size: Size, boxes: Sequence[Box]) -> bool:
    inside = spot[0] >= 0 and spot[1] >= 0 and spot[2] <= size[0] and spot[3] <= size[1]
    return inside and all(box.apart(spot, one) for one in boxes)


def _outward(one: Box, size: Size) -> _Pixels:
    left, top, right, bottom = one
    return (
        max(0, floor(left)), max(0, floor(top)),
        min(size[0], ceil(right)), min(size[1], ceil(bottom)),
    )  # fmt: skip
