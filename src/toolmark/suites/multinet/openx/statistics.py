"""Low, high and mean of actions, dimension by dimension, gathered episode by episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]


class Range(NamedTuple):
    """Low, high and mean of so many steps."""

    n: int
    low: Vector
    high: Vector
    mean: Vector


def of(actions: Vector) -> Range:
    """Return those of one episode's actions, steps by dimensions; there must be a step."""
    n = len(actions)
    # divided before they are added: sums of huge numbers would overflow
    return Range(n, actions.min(axis=0), actions.max(axis=0), (actions / n).sum(axis=0))


def together(ranges: Sequence[Range]) -> Range:
    """Return those of all episodes; there must be one."""
    total = sum(each.n for each in ranges)
    return Range(
        total,
        np.min([each.low for each in ranges], axis=0),
        np.max([each.high for each in ranges], axis=0),
        np.sum([each.mean * (each.n / total) for each in ranges], axis=0),
    )


def others(ranges: Sequence[Range]) -> list[Range]:
    """Return for each episode those of all others; there must be two."""
    total = sum(each.n for each in ranges)
    low = _others(np.minimum, np.array([each.low for each in ranges]), np.inf)
    high = _others(np.maximum, np.array([each.high for each in ranges]), -np.inf)
    parts = np.array([each.mean * (each.n / total) for each in ranges])
    mean = _others(np.add, parts, 0.0)
    counts = [total - each.n for each in ranges]
    return [Range(n, low[k], high[k], mean[k] * (total / n)) for k, n in enumerate(counts)]


def _others(join: np.ufunc, values: Vector, start: float) -> Any:
    """Return for each row what the rows before it and those behind it make."""
    first = np.full((1, values.shape[1]), start)
    before = join.accumulate(np.concatenate([first, values[:-1]]))
    behind = join.accumulate(np.concatenate([first, values[:0:-1]]))[::-1]
    return join(before, behind)
