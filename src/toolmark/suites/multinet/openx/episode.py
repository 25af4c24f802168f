"""What every layout of robot data gives: episodes, by where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from toolmark.types import Record


class About(Record, frozen=True, kw_only=True):
    """What is known of a data set before its episodes are read.

    `parts` are its files by split ("" where it has none), `lost` how many files of a split lack,
    `described` the files that describe it. `members` are the action's float members, sorted, with
    their lengths; none where it is one vector. `dropped` are its other members. `width` is the
    number of floats of an action, 0 where only the steps tell.
    """

    name: str
    parts: dict[str, tuple[str, ...]]
    lost: dict[str, int] = {}
    described: tuple[str, ...] = ()
    members: tuple[tuple[str, int], ...] = ()
    dropped: tuple[str, ...] = ()
    width: int = 0


class Place(NamedTuple):
    """An episode's name, its file, and where in the file: a byte, or a row."""

    name: str
    file: str
    at: int


class Episode(NamedTuple):
    """An episode's actions, steps by dimensions (float64), and the instruction at each step.

    `odd` are steps whose action has another number of dimensions, which it tells.
    """

    place: Place
    actions: npt.NDArray[np.float64]
    texts: list[str]
    odd: Mapping[int, int]


def before(actions: Sequence[Sequence[float]] | npt.NDArray[np.float64], n: int, most: int) -> str:
    """Return at most so many actions before a step, oldest first."""
    # 0.0 is added so that none reads -0
    told = (", ".join(f"{x + 0.0:.6g}" for x in action) for action in actions[max(0, n - most) : n])
    lines = "".join(f"\n[{action}]" for action in told)
    return lines or "none, this is the first step"


class Data(Protocol):
    """A data set on disk. It can be pickled."""

    @property
    def about(self) -> About:
        """What it is."""
        ...

    def told(self, place: Place, step: int = 0) -> str:
        """Return what to call a place in an error: that of an episode, or of its step."""
        ...

    def episodes(self, file: str) -> Iterator[Episode]:
        """Go through the episodes of a file. Raises DataError with file and place."""
        ...

    def episode(self, place: Place, steps: int) -> Episode:
        """Read one episode of so many steps. Raises DataError."""
        ...

    def picture(self, place: Place, step: int) -> bytes:
        """Return the picture of a step, b"" where there is none. Raises DataError."""
        ...
