"""The robots' shapes: how many numbers make an action, and what each of them means."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.types import Record

OWN = "own"
"""A robot of nobody's table: its actions may have any number of dimensions up to MOST."""
MOST = 64


class Morphology(Record, frozen=True, kw_only=True):
    """A shape, the data set that MultiNet takes for it, and its folder in MultiNet's layout.

    `members` are the float members of that data set's action, sorted, with their lengths; none
    where its action is one vector. `names` and `slices` are of its dimensions, `environment` says
    where the robot is and what it is told.
    """

    published: str
    folder: str
    names: tuple[str, ...]
    environment: str = ""
    members: tuple[tuple[str, int], ...] = ()
    slices: dict[str, tuple[int, int]] = {}


_XYZ = ("x", "y", "z")
_TURN = ("roll", "pitch", "yaw")
_ARM = (*_XYZ, "yaw", "pitch", "roll", "gripper")
_DELTA = tuple(f"delta_{axis}" for axis in (*_TURN, *_XYZ))

MORPHOLOGIES: Mapping[str, Morphology] = {
    "single_arm": Morphology(
        published="bridge",
        folder="openx_single_arm",
        names=(*_DELTA[:3], "terminate", *_DELTA[3:]),
        environment="an arm at tables and toy kitchens; it is told how to turn and to move its "
        "gripper, and whether the task is over",
        members=(("rotation_delta", 3), ("terminate_episode", 1), ("world_vector", 3)),
    ),
    "bimanual": Morphology(
        published="utokyo_xarm_bimanual_converted_externally_to_rlds",
        folder="openx_bimanual",
        names=tuple(f"{side}_{part}" for side in ("left", "right") for part in _ARM),
        environment="two arms side by side that handle a towel; each is told where its gripper is "
        "to be, how turned, and how far open",
        slices={"arm1": (0, 7), "arm2": (7, 14)},
    ),
    "mobile": Morphology(
        published="fractal20220817_data",
        folder="openx_mobile_manipulation",
        names=("base_x", "base_y", "base_turn", "gripper", *_DELTA),
        environment="one arm on a base with wheels, in office kitchens; base, gripper and arm are "
        "told how to move",
        members=(
            ("base_displacement_vector", 2),
            ("base_displacement_vertical_rotation", 1),
            ("gripper_closedness_action", 1),
            ("rotation_delta", 3),
            ("world_vector", 3),
        ),
        slices={"base": (0, 3), "arm": (3, 10)},
    ),
    "wheeled": Morphology(
        published="berkeley_gnm_sac_son",
        folder="openx_wheeled_robot",
        names=("x", "y"),
        environment="a small robot on wheels that drives among people; it is told the position "
        "that comes next",
    ),
    "quadrupedal": Morphology(
        published="utokyo_saytap_converted_externally_to_rlds",
        folder="openx_quadrupedal",
        names=tuple(f"joint_{k}" for k in range(1, 13)),
        environment="a robot on four legs that walks by different gaits; each joint is told its "
        "position",
    ),
}


def named(
    morphology: Morphology | None, members: tuple[tuple[str, int], ...], width: int, known: bool
) -> Morphology:
    """Return what the dimensions are in data whose action has these float members, sorted.

    Members other than the published ones give the names. Without members the action is one vector:
    the published one where the data are `known` to be that set, else its numbers are counted.
    Nobody knows then what is base and what is arm, or where.
    """
    if morphology and (members == morphology.members if members else known):
        return morphology
    names = tuple(
        key if size == 1 else f"{key}_{k}" for key, size in members for k in range(1, size + 1)
    )
    told = names or tuple(f"number {k}" for k in range(width))
    return Morphology(published="", folder="", names=told, members=members)
