"""Inside: a station, a gallery, a stage, a wall of screens, a cinema, a cabinet of trophies."""

from __future__ import annotations

import random

from toolmark.draw.canvas import Colour
from toolmark.draw.plane import Plane
from toolmark.suites.mfcl.vision.scenes import boards, grounds, props, things
from toolmark.suites.mfcl.vision.scenes.cast import Cast, spread
from toolmark.suites.mfcl.vision.scenes.faces import shaded
from toolmark.suites.mfcl.vision.scenes.near import aboard, label
from toolmark.suites.mfcl.vision.scenes.stage import SIZES, Stage
from toolmark.suites.mfcl.vision.scenes.walls import Hung, extras, filled, hang, made

LIGHTS: tuple[Colour, ...] = ((255, 250, 226), (240, 246, 255))


def station(rng: random.Random, cast: Cast) -> Stage:
    """Draw a hall with boards that hang from its ceiling."""
    stage = Stage(rng, rng.choice(SIZES), (210, 212, 214))
    ground = stage.height * rng.uniform(0.66, 0.74)
    far = rng.choice(grounds.WALLS)
    plane = Plane((stage.width, ground), ((0, 0), (stage.width, 0), (stage.width, ground),
                                          (0, ground)))  # fmt: skip
    grounds.wall(stage, plane, (0, 0, stage.width, ground), shaded(far, -0.2), "panels")
    _arches(stage, ground)
    grounds.floor(stage, ground)
    _beams(stage)
    row = made(stage, cast.row, boards.board, stage.width * 0.94, 18)
    begins = spread(rng, [face.sheet.width for face, _ in row], stage.width * 0.98, 14)
    for x, hung in zip(begins, row, strict=True):
        top = stage.height * rng.uniform(0.14, 0.22)
        for foot in (x + 24, x + hung[0].sheet.width - 10):
            stage.line([(foot, 0), (foot, top + 4)], (70, 72, 76), 4)
        tilted = grounds.slanted(rng, stage.width, stage.height, 0.02)
        hang(stage, tilted, hung, (x + stage.width * 0.01, top))
    for part in cast.near:
        aboard(stage, part)
    for part in cast.small:
        label(stage, part, (0, stage.height * 0.4, stage.width, ground))
    props.people(stage, rng.randint(3, 8), (ground + 10, stage.height), stage.height * 0.34)
    return stage


def _arches(stage: Stage, ground: float) -> None:
    rng = stage.rng
    n = rng.randint(3, 6)
    glass = rng.choice(((150, 186, 208), (222, 226, 214), (96, 116, 132)))
    for k in range(n):
        middle, wide = stage.width * (k + 0.5) / n, stage.width * 0.34 / n
        top = ground * 0.34
        stage.oval((middle - wide, top - wide * 0.6, middle + wide, top + wide * 0.9), glass)
        stage.rect((middle - wide, top + wide * 0.1, middle + wide, ground * 0.96), glass)
        for bar in (-0.5, 0.0, 0.5):
            x = middle + bar * wide
            stage.line([(x, top - wide * 0.4), (x, ground * 0.96)], shaded(glass, 0.35), 3)


def _beams(stage: Stage) -> None:
    rng, colour = stage.rng, stage.rng.choice(((70, 76, 84), (120, 116, 108), (60, 82, 78)))
    stage.rect((0, 0, stage.width, stage.height * 0.07), colour)
    lamp = rng.choice(LIGHTS)
    for k in range(6):
        x = stage.width * (k + 0.5) / 6
        stage.rect((x - 50, stage.height * 0.07, x + 50, stage.height * 0.085), lamp, round_by=4)


def gallery(rng: random.Random, cast: Cast) -> Stage:
    """Draw a room of a museum: works on the wall with their cards below or beside."""
    stage = Stage(rng, rng.choice(SIZES), (230, 228, 222))
    ground = stage.height * rng.uniform(0.84, 0.9)
    plane = grounds.slanted(rng, stage.width, ground, 0.04)
    paint = rng.choice(
        ((236, 234, 226), (126, 44, 48), (46, 72, 88), (70, 92, 74), (214, 206, 190))
    )
    grounds.wall(stage, plane, (0, -ground * 0.2, stage.width, ground), paint, "plaster")
    row = made(stage, cast.row, boards.caption, stage.width * 0.9, 26)
    begins = spread(rng, [face.sheet.width for face, _ in row], stage.width * 0.96, 20)
    low = ground * rng.uniform(0.86, 0.93)
    for x, hung in zip(begins, row, strict=True):
        x, wide, high = x + stage.width * 0.02, hung[0].sheet.width, hung[0].sheet.height
        room = low - high - ground * 0.1
        if room < stage.height * 0.12:
            raise ValueError("no room for a work of art above its card")
        size = (min(wide * 1.02, room * 1.5), room * rng.uniform(0.75, 0.98))
        work = things.bare(rng, size)
        top = ground * 0.06 + (room - work.sheet.height)
        left = x + (wide - work.sheet.width) / 2
        _framed(stage, plane, (work, None), (left, top))
        hang(stage, plane, hung, (x, low - high))
    _skirting(stage, plane, ground)
    extras(stage, cast, (0, stage.height * 0.04, stage.width, ground))
    props.people(stage, rng.randint(0, 2), (stage.height * 0.97, stage.height), stage.height * 0.5)
    return stage


def _framed(stage: Stage, plane: Plane, hung: Hung, spot: tuple[float, float]) -> None:
    """Hang a picture in a frame."""
    (x, y), sheet = spot, hung[0].sheet
    wood = stage.rng.choice(((176, 140, 72), (60, 44, 34), (30, 30, 32), (214, 206, 190)))
    stage.shade(plane.quad(x - 8, y, x + sheet.width + 20, y + sheet.height + 24), 0.35, blur=12)
    stage.poly(plane.quad(x - 12, y - 12, x + sheet.width + 12, y + sheet.height + 12), wood)
    stage.put(hung[0], plane.quad(x, y, x + sheet.width, y + sheet.height), hung[1])


def _skirting(stage: Stage, plane: Plane, ground: float) -> None:
    low = max(plane.at(0, ground)[1], plane.at(stage.width, ground)[1])
    stage.poly(plane.quad(-40, ground - 16, stage.width + 40, ground), (236, 234, 228))
    stage.poly([plane.at(0, ground), plane.at(stage.width, ground), (stage.width, low + 2),
                (0, low + 2)], (120, 104, 88))  # fmt: skip
    grounds.floor(stage, low, (150, 118, 84))


def stage(rng: random.Random, cast: Cast) -> Stage:
    """Draw a stage with banners above it, seen from among the audience."""
    picture = Stage(rng, rng.choice(SIZES), (28, 28, 36))
    wide, high = picture.width, picture.height
    back = rng.choice(((44, 40, 66), (30, 48, 70), (66, 34, 44), (40, 44, 48)))
    picture.slope((0, 0, wide, high), shaded(back, 0.35), shaded(back, -0.12))
    deck = high * rng.uniform(0.7, 0.76)
    row = made(picture, cast.row, boards.banner, wide * 0.92, 24)
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.96, 20)
    for x, (face, _) in zip(begins, row, strict=True):
        middle = x + face.sheet.width / 2
        beam = [(middle - 14, 0), (middle + 14, 0), (middle + face.sheet.width * 0.8, deck),
                (middle - face.sheet.width * 0.8, deck)]  # fmt: skip
        picture.shade(beam, 0.28, blur=40, white=True)
    picture.rect((0, high * 0.03, wide, high * 0.05), (92, 94, 98))
    for x, hung in zip(begins, row, strict=True):
        top = high * rng.uniform(0.05, 0.08)
        if top + hung[0].sheet.height > deck:
            raise ValueError("a banner is longer than the stage is high")
        plane = grounds.slanted(rng, wide, high, 0.02)
        hang(picture, plane, hung, (x + wide * 0.02, top))
    picture.slope((0, deck, wide, deck + high * 0.05), (120, 96, 74), (86, 68, 54))
    picture.slope((0, deck + high * 0.05, wide, high), (34, 32, 38), (20, 20, 24))
    _speaker(picture, deck + high * 0.03)
    for part in cast.near:
        aboard(picture, part)
    for part in cast.small:
        label(picture, part, (0, deck + high * 0.05, wide, high))
    _audience(picture, deck)
    return picture


def _speaker(picture: Stage, foot: float) -> None:
    rng, tall = picture.rng, picture.height * 0.3
    x = rng.uniform(0.1, 0.9) * picture.width
    if not picture.free((x - tall * 0.3, foot - tall, x + tall * 0.3, foot)):
        return
    props.person(picture, x, foot, tall)
    desk = (x - tall * 0.2, foot - tall * 0.5, x + tall * 0.2, foot)
    picture.rect(desk, rng.choice(((92, 66, 46), (70, 74, 80))), round_by=4)


def _audience(picture: Stage, deck: float) -> None:
    """Draw heads from behind along the lower edge, where they hide nothing."""
    rng, size = picture.rng, picture.height * 0.05
    for y in (0.93, 0.99):
        x = rng.uniform(0, size)
        while x < picture.width:
            top = picture.height * y - size * rng.uniform(0.6, 1.0)
            if picture.free((x - size * 1.2, top - size, x + size * 1.2, picture.height)):
                tone = shaded(rng.choice(props.CLOTHES), 0.4)
                box = (x - size * 1.2, top + size * 0.8, x + size * 1.2, picture.height + 40)
                picture.rect(box, tone, round_by=size * 0.6)
                hair = shaded(rng.choice(props.HAIR), 0.25)
                picture.oval((x - size * 0.62, top - size * 0.7, x + size * 0.62, top + size), hair)
            x += size * rng.uniform(2.1, 3.2)


def screens(rng: random.Random, cast: Cast) -> Stage:
    """Draw televisions on a wall, a cupboard below them."""
    picture = Stage(rng, rng.choice(SIZES), (200, 196, 190))
    wide, high = picture.width, picture.height
    ground = high * rng.uniform(0.88, 0.93)
    plane = grounds.slanted(rng, wide, ground, 0.035)
    paint = rng.choice(grounds.WALLS)
    grounds.wall(picture, plane, (0, -ground * 0.2, wide, ground), shaded(paint, -0.15), "plaster")
    grounds.floor(picture, ground)
    row = made(picture, cast.row, boards.screen, wide * 0.92, 22)
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.97, 16)
    line = ground * rng.uniform(0.62, 0.7)
    for x, hung in zip(begins, row, strict=True):
        top = max(8.0, line - hung[0].sheet.height)
        box = hang(picture, plane, hung, (x + wide * 0.015, top))
        if box[3] > ground * 0.86:
            raise ValueError("a screen is higher than the wall")
    wood = rng.choice(((150, 110, 74), (236, 232, 224), (70, 60, 54)))
    picture.poly(plane.quad(wide * 0.06, ground * 0.87, wide * 0.94, ground), wood)
    for k in range(1, 5):
        x = wide * (0.06 + 0.88 * k / 5)
        seam = [plane.at(x, ground * 0.87), plane.at(x, ground)]
        picture.line(seam, shaded(wood, 0.3), 2)
    extras(picture, cast, (0, high * 0.03, wide, ground))
    props.pot(picture, rng.choice((0.04, 0.96)) * wide, ground + high * 0.03, high * 0.2)
    props.pot(picture, rng.uniform(0.1, 0.9) * wide, ground * 0.875, high * 0.1)
    return picture


def trophies(rng: random.Random, cast: Cast) -> Stage:
    """Draw a cabinet of cups, each on a base with its plate."""
    picture = Stage(rng, rng.choice(SIZES), (70, 56, 46))
    wide, high = picture.width, picture.height
    wood = rng.choice(((104, 74, 52), (62, 48, 42), (150, 116, 82)))
    picture.slope((0, 0, wide, high), shaded(wood, 0.5), shaded(wood, 0.25))
    plane = grounds.slanted(rng, wide, high, 0.025)
    row = made(picture, cast.row, boards.plaque, wide * 0.9, 34)
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.96, 26)
    # lower down where nothing stands before them
    floor = high * (rng.uniform(0.62, 0.7) if cast.near else rng.uniform(0.88, 0.92))
    tallest = max(face.sheet.height for face, _ in row)
    if floor - tallest < high * 0.26:
        raise ValueError("no room for cups above their plates")
    picture.poly(plane.quad(-60, floor, wide + 60, high * 1.2), shaded(wood, -0.1))
    for x, hung in zip(begins, row, strict=True):
        x, (face, _) = x + wide * 0.02, hung
        top = floor - face.sheet.height - 8
        base = plane.quad(x - 10, top - 10, x + face.sheet.width + 10, floor)
        picture.poly(base, (34, 28, 26))
        hang(picture, plane, hung, (x, top))
        size = min(face.sheet.width * 0.5, (top - high * 0.1) * 0.42) * rng.uniform(0.75, 1.0)
        _cup(picture, plane.at(x + face.sheet.width / 2, top - 10), size)
    picture.poly(plane.quad(-60, -60, wide + 60, high * 0.04), shaded(wood, -0.12))
    glint = [(wide * 0.1, 0), (wide * 0.2, 0), (wide * 0.05, high), (-wide * 0.05, high)]
    picture.shade(glint, 0.1, blur=14, white=True)
    extras(picture, cast, (0, high * 0.03, wide, high))
    return picture


def _cup(picture: Stage, foot: tuple[float, float], size: float) -> None:
    """Draw a cup of half width `size` that stands on a point."""
    gold = picture.rng.choice(((212, 168, 62), (196, 200, 206), (176, 118, 70)))
    dark, light = shaded(gold, 0.25), shaded(gold, -0.4)
    x, y = foot
    for way in (-1, 1):
        ear = (x + way * size * 0.62 - size * 0.34, y - size * 1.95, x + way * size * 0.62
               + size * 0.34, y - size * 1.2)  # fmt: skip
        picture.oval(ear, dark)
        inner = (ear[0] + size * 0.1, ear[1] + size * 0.1, ear[2] - size * 0.1, ear[3] - size * 0.1)
        picture.oval(inner, (60, 48, 40))
    picture.poly([(x - size * 0.66, y - size * 2.05), (x + size * 0.66, y - size * 2.05),
                  (x + size * 0.46, y - size * 1.0), (x + size * 0.14, y - size * 0.66),
                  (x + size * 0.14, y - size * 0.2), (x + size * 0.48, y), (x - size * 0.48, y),
                  (x - size * 0.14, y - size * 0.2), (x - size * 0.14, y - size * 0.66),
                  (x - size * 0.46, y - size * 1.0)], gold)  # fmt: skip
    picture.oval((x - size * 0.66, y - size * 2.15, x + size * 0.66, y - size * 1.93), dark)
    picture.poly([(x - size * 0.46, y - size * 1.9), (x - size * 0.3, y - size * 1.9),
                  (x - size * 0.22, y - size * 1.1), (x - size * 0.34, y - size * 1.2)],
                 light)  # fmt: skip


def cinema(rng: random.Random, cast: Cast) -> Stage:
    """Draw the front of a cinema in the evening: posters in lit cases."""
    picture = Stage(rng, rng.choice(SIZES), (30, 30, 40))
    wide, high = picture.width, picture.height
    ground = high * rng.uniform(0.84, 0.89)
    plane = grounds.slanted(rng, wide, ground, 0.035)
    paint = rng.choice(((74, 40, 48), (44, 52, 70), (58, 62, 60), (84, 70, 58)))
    grounds.wall(picture, plane, (0, -ground * 0.2, wide, ground), paint, "tiles")
    picture.poly(plane.quad(-60, -60, wide + 60, high * 0.05), (200, 168, 90))
    for k in range(40):
        x, y = plane.at(wide * (k + 0.5) / 40, high * 0.025)
        picture.oval((x - 6, y - 6, x + 6, y + 6), (255, 246, 206))
    row = made(picture, cast.row, things.poster, wide * 0.9, 34)
    room = (wide * 0.17, high * 0.4)
    row = filled(rng, row, wide * 0.94, room, gap=36, ends=cast.ends)
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.95, 26)
    for x, hung in zip(begins, row, strict=True):
        x, sheet = x + wide * 0.025, hung[0].sheet
        space = ground * 0.96 - high * 0.08 - sheet.height
        if space < 0:
            raise ValueError("a poster is higher than its case")
        y = high * 0.08 + space * rng.uniform(0.3, 0.6)
        glow = plane.quad(x - 30, y - 30, x + sheet.width + 30, y + sheet.height + 30)
        picture.shade(glow, 0.3, blur=40, white=True)
        case = plane.quad(x - 11, y - 11, x + sheet.width + 11, y + sheet.height + 11)
        picture.poly(case, rng.choice(((196, 160, 84), (150, 154, 160), (24, 24, 26))))
        picture.put(hung[0], plane.quad(x, y, x + sheet.width, y + sheet.height), hung[1])
    grounds.floor(picture, ground + high * 0.035, (92, 88, 90))
    picture.poly([plane.at(0, ground), plane.at(wide, ground), (wide, ground + high * 0.04),
                  (0, ground + high * 0.04)], (70, 66, 68))  # fmt: skip
    extras(picture, cast, (0, high * 0.07, wide, ground))
    props.people(picture, rng.randint(0, 4), (ground + high * 0.06, high), high * 0.45)
    return picture
