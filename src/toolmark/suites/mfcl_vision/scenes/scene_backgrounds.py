"""Backgrounds in perspective: sky, walls, floors."""

from __future__ import annotations

import random

from PIL import Image, ImageDraw, ImageFilter

from toolmark.generation.drawing.canvas import Colour, blend_colours
from toolmark.generation.drawing.fonts import SUPERSAMPLING
from toolmark.generation.drawing.perspective import Plane
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.scenes.scene_canvas import SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_faces import shade_colour

SKY_COLOURS: tuple[tuple[Colour, Colour], ...] = (
    ((92, 148, 214), (204, 226, 242)), ((120, 164, 210), (236, 234, 222)),
    ((150, 160, 172), (214, 218, 222)), ((84, 122, 184), (250, 214, 178)),
)  # fmt: skip
WALL_COLOURS: tuple[Colour, ...] = (
    (190, 120, 92), (206, 190, 166), (226, 220, 208), (150, 160, 164), (176, 150, 130),
    (214, 200, 176), (120, 92, 84), (196, 206, 204), (232, 214, 186), (168, 176, 160),
)  # fmt: skip
FLOOR_COLOURS: tuple[Colour, ...] = (
    (150, 148, 144), (176, 168, 156), (120, 122, 128), (164, 132, 98), (196, 190, 180),
    (104, 84, 68), (132, 144, 140),
)  # fmt: skip


def make_slanted_plane(
    rng: random.Random, width: float, height: float, max_slant: float = 0.05
) -> Plane:
    """Return a wall that fills the picture, seen a little from one side or from below."""
    edge = [rng.uniform(-max_slant, max_slant) * height for _ in range(4)]
    corners = ((0.0, edge[0]), (width, edge[1]), (width, height + edge[2]), (0.0, height + edge[3]))
    return Plane((width, height), corners)


def draw_sky(canvas: SceneCanvas, bottom: float) -> None:
    """Fill the upper part down to `bottom` with a sky and some clouds."""
    rng = canvas.rng
    upper, lower = rng.choice(SKY_COLOURS)
    small = (canvas.width // 8, max(8, round(bottom) // 8))
    image = Image.new("RGB", small)
    pen = ImageDraw.Draw(image)
    for row in range(small[1]):
        pen.line((0, row, small[0], row), blend_colours(upper, lower, row / small[1]))
    clouds = Image.new("L", small, 0)
    pen = ImageDraw.Draw(clouds)
    for _ in range(rng.randint(0, 9)):
        x, y, size = rng.uniform(0, small[0]), rng.uniform(0, small[1]), rng.uniform(8, 26)
        pen.ellipse((x - size, y - size / 4, x + size, y + size / 4), rng.randint(90, 200))
    image.paste((252, 252, 250), mask=clouds.filter(ImageFilter.GaussianBlur(3)))
    canvas.image.paste(image.resize((canvas.width * SUPERSAMPLING, round(bottom * SUPERSAMPLING))))


def draw_floor(canvas: SceneCanvas, top: float, colour: Colour | None = None) -> None:
    """Fill the lower part from `top` with a floor in perspective."""
    rng = canvas.rng
    colour = colour or rng.choice(FLOOR_COLOURS)
    canvas.fill_gradient(
        (0, top, canvas.width, canvas.height),
        shade_colour(colour, 0.12),
        shade_colour(colour, -0.1),
    )
    line = shade_colour(colour, rng.choice((0.16, -0.16)))
    if rng.random() < 0.25:
        return
    middle, depth = canvas.width * rng.uniform(0.3, 0.7), canvas.height - top
    step = rng.uniform(0.08, 0.2) * canvas.width
    for k in range(-24, 25):
        foot = middle + k * step * 2.6
        canvas.draw_line([(middle + k * step, top), (foot, canvas.height)], line, 1.2)
    y, gap = float(top), depth * 0.05
    while y < canvas.height:
        canvas.draw_line([(0, y), (canvas.width, y)], line, 1.2)
        y, gap = y + gap, gap * 1.34


def draw_wall(canvas: SceneCanvas, plane: Plane, box: Box, colour: Colour, kind: str = "") -> None:
    """Fill a rectangle of a plane with a wall: plaster, bricks, boards, panels or tiles."""
    rng = canvas.rng
    left, top, right, bottom = box
    canvas.fill_polygon(plane.rectangle_corners(left, top, right, bottom), colour)
    match kind or rng.choice(("plaster", "bricks", "boards", "panels", "tiles")):
        case "bricks":
            _draw_courses(canvas, plane, box, colour, (canvas.height / 22, canvas.height / 44))
        case "tiles":
            _draw_courses(canvas, plane, box, colour, (canvas.height / 15, canvas.height / 15))
        case "boards":
            x = left
            while x < right:
                width = rng.uniform(0.05, 0.09) * canvas.height
                tone = shade_colour(colour, rng.uniform(-0.06, 0.06))
                canvas.fill_polygon(
                    plane.rectangle_corners(x, top, min(x + width, right), bottom), tone
                )
                edge = min(x + width, right)
                canvas.draw_line(
                    [plane.to_picture(edge, top), plane.to_picture(edge, bottom)],
                    shade_colour(colour, 0.22),
                    1.2,
                )
                x += width
        case "panels":
            n = max(1, round((right - left) / (canvas.height * rng.uniform(0.2, 0.4))))
            for k in range(1, n):
                x = left + (right - left) * k / n
                canvas.draw_line(
                    [plane.to_picture(x, top), plane.to_picture(x, bottom)],
                    shade_colour(colour, 0.14),
                    2,
                )
        case _:
            _draw_stains(canvas, plane, box, colour)


def _draw_courses(
    canvas: SceneCanvas, plane: Plane, box: Box, colour: Colour, size: tuple[float, float]
) -> None:
    """Draw rows of bricks or tiles with their joints, some in another tone."""
    rng, (left, top, right, bottom) = canvas.rng, box
    joint = blend_colours(colour, (230, 226, 218), 0.28)
    shift = 0.5 if size[0] != size[1] else 0.0
    rows, columns = int((bottom - top) / size[1]) + 1, int((right - left) / size[0]) + 2
    for row in range(rows):
        y = top + row * size[1]
        canvas.draw_line([plane.to_picture(left, y), plane.to_picture(right, y)], joint, 1.2)
        for column in range(columns):
            x = left + (column - (row % 2) * shift) * size[0]
            edges = (max(x, left), y + 1, min(x + size[0] - 1, right), min(y + size[1], bottom))
            if edges[2] <= edges[0] or edges[3] <= edges[1]:
                continue
            if rng.random() < 0.4:
                canvas.fill_polygon(
                    plane.rectangle_corners(*edges), shade_colour(colour, rng.uniform(-0.09, 0.09))
                )
            if edges[0] > left:
                canvas.draw_line(
                    [plane.to_picture(edges[0], y), plane.to_picture(edges[0], edges[3])],
                    joint,
                    1.2,
                )


def _draw_stains(canvas: SceneCanvas, plane: Plane, box: Box, colour: Colour) -> None:
    rng, (left, top, right, bottom) = canvas.rng, box
    for _ in range(rng.randint(0, 3)):
        x, width = rng.uniform(left, right), rng.uniform(0.02, 0.1) * canvas.width
        spot = (
            max(left, x - width),
            top,
            min(right, x + width),
            top + (bottom - top) * rng.random(),
        )
        canvas.shade_area(plane.rectangle_corners(*spot), 0.07, blur=40, white=sum(colour) < 300)


def draw_grass(canvas: SceneCanvas, top: float, *, striped: bool = False) -> None:
    """Fill the lower part from `top` with grass; `striped` as on a pitch."""
    rng = canvas.rng
    green = rng.choice(((76, 136, 66), (92, 146, 72), (64, 122, 70)))
    canvas.fill_gradient(
        (0, top, canvas.width, canvas.height), shade_colour(green, 0.12), shade_colour(green, -0.08)
    )
    if striped:
        y, stripe_height, k = top, (canvas.height - top) * 0.08, 0
        while y < canvas.height:
            bottom = min(y + stripe_height, canvas.height)
            canvas.fill_rectangle(
                (0, y, canvas.width, bottom), shade_colour(green, 0.06 if k % 2 else -0.05)
            )
            y, stripe_height, k = bottom, stripe_height * 1.35, k + 1
        return
    for _ in range(260):
        x, y = rng.uniform(0, canvas.width), rng.uniform(top + 4, canvas.height)
        tuft = 3 + 8 * (y - top) / (canvas.height - top)
        tone = shade_colour(green, rng.uniform(-0.2, 0.2))
        canvas.draw_line([(x, y), (x + rng.uniform(-3, 3), y - tuft)], tone, 1.4)


def draw_crowd(canvas: SceneCanvas, top: float, bottom: float) -> None:
    """Fill a band with rows of people in a stand."""
    rng, gap = canvas.rng, canvas.height * 0.024
    canvas.fill_gradient((0, top, canvas.width, bottom), (58, 60, 68), (92, 94, 102))
    y = top + gap
    while y < bottom:
        x = rng.uniform(0, gap)
        while x < canvas.width:
            if rng.random() < 0.85:
                size = gap * 0.32
                coat, skin = rng.choice(COAT_COLOURS), rng.choice(SKIN_COLOURS)
                canvas.fill_rectangle((x - size * 1.2, y, x + size * 1.2, y + gap * 0.8), coat)
                canvas.fill_ellipse((x - size, y - size * 1.6, x + size, y + size * 0.4), skin)
            x += gap * rng.uniform(0.8, 1.2)
        y += gap
    for k in range(1, rng.randint(4, 8)):
        x = canvas.width * k / 7 + rng.uniform(-20, 20)
        canvas.draw_line([(x, top), (x - gap, bottom)], (120, 120, 124), 6)


COAT_COLOURS: tuple[Colour, ...] = (
    (150, 60, 62), (60, 82, 130), (214, 210, 200), (70, 70, 74), (176, 150, 90), (86, 118, 92),
    (120, 92, 130), (40, 42, 50),
)  # fmt: skip
SKIN_COLOURS: tuple[Colour, ...] = ((232, 196, 164), (190, 142, 104), (126, 86, 60), (92, 62, 46))
