"""Decisions of people, one per line, stored at once; the last one on a question counts."""

from __future__ import annotations

import fcntl
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from toolmark.core.errors import DataError
from toolmark.core.records import Record
from toolmark.runs.record_files import RecordAppender, read_records

Choice: TypeAlias = Literal["accept", "edit", "reject"]
PreferenceChoice: TypeAlias = Literal["a", "b", "tie"]


class Decision(Record, frozen=True, kw_only=True):
    """One person's decision on one episode; `steps` are edited ones, as published. Time in UTC."""

    task: str
    repeat: int
    decision: Choice
    reviewer: str
    time: str
    note: str = ""
    steps: tuple[dict[str, Any], ...] = ()

    @property
    def key(self) -> Hashable:
        """The subject of the decision: a later one with the same key replaces it."""
        return self.task, self.repeat


class Preference(Record, frozen=True, kw_only=True):
    """Which of two runs, by the names of their folders, one person preferred on one episode.

    `left` is the run that was shown on the left.
    """

    a: str
    b: str
    task: str
    repeat: int
    item: str
    choice: PreferenceChoice
    left: Literal["a", "b"]
    reviewer: str
    time: str
    note: str = ""

    @property
    def key(self) -> Hashable:
        """The subject of the preference, separate for each reviewer."""
        return self.a, self.b, self.task, self.repeat, self.reviewer


class SameCallLabel(Record, frozen=True, kw_only=True):
    """One person's judgement whether two calls of a tool do the same; `a`, `b` are arguments."""

    tool: str
    a: str
    b: str
    similarity: float
    same: bool
    task: str
    repeat: int
    reviewer: str
    time: str
    note: str = ""

    @property
    def key(self) -> Hashable:
        """The subject of the label: the same two calls are asked about once."""
        return self.tool, self.a, self.b


class KeyedRecord(Protocol):
    """A record with a key for its subject."""

    @property
    def key(self) -> Hashable:
        """The subject of the record."""
        ...


K = TypeVar("K", bound=KeyedRecord)


class ReviewLog(Generic[K]):
    """A file of decisions; several people, tabs and processes may append at the same time."""

    def __init__(self, path: Path, kind: type[K]) -> None:
        self.path = path
        self.kind = kind

    def append(self, record: K) -> None:
        """Append one record and flush it to the disk. Raises DataError when that fails."""
        with lock_file(self.path):
            lines = RecordAppender(self.path)
            try:
                lines.append(record)
            finally:
                lines.close()

    def latest_by_key(self) -> dict[Hashable, K]:
        """Return the last record for each key. Raises DataError that names a broken line."""
        return {
            record.key: record for record in read_records(self.path, self.kind, missing_ok=True)
        }


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Lock a file for other processes that decide on it."""
    # each append finds the end of the file: two at once would overwrite each other
    try:
        lock = path.with_name(f".{path.name}.lock").open("ab")
    except OSError as error:
        raise DataError(f"{path}: cannot write there: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def utc_now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
