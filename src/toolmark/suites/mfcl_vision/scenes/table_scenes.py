"""Tickets and parcels on a table from above, and a shop window from the street."""

from __future__ import annotations

import random
from math import cos, radians, sin

from toolmark.generation.drawing.canvas import Colour
from toolmark.generation.drawing.perspective import Corners, Point
from toolmark.suites.mfcl_vision.scenes import (
    board_faces,
    print_faces,
    scene_backgrounds,
    scene_props,
)
from toolmark.suites.mfcl_vision.scenes.foreground_signs import draw_small_sign
from toolmark.suites.mfcl_vision.scenes.scene_canvas import PICTURE_SIZES, SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import (
    SignArrangement,
    StyledSign,
    spread_along,
)
from toolmark.suites.mfcl_vision.scenes.sign_faces import SignFace, shade_colour
from toolmark.suites.mfcl_vision.scenes.wall_scenes import draw_extras, hang_face, make_faces

TABLE_COLOURS: tuple[Colour, ...] = (
    (148, 112, 78), (104, 78, 58), (176, 160, 140), (92, 104, 116), (196, 190, 180), (70, 96, 92),
)  # fmt: skip


def draw_tickets(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw tickets on a table, seen from above."""
    return _draw_table(rng, arrangement, print_faces.make_ticket)


def draw_parcels(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw packages that lie on a table, seen from above."""
    return _draw_table(rng, arrangement, print_faces.make_package)


def _draw_table(
    rng: random.Random, arrangement: SignArrangement, make: print_faces.FaceMaker
) -> SceneCanvas:
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), rng.choice(TABLE_COLOURS))
    width, height = canvas.width, canvas.height
    wood = rng.choice(TABLE_COLOURS)
    plane = scene_backgrounds.make_slanted_plane(rng, width, height, 0.0)
    kind = rng.choice(("boards", "plaster", "panels"))
    scene_backgrounds.draw_wall(canvas, plane, (0, 0, width, height), wood, kind)
    leaflets = [_make_leaflet(canvas, part) for part in arrangement.foreground]
    row = make_faces(canvas, arrangement.row, make, width * 0.9, 26)
    boxes = [_askew_size(face) for face, _ in row]
    starts = spread_along(rng, [size[0] for size in boxes], width * 0.97, 8)
    bottom = height - max((_askew_size(face)[1] for face, _ in leaflets), default=0.0)
    for x, (face, n), size in zip(starts, row, boxes, strict=True):
        space = bottom - size[1] - height * 0.04
        if space < 0:
            raise ValueError("a thing is longer than the table is wide")
        spot = (x + width * 0.015 + size[0] / 2, height * 0.02 + size[1] / 2 + space * rng.random())
        _lay_face(canvas, face, spot, rng.uniform(-6, 6), n)
    for face, n in leaflets:
        size = _askew_size(face)
        spot = (rng.uniform(size[0] / 2, width - size[0] / 2), height - size[1] / 2)
        _lay_face(canvas, face, spot, rng.uniform(-6, 6), n)
    for part in arrangement.clutter:
        draw_small_sign(canvas, part, (0, 0, width, height))
    for _ in range(rng.randint(1, 4)):
        _draw_small_object(canvas)
    return canvas


def _make_leaflet(canvas: SceneCanvas, part: StyledSign) -> tuple[SignFace, int]:
    """Return a leaflet with larger letters than other objects on the table."""
    return print_faces.make_leaflet(
        canvas.rng, part, part.share * canvas.height, canvas.width * 0.8
    ), part.n


def _askew_size(face: SignFace) -> tuple[float, float]:
    """Return the size of the area that a slightly rotated object needs."""
    width, height, turn = face.sheet.width, face.sheet.height, sin(radians(6))
    return width + height * turn + 12, height + width * turn + 12


def _lay_face(
    canvas: SceneCanvas, face: SignFace, centre: Point, degrees: float, n: int | None
) -> None:
    corners = _rotated_corners(face.sheet.width, face.sheet.height, centre, degrees)
    shadow = [(x + 8, y + 10) for x, y in corners]
    canvas.shade_area(shadow, 0.4, blur=10)
    canvas.place_face(face, corners, n)


def _rotated_corners(width: float, height: float, centre: Point, degrees: float) -> Corners:
    turn = radians(degrees)

    def rotate(x: float, y: float) -> Point:
        return (
            centre[0] + x * cos(turn) - y * sin(turn), centre[1] + x * sin(turn) + y * cos(turn)
        )  # fmt: skip

    half = (width / 2, height / 2)
    return (
        rotate(-half[0], -half[1]),
        rotate(half[0], -half[1]),
        rotate(half[0], half[1]),
        rotate(-half[0], half[1]),
    )


def _draw_small_object(canvas: SceneCanvas) -> None:
    """Draw a cup, a pen or a coin where there is room."""
    rng = canvas.rng
    size = canvas.height * rng.uniform(0.03, 0.09)
    for _ in range(12):
        x, y = rng.uniform(0.05, 0.95) * canvas.width, rng.uniform(0.05, 0.95) * canvas.height
        if canvas.is_free((x - size * 1.4, y - size * 1.4, x + size * 1.4, y + size * 1.4)):
            break
    else:
        return
    if size > canvas.height * 0.06:
        _draw_saucer(canvas, x, y, size)
    elif size > canvas.height * 0.04:
        turn, colour = rng.uniform(0, 3.1), rng.choice(scene_props.CLOTHES_COLOURS)
        ends = [(x - cos(turn) * size * 1.3, y - sin(turn) * size * 1.3),
                (x + cos(turn) * size * 1.3, y + sin(turn) * size * 1.3)]  # fmt: skip
        canvas.shade_area(
            [(a + 4, b + 6) for a, b in (*ends, (ends[1][0], ends[1][1] + 8))], 0.3, blur=4
        )
        canvas.draw_line(ends, colour, 9)
        canvas.draw_line([ends[0], (x - cos(turn) * size * 0.8, y - sin(turn) * size * 0.8)],
                   (220, 220, 222), 9)  # fmt: skip
    else:
        gold = rng.choice(((206, 168, 84), (186, 190, 196)))
        canvas.fill_ellipse((x - size, y - size, x + size, y + size), shade_colour(gold, 0.3))
        canvas.fill_ellipse(
            (x - size * 0.88, y - size * 0.88, x + size * 0.88, y + size * 0.88), gold
        )


def _draw_saucer(canvas: SceneCanvas, x: float, y: float, size: float) -> None:
    """Draw a cup of coffee from above."""
    china = canvas.rng.choice(((244, 242, 236), (90, 120, 140), (180, 84, 66)))
    ring = [(x - size, y - size), (x + size, y - size), (x + size, y + size), (x - size, y + size)]
    canvas.shade_area([(a + 8, b + 10) for a, b in ring], 0.3, blur=14)
    for reach, tone in ((1.25, shade_colour(china, 0.08)), (0.85, china), (0.72, (70, 44, 28))):
        side = size * reach
        canvas.fill_ellipse((x - side, y - side, x + side, y + side), tone)


def draw_window(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw the window of a clothes shop: signs on strings above figures that wear clothes."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (200, 196, 190))
    width, height = canvas.width, canvas.height
    frame = shade_colour(rng.choice(scene_props.CLOTHES_COLOURS), 0.3)
    inside = rng.choice(((232, 222, 208), (206, 214, 216), (226, 206, 200), (88, 84, 92)))
    canvas.fill_rectangle((0, 0, width, height), frame)
    sill = height * rng.uniform(0.86, 0.9)
    canvas.fill_gradient(
        (width * 0.02, height * 0.03, width * 0.98, sill), inside, shade_colour(inside, 0.18)
    )
    canvas.fill_rectangle(
        (width * 0.02, sill - height * 0.07, width * 0.98, sill), shade_colour(inside, 0.3)
    )
    row = make_faces(canvas, arrangement.row, board_faces.make_caption_card, width * 0.86, 30)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.92, 20)
    for x, numbered_face in zip(starts, row, strict=True):
        x, face = x + width * 0.04, numbered_face[0]
        top = height * rng.uniform(0.08, 0.14)
        if top + face.sheet.height > sill - height * 0.3:
            raise ValueError("a sign hangs lower than the window")
        for foot in (x + 20, x + face.sheet.width - 20):
            canvas.draw_line([(foot, height * 0.03), (foot, top + 2)], (120, 116, 110), 2)
        plane = scene_backgrounds.make_slanted_plane(rng, width, height, 0.02)
        box = hang_face(canvas, plane, numbered_face, (x, top))
        _draw_mannequin(
            canvas, x + face.sheet.width / 2, sill - height * 0.03, sill - box[3] - height * 0.1
        )
    for share in (0.1, 0.55):
        x = width * (share + rng.uniform(0, 0.2))
        glint = [(x, height * 0.03), (x + 80, height * 0.03), (x - 60, sill), (x - 140, sill)]
        canvas.shade_area(glint, 0.12, blur=10, white=True)
    scene_backgrounds.draw_floor(canvas, height * 0.96, (150, 146, 140))
    draw_extras(canvas, arrangement, (width * 0.02, height * 0.03, width * 0.98, sill))
    return canvas


def _draw_mannequin(canvas: SceneCanvas, x: float, foot: float, tall: float) -> None:
    """Draw a shop window figure that wears a dress or a coat."""
    rng, unit = canvas.rng, tall / 8
    skin, cloth = (224, 214, 202), rng.choice(scene_props.CLOTHES_COLOURS)
    canvas.fill_ellipse(
        (x - unit * 1.3, foot - unit * 0.4, x + unit * 1.3, foot + unit * 0.2), (70, 66, 62)
    )
    canvas.draw_line([(x, foot), (x, foot - tall * 0.5)], (120, 118, 116), max(3, unit * 0.3))
    canvas.fill_ellipse(
        (x - unit * 0.55, foot - tall, x + unit * 0.55, foot - tall + unit * 1.5), skin
    )
    canvas.fill_rectangle(
        (x - unit * 0.22, foot - tall + unit * 1.2, x + unit * 0.22, foot - tall + unit * 2), skin
    )
    neck, hem = foot - tall + unit * 1.8, foot - tall * rng.uniform(0.12, 0.3)
    flare = unit * rng.uniform(1.0, 2.0)
    canvas.fill_polygon([(x - unit * 1.15, neck + unit * 0.2), (x - unit * 0.3, neck),
                (x + unit * 0.3, neck), (x + unit * 1.15, neck + unit * 0.2),
                (x + unit * 0.75, neck + unit * 2),
                (x + flare, hem), (x - flare, hem), (x - unit * 0.75, neck + unit * 2)],
               cloth)  # fmt: skip
    belt = (x - unit * 0.75, neck + unit * 1.9, x + unit * 0.75, neck + unit * 2.15)
    canvas.fill_rectangle(belt, shade_colour(cloth, 0.35))
