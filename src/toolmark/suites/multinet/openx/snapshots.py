"""Episodes in Parquet files, as `export` writes them.

A file's split goes by its folder, as MultiNet calls them (`public` or `test`, and `train`), else by
how its name begins (train, test, val); else it has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from toolmark import codec
from toolmark.errors import DataError
from toolmark.suites.multinet import parquet
from toolmark.suites.multinet.layout import beside, inside
from toolmark.suites.multinet.openx.episode import About, Episode, Place
from toolmark.suites.multinet.parquet import Row
from toolmark.types import Record

SPLITS = ("train", "test", "val")
ROOMS = {"public": "test", "test": "test", "train": "train"}
MEMBERS = "members"
"""In a row's extras: the action's float members as [name, length], where it has members."""


class Snapshots(Record, frozen=True, kw_only=True):
    """The files of one folder; `width` is the number of dimensions that an action should have."""

    about: About
    width: int

    def told(self, place: Place, step: int = 0) -> str:
        """Return what to call a place in an error."""
        return f"{place.file}: row {place.at + step}"

    def episodes(self, file: str) -> Iterator[Episode]:
        """Go through a file. Raises DataError, also for steps that are not together, or not all."""
        seen: set[str] = set()
        at = 0
        for name, steps in groupby(parquet.rows(Path(file)), key=lambda row: row.group):
            episode = self._episode(Place(name, file, at), list(steps))
            if name in seen:
                raise DataError(f"{file}: row {at}: the steps of {name} do not lie together")
            seen.add(name)
            at += len(episode.texts)
            yield episode

    def episode(self, place: Place, steps: int) -> Episode:
        """Read one episode. Raises DataError."""
        found = list(parquet.rows(Path(place.file), place.at, place.at + steps))
        if len(found) != steps or {row.group for row in found} != {place.name}:
            raise DataError(f"{self.told(place)}: the file has changed meanwhile")
        return self._episode(place, found)

    def picture(self, place: Place, step: int) -> bytes:
        """Return the picture of a step, b"" where there is none. Raises DataError."""
        return parquet.picture(Path(place.file), place.at + step)

    def _episode(self, place: Place, rows: Sequence[Row]) -> Episode:
        for k, row in enumerate(rows):
            if row.step != k:
                raise DataError(
                    f"{place.file}: row {place.at + k}: step {row.step} of {place.name[:80]} "
                    f"where {k} is due"
                )
        odd = {k: len(row.action) for k, row in enumerate(rows) if len(row.action) != self.width}
        blank = (0.0,) * self.width
        actions = [blank if k in odd else row.action for k, row in enumerate(rows)]
        return Episode(place, np.array(actions, np.float64), [row.text for row in rows], odd)


def holds(folder: Path) -> bool:
    """Tell whether a folder, or one of its splits', holds such files."""
    return any(next(room.glob(f"*{parquet.SUFFIX}"), None) for room in _rooms(folder))


def opened(folder: Path, width: int, root: Path) -> Snapshots:
    """Look at the files of a folder; a width of 0 is that of the first action that there is.

    Raises DataError where only some files are of a split, or one leads out of `root`.
    """
    parts: dict[str, list[str]] = {}
    apart = beside(folder)
    for room in (*_rooms(folder), *([apart] if apart else [])):
        for path in sorted(room.glob(f"*{parquet.SUFFIX}")):
            inside(room if room == apart else root, path)
            begun = next((split for split in SPLITS if path.name.startswith(split)), "")
            parts.setdefault(ROOMS.get(room.name, begun), []).append(str(path))
    if "" in parts and len(parts) > 1:
        raise DataError(
            f"{folder}: {Path(parts[''][0]).name} is of no split, others are: name each file "
            f"train*{parquet.SUFFIX} or test*{parquet.SUFFIX}, or none"
        )
    first, *others = (Path(path) for found in parts.values() for path in found)
    members, n = _first(first)
    for path in others:
        if _first(path)[0] != members:
            raise DataError(f"{path}: row 0: extras: other {MEMBERS} than in {first.name}")
    return Snapshots(
        about=About(
            name=folder.name,
            parts={split: tuple(found) for split, found in parts.items()},
            members=members,
            width=n,
        ),
        width=width or n,
    )


def _rooms(folder: Path) -> list[Path]:
    """Return the folder and those of its splits. Raises DataError for two of the same."""
    if (folder / "public").is_dir() and (folder / "test").is_dir():
        raise DataError(f"{folder}: holds both public and test: name one, such as {folder}/public")
    return [folder, *(folder / name for name in ROOMS if (folder / name).is_dir())]


def _first(path: Path) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return what the first row says that its action is made of, and how many numbers that has."""
    first = next(parquet.rows(path, 0, 1), None)
    found: Any = codec.loads(first.extras).get(MEMBERS, []) if first else []
    width = len(first.action) if first else 0
    try:
        members = tuple((str(name), int(size)) for name, size in found)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{path}: row 0: extras: {MEMBERS} is no list of [name, length]") from None
    sizes = [size for _, size in members]
    if members and width and (min(sizes) < 1 or sum(sizes) != width):
        raise DataError(f"{path}: row 0: extras: {MEMBERS} do not make an action of {width}")
    return members if width else (), width
