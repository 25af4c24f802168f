"""A contact sheet: variations of one picture side by side, each with its name and its boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from toolmark.perturb.image.box import Box

WIDE, HIGH = 320, 240
"""The room for one picture, in pixels."""
_GAP, _LINE, _TEXT = 12, 24, 15
_GROUND, _INK, _FRAME = (250, 250, 249), (28, 25, 23), (225, 29, 72)
_MOST_COLUMNS = 5


class Tile(NamedTuple):
    """One picture of a sheet."""

    name: str
    image: Image.Image
    boxes: Sequence[Box] = ()


def of(tiles: Sequence[Tile]) -> Image.Image:
    """Return the sheet, in rows of at most five, as even as can be. There must be a tile."""
    rows = -(-len(tiles) // _MOST_COLUMNS)
    columns = -(-len(tiles) // rows)
    step_x, step_y = WIDE + _GAP, HIGH + _LINE + _GAP
    made = Image.new("RGB", (_GAP + columns * step_x, _GAP + rows * step_y), _GROUND)
    pen = ImageDraw.Draw(made)
    font = ImageFont.load_default(_TEXT)
    for n, tile in enumerate(tiles):
        left, top = _GAP + n % columns * step_x, _GAP + n // columns * step_y
        made.paste(_small(tile), (left, top + _LINE))
        pen.text((left, top), tile.name, _INK, font)
    return made


def _small(tile: Tile) -> Image.Image:
    """Return the picture as large as there is room, with its boxes in red."""
    scale = min(WIDE / tile.image.width, HIGH / tile.image.height)
    size = (max(1, round(tile.image.width * scale)), max(1, round(tile.image.height * scale)))
    small = tile.image.resize(size, Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(small)
    for box in tile.boxes:
        left, top, right, bottom = (value * scale for value in box)
        pen.rectangle((left - 2, top - 2, right + 2, bottom + 2), outline=_FRAME, width=2)
    return small
