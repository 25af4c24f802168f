"""Things side by side on a wall or on boards: posters, goods."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolmark.draw.plane import Plane
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.scenes import grounds, props, things
from toolmark.suites.mfcl.vision.scenes.cast import Cast, Part, rooms, spread
from toolmark.suites.mfcl.vision.scenes.faces import Face, shaded
from toolmark.suites.mfcl.vision.scenes.near import aboard, label
from toolmark.suites.mfcl.vision.scenes.stage import SIZES, Stage

Hung: TypeAlias = tuple[Face, int | None]
Bare: TypeAlias = Callable[[random.Random, tuple[float, float]], Face]


def made(
    stage: Stage, parts: Sequence[Part], make: things.Make, span: float, gap: float
) -> list[Hung]:
    """Return the things of some parts with their signs, none wider than its share of a span."""
    shares = rooms(parts, span - gap * (len(parts) - 1))
    return [
        (make(stage.rng, part, part.share * stage.height, share), part.n)
        for part, share in zip(parts, shares, strict=True)
    ]


def filled(
    rng: random.Random,
    hung: Sequence[Hung],
    span: float,
    size: tuple[float, float],
    *,
    gap: float,
    bare: Bare = things.bare,
    ends: tuple[bool, bool] = (False, False),
) -> list[Hung]:
    """Return the things with others between them that say nothing, as far as there is room.

    `ends`: whether nothing may stand further left than the first thing, or right than the last.
    """
    groups: list[list[Hung]] = [[one] for one in hung]
    taken = sum(face.sheet.width + gap for face, _ in hung)
    while True:
        near = (size[0] * rng.uniform(0.75, 1.3), size[1] * rng.uniform(0.85, 1.0))
        face = bare(rng, near)
        # goods stand in rows of the same
        n = rng.choice((1, 2, 3)) if bare is things.ware else 1
        taken += n * (face.sheet.width + gap)
        if taken > span * 0.97:
            break
        groups.insert(rng.randint(ends[0], len(groups) - ends[1]), [(face, None)] * n)
    return [one for group in groups for one in group]


def hang(stage: Stage, plane: Plane, hung: Hung, spot: tuple[float, float]) -> Box:
    """Put a thing on a wall with its shadow; `spot` is its upper left. Return its place."""
    (x, y), (face, n) = spot, hung
    box = (x, y, x + face.sheet.width, y + face.sheet.height)
    stage.shade(plane.quad(x + 5, y + 8, box[2] + 7, box[3] + 9), 0.32, blur=9)
    stage.put(face, plane.quad(*box), n)
    return box


def posters(rng: random.Random, cast: Cast) -> Stage:
    """Draw a wall of posters in the street, some of them without words."""
    stage = Stage(rng, rng.choice(SIZES), (190, 190, 190))
    ground = stage.height * rng.uniform(0.86, 0.92)
    plane = grounds.slanted(rng, stage.width, ground, 0.04)
    grounds.wall(stage, plane, (0, -ground * 0.2, stage.width, ground), rng.choice(grounds.WALLS))
    row = made(stage, cast.row, things.poster, stage.width * 0.94, 14)
    size = (stage.width * 0.17, stage.height * 0.36)
    row = filled(rng, row, stage.width * 0.96, size, gap=14, ends=cast.ends)
    begins = spread(rng, [face.sheet.width for face, _ in row], stage.width * 0.98, 10)
    for x, hung in zip(begins, row, strict=True):
        room = ground * 0.97 - hung[0].sheet.height
        if room < 8:
            raise ValueError("a poster is higher than the wall")
        hang(stage, plane, hung, (x + stage.width * 0.01, 4 + room * rng.uniform(0.2, 0.7)))
    low = max(plane.at(0, ground)[1], plane.at(stage.width, ground)[1])
    stage.poly([plane.at(0, ground), plane.at(stage.width, ground), (stage.width, low + 2),
                (0, low + 2)], (140, 136, 130))  # fmt: skip
    grounds.floor(stage, low, (156, 152, 146))
    extras(stage, cast, (0, stage.height * 0.04, stage.width, ground))
    props.people(stage, rng.randint(0, 3), (low + 20, stage.height), stage.height * 0.5)
    return stage


def extras(stage: Stage, cast: Cast, within: Box) -> None:
    """Add what stands near the eye, and small signs within a box."""
    for part in cast.near:
        aboard(stage, part)
    for part in cast.small:
        label(stage, part, within)


def shelf(rng: random.Random, cast: Cast) -> Stage:
    """Draw boards full of goods, those with names on one of them."""
    return _boards(rng, cast, things.package, (things.ware, things.bottle), (0.07, 0.11))


def books(rng: random.Random, cast: Cast) -> Stage:
    """Draw a rack of books and magazines, their fronts to the eye."""
    return _boards(rng, cast, things.cover, (things.volume, things.spine), (0.08, 0.12))


def records(rng: random.Random, cast: Cast) -> Stage:
    """Draw records in their sleeves on the boards of a shop."""
    return _boards(rng, cast, things.sleeve, (things.disc, things.spine), (0.12, 0.17))


def _boards(
    rng: random.Random,
    cast: Cast,
    make: things.Make,
    bare: tuple[Bare, Bare],
    width: tuple[float, float],
) -> Stage:
    """Draw boards above each other, with things that say nothing around those that do.

    `bare`: those of the same kind, and others for the boards where one alike could stand further
    out than a sign of which the question says that it is the last.
    """
    stage = Stage(rng, rng.choice(SIZES), (216, 214, 208))
    plane = grounds.slanted(rng, stage.width, stage.height, 0.05)
    named = made(stage, cast.row, make, stage.width * 0.9, 12)
    tall = max(face.sheet.height for face, _ in named) + stage.height * 0.05
    if tall > stage.height:
        raise ValueError("a thing is higher than the shelf")
    lowest = min(face.sheet.height for face, _ in named)
    heights, chosen = _heights(rng, float(stage.height), tall)
    board = rng.choice(((120, 122, 126), (188, 150, 104), (236, 236, 232), (120, 84, 58)))
    low = 0.0
    for k, high in enumerate(heights):
        top, low = low, low + high
        edge = low - stage.height * 0.03
        # what stands between the names is no taller than they are
        most = min(high - stage.height * 0.05, lowest * 1.05)
        size = (stage.width * rng.uniform(*width), most * rng.uniform(0.8, 1.0))
        row, ends = (named, cast.ends) if k == chosen else ([], (False, False))
        kind = bare[any(cast.ends) and k != chosen]
        row = filled(rng, row, stage.width * 0.98, size, gap=8, bare=kind, ends=ends)
        begins = spread(rng, [face.sheet.width for face, _ in row], stage.width * 0.98, 3)
        back = plane.quad(-80, top, stage.width + 80, edge)
        stage.poly(back, shaded(board, 0.45))
        stage.shade(plane.quad(-80, top - 20, stage.width + 80, top + 50), 0.4, blur=50)
        for x, hung in zip(begins, row, strict=True):
            hang(stage, plane, hung, (x + stage.width * 0.01, edge - hung[0].sheet.height))
        stage.poly(plane.quad(-80, edge, stage.width + 80, low), board)
        _prices(stage, plane, edge + stage.height * 0.006)
    extras(stage, cast, (0, 0, stage.width, stage.height))
    return stage


def _heights(rng: random.Random, height: float, tall: float) -> tuple[list[float], int]:
    """Share a height out among boards, one of them `tall`; return the boards and which it is."""
    others = min(3, int((height - tall) / (height * 0.22)))
    if not others:
        return [height], 0
    chosen = rng.randint(0, others)
    heights = [(height - tall) / others] * others
    heights.insert(chosen, tall)
    return heights, chosen


def _prices(stage: Stage, plane: Plane, top: float) -> None:
    """Stick blank price tags to the edge of a board."""
    x = stage.width * 0.04
    while x < stage.width * 0.95:
        tag = plane.quad(x, top, x + stage.width * 0.035, top + stage.height * 0.018)
        stage.poly(tag, stage.rng.choice(((252, 250, 240), (250, 226, 90))))
        x += stage.width * stage.rng.uniform(0.07, 0.16)
