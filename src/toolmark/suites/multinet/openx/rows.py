"""Open-X: the steps of robot episodes, from RLDS folders or from Parquet files.

The action is what the data set holds: one vector, or of several members those of floats, sorted by
name, flattened and put together. Where the data have a test split (or else one for validation) it
is the test split; else a tenth of the episodes is, each drawn by its name and the seed alone.
Ranges and means are of the training split, of all its steps; where there is none, each episode is
told those of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from toolmark import fetch, seeds, workers
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.multinet.frame import Frame, Motion, Picture
from toolmark.suites.multinet.layout import Faults
from toolmark.suites.multinet.openx import rlds, snapshots, statistics
from toolmark.suites.multinet.openx.episode import About, Data, Episode, Place
from toolmark.suites.multinet.openx.morphology import MORPHOLOGIES, Morphology, named
from toolmark.suites.multinet.openx.statistics import Range
from toolmark.suites.multinet.parquet import SUFFIX

Split: TypeAlias = Literal["train", "test"]

SHARE = 0.1
"""Of the episodes, for the test split, where the data have none."""
_TESTS = ("test", "val", "validation")
_SNAPSHOT = "translated_shard_*"
_LARGE = 2**26  # bytes that are worth starting processes for
_LONGEST = 200  # characters of an episode's name


class Found(NamedTuple):
    """An episode, what its actions range over, and of how many steps."""

    place: Place
    range: Range


class Scan(NamedTuple):
    """What one file holds: its episodes, and where it is bad and why."""

    sha256: str
    episodes: list[Found]
    faults: list[tuple[str, str]]


def rows(
    folder: Path, *, morphology: str, split: Split, seed: int, history: int = 0
) -> Trajectories:
    """Read all there is once, and return the steps of a split.

    `history`: that many actions before the step are told. The training split of data that have
    none is empty. Raises UsageError for what cannot be asked, DataError that lists the bad steps:
    an action of another length, NaN, infinite.
    """
    if morphology not in MORPHOLOGIES:
        raise UsageError(f"no morphology {morphology!r}{near(morphology, MORPHOLOGIES)}")
    if split not in ("train", "test") or history < 0:
        raise UsageError("split is train or test, history at least 0")
    data = _data(folder, morphology)
    shape = named(MORPHOLOGIES[morphology], data.about.members)
    parts = _parts(data.about)
    scans = _scanned(data, [file for names in parts.values() for file in names], shape, folder)
    found = {part: [each for file in names for each in scans[file].episodes]
             for part, names in parts.items()}  # fmt: skip
    train, test = _split(found, seed)
    if not train and not test:
        raise DataError(f"{folder}: its episodes hold no step")
    kept = train if split == "train" else test
    spaces = _spaces(shape, train, test)
    return Trajectories(
        data=data,
        morphology=morphology,
        environment=shape.environment,
        episodes=tuple((each.place, each.range.n) for each in kept),
        spaces=spaces[:1] if train else spaces,
        history=history,
        hashes={f"openx-{morphology}": _digest(data.about, scans)},
        notes=_notes(data.about, shape, parts, bool(train), len(test)),
    )


@dataclass(frozen=True)
class Trajectories:
    """The steps of one split, episode by episode; they are read anew whenever they are needed.

    `spaces` is one for all episodes, or one for each.
    """

    data: Data
    morphology: str
    environment: str
    episodes: tuple[tuple[Place, int], ...]
    spaces: tuple[Motion, ...]
    history: int
    hashes: Mapping[str, str]
    notes: tuple[str, ...]
    clustered: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what was looked up."""
        return Trajectories, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(n for _, n in self.episodes)

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        for k, (place, steps) in enumerate(self.episodes):
            episode = self.data.episode(place, steps)
            space = self.spaces[k % len(self.spaces)]
            yield from (self._frame(episode, n, space) for n in range(steps))

    def _frame(self, episode: Episode, n: int, space: Motion) -> Frame:
        fields = {"instruction": episode.texts[n], "environment": self.environment}
        if self.history:
            fields["history"] = _before(episode, n, self.history)
        return Frame(
            id=f"{episode.place.name}-{n:04}",
            family="openx",
            source="published",
            space=space,
            truth=tuple(episode.actions[n].tolist()),
            group=episode.place.name,
            step=n,
            fields={name: text for name, text in fields.items() if text},
            slices={"morphology": self.morphology},
        )

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return what the robot sees before the step. Raises DataError where that lacks."""
        from toolmark.suites.multinet.held import shown  # Pillow is an extra

        name, _, number = id.rpartition("-")
        place, steps = self._places.get(name, (None, 0))
        if place is None or not number.isdecimal() or int(number) >= steps:
            raise DataError(f"no step {id[:_LONGEST]!r} in this split")
        data = self.data.picture(place, int(number))
        if not data:
            raise DataError(f"{self.data.told(place)}: step {int(number)} of {name} has no picture")
        return (shown(data, f"{self.data.told(place)}: the picture of step {int(number)}"),)

    @cached_property
    def _places(self) -> dict[str, tuple[Place, int]]:
        return {place.name: (place, steps) for place, steps in self.episodes}


def _before(episode: Episode, n: int, most: int) -> str:
    """Return the actions before a step, oldest first."""
    before = episode.actions[max(0, n - most) : n].tolist()
    # 0.0 is added so that none reads -0
    lines = ["[" + ", ".join(f"{x + 0.0:.6g}" for x in action) + "]" for action in before]
    return "\n" + "\n".join(lines) if lines else "none, this is the first step"


# --- where the data are -----------------------------------------------------------------


def _data(folder: Path, name: str) -> Data:
    """Return the data of a folder, of MultiNet's folder in it, or of the only version in it."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    shape = MORPHOLOGIES[name]
    inner = [folder / each for each in (shape.folder, shape.published, name)]
    homes = [folder, *(home for home in inner if home.is_dir())]
    below = [sorted(path for path in home.iterdir() if path.is_dir()) for home in homes[::-1]]
    for level in ([homes[0]], homes[1:], *below):
        there = [home for home in level if _holds(home)]
        if len(there) > 1:
            told = ", ".join(home.name for home in there[:10])
            raise UsageError(f"{folder}: holds several data sets: name one of {told}")
        if there:
            return _opened(there[0], shape)
    if next(folder.rglob(_SNAPSHOT), None):
        raise DataError(
            f"{folder}: holds TensorFlow snapshots; where TensorFlow is, run "
            f"python -m toolmark.suites.multinet.openx.export {folder} test{SUFFIX}, and name the "
            "folder of what it writes"
        )
    raise DataError(f"{folder}: neither {rlds.INFO} nor *{SUFFIX} in it")


def _holds(home: Path) -> bool:
    return (home / rlds.INFO).is_file() or snapshots.holds(home)


def _opened(home: Path, shape: Morphology) -> Data:
    width = len(shape.names)
    data = rlds.opened(home) if (home / rlds.INFO).is_file() else snapshots.opened(home, width)
    if data.about.width not in (0, width):
        raise DataError(f"{home}: its actions have {data.about.width} numbers; {width} are due")
    return data


def _parts(about: About) -> dict[str, tuple[str, ...]]:
    """Return the files to read, by what they are for; "" is for both."""
    test = next((name for name in _TESTS if name in about.parts), None)
    if test is None:
        return {"": tuple(file for _, names in sorted(about.parts.items()) for file in names)}
    train = about.parts.get("train", ())
    return {"train": train, "test": about.parts[test]}


# --- reading it once --------------------------------------------------------------------


@dataclass(frozen=True)
class _Work:
    """Files to be read; the same ones, unchanged, are the same work."""

    stamps: tuple[tuple[str, int, int], ...]
    width: int
    data: Data = field(compare=False)


def _scanned(
    data: Data, names: Sequence[str], shape: Morphology, folder: Path
) -> Mapping[str, Scan]:
    """Return what the files hold, read once in a process. Raises DataError for bad ones."""
    if len(shape.names) != len(set(shape.names)):
        raise DataError(f"{folder}: two dimensions of the same name")
    stamps = tuple(_stamp(name) for name in (*names, *data.about.described))
    found = _read(_Work(stamps, len(shape.names), data), tuple(names))
    faults, seen = Faults(), set[str]()
    for each in found.values():
        for where, why in each.faults:
            faults.add(where, why)
        for place, _ in each.episodes:
            if place.name in seen:
                faults.add(data.told(place), f"a second episode {place.name!r}")
            seen.add(place.name)
    faults.check(folder)
    return found


def _stamp(name: str) -> tuple[str, int, int]:
    try:
        about = Path(name).stat()
    except OSError as error:
        raise DataError(f"{name}: cannot read: {error.strerror}") from None
    return name, about.st_size, about.st_mtime_ns


@lru_cache(maxsize=4)
def _read(work: _Work, names: tuple[str, ...]) -> Mapping[str, Scan]:
    """Read files, on all cores where that is worth it."""
    large = sum(size for _, size, _ in work.stamps) > _LARGE
    n = workers.cores() if large else 1
    scans = workers.each(partial(_scan, work.data), names, n, few=2)
    return dict(zip(names, scans, strict=True))


def _scan(data: Data, file: str) -> Scan:
    """Read a file. Where it cannot be read to its end, that is its last fault."""
    episodes: list[Found] = []
    faults: list[tuple[str, str]] = []
    try:
        for episode in data.episodes(file):
            bad = _bad(episode)
            told = data.told(episode.place)
            faults += [(f"{told}: step {k}", why) for k, why in bad.items()]
            if len(episode.place.name) > _LONGEST:
                faults.append((told, f"a name of more than {_LONGEST} characters"))
            elif len(episode.actions) and not bad:
                episodes.append(Found(episode.place, statistics.of(episode.actions)))
        return Scan(fetch.digest(Path(file)), episodes, faults)
    except DataError as error:
        return Scan("", [], [*faults, (file, str(error).removeprefix(f"{file}: "))])


def _bad(episode: Episode) -> dict[int, str]:
    """Return the steps whose actions cannot be true, and why."""
    width = episode.actions.shape[1]
    bad = {k: f"an action of {n} numbers; {width} are due" for k, n in episode.odd.items()}
    for k in np.flatnonzero(~np.isfinite(episode.actions).all(axis=1)).tolist():
        bad[k] = f"the action holds {_odd(episode.actions[k])}"
    return bad


def _odd(action: Any) -> str:
    return ", ".join(sorted({f"{x:g}" for x in action.tolist() if not np.isfinite(x)}))


def _digest(about: About, scans: Mapping[str, Scan]) -> str:
    """Return one SHA-256 of all that was read: of the names and sums of the files."""
    sums = {Path(file).name: fetch.digest(Path(file)) for file in about.described}
    sums |= {Path(file).name: scan.sha256 for file, scan in scans.items()}
    return sha256("\n".join(f"{name} {sums[name]}" for name in sorted(sums)).encode()).hexdigest()


# --- splits -----------------------------------------------------------------------------


def _split(found: Mapping[str, list[Found]], seed: int) -> tuple[list[Found], list[Found]]:
    """Return the episodes for training and for the test."""
    if "" not in found:
        return found["train"], found["test"]
    drawn = {each.place.name: seeds.of(seed, each.place.name, 0, "openx-split").random()
             for each in found[""]}  # fmt: skip
    chosen = {name for name, at in drawn.items() if at < SHARE}
    if drawn and not chosen:  # few episodes: one at least is asked
        chosen = {min(drawn, key=lambda name: (drawn[name], name))}
    train = [each for each in found[""] if each.place.name not in chosen]
    return train, [each for each in found[""] if each.place.name in chosen]


def _spaces(shape: Morphology, train: Sequence[Found], test: Sequence[Found]) -> tuple[Motion, ...]:
    """Return the space of all answers, or one for each episode of the test."""
    if train:
        return (_space(shape, statistics.together([each.range for each in train])),)
    ranges = [each.range for each in test]
    apart = statistics.others(ranges) if len(ranges) > 1 else ranges
    return tuple(_space(shape, each) for each in apart)


def _space(shape: Morphology, found: Range) -> Motion:
    return Motion(
        names=shape.names,
        low=tuple(found.low.tolist()),
        high=tuple(found.high.tolist()),
        mean=tuple(found.mean.tolist()),
        slices=shape.slices,
    )


def _notes(
    about: About, shape: Morphology, parts: Mapping[str, Sequence[str]], train: bool, n_test: int
) -> tuple[str, ...]:
    """Return what the user should know."""
    notes = [f"robot data: {about.name}, {'its own' if 'test' in parts else 'a seeded'} test split"]
    if "test" in parts and "test" not in about.parts:
        notes.append("the test split is what the data call validation")
    if not train:
        whose = "the other episodes'" if n_test > 1 else "the only episode's own"
        notes.append(f"no training split: ranges and means are {whose}")
    lost = [f"{n} of {split}" for split, n in sorted(about.lost.items()) if n]
    if lost:
        notes.append(f"files that are not here: {', '.join(lost)}")
    if about.dropped:
        notes.append(f"members of the action that are no floats: {', '.join(about.dropped)}")
    if not shape.published:
        notes.append("not the published data set: dimensions are named by their members")
    return tuple(notes)
