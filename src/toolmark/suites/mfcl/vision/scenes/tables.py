"""Seen from above: tickets and parcels on a table; and a shop's window from the street."""

from __future__ import annotations

import random
from math import cos, radians, sin

from toolmark.draw.canvas import Colour
from toolmark.draw.plane import Corners, Point
from toolmark.suites.mfcl.vision.scenes import boards, grounds, props, things
from toolmark.suites.mfcl.vision.scenes.cast import Cast, Part, spread
from toolmark.suites.mfcl.vision.scenes.faces import Face, shaded
from toolmark.suites.mfcl.vision.scenes.near import label
from toolmark.suites.mfcl.vision.scenes.stage import SIZES, Stage
from toolmark.suites.mfcl.vision.scenes.walls import extras, hang, made

WOODS: tuple[Colour, ...] = (
    (148, 112, 78), (104, 78, 58), (176, 160, 140), (92, 104, 116), (196, 190, 180), (70, 96, 92),
)  # fmt: skip


def tickets(rng: random.Random, cast: Cast) -> Stage:
    """Draw tickets on a table, seen from above."""
    return _table(rng, cast, things.ticket)


def parcels(rng: random.Random, cast: Cast) -> Stage:
    """Draw packages that lie on a table, seen from above."""
    return _table(rng, cast, things.package)


def _table(rng: random.Random, cast: Cast, make: things.Make) -> Stage:
    stage = Stage(rng, rng.choice(SIZES), rng.choice(WOODS))
    wide, high = stage.width, stage.height
    wood = rng.choice(WOODS)
    plane = grounds.slanted(rng, wide, high, 0.0)
    kind = rng.choice(("boards", "plaster", "panels"))
    grounds.wall(stage, plane, (0, 0, wide, high), wood, kind)
    near = [_leaflet(stage, part) for part in cast.near]
    row = made(stage, cast.row, make, wide * 0.9, 26)
    boxes = [_reach(face) for face, _ in row]
    begins = spread(rng, [size[0] for size in boxes], wide * 0.97, 8)
    low = high - max((_reach(face)[1] for face, _ in near), default=0.0)
    for x, (face, n), size in zip(begins, row, boxes, strict=True):
        space = low - size[1] - high * 0.04
        if space < 0:
            raise ValueError("a thing is longer than the table is wide")
        spot = (x + wide * 0.015 + size[0] / 2, high * 0.02 + size[1] / 2 + space * rng.random())
        _lay(stage, face, spot, rng.uniform(-6, 6), n)
    for face, n in near:
        size = _reach(face)
        spot = (rng.uniform(size[0] / 2, wide - size[0] / 2), high - size[1] / 2)
        _lay(stage, face, spot, rng.uniform(-6, 6), n)
    for part in cast.small:
        label(stage, part, (0, 0, wide, high))
    for _ in range(rng.randint(1, 4)):
        _thing(stage)
    return stage


def _leaflet(stage: Stage, part: Part) -> tuple[Face, int]:
    """Return a leaflet with larger letters than what else lies on the table."""
    return things.leaflet(stage.rng, part, part.share * stage.height, stage.width * 0.8), part.n


def _reach(face: Face) -> tuple[float, float]:
    """Return the room that a thing takes that lies a little askew."""
    wide, high, turn = face.sheet.width, face.sheet.height, sin(radians(6))
    return wide + high * turn + 12, high + wide * turn + 12


def _lay(stage: Stage, face: Face, centre: Point, degrees: float, n: int | None) -> None:
    corners = _turned(face.sheet.width, face.sheet.height, centre, degrees)
    shadow = [(x + 8, y + 10) for x, y in corners]
    stage.shade(shadow, 0.4, blur=10)
    stage.put(face, corners, n)


def _turned(wide: float, high: float, centre: Point, degrees: float) -> Corners:
    turn = radians(degrees)

    def at(x: float, y: float) -> Point:
        return (
            centre[0] + x * cos(turn) - y * sin(turn), centre[1] + x * sin(turn) + y * cos(turn)
        )  # fmt: skip

    half = (wide / 2, high / 2)
    return (
        at(-half[0], -half[1]), at(half[0], -half[1]), at(half[0], half[1]), at(-half[0], half[1])
    )  # fmt: skip


def _thing(stage: Stage) -> None:
    """Lay a cup, a pen or a coin where there is room."""
    rng = stage.rng
    size = stage.height * rng.uniform(0.03, 0.09)
    for _ in range(12):
        x, y = rng.uniform(0.05, 0.95) * stage.width, rng.uniform(0.05, 0.95) * stage.height
        if stage.free((x - size * 1.4, y - size * 1.4, x + size * 1.4, y + size * 1.4)):
            break
    else:
        return
    if size > stage.height * 0.06:
        _saucer(stage, x, y, size)
    elif size > stage.height * 0.04:
        turn, colour = rng.uniform(0, 3.1), rng.choice(props.CLOTHES)
        ends = [(x - cos(turn) * size * 1.3, y - sin(turn) * size * 1.3),
                (x + cos(turn) * size * 1.3, y + sin(turn) * size * 1.3)]  # fmt: skip
        stage.shade([(a + 4, b + 6) for a, b in (*ends, (ends[1][0], ends[1][1] + 8))], 0.3, blur=4)
        stage.line(ends, colour, 9)
        stage.line([ends[0], (x - cos(turn) * size * 0.8, y - sin(turn) * size * 0.8)],
                   (220, 220, 222), 9)  # fmt: skip
    else:
        gold = rng.choice(((206, 168, 84), (186, 190, 196)))
        stage.oval((x - size, y - size, x + size, y + size), shaded(gold, 0.3))
        stage.oval((x - size * 0.88, y - size * 0.88, x + size * 0.88, y + size * 0.88), gold)


def _saucer(stage: Stage, x: float, y: float, size: float) -> None:
    """Draw a cup of coffee from above."""
    china = stage.rng.choice(((244, 242, 236), (90, 120, 140), (180, 84, 66)))
    ring = [(x - size, y - size), (x + size, y - size), (x + size, y + size), (x - size, y + size)]
    stage.shade([(a + 8, b + 10) for a, b in ring], 0.3, blur=14)
    for reach, tone in ((1.25, shaded(china, 0.08)), (0.85, china), (0.72, (70, 44, 28))):
        side = size * reach
        stage.oval((x - side, y - side, x + side, y + side), tone)


def window(rng: random.Random, cast: Cast) -> Stage:
    """Draw the window of a clothes shop: signs on strings over figures that wear clothes."""
    stage = Stage(rng, rng.choice(SIZES), (200, 196, 190))
    wide, high = stage.width, stage.height
    frame = shaded(rng.choice(props.CLOTHES), 0.3)
    inside = rng.choice(((232, 222, 208), (206, 214, 216), (226, 206, 200), (88, 84, 92)))
    stage.rect((0, 0, wide, high), frame)
    sill = high * rng.uniform(0.86, 0.9)
    stage.slope((wide * 0.02, high * 0.03, wide * 0.98, sill), inside, shaded(inside, 0.18))
    stage.rect((wide * 0.02, sill - high * 0.07, wide * 0.98, sill), shaded(inside, 0.3))
    row = made(stage, cast.row, boards.caption, wide * 0.86, 30)
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.92, 20)
    for x, hung in zip(begins, row, strict=True):
        x, face = x + wide * 0.04, hung[0]
        top = high * rng.uniform(0.08, 0.14)
        if top + face.sheet.height > sill - high * 0.3:
            raise ValueError("a sign hangs lower than the window")
        for foot in (x + 20, x + face.sheet.width - 20):
            stage.line([(foot, high * 0.03), (foot, top + 2)], (120, 116, 110), 2)
        plane = grounds.slanted(rng, wide, high, 0.02)
        box = hang(stage, plane, hung, (x, top))
        _figure(stage, x + face.sheet.width / 2, sill - high * 0.03, sill - box[3] - high * 0.1)
    for share in (0.1, 0.55):
        x = wide * (share + rng.uniform(0, 0.2))
        glint = [(x, high * 0.03), (x + 80, high * 0.03), (x - 60, sill), (x - 140, sill)]
        stage.shade(glint, 0.12, blur=10, white=True)
    grounds.floor(stage, high * 0.96, (150, 146, 140))
    extras(stage, cast, (wide * 0.02, high * 0.03, wide * 0.98, sill))
    return stage


def _figure(stage: Stage, x: float, foot: float, tall: float) -> None:
    """Draw a figure of a shop window that wears a dress or a coat."""
    rng, unit = stage.rng, tall / 8
    skin, cloth = (224, 214, 202), rng.choice(props.CLOTHES)
    stage.oval((x - unit * 1.3, foot - unit * 0.4, x + unit * 1.3, foot + unit * 0.2), (70, 66, 62))
    stage.line([(x, foot), (x, foot - tall * 0.5)], (120, 118, 116), max(3, unit * 0.3))
    stage.oval((x - unit * 0.55, foot - tall, x + unit * 0.55, foot - tall + unit * 1.5), skin)
    stage.rect((x - unit * 0.22, foot - tall + unit * 1.2, x + unit * 0.22, foot - tall + unit * 2),
               skin)  # fmt: skip
    neck, hem = foot - tall + unit * 1.8, foot - tall * rng.uniform(0.12, 0.3)
    flare = unit * rng.uniform(1.0, 2.0)
    stage.poly([(x - unit * 1.15, neck + unit * 0.2), (x - unit * 0.3, neck),
                (x + unit * 0.3, neck), (x + unit * 1.15, neck + unit * 0.2),
                (x + unit * 0.75, neck + unit * 2),
                (x + flare, hem), (x - flare, hem), (x - unit * 0.75, neck + unit * 2)],
               cloth)  # fmt: skip
    belt = (x - unit * 0.75, neck + unit * 1.9, x + unit * 0.75, neck + unit * 2.15)
    stage.rect(belt, shaded(cloth, 0.35))
