"""Crops of pictures of drawn objects: a ground, what else lies on it, the object, light, grain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import cos, pi, sin
from random import Random

from PIL import Image, ImageDraw

from toolmark import seeds
from toolmark.draw import emblem, light
from toolmark.draw.canvas import VIVID, WHITE, Colour, Sheet, blend
from toolmark.draw.fonts import FINE, Font, cut
from toolmark.draw.plane import Point
from toolmark.suites.multinet.synthetic.brush import Brush, finished

SIDE = 160
_INK: Colour = (30, 32, 38)
_SKIN: tuple[Colour, ...] = ((240, 204, 172), (206, 156, 118), (142, 96, 68))
_GROUNDS: Mapping[str, Colour] = {
    "ParkingBays": (112, 114, 118), "FaceMasks": (170, 190, 200), "BloodSmears": (236, 226, 232),
    "SiteHelmets": (176, 168, 150), "TrafficSide": (188, 206, 220), "DiceFaces": (40, 108, 66),
    "PondLife": (38, 110, 140), "WebWidgets": (250, 250, 252), "Charges": (200, 194, 182),
    "ColourCards": (96, 72, 52), "HandLetters": (252, 248, 236), "Badges": (120, 130, 150),
    "LetterTiles": (60, 84, 130), "Pennants": (176, 204, 224),
}  # fmt: skip


def drawn(subset: str, kind: str, ground: Random, rng: Random) -> Image.Image:
    """Draw one crop: `ground` is of the picture that it was cut from, `rng` of the crop."""
    base = blend(_GROUNDS[subset], WHITE if seeds.below(ground, 2) else _INK, ground.random() * 0.2)
    far, tilt = 0.55 + ground.random() * 0.6, 0 if subset in _UPRIGHT else ground.random() * 16 - 8
    sheet = Sheet(SIDE, SIDE, base)
    for _ in range(3):  # what is nearby, cut off by the edge
        side = seeds.below(rng, 4)
        along = rng.random() * SIDE
        at = ((along, -6.0), (SIDE + 6.0, along), (along, SIDE + 6.0), (-6.0, along))[side]
        Brush(sheet, at, 14 + rng.random() * 10, rng.random() * 90).box(
            -1, -1, 1, 1, blend(base, seeds.choice(rng, VIVID), 0.35)
        )
    middle = (SIDE / 2 + rng.random() * 8 - 4, SIDE / 2 + rng.random() * 8 - 4)
    brush = Brush(sheet, middle, 56 + rng.random() * 10, tilt)
    _DRAW[subset](brush, sheet, kind, rng)
    side = round(SIDE * far)
    image = light.lit(ground, finished(sheet), 170 + seeds.below(ground, 60))
    return light.grainy(rng, image.resize((side, side), Image.Resampling.BILINEAR))


def _letter(brush: Brush, sheet: Sheet, text: str, font: Font, ink: Colour) -> None:
    """Write a few letters, turned as the brush is, around its middle."""
    face = cut(font)
    left, top, right, low = face.getbbox(text, stroke_width=font.stroke * FINE)
    mask = Image.new("L", (round(right - left) + 8, round(low - top) + 8))
    pen = ImageDraw.Draw(mask)
    pen.text((4 - left, 4 - top), text, 255, face, stroke_width=font.stroke * FINE)
    mask = mask.rotate(-brush.turn, Image.Resampling.BICUBIC, expand=True)
    x, y = brush.at(0, 0)
    spot = (round(x - mask.width / 2), round(y - mask.height / 2))
    sheet.image.paste(Image.new("RGB", mask.size, ink), spot, mask)


def _parking(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    for x in (-0.95, 0.95):
        brush.box(x - 0.05, -1.3, x + 0.05, 1.3, (232, 232, 228))
    if kind == "space-empty":
        if seeds.below(rng, 2):
            brush.disc(rng.random() - 0.5, rng.random() - 0.5, 0.3, (92, 92, 94), None, 0.2)
        return
    colour = seeds.choice(rng, VIVID)
    brush.shape([(-0.5, -1.15), (0.5, -1.15), (0.66, -0.8), (0.66, 1.0), (0.5, 1.15), (-0.5, 1.15),
                 (-0.66, 1.0), (-0.66, -0.8)], colour, _INK)  # fmt: skip
    brush.shape([(-0.5, -0.55), (0.5, -0.55), (0.4, -0.2), (-0.4, -0.2)], (60, 76, 90))
    brush.shape([(-0.42, 0.6), (0.42, 0.6), (0.5, 0.85), (-0.5, 0.85)], (60, 76, 90))


def _face(brush: Brush, skin: Colour) -> None:
    brush.disc(0, 0, 0.78, skin, blend(skin, _INK, 0.5), 0.98)
    for x in (-0.3, 0.3):
        brush.disc(x, -0.18, 0.1, WHITE, _INK, 0.07)
        brush.disc(x, -0.18, 0.045, _INK)


def _hair(brush: Brush, rng: Random) -> None:
    ink = seeds.choice(rng, ((40, 30, 24), (120, 80, 40), (196, 160, 90), (90, 90, 94)))
    arc = [(0.82 * cos(pi * k / 12), -0.3 - 0.78 * sin(pi * k / 12)) for k in range(13)]
    brush.shape([*arc, (-0.66, -0.46), (0.0, -0.62), (0.66, -0.46)], ink)


def _masked(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    skin = seeds.choice(rng, _SKIN)
    _face(brush, skin)
    _hair(brush, rng)
    if kind == "no-mask":
        brush.line([(-0.24, 0.5), (0, 0.58), (0.24, 0.5)], (170, 60, 60), 0.07)
        brush.line([(0, 0.02), (-0.08, 0.24), (0.04, 0.26)], blend(skin, _INK, 0.4), 0.04)
        return
    cloth = seeds.choice(rng, ((150, 200, 230), (245, 245, 245), (60, 64, 72), (120, 190, 160)))
    for x in (-1, 1):
        brush.line([(x * 0.5, 0.2), (x * 0.78, -0.06)], blend(cloth, _INK, 0.3), 0.05)
    brush.shape([(-0.56, 0.12), (0, 0.0), (0.56, 0.12), (0.48, 0.66), (0, 0.88), (-0.48, 0.66)],
                cloth, blend(cloth, _INK, 0.4))  # fmt: skip
    for y in (0.3, 0.46):
        brush.line([(-0.44, y), (0.44, y)], blend(cloth, _INK, 0.25), 0.03)


def _helmet(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    skin, colour = seeds.choice(rng, _SKIN), seeds.choice(rng, VIVID)
    if kind == "whole person":
        brush.disc(0, -0.85, 0.22, skin, _INK)
        brush.box(-0.36, -0.62, 0.36, 0.25, colour, _INK)
        for x in (-1, 1):
            brush.line([(x * 0.44, -0.55), (x * 0.56, 0.15)], colour, 0.16)
            brush.line([(x * 0.18, 0.28), (x * 0.22, 1.1)], (50, 60, 90), 0.24)
        return
    _face(brush, skin)
    brush.line([(-0.22, 0.5), (0.22, 0.5)], (150, 70, 66), 0.06)
    if kind == "head":
        _hair(brush, rng)
        return
    hat = seeds.choice(rng, ((246, 200, 40), (240, 240, 236), (226, 110, 30), (50, 110, 190)))
    arc = [(0.86 * cos(pi * k / 12), -0.34 - 0.8 * sin(pi * k / 12)) for k in range(13)]
    brush.shape(arc, hat, blend(hat, _INK, 0.5))
    brush.box(-1.0, -0.42, 1.0, -0.3, blend(hat, _INK, 0.15), blend(hat, _INK, 0.5))


def _cell(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    if kind == "red cell":
        brush.disc(0, 0, 0.8, (222, 110, 110), (190, 80, 84))
        brush.disc(0, 0, 0.34, (240, 168, 166))
    elif kind == "platelet":
        for _ in range(5):
            brush.disc(rng.random() * 0.3 - 0.15, rng.random() * 0.3 - 0.15, 0.16, (150, 96, 170))
    else:
        brush.disc(0, 0, 1.0, (206, 196, 228), (160, 150, 190))
        for k in range(3):
            brush.disc(0.38 * cos(2.1 * k), 0.38 * sin(2.1 * k), 0.44, (104, 62, 150))


def _wheels(brush: Brush, places: Mapping[float, float], low: float) -> None:
    for x, size in places.items():
        brush.disc(x, low - size, size, (28, 28, 30))
        brush.disc(x, low - size, size * 0.45, (180, 182, 186))


def _vehicle(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    colour, glass = seeds.choice(rng, VIVID), (190, 220, 236)
    brush.box(-2, 0.72, 2, 2, (120, 120, 122))
    if kind == "bicycle":
        for x in (-0.6, 0.6):
            brush.disc(x, 0.35, 0.48, _INK)
            brush.disc(x, 0.35, 0.4, (188, 206, 220))
        frame = [(-0.6, 0.35), (-0.2, -0.3), (0.4, -0.3), (0.05, 0.35), (-0.6, 0.35)]
        brush.line(frame, colour, 0.08)
        brush.line([(0.05, 0.35), (-0.25, -0.48)], colour, 0.08)
        brush.line([(0.6, 0.35), (0.36, -0.5), (0.6, -0.56)], colour, 0.08)
        brush.line([(-0.42, -0.5), (-0.1, -0.5)], _INK, 0.1)
        return
    if kind == "car":
        brush.shape([(-0.55, 0.05), (-0.32, -0.36), (0.3, -0.36), (0.6, 0.05)], colour, _INK)
        brush.shape([(-0.42, 0.02), (-0.26, -0.26), (0.24, -0.26), (0.44, 0.02)], glass)
        brush.box(-1, 0.02, 1, 0.5, colour, _INK)
        _wheels(brush, {-0.58: 0.24, 0.58: 0.24}, 0.72)
    elif kind == "bus":
        brush.box(-1.05, -0.62, 1.05, 0.5, colour, _INK)
        for k in range(5):
            brush.box(-0.95 + 0.39 * k, -0.48, -0.65 + 0.39 * k, -0.05, glass, _INK)
        _wheels(brush, {-0.62: 0.22, 0.62: 0.22}, 0.72)
    elif kind == "truck":
        brush.box(-1.05, -0.7, 0.4, 0.46, (232, 232, 228), _INK)
        brush.box(0.46, -0.3, 1.05, 0.46, colour, _INK)
        brush.box(0.66, -0.2, 1.0, 0.08, glass, _INK)
        _wheels(brush, {-0.7: 0.22, -0.22: 0.22, 0.74: 0.22}, 0.72)
    else:
        brush.box(-0.1, -0.14, 0.95, 0.3, colour, _INK)
        brush.box(-0.55, -0.7, 0.05, 0.2, colour, _INK)
        brush.box(-0.44, -0.6, -0.04, -0.16, glass)
        brush.box(0.62, -0.5, 0.7, -0.14, _INK)
        _wheels(brush, {-0.42: 0.5, 0.72: 0.28}, 0.72)


def _die(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    n = ("one", "two", "three", "four", "five", "six").index(kind) + 1
    face, pip = seeds.choice(rng, ((WHITE, _INK), ((196, 40, 44), WHITE), ((30, 34, 90), WHITE)))
    brush.box(-0.9, -0.9, 0.9, 0.9, face, blend(face, _INK, 0.5))
    spots = {1: "e", 2: "ai", 3: "aei", 4: "acgi", 5: "acegi", 6: "acdfgi"}[n]
    turned = seeds.below(rng, 2)
    for spot in spots:
        row, column = divmod("abcdefghi".index(spot), 3)
        x, y = (column - 1) * 0.5, (row - 1) * 0.5
        brush.disc(*((y, x) if turned else (x, y)), 0.15, pip)


def _pond(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    colour = seeds.choice(rng, ((236, 140, 60), (226, 200, 90), (190, 110, 150), (130, 190, 120)))
    edge = blend(colour, _INK, 0.5)
    _POND[kind](brush, colour, edge)


def _crab(brush: Brush, colour: Colour, edge: Colour) -> None:
    for side in (-1, 1):
        for k in range(3):
            brush.line([(side * 0.4, 0.1 * k), (side * 0.82, 0.16 + 0.24 * k)], edge, 0.08)
        brush.line([(side * 0.4, -0.1), (side * 0.78, -0.4)], edge, 0.12)
        brush.disc(side * 0.8, -0.58, 0.24, colour, edge)
        brush.shape([(side * 0.8, -0.56), (side * 0.68, -0.9), (side * 0.94, -0.86)], edge)
    brush.disc(0, 0.08, 0.58, colour, edge, 0.42)
    for x in (-0.18, 0.18):
        brush.disc(x, -0.34, 0.09, WHITE, _INK)


def _eel(brush: Brush, colour: Colour, edge: Colour) -> None:
    path = [(k / 10, 0.35 * sin(k * 0.45)) for k in range(-10, 11)]
    brush.line(path, edge, 0.3)
    brush.line(path, colour, 0.22)
    brush.disc(0.98, 0.35 * sin(4.5) - 0.02, 0.05, _INK)


def _fish(brush: Brush, colour: Colour, edge: Colour) -> None:
    brush.shape([(-0.4, 0), (-1.0, -0.46), (-0.86, 0), (-1.0, 0.46)], colour, edge)
    brush.disc(0.12, 0, 0.78, colour, edge, 0.44)
    brush.shape([(0, -0.38), (0.3, -0.72), (0.45, -0.36)], colour, edge)
    brush.disc(0.58, -0.1, 0.08, WHITE, _INK)


def _jellyfish(brush: Brush, colour: Colour, edge: Colour) -> None:
    for k in range(5):
        x = -0.48 + 0.24 * k
        brush.line([(x, 0), (x + 0.1, 0.35), (x - 0.08, 0.7), (x + 0.06, 1.0)], colour, 0.07)
    arc = [(0.75 * cos(pi * k / 12), 0.05 - 0.85 * sin(pi * k / 12)) for k in range(13)]
    brush.shape(arc, colour, edge)


def _shell(brush: Brush, colour: Colour, edge: Colour) -> None:
    arc = [(0.9 * cos(pi * k / 12), 0.2 - 0.9 * sin(pi * k / 12)) for k in range(13)]
    brush.shape([*arc, (-0.2, 0.8), (0.2, 0.8)], colour, edge)
    for x, y in arc[1:-1:2]:
        brush.line([(0, 0.72), (x * 0.94, y * 0.94)], edge, 0.04)


def _starfish(brush: Brush, colour: Colour, edge: Colour) -> None:
    points = [
        ((1.0 if k % 2 == 0 else 0.42) * sin(pi * k / 5),
         -(1.0 if k % 2 == 0 else 0.42) * cos(pi * k / 5)) for k in range(10)
    ]  # fmt: skip
    brush.shape(points, colour, edge)
    for x, y in points[::2]:
        brush.disc(x * 0.5, y * 0.5, 0.06, edge)


def _turtle(brush: Brush, colour: Colour, edge: Colour) -> None:
    for x in (-0.5, 0.5):
        for y in (-0.55, 0.55):
            brush.disc(x, y, 0.24, colour, edge, 0.18)
    brush.disc(0.86, 0, 0.22, colour, edge)
    brush.disc(0, 0, 0.7, (92, 110, 60), _INK, 0.58)
    for x in (-0.36, 0, 0.36):
        brush.disc(x, 0, 0.15, (126, 146, 84), _INK)


_POND = {"crab": _crab, "eel": _eel, "fish": _fish, "jellyfish": _jellyfish, "shell": _shell,
         "starfish": _starfish, "turtle": _turtle}  # fmt: skip


def _widget(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    colour, grey = seeds.choice(rng, VIVID), (150, 154, 162)
    plain = Font("plain", 20, True)
    if kind == "button":
        brush.box(-1, -0.36, 1, 0.36, colour)
        _letter(brush, sheet, seeds.choice(rng, ("Send", "Buy", "Save", "Next")), plain, WHITE)
    elif kind == "checkbox":
        brush.box(-0.4, -0.4, 0.4, 0.4, WHITE, _INK)
        if seeds.below(rng, 2):
            brush.line([(-0.24, 0.0), (-0.06, 0.22), (0.28, -0.24)], colour, 0.12)
    elif kind == "field":
        brush.box(-1.05, -0.34, 1.05, 0.34, WHITE, grey)
        brush.line([(-0.9, -0.2), (-0.9, 0.2)], _INK, 0.03)
        brush.line([(-0.8, 0), (0.1, 0)], (206, 208, 214), 0.1)
    elif kind == "heading":
        word = seeds.choice(rng, ("About", "News", "Team", "Shop"))
        _letter(brush, sheet, word, Font("plain", 44, True), _INK)
    elif kind == "image":
        brush.box(-1, -0.75, 1, 0.75, (176, 214, 240), grey)
        brush.disc(0.5, -0.35, 0.18, (250, 214, 90))
        brush.shape([(-1, 0.75), (-0.35, -0.2), (0.1, 0.4), (0.4, 0.1), (1, 0.75)], (90, 140, 90))
    elif kind == "link":
        word = seeds.choice(rng, ("more", "here", "terms", "help"))
        _letter(brush, sheet, word, Font("plain", 22), (20, 80, 200))
        brush.line([(-0.42, 0.26), (0.42, 0.26)], (20, 80, 200), 0.03)
    elif kind == "slider":
        brush.line([(-1, 0), (1, 0)], (206, 208, 214), 0.12)
        at = rng.random() * 1.4 - 0.7
        brush.line([(-1, 0), (at, 0)], colour, 0.12)
        brush.disc(at, 0, 0.2, WHITE, grey)
    else:
        for row in range(5):
            y = -0.6 + row * 0.3
            brush.line(
                [(-1, y), (0.6 + rng.random() * 0.4 if row < 4 else 0, y)], (90, 92, 98), 0.09
            )


def _charge(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    field, ink = seeds.choice(rng, (("blue", "white"), ("red", "white"), ("white", "black"),
                                    ("green", "yellow")))  # fmt: skip
    shape = seeds.choice(rng, ("circle", "square", "shield"))
    emblem.draw(sheet, emblem.Emblem(kind, ink, shape, field), brush.home, brush.size * 1.08)


def _badge(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    ink, charge = kind.split()
    field = "black" if ink == "yellow" else "white"
    emblem.draw(sheet, emblem.Emblem(charge, ink, "circle", field), brush.home, brush.size * 1.08)


def _card(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    colour = seeds.choice(rng, ((206, 40, 44), (34, 92, 190), (26, 130, 70), (214, 160, 20)))
    back = _INK if kind in ("wild", "draw four") else colour
    brush.box(-0.72, -1.1, 0.72, 1.1, WHITE, (150, 150, 150))
    brush.box(-0.62, -1.0, 0.62, 1.0, back)
    if kind.isdigit():
        _letter(brush, sheet, kind, Font("mono", 62, True), WHITE)
    elif kind in ("draw two", "draw four"):
        text = "+2" if kind == "draw two" else "+4"
        _letter(brush, sheet, text, Font("mono", 46, True), WHITE)
    elif kind == "skip":
        brush.disc(0, 0, 0.46, WHITE)
        brush.disc(0, 0, 0.33, back)
        brush.line([(-0.28, 0.28), (0.28, -0.28)], WHITE, 0.13)
    elif kind == "reverse":
        for sign in (-1, 1):
            x = sign * 0.2
            brush.line([(x, sign * 0.5), (x, -sign * 0.2)], WHITE, 0.12)
            tip = [(x - 0.2, -sign * 0.15), (x + 0.2, -sign * 0.15), (x, -sign * 0.52)]
            brush.shape(tip, WHITE)
    else:
        quarters = ((206, 40, 44), (34, 92, 190), (26, 130, 70), (240, 190, 40))
        for k, shade in enumerate(quarters):
            arc = [(0.48 * cos(pi * (k / 2 + j / 12)), 0.6 * sin(pi * (k / 2 + j / 12)))
                   for j in range(7)]  # fmt: skip
            brush.shape([(0, 0), *arc], shade)


def _hand(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    ink = seeds.choice(rng, ((24, 40, 110), _INK, (120, 30, 40)))
    _letter(brush, sheet, kind, Font("hand", 112), ink)


def _tile(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    brush.box(-0.92, -0.92, 0.92, 0.92, (240, 226, 196), (150, 130, 96))
    _letter(brush, sheet, kind, Font("mono", 74, True), _INK)


_OUTLINES: Mapping[str, list[Point]] = {
    "shield": [(-0.8, -0.95), (0.8, -0.95), (0.8, 0.05), (0.56, 0.6), (0, 1), (-0.56, 0.6),
               (-0.8, 0.05)],
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "diamond": [(0, -1), (1, 0), (0, 1), (-1, 0)],
    "hexagon": [(cos(pi * k / 3), sin(pi * k / 3)) for k in range(6)],
    "triangle": [(0, -0.98), (1.05, 0.88), (-1.05, 0.88)],
}  # fmt: skip


def _pennant(brush: Brush, sheet: Sheet, kind: str, rng: Random) -> None:
    colour, shape = kind.split()
    field = emblem.COLOURS[colour]
    edge = blend(field, WHITE if colour == "black" else _INK, 0.5)
    if shape == "circle":
        brush.disc(0, 0, 0.95, field, edge)
    else:
        brush.shape(_OUTLINES[shape], field, edge, 2.5)


Draw = Callable[[Brush, Sheet, str, Random], None]
_DRAW: Mapping[str, Draw] = {
    "ParkingBays": _parking, "FaceMasks": _masked, "BloodSmears": _cell, "SiteHelmets": _helmet,
    "TrafficSide": _vehicle, "DiceFaces": _die, "PondLife": _pond, "WebWidgets": _widget,
    "Charges": _charge, "Badges": _badge, "ColourCards": _card, "HandLetters": _hand,
    "LetterTiles": _tile, "Pennants": _pennant,
}  # fmt: skip
_UPRIGHT = ("TrafficSide", "WebWidgets", "Pennants", "Charges", "Badges")
