"""What stands about in scenes and says nothing: people, trees, lamps, pots."""

from __future__ import annotations

from toolmark.draw.canvas import Colour
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.scenes.faces import shaded
from toolmark.suites.mfcl.vision.scenes.stage import Stage

SKINS: tuple[Colour, ...] = (
    (244, 212, 186), (226, 184, 148), (198, 148, 108), (150, 104, 72), (104, 70, 50), (84, 56, 42),
)  # fmt: skip
HAIR: tuple[Colour, ...] = (
    (36, 28, 24), (70, 48, 32), (120, 84, 46), (180, 150, 96), (150, 150, 150), (20, 20, 22),
    (110, 52, 30),
)  # fmt: skip
CLOTHES: tuple[Colour, ...] = (
    (52, 74, 110), (140, 60, 60), (70, 96, 78), (196, 180, 150), (60, 60, 66), (176, 120, 70),
    (110, 90, 130), (214, 210, 204), (90, 130, 150), (184, 96, 110), (40, 44, 52),
)  # fmt: skip
LEAVES: tuple[Colour, ...] = ((62, 110, 58), (84, 130, 66), (48, 92, 60), (120, 140, 60))


def person(stage: Stage, x: float, foot: float, high: float, *, back: bool = False) -> None:
    """Draw somebody of height `high` who stands at (x, foot); `back`: turned away."""
    rng, unit = stage.rng, high / 8
    skin, hair, top, legs = (rng.choice(tones) for tones in (SKINS, HAIR, CLOTHES, CLOTHES))
    stage.shade(_flat(x, foot, unit * 1.3, unit * 0.3), 0.35, blur=unit * 0.6)
    hip, shoulder = foot - unit * 4.0, foot - unit * 6.6
    stride = unit * rng.uniform(0.15, 0.6)
    for way in (-1, 1):
        step = way * stride
        stage.poly(
            [(x - unit * 0.75 * (way < 0), hip), (x + unit * 0.75 * (way > 0), hip),
             (x + step + unit * 0.32, foot), (x + step - unit * 0.32, foot)],
            shaded(legs, 0.12 * (way > 0)),
        )  # fmt: skip
        stage.oval((x + step - unit * 0.45, foot - unit * 0.3, x + step + unit * 0.45, foot),
                   (40, 36, 34))  # fmt: skip
        arm = [(x + way * unit * 0.85, shoulder + unit * 0.5),
               (x + way * unit * rng.uniform(1.0, 1.4), hip - unit * 0.9),
               (x + way * unit * rng.uniform(0.9, 1.3), hip + unit * 0.3)]  # fmt: skip
        stage.line(arm, shaded(top, 0.14), unit * 0.5)
        hand = arm[-1]
        stage.oval(_around(hand, unit * 0.25), skin)
    stage.rect((x - unit * 0.22, shoulder - unit * 0.35, x + unit * 0.22, shoulder + unit), skin)
    stage.rect((x - unit, shoulder, x + unit, hip + unit * 0.2), top, round_by=unit * 0.5)
    head(stage, x, shoulder - unit * 0.75, unit, (skin, hair), back=back)


def head(
    stage: Stage,
    x: float,
    y: float,
    unit: float,
    tones: tuple[Colour, Colour],
    *,
    back: bool = False,
) -> None:
    """Draw a head around (x, y), an eighth of its body is `unit`; tones of skin and hair."""
    skin, hair = tones
    if stage.rng.random() < 0.4:
        long = (x - unit * 0.66, y - unit * 0.3, x + unit * 0.66, y + unit * 0.85)
        stage.rect(long, hair, round_by=unit * 0.3)
    stage.oval((x - unit * 0.6, y - unit * 0.7, x + unit * 0.6, y + unit * 0.7), hair)
    if back:
        return
    stage.oval((x - unit * 0.5, y - unit * 0.45, x + unit * 0.5, y + unit * 0.68), skin)
    for way in (-1, 1):
        stage.oval(_around((x + way * unit * 0.2, y + unit * 0.05), unit * 0.06), (34, 28, 26))
    smile = [(x + unit * k * 0.16, y + unit * (0.41 - 0.05 * abs(k))) for k in (-1, 0, 1)]
    stage.line(smile, shaded(skin, 0.35), unit * 0.06)


def _flat(x: float, y: float, wide: float, high: float) -> list[tuple[float, float]]:
    return [(x - wide, y - high), (x + wide, y - high), (x + wide, y + high), (x - wide, y + high)]


def _around(spot: tuple[float, float], radius: float) -> Box:
    return spot[0] - radius, spot[1] - radius, spot[0] + radius, spot[1] + radius


def people(stage: Stage, n: int, foot: tuple[float, float], high: float) -> None:
    """Let up to `n` people walk where they hide nothing; feet between the two heights."""
    rng = stage.rng
    feet = sorted(rng.uniform(*foot) for _ in range(n))
    for y in feet:
        # who is nearer is taller
        tall = high * (1 + 0.5 * (y - foot[0]) / max(1.0, foot[1] - foot[0]))
        x = rng.uniform(0.03, 0.97) * stage.width
        if stage.free((x - tall * 0.2, y - tall, x + tall * 0.2, y + tall * 0.04)):
            person(stage, x, y, tall, back=rng.random() < 0.4)


def tree(stage: Stage, x: float, foot: float, high: float) -> None:
    """Draw a tree, where it hides nothing."""
    rng = stage.rng
    if not stage.free((x - high * 0.3, foot - high, x + high * 0.3, foot)):
        return
    trunk, leaf = (96, 74, 56), rng.choice(LEAVES)
    stage.poly(
        [(x - high * 0.025, foot - high * 0.5), (x + high * 0.025, foot - high * 0.5),
         (x + high * 0.04, foot), (x - high * 0.04, foot)], trunk,
    )  # fmt: skip
    for k in range(14):
        size = high * rng.uniform(0.09, 0.16)
        dx, dy = rng.uniform(-0.17, 0.17) * high, rng.uniform(-0.84, -0.4) * high
        tone = shaded(leaf, rng.uniform(-0.14, 0.16) - 0.01 * k)
        stage.oval(_around((x + dx, foot + dy), size), tone)


def lamp(stage: Stage, x: float, foot: float, high: float) -> None:
    """Draw a street lamp, where it hides nothing."""
    if not stage.free((x - high * 0.06, foot - high, x + high * 0.06, foot)):
        return
    stage.line([(x, foot), (x, foot - high * 0.9)], (52, 54, 58), high * 0.018)
    top = foot - high
    stage.poly([(x - high * 0.05, top + high * 0.03), (x + high * 0.05, top + high * 0.03),
                (x + high * 0.03, top + high * 0.11), (x - high * 0.03, top + high * 0.11)],
               (250, 240, 200))  # fmt: skip
    brim = top + high * 0.03
    stage.poly([(x - high * 0.06, brim), (x, top), (x + high * 0.06, brim)], (52, 54, 58))


def pot(stage: Stage, x: float, foot: float, high: float) -> None:
    """Draw a plant in a pot, where it hides nothing."""
    rng = stage.rng
    if not stage.free((x - high * 0.5, foot - high, x + high * 0.5, foot)):
        return
    clay, leaf = rng.choice(((168, 92, 62), (90, 92, 96), (214, 206, 190))), rng.choice(LEAVES)
    for _ in range(11):
        tip = (x + rng.uniform(-0.45, 0.45) * high, foot - rng.uniform(0.6, 1.0) * high)
        stage.line(
            [(x, foot - high * 0.35), tip], shaded(leaf, rng.uniform(-0.2, 0.2)), high * 0.06
        )
    stage.poly([(x - high * 0.24, foot - high * 0.4), (x + high * 0.24, foot - high * 0.4),
                (x + high * 0.17, foot), (x - high * 0.17, foot)], clay)  # fmt: skip
