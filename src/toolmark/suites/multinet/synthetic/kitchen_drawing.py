"""Pictures of a scripted kitchen, tile by tile, with a strip for time and score."""

from __future__ import annotations

from PIL import Image

from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import Font
from toolmark.suites.multinet.overcooked.kitchen_state import (
    FLOOR_TILE,
    N_COOKING_STEPS,
    N_SOUP_INGREDIENTS,
    Grid,
    KitchenObject,
    KitchenState,
    Player,
)
from toolmark.suites.multinet.synthetic.shape_brush import Brush, reduce_sheet

TILE_PIXELS = 60
STRIP_PIXELS = 28
_DARK: Colour = (46, 38, 32)
_WHITE: Colour = (250, 250, 248)
_WOOD: Colour = (176, 128, 78)
_FLOOR: Colour = (226, 216, 196)
_ONION: Colour = (222, 174, 90)
_SOUP: Colour = (214, 140, 50)
_STEEL: Colour = (96, 100, 108)
_HAT_COLOURS: tuple[Colour, Colour] = ((40, 92, 200), (30, 150, 70))  # the text names these colours


def draw_kitchen(grid: Grid, state: KitchenState, left_s: float, score: int) -> Image.Image:
    """Draw a state of a kitchen."""
    sheet = Canvas(len(grid[0]) * TILE_PIXELS, len(grid) * TILE_PIXELS + STRIP_PIXELS, (60, 44, 34))
    font = Font("plain", 15, True)
    sheet.text((8, 6), f"Time left: {left_s:.0f} s   Score: {score}", font, _WHITE)
    for y, row in enumerate(grid):
        for x, letter in enumerate(row):
            _draw_tile(sheet, x, y, letter)
    for thing in state.objects.values():
        _draw_pot_contents(sheet, thing)
    for n, player in enumerate(state.players):
        _draw_cook(sheet, player, _HAT_COLOURS[n])
    return reduce_sheet(sheet)


def _tile_brush(sheet: Canvas, x: int, y: int, turn: float = 0.0) -> Brush:
    return Brush(
        sheet,
        ((x + 0.5) * TILE_PIXELS, STRIP_PIXELS + (y + 0.5) * TILE_PIXELS),
        TILE_PIXELS / 2,
        turn,
    )


def _draw_tile(sheet: Canvas, x: int, y: int, letter: str) -> None:
    brush = _tile_brush(sheet, x, y)
    ground = _FLOOR if letter == FLOOR_TILE else _WOOD
    brush.fill_box(-1, -1, 1, 1, ground, blend_colours(ground, _DARK, 0.25))
    match letter:
        case "P":
            brush.fill_ellipse(0, 0, 0.78, _STEEL, _DARK)
            brush.fill_ellipse(0, 0, 0.6, (46, 48, 54))
        case "O":
            for dx, dy in ((-0.36, 0.22), (0.36, 0.22), (0, -0.3)):
                _draw_onion(brush, dx, dy, 0.36)
        case "D":
            for k in range(3):
                brush.fill_ellipse(0, 0.18 - 0.18 * k, 0.62, _WHITE, (150, 150, 150))
        case "S":
            brush.fill_box(-1, -1, 1, 1, (196, 200, 206), _DARK)
            brush.fill_polygon([(-0.5, 0.35), (0, -0.5), (0.5, 0.35)], (220, 60, 50), _DARK)


def _draw_onion(brush: Brush, x: float, y: float, size: float) -> None:
    brush.fill_ellipse(x, y, size, _ONION, _DARK)
    brush.fill_polygon([(x - size * 0.3, y - size * 0.8), (x + size * 0.3, y - size * 0.8),
                 (x, y - size * 1.35)], (110, 160, 70))  # fmt: skip


def _draw_pot_contents(sheet: Canvas, thing: KitchenObject) -> None:
    """Draw the content of a pot: onions, or soup with its progress, green when it is ready."""
    assert thing.state
    _, n, cooked = thing.state
    brush = _tile_brush(sheet, *thing.position)
    if n < N_SOUP_INGREDIENTS:
        for k in range(n):
            _draw_onion(brush, -0.22 + 0.44 * k, 0.05, 0.24)
        return
    brush.fill_ellipse(0, 0, 0.6, _SOUP)
    ready = cooked >= N_COOKING_STEPS
    brush.fill_box(-0.8, 0.55, 0.8, 0.85, _WHITE, _DARK)
    share = cooked / N_COOKING_STEPS
    brush.fill_box(-0.76, 0.6, -0.76 + 1.52 * share, 0.8, (40, 170, 70) if ready else (214, 60, 50))


def _draw_cook(sheet: Canvas, player: Player, hat: Colour) -> None:
    """Draw a cook from above, with the face and the hands in its direction."""
    turn = {(0, 1): 0.0, (-1, 0): 90.0, (0, -1): 180.0, (1, 0): 270.0}[player.orientation]
    brush = _tile_brush(sheet, *player.position, turn)
    brush.fill_ellipse(0, 0, 0.66, _WHITE, _DARK, 0.5)
    for side in (-1, 1):
        brush.fill_ellipse(side * 0.48, 0.5, 0.16, (238, 200, 168), _DARK)
    brush.fill_ellipse(0, 0.12, 0.4, (238, 200, 168), _DARK)
    for side in (-1, 1):
        brush.fill_ellipse(side * 0.15, 0.36, 0.06, _DARK)
    brush.fill_ellipse(0, -0.08, 0.4, hat, _DARK)
    carried = player.carried_object
    if carried is None:
        return
    if carried.name == "onion":
        _draw_onion(brush, 0, 0.72, 0.26)
    else:
        brush.fill_ellipse(0, 0.72, 0.34, _WHITE, (120, 120, 120))
        if carried.name == "soup":
            brush.fill_ellipse(0, 0.72, 0.24, _SOUP, _DARK)
