"""Select parts of a run: by size, by kind, by how tasks were asked."""

from __future__ import annotations

import numpy as np

from toolmark.statistics.score_columns import Columns
from toolmark.suites.funcbench.experiment_presets import EFFORTS
from toolmark.suites.funcbench.task_wording import DEFAULT_WORDING

_VARIANT_AXES = ("effort", "protocol", "wording")


def select_rows(columns: Columns, **levels: str | int) -> Columns:
    """Return the rows with these levels of the axes."""
    mask = np.ones(len(columns), dtype=bool)
    for name, level in levels.items():
        mask &= columns.axis(name) == str(level)
    return columns.where(mask)


def numeric_levels(columns: Columns, axis: str) -> list[int]:
    """Return the levels of a numeric axis in order."""
    return sorted({int(level) for level in columns.axis(axis) if level})


def core_sizes(columns: Columns) -> list[int]:
    """Return the core sizes of the rows in order."""
    return numeric_levels(columns, "core")


def rows_by_variant(columns: Columns) -> list[tuple[str, Columns]]:
    """Return the rows by how the tasks were asked, each with a label; one part if all are equal.

    They are in the order of the efforts, plain before restated, whatever order they ran in.
    """
    variant_levels = [columns.axis(name) for name in _VARIANT_AXES]
    keys = sorted(set(zip(*variant_levels, strict=True)), key=_variant_order)
    if len(keys) < 2:
        return [("this run", columns)]
    varying = [len({key[at] for key in keys}) > 1 for at in range(len(_VARIANT_AXES))]
    parts = []
    for key in keys:
        levels = zip(_VARIANT_AXES, key, varying, strict=True)
        named = [_level_name(axis, level) for axis, level, varies in levels if level and varies]
        label = ", ".join(["this run", *named])
        parts.append((label, select_rows(columns, **dict(zip(_VARIANT_AXES, key, strict=True)))))
    return parts


def _level_name(axis: str, level: str) -> str:
    return f"{level} wording" if axis == "wording" else level


def _variant_order(key: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    effort = key[0]
    # plain before guided, as plain before restate
    ordered = (*key[:-1], "" if key[-1] == DEFAULT_WORDING else key[-1])
    return EFFORTS.index(effort) if effort in EFFORTS else -1, ordered
