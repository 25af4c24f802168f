"""Outside: a stadium, a team, a race, a park with plaques, a market."""

from __future__ import annotations

import random

from toolmark.draw.plane import Corners
from toolmark.suites.mfcl.vision.scenes import boards, grounds, props
from toolmark.suites.mfcl.vision.scenes.cast import PAPERS, Cast, spread
from toolmark.suites.mfcl.vision.scenes.faces import Face, shaded
from toolmark.suites.mfcl.vision.scenes.near import aboard, label
from toolmark.suites.mfcl.vision.scenes.stage import SIZES, Stage
from toolmark.suites.mfcl.vision.scenes.walls import Hung, extras, hang, made


def stadium(rng: random.Random, cast: Cast) -> Stage:
    """Draw a stand with banners on its parapet, and players in front of it."""
    stage = Stage(rng, rng.choice(SIZES), (150, 170, 190))
    wide, high = stage.width, stage.height
    edge = high * rng.uniform(0.42, 0.5)
    grounds.sky(stage, high * 0.2)
    stage.poly([(0, high * 0.06), (wide, high * 0.02), (wide, high * 0.09), (0, high * 0.13)],
               (206, 210, 214))  # fmt: skip
    grounds.crowd(stage, high * 0.13, edge)
    row = made(stage, cast.row, boards.board, wide * 0.95, 14)
    tall = max(face.sheet.height for face, _ in row)
    pitch = edge + tall + high * 0.03
    if pitch > high * 0.86:
        raise ValueError("a banner is higher than the parapet of the stand")
    stage.slope((0, edge, wide, pitch), (146, 150, 156), (118, 122, 128))
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.98, 10)
    plane = grounds.slanted(rng, wide, high, 0.02)
    for x, hung in zip(begins, row, strict=True):
        hang(stage, plane, hung, (x + wide * 0.01, edge + (tall - hung[0].sheet.height) / 2))
    grounds.grass(stage, pitch, mown=True)
    chalk = (236, 240, 236)
    stage.line([(0, pitch + high * 0.05), (wide, pitch + high * 0.05)], chalk, 3)
    stage.line([(wide * 0.6, pitch + high * 0.05), (wide * 0.4, high)], chalk, 4)
    for part in cast.near:
        aboard(stage, part)
    for part in cast.small:
        label(stage, part, (0, high * 0.1, wide, edge))
    props.people(stage, rng.randint(1, 5), (pitch + high * 0.12, high), high * 0.3)
    return stage


def team(rng: random.Random, cast: Cast) -> Stage:
    """Draw players side by side, words on their jerseys."""
    stage = Stage(rng, rng.choice(SIZES), (150, 170, 190))
    wide, high = stage.width, stage.height
    pitch = high * rng.uniform(0.5, 0.58)
    grounds.sky(stage, high * 0.24)
    grounds.crowd(stage, high * 0.2, pitch - high * 0.06)
    stage.rect((0, pitch - high * 0.06, wide, pitch), rng.choice(PAPERS))
    grounds.grass(stage, pitch, mown=True)
    row = made(stage, cast.row, boards.jersey, wide * 0.9, 18)
    begins = spread(rng, [face.sheet.width for face, _ in row], wide * 0.96, 8)
    for x, hung in zip(begins, row, strict=True):
        tall = hung[0].sheet.height
        top = high * rng.uniform(0.26, 0.32) - max(0.0, tall - high * 0.4) * 0.5
        if top < tall * 0.3 or top + tall > high * 0.94:
            raise ValueError("a jersey is larger than its player can be")
        player(stage, hung, (x + wide * 0.02, top))
    extras(stage, cast, (0, high * 0.2, wide, pitch))
    return stage


def player(stage: Stage, hung: Hung, spot: tuple[float, float]) -> None:
    """Draw a player whose jersey has its upper left at `spot`."""
    rng, (x, y), (face, n) = stage.rng, spot, hung
    wide, high = face.sheet.width, face.sheet.height
    middle, chest = x + wide / 2, wide * 0.62
    skin, hair = rng.choice(props.SKINS), rng.choice(props.HAIR)
    short = rng.choice(((240, 240, 238), (28, 30, 38), shaded(face.sheet.ground, 0.35)))
    low, knee = y + high, y + high + chest * 0.62
    sock = shaded(face.sheet.ground, 0.2)
    for way in (-1, 1):
        leg = middle + way * chest * 0.26
        stage.line([(leg, knee - 8), (leg + way * 6, knee + chest * 0.5)], skin, chest * 0.2)
        stage.line([(leg + way * 6, knee + chest * 0.4), (leg + way * 8, knee + chest)], sock,
                   chest * 0.2)  # fmt: skip
        side = [(middle, low - 6), (middle + way * chest * 0.5, low - 6),
                (middle + way * chest * 0.54, knee),
                (middle + way * chest * 0.06, knee)]  # fmt: skip
        stage.poly(side, short)
        arm = [(middle + way * wide * 0.43, y + high * 0.36),
               (middle + way * wide * 0.47, y + high * 0.72),
               (middle + way * wide * 0.44, y + high * 0.96)]  # fmt: skip
        stage.line(arm, skin, wide * 0.09)
    stage.rect(
        (middle - chest * 0.13, y - chest * 0.2, middle + chest * 0.13, y + chest * 0.1), skin
    )
    props.head(stage, middle, y - chest * 0.32, chest * 0.42, (skin, hair))
    stage.put(face, _upright(face, x, y), n)


def _upright(face: Face, x: float, y: float) -> Corners:
    right, low = x + face.sheet.width, y + face.sheet.height
    return (x, y), (right, y), (right, low), (x, low)


def race(rng: random.Random, cast: Cast) -> Stage:
    """Draw the start of a race: an arch without words, runners with cloths on their shirts."""
    stage = Stage(rng, rng.choice(SIZES), (150, 170, 190))
    wide, high = stage.width, stage.height
    road = high * rng.uniform(0.46, 0.54)
    grounds.sky(stage, road)
    for _ in range(rng.randint(3, 8)):
        props.tree(
            stage, rng.uniform(0, 1) * wide, road + high * 0.02, high * rng.uniform(0.2, 0.4)
        )
    grounds.grass(stage, road)
    stage.poly([(wide * 0.4, road), (wide * 0.6, road), (wide * 1.3, high), (-wide * 0.3, high)],
               (110, 112, 118))  # fmt: skip
    _arch(stage, road)
    row = made(stage, cast.row, boards.bib, wide * 0.74, 60)
    widths = [face.sheet.width * 1.5 for face, _ in row]
    begins = spread(rng, widths, wide * 0.97, 4)
    for x, hung, span in zip(begins, row, widths, strict=True):
        tall = max(hung[0].sheet.height * 1.7, span * 0.72)
        top = high * rng.uniform(0.36, 0.46) - max(0.0, tall - high * 0.3) * 0.4
        if top < span * 0.24 or top + tall > high * 0.94:
            raise ValueError("a runner is larger than the picture")
        _runner(stage, hung, (x + wide * 0.015, top, span, tall))
    extras(stage, cast, (0, high * 0.04, wide, road))
    return stage


def _arch(stage: Stage, road: float) -> None:
    rng, wide, colour = stage.rng, stage.width, stage.rng.choice(PAPERS)
    left, right, thick = wide * 0.16, wide * 0.84, wide * 0.035
    top = stage.height * rng.uniform(0.04, 0.1)
    stage.rect((left, top, right, top + thick * 2.2), colour, round_by=thick)
    for x in (left, right - thick):
        stage.rect((x, top + thick, x + thick, road + stage.height * 0.12), shaded(colour, 0.12),
                   round_by=thick / 2)  # fmt: skip
    x = left + thick * 1.5
    while x < right - thick * 2:
        stage.poly([(x, top + 4), (x + thick * 0.8, top + 4), (x + thick * 0.5, top + thick * 2.1),
                    (x - thick * 0.3, top + thick * 2.1)], shaded(colour, -0.45))  # fmt: skip
        x += thick * 1.8


def _runner(stage: Stage, hung: Hung, box: tuple[float, float, float, float]) -> None:
    """Draw a runner: `box` is the shirt's left, top, width and height."""
    rng, (x, y, span, tall), (face, n) = stage.rng, box, hung
    middle, half = x + span / 2, span * 0.37
    skin, hair = rng.choice(props.SKINS), rng.choice(props.HAIR)
    shirt, short = rng.choice(props.CLOTHES), rng.choice(((30, 32, 40), (60, 66, 84), (90, 40, 44)))
    low = y + tall
    for way in (-1, 1):
        step, side = rng.uniform(0.1, 0.5) * half, middle + way * half * 0.5
        leg = [(side, low), (side + way * step, low + span * 0.5), (side, low + span * 1.1)]
        stage.line(leg, skin, half * 0.36)
        elbow = (middle + way * half * 1.3, y + tall * 0.55)
        arm = [(middle + way * half * 0.98, y + span * 0.12), elbow,
               (middle + way * half * 1.1, y + tall * 0.4)]  # fmt: skip
        stage.line(arm, skin, half * 0.28)
    stage.rect((middle - half, low - tall * 0.12, middle + half, low + span * 0.2), short,
               round_by=half * 0.2)  # fmt: skip
    stage.rect((middle - half * 0.3, y - half * 0.4, middle + half * 0.3, y + half * 0.3), skin)
    stage.rect((middle - half, y, middle + half, low), shirt, round_by=half * 0.3)
    props.head(stage, middle, y - half * 0.5, half * 0.7, (skin, hair))
    left, top = middle - face.sheet.width / 2, y + (tall - face.sheet.height) * 0.55
    stage.put(face, _upright(face, left, top), n)


def park(rng: random.Random, cast: Cast) -> Stage:
    """Draw a park with stones that bear plaques."""
    stage = Stage(rng, rng.choice(SIZES), (150, 170, 190))
    wide, high = stage.width, stage.height
    line = high * rng.uniform(0.46, 0.54)
    grounds.sky(stage, line)
    far = rng.choice(props.LEAVES)
    for _ in range(30):
        x, size = rng.uniform(0, wide), high * rng.uniform(0.04, 0.09)
        stage.oval(
            (x - size * 1.6, line - size, x + size * 1.6, line + size),
            shaded(far, rng.uniform(-0.25, 0)),
        )
    for _ in range(rng.randint(2, 6)):
        props.tree(
            stage,
            rng.uniform(0, 1) * wide,
            line + high * rng.uniform(0.02, 0.08),
            high * rng.uniform(0.35, 0.55),
        )
    grounds.grass(stage, line)
    path = rng.uniform(0.3, 0.7) * wide
    stage.poly([(path, line), (path + wide * 0.05, line), (path + wide * 0.5, high),
                (path - wide * 0.2, high)], (206, 192, 164))  # fmt: skip
    row = made(stage, cast.row, boards.plaque, wide * 0.84, 50)
    widths = [face.sheet.width + 44.0 for face, _ in row]
    begins = spread(rng, widths, wide * 0.96, 10)
    # behind the stones, which hide them
    props.people(stage, rng.randint(0, 3), (line + high * 0.1, line + high * 0.2), high * 0.22)
    for x, hung, span in zip(begins, row, widths, strict=True):
        _stone(stage, hung, x + wide * 0.02, span)
    extras(stage, cast, (0, high * 0.3, wide, high * 0.9))
    return stage


def _stone(stage: Stage, hung: Hung, x: float, span: float) -> None:
    """Draw a stone of width `span` on the grass, a plaque on it."""
    rng, high = stage.rng, hung[0].sheet.height
    grey = rng.choice(((150, 146, 138), (126, 124, 122), (172, 164, 150)))
    foot = stage.height * rng.uniform(0.84, 0.92)
    tall = high + rng.uniform(70, 150)
    top = foot - tall
    if top < stage.height * 0.03:
        raise ValueError("a stone is higher than the picture")
    stage.shade([(x - 20, foot - 12), (x + span + 60, foot - 12), (x + span + 40, foot + 18),
                 (x - 10, foot + 18)], 0.4, blur=14)  # fmt: skip
    lean = rng.uniform(0.0, 0.06) * span
    stage.poly([(x + lean, top + 14), (x + span * 0.2, top), (x + span * 0.8, top),
                (x + span - lean, top + 14), (x + span + 8, foot), (x - 8, foot)],
               grey)  # fmt: skip
    stage.poly([(x + span - lean, top + 14), (x + span + 8, foot), (x + span - 12, foot),
                (x + span - lean - 12, top + 14)], shaded(grey, 0.18))  # fmt: skip
    plane = grounds.slanted(rng, stage.width, stage.height, 0.008)
    left = x + (span - hung[0].sheet.width) / 2
    hang(stage, plane, hung, (left, top + 26 + rng.uniform(0, 14)))


def market(rng: random.Random, cast: Cast) -> Stage:
    """Draw stalls with striped roofs, their boards below, fruit on their tables."""
    stage = Stage(rng, rng.choice(SIZES), (150, 170, 190))
    wide, high = stage.width, stage.height
    ground = high * rng.uniform(0.74, 0.8)
    grounds.sky(stage, high * 0.4)
    plane = grounds.slanted(rng, wide, ground, 0.02)
    paint = shaded(rng.choice(grounds.WALLS), -0.2)
    grounds.wall(stage, plane, (0, high * rng.uniform(0.04, 0.14), wide, ground), paint)
    grounds.floor(stage, ground * 0.97)
    row = made(stage, cast.row, boards.board, wide * 0.93, 24)
    widths = [max(face.sheet.width + 12.0, wide * 0.2) for face, _ in row]
    begins = spread(rng, widths, wide * 0.98, 8)
    for x, hung, span in zip(begins, row, widths, strict=True):
        _stall(stage, hung, (x + wide * 0.01, x + wide * 0.01 + span), high * 0.9)
    extras(stage, cast, (0, high * 0.02, wide, high * 0.3))
    props.people(stage, rng.randint(0, 3), (high * 0.92, high), high * 0.36)
    return stage


def _stall(stage: Stage, hung: Hung, edges: tuple[float, float], foot: float) -> None:
    rng, (left, right), face = stage.rng, edges, hung[0]
    colour, n = rng.choice(PAPERS), 9
    roof = stage.height * rng.uniform(0.16, 0.22)
    eave = roof + stage.height * 0.13
    table = foot - stage.height * rng.uniform(0.24, 0.28)
    if eave + face.sheet.height > table - stage.height * 0.08:
        raise ValueError("a stall's board leaves no room for its table")
    for x in (left + 10, right - 10):
        stage.line([(x, roof), (x, foot)], (120, 96, 70), 8)
    dark = (left + 14, eave, right - 14, table)
    stage.slope(dark, (60, 54, 50), (104, 94, 84))
    if rng.random() < 0.7:
        person = (left + right) / 2 + rng.uniform(-0.2, 0.2) * (right - left)
        props.person(stage, person, foot, foot - eave - face.sheet.height - 10)
    for k in range(n):
        tone = colour if k % 2 else (244, 240, 232)
        x0, x1 = (left + (right - left) * j / n for j in (k, k + 1))
        slim = [left + (right - left) * (0.08 + 0.84 * j / n) for j in (k, k + 1)]
        stage.poly([(slim[0], roof), (slim[1], roof), (x1, eave), (x0, eave)], tone)
        stage.oval((x0, eave - 9, x1, eave + 9), tone)
    x = (left + right - face.sheet.width) / 2
    plane = grounds.slanted(rng, stage.width, stage.height, 0.006)
    hang(stage, plane, hung, (x, eave + 10))
    _table(stage, (left, table, right, foot))


def _table(stage: Stage, box: tuple[float, float, float, float]) -> None:
    """Draw a stall's table with crates of fruit."""
    rng, (left, top, right, low) = stage.rng, box
    cloth = rng.choice(props.CLOTHES)
    stage.rect((left, top + 16, right, low), cloth)
    x = left + 4
    while x + 50 < right:
        wide = min(rng.uniform(70, 120), right - x - 4)
        stage.rect((x, top - 20, x + wide, top + 18), (168, 132, 88))
        fruit = rng.choice(((206, 60, 48), (232, 150, 40), (240, 206, 70), (110, 150, 60),
                            (120, 60, 110)))  # fmt: skip
        for k in range(int(wide / 15)):
            for deep in (0, 1):
                spot = (x + 8 + k * 15 + deep * 6, top - 22 - deep * 9)
                tone = shaded(fruit, rng.uniform(-0.15, 0.15))
                stage.oval((spot[0] - 9, spot[1] - 9, spot[0] + 9, spot[1] + 9), tone)
        x += wide + 6
