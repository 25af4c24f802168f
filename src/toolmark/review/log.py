"""What people decided, one line each, kept as it comes; the last word on a question counts."""

from __future__ import annotations

import fcntl
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from toolmark.errors import DataError
from toolmark.runs.jsonl import Lines, records
from toolmark.types import Record

Choice: TypeAlias = Literal["accept", "edit", "reject"]
Side: TypeAlias = Literal["a", "b", "tie"]


class Decision(Record, frozen=True, kw_only=True):
    """One person's word on one episode; `steps` are those of an edit, as published. UTC."""

    task: str
    repeat: int
    decision: Choice
    reviewer: str
    time: str
    note: str = ""
    steps: tuple[dict[str, Any], ...] = ()

    @property
    def key(self) -> Hashable:
        """What the decision is about: a later one on the same replaces it."""
        return self.task, self.repeat


class Preference(Record, frozen=True, kw_only=True):
    """Which of two runs, by the names of their folders, one person preferred on one episode.

    `left` is the run that stood on the left.
    """

    a: str
    b: str
    task: str
    repeat: int
    item: str
    choice: Side
    left: Literal["a", "b"]
    reviewer: str
    time: str
    note: str = ""

    @property
    def key(self) -> Hashable:
        """What the preference is about; each reviewer has a word of their own."""
        return self.a, self.b, self.task, self.repeat, self.reviewer


class Likeness(Record, frozen=True, kw_only=True):
    """Whether two calls of one tool do the same, as one person sees it; texts are arguments."""

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
        """What was asked: the same two calls are asked about once."""
        return self.tool, self.a, self.b


class Kept(Protocol):
    """A record that says what it is about."""

    @property
    def key(self) -> Hashable:
        """What it is about."""
        ...


K = TypeVar("K", bound=Kept)


class Log(Generic[K]):
    """A file of decisions that several people, tabs and processes may add to at once."""

    def __init__(self, path: Path, kind: type[K]) -> None:
        self.path = path
        self.kind = kind

    def add(self, record: K) -> None:
        """Append one record and push it to the disk. Raises DataError when that fails."""
        with _alone(self.path):
            lines = Lines(self.path)
            try:
                lines.append(record)
            finally:
                lines.close()

    def last(self) -> dict[Hashable, K]:
        """Return the last record on each question. Raises DataError naming a broken line."""
        return {record.key: record for record in records(self.path, self.kind, missing_ok=True)}


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    # each append looks up where the file ends: two at once would write over each other
    try:
        lock = path.with_name(f".{path.name}.lock").open("ab")
    except OSError as error:
        raise DataError(f"{path}: cannot write there: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
