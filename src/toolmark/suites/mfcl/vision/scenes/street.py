"""A street: shop fronts with their signs, a board on the pavement, people passing."""

from __future__ import annotations

import random

from toolmark.draw.canvas import Colour, Sheet
from toolmark.draw.plane import Plane
from toolmark.suites.mfcl.vision.scenes import grounds, props
from toolmark.suites.mfcl.vision.scenes.cast import Cast, Part, rooms, spread
from toolmark.suites.mfcl.vision.scenes.faces import Face, look, plate, shaded, text
from toolmark.suites.mfcl.vision.scenes.near import aboard
from toolmark.suites.mfcl.vision.scenes.stage import SIZES, Stage

GLASS: tuple[Colour, ...] = ((70, 88, 98), (92, 106, 112), (58, 66, 78), (112, 124, 122))


def street(rng: random.Random, cast: Cast) -> Stage:
    """Draw shops beside each other, each with its sign above the window."""
    stage = Stage(rng, rng.choice(SIZES), (200, 200, 200))
    ground = stage.height * rng.uniform(0.74, 0.8)
    grounds.sky(stage, stage.height * 0.5)
    plane = grounds.slanted(rng, stage.width, ground, 0.045)
    shares = rooms(cast.row, stage.width * 0.97)
    fronts = [_fascia(rng, *pair, stage) for pair in zip(cast.row, shares, strict=True)]
    _fill(rng, stage, fronts, cast.ends)
    widths = [max(face.sheet.width + 14, stage.width * 0.14) for face, _ in fronts]
    begins = spread(rng, widths, float(stage.width), 0.0)
    edges = [0.0, *begins[1:], float(stage.width)]
    line = ground * rng.uniform(0.5, 0.56)
    for k, front in enumerate(fronts):
        _shop(stage, plane, (edges[k], edges[k + 1]), line, front)
    _pavement(stage, plane, ground)
    for part in cast.near:
        aboard(stage, part)
    for part in cast.small:
        _post(stage, part, ground)
    props.people(stage, rng.randint(1, 5), (ground + 8, stage.height * 0.97), stage.height * 0.3)
    if rng.random() < 0.6:
        props.lamp(stage, rng.uniform(0.02, 0.98) * stage.width, ground + 14, stage.height * 0.6)
    return stage


def _fascia(rng: random.Random, part: Part, room: float, stage: Stage) -> tuple[Face, int | None]:
    cap = part.share * stage.height / 0.97
    style = look(rng, part.paper, *part.families)
    block = text(
        part.sign, style, cap, room - cap * 0.9, beside=rng.random() < 0.6, cosy=14 * part.loose
    )
    return plate(block, style, pad=(cap * 0.45, cap * 0.5), rim=rng.choice((0, 0, 3))), part.n


def _fill(
    rng: random.Random,
    stage: Stage,
    fronts: list[tuple[Face, int | None]],
    ends: tuple[bool, bool],
) -> None:
    """Add shops without a name where there is room, but not at closed `ends` of the street."""
    sides = [at for at, closed in zip((0, 4), ends, strict=True) if not closed]
    while sides and len(fronts) < 4 and sum(f.sheet.width for f, _ in fronts) < stage.width * 0.66:
        wide = stage.width * rng.uniform(0.16, 0.24)
        blank = Face(Sheet(wide, stage.height * 0.06, rng.choice(grounds.WALLS)), (0, 0, 0, 0))
        fronts.insert(rng.choice(sides), (blank, None))


def _shop(
    stage: Stage,
    plane: Plane,
    edges: tuple[float, float],
    line: float,
    front: tuple[Face, int | None],
) -> None:
    """Draw one house: wall, windows above, sign, shop window and door."""
    rng, (left, right), low = stage.rng, edges, plane.size[1]
    colour, (face, n) = rng.choice(grounds.WALLS), front
    roof = -plane.size[1] * 0.2 if rng.random() < 0.7 else low * rng.uniform(0.02, 0.08)
    grounds.wall(stage, plane, (left, roof, right, low), colour)
    top = line - face.sheet.height
    _windows(stage, plane, (left, right), top, shaded(colour, rng.choice((-0.5, 0.35))))
    trim = shaded(rng.choice(props.CLOTHES), 0.2)
    stage.poly(plane.quad(left + 6, top - 8, right - 6, low), trim)
    middle = (left + right) / 2
    spot = (middle - face.sheet.width / 2, top, middle + face.sheet.width / 2, line)
    if n is None:
        spot = (left + 6, top, right - 6, line)
    stage.poly(plane.quad(left + 6, top, right - 6, line), face.sheet.ground)
    stage.put(face, plane.quad(*spot), n)
    _front(stage, plane, (left + 12, line + 6, right - 12, low))
    if rng.random() < 0.5:
        _awning(stage, plane, (left + 6, line, right - 6), rng.choice(props.CLOTHES))
    stage.shade(plane.quad(left + 6, line, right - 6, line + 10), 0.4, blur=6)


def _windows(
    stage: Stage, plane: Plane, edges: tuple[float, float], low: float, frame: Colour
) -> None:
    rng, (left, right) = stage.rng, edges
    wide = stage.height * 0.085
    n = max(1, int((right - left) / (wide * rng.uniform(1.9, 2.4))))
    high = wide * rng.uniform(1.3, 1.7)
    y = low - high * 1.45
    while y > -high * 1.5:
        for k in range(n):
            x = left + (right - left) * (k + 0.5) / n - wide / 2
            stage.poly(plane.quad(x - 4, y - 4, x + wide + 4, y + high + 6), frame)
            glass = shaded(rng.choice(GLASS), rng.uniform(-0.2, 0.2))
            stage.poly(plane.quad(x, y, x + wide, y + high), glass)
            stage.line([plane.at(x + wide / 2, y), plane.at(x + wide / 2, y + high)], frame, 3)
        y -= high * 1.75


def _front(stage: Stage, plane: Plane, box: tuple[float, float, float, float]) -> None:
    """Draw the shop window with goods behind it, and the door."""
    rng, (left, top, right, low) = stage.rng, box
    door = min((right - left) * 0.3, stage.height * 0.13)
    at_left = rng.random() < 0.5
    gate = (left, top + 8, left + door, low) if at_left else (right - door, top + 8, right, low)
    window = (left + door + 10, top + 8, right, low - 34)
    if not at_left:
        window = (left, top + 8, right - door - 10, low - 34)
    glass = rng.choice(GLASS)
    stage.poly(plane.quad(*window), glass)
    lit = shaded(glass, -0.18)
    span = window[2] - window[0]
    stage.poly([plane.at(window[0] + span * 0.1, window[1]), plane.at(window[0] + span * 0.3,
                window[1]), plane.at(window[0] + span * 0.12, window[3]),
                plane.at(window[0], window[3])], lit)  # fmt: skip
    x = window[0] + 8
    while x < window[2] - 30:
        wide, high = rng.uniform(14, 40), rng.uniform(0.15, 0.5) * (window[3] - window[1])
        goods = rng.choice(props.CLOTHES)
        if x + wide < window[2] - 6:
            stage.poly(plane.quad(x, window[3] - high, x + wide, window[3]), goods)
        x += wide + rng.uniform(4, 26)
    stage.poly(plane.quad(*gate), shaded(rng.choice(props.CLOTHES), 0.3))
    pane = (gate[0] + 8, gate[1] + 10, gate[2] - 8, gate[1] + (low - gate[1]) * 0.6)
    stage.poly(plane.quad(*pane), shaded(glass, -0.1))


def _awning(stage: Stage, plane: Plane, edge: tuple[float, float, float], colour: Colour) -> None:
    left, top, right = edge
    n, deep = 9, stage.height * 0.05
    for k in range(n):
        x0, x1 = (left + (right - left) * j / n for j in (k, k + 1))
        tone = colour if k % 2 else (240, 236, 228)
        stage.poly(plane.quad(x0, top, x1, top + deep), tone)


def _pavement(stage: Stage, plane: Plane, ground: float) -> None:
    low = max(plane.at(0, ground)[1], plane.at(stage.width, ground)[1])
    stage.poly([plane.at(0, ground), plane.at(stage.width, ground), (stage.width, stage.height),
                (0, stage.height)], (160, 156, 150))  # fmt: skip
    grounds.floor(stage, low, (164, 160, 154))
    kerb = stage.height * stage.rng.uniform(0.9, 0.97)
    stage.rect((0, kerb, stage.width, kerb + 7), (204, 200, 194))
    stage.rect((0, kerb + 7, stage.width, stage.height), (84, 86, 92))


def _post(stage: Stage, part: Part, ground: float) -> None:
    """Put up a small sign on a post at the kerb, where it covers no sign; else leave it out."""
    rng, cap = stage.rng, max(14.0, part.share * stage.height)
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, stage.width * 0.2)
    face = plate(block, style, pad=(cap * 0.6, cap * 0.5), round_by=6)
    wide, high = face.sheet.width, face.sheet.height
    top = ground - high * rng.uniform(0.4, 1.2)
    xs = [rng.uniform(0.02, 0.97) * stage.width for _ in range(24)]
    spots = [
        x
        for x in xs
        if x + wide < stage.width - 4 and stage.free((x - 8, top - 8, x + wide + 8, top + high + 8))
    ]
    if not spots:
        raise ValueError("no room for a sign on a post")
    x = spots[0]
    stage.line([(x + wide / 2, top + high - 4), (x + wide / 2, ground + stage.height * 0.09)],
               (96, 98, 102), 6)  # fmt: skip
    stage.put(face, ((x, top), (x + wide, top), (x + wide, top + high), (x, top + high)), part.n)
