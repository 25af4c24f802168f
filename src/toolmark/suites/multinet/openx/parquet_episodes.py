"""Episodes in Parquet files, as `snapshot_export` writes them.

The split of a file comes from its folder, with MultiNet's names (`public` or `test`, and `train`),
else from the start of its name (train, test, val); else it has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.records import Record
from toolmark.suites.multinet import step_parquet
from toolmark.suites.multinet.openx.robot_episodes import DatasetInfo, EpisodeLocation, RobotEpisode
from toolmark.suites.multinet.published_layout import require_inside, sibling_train_folder
from toolmark.suites.multinet.step_parquet import StepRow

SPLIT_PREFIXES = ("train", "test", "val")
SPLIT_FOLDERS = {"public": "test", "test": "test", "train": "train"}
MEMBERS_KEY = "members"
"""The key in a row's extras for the action's float members as [name, length], if it has members."""


class ParquetData(Record, frozen=True, kw_only=True):
    """The files of one folder; `width` is the expected number of dimensions of an action."""

    about: DatasetInfo
    width: int

    def describe_location(self, location: EpisodeLocation, step: int = 0) -> str:
        """Return the name of a place for an error message."""
        return f"{location.file}: row {location.at + step}"

    def iterate_episodes(self, file: str) -> Iterator[RobotEpisode]:
        """Yield a file's episodes. Raises DataError, also for steps that are missing or apart."""
        seen_names: set[str] = set()
        at = 0
        for name, steps in groupby(step_parquet.read_rows(Path(file)), key=lambda row: row.group):
            episode = self._build_episode(EpisodeLocation(name, file, at), list(steps))
            if name in seen_names:
                raise DataError(f"{file}: row {at}: the steps of {name} do not lie together")
            seen_names.add(name)
            at += len(episode.texts)
            yield episode

    def read_episode(self, location: EpisodeLocation, steps: int) -> RobotEpisode:
        """Read one episode. Raises DataError."""
        found = list(step_parquet.read_rows(Path(location.file), location.at, location.at + steps))
        if len(found) != steps or {row.group for row in found} != {location.name}:
            raise DataError(f"{self.describe_location(location)}: the file has changed meanwhile")
        return self._build_episode(location, found)

    def read_picture(self, location: EpisodeLocation, step: int) -> bytes:
        """Return the picture of a step, b"" if it has none. Raises DataError."""
        return step_parquet.read_picture(Path(location.file), location.at + step)

    def _build_episode(self, location: EpisodeLocation, rows: Sequence[StepRow]) -> RobotEpisode:
        for k, row in enumerate(rows):
            if row.step != k:
                raise DataError(
                    f"{location.file}: row {location.at + k}: step {row.step} of "
                    f"{location.name[:80]} where {k} is due"
                )
        wrong_widths = {
            k: len(row.action) for k, row in enumerate(rows) if len(row.action) != self.width
        }
        blank = (0.0,) * self.width
        actions = [blank if k in wrong_widths else row.action for k, row in enumerate(rows)]
        return RobotEpisode(
            location, np.array(actions, np.float64), [row.text for row in rows], wrong_widths
        )


def holds_parquet(folder: Path) -> bool:
    """Return whether a folder, or one of its split folders, has Parquet files."""
    return any(next(room.glob(f"*{step_parquet.SUFFIX}"), None) for room in _split_folders(folder))


def open_parquet(folder: Path, width: int, root: Path) -> ParquetData:
    """Read the layout of a folder; a width of 0 means that of the first action.

    Raises DataError if only some files belong to a split, or if one leads out of `root`.
    """
    parts: dict[str, list[str]] = {}
    sibling = sibling_train_folder(folder)
    for split_folder in (*_split_folders(folder), *([sibling] if sibling else [])):
        for path in sorted(split_folder.glob(f"*{step_parquet.SUFFIX}")):
            require_inside(split_folder if split_folder == sibling else root, path)
            split_by_name = next(
                (split for split in SPLIT_PREFIXES if path.name.startswith(split)), ""
            )
            parts.setdefault(SPLIT_FOLDERS.get(split_folder.name, split_by_name), []).append(
                str(path)
            )
    if "" in parts and len(parts) > 1:
        raise DataError(
            f"{folder}: {Path(parts[''][0]).name} is of no split, others are: name each file "
            f"train*{step_parquet.SUFFIX} or test*{step_parquet.SUFFIX}, or none"
        )
    first, *others = (Path(path) for found in parts.values() for path in found)
    members, n = _first_row_members(first)
    for path in others:
        if _first_row_members(path)[0] != members:
            raise DataError(f"{path}: row 0: extras: other {MEMBERS_KEY} than in {first.name}")
    return ParquetData(
        about=DatasetInfo(
            name=folder.name,
            parts={split: tuple(found) for split, found in parts.items()},
            members=members,
            width=n,
        ),
        width=width or n,
    )


def _split_folders(folder: Path) -> list[Path]:
    """Return the folder and its split folders. Raises DataError for two folders of one split."""
    if (folder / "public").is_dir() and (folder / "test").is_dir():
        raise DataError(f"{folder}: holds both public and test: name one, such as {folder}/public")
    return [folder, *(folder / name for name in SPLIT_FOLDERS if (folder / name).is_dir())]


def _first_row_members(path: Path) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the action's float members in the first row, and the number of their floats."""
    first = next(step_parquet.read_rows(path, 0, 1), None)
    found: Any = json_codec.parse_json(first.extras).get(MEMBERS_KEY, []) if first else []
    width = len(first.action) if first else 0
    try:
        members = tuple((str(name), int(size)) for name, size in found)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{path}: row 0: extras: {MEMBERS_KEY} is not a list of [name, length]"
        ) from None
    sizes = [size for _, size in members]
    if members and width and (min(sizes) < 1 or sum(sizes) != width):
        raise DataError(f"{path}: row 0: extras: {MEMBERS_KEY} do not make an action of {width}")
    return members if width else (), width
