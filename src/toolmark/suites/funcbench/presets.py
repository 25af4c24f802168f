"""The paper's experiments as sets of settings (arXiv 2509.26553, section 4 and appendix).

`by-kind` and `by-depth` are the tasks of `main` under the name of the figure they are run for:
the report shows the slices of whatever a run holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from msgspec import Struct

from toolmark.errors import UsageError, near
from toolmark.suites.funcbench.data import Variant
from toolmark.suites.funcbench.graph import Knobs

GRAPHS = 5
IRRELEVANT = (0, 10, 20, 40)
KINDS = ("connected", "disconnected", "half")
DEPTHS = {
    5: tuple(range(1, 5)),
    10: tuple(range(1, 10)),
    20: tuple(range(1, 20, 2)),
    40: tuple(range(1, 38, 4)),
}
EFFORTS = ("minimal", "low", "medium", "high")


class Preset(Struct, frozen=True, kw_only=True):
    """Settings to be crossed; zero irrelevant functions are not repeated per kind."""

    cores: tuple[int, ...] = (5, 10, 20)
    irrelevant: tuple[int, ...] = IRRELEVANT
    kinds: tuple[str, ...] = KINDS
    variants: tuple[Variant, ...] = (Variant(),)


_MAIN = Preset()
_PROTOCOLS = (Variant(protocol="plain"), Variant(protocol="restate"))
PRESETS = {
    "main": _MAIN,
    "by-kind": _MAIN,
    "by-depth": _MAIN,
    "main-caption": Preset(irrelevant=(0, 5, 10, 20)),
    "no-extra": Preset(irrelevant=(0,)),
    "core40": Preset(cores=(40,)),
    "effort": Preset(
        cores=(5,), variants=(Variant(effort="minimal"), Variant(effort="medium"))
    ),
    "restate5": Preset(cores=(5,), kinds=("connected",), variants=_PROTOCOLS),
    "restate10": Preset(cores=(10,), kinds=("connected",), variants=_PROTOCOLS),
}


def find(name: str) -> Preset:
    """Return a preset by name; an unknown one is a UsageError that names the nearest."""
    if name not in PRESETS:
        raise UsageError(f"no preset {name!r}{near(name, PRESETS)}")
    return PRESETS[name]


def settings(preset: Preset) -> Iterator[Knobs]:
    """Go through the sizes of a preset: core, then depth, then irrelevant functions, then kind."""
    for core in preset.cores:
        for depth, count in product(DEPTHS[core], preset.irrelevant):
            for kind in preset.kinds if count else ("connected",):
                connected, disconnected = split(count, kind)
                yield Knobs(
                    core=core, depth=depth, connected=connected, disconnected=disconnected
                )


def split(count: int, kind: str) -> tuple[int, int]:
    """Return how many irrelevant functions are connected and disconnected."""
    match kind:
        case "connected":
            return count, 0
        case "disconnected":
            return 0, count
        case _:
            return count - count // 2, count // 2


def efforts(listed: str) -> Sequence[str]:
    """Read a comma-separated list of reasoning efforts; empty means the model's default."""
    levels = [level.strip() for level in listed.split(",")] if listed.strip() else [""]
    for level in levels:
        if level and level not in EFFORTS:
            raise UsageError(f"no reasoning effort {level!r}{near(level, EFFORTS)}")
    if "" in levels[1:] or len(set(levels)) < len(levels):
        raise UsageError(f"efforts must be different levels, separated by commas; got {listed!r}")
    return levels
