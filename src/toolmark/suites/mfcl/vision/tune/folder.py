"""The folder of a tuning: the request, the items as they stand, and all that was said of them.

| file | holds |
|---|---|
| tune.json | the request |
| versions.jsonl | every version of every item, as it is asked |
| trials.jsonl | every attempt of every model |
| pages.jsonl | the pages on the way to each answer, for who marks |
| marks.jsonl | what people said: solvable, unsolvable, unclear |
| media/ | the pictures |
| set/ | what is kept, in the published layout, with the history of every item |
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark import suites
from toolmark.errors import DataError, UsageError
from toolmark.media import Media
from toolmark.runs import jsonl
from toolmark.runs.jsonl import Lines, records
from toolmark.runs.suite import Suite
from toolmark.suites.mfcl.vision.tune.outcome import Ruling, failed, ruling
from toolmark.suites.mfcl.vision.tune.records import Leaf, Mark, Old, Request, Trial, Version

REQUEST, VERSIONS, TRIALS = "tune.json", "versions.jsonl", "trials.jsonl"
PAGES, MARKS, SET = "pages.jsonl", "marks.jsonl", "set"

Status: TypeAlias = Literal["kept", "waiting", "unclear", "unsolvable", "easy", "open", "broken"]
STATUSES: Mapping[Status, str] = {
    "kept": "solvable, and most of the panel fails it",
    "waiting": "most of the panel fails it; nobody marked it yet",
    "unclear": "marked unclear",
    "unsolvable": "marked as not solvable",
    "easy": "half of the panel or more solves it",
    "open": "not asked to the end",
    "broken": "without a picture",
}


@dataclass(slots=True)
class Item:
    """An item with its history. The last version is the one that stands."""

    id: str
    versions: list[Version] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def last(self) -> Version:
        """The version that stands."""
        return self.versions[-1]

    @property
    def mark(self) -> Mark | None:
        """The last word of a person on the version that stands."""
        own = [mark for mark in self.marks if mark.version == self.last.number]
        return own[-1] if own else None

    def of(self, model: str, version: int) -> list[Trial]:
        """Return a model's attempts at a version, the last word on each."""
        last = {t.attempt: t for t in self.trials if (t.model, t.version) == (model, version)}
        return [last[attempt] for attempt in sorted(last)]

    def fails(self, request: Request) -> dict[str, bool | None]:
        """Tell of each model whether it fails the version that stands; None if unknown."""
        number, n = self.last.number, request.plan.repeats
        return {name: failed(self.of(name, number), n) for name in request.models}

    def ruling(self, request: Request) -> Ruling:
        """Return what the panel says of the version that stands."""
        return ruling(self.fails(request).values())

    def status(self, request: Request) -> Status:
        """Return how the item stands."""
        if self.last.broken:
            return "broken"
        match self.ruling(request):
            case "hard":
                verdict = self.mark.verdict if self.mark else None
                if verdict == "solvable":
                    return "kept"
                return verdict if verdict == "unsolvable" or verdict == "unclear" else "waiting"
            case other:
                return other


class Tuning:
    """A tuning's folder, as it stands; what is added goes to the disk and to `items`."""

    def __init__(self, path: Path) -> None:
        """Read it. Raises UsageError for a folder of other things, DataError for a damaged one."""
        self.path = path
        self.media = Media(path / "media")
        try:
            self.request = jsonl.document(path / REQUEST, Request)
        except FileNotFoundError:
            raise UsageError(f"{path}: no folder of `toolmark tune`") from None
        self.items: dict[str, Item] = {}
        _check_format(path, self.request)
        for version in records(path / VERSIONS, Version, missing_ok=True):
            self.hold(version)
        kinds: Mapping[str, type[Trial | Leaf | Mark]] = {TRIALS: Trial, PAGES: Leaf, MARKS: Mark}
        for name, kind in kinds.items():
            for record in records(path / name, kind, missing_ok=True):
                if record.item not in self.items:
                    raise DataError(
                        f"{path / name}: item {record.item!r} has no version in {VERSIONS}; remove "
                        "its lines"
                    )
                self.hold(record)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Keep other writers out and open the files. Raises UsageError when one is in."""
        with jsonl.locked(self.path):
            writer = Writer(self)
            try:
                yield writer
            finally:
                writer.close()

    def hold(self, record: Version | Trial | Leaf | Mark) -> None:
        """Add a record to the items; of a trial the episode stays on the disk."""
        match record:
            case Version():
                item = self.items.setdefault(record.item, Item(record.item))
                item.versions.append(record)
            case Trial():
                self.items[record.item].trials.append(replace(record, trajectory=None))
            case Leaf():
                self.items[record.item].leaves.append(record)
            case Mark():
                self.items[record.item].marks.append(record)

    def suite(self) -> Suite:
        """Load the suite again. Raises UsageError where its items have changed since."""
        plan = self.request.plan
        knobs = suites.settled(plan.suite, plan.knobs) | {"seed": self.request.seed}
        loaded = suites.load(plan.suite, **knobs)
        if dict(loaded.hashes) != self.request.hashes:
            raise UsageError(f"{self.path}: the items have changed since; begin another folder")
        return loaded

    def count(self) -> dict[Status, int]:
        """Count the items by how they stand."""
        found = [item.status(self.request) for item in self.items.values()]
        return {status: found.count(status) for status in STATUSES}


class Writer:
    """Adds to the files of a tuning, each record at once."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        names = {Version: VERSIONS, Trial: TRIALS, Leaf: PAGES}
        self._lines = {kind: Lines(tuning.path / name) for kind, name in names.items()}

    def add(self, record: Version | Trial | Leaf) -> None:
        """Keep a record. Raises DataError when the disk takes no more."""
        self._lines[type(record)].append(record)
        self._tuning.hold(record)

    def close(self) -> None:
        """Push everything to the disk."""
        for lines in self._lines.values():
            lines.close()


def _check_format(path: Path, request: Request) -> None:
    """Raise DataError for a folder whose attempts are of an older format; say how to begin anew."""
    trials = path / TRIALS
    if any(old.reason for old in records(trials, Old, missing_ok=True)):
        raise DataError(
            f"{trials}: written by an older version of toolmark, whose reasons this one does not "
            f"read; begin anew: toolmark tune {request.plan.suite} -o FOLDER, with another folder"
        )


def there(path: Path) -> bool:
    """Tell whether a folder is a tuning's."""
    return os.path.lexists(path / REQUEST)


def begun(path: Path, request: Request) -> Tuning:
    """Make the folder, or take up the one that is there of the same request. Raises UsageError."""
    if there(path):
        found = Tuning(path)
        if why := _other(found.request, request):
            raise UsageError(
                f"{path}: made with another {why}; choose another folder, or go on with this one: "
                f"toolmark tune {request.plan.suite} -o {path}"
            )
        return found
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"{path}: not empty, and no tuning's folder; choose another")
    except OSError as error:
        raise UsageError(f"{path}: cannot write there: {error.strerror}") from None
    jsonl.write(path / REQUEST, request)
    return Tuning(path)


def _other(old: Request, new: Request) -> str:
    """Name the first thing in which two requests differ, "" where they are the same."""
    if old.plan.hash != new.plan.hash:
        # by hash: what was read back holds lists where the request has tuples
        return "choice of knobs, items, dialect or attempts"
    told: Sequence[tuple[str, object, object]] = (
        ("panel", old.models, new.models),
        ("choice of edits", old.edits, new.edits),
        ("number of rounds", old.rounds, new.rounds),
        ("file of items, pages or answers", old.hashes, new.hashes),
    )
    return next((name for name, one, other in told if one != other), "")
