"""The paper's experiments as sets of settings (arXiv 2509.26553, section 4 and appendix).

`by-kind` and `by-depth` are the tasks of `main` under the name of the figure that they are run for:
the report shows every slice that a run contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec
from msgspec import Struct

from toolmark.core.errors import UsageError, suggest_names
from toolmark.suites.funcbench.graph_shape import GraphSize

GRAPHS_PER_SETTING = 5
IRRELEVANT_COUNTS = (0, 10, 20, 40)
IRRELEVANT_KINDS = ("connected", "disconnected", "half")
DEPTHS_BY_CORE = {
    5: tuple(range(1, 5)),
    10: tuple(range(1, 10)),
    20: tuple(range(1, 20, 2)),
    40: tuple(range(1, 38, 4)),
}
EFFORTS = ("minimal", "low", "medium", "high")


class Preset(Struct, frozen=True, kw_only=True):
    """Settings to combine; zero irrelevant functions are not repeated per kind."""

    cores: tuple[int, ...] = (5, 10, 20)
    irrelevant: tuple[int, ...] = IRRELEVANT_COUNTS
    kinds: tuple[str, ...] = IRRELEVANT_KINDS
    efforts: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ("",)


_MAIN = Preset()
_PROTOCOLS = ("plain", "restate")
PRESETS = {
    "main": _MAIN,
    "by-kind": _MAIN,
    "by-depth": _MAIN,
    "main-caption": Preset(irrelevant=(0, 5, 10, 20)),
    "no-extra": Preset(irrelevant=(0,)),
    "core40": Preset(cores=(40,)),
    "effort": Preset(cores=(5,), efforts=("minimal", "medium")),
    "restate5": Preset(cores=(5,), kinds=("connected",), protocols=_PROTOCOLS),
    "restate10": Preset(cores=(10,), kinds=("connected",), protocols=_PROTOCOLS),
}


def find_preset(name: str) -> Preset:
    """Return a preset by name; an unknown one is a UsageError that names the nearest."""
    if name not in PRESETS:
        nearest = suggest_names(name, PRESETS, listing="toolmark list funcbench")
        raise UsageError(f"no preset {name!r}{nearest}")
    return PRESETS[name]


def preset_sizes(preset: Preset, base: GraphSize) -> Iterator[GraphSize]:
    """Yield the sizes of a preset: core, then depth, then irrelevant functions, then kind.

    Suite parameters that a preset does not set are those of `base`.
    """
    for core in preset.cores:
        for depth, count in product(DEPTHS_BY_CORE[core], preset.irrelevant):
            for kind in preset.kinds if count else ("connected",):
                connected, disconnected = split_irrelevant(count, kind)
                yield msgspec.structs.replace(
                    base, core=core, depth=depth, connected=connected, disconnected=disconnected
                )


def split_irrelevant(count: int, kind: str) -> tuple[int, int]:
    """Return how many irrelevant functions are connected and disconnected."""
    match kind:
        case "connected":
            return count, 0
        case "disconnected":
            return 0, count
        case _:
            return count - count // 2, count // 2


def check_efforts(levels: Sequence[str]) -> Sequence[str]:
    """Return the reasoning efforts; an unknown or repeated one is a UsageError."""
    for at, level in enumerate(levels):
        if level not in EFFORTS:
            raise UsageError(f"no reasoning effort {level!r}{suggest_names(level, EFFORTS)}")
        if level in levels[:at]:
            raise UsageError(f"efforts must differ; got {', '.join(levels)}")
    return levels
