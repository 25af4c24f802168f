"""Low, high and mean of actions, by dimension, computed episode by episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]


class ActionRange(NamedTuple):
    """Low, high and mean by dimension, and the number of steps they come from."""

    n: int
    low: Vector
    high: Vector
    mean: Vector


def episode_range(actions: Vector) -> ActionRange:
    """Return the range of one episode's actions, steps by dimensions; there must be a step."""
    n = len(actions)
    # divided before the sum, because sums of very large numbers would overflow
    return ActionRange(n, actions.min(axis=0), actions.max(axis=0), (actions / n).sum(axis=0))


def combine_ranges(ranges: Sequence[ActionRange]) -> ActionRange:
    """Return the range over all episodes; there must be at least one."""
    total = sum(each.n for each in ranges)
    return ActionRange(
        total,
        np.min([each.low for each in ranges], axis=0),
        np.max([each.high for each in ranges], axis=0),
        np.sum([each.mean * (each.n / total) for each in ranges], axis=0),
    )
