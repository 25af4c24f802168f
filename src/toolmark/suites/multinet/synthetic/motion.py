"""Robots with known dynamics: in each step a controller moves them towards what they were told.

An action is what the controller wants from the state that is seen, and noise. Numbers are rounded,
so that they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import atan2, cos, hypot, pi, sin
from random import Random
from typing import NamedTuple

from toolmark import seeds

DIGITS = 6
LENGTH = 40  # steps of an episode
State = tuple[float, ...]
Vector = tuple[float, ...]


class Episode(NamedTuple):
    """A task in words, and the states before each action. `scene` is what does not change."""

    instruction: str
    scene: tuple[float, ...]
    states: tuple[State, ...]
    actions: tuple[Vector, ...]


def _noise(rng: Random, spread: float) -> float:
    """Draw around 0 with a standard deviation of `spread`, at most three and a half of it."""
    return (rng.random() + rng.random() + rng.random() + rng.random() - 2.0) * 1.7320508 * spread


def _to(now: float, aim: float, gain: float, most: float) -> float:
    """Return a proportional controller's step."""
    return max(-most, min(most, gain * (aim - now)))


def _rounded(values: Sequence[float]) -> Vector:
    return tuple(round(value, DIGITS) + 0.0 for value in values)


# --- on wheels: x, y (metres), heading; the waypoint ahead in the robot's own frame -----


def wheeled(rng: Random) -> Episode:
    """Drive around to a marked spot."""
    x, y, heading = (0.6 + rng.random() * 4.8 for _ in range(3))
    goal = (0.6 + rng.random() * 4.8, 0.6 + rng.random() * 4.8)
    while hypot(goal[0] - x, goal[1] - y) < 2.5:
        goal = (0.6 + rng.random() * 4.8, 0.6 + rng.random() * 4.8)
    states, actions = [], []
    for _ in range(LENGTH):
        states.append(_rounded((x, y, heading)))
        bearing = atan2(goal[1] - y, goal[0] - x) - heading
        bearing = (bearing + pi) % (2 * pi) - pi
        turn = _to(0, bearing, 0.5, 0.45)
        step = min(0.16, 0.3 * hypot(goal[0] - x, goal[1] - y)) * max(0.15, cos(bearing))
        ahead = (step * cos(turn) + _noise(rng, 0.008), step * sin(turn) + _noise(rng, 0.008))
        actions.append(_rounded(ahead))
        heading += turn
        x += ahead[0] * cos(heading - turn) - ahead[1] * sin(heading - turn)
        y += ahead[0] * sin(heading - turn) + ahead[1] * cos(heading - turn)
    return Episode("drive to the red cross", goal, tuple(states), tuple(actions))


# --- one arm: gripper's place (metres) and turn; how to turn, whether to end, how to move ----

_ITEMS = ("red cube", "green cup", "blue ball")
_AIMS = ("yellow plate", "left edge", "right edge")


def single_arm(rng: Random) -> Episode:
    """Reach a thing, close, lift it and bring it to its aim."""
    item, aim = seeds.below(rng, 3), seeds.below(rng, 3)
    things = [(-0.2 + 0.2 * k + rng.random() * 0.06, 0.1 + rng.random() * 0.2) for k in range(3)]
    ends = [(0.05 + rng.random() * 0.1, 0.42), (-0.36, 0.25), (0.36, 0.25)]
    at = [
        rng.random() * 0.4 - 0.2,
        0.05 + rng.random() * 0.2,
        0.3,
        *(rng.random() * 0.6 - 0.3 for _ in range(3)),
    ]
    way = [(*things[item], 0.16), (*things[item], 0.02), (*ends[aim], 0.2), (*ends[aim], 0.06)]
    leg, states, actions = 0, [], []
    for n in range(LENGTH):
        held = float(leg >= 2)
        states.append(_rounded((*at, held)))
        move = [_to(at[k], way[leg][k], 0.5, 0.045) + _noise(rng, 0.002) for k in range(3)]
        turn = [_to(at[3 + k], 0.0, 0.2, 0.06) + _noise(rng, 0.004) for k in range(3)]
        actions.append(_rounded((*turn, float(n == LENGTH - 1), *move)))
        at = [now + step for now, step in zip(at, (*move, *turn), strict=True)]
        if hypot(*(at[k] - way[leg][k] for k in range(3))) < 0.025 and leg < 3:
            leg += 1
    scene = (*things[0], *things[1], *things[2], *ends[0], float(item))
    told = f"move the {_ITEMS[item]} to the {_AIMS[aim]}"
    return Episode(told, scene, tuple(states), tuple(actions))


# --- two arms: where each gripper shall be, how turned, how far open --------------------


def bimanual(rng: Random) -> Episode:
    """Grasp a towel's two corners and lift it, unfold it, or lay it down."""
    kind = seeds.below(rng, 3)
    told = ("lift the towel with both arms", "unfold the towel to the sides",
            "fold the towel together")[kind]  # fmt: skip
    corners = [
        (-0.22 - rng.random() * 0.1, 0.3 + rng.random() * 0.2),
        (0.22 + rng.random() * 0.1, 0.3 + rng.random() * 0.2),
    ]
    wide, tilt = (1.0, 1.7, 0.2)[kind], (0.0, 0.2, 0.0)[kind]
    arms = []
    for side, (x, y) in zip((-1, 1), corners, strict=True):
        start = (side * (0.28 + rng.random() * 0.14), 0.1 + rng.random() * 0.1, 0.46)
        arms.append((start, (x, y, 0.04), (x * wide, y - 0.1, (0.5, 0.35, 0.3)[kind]), side, tilt))
    states, actions = [], []
    now = [value for start, _, _, side, _ in arms for value in (*start, 0.6 * side, 0.0, 3.0, 1.0)]
    for n in range(LENGTH):
        states.append(_rounded(now))
        now = [value for arm in arms for value in _arm(n, *arm, rng)]
        actions.append(_rounded(now))
    scene = (*corners[0], *corners[1])
    return Episode(told, scene, tuple(states), tuple(actions))


def _arm(
    n: int, start: Sequence[float], corner: Sequence[float], end: Sequence[float], side: int,
    tilt: float, rng: Random,
) -> list[float]:  # fmt: skip
    """Return an arm's aim in a step: to the corner in 16, closed in 20, at the end in 38.

    Its roll is about half a turn, and tilts by so much in the end; angles go from -pi to pi, so
    that it jumps there, as that of real arms does.
    """
    down, up = _smooth((n + 1) / 16), _smooth((n - 19) / 18)
    place = [a + (b - a) * down + (c - b) * up for a, b, c in zip(start, corner, end, strict=True)]
    spot = [value + _noise(rng, 0.004) for value in place]
    yaw, pitch, roll = side * (0.6 - 0.6 * down), 0.25 * down * side, 3.0 + tilt * up
    turn = [value + _noise(rng, 0.01) for value in (yaw, pitch, roll)]
    turn[2] -= 2 * pi if turn[2] > pi else 0.0
    return [*spot, *turn, 1.0 if n < 16 else 0.0]


def _smooth(share: float) -> float:
    """Return the minimum-jerk curve from 0 to 1."""
    t = max(0.0, min(1.0, share))
    return t * t * t * (10 - 15 * t + 6 * t * t)


# --- an arm on wheels: how the base moves and turns, the grip, how the arm turns and moves ---

_THINGS = ("apple", "sponge", "soda can")


def mobile(rng: Random) -> Episode:
    """Drive to a counter, reach for a thing, close and lift."""
    item = seeds.below(rng, 3)
    spots = [(0.7 + 0.9 * k + rng.random() * 0.3, 2.6) for k in range(3)]
    aim = (spots[item][0] + rng.random() * 0.1 - 0.05, 1.9)
    x, y, heading = 0.6 + rng.random() * 2.4, 0.4 + rng.random() * 0.5, pi / 2 + rng.random() - 0.5
    arm, turned = [0.2, 0.0, 0.3], [rng.random() * 0.6 - 0.3 for _ in range(3)]
    states, actions, closed, lifted = [], [], 0.0, 0
    for _ in range(LENGTH):
        states.append(_rounded((x, y, heading, *arm, *turned, closed)))
        far = hypot(aim[0] - x, aim[1] - y)
        drives = far > 0.06 and not closed
        dx = (_to(x, aim[0], 0.35, 0.09), _to(y, aim[1], 0.35, 0.09)) if drives else (0.0, 0.0)
        spin = _to(heading, pi / 2, 0.3, 0.12) if drives else 0.0
        hold = (spots[item][1] - y, spots[item][0] - x, 0.3 if closed else 0.05)
        reach = (
            (0.0, 0.0, 0.0) if drives else tuple(_to(arm[k], hold[k], 0.45, 0.06) for k in range(3))
        )
        near = hypot(*(arm[k] - hold[k] for k in range(3))) < 0.05
        if near and not drives and not closed:
            lifted += 1
        turn = [_to(turned[k], 0.0, 0.15, 0.05) + _noise(rng, 0.004) for k in range(3)]
        base = [value + (_noise(rng, 0.004) if drives else 0.0) for value in (*dx, spin)]
        grip = 1.0 if lifted > 1 or closed else 0.0
        move = [value + _noise(rng, 0.003) for value in reach]
        actions.append(_rounded((*base, grip, *turn, *move)))
        x, y, heading, closed = x + base[0], y + base[1], heading + base[2], grip
        arm = [now + step for now, step in zip(arm, move, strict=True)]
        turned = [now + step for now, step in zip(turned, turn, strict=True)]
    scene = (*spots[0], *spots[1], *spots[2], float(item))
    return Episode(f"pick the {_THINGS[item]}", scene, tuple(states), tuple(actions))


# --- on four legs: hip, thigh and calf of each; a gait is by how much legs lag ----------

GAITS: Mapping[str, tuple[float, ...]] = {
    "trot": (0.0, 0.5, 0.5, 0.0), "pace": (0.0, 0.5, 0.0, 0.5), "bound": (0.0, 0.0, 0.5, 0.5),
    "pronk": (0.0, 0.0, 0.0, 0.0), "walk": (0.0, 0.5, 0.75, 0.25),
}  # fmt: skip
_SPEEDS = (("slowly", 0.05, 0.5), ("", 0.08, 0.7), ("fast", 0.12, 0.9))


def quadrupedal(rng: Random) -> Episode:
    """Walk by a gait, at a speed."""
    gait = seeds.choice(rng, tuple(GAITS))
    word, pace, swing = seeds.choice(rng, _SPEEDS)
    phase, gone = rng.random(), rng.random() * 5
    wanted = _legs(GAITS[gait], phase - pace, swing)
    states, actions = [], []
    for _ in range(LENGTH):
        states.append(_rounded((gone, *wanted)))
        aims = _legs(GAITS[gait], phase, swing)
        wanted = [aim + _noise(rng, 0.02) for aim in aims]
        actions.append(_rounded(wanted))
        phase, gone = phase + pace, gone + pace * swing
    told = " ".join(("move forward", *((word,) if word else ()), f"in a {gait}"))
    return Episode(told, (), tuple(states), tuple(actions))


def _legs(lags: Sequence[float], phase: float, swing: float) -> list[float]:
    """Return the joints of the legs front right, front left, rear right, rear left."""
    joints = []
    for leg, lag in enumerate(lags):
        turn = 2 * pi * (phase + lag)
        side = -1 if leg % 2 == 0 else 1
        lift = max(0.0, cos(turn))
        swung = swing * sin(turn)
        joints += [0.08 * side + 0.6 * swung, 0.75 - swung, -1.5 - 1.6 * swing * lift]
    return joints


EPISODES: Mapping[str, Callable[[Random], Episode]] = {
    "single_arm": single_arm, "bimanual": bimanual, "mobile": mobile, "wheeled": wheeled,
    "quadrupedal": quadrupedal,
}  # fmt: skip
