"""Boxes: where something lies in a picture, as left, top, right, bottom in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TypeAlias

from toolmark.errors import DataError

Box: TypeAlias = tuple[float, float, float, float]
Size: TypeAlias = tuple[int, int]

_SLACK = 1.0  # boxes that were rounded may stand out by this much


def checked(boxes: Sequence[Box], size: Size) -> tuple[Box, ...]:
    """Return the boxes, clipped to the picture. Raises DataError for what is no box within it."""
    width, height = size
    found = []
    for box in boxes:
        left, top, right, bottom = box
        inside = -_SLACK <= left < right <= width + _SLACK
        inside = inside and -_SLACK <= top < bottom <= height + _SLACK
        held = clipped(box, size)
        # what lies beside the picture by less than the slack is clipped to nothing
        inside = inside and held[0] < held[2] and held[1] < held[3]
        if not (all(map(isfinite, box)) and inside):
            raise DataError(
                f"{list(box)} is no box [left, top, right, bottom] within {width} x {height} pixels"
            )
        found.append(held)
    return tuple(found)


def union(boxes: Sequence[Box]) -> Box:
    """Return the smallest box that holds all, of which there must be one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def scaled(boxes: Sequence[Box], x: float, y: float) -> tuple[Box, ...]:
    """Return the boxes in a picture whose sides are x and y times as long."""
    return tuple((left * x, top * y, right * x, bottom * y) for left, top, right, bottom in boxes)


def shifted(boxes: Sequence[Box], x: float, y: float) -> tuple[Box, ...]:
    """Return the boxes, x further right and y further down."""
    return tuple((left + x, top + y, right + x, bottom + y) for left, top, right, bottom in boxes)


def clipped(box: Box, size: Size) -> Box:
    """Return what of the box lies within a picture."""
    left, top, right, bottom = box
    width, height = size
    return max(0.0, left), max(0.0, top), min(float(width), right), min(float(height), bottom)


def apart(one: Box, other: Box) -> bool:
    """Tell whether two boxes share no area."""
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
