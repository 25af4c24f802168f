"""A furnished room drawn from above."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import cos, radians, sin
from random import Random

from PIL import Image

from toolmark import seeds
from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.suites.multinet.synthetic.brush import Brush, finished
from toolmark.suites.multinet.synthetic.room import FIXED, FREE, WALLED, Room, Thing

EDGE = 34  # of the picture around the room
_WALL: Colour = (92, 88, 84)
_DARK: Colour = (52, 44, 40)
_WHITE: Colour = (246, 246, 244)
_STEEL: Colour = (172, 178, 184)
_WOOD: tuple[Colour, ...] = ((150, 104, 62), (120, 82, 50), (176, 130, 84))
_CLOTH: tuple[Colour, ...] = ((176, 62, 58), (58, 96, 160), (70, 128, 88), (132, 88, 150))
_FLOORS: tuple[Colour, ...] = ((222, 200, 168), (206, 198, 186), (214, 184, 148), (196, 206, 206))


def drawn(room: Room) -> Image.Image:
    """Draw a room: one pixel for a centimetre."""
    rng = seeds.of(room.paint, "plan", 0, "multinet paint")
    wide, high = room.wide + 2 * EDGE, room.high + 2 * EDGE
    sheet = Sheet(wide, high, (238, 236, 232))
    sheet.box((EDGE - 12, EDGE - 12, wide - EDGE + 12, high - EDGE + 12), _WALL)
    floor = seeds.choice(rng, _FLOORS)
    sheet.box((EDGE, EDGE, EDGE + room.wide, EDGE + room.high), floor)
    seam = blend(floor, _DARK, 0.12)
    for k in range(1, int(room.high // 40) + 1):
        y = EDGE + k * 40
        if y < EDGE + room.high:
            sheet.stroke([(EDGE, y), (EDGE + room.wide, y)], seam, 1)
    for thing in room.things:
        wide, high = (FIXED | FREE | WALLED)[thing.kind]
        _shadow(sheet, thing)
        brush = Brush(sheet, (EDGE + thing.x, EDGE + thing.y), 1.0, 90.0 * thing.back)
        _DRAW[thing.kind](brush, wide / 2, high / 2, rng)
    return finished(sheet)


def _shadow(sheet: Sheet, thing: Thing) -> None:
    if thing.kind in (*FIXED, "plant", "table", "stool"):
        return
    brush = Brush(sheet, (EDGE + thing.x + 4, EDGE + thing.y + 5))
    brush.box(-thing.wide / 2, -thing.high / 2, thing.wide / 2, thing.high / 2, (150, 138, 122))


def _door(brush: Brush, w: float, h: float, rng: Random) -> None:
    """A gap in the wall, the leaf open into the room, the arc that it sweeps."""
    brush.box(-w, -h, w, h + 2, (226, 214, 196))
    arc = [(-w + 2 * w * cos(radians(a)), h + 2 * w * sin(radians(a))) for a in range(0, 91, 6)]
    for one, two in zip(arc[::2], arc[1::2], strict=False):
        brush.line([one, two], (120, 110, 100), 1.5)
    brush.box(-w, h, -w + 7, h + 2 * w, (134, 84, 44), _DARK)


def _window(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.box(-w, -h, w, h, (150, 204, 240), (250, 250, 250))
    brush.line([(-w, 0), (w, 0)], (250, 250, 250), 2.5)
    brush.line([(0, -h), (0, h)], (250, 250, 250), 2.5)


def _sofa(brush: Brush, w: float, h: float, rng: Random) -> None:
    cloth = seeds.choice(rng, _CLOTH)
    edge = blend(cloth, (0, 0, 0), 0.45)
    brush.box(-w, -h, w, h, blend(cloth, (0, 0, 0), 0.2), edge)
    for k in range(3):
        left = -w + 18 + k * (2 * w - 36) / 3
        brush.box(left, -h + 22, left + (2 * w - 36) / 3, h, blend(cloth, _WHITE, 0.16), edge)
    brush.box(-w, -h, w, -h + 20, cloth, edge)
    for side in (-1, 1):
        brush.box(
            min(side * w, side * (w - 18)), -h, max(side * w, side * (w - 18)), h, cloth, edge
        )


def _bed(brush: Brush, w: float, h: float, rng: Random) -> None:
    cloth = seeds.choice(rng, _CLOTH)
    brush.box(-w, -h, w, h, _WHITE, (120, 110, 100))
    brush.box(-w, -h, w, -h + 9, _WOOD[1])
    for side in (-1, 1):
        x = side * w / 2
        brush.box(x - w * 0.4, -h + 16, x + w * 0.4, -h + 54, (255, 255, 255), (168, 164, 160))
    brush.box(-w, -h + 72, w, h, cloth, blend(cloth, _DARK, 0.4))
    brush.box(-w, -h + 72, w, -h + 94, blend(cloth, _WHITE, 0.55))


def _piano(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.box(-w, -h, w, h, (30, 28, 30), (0, 0, 0))
    top, low = h - 28, h - 4
    brush.box(-w + 6, top, w - 6, low, _WHITE)
    step = (2 * w - 12) / 21
    for k in range(22):
        x = -w + 6 + k * step
        brush.line([(x, top), (x, low)], (90, 90, 90), 0.8)
        if k % 7 not in (0, 3) and k < 21:
            brush.box(x - step * 0.3, top, x + step * 0.3, top + 14, (0, 0, 0))


def _bathtub(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.box(-w, -h, w, h, _WHITE, (128, 132, 136))
    brush.disc(2, 0, w - 10, (158, 210, 232), (120, 150, 170), h - 9)
    brush.disc(-w + 26, 0, 4, (70, 80, 90))
    brush.box(-w + 2, -6, -w + 14, 6, _STEEL, (90, 96, 100))


def _toilet(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.box(-w, -h, w, -h + 20, _WHITE, (120, 120, 120))
    brush.disc(0, 8, w - 3, _WHITE, (120, 120, 120), h - 10)
    brush.disc(0, 10, w - 10, (176, 214, 230), (130, 140, 150), h - 19)
    brush.disc(0, -h + 10, 4, _STEEL, (90, 96, 100))


def _stove(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.box(-w, -h, w, h, (214, 216, 218), (80, 80, 84))
    for x in (-13, 13):
        for y in (-15, 9):
            brush.disc(x, y, 10.5, (40, 40, 44))
            brush.disc(x, y, 6.5, (196, 72, 48))
            brush.disc(x, y, 3.5, (40, 40, 44))
    for x in (-18, -6, 6, 18):
        brush.disc(x, h - 5, 2.6, (60, 60, 66))


def _bookshelf(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.box(-w, -h, w, h, _WOOD[1], _DARK)
    x = -w + 5.0
    while x < w - 10:
        thick = 5 + seeds.below(rng, 5)
        brush.box(x, -h + 7, x + thick, h - 2 - seeds.below(rng, 6), seeds.choice(rng, _CLOTH),
                  (40, 34, 30))  # fmt: skip
        x += thick + 1


def _television(brush: Brush, w: float, h: float, rng: Random) -> None:
    """A low board with a flat screen on it, whose picture lights the floor before it."""
    glow = (176, 206, 246)
    brush.shape([(-w * 0.8, h), (w * 0.8, h), (w * 0.95, h + 18), (-w * 0.95, h + 18)], glow)
    brush.box(-w, -h, w, h, _WOOD[0], _DARK)
    brush.box(-w * 0.84, -2, w * 0.84, 6, (14, 14, 18))
    brush.box(-w * 0.84, 6, w * 0.84, 10, (84, 148, 236))
    brush.box(-12, -h + 4, 12, -2, (40, 40, 44))


def _table(brush: Brush, w: float, h: float, rng: Random) -> None:
    _rounded(brush, w)
    brush.disc(0, 0, w, _WOOD[2], _DARK)
    brush.disc(0, 0, w - 9, blend(_WOOD[2], _WHITE, 0.2), (150, 112, 74))


def _stool(brush: Brush, w: float, h: float, rng: Random) -> None:
    _rounded(brush, w)
    brush.disc(0, 0, w, _WOOD[1], _DARK)
    brush.disc(0, 0, w - 5, (196, 60, 52), (120, 30, 26))


def _chair(brush: Brush, w: float, h: float, rng: Random) -> None:
    for side in (-1, 1):
        brush.disc(side * (w - 4), h - 4, 4, _DARK)
    brush.box(-w + 2, -h + 4, w - 2, h - 2, _WOOD[2], _DARK)
    brush.box(-w, -h, w, -h + 9, _WOOD[1], _DARK)


def _plant(brush: Brush, w: float, h: float, rng: Random) -> None:
    brush.disc(0, 0, w * 0.52, (176, 96, 62), (110, 56, 34))
    for k in range(9):
        turn = radians(40 * k + 8)
        tip = (w * cos(turn), w * sin(turn))
        sides = [(w * 0.55 * cos(turn + d), w * 0.55 * sin(turn + d)) for d in (-0.36, 0.36)]
        brush.shape(
            [(0, 0), sides[0], tip, sides[1]], (56, 142 - 12 * (k % 3), 66), (26, 84, 40), 1
        )
    brush.disc(0, 0, w * 0.14, (26, 84, 40))


def _rounded(brush: Brush, w: float) -> None:
    """Lay the shadow of something round."""
    brush.disc(2, 3, w + 2, (150, 138, 122))


_DRAW: Mapping[str, Callable[[Brush, float, float, Random], None]] = {
    "door": _door, "window": _window, "sofa": _sofa, "bed": _bed, "piano": _piano,
    "bathtub": _bathtub, "toilet": _toilet, "stove": _stove, "bookshelf": _bookshelf,
    "television": _television, "table": _table, "stool": _stool, "chair": _chair, "plant": _plant,
}  # fmt: skip
