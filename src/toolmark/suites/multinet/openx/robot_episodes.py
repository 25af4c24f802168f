"""The interface of every layout of robot data: episodes by their locations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from toolmark.core.records import Record


class DatasetInfo(Record, frozen=True, kw_only=True):
    """What is known of a data set before its episodes are read.

    `parts` are its files by split ("" if it has none), `n_missing_files` is the number of missing
    files of a split, `description_files` are the files that describe it. `members` are the action's
    float members, sorted, with their lengths; empty if it is one vector. `unused_members` are its
    other members. `width` is the number of floats of an action, 0 if only the steps show it.
    """

    name: str
    parts: dict[str, tuple[str, ...]]
    n_missing_files: dict[str, int] = {}
    description_files: tuple[str, ...] = ()
    members: tuple[tuple[str, int], ...] = ()
    unused_members: tuple[str, ...] = ()
    width: int = 0


class EpisodeLocation(NamedTuple):
    """An episode's name, its file, and its place in the file: a byte offset or a row."""

    name: str
    file: str
    at: int


class RobotEpisode(NamedTuple):
    """An episode's actions, steps by dimensions (float64), and the instruction at each step.

    `wrong_widths` are the steps whose action has another number of dimensions, with that number.
    """

    location: EpisodeLocation
    actions: npt.NDArray[np.float64]
    texts: list[str]
    wrong_widths: Mapping[int, int]


def format_history(
    actions: Sequence[Sequence[float]] | npt.NDArray[np.float64], n: int, max_actions: int
) -> str:
    """Return at most `n` actions before a step as text, oldest first."""
    # adding 0.0 turns -0 into 0
    formatted = (
        ", ".join(f"{x + 0.0:.6g}" for x in action)
        for action in actions[max(0, n - max_actions) : n]
    )
    lines = "".join(f"\n[{action}]" for action in formatted)
    return lines or "none, this is the first step"


class RobotData(Protocol):
    """A data set on disk. It can be pickled."""

    @property
    def about(self) -> DatasetInfo:
        """The description of the data set."""
        ...

    def describe_location(self, location: EpisodeLocation, step: int = 0) -> str:
        """Return the name of a place for an error message: of an episode, or of its step."""
        ...

    def iterate_episodes(self, file: str) -> Iterator[RobotEpisode]:
        """Yield the episodes of a file. Raises DataError with file and place."""
        ...

    def read_episode(self, location: EpisodeLocation, steps: int) -> RobotEpisode:
        """Read one episode with this number of steps. Raises DataError."""
        ...

    def read_picture(self, location: EpisodeLocation, step: int) -> bytes:
        """Return the picture of a step, b"" if it has none. Raises DataError."""
        ...
