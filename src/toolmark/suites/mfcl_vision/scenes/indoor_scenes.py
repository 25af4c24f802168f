"""Indoor scenes: station, gallery, stage, wall of screens, trophy cabinet; and a cinema front."""

from __future__ import annotations

import random

from toolmark.generation.drawing.canvas import Colour
from toolmark.generation.drawing.perspective import Plane
from toolmark.suites.mfcl_vision.scenes import (
    board_faces,
    print_faces,
    scene_backgrounds,
    scene_props,
)
from toolmark.suites.mfcl_vision.scenes.foreground_signs import (
    draw_foreground_board,
    draw_small_sign,
)
from toolmark.suites.mfcl_vision.scenes.scene_canvas import PICTURE_SIZES, SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import SignArrangement, spread_along
from toolmark.suites.mfcl_vision.scenes.sign_faces import shade_colour
from toolmark.suites.mfcl_vision.scenes.wall_scenes import (
    NumberedFace,
    draw_extras,
    fill_with_blanks,
    hang_face,
    make_faces,
)

LAMP_COLOURS: tuple[Colour, ...] = ((255, 250, 226), (240, 246, 255))


def draw_station(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a hall with boards that hang from its ceiling."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (210, 212, 214))
    ground = canvas.height * rng.uniform(0.66, 0.74)
    wall_colour = rng.choice(scene_backgrounds.WALL_COLOURS)
    plane = Plane((canvas.width, ground), ((0, 0), (canvas.width, 0), (canvas.width, ground),
                                          (0, ground)))  # fmt: skip
    scene_backgrounds.draw_wall(
        canvas, plane, (0, 0, canvas.width, ground), shade_colour(wall_colour, -0.2), "panels"
    )
    _draw_arches(canvas, ground)
    scene_backgrounds.draw_floor(canvas, ground)
    _draw_beams(canvas)
    row = make_faces(canvas, arrangement.row, board_faces.make_board, canvas.width * 0.94, 18)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], canvas.width * 0.98, 14)
    for x, numbered_face in zip(starts, row, strict=True):
        top = canvas.height * rng.uniform(0.14, 0.22)
        for foot in (x + 24, x + numbered_face[0].sheet.width - 10):
            canvas.draw_line([(foot, 0), (foot, top + 4)], (70, 72, 76), 4)
        tilted = scene_backgrounds.make_slanted_plane(rng, canvas.width, canvas.height, 0.02)
        hang_face(canvas, tilted, numbered_face, (x + canvas.width * 0.01, top))
    for part in arrangement.foreground:
        draw_foreground_board(canvas, part)
    for part in arrangement.clutter:
        draw_small_sign(canvas, part, (0, canvas.height * 0.4, canvas.width, ground))
    scene_props.draw_people(
        canvas, rng.randint(3, 8), (ground + 10, canvas.height), canvas.height * 0.34
    )
    return canvas


def _draw_arches(canvas: SceneCanvas, ground: float) -> None:
    rng = canvas.rng
    n = rng.randint(3, 6)
    glass = rng.choice(((150, 186, 208), (222, 226, 214), (96, 116, 132)))
    for k in range(n):
        middle, width = canvas.width * (k + 0.5) / n, canvas.width * 0.34 / n
        top = ground * 0.34
        canvas.fill_ellipse(
            (middle - width, top - width * 0.6, middle + width, top + width * 0.9), glass
        )
        canvas.fill_rectangle(
            (middle - width, top + width * 0.1, middle + width, ground * 0.96), glass
        )
        for bar in (-0.5, 0.0, 0.5):
            x = middle + bar * width
            canvas.draw_line(
                [(x, top - width * 0.4), (x, ground * 0.96)], shade_colour(glass, 0.35), 3
            )


def _draw_beams(canvas: SceneCanvas) -> None:
    rng, colour = canvas.rng, canvas.rng.choice(((70, 76, 84), (120, 116, 108), (60, 82, 78)))
    canvas.fill_rectangle((0, 0, canvas.width, canvas.height * 0.07), colour)
    lamp = rng.choice(LAMP_COLOURS)
    for k in range(6):
        x = canvas.width * (k + 0.5) / 6
        canvas.fill_rectangle(
            (x - 50, canvas.height * 0.07, x + 50, canvas.height * 0.085), lamp, round_by=4
        )


def draw_gallery(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a room of a museum: works on the wall with their cards below or next to."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (230, 228, 222))
    ground = canvas.height * rng.uniform(0.84, 0.9)
    plane = scene_backgrounds.make_slanted_plane(rng, canvas.width, ground, 0.04)
    paint = rng.choice(
        ((236, 234, 226), (126, 44, 48), (46, 72, 88), (70, 92, 74), (214, 206, 190))
    )
    scene_backgrounds.draw_wall(
        canvas, plane, (0, -ground * 0.2, canvas.width, ground), paint, "plaster"
    )
    row = make_faces(canvas, arrangement.row, board_faces.make_caption_card, canvas.width * 0.9, 26)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], canvas.width * 0.96, 20)
    bottom = ground * rng.uniform(0.86, 0.93)
    for x, numbered_face in zip(starts, row, strict=True):
        x, width, height = (
            x + canvas.width * 0.02,
            numbered_face[0].sheet.width,
            numbered_face[0].sheet.height,
        )
        room = bottom - height - ground * 0.1
        if room < canvas.height * 0.12:
            raise ValueError("no room for a work of art above its card")
        size = (min(width * 1.02, room * 1.5), room * rng.uniform(0.75, 0.98))
        work = print_faces.make_blank_poster(rng, size)
        top = ground * 0.06 + (room - work.sheet.height)
        left = x + (width - work.sheet.width) / 2
        _hang_framed(canvas, plane, (work, None), (left, top))
        hang_face(canvas, plane, numbered_face, (x, bottom - height))
    _draw_skirting(canvas, plane, ground)
    draw_extras(canvas, arrangement, (0, canvas.height * 0.04, canvas.width, ground))
    scene_props.draw_people(
        canvas, rng.randint(0, 2), (canvas.height * 0.97, canvas.height), canvas.height * 0.5
    )
    return canvas


def _hang_framed(
    canvas: SceneCanvas, plane: Plane, numbered_face: NumberedFace, spot: tuple[float, float]
) -> None:
    """Draw a picture in a frame on the wall."""
    (x, y), sheet = spot, numbered_face[0].sheet
    wood = canvas.rng.choice(((176, 140, 72), (60, 44, 34), (30, 30, 32), (214, 206, 190)))
    canvas.shade_area(
        plane.rectangle_corners(x - 8, y, x + sheet.width + 20, y + sheet.height + 24),
        0.35,
        blur=12,
    )
    canvas.fill_polygon(
        plane.rectangle_corners(x - 12, y - 12, x + sheet.width + 12, y + sheet.height + 12), wood
    )
    canvas.place_face(
        numbered_face[0],
        plane.rectangle_corners(x, y, x + sheet.width, y + sheet.height),
        numbered_face[1],
    )


def _draw_skirting(canvas: SceneCanvas, plane: Plane, ground: float) -> None:
    bottom = max(plane.to_picture(0, ground)[1], plane.to_picture(canvas.width, ground)[1])
    canvas.fill_polygon(
        plane.rectangle_corners(-40, ground - 16, canvas.width + 40, ground), (236, 234, 228)
    )
    canvas.fill_polygon(
        [
            plane.to_picture(0, ground),
            plane.to_picture(canvas.width, ground),
            (canvas.width, bottom + 2),
            (0, bottom + 2),
        ],
        (120, 104, 88),
    )
    scene_backgrounds.draw_floor(canvas, bottom, (150, 118, 84))


def draw_stage(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a stage with banners above it, seen from the audience."""
    picture = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (28, 28, 36))
    width, height = picture.width, picture.height
    back = rng.choice(((44, 40, 66), (30, 48, 70), (66, 34, 44), (40, 44, 48)))
    picture.fill_gradient(
        (0, 0, width, height), shade_colour(back, 0.35), shade_colour(back, -0.12)
    )
    deck = height * rng.uniform(0.7, 0.76)
    row = make_faces(picture, arrangement.row, board_faces.make_banner, width * 0.92, 24)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.96, 20)
    for x, (face, _) in zip(starts, row, strict=True):
        middle = x + face.sheet.width / 2
        beam = [(middle - 14, 0), (middle + 14, 0), (middle + face.sheet.width * 0.8, deck),
                (middle - face.sheet.width * 0.8, deck)]  # fmt: skip
        picture.shade_area(beam, 0.28, blur=40, white=True)
    picture.fill_rectangle((0, height * 0.03, width, height * 0.05), (92, 94, 98))
    for x, numbered_face in zip(starts, row, strict=True):
        top = height * rng.uniform(0.05, 0.08)
        if top + numbered_face[0].sheet.height > deck:
            raise ValueError("a banner is longer than the stage is high")
        plane = scene_backgrounds.make_slanted_plane(rng, width, height, 0.02)
        hang_face(picture, plane, numbered_face, (x + width * 0.02, top))
    picture.fill_gradient((0, deck, width, deck + height * 0.05), (120, 96, 74), (86, 68, 54))
    picture.fill_gradient((0, deck + height * 0.05, width, height), (34, 32, 38), (20, 20, 24))
    _draw_speaker(picture, deck + height * 0.03)
    for part in arrangement.foreground:
        draw_foreground_board(picture, part)
    for part in arrangement.clutter:
        draw_small_sign(picture, part, (0, deck + height * 0.05, width, height))
    _draw_audience(picture, deck)
    return picture


def _draw_speaker(picture: SceneCanvas, foot: float) -> None:
    rng, tall = picture.rng, picture.height * 0.3
    x = rng.uniform(0.1, 0.9) * picture.width
    if not picture.is_free((x - tall * 0.3, foot - tall, x + tall * 0.3, foot)):
        return
    scene_props.draw_person(picture, x, foot, tall)
    desk = (x - tall * 0.2, foot - tall * 0.5, x + tall * 0.2, foot)
    picture.fill_rectangle(desk, rng.choice(((92, 66, 46), (70, 74, 80))), round_by=4)


def _draw_audience(picture: SceneCanvas, deck: float) -> None:
    """Draw heads from behind along the lower edge, where they hide no sign."""
    rng, size = picture.rng, picture.height * 0.05
    for y in (0.93, 0.99):
        x = rng.uniform(0, size)
        while x < picture.width:
            top = picture.height * y - size * rng.uniform(0.6, 1.0)
            if picture.is_free((x - size * 1.2, top - size, x + size * 1.2, picture.height)):
                tone = shade_colour(rng.choice(scene_props.CLOTHES_COLOURS), 0.4)
                box = (x - size * 1.2, top + size * 0.8, x + size * 1.2, picture.height + 40)
                picture.fill_rectangle(box, tone, round_by=size * 0.6)
                hair = shade_colour(rng.choice(scene_props.HAIR_COLOURS), 0.25)
                picture.fill_ellipse(
                    (x - size * 0.62, top - size * 0.7, x + size * 0.62, top + size), hair
                )
            x += size * rng.uniform(2.1, 3.2)


def draw_screens(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw televisions on a wall, with a cupboard below them."""
    picture = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (200, 196, 190))
    width, height = picture.width, picture.height
    ground = height * rng.uniform(0.88, 0.93)
    plane = scene_backgrounds.make_slanted_plane(rng, width, ground, 0.035)
    paint = rng.choice(scene_backgrounds.WALL_COLOURS)
    scene_backgrounds.draw_wall(
        picture, plane, (0, -ground * 0.2, width, ground), shade_colour(paint, -0.15), "plaster"
    )
    scene_backgrounds.draw_floor(picture, ground)
    row = make_faces(picture, arrangement.row, board_faces.make_screen, width * 0.92, 22)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.97, 16)
    line = ground * rng.uniform(0.62, 0.7)
    for x, numbered_face in zip(starts, row, strict=True):
        top = max(8.0, line - numbered_face[0].sheet.height)
        box = hang_face(picture, plane, numbered_face, (x + width * 0.015, top))
        if box[3] > ground * 0.86:
            raise ValueError("a screen is higher than the wall")
    wood = rng.choice(((150, 110, 74), (236, 232, 224), (70, 60, 54)))
    picture.fill_polygon(
        plane.rectangle_corners(width * 0.06, ground * 0.87, width * 0.94, ground), wood
    )
    for k in range(1, 5):
        x = width * (0.06 + 0.88 * k / 5)
        seam = [plane.to_picture(x, ground * 0.87), plane.to_picture(x, ground)]
        picture.draw_line(seam, shade_colour(wood, 0.3), 2)
    draw_extras(picture, arrangement, (0, height * 0.03, width, ground))
    scene_props.draw_potted_plant(
        picture, rng.choice((0.04, 0.96)) * width, ground + height * 0.03, height * 0.2
    )
    scene_props.draw_potted_plant(
        picture, rng.uniform(0.1, 0.9) * width, ground * 0.875, height * 0.1
    )
    return picture


def draw_trophies(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a cabinet of cups, each on a base with its plate."""
    picture = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (70, 56, 46))
    width, height = picture.width, picture.height
    wood = rng.choice(((104, 74, 52), (62, 48, 42), (150, 116, 82)))
    picture.fill_gradient((0, 0, width, height), shade_colour(wood, 0.5), shade_colour(wood, 0.25))
    plane = scene_backgrounds.make_slanted_plane(rng, width, height, 0.025)
    row = make_faces(picture, arrangement.row, board_faces.make_plaque, width * 0.9, 34)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.96, 26)
    # Lower in the picture if no foreground object is in front of the cups.
    floor = height * (rng.uniform(0.62, 0.7) if arrangement.foreground else rng.uniform(0.88, 0.92))
    tallest = max(face.sheet.height for face, _ in row)
    if floor - tallest < height * 0.26:
        raise ValueError("no room for cups above their plates")
    picture.fill_polygon(
        plane.rectangle_corners(-60, floor, width + 60, height * 1.2), shade_colour(wood, -0.1)
    )
    for x, numbered_face in zip(starts, row, strict=True):
        x, (face, _) = x + width * 0.02, numbered_face
        top = floor - face.sheet.height - 8
        base = plane.rectangle_corners(x - 10, top - 10, x + face.sheet.width + 10, floor)
        picture.fill_polygon(base, (34, 28, 26))
        hang_face(picture, plane, numbered_face, (x, top))
        size = min(face.sheet.width * 0.5, (top - height * 0.1) * 0.42) * rng.uniform(0.75, 1.0)
        _draw_cup(picture, plane.to_picture(x + face.sheet.width / 2, top - 10), size)
    picture.fill_polygon(
        plane.rectangle_corners(-60, -60, width + 60, height * 0.04), shade_colour(wood, -0.12)
    )
    glint = [(width * 0.1, 0), (width * 0.2, 0), (width * 0.05, height), (-width * 0.05, height)]
    picture.shade_area(glint, 0.1, blur=14, white=True)
    draw_extras(picture, arrangement, (0, height * 0.03, width, height))
    return picture


def _draw_cup(picture: SceneCanvas, foot: tuple[float, float], size: float) -> None:
    """Draw a cup of half width `size` that stands on a point."""
    gold = picture.rng.choice(((212, 168, 62), (196, 200, 206), (176, 118, 70)))
    dark, light = shade_colour(gold, 0.25), shade_colour(gold, -0.4)
    x, y = foot
    for side in (-1, 1):
        ear = (x + side * size * 0.62 - size * 0.34, y - size * 1.95, x + side * size * 0.62
               + size * 0.34, y - size * 1.2)  # fmt: skip
        picture.fill_ellipse(ear, dark)
        inner = (ear[0] + size * 0.1, ear[1] + size * 0.1, ear[2] - size * 0.1, ear[3] - size * 0.1)
        picture.fill_ellipse(inner, (60, 48, 40))
    picture.fill_polygon([(x - size * 0.66, y - size * 2.05), (x + size * 0.66, y - size * 2.05),
                  (x + size * 0.46, y - size * 1.0), (x + size * 0.14, y - size * 0.66),
                  (x + size * 0.14, y - size * 0.2), (x + size * 0.48, y), (x - size * 0.48, y),
                  (x - size * 0.14, y - size * 0.2), (x - size * 0.14, y - size * 0.66),
                  (x - size * 0.46, y - size * 1.0)], gold)  # fmt: skip
    picture.fill_ellipse((x - size * 0.66, y - size * 2.15, x + size * 0.66, y - size * 1.93), dark)
    picture.fill_polygon([(x - size * 0.46, y - size * 1.9), (x - size * 0.3, y - size * 1.9),
                  (x - size * 0.22, y - size * 1.1), (x - size * 0.34, y - size * 1.2)],
                 light)  # fmt: skip


def draw_cinema(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw the front of a cinema in the evening: posters in lit cases."""
    picture = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (30, 30, 40))
    width, height = picture.width, picture.height
    ground = height * rng.uniform(0.84, 0.89)
    plane = scene_backgrounds.make_slanted_plane(rng, width, ground, 0.035)
    paint = rng.choice(((74, 40, 48), (44, 52, 70), (58, 62, 60), (84, 70, 58)))
    scene_backgrounds.draw_wall(picture, plane, (0, -ground * 0.2, width, ground), paint, "tiles")
    picture.fill_polygon(
        plane.rectangle_corners(-60, -60, width + 60, height * 0.05), (200, 168, 90)
    )
    for k in range(40):
        x, y = plane.to_picture(width * (k + 0.5) / 40, height * 0.025)
        picture.fill_ellipse((x - 6, y - 6, x + 6, y + 6), (255, 246, 206))
    row = make_faces(picture, arrangement.row, print_faces.make_poster, width * 0.9, 34)
    room = (width * 0.17, height * 0.4)
    row = fill_with_blanks(rng, row, width * 0.94, room, gap=36, ends=arrangement.closed_ends)
    starts = spread_along(rng, [face.sheet.width for face, _ in row], width * 0.95, 26)
    for x, numbered_face in zip(starts, row, strict=True):
        x, sheet = x + width * 0.025, numbered_face[0].sheet
        space = ground * 0.96 - height * 0.08 - sheet.height
        if space < 0:
            raise ValueError("a poster is higher than its case")
        y = height * 0.08 + space * rng.uniform(0.3, 0.6)
        glow = plane.rectangle_corners(x - 30, y - 30, x + sheet.width + 30, y + sheet.height + 30)
        picture.shade_area(glow, 0.3, blur=40, white=True)
        case = plane.rectangle_corners(x - 11, y - 11, x + sheet.width + 11, y + sheet.height + 11)
        picture.fill_polygon(case, rng.choice(((196, 160, 84), (150, 154, 160), (24, 24, 26))))
        picture.place_face(
            numbered_face[0],
            plane.rectangle_corners(x, y, x + sheet.width, y + sheet.height),
            numbered_face[1],
        )
    scene_backgrounds.draw_floor(picture, ground + height * 0.035, (92, 88, 90))
    picture.fill_polygon(
        [
            plane.to_picture(0, ground),
            plane.to_picture(width, ground),
            (width, ground + height * 0.04),
            (0, ground + height * 0.04),
        ],
        (70, 66, 68),
    )
    draw_extras(picture, arrangement, (0, height * 0.07, width, ground))
    scene_props.draw_people(
        picture, rng.randint(0, 4), (ground + height * 0.06, height), height * 0.45
    )
    return picture
