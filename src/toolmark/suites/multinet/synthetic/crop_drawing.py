"""Crops of pictures of drawn objects: background, other things on it, the object, light, grain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import cos, pi, sin
from random import Random

from PIL import Image, ImageDraw

from toolmark.core import seeds
from toolmark.generation.drawing import emblem, lighting
from toolmark.generation.drawing.canvas import VIVID_COLOURS, WHITE, Canvas, Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING, Font, pillow_font
from toolmark.generation.drawing.perspective import Point
from toolmark.suites.multinet.synthetic.shape_brush import Brush, reduce_sheet

CROP_SIDE = 160
_INK: Colour = (30, 32, 38)
_SKIN: tuple[Colour, ...] = ((240, 204, 172), (206, 156, 118), (142, 96, 68))
_GROUND_COLOURS: Mapping[str, Colour] = {
    "ParkingBays": (112, 114, 118), "FaceMasks": (170, 190, 200), "BloodSmears": (236, 226, 232),
    "SiteHelmets": (176, 168, 150), "TrafficSide": (188, 206, 220), "DiceFaces": (40, 108, 66),
    "PondLife": (38, 110, 140), "WebWidgets": (250, 250, 252), "Charges": (200, 194, 182),
    "ColourCards": (96, 72, 52), "HandLetters": (252, 248, 236), "Badges": (120, 130, 150),
    "LetterTiles": (60, 84, 130), "Pennants": (176, 204, 224),
}  # fmt: skip


def draw_crop(subset: str, kind: str, ground: Random, rng: Random) -> Image.Image:
    """Draw one crop; `ground` is the generator of the source picture, `rng` that of the crop."""
    base = blend_colours(
        _GROUND_COLOURS[subset],
        WHITE if seeds.draw_below(ground, 2) else _INK,
        ground.random() * 0.2,
    )
    scale = 0.55 + ground.random() * 0.6
    tilt = 0 if subset in _UPRIGHT_SUBSETS else ground.random() * 16 - 8
    sheet = Canvas(CROP_SIDE, CROP_SIDE, base)
    for _ in range(3):  # things nearby, cut off by the edge
        side = seeds.draw_below(rng, 4)
        offset = rng.random() * CROP_SIDE
        at = ((offset, -6.0), (CROP_SIDE + 6.0, offset), (offset, CROP_SIDE + 6.0), (-6.0, offset))[
            side
        ]
        Brush(sheet, at, 14 + rng.random() * 10, rng.random() * 90).fill_box(
            -1, -1, 1, 1, blend_colours(base, seeds.draw_one(rng, VIVID_COLOURS), 0.35)
        )
    middle = (CROP_SIDE / 2 + rng.random() * 8 - 4, CROP_SIDE / 2 + rng.random() * 8 - 4)
    brush = Brush(sheet, middle, 56 + rng.random() * 10, tilt)
    _PAINTERS[subset](brush, sheet, kind, rng)
    side = round(CROP_SIDE * scale)
    image = lighting.add_side_light(ground, reduce_sheet(sheet), 170 + seeds.draw_below(ground, 60))
    return lighting.add_camera_grain(rng, image.resize((side, side), Image.Resampling.BILINEAR))


def _draw_text(brush: Brush, sheet: Canvas, text: str, font: Font, ink: Colour) -> None:
    """Write a few letters around the brush's centre, turned as the brush is."""
    typeface = pillow_font(font)
    left, top, right, low = typeface.getbbox(text, stroke_width=font.stroke_width * SUPERSAMPLING)
    mask = Image.new("L", (round(right - left) + 8, round(low - top) + 8))
    pen = ImageDraw.Draw(mask)
    pen.text(
        (4 - left, 4 - top), text, 255, typeface, stroke_width=font.stroke_width * SUPERSAMPLING
    )
    mask = mask.rotate(-brush.turn, Image.Resampling.BICUBIC, expand=True)
    x, y = brush.to_sheet(0, 0)
    spot = (round(x - mask.width / 2), round(y - mask.height / 2))
    sheet.image.paste(Image.new("RGB", mask.size, ink), spot, mask)


def _draw_parking_bay(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    for x in (-0.95, 0.95):
        brush.fill_box(x - 0.05, -1.3, x + 0.05, 1.3, (232, 232, 228))
    if kind == "space-empty":
        if seeds.draw_below(rng, 2):
            brush.fill_ellipse(rng.random() - 0.5, rng.random() - 0.5, 0.3, (92, 92, 94), None, 0.2)
        return
    colour = seeds.draw_one(rng, VIVID_COLOURS)
    brush.fill_polygon(
        [
            (-0.5, -1.15),
            (0.5, -1.15),
            (0.66, -0.8),
            (0.66, 1.0),
            (0.5, 1.15),
            (-0.5, 1.15),
            (-0.66, 1.0),
            (-0.66, -0.8),
        ],
        colour,
        _INK,
    )
    brush.fill_polygon([(-0.5, -0.55), (0.5, -0.55), (0.4, -0.2), (-0.4, -0.2)], (60, 76, 90))
    brush.fill_polygon([(-0.42, 0.6), (0.42, 0.6), (0.5, 0.85), (-0.5, 0.85)], (60, 76, 90))


def _draw_face(brush: Brush, skin: Colour) -> None:
    brush.fill_ellipse(0, 0, 0.78, skin, blend_colours(skin, _INK, 0.5), 0.98)
    for x in (-0.3, 0.3):
        brush.fill_ellipse(x, -0.18, 0.1, WHITE, _INK, 0.07)
        brush.fill_ellipse(x, -0.18, 0.045, _INK)


def _draw_hair(brush: Brush, rng: Random) -> None:
    ink = seeds.draw_one(rng, ((40, 30, 24), (120, 80, 40), (196, 160, 90), (90, 90, 94)))
    arc = [(0.82 * cos(pi * k / 12), -0.3 - 0.78 * sin(pi * k / 12)) for k in range(13)]
    brush.fill_polygon([*arc, (-0.66, -0.46), (0.0, -0.62), (0.66, -0.46)], ink)


def _draw_masked_face(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    skin = seeds.draw_one(rng, _SKIN)
    _draw_face(brush, skin)
    _draw_hair(brush, rng)
    if kind == "no-mask":
        brush.draw_line([(-0.24, 0.5), (0, 0.58), (0.24, 0.5)], (170, 60, 60), 0.07)
        brush.draw_line(
            [(0, 0.02), (-0.08, 0.24), (0.04, 0.26)], blend_colours(skin, _INK, 0.4), 0.04
        )
        return
    cloth = seeds.draw_one(rng, ((150, 200, 230), (245, 245, 245), (60, 64, 72), (120, 190, 160)))
    for x in (-1, 1):
        brush.draw_line([(x * 0.5, 0.2), (x * 0.78, -0.06)], blend_colours(cloth, _INK, 0.3), 0.05)
    brush.fill_polygon(
        [(-0.56, 0.12), (0, 0.0), (0.56, 0.12), (0.48, 0.66), (0, 0.88), (-0.48, 0.66)],
        cloth,
        blend_colours(cloth, _INK, 0.4),
    )
    for y in (0.3, 0.46):
        brush.draw_line([(-0.44, y), (0.44, y)], blend_colours(cloth, _INK, 0.25), 0.03)


def _draw_head_or_person(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    skin, colour = seeds.draw_one(rng, _SKIN), seeds.draw_one(rng, VIVID_COLOURS)
    if kind == "whole person":
        brush.fill_ellipse(0, -0.85, 0.22, skin, _INK)
        brush.fill_box(-0.36, -0.62, 0.36, 0.25, colour, _INK)
        for x in (-1, 1):
            brush.draw_line([(x * 0.44, -0.55), (x * 0.56, 0.15)], colour, 0.16)
            brush.draw_line([(x * 0.18, 0.28), (x * 0.22, 1.1)], (50, 60, 90), 0.24)
        return
    _draw_face(brush, skin)
    brush.draw_line([(-0.22, 0.5), (0.22, 0.5)], (150, 70, 66), 0.06)
    if kind == "head":
        _draw_hair(brush, rng)
        return
    hat = seeds.draw_one(rng, ((246, 200, 40), (240, 240, 236), (226, 110, 30), (50, 110, 190)))
    arc = [(0.86 * cos(pi * k / 12), -0.34 - 0.8 * sin(pi * k / 12)) for k in range(13)]
    brush.fill_polygon(arc, hat, blend_colours(hat, _INK, 0.5))
    brush.fill_box(
        -1.0, -0.42, 1.0, -0.3, blend_colours(hat, _INK, 0.15), blend_colours(hat, _INK, 0.5)
    )


def _draw_blood_cell(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    if kind == "red cell":
        brush.fill_ellipse(0, 0, 0.8, (222, 110, 110), (190, 80, 84))
        brush.fill_ellipse(0, 0, 0.34, (240, 168, 166))
    elif kind == "platelet":
        for _ in range(5):
            brush.fill_ellipse(
                rng.random() * 0.3 - 0.15, rng.random() * 0.3 - 0.15, 0.16, (150, 96, 170)
            )
    else:
        brush.fill_ellipse(0, 0, 1.0, (206, 196, 228), (160, 150, 190))
        for k in range(3):
            brush.fill_ellipse(0.38 * cos(2.1 * k), 0.38 * sin(2.1 * k), 0.44, (104, 62, 150))


def _draw_wheels(brush: Brush, size_by_x: Mapping[float, float], low: float) -> None:
    for x, size in size_by_x.items():
        brush.fill_ellipse(x, low - size, size, (28, 28, 30))
        brush.fill_ellipse(x, low - size, size * 0.45, (180, 182, 186))


def _draw_vehicle(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    colour, glass = seeds.draw_one(rng, VIVID_COLOURS), (190, 220, 236)
    brush.fill_box(-2, 0.72, 2, 2, (120, 120, 122))
    if kind == "bicycle":
        for x in (-0.6, 0.6):
            brush.fill_ellipse(x, 0.35, 0.48, _INK)
            brush.fill_ellipse(x, 0.35, 0.4, (188, 206, 220))
        frame = [(-0.6, 0.35), (-0.2, -0.3), (0.4, -0.3), (0.05, 0.35), (-0.6, 0.35)]
        brush.draw_line(frame, colour, 0.08)
        brush.draw_line([(0.05, 0.35), (-0.25, -0.48)], colour, 0.08)
        brush.draw_line([(0.6, 0.35), (0.36, -0.5), (0.6, -0.56)], colour, 0.08)
        brush.draw_line([(-0.42, -0.5), (-0.1, -0.5)], _INK, 0.1)
        return
    if kind == "car":
        brush.fill_polygon([(-0.55, 0.05), (-0.32, -0.36), (0.3, -0.36), (0.6, 0.05)], colour, _INK)
        brush.fill_polygon([(-0.42, 0.02), (-0.26, -0.26), (0.24, -0.26), (0.44, 0.02)], glass)
        brush.fill_box(-1, 0.02, 1, 0.5, colour, _INK)
        _draw_wheels(brush, {-0.58: 0.24, 0.58: 0.24}, 0.72)
    elif kind == "bus":
        brush.fill_box(-1.05, -0.62, 1.05, 0.5, colour, _INK)
        for k in range(5):
            brush.fill_box(-0.95 + 0.39 * k, -0.48, -0.65 + 0.39 * k, -0.05, glass, _INK)
        _draw_wheels(brush, {-0.62: 0.22, 0.62: 0.22}, 0.72)
    elif kind == "truck":
        brush.fill_box(-1.05, -0.7, 0.4, 0.46, (232, 232, 228), _INK)
        brush.fill_box(0.46, -0.3, 1.05, 0.46, colour, _INK)
        brush.fill_box(0.66, -0.2, 1.0, 0.08, glass, _INK)
        _draw_wheels(brush, {-0.7: 0.22, -0.22: 0.22, 0.74: 0.22}, 0.72)
    else:
        brush.fill_box(-0.1, -0.14, 0.95, 0.3, colour, _INK)
        brush.fill_box(-0.55, -0.7, 0.05, 0.2, colour, _INK)
        brush.fill_box(-0.44, -0.6, -0.04, -0.16, glass)
        brush.fill_box(0.62, -0.5, 0.7, -0.14, _INK)
        _draw_wheels(brush, {-0.42: 0.5, 0.72: 0.28}, 0.72)


def _draw_die(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    n = ("one", "two", "three", "four", "five", "six").index(kind) + 1
    face, pip = seeds.draw_one(rng, ((WHITE, _INK), ((196, 40, 44), WHITE), ((30, 34, 90), WHITE)))
    brush.fill_box(-0.9, -0.9, 0.9, 0.9, face, blend_colours(face, _INK, 0.5))
    spots = {1: "e", 2: "ai", 3: "aei", 4: "acgi", 5: "acegi", 6: "acdfgi"}[n]
    swap_axes = seeds.draw_below(rng, 2)
    for spot in spots:
        row, column = divmod("abcdefghi".index(spot), 3)
        x, y = (column - 1) * 0.5, (row - 1) * 0.5
        brush.fill_ellipse(*((y, x) if swap_axes else (x, y)), 0.15, pip)


def _draw_pond_animal(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    colour = seeds.draw_one(rng, ((236, 140, 60), (226, 200, 90), (190, 110, 150), (130, 190, 120)))
    edge = blend_colours(colour, _INK, 0.5)
    _POND_PAINTERS[kind](brush, colour, edge)


def _draw_crab(brush: Brush, colour: Colour, edge: Colour) -> None:
    for side in (-1, 1):
        for k in range(3):
            brush.draw_line([(side * 0.4, 0.1 * k), (side * 0.82, 0.16 + 0.24 * k)], edge, 0.08)
        brush.draw_line([(side * 0.4, -0.1), (side * 0.78, -0.4)], edge, 0.12)
        brush.fill_ellipse(side * 0.8, -0.58, 0.24, colour, edge)
        brush.fill_polygon([(side * 0.8, -0.56), (side * 0.68, -0.9), (side * 0.94, -0.86)], edge)
    brush.fill_ellipse(0, 0.08, 0.58, colour, edge, 0.42)
    for x in (-0.18, 0.18):
        brush.fill_ellipse(x, -0.34, 0.09, WHITE, _INK)


def _draw_eel(brush: Brush, colour: Colour, edge: Colour) -> None:
    path = [(k / 10, 0.35 * sin(k * 0.45)) for k in range(-10, 11)]
    brush.draw_line(path, edge, 0.3)
    brush.draw_line(path, colour, 0.22)
    brush.fill_ellipse(0.98, 0.35 * sin(4.5) - 0.02, 0.05, _INK)


def _draw_fish(brush: Brush, colour: Colour, edge: Colour) -> None:
    brush.fill_polygon([(-0.4, 0), (-1.0, -0.46), (-0.86, 0), (-1.0, 0.46)], colour, edge)
    brush.fill_ellipse(0.12, 0, 0.78, colour, edge, 0.44)
    brush.fill_polygon([(0, -0.38), (0.3, -0.72), (0.45, -0.36)], colour, edge)
    brush.fill_ellipse(0.58, -0.1, 0.08, WHITE, _INK)


def _draw_jellyfish(brush: Brush, colour: Colour, edge: Colour) -> None:
    for k in range(5):
        x = -0.48 + 0.24 * k
        brush.draw_line([(x, 0), (x + 0.1, 0.35), (x - 0.08, 0.7), (x + 0.06, 1.0)], colour, 0.07)
    arc = [(0.75 * cos(pi * k / 12), 0.05 - 0.85 * sin(pi * k / 12)) for k in range(13)]
    brush.fill_polygon(arc, colour, edge)


def _draw_shell(brush: Brush, colour: Colour, edge: Colour) -> None:
    arc = [(0.9 * cos(pi * k / 12), 0.2 - 0.9 * sin(pi * k / 12)) for k in range(13)]
    brush.fill_polygon([*arc, (-0.2, 0.8), (0.2, 0.8)], colour, edge)
    for x, y in arc[1:-1:2]:
        brush.draw_line([(0, 0.72), (x * 0.94, y * 0.94)], edge, 0.04)


def _draw_starfish(brush: Brush, colour: Colour, edge: Colour) -> None:
    points = [
        ((1.0 if k % 2 == 0 else 0.42) * sin(pi * k / 5),
         -(1.0 if k % 2 == 0 else 0.42) * cos(pi * k / 5)) for k in range(10)
    ]  # fmt: skip
    brush.fill_polygon(points, colour, edge)
    for x, y in points[::2]:
        brush.fill_ellipse(x * 0.5, y * 0.5, 0.06, edge)


def _draw_turtle(brush: Brush, colour: Colour, edge: Colour) -> None:
    for x in (-0.5, 0.5):
        for y in (-0.55, 0.55):
            brush.fill_ellipse(x, y, 0.24, colour, edge, 0.18)
    brush.fill_ellipse(0.86, 0, 0.22, colour, edge)
    brush.fill_ellipse(0, 0, 0.7, (92, 110, 60), _INK, 0.58)
    for x in (-0.36, 0, 0.36):
        brush.fill_ellipse(x, 0, 0.15, (126, 146, 84), _INK)


_POND_PAINTERS = {
    "crab": _draw_crab,
    "eel": _draw_eel,
    "fish": _draw_fish,
    "jellyfish": _draw_jellyfish,
    "shell": _draw_shell,
    "starfish": _draw_starfish,
    "turtle": _draw_turtle,
}


def _draw_widget(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    colour, grey = seeds.draw_one(rng, VIVID_COLOURS), (150, 154, 162)
    plain = Font("plain", 20, True)
    if kind == "button":
        brush.fill_box(-1, -0.36, 1, 0.36, colour)
        _draw_text(brush, sheet, seeds.draw_one(rng, ("Send", "Buy", "Save", "Next")), plain, WHITE)
    elif kind == "checkbox":
        brush.fill_box(-0.4, -0.4, 0.4, 0.4, WHITE, _INK)
        if seeds.draw_below(rng, 2):
            brush.draw_line([(-0.24, 0.0), (-0.06, 0.22), (0.28, -0.24)], colour, 0.12)
    elif kind == "field":
        brush.fill_box(-1.05, -0.34, 1.05, 0.34, WHITE, grey)
        brush.draw_line([(-0.9, -0.2), (-0.9, 0.2)], _INK, 0.03)
        brush.draw_line([(-0.8, 0), (0.1, 0)], (206, 208, 214), 0.1)
    elif kind == "heading":
        word = seeds.draw_one(rng, ("About", "News", "Team", "Shop"))
        _draw_text(brush, sheet, word, Font("plain", 44, True), _INK)
    elif kind == "image":
        brush.fill_box(-1, -0.75, 1, 0.75, (176, 214, 240), grey)
        brush.fill_ellipse(0.5, -0.35, 0.18, (250, 214, 90))
        brush.fill_polygon(
            [(-1, 0.75), (-0.35, -0.2), (0.1, 0.4), (0.4, 0.1), (1, 0.75)], (90, 140, 90)
        )
    elif kind == "link":
        word = seeds.draw_one(rng, ("more", "here", "terms", "help"))
        _draw_text(brush, sheet, word, Font("plain", 22), (20, 80, 200))
        brush.draw_line([(-0.42, 0.26), (0.42, 0.26)], (20, 80, 200), 0.03)
    elif kind == "slider":
        brush.draw_line([(-1, 0), (1, 0)], (206, 208, 214), 0.12)
        at = rng.random() * 1.4 - 0.7
        brush.draw_line([(-1, 0), (at, 0)], colour, 0.12)
        brush.fill_ellipse(at, 0, 0.2, WHITE, grey)
    else:
        for row in range(5):
            y = -0.6 + row * 0.3
            brush.draw_line(
                [(-1, y), (0.6 + rng.random() * 0.4 if row < 4 else 0, y)], (90, 92, 98), 0.09
            )


def _draw_charge(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    field, ink = seeds.draw_one(rng, (("blue", "white"), ("red", "white"), ("white", "black"),
                                    ("green", "yellow")))  # fmt: skip
    shape = seeds.draw_one(rng, ("circle", "square", "shield"))
    emblem.draw_emblem(sheet, emblem.Emblem(kind, ink, shape, field), brush.home, brush.size * 1.08)


def _draw_badge(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    ink, charge = kind.split()
    field = "black" if ink == "yellow" else "white"
    emblem.draw_emblem(
        sheet, emblem.Emblem(charge, ink, "circle", field), brush.home, brush.size * 1.08
    )


def _draw_card(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    colour = seeds.draw_one(rng, ((206, 40, 44), (34, 92, 190), (26, 130, 70), (214, 160, 20)))
    back = _INK if kind in ("wild", "draw four") else colour
    brush.fill_box(-0.72, -1.1, 0.72, 1.1, WHITE, (150, 150, 150))
    brush.fill_box(-0.62, -1.0, 0.62, 1.0, back)
    if kind.isdigit():
        _draw_text(brush, sheet, kind, Font("mono", 62, True), WHITE)
    elif kind in ("draw two", "draw four"):
        text = "+2" if kind == "draw two" else "+4"
        _draw_text(brush, sheet, text, Font("mono", 46, True), WHITE)
    elif kind == "skip":
        brush.fill_ellipse(0, 0, 0.46, WHITE)
        brush.fill_ellipse(0, 0, 0.33, back)
        brush.draw_line([(-0.28, 0.28), (0.28, -0.28)], WHITE, 0.13)
    elif kind == "reverse":
        for sign in (-1, 1):
            x = sign * 0.2
            brush.draw_line([(x, sign * 0.5), (x, -sign * 0.2)], WHITE, 0.12)
            tip = [(x - 0.2, -sign * 0.15), (x + 0.2, -sign * 0.15), (x, -sign * 0.52)]
            brush.fill_polygon(tip, WHITE)
    else:
        quarters = ((206, 40, 44), (34, 92, 190), (26, 130, 70), (240, 190, 40))
        for k, shade in enumerate(quarters):
            arc = [(0.48 * cos(pi * (k / 2 + j / 12)), 0.6 * sin(pi * (k / 2 + j / 12)))
                   for j in range(7)]  # fmt: skip
            brush.fill_polygon([(0, 0), *arc], shade)


def _draw_hand_letter(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    ink = seeds.draw_one(rng, ((24, 40, 110), _INK, (120, 30, 40)))
    _draw_text(brush, sheet, kind, Font("hand", 112), ink)


def _draw_letter_tile(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    brush.fill_box(-0.92, -0.92, 0.92, 0.92, (240, 226, 196), (150, 130, 96))
    _draw_text(brush, sheet, kind, Font("mono", 74, True), _INK)


_OUTLINES: Mapping[str, list[Point]] = {
    "shield": [(-0.8, -0.95), (0.8, -0.95), (0.8, 0.05), (0.56, 0.6), (0, 1), (-0.56, 0.6),
               (-0.8, 0.05)],
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "diamond": [(0, -1), (1, 0), (0, 1), (-1, 0)],
    "hexagon": [(cos(pi * k / 3), sin(pi * k / 3)) for k in range(6)],
    "triangle": [(0, -0.98), (1.05, 0.88), (-1.05, 0.88)],
}  # fmt: skip


def _draw_pennant(brush: Brush, sheet: Canvas, kind: str, rng: Random) -> None:
    colour, shape = kind.split()
    field = emblem.COLOURS[colour]
    edge = blend_colours(field, WHITE if colour == "black" else _INK, 0.5)
    if shape == "circle":
        brush.fill_ellipse(0, 0, 0.95, field, edge)
    else:
        brush.fill_polygon(_OUTLINES[shape], field, edge, 2.5)


CropPainter = Callable[[Brush, Canvas, str, Random], None]
_PAINTERS: Mapping[str, CropPainter] = {
    "ParkingBays": _draw_parking_bay,
    "FaceMasks": _draw_masked_face,
    "BloodSmears": _draw_blood_cell,
    "SiteHelmets": _draw_head_or_person,
    "TrafficSide": _draw_vehicle,
    "DiceFaces": _draw_die,
    "PondLife": _draw_pond_animal,
    "WebWidgets": _draw_widget,
    "Charges": _draw_charge,
    "Badges": _draw_badge,
    "ColourCards": _draw_card,
    "HandLetters": _draw_hand_letter,
    "LetterTiles": _draw_letter_tile,
    "Pennants": _draw_pennant,
}
_UPRIGHT_SUBSETS = ("TrafficSide", "WebWidgets", "Pennants", "Charges", "Badges")
