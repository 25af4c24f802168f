"""Objects without signs: people, trees, lamps, pots."""

from __future__ import annotations

from toolmark.generation.drawing.canvas import Colour
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.scenes.scene_canvas import SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_faces import shade_colour

SKIN_COLOURS: tuple[Colour, ...] = (
    (244, 212, 186), (226, 184, 148), (198, 148, 108), (150, 104, 72), (104, 70, 50), (84, 56, 42),
)  # fmt: skip
HAIR_COLOURS: tuple[Colour, ...] = (
    (36, 28, 24), (70, 48, 32), (120, 84, 46), (180, 150, 96), (150, 150, 150), (20, 20, 22),
    (110, 52, 30),
)  # fmt: skip
CLOTHES_COLOURS: tuple[Colour, ...] = (
    (52, 74, 110), (140, 60, 60), (70, 96, 78), (196, 180, 150), (60, 60, 66), (176, 120, 70),
    (110, 90, 130), (214, 210, 204), (90, 130, 150), (184, 96, 110), (40, 44, 52),
)  # fmt: skip
LEAF_COLOURS: tuple[Colour, ...] = ((62, 110, 58), (84, 130, 66), (48, 92, 60), (120, 140, 60))


def draw_person(
    canvas: SceneCanvas, x: float, foot: float, height: float, *, back: bool = False
) -> None:
    """Draw a person of this height who stands at (x, foot); `back`: turned away."""
    rng, unit = canvas.rng, height / 8
    skin, hair, top, legs = (
        rng.choice(tones)
        for tones in (SKIN_COLOURS, HAIR_COLOURS, CLOTHES_COLOURS, CLOTHES_COLOURS)
    )
    canvas.shade_area(_flat_quad(x, foot, unit * 1.3, unit * 0.3), 0.35, blur=unit * 0.6)
    hip, shoulder = foot - unit * 4.0, foot - unit * 6.6
    stride = unit * rng.uniform(0.15, 0.6)
    for side in (-1, 1):
        step = side * stride
        canvas.fill_polygon(
            [(x - unit * 0.75 * (side < 0), hip), (x + unit * 0.75 * (side > 0), hip),
             (x + step + unit * 0.32, foot), (x + step - unit * 0.32, foot)],
            shade_colour(legs, 0.12 * (side > 0)),
        )  # fmt: skip
        canvas.fill_ellipse(
            (x + step - unit * 0.45, foot - unit * 0.3, x + step + unit * 0.45, foot), (40, 36, 34)
        )
        arm = [(x + side * unit * 0.85, shoulder + unit * 0.5),
               (x + side * unit * rng.uniform(1.0, 1.4), hip - unit * 0.9),
               (x + side * unit * rng.uniform(0.9, 1.3), hip + unit * 0.3)]  # fmt: skip
        canvas.draw_line(arm, shade_colour(top, 0.14), unit * 0.5)
        hand = arm[-1]
        canvas.fill_ellipse(_box_around(hand, unit * 0.25), skin)
    canvas.fill_rectangle(
        (x - unit * 0.22, shoulder - unit * 0.35, x + unit * 0.22, shoulder + unit), skin
    )
    canvas.fill_rectangle(
        (x - unit, shoulder, x + unit, hip + unit * 0.2), top, round_by=unit * 0.5
    )
    draw_head(canvas, x, shoulder - unit * 0.75, unit, (skin, hair), back=back)


def draw_head(
    canvas: SceneCanvas,
    x: float,
    y: float,
    unit: float,
    tones: tuple[Colour, Colour],
    *,
    back: bool = False,
) -> None:
    """Draw a head around (x, y); `unit` is an eighth of the body; tones of skin and hair."""
    skin, hair = tones
    if canvas.rng.random() < 0.4:
        long = (x - unit * 0.66, y - unit * 0.3, x + unit * 0.66, y + unit * 0.85)
        canvas.fill_rectangle(long, hair, round_by=unit * 0.3)
    canvas.fill_ellipse((x - unit * 0.6, y - unit * 0.7, x + unit * 0.6, y + unit * 0.7), hair)
    if back:
        return
    canvas.fill_ellipse((x - unit * 0.5, y - unit * 0.45, x + unit * 0.5, y + unit * 0.68), skin)
    for side in (-1, 1):
        canvas.fill_ellipse(
            _box_around((x + side * unit * 0.2, y + unit * 0.05), unit * 0.06), (34, 28, 26)
        )
    smile = [(x + unit * k * 0.16, y + unit * (0.41 - 0.05 * abs(k))) for k in (-1, 0, 1)]
    canvas.draw_line(smile, shade_colour(skin, 0.35), unit * 0.06)


def _flat_quad(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [
        (x - width, y - height),
        (x + width, y - height),
        (x + width, y + height),
        (x - width, y + height),
    ]


def _box_around(spot: tuple[float, float], radius: float) -> Box:
    return spot[0] - radius, spot[1] - radius, spot[0] + radius, spot[1] + radius


def draw_people(canvas: SceneCanvas, n: int, foot: tuple[float, float], height: float) -> None:
    """Draw up to `n` people where they hide no sign; `foot` is the range of their feet."""
    rng = canvas.rng
    feet = sorted(rng.uniform(*foot) for _ in range(n))
    for y in feet:
        # Nearer people are taller.
        tall = height * (1 + 0.5 * (y - foot[0]) / max(1.0, foot[1] - foot[0]))
        x = rng.uniform(0.03, 0.97) * canvas.width
        if canvas.is_free((x - tall * 0.2, y - tall, x + tall * 0.2, y + tall * 0.04)):
            draw_person(canvas, x, y, tall, back=rng.random() < 0.4)


def draw_tree(canvas: SceneCanvas, x: float, foot: float, height: float) -> None:
    """Draw a tree, where it hides no sign."""
    rng = canvas.rng
    if not canvas.is_free((x - height * 0.3, foot - height, x + height * 0.3, foot)):
        return
    trunk, leaf = (96, 74, 56), rng.choice(LEAF_COLOURS)
    canvas.fill_polygon(
        [(x - height * 0.025, foot - height * 0.5), (x + height * 0.025, foot - height * 0.5),
         (x + height * 0.04, foot), (x - height * 0.04, foot)], trunk,
    )  # fmt: skip
    for k in range(14):
        size = height * rng.uniform(0.09, 0.16)
        dx, dy = rng.uniform(-0.17, 0.17) * height, rng.uniform(-0.84, -0.4) * height
        tone = shade_colour(leaf, rng.uniform(-0.14, 0.16) - 0.01 * k)
        canvas.fill_ellipse(_box_around((x + dx, foot + dy), size), tone)


def draw_lamp(canvas: SceneCanvas, x: float, foot: float, height: float) -> None:
    """Draw a street lamp, where it hides no sign."""
    if not canvas.is_free((x - height * 0.06, foot - height, x + height * 0.06, foot)):
        return
    canvas.draw_line([(x, foot), (x, foot - height * 0.9)], (52, 54, 58), height * 0.018)
    top = foot - height
    canvas.fill_polygon(
        [
            (x - height * 0.05, top + height * 0.03),
            (x + height * 0.05, top + height * 0.03),
            (x + height * 0.03, top + height * 0.11),
            (x - height * 0.03, top + height * 0.11),
        ],
        (250, 240, 200),
    )
    brim = top + height * 0.03
    canvas.fill_polygon(
        [(x - height * 0.06, brim), (x, top), (x + height * 0.06, brim)], (52, 54, 58)
    )


def draw_potted_plant(canvas: SceneCanvas, x: float, foot: float, height: float) -> None:
    """Draw a plant in a pot, where it hides no sign."""
    rng = canvas.rng
    if not canvas.is_free((x - height * 0.5, foot - height, x + height * 0.5, foot)):
        return
    clay = rng.choice(((168, 92, 62), (90, 92, 96), (214, 206, 190)))
    leaf = rng.choice(LEAF_COLOURS)
    for _ in range(11):
        tip = (x + rng.uniform(-0.45, 0.45) * height, foot - rng.uniform(0.6, 1.0) * height)
        canvas.draw_line(
            [(x, foot - height * 0.35), tip],
            shade_colour(leaf, rng.uniform(-0.2, 0.2)),
            height * 0.06,
        )
    canvas.fill_polygon(
        [
            (x - height * 0.24, foot - height * 0.4),
            (x + height * 0.24, foot - height * 0.4),
            (x + height * 0.17, foot),
            (x - height * 0.17, foot),
        ],
        clay,
    )
