"""A robot's table with things, and bowls, trays and baskets that they are put in."""

from __future__ import annotations

from math import cos, pi, sin

from PIL import Image

from toolmark import seeds
from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.draw.emblem import COLOURS
from toolmark.suites.multinet.synthetic.brush import Brush, finished
from toolmark.suites.multinet.synthetic.robovqa import Table

WIDE, HIGH = 480, 360
_TABLES: tuple[Colour, ...] = ((198, 160, 118), (176, 182, 186), (160, 120, 84), (206, 200, 188))
_PLACES: dict[str, Colour] = {
    "bowl": (236, 238, 240),
    "tray": (70, 74, 80),
    "basket": (160, 112, 58),
}
_GREY: Colour = (120, 124, 130)
_DARK: Colour = (40, 40, 44)
_STAR = [
    (r * sin(pi * k / 5), -r * cos(pi * k / 5)) for k in range(10) for r in (1.0 - 0.55 * (k % 2),)
]


def drawn(seed: int, id: str, table: Table) -> Image.Image:
    """Draw the table; what its things look like hangs on the episode's id alone."""
    rng = seeds.of(seed, id, 0, "multinet table")
    top = seeds.choice(rng, _TABLES)
    sheet = Sheet(WIDE, HIGH, (222, 226, 230))
    sheet.pen.polygon([(60, 150), (900, 150), (960, 720), (0, 720)], top)
    sheet.stroke([(30, 75), (450, 75)], blend(top, _DARK, 0.4), 3)
    _arm(sheet, 40 + seeds.below(rng, 400))
    order = seeds.sample(rng, 4, 4)
    jitter = [(seeds.between(rng, -12, 12), seeds.between(rng, -10, 10)) for _ in range(4)]
    spots = {place: (WIDE * (k + 0.5) / len(table.places), 172.0)
             for k, place in enumerate(table.places)}  # fmt: skip
    inside = {place: [t for t, lies in zip(table.things, table.lies, strict=True) if lies == place]
              for place in table.places}  # fmt: skip
    for place, spot in spots.items():
        _place(sheet, place, spot, inside[place])
    for k, (thing, lies) in enumerate(zip(table.things, table.lies, strict=True)):
        if not lies:
            at = (66 + 116 * order[k] + jitter[k][0], 300 + jitter[k][1])
            _thing(sheet, thing, at, 24)
    for place, (x, y) in spots.items():
        beside = [
            t for t, lies in zip(table.things, table.lies, strict=True) if lies == f"~{place}"
        ]
        for k, thing in enumerate(beside):
            _thing(sheet, thing, (x - 34 + 68 * k, y + 66), 22)
    return finished(sheet)


def _arm(sheet: Sheet, x: float) -> None:
    """Hang the gripper over the back of the table."""
    brush = Brush(sheet, (x, 34))
    brush.box(-12, -34, 12, -2, _GREY, _DARK)
    brush.box(-26, -4, 26, 8, (90, 94, 100), _DARK)
    for side in (-1, 1):
        brush.box(side * 20 - 4, 8, side * 20 + 4, 30, (90, 94, 100), _DARK)


def _place(sheet: Sheet, place: str, at: tuple[float, float], things: list[str]) -> None:
    """Draw a place seen from above its front: its back, what is in it, its front wall."""
    brush, colour = Brush(sheet, at), _PLACES[place]
    edge, deep = blend(colour, _DARK, 0.5), blend(colour, _DARK, 0.28)
    if place == "bowl":
        brush.disc(0, 0, 66, deep, edge, 30)
    elif place == "tray":
        brush.shape([(-60, -30), (60, -30), (72, 30), (-72, 30)], deep, edge)
    else:
        brush.box(-64, -30, 64, 24, deep, edge)
    for k, thing in enumerate(things):
        _thing(sheet, thing, (at[0] + (k - (len(things) - 1) / 2) * 40, at[1] - 8), 18)
    if place == "bowl":
        front = [(-66.0, 0.0), (-50, 12), (0, 22), (50, 12), (66, 0), (46, 40), (0, 48), (-46, 40)]
        brush.shape(front, colour, edge)
    elif place == "tray":
        brush.shape([(-70, 18), (70, 18), (72, 32), (-72, 32)], colour, edge)
    else:
        brush.shape([(-66, 12), (66, 12), (58, 46), (-58, 46)], colour, edge)
        for y in (20, 29, 38):
            brush.line([(-60, y), (60, y)], deep, 2)
        for x in range(-48, 49, 16):
            brush.line([(x, 14), (x * 0.9, 44)], deep, 2)


def _thing(sheet: Sheet, thing: str, at: tuple[float, float], size: float) -> None:
    name, kind = thing.split()
    colour = COLOURS[name]
    edge, light = blend(colour, _DARK, 0.55), blend(colour, (255, 255, 255), 0.4)
    brush = Brush(sheet, at, size)
    brush.disc(0.12, 0.82, 0.95, (120, 104, 88), None, 0.22)
    match kind:
        case "cube":
            brush.box(-0.85, -0.55, 0.6, 0.9, colour, edge)
            brush.shape([(-0.85, -0.55), (-0.5, -0.9), (0.95, -0.9), (0.6, -0.55)], light, edge)
            brush.shape([(0.6, -0.55), (0.95, -0.9), (0.95, 0.55), (0.6, 0.9)],
                        blend(colour, _DARK, 0.25), edge)  # fmt: skip
        case "ball":
            brush.disc(0, 0, 0.92, colour, edge)
            brush.disc(-0.3, -0.35, 0.24, light)
        case "can":
            brush.box(-0.62, -0.75, 0.62, 0.8, colour)
            brush.disc(0, 0.8, 0.62, colour, None, 0.2)
            brush.box(-0.62, -0.2, 0.62, 0.25, (245, 245, 245))
            brush.disc(0, -0.75, 0.62, (205, 208, 212), (110, 112, 116), 0.22)
        case "ring":
            brush.disc(0, 0.1, 1.0, colour, edge, 0.72)
            brush.disc(0, 0.0, 0.46, blend(colour, _DARK, 0.7), edge, 0.3)
        case _:
            brush.shape(_STAR, colour, edge)
