"""A robot's table with things, and with the bowls, trays and baskets that they are put in."""

from __future__ import annotations

from math import cos, pi, sin

from PIL import Image

from toolmark.core import seeds
from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.emblem import COLOURS
from toolmark.suites.multinet.synthetic.shape_brush import Brush, reduce_sheet
from toolmark.suites.multinet.synthetic.tabletop_scene import TabletopScene

PICTURE_WIDTH, PICTURE_HEIGHT = 480, 360
_TABLE_COLOURS: tuple[Colour, ...] = (
    (198, 160, 118),
    (176, 182, 186),
    (160, 120, 84),
    (206, 200, 188),
)
_PLACE_COLOURS: dict[str, Colour] = {
    "bowl": (236, 238, 240),
    "tray": (70, 74, 80),
    "basket": (160, 112, 58),
}
_GREY: Colour = (120, 124, 130)
_DARK: Colour = (40, 40, 44)
_STAR_POINTS = [
    (r * sin(pi * k / 5), -r * cos(pi * k / 5)) for k in range(10) for r in (1.0 - 0.55 * (k % 2),)
]


def draw_tabletop(seed: int, id: str, table: TabletopScene) -> Image.Image:
    """Draw the table; the look of its things depends only on the episode's id."""
    rng = seeds.make_rng(seed, id, 0, "multinet table")
    top = seeds.draw_one(rng, _TABLE_COLOURS)
    sheet = Canvas(PICTURE_WIDTH, PICTURE_HEIGHT, (222, 226, 230))
    sheet.pen.polygon([(60, 150), (900, 150), (960, 720), (0, 720)], top)
    sheet.polyline([(30, 75), (450, 75)], blend_colours(top, _DARK, 0.4), 3)
    _draw_gripper(sheet, 40 + seeds.draw_below(rng, 400))
    order = seeds.sample_indices(rng, 4, 4)
    jitter = [
        (seeds.draw_between(rng, -12, 12), seeds.draw_between(rng, -10, 10)) for _ in range(4)
    ]
    spots = {place_name: (PICTURE_WIDTH * (k + 0.5) / len(table.places), 172.0)
             for k, place_name in enumerate(table.places)}  # fmt: skip
    things_by_place = {
        place_name: [
            t
            for t, location in zip(table.things, table.lies, strict=True)
            if location == place_name
        ]
        for place_name in table.places
    }
    for place_name, spot in spots.items():
        _draw_place(sheet, place_name, spot, things_by_place[place_name])
    for k, (thing, location) in enumerate(zip(table.things, table.lies, strict=True)):
        if not location:
            at = (66 + 116 * order[k] + jitter[k][0], 300 + jitter[k][1])
            _draw_thing(sheet, thing, at, 24)
    for place_name, (x, y) in spots.items():
        things_next_to = [
            t
            for t, location in zip(table.things, table.lies, strict=True)
            if location == f"~{place_name}"
        ]
        for k, thing in enumerate(things_next_to):
            _draw_thing(sheet, thing, (x - 34 + 68 * k, y + 66), 22)
    return reduce_sheet(sheet)


def _draw_gripper(sheet: Canvas, x: float) -> None:
    """Draw the gripper over the back of the table."""
    brush = Brush(sheet, (x, 34))
    brush.fill_box(-12, -34, 12, -2, _GREY, _DARK)
    brush.fill_box(-26, -4, 26, 8, (90, 94, 100), _DARK)
    for side in (-1, 1):
        brush.fill_box(side * 20 - 4, 8, side * 20 + 4, 30, (90, 94, 100), _DARK)


def _draw_place(sheet: Canvas, place_name: str, at: tuple[float, float], things: list[str]) -> None:
    """Draw a place seen from the front and above: its back, its content, its front wall."""
    brush, colour = Brush(sheet, at), _PLACE_COLOURS[place_name]
    edge, deep = blend_colours(colour, _DARK, 0.5), blend_colours(colour, _DARK, 0.28)
    if place_name == "bowl":
        brush.fill_ellipse(0, 0, 66, deep, edge, 30)
    elif place_name == "tray":
        brush.fill_polygon([(-60, -30), (60, -30), (72, 30), (-72, 30)], deep, edge)
    else:
        brush.fill_box(-64, -30, 64, 24, deep, edge)
    for k, thing in enumerate(things):
        _draw_thing(sheet, thing, (at[0] + (k - (len(things) - 1) / 2) * 40, at[1] - 8), 18)
    if place_name == "bowl":
        front = [(-66.0, 0.0), (-50, 12), (0, 22), (50, 12), (66, 0), (46, 40), (0, 48), (-46, 40)]
        brush.fill_polygon(front, colour, edge)
    elif place_name == "tray":
        brush.fill_polygon([(-70, 18), (70, 18), (72, 32), (-72, 32)], colour, edge)
    else:
        brush.fill_polygon([(-66, 12), (66, 12), (58, 46), (-58, 46)], colour, edge)
        for y in (20, 29, 38):
            brush.draw_line([(-60, y), (60, y)], deep, 2)
        for x in range(-48, 49, 16):
            brush.draw_line([(x, 14), (x * 0.9, 44)], deep, 2)


def _draw_thing(sheet: Canvas, thing: str, at: tuple[float, float], size: float) -> None:
    name, kind = thing.split()
    colour = COLOURS[name]
    edge, light = blend_colours(colour, _DARK, 0.55), blend_colours(colour, (255, 255, 255), 0.4)
    brush = Brush(sheet, at, size)
    brush.fill_ellipse(0.12, 0.82, 0.95, (120, 104, 88), None, 0.22)
    match kind:
        case "cube":
            brush.fill_box(-0.85, -0.55, 0.6, 0.9, colour, edge)
            brush.fill_polygon(
                [(-0.85, -0.55), (-0.5, -0.9), (0.95, -0.9), (0.6, -0.55)], light, edge
            )
            brush.fill_polygon([(0.6, -0.55), (0.95, -0.9), (0.95, 0.55), (0.6, 0.9)],
                        blend_colours(colour, _DARK, 0.25), edge)  # fmt: skip
        case "ball":
            brush.fill_ellipse(0, 0, 0.92, colour, edge)
            brush.fill_ellipse(-0.3, -0.35, 0.24, light)
        case "can":
            brush.fill_box(-0.62, -0.75, 0.62, 0.8, colour)
            brush.fill_ellipse(0, 0.8, 0.62, colour, None, 0.2)
            brush.fill_box(-0.62, -0.2, 0.62, 0.25, (245, 245, 245))
            brush.fill_ellipse(0, -0.75, 0.62, (205, 208, 212), (110, 112, 116), 0.22)
        case "ring":
            brush.fill_ellipse(0, 0.1, 1.0, colour, edge, 0.72)
            brush.fill_ellipse(0, 0.0, 0.46, blend_colours(colour, _DARK, 0.7), edge, 0.3)
        case _:
            brush.fill_polygon(_STAR_POINTS, colour, edge)
