"""Robots with known dynamics: in each step a controller moves them towards their instructed goal.

An action is the controller's output for the visible state, plus noise. Numbers are rounded, so that
they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import atan2, cos, hypot, pi, sin
from random import Random
from typing import NamedTuple

from toolmark.core import seeds

N_DECIMALS = 6
N_EPISODE_STEPS = 40  # steps of an episode
RobotState = tuple[float, ...]
RobotAction = tuple[float, ...]


class SimulatedEpisode(NamedTuple):
    """An instruction, and the states before each action. `scene` is what does not change."""

    instruction: str
    scene: tuple[float, ...]
    states: tuple[RobotState, ...]
    actions: tuple[RobotAction, ...]


def _draw_noise(rng: Random, spread: float) -> float:
    """Draw a number around 0 with standard deviation `spread`, limited to 3.5 times `spread`."""
    return (rng.random() + rng.random() + rng.random() + rng.random() - 2.0) * 1.7320508 * spread


def _proportional_step(current: float, target: float, gain: float, max_step: float) -> float:
    """Return the step of a proportional controller."""
    return max(-max_step, min(max_step, gain * (target - current)))


def _round_values(values: Sequence[float]) -> RobotAction:
    return tuple(round(value, N_DECIMALS) + 0.0 for value in values)


# --- on wheels: x, y (metres), heading; the waypoint ahead in the robot's own frame -----


def simulate_wheeled(rng: Random) -> SimulatedEpisode:
    """Drive around to a marked spot."""
    x, y, heading = (0.6 + rng.random() * 4.8 for _ in range(3))
    goal = (0.6 + rng.random() * 4.8, 0.6 + rng.random() * 4.8)
    while hypot(goal[0] - x, goal[1] - y) < 2.5:
        goal = (0.6 + rng.random() * 4.8, 0.6 + rng.random() * 4.8)
    states, actions = [], []
    for _ in range(N_EPISODE_STEPS):
        states.append(_round_values((x, y, heading)))
        bearing = atan2(goal[1] - y, goal[0] - x) - heading
        bearing = (bearing + pi) % (2 * pi) - pi
        turn = _proportional_step(0, bearing, 0.5, 0.45)
        step = min(0.16, 0.3 * hypot(goal[0] - x, goal[1] - y)) * max(0.15, cos(bearing))
        ahead = (
            step * cos(turn) + _draw_noise(rng, 0.008),
            step * sin(turn) + _draw_noise(rng, 0.008),
        )
        actions.append(_round_values(ahead))
        heading += turn
        x += ahead[0] * cos(heading - turn) - ahead[1] * sin(heading - turn)
        y += ahead[0] * sin(heading - turn) + ahead[1] * cos(heading - turn)
    return SimulatedEpisode("drive to the red cross", goal, tuple(states), tuple(actions))


# --- one arm: gripper's place (metres) and turn; turn action, end flag, move action ----------

_ARM_ITEMS = ("red cube", "green cup", "blue ball")
_ARM_TARGETS = ("yellow plate", "left edge", "right edge")


def simulate_single_arm(rng: Random) -> SimulatedEpisode:
    """Reach a thing, close, lift it and bring it to its target."""
    item, aim = seeds.draw_below(rng, 3), seeds.draw_below(rng, 3)
    things = [(-0.2 + 0.2 * k + rng.random() * 0.06, 0.1 + rng.random() * 0.2) for k in range(3)]
    ends = [(0.05 + rng.random() * 0.1, 0.42), (-0.36, 0.25), (0.36, 0.25)]
    at = [
        rng.random() * 0.4 - 0.2,
        0.05 + rng.random() * 0.2,
        0.3,
        *(rng.random() * 0.6 - 0.3 for _ in range(3)),
    ]
    waypoints = [
        (*things[item], 0.16),
        (*things[item], 0.02),
        (*ends[aim], 0.2),
        (*ends[aim], 0.06),
    ]
    leg, states, actions = 0, [], []
    for n in range(N_EPISODE_STEPS):
        is_holding = float(leg >= 2)
        states.append(_round_values((*at, is_holding)))
        move = [
            _proportional_step(at[k], waypoints[leg][k], 0.5, 0.045) + _draw_noise(rng, 0.002)
            for k in range(3)
        ]
        turn = [
            _proportional_step(at[3 + k], 0.0, 0.2, 0.06) + _draw_noise(rng, 0.004)
            for k in range(3)
        ]
        actions.append(_round_values((*turn, float(n == N_EPISODE_STEPS - 1), *move)))
        at = [now + step for now, step in zip(at, (*move, *turn), strict=True)]
        if hypot(*(at[k] - waypoints[leg][k] for k in range(3))) < 0.025 and leg < 3:
            leg += 1
    scene = (*things[0], *things[1], *things[2], *ends[0], float(item))
    instruction = f"move the {_ARM_ITEMS[item]} to the {_ARM_TARGETS[aim]}"
    return SimulatedEpisode(instruction, scene, tuple(states), tuple(actions))


# --- two arms: target position, rotation and opening of each gripper --------------------


def simulate_bimanual(rng: Random) -> SimulatedEpisode:
    """Grasp a towel's two corners and lift it, unfold it, or lay it down."""
    kind = seeds.draw_below(rng, 3)
    instruction = ("lift the towel with both arms", "unfold the towel to the sides",
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
    for n in range(N_EPISODE_STEPS):
        states.append(_round_values(now))
        now = [value for arm in arms for value in _arm_target(n, *arm, rng)]
        actions.append(_round_values(now))
    scene = (*corners[0], *corners[1])
    return SimulatedEpisode(instruction, scene, tuple(states), tuple(actions))


def _arm_target(
    n: int, start: Sequence[float], corner: Sequence[float], end: Sequence[float], side: int,
    tilt: float, rng: Random,
) -> list[float]:  # fmt: skip
    """Return an arm's target in a step: at the corner by step 16, closed by 20, at the end by 38.

    Its roll is about half a turn, and changes by `tilt` in the end. Angles are in -pi to pi, so the
    roll jumps there, as the roll of real arms does.
    """
    down, up = _minimum_jerk((n + 1) / 16), _minimum_jerk((n - 19) / 18)
    path_point = [
        a + (b - a) * down + (c - b) * up for a, b, c in zip(start, corner, end, strict=True)
    ]
    spot = [value + _draw_noise(rng, 0.004) for value in path_point]
    yaw, pitch, roll = side * (0.6 - 0.6 * down), 0.25 * down * side, 3.0 + tilt * up
    turn = [value + _draw_noise(rng, 0.01) for value in (yaw, pitch, roll)]
    turn[2] -= 2 * pi if turn[2] > pi else 0.0
    return [*spot, *turn, 1.0 if n < 16 else 0.0]


def _minimum_jerk(share: float) -> float:
    """Return the minimum-jerk curve from 0 to 1."""
    t = max(0.0, min(1.0, share))
    return t * t * t * (10 - 15 * t + 6 * t * t)


# --- an arm on wheels: how the base moves and turns, the grip, how the arm turns and moves ---

_COUNTER_ITEMS = ("apple", "sponge", "soda can")


def simulate_mobile(rng: Random) -> SimulatedEpisode:
    """Drive to a counter, reach for a thing, close and lift."""
    item = seeds.draw_below(rng, 3)
    spots = [(0.7 + 0.9 * k + rng.random() * 0.3, 2.6) for k in range(3)]
    aim = (spots[item][0] + rng.random() * 0.1 - 0.05, 1.9)
    x, y, heading = 0.6 + rng.random() * 2.4, 0.4 + rng.random() * 0.5, pi / 2 + rng.random() - 0.5
    arm, turned = [0.2, 0.0, 0.3], [rng.random() * 0.6 - 0.3 for _ in range(3)]
    states, actions, closed, lifted = [], [], 0.0, 0
    for _ in range(N_EPISODE_STEPS):
        states.append(_round_values((x, y, heading, *arm, *turned, closed)))
        distance = hypot(aim[0] - x, aim[1] - y)
        is_driving = distance > 0.06 and not closed
        dx = (
            (_proportional_step(x, aim[0], 0.35, 0.09), _proportional_step(y, aim[1], 0.35, 0.09))
            if is_driving
            else (0.0, 0.0)
        )
        spin = _proportional_step(heading, pi / 2, 0.3, 0.12) if is_driving else 0.0
        hand_target = (spots[item][1] - y, spots[item][0] - x, 0.3 if closed else 0.05)
        reach = (
            (0.0, 0.0, 0.0)
            if is_driving
            else tuple(_proportional_step(arm[k], hand_target[k], 0.45, 0.06) for k in range(3))
        )
        near = hypot(*(arm[k] - hand_target[k] for k in range(3))) < 0.05
        if near and not is_driving and not closed:
            lifted += 1
        turn = [
            _proportional_step(turned[k], 0.0, 0.15, 0.05) + _draw_noise(rng, 0.004)
            for k in range(3)
        ]
        base = [value + (_draw_noise(rng, 0.004) if is_driving else 0.0) for value in (*dx, spin)]
        grip = 1.0 if lifted > 1 or closed else 0.0
        move = [value + _draw_noise(rng, 0.003) for value in reach]
        actions.append(_round_values((*base, grip, *turn, *move)))
        x, y, heading, closed = x + base[0], y + base[1], heading + base[2], grip
        arm = [now + step for now, step in zip(arm, move, strict=True)]
        turned = [now + step for now, step in zip(turned, turn, strict=True)]
    scene = (*spots[0], *spots[1], *spots[2], float(item))
    return SimulatedEpisode(
        f"pick the {_COUNTER_ITEMS[item]}", scene, tuple(states), tuple(actions)
    )


# --- on four legs: hip, thigh and calf of each; a gait is the phase lag of each leg -----

GAIT_PHASES: Mapping[str, tuple[float, ...]] = {
    "trot": (0.0, 0.5, 0.5, 0.0), "pace": (0.0, 0.5, 0.0, 0.5), "bound": (0.0, 0.0, 0.5, 0.5),
    "pronk": (0.0, 0.0, 0.0, 0.0), "walk": (0.0, 0.5, 0.75, 0.25),
}  # fmt: skip
_WALKING_SPEEDS = (("slowly", 0.05, 0.5), ("", 0.08, 0.7), ("fast", 0.12, 0.9))


def simulate_quadruped(rng: Random) -> SimulatedEpisode:
    """Walk with a gait, at a speed."""
    gait = seeds.draw_one(rng, tuple(GAIT_PHASES))
    word, pace, swing = seeds.draw_one(rng, _WALKING_SPEEDS)
    phase, distance = rng.random(), rng.random() * 5
    joints = _leg_joints(GAIT_PHASES[gait], phase - pace, swing)
    states, actions = [], []
    for _ in range(N_EPISODE_STEPS):
        states.append(_round_values((distance, *joints)))
        aims = _leg_joints(GAIT_PHASES[gait], phase, swing)
        joints = [aim + _draw_noise(rng, 0.02) for aim in aims]
        actions.append(_round_values(joints))
        phase, distance = phase + pace, distance + pace * swing
    instruction = " ".join(("move forward", *((word,) if word else ()), f"in a {gait}"))
    return SimulatedEpisode(instruction, (), tuple(states), tuple(actions))


def _leg_joints(lags: Sequence[float], phase: float, swing: float) -> list[float]:
    """Return the joints of the legs front right, front left, rear right, rear left."""
    joints = []
    for leg, lag in enumerate(lags):
        turn = 2 * pi * (phase + lag)
        side = -1 if leg % 2 == 0 else 1
        lift = max(0.0, cos(turn))
        swung = swing * sin(turn)
        joints += [0.08 * side + 0.6 * swung, 0.75 - swung, -1.5 - 1.6 * swing * lift]
    return joints


SIMULATORS: Mapping[str, Callable[[Random], SimulatedEpisode]] = {
    "single_arm": simulate_single_arm,
    "bimanual": simulate_bimanual,
    "mobile": simulate_mobile,
    "wheeled": simulate_wheeled,
    "quadrupedal": simulate_quadruped,
}
