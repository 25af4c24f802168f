"""The records of a run's episodes: one process appends them, any number of processes read them.

Only this module knows how they are stored on disk: an append-only file of lines for each kind.
Complete lines count; an incomplete last line is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from toolmark.core.errors import DataError
from toolmark.core.files import atomic_file
from toolmark.core.records import Attempt, Record, Score, Trajectory
from toolmark.runs.record_files import (
    RecordAppender,
    RecordLocation,
    read_located_records,
    read_record_at,
    read_records,
    remove_file,
    sync_folder,
)

RecordKind: TypeAlias = Literal["trajectories", "attempts", "scores"]
TRAJECTORIES: RecordKind = "trajectories"
ATTEMPTS: RecordKind = "attempts"
SCORES: RecordKind = "scores"
EpisodeKey: TypeAlias = tuple[str, int]
"""A task's id and the repeat: which episode it is."""

_KIND_BY_TYPE: dict[type, RecordKind] = {Trajectory: TRAJECTORIES, Attempt: ATTEMPTS, Score: SCORES}
T = TypeVar("T")
BUFFER_BYTES = 2**16  # records that can be made again may be written in blocks


class _EpisodeKeyRecord(Record, frozen=True, kw_only=True):
    task: str
    repeat: int = 0


class EpisodeRecords:
    """The records of one run's episodes.

    To read: `records`, `keys`, `locations`, `record_at`, `records_of`, `completed`. To write:
    `append`, `replace_scores`, `drop_scores`, `flush`, `sync`, `close`. Before writing, the one
    process that has the run's lock calls `open_to_append`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._appenders: dict[RecordKind, RecordAppender] = {}

    def path(self, kind: RecordKind) -> Path:
        """Return the file of a kind."""
        return self.folder / f"{kind}.jsonl"

    # --- reading --------------------------------------------------------------------------

    def records(
        self, kind: RecordKind, as_: type[T], *, damaged: list[DataError] | None = None
    ) -> Iterator[T]:
        """Yield the records, in the order in which they were written.

        `as_` may be a record type of fewer fields, which is faster. For a line that is not a record
        it raises DataError with file, line and what is lost; with `damaged` the error is added
        there, and the other lines are read.
        """
        return read_records(self.path(kind), as_, missing_ok=True, damaged=damaged)

    def keys(self, kind: RecordKind) -> Iterator[EpisodeKey]:
        """Yield the keys of the episodes that have records of this kind. Raises DataError."""
        return ((key.task, key.repeat) for key in self.records(kind, _EpisodeKeyRecord))

    def locations(self, kind: RecordKind) -> dict[EpisodeKey, RecordLocation]:
        """Return byte offset and length by episode, of the last record of each.

        This reads the complete file: there is no index on disk. Raises DataError.
        """
        found = read_located_records(self.path(kind), _EpisodeKeyRecord, missing_ok=True)
        return {(key.task, key.repeat): location for location, key in found}

    def record_at(self, kind: RecordKind, location: RecordLocation, as_: type[T]) -> T:
        """Return the record at a location. Raises DataError."""
        return read_record_at(self.path(kind), location, as_)

    def records_of(
        self, kind: RecordKind, keys: Collection[EpisodeKey], as_: type[T]
    ) -> Iterator[T]:
        """Yield the records of these episodes, each read from its location. Raises DataError."""
        if not keys:
            return
        for key, location in self.locations(kind).items():
            if key in keys:
                yield self.record_at(kind, location, as_)

    def completed_keys(self) -> set[EpisodeKey]:
        """Return the episodes that are complete. Raises DataError for a duplicate."""
        seen: set[EpisodeKey] = set()
        for key in self.keys(TRAJECTORIES):
            if key in seen:
                raise DataError(f"{self.path(TRAJECTORIES)}: {key} stands there twice")
            seen.add(key)
        return seen

    # --- writing --------------------------------------------------------------------------

    def open_to_append(self, *, buffer_bytes: int = 0) -> None:
        """Open the files. An incomplete last line that a killed process left is removed.

        Up to `buffer_bytes` may wait in memory, where the episodes can be obtained again. Raises
        DataError where the files cannot be written.
        """
        for kind in (TRAJECTORIES, ATTEMPTS):
            self._appenders[kind] = RecordAppender(self.path(kind), buffer_bytes=buffer_bytes)

    def append(self, record: Trajectory | Attempt | Score) -> None:
        """Write one record. Raises DataError when the disk is full.

        A written trajectory or attempt survives the end of the process; a score may wait in memory.
        """
        kind = _KIND_BY_TYPE[type(record)]
        lines = self._appenders.get(kind)
        if lines is None and kind == SCORES:
            lines = self._appenders[SCORES] = RecordAppender(
                self.path(SCORES), buffer_bytes=BUFFER_BYTES
            )
        assert lines is not None  # open_to_append opened it
        lines.append(record)

    def flush(self) -> None:
        """Write what is buffered in memory. Raises DataError when the disk is full."""
        for lines in self._appenders.values():
            lines.flush()

    def sync(self) -> None:
        """Flush what was written to the disk itself; another thread may append meanwhile.

        Raises DataError where the disk fails.
        """
        for lines in list(self._appenders.values()):
            lines.sync()

    def close(self) -> None:
        """Flush everything to the disk and close. Raises DataError where the disk fails."""
        faults: list[DataError] = []
        while self._appenders:
            _, lines = self._appenders.popitem()
            try:
                lines.close()
            except DataError as error:
                faults.append(error)
        if faults:
            raise faults[0]

    def drop_scores(self) -> None:
        """Remove all scores. Raises DataError."""
        self._close_scores()
        remove_file(self.path(SCORES))

    def replace_scores(
        self, scores: Iterator[Score], before_swap: Callable[[], None] = lambda: None
    ) -> None:
        """Replace all scores at once. The old scores stay if that fails.

        `before_swap` is called when the new scores are complete, before readers see them. Raises
        DataError when the disk is full.
        """
        self._close_scores()
        path = self.path(SCORES)
        try:
            with atomic_file(path) as draft:
                lines = RecordAppender(draft, buffer_bytes=BUFFER_BYTES)
                try:
                    for score in scores:
                        lines.append(score)
                finally:
                    lines.close()
                before_swap()
            sync_folder(self.folder)
        except OSError as error:
            raise DataError(f"{path}: cannot write: {error.strerror}") from None

    def _close_scores(self) -> None:
        if SCORES in self._appenders:
            self._appenders.pop(SCORES).close()
