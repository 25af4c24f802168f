"""Pictures of a kitchen, from the package's own sprites: a tile is 75 pixels wide.

Above the kitchen a strip tells the time left and the score. The same state makes the same bytes.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from PIL import Image, ImageDraw, ImageFont, UnidentifiedImageError

from toolmark.errors import DataError
from toolmark.suites.multinet.overcooked.state import (
    COOKED,
    FACING,
    FLOOR,
    FULL,
    HATS,
    POT,
    Grid,
    Place,
    State,
    Thing,
    tile,
)

Sprites: TypeAlias = dict[str, Image.Image]

MIME = "image/png"
TILE = 75
STRIP = 25
_SHEETS = ("terrain", "objects", "soups", "chefs")
_NAMES = {"X": "counter", "P": "pot", "O": "onions", "T": "tomatoes", "D": "dishes", "S": "serve"}
_FONT = "Roboto-Regular.ttf"
_BACK = (155, 101, 0)
_WHITE = (255, 255, 255)
_RED = (255, 0, 0)


def picture(home: Path, kitchen: Grid, state: State, left_s: float, score: int) -> bytes:
    """Return a frame as PNG; `home` is the folder that holds graphics and fonts.

    Raises DataError where those cannot be read.
    """
    sprites = _sprites(home)
    sheet = _ground(home, kitchen).copy()
    for n, player in enumerate(state.players):
        faces = FACING[player.orientation].upper()
        held = _held(player.held_object)
        _put(sheet, sprites[f"{faces}{held}"], player.position)
        _put(sheet, sprites[f"{faces}-{HATS[n]}hat"], player.position)
    for thing in state.objects.values():
        _put(sheet, sprites[_name(thing, kitchen)], thing.position)
    _letters(sheet, home, kitchen, state, f"Time left: {left_s:.0f}     Score: {score}")
    made = io.BytesIO()
    sheet.save(made, "PNG", compress_level=1)
    return made.getvalue()


def _held(thing: Thing | None) -> str:
    if thing is None:
        return ""
    return f"-soup-{thing.state[0]}" if thing.state else f"-{thing.name}"


def _name(thing: Thing, kitchen: Grid) -> str:
    """Return the name of the sprite for what lies somewhere."""
    if thing.state is None:
        return thing.name
    what, n, cooked = thing.state
    ready = n == FULL and cooked >= COOKED
    where = "done" if tile(kitchen, thing.position) != POT else "cooked" if ready else "idle"
    counts = {"tomato": 0, "onion": 0} | {what: n}
    return f"soup_{where}_tomato_{counts['tomato']}_onion_{counts['onion']}"


def _put(sheet: Image.Image, sprite: Image.Image, place: Place) -> None:
    sheet.paste(sprite, (place[0] * TILE, STRIP + place[1] * TILE), sprite)


def _letters(sheet: Image.Image, home: Path, kitchen: Grid, state: State, strip: str) -> None:
    pen = ImageDraw.Draw(sheet)
    pen.text((8, STRIP / 2), strip, _WHITE, _font(home, 16), anchor="lm")
    for thing in state.objects.values():
        if thing.state and thing.state[1] == FULL and tile(kitchen, thing.position) == POT:
            x, y = thing.position
            at = (x * TILE + TILE / 2, STRIP + (y + 0.8) * TILE)
            cooked = min(thing.state[2], COOKED)
            pen.text(at, str(cooked), _RED, _font(home, 20), anchor="mm", stroke_width=2,
                     stroke_fill=_WHITE)  # fmt: skip


@lru_cache(maxsize=64)
def _ground(home: Path, kitchen: Grid) -> Image.Image:
    """Return the empty kitchen."""
    sprites = _sprites(home)
    size = (len(kitchen[0]) * TILE, len(kitchen) * TILE + STRIP)
    sheet = Image.new("RGB", size, _BACK)
    for y, row in enumerate(kitchen):
        for x, letter in enumerate(row):
            _put(sheet, sprites["floor" if letter == FLOOR else _NAMES[letter]], (x, y))
    return sheet


@lru_cache(maxsize=8)
def _font(home: Path, size: int) -> ImageFont.FreeTypeFont:
    path = home / "fonts" / _FONT
    try:
        # the other layout engine is there on some machines only, and spaces otherwise
        return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error}") from None


@lru_cache(maxsize=2)
def _sprites(home: Path) -> Sprites:
    """Return the package's sprites by name, enlarged."""
    found: Sprites = {}
    for name in _SHEETS:
        path = home / "graphics" / f"{name}.png"
        try:
            sheet = Image.open(path, formats=("PNG",)).convert("RGBA")
            table = msgspec.json.decode(path.with_suffix(".json").read_bytes())
            found.update(_cut(sheet, table))
        except (OSError, UnidentifiedImageError, msgspec.DecodeError, LookupError, TypeError) as e:
            raise DataError(f"{path}: cannot read sprites: {e}") from None
    return found


def _cut(sheet: Image.Image, table: dict[str, Any]) -> Sprites:
    """Cut a sheet of sprites; tables come in two forms, by name and as a list."""
    frames = table["frames"] if "frames" in table else table["textures"][0]["frames"]
    named = frames.items() if isinstance(frames, dict) else ((f["filename"], f) for f in frames)
    found: Sprites = {}
    for name, told in named:
        x, y, w, h = (told["frame"][side] for side in "xywh")
        part = sheet.crop((x, y, x + w, y + h))
        found[name.removesuffix(".png")] = part.resize((TILE, TILE), Image.Resampling.NEAREST)
    return found
