"""What the cameras see: the robots of `robot_simulation`, and their surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import cos, sin

from PIL import Image

from toolmark.generation.drawing.canvas import Canvas, Colour, blend_colours
from toolmark.generation.drawing.perspective import Point
from toolmark.suites.multinet.synthetic.robot_simulation import RobotState, SimulatedEpisode
from toolmark.suites.multinet.synthetic.shape_brush import Brush, reduce_sheet

PICTURE_SIDE = 256
_DARK: Colour = (44, 46, 52)
_METAL: Colour = (150, 154, 162)
_RED: Colour = (206, 44, 44)
_GREEN: Colour = (40, 140, 80)
_BLUE: Colour = (40, 92, 190)
_YELLOW: Colour = (236, 190, 50)
_WOOD: Colour = (198, 164, 122)
_WALL: Colour = (222, 226, 230)


def draw_robot(morphology: str, episode: SimulatedEpisode, step: int) -> Image.Image:
    """Draw the state before a step."""
    sheet = Canvas(PICTURE_SIDE, PICTURE_SIDE, _WALL)
    _PAINTERS[morphology](sheet, episode.scene, episode.states[step])
    return reduce_sheet(sheet)


def _draw_wheeled(sheet: Canvas, scene: Sequence[float], state: RobotState) -> None:
    """Draw the view from above, six metres wide."""
    scale = PICTURE_SIDE / 6
    sheet.rectangle((0, 0, PICTURE_SIDE, PICTURE_SIDE), (206, 204, 198))
    for k in range(1, 6):
        for line in (
            [(k * scale, 0), (k * scale, PICTURE_SIDE)],
            [(0, k * scale), (PICTURE_SIDE, k * scale)],
        ):
            sheet.polyline(line, (190, 188, 182), 1)
    cross = Brush(sheet, (scene[0] * scale, scene[1] * scale))
    for sign in (-1, 1):
        cross.draw_line([(-9, -9 * sign), (9, 9 * sign)], _RED, 4)
    x, y, heading = state
    robot = Brush(sheet, (x * scale, y * scale), 1.0, heading * 57.29578)
    for side in (-1, 1):
        robot.fill_box(-9, side * 9 - 3, 9, side * 9 + 3, _DARK)
    robot.fill_box(-12, -8, 12, 8, _BLUE, _DARK)
    robot.fill_polygon([(3, -6), (12, 0), (3, 6)], _YELLOW, _DARK)


def _picture_point(x: float, y: float, z: float = 0.0) -> Point:
    """Return the picture position of a point over the table: x right, y away, z up, in metres."""
    shrink = 1 - 0.35 * y
    return PICTURE_SIDE / 2 + x * 270 * shrink, 226 - y * 190 - z * 230 * shrink


def _draw_table(sheet: Canvas) -> None:
    corners = (
        _picture_point(-0.5, -0.1),
        _picture_point(0.5, -0.1),
        _picture_point(0.5, 0.55),
        _picture_point(-0.5, 0.55),
    )
    Brush(sheet, (0, 0)).fill_polygon(corners, _WOOD, _DARK)


def _draw_arm(sheet: Canvas, base: Point, hand: Point, opening: float, turn: float) -> None:
    """Draw an arm of two links from its base to its hand, with the elbow up, and the fingers."""
    brush = Brush(sheet, (0, 0))
    middle = ((base[0] + hand[0]) / 2, min(base[1], hand[1]) - 34)
    brush.draw_line([base, middle], _DARK, 11)
    brush.draw_line([base, middle], (232, 232, 236), 8)
    brush.draw_line([middle, hand], _DARK, 9)
    brush.draw_line([middle, hand], (232, 232, 236), 6)
    for spot in (base, middle):
        brush.fill_ellipse(*spot, 6, _METAL, _DARK)
    grip = Brush(sheet, hand, 1.0, turn * 57.29578)
    grip.fill_box(-8, -4, 8, 2, _DARK)
    for side in (-1, 1):
        x = side * (3 + 5 * opening)
        grip.fill_box(x - 1.8, 2, x + 1.8, 14, _DARK)


def _draw_single_arm(sheet: Canvas, scene: Sequence[float], state: RobotState) -> None:
    _draw_table(sheet)
    x, y, z, _, _, yaw, is_holding = state
    item = round(scene[8])
    plate = Brush(sheet, _picture_point(scene[6], scene[7]))
    plate.fill_ellipse(0, 0, 30, _YELLOW, _DARK, 13)
    brush = Brush(sheet, _picture_point(x, y))
    brush.fill_ellipse(0, 0, 10, blend_colours(_WOOD, _DARK, 0.35), None, 5)
    for k, colour in enumerate((_RED, _GREEN, _BLUE)):
        where = (
            (x, y, max(0.0, z - 0.05))
            if is_holding and k == item
            else (scene[2 * k], scene[2 * k + 1], 0.0)
        )
        thing = Brush(sheet, _picture_point(*where))
        if k == 0:
            thing.fill_box(-9, -16, 9, 2, colour, _DARK)
        elif k == 1:
            thing.fill_polygon([(-10, -18), (10, -18), (7, 2), (-7, 2)], colour, _DARK)
            thing.fill_ellipse(0, -18, 10, blend_colours(colour, _DARK, 0.4), _DARK, 3.5)
        else:
            thing.fill_ellipse(0, -8, 10, colour, _DARK)
    hand = _picture_point(x, y, z + 0.06)
    _draw_arm(sheet, (PICTURE_SIDE / 2, 70), (hand[0], hand[1] - 6), 1 - is_holding, yaw)


def _draw_bimanual(sheet: Canvas, scene: Sequence[float], state: RobotState) -> None:
    _draw_table(sheet)
    arms = state[:7], state[7:]
    tips = [
        _picture_point(arm[0], arm[1], max(0.0, arm[2] - 0.05)) if arm[6] < 0.5 else
        _picture_point(scene[2 * k], scene[2 * k + 1]) for k, arm in enumerate(arms)
    ]  # fmt: skip
    front = [_picture_point(scene[2 * k] * 0.9, scene[2 * k + 1] - 0.24) for k in (1, 0)]
    towel = Brush(sheet, (0, 0))
    towel.fill_polygon([*tips, *front], (120, 170, 214), _DARK)
    for spot in tips:
        towel.fill_ellipse(*spot, 4, _RED)
    for side, arm in zip((-1, 1), arms, strict=True):
        hand = _picture_point(arm[0], arm[1], arm[2])
        _draw_arm(
            sheet, (PICTURE_SIDE / 2 + side * 96, 64), (hand[0], hand[1] - 12), arm[6], arm[3]
        )


def _draw_mobile(sheet: Canvas, scene: Sequence[float], state: RobotState) -> None:
    """Draw the view from above, four metres wide; the counter is at the picture's far side."""
    scale = PICTURE_SIDE / 3.9

    def to_pixels(x: float, y: float) -> Point:
        return x * scale + 10, PICTURE_SIDE - 20 - y * scale * 1.2

    sheet.rectangle((0, 0, PICTURE_SIDE, PICTURE_SIDE), (214, 212, 206))
    sheet.rectangle((0, 0, PICTURE_SIDE, to_pixels(0, 2.35)[1]), (168, 128, 92))
    x, y, heading, forward, sideways, height, _, _, _, closed = state
    hand = to_pixels(x + sideways, y + forward)
    item = round(scene[6])
    for k in range(3):
        spot = hand if closed and k == item else to_pixels(scene[2 * k], scene[2 * k + 1])
        thing = Brush(sheet, spot)
        if k == 0:
            thing.fill_ellipse(0, 0, 9, _RED, _DARK)
            thing.draw_line([(0, -7), (3, -13)], _GREEN, 3)
        elif k == 1:
            thing.fill_box(-10, -7, 10, 7, _YELLOW, _DARK)
        else:
            thing.fill_box(-6, -10, 6, 10, _BLUE, _DARK)
            thing.fill_box(-6, -4, 6, 4, (240, 240, 240))
    robot = Brush(sheet, to_pixels(x, y), 1.0, -heading * 57.29578)
    robot.fill_ellipse(0, 0, 24, (236, 238, 242), _DARK)
    robot.fill_polygon([(12, -9), (23, 0), (12, 9)], _GREEN, _DARK)
    arm = Brush(sheet, (0, 0))
    arm.draw_line([to_pixels(x, y), hand], _DARK, 9)
    arm.draw_line([to_pixels(x, y), hand], _METAL, 6)
    grip = 3 if closed else 8
    for side in (-1, 1):
        arm.fill_box(
            hand[0] + side * grip - 2, hand[1] - 12, hand[0] + side * grip + 2, hand[1], _DARK
        )
    # a scale at the side shows the height of the hand
    sheet.rectangle(
        (PICTURE_SIDE - 14, 20, PICTURE_SIDE - 8, 140), (236, 236, 236), line=_DARK, width=1
    )
    arm.fill_ellipse(PICTURE_SIDE - 11, 140 - min(120.0, max(0.0, height * 300)), 5, _RED, _DARK)


def _draw_quadruped(sheet: Canvas, scene: Sequence[float], state: RobotState) -> None:
    """Draw the view from its right side: the near legs dark, the far ones light."""
    distance, *joints = state
    sheet.rectangle((0, 191, PICTURE_SIDE, PICTURE_SIDE), (150, 170, 120))
    for k in range(8):
        x = (k * 40 - distance * 120) % 320 - 32
        if 0 <= x <= PICTURE_SIDE - 8:
            sheet.rectangle((x, 200, x + 8, 208), (120, 140, 92))
    brush = Brush(sheet, (0, 0))
    legs = [joints[3 * k : 3 * k + 3] for k in range(4)]
    for near, order in ((False, (1, 3)), (True, (0, 2))):
        if near:
            brush.fill_box(58, 92, 198, 130, (60, 66, 78), _DARK)
            brush.fill_box(190, 80, 226, 112, (60, 66, 78), _DARK)
            brush.fill_ellipse(214, 94, 4, _YELLOW)
        for leg in order:
            x = (180.0 if leg < 2 else 78.0) + (0 if near else 10)
            y = 122.0 if near else 118.0
            _, thigh, calf = legs[leg]
            knee = (x - 44 * sin(thigh), y + 44 * cos(thigh))
            foot = (knee[0] - 46 * sin(thigh + calf), knee[1] + 46 * cos(thigh + calf))
            colour = _DARK if near else (146, 150, 160)
            brush.draw_line([(x, y), knee], colour, 10)
            brush.draw_line([knee, foot], colour, 7)
            brush.fill_ellipse(*foot, 5, _RED if near else (226, 140, 140))


RobotPainter = Callable[[Canvas, Sequence[float], RobotState], None]
_PAINTERS: Mapping[str, RobotPainter] = {
    "wheeled": _draw_wheeled,
    "single_arm": _draw_single_arm,
    "bimanual": _draw_bimanual,
    "mobile": _draw_mobile,
    "quadrupedal": _draw_quadruped,
}
