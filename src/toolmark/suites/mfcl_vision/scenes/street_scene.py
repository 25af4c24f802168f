"""A street: shop fronts with their signs, a board on the pavement, pedestrians."""

from __future__ import annotations

import random

from toolmark.generation.drawing.canvas import Canvas, Colour
from toolmark.generation.drawing.perspective import Plane
from toolmark.suites.mfcl_vision.scenes import scene_backgrounds, scene_props
from toolmark.suites.mfcl_vision.scenes.foreground_signs import draw_foreground_board
from toolmark.suites.mfcl_vision.scenes.scene_canvas import PICTURE_SIZES, SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import (
    SignArrangement,
    StyledSign,
    share_width,
    spread_along,
)
from toolmark.suites.mfcl_vision.scenes.sign_faces import (
    SignFace,
    draw_style,
    make_plate,
    set_text,
    shade_colour,
)

GLASS_COLOURS: tuple[Colour, ...] = ((70, 88, 98), (92, 106, 112), (58, 66, 78), (112, 124, 122))


def draw_street(rng: random.Random, arrangement: SignArrangement) -> SceneCanvas:
    """Draw shops next to each other, each with its sign above the window."""
    canvas = SceneCanvas(rng, rng.choice(PICTURE_SIZES), (200, 200, 200))
    ground = canvas.height * rng.uniform(0.74, 0.8)
    scene_backgrounds.draw_sky(canvas, canvas.height * 0.5)
    plane = scene_backgrounds.make_slanted_plane(rng, canvas.width, ground, 0.045)
    shares = share_width(arrangement.row, canvas.width * 0.97)
    fronts = [
        _make_fascia(rng, *pair, canvas) for pair in zip(arrangement.row, shares, strict=True)
    ]
    _add_blank_shops(rng, canvas, fronts, arrangement.closed_ends)
    widths = [max(face.sheet.width + 14, canvas.width * 0.14) for face, _ in fronts]
    starts = spread_along(rng, widths, float(canvas.width), 0.0)
    edges = [0.0, *starts[1:], float(canvas.width)]
    line = ground * rng.uniform(0.5, 0.56)
    for k, front in enumerate(fronts):
        _draw_shop(canvas, plane, (edges[k], edges[k + 1]), line, front)
    _draw_pavement(canvas, plane, ground)
    for part in arrangement.foreground:
        draw_foreground_board(canvas, part)
    for part in arrangement.clutter:
        _draw_post_sign(canvas, part, ground)
    scene_props.draw_people(
        canvas, rng.randint(1, 5), (ground + 8, canvas.height * 0.97), canvas.height * 0.3
    )
    if rng.random() < 0.6:
        scene_props.draw_lamp(
            canvas, rng.uniform(0.02, 0.98) * canvas.width, ground + 14, canvas.height * 0.6
        )
    return canvas


def _make_fascia(
    rng: random.Random, part: StyledSign, room: float, canvas: SceneCanvas
) -> tuple[SignFace, int | None]:
    cap = part.share * canvas.height / 0.97
    style = draw_style(rng, part.paper, *part.families)
    block = set_text(
        part.sign,
        style,
        cap,
        room - cap * 0.9,
        symbol_on_left=rng.random() < 0.6,
        comfortable_width=14 * part.row_width_factor,
    )
    return make_plate(block, style, pad=(cap * 0.45, cap * 0.5), rim=rng.choice((0, 0, 3))), part.n


def _add_blank_shops(
    rng: random.Random,
    canvas: SceneCanvas,
    fronts: list[tuple[SignFace, int | None]],
    ends: tuple[bool, bool],
) -> None:
    """Add shops without a name where there is room, but not at closed `ends` of the street."""
    sides = [position for position, is_closed in zip((0, 4), ends, strict=True) if not is_closed]
    while sides and len(fronts) < 4 and sum(f.sheet.width for f, _ in fronts) < canvas.width * 0.66:
        width = canvas.width * rng.uniform(0.16, 0.24)
        blank = SignFace(
            Canvas(width, canvas.height * 0.06, rng.choice(scene_backgrounds.WALL_COLOURS)),
            (0, 0, 0, 0),
        )
        fronts.insert(rng.choice(sides), (blank, None))


def _draw_shop(
    canvas: SceneCanvas,
    plane: Plane,
    edges: tuple[float, float],
    line: float,
    front: tuple[SignFace, int | None],
) -> None:
    """Draw one house: wall, windows above, sign, shop window and door."""
    rng, (left, right), bottom = canvas.rng, edges, plane.size[1]
    colour, (face, n) = rng.choice(scene_backgrounds.WALL_COLOURS), front
    roof = -plane.size[1] * 0.2 if rng.random() < 0.7 else bottom * rng.uniform(0.02, 0.08)
    scene_backgrounds.draw_wall(canvas, plane, (left, roof, right, bottom), colour)
    top = line - face.sheet.height
    _draw_windows(canvas, plane, (left, right), top, shade_colour(colour, rng.choice((-0.5, 0.35))))
    trim = shade_colour(rng.choice(scene_props.CLOTHES_COLOURS), 0.2)
    canvas.fill_polygon(plane.rectangle_corners(left + 6, top - 8, right - 6, bottom), trim)
    middle = (left + right) / 2
    spot = (middle - face.sheet.width / 2, top, middle + face.sheet.width / 2, line)
    if n is None:
        spot = (left + 6, top, right - 6, line)
    canvas.fill_polygon(
        plane.rectangle_corners(left + 6, top, right - 6, line), face.sheet.background
    )
    canvas.place_face(face, plane.rectangle_corners(*spot), n)
    _draw_shop_front(canvas, plane, (left + 12, line + 6, right - 12, bottom))
    if rng.random() < 0.5:
        _draw_awning(
            canvas, plane, (left + 6, line, right - 6), rng.choice(scene_props.CLOTHES_COLOURS)
        )
    canvas.shade_area(plane.rectangle_corners(left + 6, line, right - 6, line + 10), 0.4, blur=6)


def _draw_windows(
    canvas: SceneCanvas, plane: Plane, edges: tuple[float, float], bottom: float, frame: Colour
) -> None:
    rng, (left, right) = canvas.rng, edges
    width = canvas.height * 0.085
    n = max(1, int((right - left) / (width * rng.uniform(1.9, 2.4))))
    height = width * rng.uniform(1.3, 1.7)
    y = bottom - height * 1.45
    while y > -height * 1.5:
        for k in range(n):
            x = left + (right - left) * (k + 0.5) / n - width / 2
            canvas.fill_polygon(
                plane.rectangle_corners(x - 4, y - 4, x + width + 4, y + height + 6), frame
            )
            glass = shade_colour(rng.choice(GLASS_COLOURS), rng.uniform(-0.2, 0.2))
            canvas.fill_polygon(plane.rectangle_corners(x, y, x + width, y + height), glass)
            canvas.draw_line(
                [plane.to_picture(x + width / 2, y), plane.to_picture(x + width / 2, y + height)],
                frame,
                3,
            )
        y -= height * 1.75


def _draw_shop_front(
    canvas: SceneCanvas, plane: Plane, box: tuple[float, float, float, float]
) -> None:
    """Draw the shop window with goods behind it, and the door."""
    rng, (left, top, right, bottom) = canvas.rng, box
    door = min((right - left) * 0.3, canvas.height * 0.13)
    at_left = rng.random() < 0.5
    gate = (
        (left, top + 8, left + door, bottom) if at_left else (right - door, top + 8, right, bottom)
    )
    window = (left + door + 10, top + 8, right, bottom - 34)
    if not at_left:
        window = (left, top + 8, right - door - 10, bottom - 34)
    glass = rng.choice(GLASS_COLOURS)
    canvas.fill_polygon(plane.rectangle_corners(*window), glass)
    lit = shade_colour(glass, -0.18)
    span = window[2] - window[0]
    canvas.fill_polygon(
        [
            plane.to_picture(window[0] + span * 0.1, window[1]),
            plane.to_picture(window[0] + span * 0.3, window[1]),
            plane.to_picture(window[0] + span * 0.12, window[3]),
            plane.to_picture(window[0], window[3]),
        ],
        lit,
    )
    x = window[0] + 8
    while x < window[2] - 30:
        width, height = rng.uniform(14, 40), rng.uniform(0.15, 0.5) * (window[3] - window[1])
        goods = rng.choice(scene_props.CLOTHES_COLOURS)
        if x + width < window[2] - 6:
            canvas.fill_polygon(
                plane.rectangle_corners(x, window[3] - height, x + width, window[3]), goods
            )
        x += width + rng.uniform(4, 26)
    canvas.fill_polygon(
        plane.rectangle_corners(*gate), shade_colour(rng.choice(scene_props.CLOTHES_COLOURS), 0.3)
    )
    pane = (gate[0] + 8, gate[1] + 10, gate[2] - 8, gate[1] + (bottom - gate[1]) * 0.6)
    canvas.fill_polygon(plane.rectangle_corners(*pane), shade_colour(glass, -0.1))


def _draw_awning(
    canvas: SceneCanvas, plane: Plane, edge: tuple[float, float, float], colour: Colour
) -> None:
    left, top, right = edge
    n, depth = 9, canvas.height * 0.05
    for k in range(n):
        x0, x1 = (left + (right - left) * j / n for j in (k, k + 1))
        tone = colour if k % 2 else (240, 236, 228)
        canvas.fill_polygon(plane.rectangle_corners(x0, top, x1, top + depth), tone)


def _draw_pavement(canvas: SceneCanvas, plane: Plane, ground: float) -> None:
    bottom = max(plane.to_picture(0, ground)[1], plane.to_picture(canvas.width, ground)[1])
    canvas.fill_polygon(
        [
            plane.to_picture(0, ground),
            plane.to_picture(canvas.width, ground),
            (canvas.width, canvas.height),
            (0, canvas.height),
        ],
        (160, 156, 150),
    )
    scene_backgrounds.draw_floor(canvas, bottom, (164, 160, 154))
    kerb = canvas.height * canvas.rng.uniform(0.9, 0.97)
    canvas.fill_rectangle((0, kerb, canvas.width, kerb + 7), (204, 200, 194))
    canvas.fill_rectangle((0, kerb + 7, canvas.width, canvas.height), (84, 86, 92))


def _draw_post_sign(canvas: SceneCanvas, part: StyledSign, ground: float) -> None:
    """Draw a small sign on a post at the kerb if it covers no sign; else draw nothing."""
    rng, cap = canvas.rng, max(14.0, part.share * canvas.height)
    style = draw_style(rng, part.paper, *part.families)
    block = set_text(part.sign, style, cap, canvas.width * 0.2)
    face = make_plate(block, style, pad=(cap * 0.6, cap * 0.5), round_by=6)
    width, height = face.sheet.width, face.sheet.height
    top = ground - height * rng.uniform(0.4, 1.2)
    xs = [rng.uniform(0.02, 0.97) * canvas.width for _ in range(24)]
    spots = [
        x
        for x in xs
        if x + width < canvas.width - 4
        and canvas.is_free((x - 8, top - 8, x + width + 8, top + height + 8))
    ]
    if not spots:
        raise ValueError("no room for a sign on a post")
    x = spots[0]
    canvas.draw_line(
        [(x + width / 2, top + height - 4), (x + width / 2, ground + canvas.height * 0.09)],
        (96, 98, 102),
        6,
    )
    canvas.place_face(
        face, ((x, top), (x + width, top), (x + width, top + height), (x, top + height)), part.n
    )
