"""What the cameras see: the robots of `motion`, and what is around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import cos, sin

from PIL import Image

from toolmark.draw.canvas import Colour, Sheet, blend
from toolmark.draw.plane import Point
from toolmark.suites.multinet.synthetic.brush import Brush, finished
from toolmark.suites.multinet.synthetic.motion import Episode, State

SIDE = 256
_DARK: Colour = (44, 46, 52)
_METAL: Colour = (150, 154, 162)
_RED: Colour = (206, 44, 44)
_GREEN: Colour = (40, 140, 80)
_BLUE: Colour = (40, 92, 190)
_YELLOW: Colour = (236, 190, 50)
_WOOD: Colour = (198, 164, 122)
_WALL: Colour = (222, 226, 230)


def drawn(morphology: str, episode: Episode, step: int) -> Image.Image:
    """Draw the state before a step."""
    sheet = Sheet(SIDE, SIDE, _WALL)
    _DRAW[morphology](sheet, episode.scene, episode.states[step])
    return finished(sheet)


def _wheeled(sheet: Sheet, scene: Sequence[float], state: State) -> None:
    """From above, six metres wide."""
    scale = SIDE / 6
    sheet.box((0, 0, SIDE, SIDE), (206, 204, 198))
    for k in range(1, 6):
        for line in ([(k * scale, 0), (k * scale, SIDE)], [(0, k * scale), (SIDE, k * scale)]):
            sheet.stroke(line, (190, 188, 182), 1)
    cross = Brush(sheet, (scene[0] * scale, scene[1] * scale))
    for way in (-1, 1):
        cross.line([(-9, -9 * way), (9, 9 * way)], _RED, 4)
    x, y, heading = state
    robot = Brush(sheet, (x * scale, y * scale), 1.0, heading * 57.29578)
    for side in (-1, 1):
        robot.box(-9, side * 9 - 3, 9, side * 9 + 3, _DARK)
    robot.box(-12, -8, 12, 8, _BLUE, _DARK)
    robot.shape([(3, -6), (12, 0), (3, 6)], _YELLOW, _DARK)


def _flat(x: float, y: float, z: float = 0.0) -> Point:
    """Return where a point over the table lies: x to the right, y away, z up, in metres."""
    shrink = 1 - 0.35 * y
    return SIDE / 2 + x * 270 * shrink, 226 - y * 190 - z * 230 * shrink


def _table(sheet: Sheet) -> None:
    corners = (_flat(-0.5, -0.1), _flat(0.5, -0.1), _flat(0.5, 0.55), _flat(-0.5, 0.55))
    Brush(sheet, (0, 0)).shape(corners, _WOOD, _DARK)


def _reach(sheet: Sheet, base: Point, hand: Point, opened: float, turn: float) -> None:
    """Draw an arm of two links from its base to its hand, the elbow up, and the fingers."""
    brush = Brush(sheet, (0, 0))
    middle = ((base[0] + hand[0]) / 2, min(base[1], hand[1]) - 34)
    brush.line([base, middle], _DARK, 11)
    brush.line([base, middle], (232, 232, 236), 8)
    brush.line([middle, hand], _DARK, 9)
    brush.line([middle, hand], (232, 232, 236), 6)
    for spot in (base, middle):
        brush.disc(*spot, 6, _METAL, _DARK)
    grip = Brush(sheet, hand, 1.0, turn * 57.29578)
    grip.box(-8, -4, 8, 2, _DARK)
    for side in (-1, 1):
        x = side * (3 + 5 * opened)
        grip.box(x - 1.8, 2, x + 1.8, 14, _DARK)


def _single(sheet: Sheet, scene: Sequence[float], state: State) -> None:
    _table(sheet)
    x, y, z, _, _, yaw, held = state
    item = round(scene[8])
    plate = Brush(sheet, _flat(scene[6], scene[7]))
    plate.disc(0, 0, 30, _YELLOW, _DARK, 13)
    brush = Brush(sheet, _flat(x, y))
    brush.disc(0, 0, 10, blend(_WOOD, _DARK, 0.35), None, 5)
    for k, colour in enumerate((_RED, _GREEN, _BLUE)):
        where = (
            (x, y, max(0.0, z - 0.05))
            if held and k == item
            else (scene[2 * k], scene[2 * k + 1], 0.0)
        )
        thing = Brush(sheet, _flat(*where))
        if k == 0:
            thing.box(-9, -16, 9, 2, colour, _DARK)
        elif k == 1:
            thing.shape([(-10, -18), (10, -18), (7, 2), (-7, 2)], colour, _DARK)
            thing.disc(0, -18, 10, blend(colour, _DARK, 0.4), _DARK, 3.5)
        else:
            thing.disc(0, -8, 10, colour, _DARK)
    hand = _flat(x, y, z + 0.06)
    _reach(sheet, (SIDE / 2, 70), (hand[0], hand[1] - 6), 1 - held, yaw)


def _bimanual(sheet: Sheet, scene: Sequence[float], state: State) -> None:
    _table(sheet)
    arms = state[:7], state[7:]
    tips = [
        _flat(arm[0], arm[1], max(0.0, arm[2] - 0.05)) if arm[6] < 0.5 else
        _flat(scene[2 * k], scene[2 * k + 1]) for k, arm in enumerate(arms)
    ]  # fmt: skip
    front = [_flat(scene[2 * k] * 0.9, scene[2 * k + 1] - 0.24) for k in (1, 0)]
    towel = Brush(sheet, (0, 0))
    towel.shape([*tips, *front], (120, 170, 214), _DARK)
    for spot in tips:
        towel.disc(*spot, 4, _RED)
    for side, arm in zip((-1, 1), arms, strict=True):
        hand = _flat(arm[0], arm[1], arm[2])
        _reach(sheet, (SIDE / 2 + side * 96, 64), (hand[0], hand[1] - 12), arm[6], arm[3])


def _mobile(sheet: Sheet, scene: Sequence[float], state: State) -> None:
    """From above, four metres wide: the counter at the lower edge of the picture's far side."""
    scale = SIDE / 3.9

    def at(x: float, y: float) -> Point:
        return x * scale + 10, SIDE - 20 - y * scale * 1.2

    sheet.box((0, 0, SIDE, SIDE), (214, 212, 206))
    sheet.box((0, 0, SIDE, at(0, 2.35)[1]), (168, 128, 92))
    x, y, heading, out, aside, height, _, _, _, closed = state
    hand = at(x + aside, y + out)
    item = round(scene[6])
    for k in range(3):
        spot = hand if closed and k == item else at(scene[2 * k], scene[2 * k + 1])
        thing = Brush(sheet, spot)
        if k == 0:
            thing.disc(0, 0, 9, _RED, _DARK)
            thing.line([(0, -7), (3, -13)], _GREEN, 3)
        elif k == 1:
            thing.box(-10, -7, 10, 7, _YELLOW, _DARK)
        else:
            thing.box(-6, -10, 6, 10, _BLUE, _DARK)
            thing.box(-6, -4, 6, 4, (240, 240, 240))
    robot = Brush(sheet, at(x, y), 1.0, -heading * 57.29578)
    robot.disc(0, 0, 24, (236, 238, 242), _DARK)
    robot.shape([(12, -9), (23, 0), (12, 9)], _GREEN, _DARK)
    arm = Brush(sheet, (0, 0))
    arm.line([at(x, y), hand], _DARK, 9)
    arm.line([at(x, y), hand], _METAL, 6)
    grip = 3 if closed else 8
    for side in (-1, 1):
        arm.box(hand[0] + side * grip - 2, hand[1] - 12, hand[0] + side * grip + 2, hand[1], _DARK)
    # how high the hand is: a scale at the side
    sheet.box((SIDE - 14, 20, SIDE - 8, 140), (236, 236, 236), line=_DARK, width=1)
    arm.disc(SIDE - 11, 140 - min(120.0, max(0.0, height * 300)), 5, _RED, _DARK)


def _quadruped(sheet: Sheet, scene: Sequence[float], state: State) -> None:
    """From its right side: the near legs dark, the far ones light."""
    gone, *joints = state
    sheet.box((0, 191, SIDE, SIDE), (150, 170, 120))
    for k in range(8):
        x = (k * 40 - gone * 120) % 320 - 32
        if 0 <= x <= SIDE - 8:
            sheet.box((x, 200, x + 8, 208), (120, 140, 92))
    brush = Brush(sheet, (0, 0))
    legs = [joints[3 * k : 3 * k + 3] for k in range(4)]
    for near, order in ((False, (1, 3)), (True, (0, 2))):
        if near:
            brush.box(58, 92, 198, 130, (60, 66, 78), _DARK)
            brush.box(190, 80, 226, 112, (60, 66, 78), _DARK)
            brush.disc(214, 94, 4, _YELLOW)
        for leg in order:
            x = (180.0 if leg < 2 else 78.0) + (0 if near else 10)
            y = 122.0 if near else 118.0
            _, thigh, calf = legs[leg]
            knee = (x - 44 * sin(thigh), y + 44 * cos(thigh))
            foot = (knee[0] - 46 * sin(thigh + calf), knee[1] + 46 * cos(thigh + calf))
            colour = _DARK if near else (146, 150, 160)
            brush.line([(x, y), knee], colour, 10)
            brush.line([knee, foot], colour, 7)
            brush.disc(*foot, 5, _RED if near else (226, 140, 140))


Draw = Callable[[Sheet, Sequence[float], State], None]
_DRAW: Mapping[str, Draw] = {
    "wheeled": _wheeled, "single_arm": _single, "bimanual": _bimanual, "mobile": _mobile,
    "quadrupedal": _quadruped,
}  # fmt: skip
