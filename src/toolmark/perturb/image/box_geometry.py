"""Boxes: the place of something in a picture, as left, top, right, bottom in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TypeAlias

from toolmark.core.errors import DataError

Box: TypeAlias = tuple[float, float, float, float]
Size: TypeAlias = tuple[int, int]

_ROUNDING_SLACK_PX = 1.0  # a rounded box may exceed the picture by this much


def check_boxes(boxes: Sequence[Box], size: Size) -> tuple[Box, ...]:
    """Return the boxes, clipped to the picture. Raises DataError for a box outside it."""
    width, height = size
    found = []
    for box in boxes:
        left, top, right, bottom = box
        inside = -_ROUNDING_SLACK_PX <= left < right <= width + _ROUNDING_SLACK_PX
        inside = inside and -_ROUNDING_SLACK_PX <= top < bottom <= height + _ROUNDING_SLACK_PX
        clipped_box = clip_box(box, size)
        # a box outside the picture, by less than the slack, has no area after clipping
        inside = inside and clipped_box[0] < clipped_box[2] and clipped_box[1] < clipped_box[3]
        if not (all(map(isfinite, box)) and inside):
            raise DataError(
                f"{list(box)} is not a box [left, top, right, bottom] within {width} x {height} "
                "pixels"
            )
        found.append(clipped_box)
    return tuple(found)


def union_box(boxes: Sequence[Box]) -> Box:
    """Return the smallest box that contains all boxes; there must be at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def scale_boxes(boxes: Sequence[Box], x: float, y: float) -> tuple[Box, ...]:
    """Return the boxes after the picture is scaled by x and y."""
    return tuple((left * x, top * y, right * x, bottom * y) for left, top, right, bottom in boxes)


def shift_boxes(boxes: Sequence[Box], x: float, y: float) -> tuple[Box, ...]:
    """Return the boxes moved right by x and down by y pixels."""
    return tuple((left + x, top + y, right + x, bottom + y) for left, top, right, bottom in boxes)


def clip_box(box: Box, size: Size) -> Box:
    """Return the part of the box that is within a picture."""
    left, top, right, bottom = box
    width, height = size
    return max(0.0, left), max(0.0, top), min(float(width), right), min(float(height), bottom)


def are_disjoint(one: Box, other: Box) -> bool:
    """Return whether two boxes share no area."""
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
