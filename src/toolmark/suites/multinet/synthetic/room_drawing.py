"""A furnished room drawn from above."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import cos, radians, sin
from random import Random

from PIL import Image

from toolmark.core import seeds
from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.suites.multinet.synthetic.room_layout import (
    FREE_FURNITURE,
    WALL_FURNITURE,
    WALL_OPENINGS,
    FurnishedRoom,
    RoomThing,
)
from toolmark.suites.multinet.synthetic.shape_brush import Brush, reduce_sheet

MARGIN = 34  # around the room, in pixels
_WALL: Colour = (92, 88, 84)
_DARK: Colour = (52, 44, 40)
_WHITE: Colour = (246, 246, 244)
_STEEL: Colour = (172, 178, 184)
_WOOD_COLOURS: tuple[Colour, ...] = ((150, 104, 62), (120, 82, 50), (176, 130, 84))
_CLOTH_COLOURS: tuple[Colour, ...] = ((176, 62, 58), (58, 96, 160), (70, 128, 88), (132, 88, 150))
_FLOOR_COLOURS: tuple[Colour, ...] = (
    (222, 200, 168),
    (206, 198, 186),
    (214, 184, 148),
    (196, 206, 206),
)


def draw_room(room: FurnishedRoom) -> Image.Image:
    """Draw a room at one pixel per centimetre."""
    rng = seeds.make_rng(room.colour_seed, "plan", 0, "multinet paint")
    wide, high = room.width + 2 * MARGIN, room.height + 2 * MARGIN
    sheet = Canvas(wide, high, (238, 236, 232))
    sheet.rectangle((MARGIN - 12, MARGIN - 12, wide - MARGIN + 12, high - MARGIN + 12), _WALL)
    floor = seeds.draw_one(rng, _FLOOR_COLOURS)
    sheet.rectangle((MARGIN, MARGIN, MARGIN + room.width, MARGIN + room.height), floor)
    seam = blend_colours(floor, _DARK, 0.12)
    for k in range(1, int(room.height // 40) + 1):
        y = MARGIN + k * 40
        if y < MARGIN + room.height:
            sheet.polyline([(MARGIN, y), (MARGIN + room.width, y)], seam, 1)
    for thing in room.things:
        wide, high = (WALL_OPENINGS | FREE_FURNITURE | WALL_FURNITURE)[thing.kind]
        _draw_shadow(sheet, thing)
        brush = Brush(sheet, (MARGIN + thing.x, MARGIN + thing.y), 1.0, 90.0 * thing.back_side)
        _PAINTERS[thing.kind](brush, wide / 2, high / 2, rng)
    return reduce_sheet(sheet)


def _draw_shadow(sheet: Canvas, thing: RoomThing) -> None:
    if thing.kind in (*WALL_OPENINGS, "plant", "table", "stool"):
        return
    brush = Brush(sheet, (MARGIN + thing.x + 4, MARGIN + thing.y + 5))
    brush.fill_box(
        -thing.width / 2, -thing.height / 2, thing.width / 2, thing.height / 2, (150, 138, 122)
    )


def _draw_door(brush: Brush, w: float, h: float, rng: Random) -> None:
    """Draw a gap in the wall, the door leaf open into the room, and its arc."""
    brush.fill_box(-w, -h, w, h + 2, (226, 214, 196))
    arc = [(-w + 2 * w * cos(radians(a)), h + 2 * w * sin(radians(a))) for a in range(0, 91, 6)]
    for one, two in zip(arc[::2], arc[1::2], strict=False):
        brush.draw_line([one, two], (120, 110, 100), 1.5)
    brush.fill_box(-w, h, -w + 7, h + 2 * w, (134, 84, 44), _DARK)


def _draw_window(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_box(-w, -h, w, h, (150, 204, 240), (250, 250, 250))
    brush.draw_line([(-w, 0), (w, 0)], (250, 250, 250), 2.5)
    brush.draw_line([(0, -h), (0, h)], (250, 250, 250), 2.5)


def _draw_sofa(brush: Brush, w: float, h: float, rng: Random) -> None:
    cloth = seeds.draw_one(rng, _CLOTH_COLOURS)
    edge = blend_colours(cloth, (0, 0, 0), 0.45)
    brush.fill_box(-w, -h, w, h, blend_colours(cloth, (0, 0, 0), 0.2), edge)
    for k in range(3):
        left = -w + 18 + k * (2 * w - 36) / 3
        brush.fill_box(
            left, -h + 22, left + (2 * w - 36) / 3, h, blend_colours(cloth, _WHITE, 0.16), edge
        )
    brush.fill_box(-w, -h, w, -h + 20, cloth, edge)
    for side in (-1, 1):
        brush.fill_box(
            min(side * w, side * (w - 18)), -h, max(side * w, side * (w - 18)), h, cloth, edge
        )


def _draw_bed(brush: Brush, w: float, h: float, rng: Random) -> None:
    cloth = seeds.draw_one(rng, _CLOTH_COLOURS)
    brush.fill_box(-w, -h, w, h, _WHITE, (120, 110, 100))
    brush.fill_box(-w, -h, w, -h + 9, _WOOD_COLOURS[1])
    for side in (-1, 1):
        x = side * w / 2
        brush.fill_box(x - w * 0.4, -h + 16, x + w * 0.4, -h + 54, (255, 255, 255), (168, 164, 160))
    brush.fill_box(-w, -h + 72, w, h, cloth, blend_colours(cloth, _DARK, 0.4))
    brush.fill_box(-w, -h + 72, w, -h + 94, blend_colours(cloth, _WHITE, 0.55))


def _draw_piano(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_box(-w, -h, w, h, (30, 28, 30), (0, 0, 0))
    top, low = h - 28, h - 4
    brush.fill_box(-w + 6, top, w - 6, low, _WHITE)
    step = (2 * w - 12) / 21
    for k in range(22):
        x = -w + 6 + k * step
        brush.draw_line([(x, top), (x, low)], (90, 90, 90), 0.8)
        if k % 7 not in (0, 3) and k < 21:
            brush.fill_box(x - step * 0.3, top, x + step * 0.3, top + 14, (0, 0, 0))


def _draw_bathtub(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_box(-w, -h, w, h, _WHITE, (128, 132, 136))
    brush.fill_ellipse(2, 0, w - 10, (158, 210, 232), (120, 150, 170), h - 9)
    brush.fill_ellipse(-w + 26, 0, 4, (70, 80, 90))
    brush.fill_box(-w + 2, -6, -w + 14, 6, _STEEL, (90, 96, 100))


def _draw_toilet(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_box(-w, -h, w, -h + 20, _WHITE, (120, 120, 120))
    brush.fill_ellipse(0, 8, w - 3, _WHITE, (120, 120, 120), h - 10)
    brush.fill_ellipse(0, 10, w - 10, (176, 214, 230), (130, 140, 150), h - 19)
    brush.fill_ellipse(0, -h + 10, 4, _STEEL, (90, 96, 100))


def _draw_stove(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_box(-w, -h, w, h, (214, 216, 218), (80, 80, 84))
    for x in (-13, 13):
        for y in (-15, 9):
            brush.fill_ellipse(x, y, 10.5, (40, 40, 44))
            brush.fill_ellipse(x, y, 6.5, (196, 72, 48))
            brush.fill_ellipse(x, y, 3.5, (40, 40, 44))
    for x in (-18, -6, 6, 18):
        brush.fill_ellipse(x, h - 5, 2.6, (60, 60, 66))


def _draw_bookshelf(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_box(-w, -h, w, h, _WOOD_COLOURS[1], _DARK)
    x = -w + 5.0
    while x < w - 10:
        thick = 5 + seeds.draw_below(rng, 5)
        brush.fill_box(
            x,
            -h + 7,
            x + thick,
            h - 2 - seeds.draw_below(rng, 6),
            seeds.draw_one(rng, _CLOTH_COLOURS),
            (40, 34, 30),
        )
        x += thick + 1


def _draw_television(brush: Brush, w: float, h: float, rng: Random) -> None:
    """Draw a low board with a flat screen on it, which lights the floor in front of it."""
    glow = (176, 206, 246)
    brush.fill_polygon([(-w * 0.8, h), (w * 0.8, h), (w * 0.95, h + 18), (-w * 0.95, h + 18)], glow)
    brush.fill_box(-w, -h, w, h, _WOOD_COLOURS[0], _DARK)
    brush.fill_box(-w * 0.84, -2, w * 0.84, 6, (14, 14, 18))
    brush.fill_box(-w * 0.84, 6, w * 0.84, 10, (84, 148, 236))
    brush.fill_box(-12, -h + 4, 12, -2, (40, 40, 44))


def _draw_table(brush: Brush, w: float, h: float, rng: Random) -> None:
    _draw_round_shadow(brush, w)
    brush.fill_ellipse(0, 0, w, _WOOD_COLOURS[2], _DARK)
    brush.fill_ellipse(0, 0, w - 9, blend_colours(_WOOD_COLOURS[2], _WHITE, 0.2), (150, 112, 74))


def _draw_stool(brush: Brush, w: float, h: float, rng: Random) -> None:
    _draw_round_shadow(brush, w)
    brush.fill_ellipse(0, 0, w, _WOOD_COLOURS[1], _DARK)
    brush.fill_ellipse(0, 0, w - 5, (196, 60, 52), (120, 30, 26))


def _draw_chair(brush: Brush, w: float, h: float, rng: Random) -> None:
    for side in (-1, 1):
        brush.fill_ellipse(side * (w - 4), h - 4, 4, _DARK)
    brush.fill_box(-w + 2, -h + 4, w - 2, h - 2, _WOOD_COLOURS[2], _DARK)
    brush.fill_box(-w, -h, w, -h + 9, _WOOD_COLOURS[1], _DARK)


def _draw_plant(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.fill_ellipse(0, 0, w * 0.52, (176, 96, 62), (110, 56, 34))
    for k in range(9):
        turn = radians(40 * k + 8)
        tip = (w * cos(turn), w * sin(turn))
        sides = [(w * 0.55 * cos(turn + d), w * 0.55 * sin(turn + d)) for d in (-0.36, 0.36)]
        brush.fill_polygon(
            [(0, 0), sides[0], tip, sides[1]], (56, 142 - 12 * (k % 3), 66), (26, 84, 40), 1
        )
    brush.fill_ellipse(0, 0, w * 0.14, (26, 84, 40))


def _draw_round_shadow(brush: Brush, w: float) -> None:
    """Draw the shadow of something round."""
    brush.fill_ellipse(2, 3, w + 2, (150, 138, 122))


_PAINTERS: Mapping[str, Callable[[Brush, float, float, Random], None]] = {
    "door": _draw_door,
    "window": _draw_window,
    "sofa": _draw_sofa,
    "bed": _draw_bed,
    "piano": _draw_piano,
    "bathtub": _draw_bathtub,
    "toilet": _draw_toilet,
    "stove": _draw_stove,
    "bookshelf": _draw_bookshelf,
    "television": _draw_television,
    "table": _draw_table,
    "stool": _draw_stool,
    "chair": _draw_chair,
    "plant": _draw_plant,
}
