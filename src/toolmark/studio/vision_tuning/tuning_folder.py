"""The folder of a tuning: the request, the items in their current state, and all records on them.

| file | content |
|---|---|
| tune.json | the request |
| versions.jsonl | every version of every item, as it is asked |
| trials.jsonl | every attempt of every model |
| pages.jsonl | the pages on the hops to each answer, for reviewers |
| marks.jsonl | the marks of people: solvable, unsolvable, unclear |
| media/ | the pictures |
| set/ | the accepted items in the published layout, with the history of every item |
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.runs import record_files
from toolmark.runs.record_files import RecordAppender, read_records
from toolmark.runs.suite import Suite
from toolmark.studio.vision_tuning.attempt_outcome import PanelRuling, fails_version, panel_ruling
from toolmark.studio.vision_tuning.tuning_records import (
    HopPage,
    ItemVersion,
    OldTrial,
    ReviewMark,
    Trial,
    TuningRequest,
)
from toolmark.suites import suite_registry

REQUEST_FILE, VERSIONS_FILE, TRIALS_FILE = "tune.json", "versions.jsonl", "trials.jsonl"
PAGES_FILE, MARKS_FILE, SET_FOLDER = "pages.jsonl", "marks.jsonl", "set"

ItemStatus: TypeAlias = Literal[
    "accepted", "waiting", "unclear", "unsolvable", "easy", "open", "broken"
]
STATUS_DESCRIPTIONS: Mapping[ItemStatus, str] = {
    "accepted": "solvable, and most of the panel fails it",
    "waiting": "most of the panel fails it; nobody marked it yet",
    "unclear": "marked unclear",
    "unsolvable": "marked as not solvable",
    "easy": "half of the panel or more solves it",
    "open": "not asked to the end",
    "broken": "without a picture",
}


@dataclass(slots=True)
class TunedItem:
    """An item with its history. The last version is the current one."""

    id: str
    versions: list[ItemVersion] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    pages: list[HopPage] = field(default_factory=list)
    decisions: list[ReviewMark] = field(default_factory=list)

    @property
    def latest_version(self) -> ItemVersion:
        """The current version."""
        return self.versions[-1]

    @property
    def latest_mark(self) -> ReviewMark | None:
        """The last mark of a person on the current version."""
        version_marks = [
            mark for mark in self.decisions if mark.version == self.latest_version.number
        ]
        return version_marks[-1] if version_marks else None

    def attempts(self, model: str, version: int) -> list[Trial]:
        """Return a model's attempts at a version, the last record of each."""
        last = {t.attempt: t for t in self.trials if (t.model, t.version) == (model, version)}
        return [last[attempt] for attempt in sorted(last)]

    def failure_by_model(self, request: TuningRequest) -> dict[str, bool | None]:
        """Return for each model whether it fails the current version; None if unknown."""
        number, n = self.latest_version.number, request.plan.repeats
        return {name: fails_version(self.attempts(name, number), n) for name in request.models}

    def ruling(self, request: TuningRequest) -> PanelRuling:
        """Return the panel's ruling on the current version."""
        return panel_ruling(self.failure_by_model(request).values())

    def status(self, request: TuningRequest) -> ItemStatus:
        """Return the status of the item."""
        if self.latest_version.failure:
            return "broken"
        match self.ruling(request):
            case "hard":
                verdict = self.latest_mark.verdict if self.latest_mark else None
                if verdict == "solvable":
                    return "accepted"
                return verdict if verdict == "unsolvable" or verdict == "unclear" else "waiting"
            case panel_status:
                return panel_status


class TuningFolder:
    """A tuning's folder in its current state; new records go to the disk and to `items`."""

    def __init__(self, path: Path) -> None:
        """Read the folder. Raises UsageError for one of another kind, DataError if damaged."""
        self.path = path
        self.media = MediaStore(path / "media")
        try:
            self.request = record_files.read_document(path / REQUEST_FILE, TuningRequest)
        except FileNotFoundError:
            raise UsageError(f"{path}: no folder of `toolmark tune`") from None
        self.items: dict[str, TunedItem] = {}
        _check_format(path, self.request)
        for version in read_records(path / VERSIONS_FILE, ItemVersion, missing_ok=True):
            self.add_record(version)
        kinds: Mapping[str, type[Trial | HopPage | ReviewMark]] = {
            TRIALS_FILE: Trial,
            PAGES_FILE: HopPage,
            MARKS_FILE: ReviewMark,
        }
        for name, kind in kinds.items():
            for record in read_records(path / name, kind, missing_ok=True):
                if record.item not in self.items:
                    raise DataError(
                        f"{path / name}: item {record.item!r} has no version in {VERSIONS_FILE}; "
                        "remove its lines"
                    )
                self.add_record(record)

    @contextmanager
    def open_writer(self) -> Iterator[TuningWriter]:
        """Lock the folder and open the files. Raises UsageError if another writer has the lock."""
        with record_files.lock_folder(self.path):
            writer = TuningWriter(self)
            try:
                yield writer
            finally:
                writer.close()

    def add_record(self, record: ItemVersion | Trial | HopPage | ReviewMark) -> None:
        """Add a record to the items; the trajectory of a trial stays only on the disk."""
        match record:
            case ItemVersion():
                item = self.items.setdefault(record.item, TunedItem(record.item))
                item.versions.append(record)
            case Trial():
                self.items[record.item].trials.append(replace(record, trajectory=None))
            case HopPage():
                self.items[record.item].pages.append(record)
            case ReviewMark():
                self.items[record.item].decisions.append(record)

    def load_suite(self) -> Suite:
        """Load the suite again. Raises UsageError where its items have changed since."""
        plan = self.request.plan
        parameters = suite_registry.convert_known_parameters(plan.suite, plan.parameters) | {
            "seed": self.request.seed
        }
        loaded = suite_registry.load_suite(plan.suite, **parameters)
        if dict(loaded.provenance.hashes) != self.request.hashes:
            raise UsageError(f"{self.path}: the items have changed since; begin another folder")
        return loaded

    def count_statuses(self) -> dict[ItemStatus, int]:
        """Count the items by status."""
        found = [item.status(self.request) for item in self.items.values()]
        return {status: found.count(status) for status in STATUS_DESCRIPTIONS}


class TuningWriter:
    """Appends to the files of a tuning, each record at once."""

    def __init__(self, tuning: TuningFolder) -> None:
        self._tuning = tuning
        names = {ItemVersion: VERSIONS_FILE, Trial: TRIALS_FILE, HopPage: PAGES_FILE}
        self._lines = {kind: RecordAppender(tuning.path / name) for kind, name in names.items()}

    def add(self, record: ItemVersion | Trial | HopPage) -> None:
        """Store a record. Raises DataError when the disk is full."""
        self._lines[type(record)].append(record)
        self._tuning.add_record(record)

    def close(self) -> None:
        """Flush everything to the disk and close the files."""
        for lines in self._lines.values():
            lines.close()


def _check_format(path: Path, request: TuningRequest) -> None:
    """Raise DataError for attempts in an older format, with the command to start again."""
    trials = path / TRIALS_FILE
    if any(old.reason for old in read_records(trials, OldTrial, missing_ok=True)):
        raise DataError(
            f"{trials}: written by an older version of toolmark, whose reasons this one does not "
            f"read; begin anew: toolmark tune {request.plan.suite} -o FOLDER, with another folder"
        )


def is_tuning_folder(path: Path) -> bool:
    """Return whether a folder is a tuning's."""
    return os.path.lexists(path / REQUEST_FILE)


def open_or_create(path: Path, request: TuningRequest) -> TuningFolder:
    """Create the folder, or open an existing one with an equal request. Raises UsageError."""
    if is_tuning_folder(path):
        found = TuningFolder(path)
        if difference := _first_difference(found.request, request):
            raise UsageError(
                f"{path}: made with another {difference}; choose another folder, or go on with "
                f"this one: toolmark tune {request.plan.suite} -o {path}"
            )
        return found
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"{path}: not empty, and no tuning's folder; choose another")
    except OSError as error:
        raise UsageError(f"{path}: cannot write there: {error.strerror}") from None
    record_files.write_document(path / REQUEST_FILE, request)
    return TuningFolder(path)


def _first_difference(old: TuningRequest, new: TuningRequest) -> str:
    """Name the first part in which two requests differ, "" where they are equal."""
    if old.plan.hash != new.plan.hash:
        # by hash: a plan read from disk has lists where the request has tuples
        return "choice of parameters, items, tool format or attempts"
    fields: Sequence[tuple[str, object, object]] = (
        ("panel", old.models, new.models),
        ("choice of edits", old.edits, new.edits),
        ("number of rounds", old.rounds, new.rounds),
        ("file of items, pages or answers", old.hashes, new.hashes),
    )
    return next((name for name, old_value, new_value in fields if old_value != new_value), "")
