"""Open-X: the steps of robot episodes, from RLDS folders or from Parquet files.

The action is the action vector of the data set. If it has several members, it consists of those of
floats, sorted by name, flattened and concatenated. If the data have a test split (or else a
validation split), that is the test split; else it is a tenth of the episodes, each drawn by its
name and the seed only. Ranges and means come from all steps of the training split. Without one, the
episodes are divided into two halves, and each half is shown the statistics of the other, because
statistics of all other episodes would reveal an episode's own. In that case a single episode is not
asked. Each file is read once, except for pictures.

`dataset.json` next to the data names the numbers of an action and says where the robot is. Without
it, data that are recognised as the published set by name or folder are described as that set; for
all other data the dimensions are numbered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.core import files, seeds, worker_processes
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.number_format import format_count, format_percent
from toolmark.suites.multinet.baseline_answers import split_in_halves
from toolmark.suites.multinet.frame_records import ActionVector, Frame, Picture
from toolmark.suites.multinet.loaded_rows import MAX_ID_CHARS, is_valid_name
from toolmark.suites.multinet.openx import action_statistics, robot_data_folders
from toolmark.suites.multinet.openx.action_statistics import ActionRange
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES, OWN_MORPHOLOGY, Morphology
from toolmark.suites.multinet.openx.robot_episodes import (
    DatasetInfo,
    EpisodeLocation,
    RobotData,
    RobotEpisode,
    format_history,
)
from toolmark.suites.multinet.published_layout import (
    SIBLING_TRAIN_NOTE,
    RowFaults,
    sibling_train_folder,
)

Split: TypeAlias = Literal["train", "test"]

TEST_SHARE = 0.1
"""The share of episodes in the test split, if the data have none."""
_TEST_SPLIT_NAMES = ("test", "val", "validation")
_MIN_PARALLEL_BYTES = 2**26  # total size from which parallel reading is faster


class ScannedEpisode(NamedTuple):
    """An episode without its pictures, and the range of its actions with their number of steps."""

    place: EpisodeLocation
    range: ActionRange
    episode: RobotEpisode


class FileScan(NamedTuple):
    """The content of one file: its episodes, and its faults with their places."""

    sha256: str
    episodes: list[ScannedEpisode]
    faults: list[tuple[str, str]]


def rows(folder: Path, *, morphology: str, split: Split, seed: int, history: int = 0) -> RobotRows:
    """Read all data once, and return the steps of a split.

    `history`: the model sees that many actions before the step. The training split of data without
    one is empty. Raises UsageError for what cannot be asked, and DataError that lists the bad
    steps: an action of another length, NaN, infinite.
    """
    if morphology not in (*MORPHOLOGIES, OWN_MORPHOLOGY):
        raise UsageError(
            "no morphology "
            f"{morphology!r}{suggest_names(morphology, (*MORPHOLOGIES, OWN_MORPHOLOGY))}"
        )
    if split not in ("train", "test") or history < 0:
        raise UsageError("split is train or test, history at least 0")
    data_folder = robot_data_folders.find_data_folder(folder, morphology)
    data, robot = robot_data_folders.open_data(data_folder, morphology, folder)
    files_by_part = _files_by_part(data.about)
    scans = _scan_files(
        data, [file for names in files_by_part.values() for file in names], robot, folder
    )
    found = {part: [each for file in names for each in scans[file].episodes]
             for part, names in files_by_part.items()}  # fmt: skip
    train, test = _split_episodes(found, seed)
    if not train and not test:
        raise DataError(f"{folder}: its episodes hold no step")
    if not train and len(test) == 1:
        raise DataError(
            f"{folder}: holds one episode and no training split: ranges and the mean, which RelMAE "
            "divides by, could only be its own; put in more episodes, or a folder train"
        )
    selected = train if split == "train" else test
    spaces = _action_spaces(robot, train, test)
    return RobotRows(
        data=data,
        morphology=morphology,
        environment=robot.environment,
        episodes=tuple((each.place, each.range.n) for each in selected),
        spaces=spaces[:1] if train else spaces,
        history=history,
        hashes={f"openx-{morphology}": _combined_sha256(data.about, scans, data_folder)},
        notes=(
            *_data_notes(data.about, files_by_part, train, test),
            *robot_data_folders.naming_notes(robot, morphology),
            *((SIBLING_TRAIN_NOTE,) if train and sibling_train_folder(data_folder) else ()),
        ),
        cached_episodes={each.place.name: each.episode for each in selected},
    )


@dataclass(frozen=True)
class RobotRows:
    """The steps of one split, episode by episode.

    `spaces` is one space for all episodes, or one for each. `cached_episodes` are the episodes by
    name; they are not pickled with the rows, and are read again on demand.
    """

    data: RobotData
    morphology: str
    environment: str
    episodes: tuple[tuple[EpisodeLocation, int], ...]
    spaces: tuple[ActionVector, ...]
    history: int
    hashes: Mapping[str, str]
    notes: tuple[str, ...]
    clustered: bool = True
    cached_episodes: Mapping[str, RobotEpisode] = field(default_factory=dict, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what was read and cached."""
        names = [name for name in self.__dataclass_fields__ if name != "cached_episodes"]
        return RobotRows, tuple(getattr(self, name) for name in names)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(n for _, n in self.episodes)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        return map(self.complete_frame, self.partial_frames())

    def partial_frames(self) -> Iterator[Frame]:
        """Yield the rows without their fields."""
        slices = {"morphology": self.morphology}
        for k, (location, steps) in enumerate(self.episodes):
            space = self.spaces[k % len(self.spaces)]
            for n, action in enumerate(self._get_episode(location, steps).actions.tolist()):
                yield Frame(
                    id=f"{location.name}-{n:04}",
                    family="openx",
                    source="published",
                    space=space,
                    truth=tuple(action),
                    group=location.name,
                    step=n,
                    slices=slices,
                )

    def complete_frame(self, frame: Frame) -> Frame:
        """Return one partial frame with all its parts."""
        episode = self._get_episode(*self._locations[frame.group])
        fields = {"instruction": episode.texts[frame.step], "environment": self.environment}
        if self.history:
            fields["history"] = format_history(episode.actions, frame.step, self.history)
        return replace(frame, fields={name: text for name, text in fields.items() if text})

    def _get_episode(self, location: EpisodeLocation, steps: int) -> RobotEpisode:
        if location.name in self.cached_episodes:
            return self.cached_episodes[location.name]
        if self._last_episode.get(location.name) is None:
            self._last_episode.clear()
            self._last_episode[location.name] = self.data.read_episode(location, steps)
        return self._last_episode[location.name]

    @cached_property
    def _last_episode(self) -> dict[str, RobotEpisode]:
        """The last episode read: steps are visited in order."""
        return {}

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return what the robot sees before the step. Raises DataError if there is no picture."""
        from toolmark.suites.multinet.loaded_rows import prepare_picture  # Pillow is an extra

        name, _, number = id.rpartition("-")
        location, steps = self._locations.get(name, (None, 0))
        if location is None or not number.isdecimal() or int(number) >= steps:
            raise DataError(f"no step {id[:MAX_ID_CHARS]!r} in this split")
        label = self.data.describe_location(location, int(number))
        data = self.data.read_picture(location, int(number))
        if not data:
            raise DataError(f"{label}: step {int(number)} of {name} has no picture")
        return (prepare_picture(data, f"{label}: the picture of step {int(number)} of {name}"),)

    @cached_property
    def _locations(self) -> dict[str, tuple[EpisodeLocation, int]]:
        return {location.name: (location, steps) for location, steps in self.episodes}


def _files_by_part(about: DatasetInfo) -> dict[str, tuple[str, ...]]:
    """Return the files to read by their split; "" is for both."""
    test = next((name for name in _TEST_SPLIT_NAMES if name in about.parts), None)
    if test is None:
        return {"": tuple(file for _, names in sorted(about.parts.items()) for file in names)}
    train = about.parts.get("train", ())
    return {"train": train, "test": about.parts[test]}


# --- reading it once --------------------------------------------------------------------


@dataclass(frozen=True)
class _ScanRequest:
    """Files to read; equal, unchanged files are the same request."""

    stamps: tuple[tuple[str, int, int], ...]
    width: int
    data: RobotData = field(compare=False)


def _scan_files(
    data: RobotData, names: Sequence[str], robot: Morphology, folder: Path
) -> Mapping[str, FileScan]:
    """Return the content of the files, read once per process. Raises DataError for bad ones."""
    stamps = tuple(_file_stamp(name) for name in (*names, *data.about.description_files))
    found = _scan_request(_ScanRequest(stamps, len(robot.names), data), tuple(names))
    faults, episode_names = RowFaults(), set[str]()
    for each in found.values():
        for where, why in each.faults:
            faults.add(where, why)
        for location, _, _ in each.episodes:
            if location.name in episode_names:
                faults.add(data.describe_location(location), f"a second episode {location.name!r}")
            episode_names.add(location.name)
    faults.raise_if_any(folder)
    return found


def _file_stamp(name: str) -> tuple[str, int, int]:
    try:
        status = Path(name).stat()
    except OSError as error:
        raise DataError(f"{name}: cannot read: {error.strerror}") from None
    return name, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4)
def _scan_request(work: _ScanRequest, names: tuple[str, ...]) -> Mapping[str, FileScan]:
    """Read files, on all cores if there are enough bytes."""
    large = sum(size for _, size, _ in work.stamps) > _MIN_PARALLEL_BYTES
    n = worker_processes.available_cores() if large else 1
    scans = worker_processes.map_in_processes(
        partial(_scan_file, work.data), names, n, min_parallel=2
    )
    return dict(zip(names, scans, strict=True))


def _scan_file(data: RobotData, file: str) -> FileScan:
    """Read a file. If it cannot be read to its end, that is its last fault."""
    episodes: list[ScannedEpisode] = []
    faults: list[tuple[str, str]] = []
    shared_texts: dict[str, str] = {}
    try:
        for episode in data.iterate_episodes(file):
            bad_steps = _bad_actions(episode)
            location, name = episode.location, episode.location.name
            faults += [
                (
                    (
                        f"{data.describe_location(location, k)}: episode {name[:MAX_ID_CHARS]}, "
                        f"step {k}"
                    ),
                    why,
                )
                for k, why in bad_steps.items()
            ]
            if not is_valid_name(name):
                why = f"a name of more than {MAX_ID_CHARS} characters, or with control characters"
                faults.append((data.describe_location(location), why))
            elif len(episode.actions) and not bad_steps:
                # a text that all steps repeat is stored once
                texts = [shared_texts.setdefault(text, text) for text in episode.texts]
                deduplicated = episode._replace(texts=texts)
                episodes.append(
                    ScannedEpisode(
                        location, action_statistics.episode_range(episode.actions), deduplicated
                    )
                )
        return FileScan(files.file_sha256(Path(file)), episodes, faults)
    except DataError as error:
        return FileScan("", [], [*faults, (file, str(error).removeprefix(f"{file}: "))])


def _bad_actions(episode: RobotEpisode) -> dict[int, str]:
    """Return the steps with invalid actions, and why they are invalid."""
    width = episode.actions.shape[1]
    reasons = {
        k: f"an action of {n} numbers; {width} are due" for k, n in episode.wrong_widths.items()
    }
    for k in np.flatnonzero(~np.isfinite(episode.actions).all(axis=1)).tolist():
        reasons[k] = f"the action holds {_non_finite_values(episode.actions[k])}"
    return reasons


def _non_finite_values(action: Any) -> str:
    return ", ".join(sorted({f"{x:g}" for x in action.tolist() if not np.isfinite(x)}))


def _combined_sha256(about: DatasetInfo, scans: Mapping[str, FileScan], home: Path) -> str:
    """Return one SHA-256 of everything that was read: of the files' hashes and relative paths."""
    sums = {file: files.file_sha256(Path(file)) for file in about.description_files}
    sums |= {file: scan.sha256 for file, scan in scans.items()}
    relative_paths = {file: Path(os.path.relpath(file, home)).as_posix() for file in sums}
    lines = sorted(f"{relative_paths[file]} {sums[file]}" for file in sums)
    return sha256("\n".join(lines).encode()).hexdigest()


# --- splits -----------------------------------------------------------------------------


def _split_episodes(
    found: Mapping[str, list[ScannedEpisode]], seed: int
) -> tuple[list[ScannedEpisode], list[ScannedEpisode]]:
    """Return the training episodes and the test episodes."""
    if "" not in found:
        return found["train"], found["test"]
    draws = {each.place.name: seeds.make_rng(seed, each.place.name, 0, "openx-split").random()
             for each in found[""]}  # fmt: skip
    test_names = {name for name, at in draws.items() if at < TEST_SHARE}
    if draws and not test_names:  # with few episodes, ask at least one
        test_names = {min(draws, key=lambda name: (draws[name], name))}
    train = [each for each in found[""] if each.place.name not in test_names]
    return train, [each for each in found[""] if each.place.name in test_names]


def _action_spaces(
    robot: Morphology, train: Sequence[ScannedEpisode], test: Sequence[ScannedEpisode]
) -> tuple[ActionVector, ...]:
    """Return the space of all answers, or one for each test episode."""
    if train:
        return (
            _action_space(robot, action_statistics.combine_ranges([each.range for each in train])),
        )
    half = split_in_halves({each.place.name for each in test})
    spaces_by_half = [
        _action_space(robot, action_statistics.combine_ranges([each.range for each in test
                                           if half[each.place.name] == part]))
        for part in (1, 0)
    ]  # fmt: skip
    return tuple(spaces_by_half[half[each.place.name]] for each in test)


def _action_space(robot: Morphology, found: ActionRange) -> ActionVector:
    return ActionVector(
        names=robot.names,
        low=tuple(found.low.tolist()),
        high=tuple(found.high.tolist()),
        mean=tuple(found.mean.tolist()),
        slices=robot.slices,
    )


def _data_notes(
    about: DatasetInfo,
    parts: Mapping[str, Sequence[str]],
    train: Sequence[ScannedEpisode],
    test: Sequence[ScannedEpisode],
) -> tuple[str, ...]:
    """Return notes for the user about the data."""
    n_train, n_test = (sum(each.range.n for each in part) for part in (train, test))
    notes = [
        f"robot data: {about.name}, {'its own' if 'test' in parts else 'a seeded'} test split: "
        f"{format_count(n_test)} of {format_count(n_train + n_test)} rows; {format_count(n_train)} "
        "are reserved to learn from"
    ]
    if "test" not in parts:
        notes.append(
            f"without a split {format_percent(TEST_SHARE, 0)} of the episodes are asked, items=all "
            "or not: files "
            "whose names begin with test, or a folder public, are asked whole"
        )
    if "test" in parts and "test" not in about.parts:
        notes.append("the test split is what the data call validation")
    if not train:
        notes.append("no training split: ranges and means are those of the other half of episodes")
    missing_files = [f"{n} of {split}" for split, n in sorted(about.n_missing_files.items()) if n]
    if missing_files:
        notes.append(f"files that are not here: {', '.join(missing_files)}")
    if about.unused_members:
        notes.append(
            f"members of the action that are not floats: {', '.join(about.unused_members)}"
        )
    return tuple(notes)
