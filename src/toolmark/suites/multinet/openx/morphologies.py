"""The robots' shapes: how many numbers an action has, and what each of them means."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.core.records import Record

OWN_MORPHOLOGY = "own"
"""A robot without a published table; its actions have at most MAX_DIMENSIONS dimensions."""
MAX_DIMENSIONS = 64


class Morphology(Record, frozen=True, kw_only=True):
    """A shape, the data set that MultiNet uses for it, and its folder in MultiNet's layout.

    `members` are the float members of that data set's action, sorted, with their lengths; empty if
    its action is one vector. `names` and `slices` describe its dimensions. `environment` says where
    the robot is and what instructions it gets.
    """

    published: str
    folder: str
    names: tuple[str, ...]
    environment: str = ""
    members: tuple[tuple[str, int], ...] = ()
    slices: dict[str, tuple[int, int]] = {}


_POSITION_AXES = ("x", "y", "z")
_ROTATION_AXES = ("roll", "pitch", "yaw")
_ARM_DIMENSIONS = (*_POSITION_AXES, "yaw", "pitch", "roll", "gripper")
_DELTA_DIMENSIONS = tuple(f"delta_{axis}" for axis in (*_ROTATION_AXES, *_POSITION_AXES))

MORPHOLOGIES: Mapping[str, Morphology] = {
    "single_arm": Morphology(
        published="bridge",
        folder="openx_single_arm",
        names=(*_DELTA_DIMENSIONS[:3], "terminate", *_DELTA_DIMENSIONS[3:]),
        environment="an arm at tables and toy kitchens; it is told how to turn and to move its "
        "gripper, and whether the task is over",
        members=(("rotation_delta", 3), ("terminate_episode", 1), ("world_vector", 3)),
    ),
    "bimanual": Morphology(
        published="utokyo_xarm_bimanual_converted_externally_to_rlds",
        folder="openx_bimanual",
        names=tuple(f"{side}_{part}" for side in ("left", "right") for part in _ARM_DIMENSIONS),
        environment="two arms side by side that handle a towel; each is told where its gripper is "
        "to be, how turned, and how far open",
        slices={"arm1": (0, 7), "arm2": (7, 14)},
    ),
    "mobile": Morphology(
        published="fractal20220817_data",
        folder="openx_mobile_manipulation",
        names=("base_x", "base_y", "base_turn", "gripper", *_DELTA_DIMENSIONS),
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


def name_dimensions(
    morphology: Morphology | None,
    members: tuple[tuple[str, int], ...],
    width: int,
    is_published_set: bool,
) -> Morphology:
    """Return the dimensions of an action with these float members, sorted.

    Members that differ from the published ones name the dimensions. An action without members is
    one vector: it is the published vector if `is_published_set`, else its dimensions are numbered.
    Then it is unknown which dimensions are the base and which the arm, and where the robot is.
    """
    if morphology and (members == morphology.members if members else is_published_set):
        return morphology
    names = tuple(
        key if size == 1 else f"{key}_{k}" for key, size in members for k in range(1, size + 1)
    )
    dimension_names = names or tuple(f"number {k}" for k in range(width))
    return Morphology(published="", folder="", names=dimension_names, members=members)
