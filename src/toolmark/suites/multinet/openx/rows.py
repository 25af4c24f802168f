"""Open-X: the steps of robot episodes, from RLDS folders or from Parquet files.

The action is what the data set holds: one vector, or of several members those of floats, sorted by
name, flattened and put together. Where the data have a test split (or else one for validation) it
is the test split; else a tenth of the episodes is, each drawn by its name and the seed alone.
Ranges and means are of the training split, of all its steps. Where there is none the episodes are
put into two halves, and each is told those of the other: what all others have in common would tell
its own. A single episode is not asked then. Files are read once for all that is asked of them but
their pictures.

What the numbers of an action are called, and where the robot is, `dataset.json` beside the data
says; without it data that are known to be the published set, by their name or folder, are told as
that, and the numbers of all others are counted.
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

from toolmark import fetch, seeds, workers
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.multinet.frame import Frame, Motion, Picture
from toolmark.suites.multinet.guesses import halves
from toolmark.suites.multinet.held import LONGEST
from toolmark.suites.multinet.held import name as sound
from toolmark.suites.multinet.layout import BESIDE, Faults, beside
from toolmark.suites.multinet.openx import homes, statistics
from toolmark.suites.multinet.openx.episode import About, Data, Episode, Place, before
from toolmark.suites.multinet.openx.morphology import MORPHOLOGIES, OWN, Morphology
from toolmark.suites.multinet.openx.statistics import Range

Split: TypeAlias = Literal["train", "test"]

SHARE = 0.1
"""Of the episodes, for the test split, where the data have none."""
_TESTS = ("test", "val", "validation")
_LARGE = 2**26  # bytes that are worth starting processes for


class Found(NamedTuple):
    """An episode without its pictures, and what its actions range over, of how many steps."""

    place: Place
    range: Range
    episode: Episode


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
    if morphology not in (*MORPHOLOGIES, OWN):
        raise UsageError(f"no morphology {morphology!r}{near(morphology, (*MORPHOLOGIES, OWN))}")
    if split not in ("train", "test") or history < 0:
        raise UsageError("split is train or test, history at least 0")
    home = homes.found(folder, morphology)
    data, shape = homes.opened(home, morphology, folder)
    parts = _parts(data.about)
    scans = _scanned(data, [file for names in parts.values() for file in names], shape, folder)
    found = {part: [each for file in names for each in scans[file].episodes]
             for part, names in parts.items()}  # fmt: skip
    train, test = _split(found, seed)
    if not train and not test:
        raise DataError(f"{folder}: its episodes hold no step")
    if not train and len(test) == 1:
        raise DataError(
            f"{folder}: holds one episode and no training split: ranges and the mean, which RelMAE "
            "divides by, could only be its own; put in more episodes, or a folder train"
        )
    kept = train if split == "train" else test
    spaces = _spaces(shape, train, test)
    return Trajectories(
        data=data,
        morphology=morphology,
        environment=shape.environment,
        episodes=tuple((each.place, each.range.n) for each in kept),
        spaces=spaces[:1] if train else spaces,
        history=history,
        hashes={f"openx-{morphology}": _digest(data.about, scans, home)},
        notes=(
            *_notes(data.about, parts, train, test),
            *homes.notes(shape, morphology),
            *((BESIDE,) if train and beside(home) else ()),
        ),
        held={each.place.name: each.episode for each in kept},
    )


@dataclass(frozen=True)
class Trajectories:
    """The steps of one split, episode by episode.

    `spaces` is one for all episodes, or one for each. `held` are the episodes by name; they stay
    behind when the rows travel, and are read anew where that is needed.
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
    held: Mapping[str, Episode] = field(default_factory=dict, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what was read and looked up."""
        names = [name for name in self.__dataclass_fields__ if name != "held"]
        return Trajectories, tuple(getattr(self, name) for name in names)

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(n for _, n in self.episodes)

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        return map(self.full, self.bare())

    def bare(self) -> Iterator[Frame]:
        """Go through them without their fields."""
        slices = {"morphology": self.morphology}
        for k, (place, steps) in enumerate(self.episodes):
            space = self.spaces[k % len(self.spaces)]
            for n, action in enumerate(self._episode(place, steps).actions.tolist()):
                yield Frame(
                    id=f"{place.name}-{n:04}",
                    family="openx",
                    source="published",
                    space=space,
                    truth=tuple(action),
                    group=place.name,
                    step=n,
                    slices=slices,
                )

    def full(self, frame: Frame) -> Frame:
        """Return the whole of one of them."""
        episode = self._episode(*self._places[frame.group])
        fields = {"instruction": episode.texts[frame.step], "environment": self.environment}
        if self.history:
            fields["history"] = before(episode.actions, frame.step, self.history)
        return replace(frame, fields={name: text for name, text in fields.items() if text})

    def _episode(self, place: Place, steps: int) -> Episode:
        if place.name in self.held:
            return self.held[place.name]
        if self._last.get(place.name) is None:
            self._last.clear()
            self._last[place.name] = self.data.episode(place, steps)
        return self._last[place.name]

    @cached_property
    def _last(self) -> dict[str, Episode]:
        """The episode that was read last: steps are gone through one after the other."""
        return {}

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return what the robot sees before the step. Raises DataError where that lacks."""
        from toolmark.suites.multinet.held import shown  # Pillow is an extra

        name, _, number = id.rpartition("-")
        place, steps = self._places.get(name, (None, 0))
        if place is None or not number.isdecimal() or int(number) >= steps:
            raise DataError(f"no step {id[:LONGEST]!r} in this split")
        told = self.data.told(place, int(number))
        data = self.data.picture(place, int(number))
        if not data:
            raise DataError(f"{told}: step {int(number)} of {name} has no picture")
        return (shown(data, f"{told}: the picture of step {int(number)} of {name}"),)

    @cached_property
    def _places(self) -> dict[str, tuple[Place, int]]:
        return {place.name: (place, steps) for place, steps in self.episodes}


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
    stamps = tuple(_stamp(name) for name in (*names, *data.about.described))
    found = _read(_Work(stamps, len(shape.names), data), tuple(names))
    faults, seen = Faults(), set[str]()
    for each in found.values():
        for where, why in each.faults:
            faults.add(where, why)
        for place, _, _ in each.episodes:
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
    said: dict[str, str] = {}
    try:
        for episode in data.episodes(file):
            bad = _bad(episode)
            place, name = episode.place, episode.place.name
            faults += [(f"{data.told(place, k)}: episode {name[:LONGEST]}, step {k}", why)
                       for k, why in bad.items()]  # fmt: skip
            if not sound(name):
                why = f"a name of more than {LONGEST} characters, or with control characters"
                faults.append((data.told(place), why))
            elif len(episode.actions) and not bad:
                # a text that all steps repeat is held once
                texts = [said.setdefault(text, text) for text in episode.texts]
                kept = episode._replace(texts=texts)
                episodes.append(Found(place, statistics.of(episode.actions), kept))
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


def _digest(about: About, scans: Mapping[str, Scan], home: Path) -> str:
    """Return one SHA-256 of all that was read: of the files' sums and places from the folder."""
    sums = {file: fetch.digest(Path(file)) for file in about.described}
    sums |= {file: scan.sha256 for file, scan in scans.items()}
    places = {file: Path(os.path.relpath(file, home)).as_posix() for file in sums}
    lines = sorted(f"{places[file]} {sums[file]}" for file in sums)
    return sha256("\n".join(lines).encode()).hexdigest()


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
    half = halves({each.place.name for each in test})
    told = [
        _space(shape, statistics.together([each.range for each in test
                                           if half[each.place.name] == part]))
        for part in (1, 0)
    ]  # fmt: skip
    return tuple(told[half[each.place.name]] for each in test)


def _space(shape: Morphology, found: Range) -> Motion:
    return Motion(
        names=shape.names,
        low=tuple(found.low.tolist()),
        high=tuple(found.high.tolist()),
        mean=tuple(found.mean.tolist()),
        slices=shape.slices,
    )


def _notes(
    about: About,
    parts: Mapping[str, Sequence[str]],
    train: Sequence[Found],
    test: Sequence[Found],
) -> tuple[str, ...]:
    """Return what the user should know."""
    n_train, n_test = (sum(each.range.n for each in part) for part in (train, test))
    notes = [
        f"robot data: {about.name}, {'its own' if 'test' in parts else 'a seeded'} test split: "
        f"{n_test:,} of {n_train + n_test:,} rows; {n_train:,} are kept to learn from"
    ]
    if "test" not in parts:
        notes.append(
            f"without a split {SHARE:.0%} of the episodes are asked, items=all or not: files whose "
            "names begin with test, or a folder public, are asked whole"
        )
    if "test" in parts and "test" not in about.parts:
        notes.append("the test split is what the data call validation")
    if not train:
        notes.append("no training split: ranges and means are those of the other half of episodes")
    lost = [f"{n} of {split}" for split, n in sorted(about.lost.items()) if n]
    if lost:
        notes.append(f"files that are not here: {', '.join(lost)}")
    if about.dropped:
        notes.append(f"members of the action that are no floats: {', '.join(about.dropped)}")
    return tuple(notes)
