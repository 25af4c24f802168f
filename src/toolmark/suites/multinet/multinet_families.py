"""The families and their baselines, by name.

This module imports little, because the command line reads it at every start, without the suites.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

Family: TypeAlias = Literal["piqa", "sqa3d", "robovqa", "odinw", "bfcl", "overcooked", "openx"]
FAMILIES: tuple[Family, ...] = get_args(Family)
FAMILIES_BY_BASELINE: Mapping[str, tuple[Family, ...]] = {
    "uniform": ("piqa", "odinw", "overcooked", "openx"),
    "majority": ("piqa", "sqa3d", "robovqa", "odinw", "bfcl", "overcooked"),
    "majority-by-type": ("sqa3d", "robovqa"),
    "majority-by-subset": ("odinw",),
    "majority-by-layout": ("overcooked",),
    "mean": ("openx",),
    "stay": ("overcooked",),
    "previous": ("overcooked", "openx"),
    "linear": ("openx",),
}
"""The baselines and the families that have them, the least informed first.

`baseline_answers` says what each baseline answers.
"""
BASELINES_BY_FAMILY: Mapping[Family, tuple[str, ...]] = {
    family: tuple(name for name, of in FAMILIES_BY_BASELINE.items() if family in of)
    for family in FAMILIES
}

_BASELINE_DESCRIPTIONS = {
    "uniform": "guesses with equal chances",
    "majority": "gives the most frequent answer",
    "majority-by-type": "gives the most frequent answer to the type of question",
    "majority-by-subset": "gives the most frequent answer of the sub-set",
    "majority-by-layout": "gives the most frequent action of the layout",
    "mean": "gives the mean action",
    "stay": "lets both cooks stay",
    "previous": "repeats the last action",
    "linear": "continues the last actions in a straight line",
}


def list_floors(family: Family) -> dict[str, str]:
    """Return the floors of a family: no reply, and each of its baselines."""
    return {
        "control/null": "replies nothing",
        **{
            f"baseline/{name}": _BASELINE_DESCRIPTIONS[name] for name in BASELINES_BY_FAMILY[family]
        },
    }


_DEFAULT_SETTINGS: Mapping[str, str] = {
    "mode": "action", "history": "0", "frames": "1", "pictures": "true", "subset": '["all"]',
    "morphology": '["all"]', "similarity": "auto", "tool_format": "native",
}  # fmt: skip
_DEFAULT_DATA: Mapping[str, str] = {"bfcl": "official", "overcooked": "real"}


def default_setting(family: str, name: str) -> str | None:
    """Return the default value of a setting, None if it is unset by default."""
    return _DEFAULT_DATA.get(family, "synthetic") if name == "data" else _DEFAULT_SETTINGS.get(name)


def suite_name(family: Family) -> str:
    """Return the name of the suite that asks a family."""
    return f"multinet-{family}"
