"""Pictures of a kitchen, drawn with the package's own sprites; a tile is 75 pixels wide.

A strip above the kitchen shows the time left and the score. Equal states give equal bytes.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from PIL import Image, ImageDraw, ImageFont, UnidentifiedImageError

from toolmark.core.errors import DataError
from toolmark.suites.multinet.overcooked.kitchen_state import (
    FACING_NAMES,
    FLOOR_TILE,
    HAT_COLOURS,
    N_COOKING_STEPS,
    N_SOUP_INGREDIENTS,
    POT_TILE,
    Grid,
    KitchenObject,
    KitchenState,
    Position,
    tile_at,
)

Sprites: TypeAlias = dict[str, Image.Image]

MIME = "image/png"
TILE_PIXELS = 75
STRIP_PIXELS = 25
_SPRITE_SHEETS = ("terrain", "objects", "soups", "chefs")
_TILE_SPRITES = {
    "X": "counter",
    "P": "pot",
    "O": "onions",
    "T": "tomatoes",
    "D": "dishes",
    "S": "serve",
}
_FONT_FILE = "Roboto-Regular.ttf"
_BACKGROUND = (155, 101, 0)
_WHITE = (255, 255, 255)
_RED = (255, 0, 0)


def draw_kitchen(
    home: Path, kitchen: Grid, state: KitchenState, left_s: float, score: int
) -> bytes:
    """Return a frame as PNG; `home` is the folder of graphics and fonts.

    Raises DataError if these cannot be read.
    """
    sprites = _load_sprites(home)
    sheet = _draw_empty_kitchen(home, kitchen).copy()
    for n, player in enumerate(state.players):
        facing = FACING_NAMES[player.orientation].upper()
        carried_suffix = _carried_sprite_suffix(player.carried_object)
        _paste_sprite(sheet, sprites[f"{facing}{carried_suffix}"], player.position)
        _paste_sprite(sheet, sprites[f"{facing}-{HAT_COLOURS[n]}hat"], player.position)
    for thing in state.objects.values():
        _paste_sprite(sheet, sprites[_object_sprite_name(thing, kitchen)], thing.position)
    _draw_texts(sheet, home, kitchen, state, f"Time left: {left_s:.0f}     Score: {score}")
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _carried_sprite_suffix(thing: KitchenObject | None) -> str:
    if thing is None:
        return ""
    return f"-soup-{thing.state[0]}" if thing.state else f"-{thing.name}"


def _object_sprite_name(thing: KitchenObject, kitchen: Grid) -> str:
    """Return the name of the sprite for an object."""
    if thing.state is None:
        return thing.name
    what, n, cooked = thing.state
    ready = n == N_SOUP_INGREDIENTS and cooked >= N_COOKING_STEPS
    where = (
        "done" if tile_at(kitchen, thing.position) != POT_TILE else "cooked" if ready else "idle"
    )
    counts = {"tomato": 0, "onion": 0} | {what: n}
    return f"soup_{where}_tomato_{counts['tomato']}_onion_{counts['onion']}"


def _paste_sprite(sheet: Image.Image, sprite: Image.Image, position: Position) -> None:
    sheet.paste(
        sprite, (position[0] * TILE_PIXELS, STRIP_PIXELS + position[1] * TILE_PIXELS), sprite
    )


def _draw_texts(
    sheet: Image.Image, home: Path, kitchen: Grid, state: KitchenState, strip: str
) -> None:
    pen = ImageDraw.Draw(sheet)
    pen.text((8, STRIP_PIXELS / 2), strip, _WHITE, _load_font(home, 16), anchor="lm")
    for thing in state.objects.values():
        if (
            thing.state
            and thing.state[1] == N_SOUP_INGREDIENTS
            and tile_at(kitchen, thing.position) == POT_TILE
        ):
            x, y = thing.position
            at = (x * TILE_PIXELS + TILE_PIXELS / 2, STRIP_PIXELS + (y + 0.8) * TILE_PIXELS)
            cooked = min(thing.state[2], N_COOKING_STEPS)
            pen.text(at, str(cooked), _RED, _load_font(home, 20), anchor="mm", stroke_width=2,
                     stroke_fill=_WHITE)  # fmt: skip


@lru_cache(maxsize=64)
def _draw_empty_kitchen(home: Path, kitchen: Grid) -> Image.Image:
    """Return the empty kitchen."""
    sprites = _load_sprites(home)
    size = (len(kitchen[0]) * TILE_PIXELS, len(kitchen) * TILE_PIXELS + STRIP_PIXELS)
    sheet = Image.new("RGB", size, _BACKGROUND)
    for y, row in enumerate(kitchen):
        for x, letter in enumerate(row):
            _paste_sprite(
                sheet, sprites["floor" if letter == FLOOR_TILE else _TILE_SPRITES[letter]], (x, y)
            )
    return sheet


@lru_cache(maxsize=8)
def _load_font(home: Path, size: int) -> ImageFont.FreeTypeFont:
    path = home / "fonts" / _FONT_FILE
    try:
        # the other layout engine exists on some machines only, and spaces text differently
        return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error}") from None


@lru_cache(maxsize=2)
def _load_sprites(home: Path) -> Sprites:
    """Return the package's sprites by name, enlarged."""
    found: Sprites = {}
    for name in _SPRITE_SHEETS:
        path = home / "graphics" / f"{name}.png"
        try:
            sheet = Image.open(path, formats=("PNG",)).convert("RGBA")
            table = msgspec.json.decode(path.with_suffix(".json").read_bytes())
            found.update(_cut_sprites(sheet, table))
        except (OSError, UnidentifiedImageError, msgspec.DecodeError, LookupError, TypeError) as e:
            raise DataError(f"{path}: cannot read sprites: {e}") from None
    return found


def _cut_sprites(sheet: Image.Image, table: dict[str, Any]) -> Sprites:
    """Cut a sheet into sprites; its table is either by name or a list."""
    frames = table["frames"] if "frames" in table else table["textures"][0]["frames"]
    frames_by_name = (
        frames.items() if isinstance(frames, dict) else ((f["filename"], f) for f in frames)
    )
    found: Sprites = {}
    for name, entry in frames_by_name:
        x, y, w, h = (entry["frame"][side] for side in "xywh")
        part = sheet.crop((x, y, x + w, y + h))
        found[name.removesuffix(".png")] = part.resize(
            (TILE_PIXELS, TILE_PIXELS), Image.Resampling.NEAREST
        )
    return found
