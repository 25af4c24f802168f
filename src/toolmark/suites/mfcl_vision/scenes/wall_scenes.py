"""Objects side by side on a wall or on boards: posters, goods."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from toolmark.generation.drawing.perspective import Plane
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.scenes import print_faces, scene_backgrounds, scene_props
from toolmark.suites.mfcl_vision.scenes.foreground_signs import (
    draw_foreground_board,
    draw_small_sign,
)
from toolmark.suites.mfcl_vision.scenes.scene_canvas import PICTURE_SIZES, SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import (
    SignArrangement,
    StyledSign,
    share_width,
    spread_along,
)
from toolmark.suites.mfcl_vision.scenes.sign_faces import SignFace, shade_colour

NumberedFace: TypeAlias = tuple[SignFace, int | None]
BlankMaker: TypeAlias = Callable[[random.Random, tuple[float, float]], SignFace]


def make_faces(
    canvas: SceneCanvas,
    parts: Sequence[StyledSign],
    make_face: print_faces.FaceMaker,
    span: float,
    gap: float,
) -> list[NumberedFace]:
    """Return the objects that show these signs, none wider than its share of a span."""
    shares = share_width(parts, span - gap * (len(parts) - 1))
    return [
        (make_face(canvas.rng, part, part.share * canvas.height, share), part.n)
        for part, share in zip(parts, shares, strict=True)
    ]


def fill_with_blanks(
    rng: random.Random,
    numbered_face: Sequence[NumberedFace],
    span: float,
    size: tuple[float, float],
    *,
    gap: float,
    make_blank: BlankMaker = print_faces.make_blank_poster,
    ends: tuple[bool, bool] = (False, False),
) -> list[NumberedFace]:
    """Return the objects with blank ones between them, as far as there is room.

    `ends` states whether nothing may be further left than the first object, or further right than
    the last.
    """
    groups: list[list[NumberedFace]] = [[face_item] for face_item in numbered_face]
    taken = sum(face.sheet.width + gap for face, _ in numbered_face)
    while True:
        blank_size = (size[0] * rng.uniform(0.75, 1.3), size[1] * rng.uniform(0.85, 1.0))
        face = make_blank(rng, blank_size)
        # Goods are in rows of the same kind.
        n = rng.choice((1, 2, 3)) if make_blank is print_faces.make_blank_package else 1
        taken += n * (face.sheet.width + gap)
        if taken > span * 0.97:
            break
        groups.insert(rng.randint(ends[0], len(groups) - ends[1]), [(face, None)] * n)
    return [face_item for group in groups for face_item in group]


def hang_face(
    canvas: SceneCanvas, plane: Plane, numbered_face: NumberedFace, spot: tuple[float, float]
) -> Box:
    """Draw an object on a wall with its shadow; `spot` is its upper left. Return its box."""
    (x, y), (face, n) = spot, numbered_face
    box = (x, y, x + face.sheet.width, y + face.sheet.height)
    canvas.shade_area(plane.rectangle_corners(x + 5, y + 8, box[2] + 7, box[3] + 9), 0.32, blur=9)
    canvas.place_face(face, plane.rectangle_corners(*box), n)
    return box


def draw_posters(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw a wall of posters in the street, some of them without text."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (190, 190, 190))
    ground = canvas.height * rng.uniform(0.86, 0.92)
    plane = scene_backgrounds.make_slanted_plane(rng, canvas.width, ground, 0.04)
    scene_backgrounds.draw_wall(
        canvas,
        plane,
        (0, -ground * 0.2, canvas.width, ground),
        rng.choice(scene_backgrounds.WALL_COLOURS),
    )
    row = make_faces(canvas, arrangement.row, print_faces.make_poster, canvas.width * 0.94, 14)
    size = (canvas.width * 0.17, canvas.height * 0.36)
    row = fill_with_blanks(
        rng, row, canvas.width * 0.96, size, gap=14, ends=arrangement.closed_ends
    )
    starts = spread_along(rng, [face.sheet.width for face, _ in row], canvas.width * 0.98, 10)
    for x, numbered_face in zip(starts, row, strict=True):
        room = ground * 0.97 - numbered_face[0].sheet.height
        if room < 8:
            raise ValueError("a poster is higher than the wall")
        hang_face(
            canvas,
            plane,
            numbered_face,
            (x + canvas.width * 0.01, 4 + room * rng.uniform(0.2, 0.7)),
        )
    bottom = max(plane.to_picture(0, ground)[1], plane.to_picture(canvas.width, ground)[1])
    canvas.fill_polygon(
        [
            plane.to_picture(0, ground),
            plane.to_picture(canvas.width, ground),
            (canvas.width, bottom + 2),
            (0, bottom + 2),
        ],
        (140, 136, 130),
    )
    scene_backgrounds.draw_floor(canvas, bottom, (156, 152, 146))
    draw_extras(canvas, arrangement, (0, canvas.height * 0.04, canvas.width, ground))
    scene_props.draw_people(
        canvas, rng.randint(0, 3), (bottom + 20, canvas.height), canvas.height * 0.5
    )
    return canvas


def draw_extras(canvas: SceneCanvas, arrangement: SignArrangement, within: Box) -> None:
    """Draw the foreground objects, and small signs within a box."""
    for part in arrangement.foreground:
        draw_foreground_board(canvas, part)
    for part in arrangement.clutter:
        draw_small_sign(canvas, part, within)


class BoardObjects(NamedTuple):
    """What stands on the boards: how objects with a sign and blank ones are made, how wide.

    The blank objects are of the same kind and of another kind. `widths` are the least and the
    greatest width of blank objects, in widths of the picture.
    """

    make_face: print_faces.FaceMaker
    make_blank: BlankMaker
    make_other_blank: BlankMaker
    widths: tuple[float, float]


GOODS = BoardObjects(
    print_faces.make_package,
    print_faces.make_blank_package,
    print_faces.make_blank_bottle,
    (0.07, 0.11),
)
BOOKS = BoardObjects(
    print_faces.make_book_cover,
    print_faces.make_blank_book,
    print_faces.make_blank_spine,
    (0.08, 0.12),
)
RECORDS = BoardObjects(
    print_faces.make_record_sleeve,
    print_faces.make_blank_sleeve,
    print_faces.make_blank_spine,
    (0.12, 0.17),
)


def draw_boards(
    rng: random.Random, arrangement: SignArrangement, *, objects: BoardObjects
) -> SceneCanvas:
    """Draw boards above each other, with blank objects around the objects with signs.

    If the question says that a sign is the outermost one, the other boards have the other kind of
    blank objects, because an object of the same kind could be further out.
    """
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (216, 214, 208))
    plane = scene_backgrounds.make_slanted_plane(rng, canvas.width, canvas.height, 0.05)
    lettered = make_faces(canvas, arrangement.row, objects.make_face, canvas.width * 0.9, 12)
    tall = max(face.sheet.height for face, _ in lettered) + canvas.height * 0.05
    if tall > canvas.height:
        raise ValueError("a thing is higher than the shelf")
    lowest = min(face.sheet.height for face, _ in lettered)
    heights, chosen = _board_heights(rng, float(canvas.height), tall)
    board = rng.choice(((120, 122, 126), (188, 150, 104), (236, 236, 232), (120, 84, 58)))
    bottom = 0.0
    for k, height in enumerate(heights):
        top, bottom = bottom, bottom + height
        edge = bottom - canvas.height * 0.03
        # Blank objects are no taller than those with names.
        max_height = min(height - canvas.height * 0.05, lowest * 1.05)
        size = (canvas.width * rng.uniform(*objects.widths), max_height * rng.uniform(0.8, 1.0))
        row, ends = (lettered, arrangement.closed_ends) if k == chosen else ([], (False, False))
        is_other = any(arrangement.closed_ends) and k != chosen
        make_blank = objects.make_other_blank if is_other else objects.make_blank
        row = fill_with_blanks(
            rng, row, canvas.width * 0.98, size, gap=8, make_blank=make_blank, ends=ends
        )
        starts = spread_along(rng, [face.sheet.width for face, _ in row], canvas.width * 0.98, 3)
        back = plane.rectangle_corners(-80, top, canvas.width + 80, edge)
        canvas.fill_polygon(back, shade_colour(board, 0.45))
        canvas.shade_area(
            plane.rectangle_corners(-80, top - 20, canvas.width + 80, top + 50), 0.4, blur=50
        )
        for x, numbered_face in zip(starts, row, strict=True):
            hang_face(
                canvas,
                plane,
                numbered_face,
                (x + canvas.width * 0.01, edge - numbered_face[0].sheet.height),
            )
        canvas.fill_polygon(plane.rectangle_corners(-80, edge, canvas.width + 80, bottom), board)
        _draw_price_tags(canvas, plane, edge + canvas.height * 0.006)
    draw_extras(canvas, arrangement, (0, 0, canvas.width, canvas.height))
    return canvas


def _board_heights(rng: random.Random, height: float, tall: float) -> tuple[list[float], int]:
    """Return the heights of the boards, one of them `tall`, and the index of that one."""
    others = min(3, int((height - tall) / (height * 0.22)))
    if not others:
        return [height], 0
    chosen = rng.randint(0, others)
    heights = [(height - tall) / others] * others
    heights.insert(chosen, tall)
    return heights, chosen


def _draw_price_tags(canvas: SceneCanvas, plane: Plane, top: float) -> None:
    """Draw blank price tags on the edge of a board."""
    x = canvas.width * 0.04
    while x < canvas.width * 0.95:
        tag = plane.rectangle_corners(x, top, x + canvas.width * 0.035, top + canvas.height * 0.018)
        canvas.fill_polygon(tag, canvas.rng.choice(((252, 250, 240), (250, 226, 90))))
        x += canvas.width * canvas.rng.uniform(0.07, 0.16)
