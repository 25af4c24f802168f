"""Outdoor scenes: stadium, team, race, park with plaques, market."""

from __future__ import annotations

import random

from toolmark.generation.drawing.perspective import Corners
from toolmark.suites.mfcl_vision.scenes import board_faces, scene_backgrounds, scene_props
from toolmark.suites.mfcl_vision.scenes.foreground_signs import (
    draw_foreground_board,
    draw_small_sign,
)
from toolmark.suites.mfcl_vision.scenes.scene_canvas import PICTURE_SIZES, SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import (
    PAPER_COLOURS,
    SignArrangement,
    spread_along,
)
from toolmark.suites.mfcl_vision.scenes.sign_faces import SignFace, shade_colour
from toolmark.suites.mfcl_vision.scenes.wall_scenes import (
    NumberedFace,
    draw_extras,
    hang_face,
    make_faces,
)


def draw_stadium(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a stand with banners on its parapet, and players in front of it."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (150, 170, 190))
    width, height = canvas.width, canvas.height
    edge = height * rng.uniform(0.42, 0.5)
    scene_backgrounds.draw_sky(canvas, height * 0.2)
    canvas.fill_polygon(
        [(0, height * 0.06), (width, height * 0.02), (width, height * 0.09), (0, height * 0.13)],
        (206, 210, 214),
    )
    scene_backgrounds.draw_crowd(canvas, height * 0.13, edge)
    row = make_faces(canvas, arrangement.row, board_faces.make_board, width * 0.95, 14)
    tall = max(face.sheet.height for face, _ in row)
    pitch = edge + tall + height * 0.03
    if pitch > height * 0.86:
        raise ValueError("a banner is higher than the parapet of the stand")
    canvas.fill_gradient((0, edge, width, pitch), (146, 150, 156), (118, 122, 128))
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.98, 10)
    plane = scene_backgrounds.make_slanted_plane(rng, width, height, 0.02)
    for x, numbered_face in zip(starts, row, strict=True):
        hang_face(
            canvas,
            plane,
            numbered_face,
            (x + width * 0.01, edge + (tall - numbered_face[0].sheet.height) / 2),
        )
    scene_backgrounds.draw_grass(canvas, pitch, striped=True)
    chalk = (236, 240, 236)
    canvas.draw_line([(0, pitch + height * 0.05), (width, pitch + height * 0.05)], chalk, 3)
    canvas.draw_line([(width * 0.6, pitch + height * 0.05), (width * 0.4, height)], chalk, 4)
    for part in arrangement.foreground:
        draw_foreground_board(canvas, part)
    for part in arrangement.clutter:
        draw_small_sign(canvas, part, (0, height * 0.1, width, edge))
    scene_props.draw_people(
        canvas, rng.randint(1, 5), (pitch + height * 0.12, height), height * 0.3
    )
    return canvas


def draw_team(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw players side by side, with text on their jerseys."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (150, 170, 190))
    width, height = canvas.width, canvas.height
    pitch = height * rng.uniform(0.5, 0.58)
    scene_backgrounds.draw_sky(canvas, height * 0.24)
    scene_backgrounds.draw_crowd(canvas, height * 0.2, pitch - height * 0.06)
    canvas.fill_rectangle((0, pitch - height * 0.06, width, pitch), rng.choice(PAPER_COLOURS))
    scene_backgrounds.draw_grass(canvas, pitch, striped=True)
    row = make_faces(canvas, arrangement.row, board_faces.make_jersey, width * 0.9, 18)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.96, 8)
    for x, numbered_face in zip(starts, row, strict=True):
        tall = numbered_face[0].sheet.height
        top = height * rng.uniform(0.26, 0.32) - max(0.0, tall - height * 0.4) * 0.5
        if top < tall * 0.3 or top + tall > height * 0.94:
            raise ValueError("a jersey is larger than its player can be")
        draw_player(canvas, numbered_face, (x + width * 0.02, top))
    draw_extras(canvas, arrangement, (0, height * 0.2, width, pitch))
    return canvas


def draw_player(
    canvas: SceneCanvas, numbered_face: NumberedFace, spot: tuple[float, float]
) -> None:
    """Draw a player; `spot` is the upper left corner of the jersey."""
    rng, (x, y), (face, n) = canvas.rng, spot, numbered_face
    width, height = face.sheet.width, face.sheet.height
    middle, chest = x + width / 2, width * 0.62
    skin, hair = rng.choice(scene_props.SKIN_COLOURS), rng.choice(scene_props.HAIR_COLOURS)
    short = rng.choice(((240, 240, 238), (28, 30, 38), shade_colour(face.sheet.background, 0.35)))
    bottom, knee = y + height, y + height + chest * 0.62
    sock = shade_colour(face.sheet.background, 0.2)
    for side_sign in (-1, 1):
        leg = middle + side_sign * chest * 0.26
        canvas.draw_line(
            [(leg, knee - 8), (leg + side_sign * 6, knee + chest * 0.5)], skin, chest * 0.2
        )
        canvas.draw_line(
            [(leg + side_sign * 6, knee + chest * 0.4), (leg + side_sign * 8, knee + chest)],
            sock,
            chest * 0.2,
        )
        side = [(middle, bottom - 6), (middle + side_sign * chest * 0.5, bottom - 6),
                (middle + side_sign * chest * 0.54, knee),
                (middle + side_sign * chest * 0.06, knee)]  # fmt: skip
        canvas.fill_polygon(side, short)
        arm = [(middle + side_sign * width * 0.43, y + height * 0.36),
               (middle + side_sign * width * 0.47, y + height * 0.72),
               (middle + side_sign * width * 0.44, y + height * 0.96)]  # fmt: skip
        canvas.draw_line(arm, skin, width * 0.09)
    canvas.fill_rectangle(
        (middle - chest * 0.13, y - chest * 0.2, middle + chest * 0.13, y + chest * 0.1), skin
    )
    scene_props.draw_head(canvas, middle, y - chest * 0.32, chest * 0.42, (skin, hair))
    canvas.place_face(face, _upright_corners(face, x, y), n)


def _upright_corners(face: SignFace, x: float, y: float) -> Corners:
    right, bottom = x + face.sheet.width, y + face.sheet.height
    return (x, y), (right, y), (right, bottom), (x, bottom)


def draw_race(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw the start of a race: an arch without text, runners with bibs on their shirts."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (150, 170, 190))
    width, height = canvas.width, canvas.height
    road = height * rng.uniform(0.46, 0.54)
    scene_backgrounds.draw_sky(canvas, road)
    for _ in range(rng.randint(3, 8)):
        scene_props.draw_tree(
            canvas, rng.uniform(0, 1) * width, road + height * 0.02, height * rng.uniform(0.2, 0.4)
        )
    scene_backgrounds.draw_grass(canvas, road)
    canvas.fill_polygon(
        [(width * 0.4, road), (width * 0.6, road), (width * 1.3, height), (-width * 0.3, height)],
        (110, 112, 118),
    )
    _draw_arch(canvas, road)
    row = make_faces(canvas, arrangement.row, board_faces.make_bib, width * 0.74, 60)
    widths = [face.sheet.width * 1.5 for face, _ in row]
    starts = spread_along(rng, widths, width * 0.97, 4)
    for x, numbered_face, span in zip(starts, row, widths, strict=True):
        tall = max(numbered_face[0].sheet.height * 1.7, span * 0.72)
        top = height * rng.uniform(0.36, 0.46) - max(0.0, tall - height * 0.3) * 0.4
        if top < span * 0.24 or top + tall > height * 0.94:
            raise ValueError("a runner is larger than the picture")
        _draw_runner(canvas, numbered_face, (x + width * 0.015, top, span, tall))
    draw_extras(canvas, arrangement, (0, height * 0.04, width, road))
    return canvas


def _draw_arch(canvas: SceneCanvas, road: float) -> None:
    rng, width, colour = canvas.rng, canvas.width, canvas.rng.choice(PAPER_COLOURS)
    left, right, thick = width * 0.16, width * 0.84, width * 0.035
    top = canvas.height * rng.uniform(0.04, 0.1)
    canvas.fill_rectangle((left, top, right, top + thick * 2.2), colour, round_by=thick)
    for x in (left, right - thick):
        canvas.fill_rectangle(
            (x, top + thick, x + thick, road + canvas.height * 0.12),
            shade_colour(colour, 0.12),
            round_by=thick / 2,
        )
    x = left + thick * 1.5
    while x < right - thick * 2:
        canvas.fill_polygon(
            [
                (x, top + 4),
                (x + thick * 0.8, top + 4),
                (x + thick * 0.5, top + thick * 2.1),
                (x - thick * 0.3, top + thick * 2.1),
            ],
            shade_colour(colour, -0.45),
        )
        x += thick * 1.8


def _draw_runner(
    canvas: SceneCanvas, numbered_face: NumberedFace, box: tuple[float, float, float, float]
) -> None:
    """Draw a runner: `box` is the shirt's left, top, width and height."""
    rng, (x, y, span, tall), (face, n) = canvas.rng, box, numbered_face
    middle, half = x + span / 2, span * 0.37
    skin, hair = rng.choice(scene_props.SKIN_COLOURS), rng.choice(scene_props.HAIR_COLOURS)
    shirt = rng.choice(scene_props.CLOTHES_COLOURS)
    short = rng.choice(((30, 32, 40), (60, 66, 84), (90, 40, 44)))
    bottom = y + tall
    for side_sign in (-1, 1):
        step, side = rng.uniform(0.1, 0.5) * half, middle + side_sign * half * 0.5
        leg = [
            (side, bottom),
            (side + side_sign * step, bottom + span * 0.5),
            (side, bottom + span * 1.1),
        ]
        canvas.draw_line(leg, skin, half * 0.36)
        elbow = (middle + side_sign * half * 1.3, y + tall * 0.55)
        arm = [(middle + side_sign * half * 0.98, y + span * 0.12), elbow,
               (middle + side_sign * half * 1.1, y + tall * 0.4)]  # fmt: skip
        canvas.draw_line(arm, skin, half * 0.28)
    canvas.fill_rectangle(
        (middle - half, bottom - tall * 0.12, middle + half, bottom + span * 0.2),
        short,
        round_by=half * 0.2,
    )
    canvas.fill_rectangle(
        (middle - half * 0.3, y - half * 0.4, middle + half * 0.3, y + half * 0.3), skin
    )
    canvas.fill_rectangle((middle - half, y, middle + half, bottom), shirt, round_by=half * 0.3)
    scene_props.draw_head(canvas, middle, y - half * 0.5, half * 0.7, (skin, hair))
    left, top = middle - face.sheet.width / 2, y + (tall - face.sheet.height) * 0.55
    canvas.place_face(face, _upright_corners(face, left, top), n)


def draw_park(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a park with plaques on stones."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (150, 170, 190))
    width, height = canvas.width, canvas.height
    line = height * rng.uniform(0.46, 0.54)
    scene_backgrounds.draw_sky(canvas, line)
    foliage = rng.choice(scene_props.LEAF_COLOURS)
    for _ in range(30):
        x, size = rng.uniform(0, width), height * rng.uniform(0.04, 0.09)
        canvas.fill_ellipse(
            (x - size * 1.6, line - size, x + size * 1.6, line + size),
            shade_colour(foliage, rng.uniform(-0.25, 0)),
        )
    for _ in range(rng.randint(2, 6)):
        scene_props.draw_tree(
            canvas,
            rng.uniform(0, 1) * width,
            line + height * rng.uniform(0.02, 0.08),
            height * rng.uniform(0.35, 0.55),
        )
    scene_backgrounds.draw_grass(canvas, line)
    path = rng.uniform(0.3, 0.7) * width
    canvas.fill_polygon([(path, line), (path + width * 0.05, line), (path + width * 0.5, height),
                (path - width * 0.2, height)], (206, 192, 164))  # fmt: skip
    row = make_faces(canvas, arrangement.row, board_faces.make_plaque, width * 0.84, 50)
    widths = [face.sheet.width + 44.0 for face, _ in row]
    starts = spread_along(rng, widths, width * 0.96, 10)
    # Behind the stones, which may hide them.
    scene_props.draw_people(
        canvas, rng.randint(0, 3), (line + height * 0.1, line + height * 0.2), height * 0.22
    )
    for x, numbered_face, span in zip(starts, row, widths, strict=True):
        _draw_stone(canvas, numbered_face, x + width * 0.02, span)
    draw_extras(canvas, arrangement, (0, height * 0.3, width, height * 0.9))
    return canvas


def _draw_stone(canvas: SceneCanvas, numbered_face: NumberedFace, x: float, span: float) -> None:
    """Draw a stone of width `span` on the grass, with a plaque on it."""
    rng, height = canvas.rng, numbered_face[0].sheet.height
    grey = rng.choice(((150, 146, 138), (126, 124, 122), (172, 164, 150)))
    foot = canvas.height * rng.uniform(0.84, 0.92)
    tall = height + rng.uniform(70, 150)
    top = foot - tall
    if top < canvas.height * 0.03:
        raise ValueError("a stone is higher than the picture")
    canvas.shade_area([(x - 20, foot - 12), (x + span + 60, foot - 12), (x + span + 40, foot + 18),
                 (x - 10, foot + 18)], 0.4, blur=14)  # fmt: skip
    lean = rng.uniform(0.0, 0.06) * span
    canvas.fill_polygon([(x + lean, top + 14), (x + span * 0.2, top), (x + span * 0.8, top),
                (x + span - lean, top + 14), (x + span + 8, foot), (x - 8, foot)],
               grey)  # fmt: skip
    canvas.fill_polygon([(x + span - lean, top + 14), (x + span + 8, foot), (x + span - 12, foot),
                (x + span - lean - 12, top + 14)], shade_colour(grey, 0.18))  # fmt: skip
    plane = scene_backgrounds.make_slanted_plane(rng, canvas.width, canvas.height, 0.008)
    left = x + (span - numbered_face[0].sheet.width) / 2
    hang_face(canvas, plane, numbered_face, (left, top + 26 + rng.uniform(0, 14)))


def draw_market(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw stalls with striped roofs, boards below the roofs, and fruit on the tables."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (150, 170, 190))
    width, height = canvas.width, canvas.height
    ground = height * rng.uniform(0.74, 0.8)
    scene_backgrounds.draw_sky(canvas, height * 0.4)
    plane = scene_backgrounds.make_slanted_plane(rng, width, ground, 0.02)
    paint = shade_colour(rng.choice(scene_backgrounds.WALL_COLOURS), -0.2)
    scene_backgrounds.draw_wall(
        canvas, plane, (0, height * rng.uniform(0.04, 0.14), width, ground), paint
    )
    scene_backgrounds.draw_floor(canvas, ground * 0.97)
    row = make_faces(canvas, arrangement.row, board_faces.make_board, width * 0.93, 24)
    widths = [max(face.sheet.width + 12.0, width * 0.2) for face, _ in row]
    starts = spread_along(rng, widths, width * 0.98, 8)
    for x, numbered_face, span in zip(starts, row, widths, strict=True):
        _draw_stall(
            canvas, numbered_face, (x + width * 0.01, x + width * 0.01 + span), height * 0.9
        )
    draw_extras(canvas, arrangement, (0, height * 0.02, width, height * 0.3))
    scene_props.draw_people(canvas, rng.randint(0, 3), (height * 0.92, height), height * 0.36)
    return canvas


def _draw_stall(
    canvas: SceneCanvas, numbered_face: NumberedFace, edges: tuple[float, float], foot: float
) -> None:
    rng, (left, right), face = canvas.rng, edges, numbered_face[0]
    colour, n = rng.choice(PAPER_COLOURS), 9
    roof = canvas.height * rng.uniform(0.16, 0.22)
    eave = roof + canvas.height * 0.13
    table = foot - canvas.height * rng.uniform(0.24, 0.28)
    if eave + face.sheet.height > table - canvas.height * 0.08:
        raise ValueError("a stall's board leaves no room for its table")
    for x in (left + 10, right - 10):
        canvas.draw_line([(x, roof), (x, foot)], (120, 96, 70), 8)
    dark = (left + 14, eave, right - 14, table)
    canvas.fill_gradient(dark, (60, 54, 50), (104, 94, 84))
    if rng.random() < 0.7:
        person = (left + right) / 2 + rng.uniform(-0.2, 0.2) * (right - left)
        scene_props.draw_person(canvas, person, foot, foot - eave - face.sheet.height - 10)
    for k in range(n):
        tone = colour if k % 2 else (244, 240, 232)
        x0, x1 = (left + (right - left) * j / n for j in (k, k + 1))
        slim = [left + (right - left) * (0.08 + 0.84 * j / n) for j in (k, k + 1)]
        canvas.fill_polygon([(slim[0], roof), (slim[1], roof), (x1, eave), (x0, eave)], tone)
        canvas.fill_ellipse((x0, eave - 9, x1, eave + 9), tone)
    x = (left + right - face.sheet.width) / 2
    plane = scene_backgrounds.make_slanted_plane(rng, canvas.width, canvas.height, 0.006)
    hang_face(canvas, plane, numbered_face, (x, eave + 10))
    _draw_table(canvas, (left, table, right, foot))


def _draw_table(canvas: SceneCanvas, box: tuple[float, float, float, float]) -> None:
    """Draw a stall's table with crates of fruit."""
    rng, (left, top, right, bottom) = canvas.rng, box
    cloth = rng.choice(scene_props.CLOTHES_COLOURS)
    canvas.fill_rectangle((left, top + 16, right, bottom), cloth)
    x = left + 4
    while x + 50 < right:
        width = min(rng.uniform(70, 120), right - x - 4)
        canvas.fill_rectangle((x, top - 20, x + width, top + 18), (168, 132, 88))
        fruit = rng.choice(((206, 60, 48), (232, 150, 40), (240, 206, 70), (110, 150, 60),
                            (120, 60, 110)))  # fmt: skip
        for k in range(int(width / 15)):
            for layer in (0, 1):
                spot = (x + 8 + k * 15 + layer * 6, top - 22 - layer * 9)
                tone = shade_colour(fruit, rng.uniform(-0.15, 0.15))
                canvas.fill_ellipse((spot[0] - 9, spot[1] - 9, spot[0] + 9, spot[1] + 9), tone)
        x += width + 6
