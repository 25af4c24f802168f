"""Parts of a run: by size, by kind, by the way it was asked."""

from __future__ import annotations

import numpy as np

from toolmark.stats.columns import Columns
from toolmark.suites.funcbench.presets import EFFORTS

_ASKED = ("effort", "protocol")


def only(columns: Columns, **levels: str | int) -> Columns:
    """Return the rows with these levels of the axes."""
    mask = np.ones(len(columns), dtype=bool)
    for name, level in levels.items():
        mask &= columns.axis(name) == str(level)
    return columns.where(mask)


def numbers(columns: Columns, axis: str) -> list[int]:
    """Return the levels of a numeric axis in order."""
    return sorted({int(level) for level in columns.axis(axis) if level})


def cores(columns: Columns) -> list[int]:
    """Return the core sizes of the rows in order."""
    return numbers(columns, "core")


def variants(columns: Columns) -> list[tuple[str, Columns]]:
    """Return the rows by how the tasks were asked, each with a label; one part if all alike.

    They are in the order of the efforts, plain before restated, whatever order they ran in.
    """
    asked = [columns.axis(name) for name in _ASKED]
    keys = sorted(set(zip(*asked, strict=True)), key=_rank)
    if len(keys) < 2:
        return [("this run", columns)]
    parts = []
    for key in keys:
        label = ", ".join(["this run", *(level for level in key if level)])
        parts.append((label, only(columns, **dict(zip(_ASKED, key, strict=True)))))
    return parts


def _rank(key: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    effort = key[0]
    return EFFORTS.index(effort) if effort in EFFORTS else -1, key
