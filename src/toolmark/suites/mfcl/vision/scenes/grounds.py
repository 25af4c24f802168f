"""What is behind and below: sky, walls, floors, in perspective."""

from __future__ import annotations

import random

from PIL import Image, ImageDraw, ImageFilter

from toolmark.draw.canvas import Colour, blend
from toolmark.draw.fonts import FINE
from toolmark.draw.plane import Plane
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.scenes.faces import shaded
from toolmark.suites.mfcl.vision.scenes.stage import Stage

SKIES: tuple[tuple[Colour, Colour], ...] = (
    ((92, 148, 214), (204, 226, 242)), ((120, 164, 210), (236, 234, 222)),
    ((150, 160, 172), (214, 218, 222)), ((84, 122, 184), (250, 214, 178)),
)  # fmt: skip
WALLS: tuple[Colour, ...] = (
    (190, 120, 92), (206, 190, 166), (226, 220, 208), (150, 160, 164), (176, 150, 130),
    (214, 200, 176), (120, 92, 84), (196, 206, 204), (232, 214, 186), (168, 176, 160),
)  # fmt: skip
FLOORS: tuple[Colour, ...] = (
    (150, 148, 144), (176, 168, 156), (120, 122, 128), (164, 132, 98), (196, 190, 180),
    (104, 84, 68), (132, 144, 140),
)  # fmt: skip


def slanted(rng: random.Random, width: float, height: float, most: float = 0.05) -> Plane:
    """Return a wall that fills the picture, seen a little from one side or from below."""
    edge = [rng.uniform(-most, most) * height for _ in range(4)]
    corners = ((0.0, edge[0]), (width, edge[1]), (width, height + edge[2]), (0.0, height + edge[3]))
    return Plane((width, height), corners)


def sky(stage: Stage, low: float) -> None:
    """Fill the upper part down to `low` with a sky and some clouds."""
    rng = stage.rng
    upper, lower = rng.choice(SKIES)
    small = (stage.width // 8, max(8, round(low) // 8))
    image = Image.new("RGB", small)
    pen = ImageDraw.Draw(image)
    for row in range(small[1]):
        pen.line((0, row, small[0], row), blend(upper, lower, row / small[1]))
    clouds = Image.new("L", small, 0)
    pen = ImageDraw.Draw(clouds)
    for _ in range(rng.randint(0, 9)):
        x, y, size = rng.uniform(0, small[0]), rng.uniform(0, small[1]), rng.uniform(8, 26)
        pen.ellipse((x - size, y - size / 4, x + size, y + size / 4), rng.randint(90, 200))
    image.paste((252, 252, 250), mask=clouds.filter(ImageFilter.GaussianBlur(3)))
    stage.image.paste(image.resize((stage.width * FINE, round(low * FINE))))


def floor(stage: Stage, top: float, colour: Colour | None = None) -> None:
    """Fill the lower part from `top` with a floor that runs away from the eye."""
    rng = stage.rng
    colour = colour or rng.choice(FLOORS)
    stage.slope((0, top, stage.width, stage.height), shaded(colour, 0.12), shaded(colour, -0.1))
    line = shaded(colour, rng.choice((0.16, -0.16)))
    if rng.random() < 0.25:
        return
    middle, depth = stage.width * rng.uniform(0.3, 0.7), stage.height - top
    step = rng.uniform(0.08, 0.2) * stage.width
    for k in range(-24, 25):
        foot = middle + k * step * 2.6
        stage.line([(middle + k * step, top), (foot, stage.height)], line, 1.2)
    y, gap = float(top), depth * 0.05
    while y < stage.height:
        stage.line([(0, y), (stage.width, y)], line, 1.2)
        y, gap = y + gap, gap * 1.34


def wall(stage: Stage, plane: Plane, box: Box, colour: Colour, kind: str = "") -> None:
    """Fill a rectangle of a plane with a wall: plaster, bricks, boards, panels or tiles."""
    rng = stage.rng
    left, top, right, low = box
    stage.poly(plane.quad(left, top, right, low), colour)
    match kind or rng.choice(("plaster", "bricks", "boards", "panels", "tiles")):
        case "bricks":
            _courses(stage, plane, box, colour, (stage.height / 22, stage.height / 44))
        case "tiles":
            _courses(stage, plane, box, colour, (stage.height / 15, stage.height / 15))
        case "boards":
            x = left
            while x < right:
                wide = rng.uniform(0.05, 0.09) * stage.height
                tone = shaded(colour, rng.uniform(-0.06, 0.06))
                stage.poly(plane.quad(x, top, min(x + wide, right), low), tone)
                edge = min(x + wide, right)
                stage.line([plane.at(edge, top), plane.at(edge, low)], shaded(colour, 0.22), 1.2)
                x += wide
        case "panels":
            n = max(1, round((right - left) / (stage.height * rng.uniform(0.2, 0.4))))
            for k in range(1, n):
                x = left + (right - left) * k / n
                stage.line([plane.at(x, top), plane.at(x, low)], shaded(colour, 0.14), 2)
        case _:
            _stains(stage, plane, box, colour)


def _courses(
    stage: Stage, plane: Plane, box: Box, colour: Colour, size: tuple[float, float]
) -> None:
    """Draw rows of bricks or tiles with their joints, some of another tone."""
    rng, (left, top, right, low) = stage.rng, box
    joint = blend(colour, (230, 226, 218), 0.28)
    shift = 0.5 if size[0] != size[1] else 0.0
    rows, columns = int((low - top) / size[1]) + 1, int((right - left) / size[0]) + 2
    for row in range(rows):
        y = top + row * size[1]
        stage.line([plane.at(left, y), plane.at(right, y)], joint, 1.2)
        for column in range(columns):
            x = left + (column - (row % 2) * shift) * size[0]
            edges = (max(x, left), y + 1, min(x + size[0] - 1, right), min(y + size[1], low))
            if edges[2] <= edges[0] or edges[3] <= edges[1]:
                continue
            if rng.random() < 0.4:
                stage.poly(plane.quad(*edges), shaded(colour, rng.uniform(-0.09, 0.09)))
            if edges[0] > left:
                stage.line([plane.at(edges[0], y), plane.at(edges[0], edges[3])], joint, 1.2)


def _stains(stage: Stage, plane: Plane, box: Box, colour: Colour) -> None:
    rng, (left, top, right, low) = stage.rng, box
    for _ in range(rng.randint(0, 3)):
        x, wide = rng.uniform(left, right), rng.uniform(0.02, 0.1) * stage.width
        spot = (max(left, x - wide), top, min(right, x + wide), top + (low - top) * rng.random())
        stage.shade(plane.quad(*spot), 0.07, blur=40, white=sum(colour) < 300)


def grass(stage: Stage, top: float, *, mown: bool = False) -> None:
    """Fill the lower part from `top` with grass; `mown` in stripes, as on a pitch."""
    rng = stage.rng
    green = rng.choice(((76, 136, 66), (92, 146, 72), (64, 122, 70)))
    stage.slope((0, top, stage.width, stage.height), shaded(green, 0.12), shaded(green, -0.08))
    if mown:
        y, deep, k = top, (stage.height - top) * 0.08, 0
        while y < stage.height:
            low = min(y + deep, stage.height)
            stage.rect((0, y, stage.width, low), shaded(green, 0.06 if k % 2 else -0.05))
            y, deep, k = low, deep * 1.35, k + 1
        return
    for _ in range(260):
        x, y = rng.uniform(0, stage.width), rng.uniform(top + 4, stage.height)
        tuft = 3 + 8 * (y - top) / (stage.height - top)
        tone = shaded(green, rng.uniform(-0.2, 0.2))
        stage.line([(x, y), (x + rng.uniform(-3, 3), y - tuft)], tone, 1.4)


def crowd(stage: Stage, top: float, low: float) -> None:
    """Fill a band with rows of people in a stand."""
    rng, gap = stage.rng, stage.height * 0.024
    stage.slope((0, top, stage.width, low), (58, 60, 68), (92, 94, 102))
    y = top + gap
    while y < low:
        x = rng.uniform(0, gap)
        while x < stage.width:
            if rng.random() < 0.85:
                size = gap * 0.32
                coat, skin = rng.choice(PEOPLE), rng.choice(FACES)
                stage.rect((x - size * 1.2, y, x + size * 1.2, y + gap * 0.8), coat)
                stage.oval((x - size, y - size * 1.6, x + size, y + size * 0.4), skin)
            x += gap * rng.uniform(0.8, 1.2)
        y += gap
    for k in range(1, rng.randint(4, 8)):
        x = stage.width * k / 7 + rng.uniform(-20, 20)
        stage.line([(x, top), (x - gap, low)], (120, 120, 124), 6)


PEOPLE: tuple[Colour, ...] = (
    (150, 60, 62), (60, 82, 130), (214, 210, 200), (70, 70, 74), (176, 150, 90), (86, 118, 92),
    (120, 92, 130), (40, 42, 50),
)  # fmt: skip
FACES: tuple[Colour, ...] = ((232, 196, 164), (190, 142, 104), (126, 86, 60), (92, 62, 46))
