"""The families and their baselines, by name.

Light on purpose: the command line reads it at every start, and nothing of the suites with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

Family: TypeAlias = Literal["piqa", "sqa3d", "robovqa", "odinw", "bfcl", "overcooked", "openx"]
FAMILIES: tuple[Family, ...] = get_args(Family)
GUESSES: Mapping[str, tuple[Family, ...]] = {
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
"""The baselines and the families that have them, those that know least first; what each answers is
in `guesses`."""
BASELINES: Mapping[Family, tuple[str, ...]] = {
    family: tuple(name for name, of in GUESSES.items() if family in of) for family in FAMILIES
}

_USUAL: Mapping[str, str] = {
    "mode": "action", "history": "0", "frames": "1", "pictures": "true", "subset": '["all"]',
    "morphology": '["all"]', "similarity": "auto", "dialect": "native",
}  # fmt: skip
_DATA: Mapping[str, str] = {"bfcl": "official", "overcooked": "real"}


def usual(family: str, name: str) -> str | None:
    """Return a setting as it is where nothing is said of it, None where it is unset then."""
    return _DATA.get(family, "synthetic") if name == "data" else _USUAL.get(name)


def suite(family: Family) -> str:
    """Return the name of the suite that asks a family."""
    return f"multinet-{family}"
