"""Low, high and mean of actions, dimension by dimension, gathered episode by episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

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
