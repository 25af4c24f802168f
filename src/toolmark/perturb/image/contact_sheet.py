"""A contact sheet: variations of one picture side by side, each with its name and its boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from toolmark.perturb.image.box_geometry import Box

TILE_WIDTH, TILE_HEIGHT = 320, 240
"""The space for one picture, in pixels."""
_GAP_PX, _TITLE_HEIGHT, _FONT_SIZE = 12, 24, 15
_BACKGROUND, _INK, _FRAME = (250, 250, 249), (28, 25, 23), (225, 29, 72)
_MAX_COLUMNS = 5


class Tile(NamedTuple):
    """One picture of a sheet."""

    name: str
    image: Image.Image
    boxes: Sequence[Box] = ()


def draw_contact_sheet(tiles: Sequence[Tile]) -> Image.Image:
    """Return the sheet, in rows of at most five, as even as possible. There must be a tile."""
    rows = -(-len(tiles) // _MAX_COLUMNS)
    columns = -(-len(tiles) // rows)
    step_x, step_y = TILE_WIDTH + _GAP_PX, TILE_HEIGHT + _TITLE_HEIGHT + _GAP_PX
    sheet = Image.new("RGB", (_GAP_PX + columns * step_x, _GAP_PX + rows * step_y), _BACKGROUND)
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_FONT_SIZE)
    for n, tile in enumerate(tiles):
        left, top = _GAP_PX + n % columns * step_x, _GAP_PX + n // columns * step_y
        sheet.paste(_draw_thumbnail(tile), (left, top + _TITLE_HEIGHT))
        pen.text((left, top), tile.name, _INK, font)
    return sheet


def _draw_thumbnail(tile: Tile) -> Image.Image:
    """Return the picture as large as the tile allows, with its boxes in red."""
    scale = min(TILE_WIDTH / tile.image.width, TILE_HEIGHT / tile.image.height)
    size = (max(1, round(tile.image.width * scale)), max(1, round(tile.image.height * scale)))
    small = tile.image.resize(size, Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(small)
    for box in tile.boxes:
        left, top, right, bottom = (value * scale for value in box)
        pen.rectangle((left - 2, top - 2, right + 2, bottom + 2), outline=_FRAME, width=2)
    return small
