"""The records of a run's episodes: one process appends them, any number read them.

This is the one place that knows how they lie on disk: a file of lines for each kind, to which is
only appended. Complete lines count; a torn last line is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from toolmark.errors import DataError
from toolmark.files import atomic_file
from toolmark.runs.jsonl import Lines, Place, at, placed, records, remove, sync_folder
from toolmark.types import Attempt, Record, Score, Trajectory

Kind: TypeAlias = Literal["trajectories", "attempts", "scores"]
TRAJECTORIES: Kind = "trajectories"
ATTEMPTS: Kind = "attempts"
SCORES: Kind = "scores"
Key: TypeAlias = tuple[str, int]
"""A task's id and the repeat: which episode it is."""

_KINDS: dict[type, Kind] = {Trajectory: TRAJECTORIES, Attempt: ATTEMPTS, Score: SCORES}
T = TypeVar("T")
HELD_BYTES = 2**16  # what can be made anew may be written in blocks


class _Key(Record, frozen=True, kw_only=True):
    task: str
    repeat: int = 0


class Episodes:
    """The records of one run's episodes.

    To read: `records`, `keys`, `places`, `record_at`. To write, once `open_to_append` was called by
    the one process that has the run's lock: `append`, `replace_scores`, `drop_scores`, `sync`,
    `close`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[Kind, Lines] = {}

    def path(self, kind: Kind) -> Path:
        """Return the file of a kind."""
        return self.folder / f"{kind}.jsonl"

    # --- reading --------------------------------------------------------------------------

    def records(self, kind: Kind, as_: type[T]) -> Iterator[T]:
        """Go through the records, in the order in which they were written.

        `as_` may be a record of fewer fields, which is faster. Raises DataError with file and line,
        and what is lost, for what is none.
        """
        return records(self.path(kind), as_, missing_ok=True)

    def keys(self, kind: Kind) -> Iterator[Key]:
        """Go through which episodes there are records of. Raises DataError."""
        return ((key.task, key.repeat) for key in self.records(kind, _Key))

    def places(self, kind: Kind) -> dict[Key, Place]:
        """Return byte offset and length by episode, of the last record of each.

        It is found by reading the file through: there is no index on disk. Raises DataError.
        """
        found = placed(self.path(kind), _Key, missing_ok=True)
        return {(key.task, key.repeat): place for place, key in found}

    def record_at(self, kind: Kind, place: Place, as_: type[T]) -> T:
        """Return the record that stands at a place. Raises DataError."""
        return at(self.path(kind), place, as_)

    def those(self, kind: Kind, wanted: Collection[Key], as_: type[T]) -> Iterator[T]:
        """Go through the records of these episodes, each read from its place. Raises DataError."""
        if not wanted:
            return
        for key, place in self.places(kind).items():
            if key in wanted:
                yield self.record_at(kind, place, as_)

    def done(self) -> set[Key]:
        """Return the episodes that are complete. One that stands there twice is a DataError."""
        pairs: set[Key] = set()
        for pair in self.keys(TRAJECTORIES):
            if pair in pairs:
                raise DataError(f"{self.path(TRAJECTORIES)}: {pair} stands there twice")
            pairs.add(pair)
        return pairs

    # --- writing --------------------------------------------------------------------------

    def open_to_append(self, *, hold_bytes: int = 0) -> None:
        """Open the files; what a killed process left of a last line is cut off.

        `hold_bytes` may wait in memory, where the episodes can be had again. Raises DataError where
        the files cannot be written.
        """
        for kind in (TRAJECTORIES, ATTEMPTS):
            self._open[kind] = Lines(self.path(kind), hold_bytes=hold_bytes)

    def append(self, record: Trajectory | Attempt | Score) -> Place:
        """Write one record; return its place. Raises DataError when the disk takes no more.

        A trajectory or attempt outlasts the process from then on; a score may wait in memory.
        """
        kind = _KINDS[type(record)]
        lines = self._open.get(kind)
        if lines is None and kind == SCORES:
            lines = self._open[SCORES] = Lines(self.path(SCORES), hold_bytes=HELD_BYTES)
        assert lines is not None  # open_to_append opened it
        return lines.append(record)

    def flush(self) -> None:
        """Write what waits in memory. Raises DataError when the disk takes no more."""
        for lines in self._open.values():
            lines.flush()

    def sync(self) -> None:
        """Push what was written to the disk itself; another thread may append meanwhile.

        Raises DataError where the disk fails.
        """
        for lines in list(self._open.values()):
            lines.sync()

    def close(self) -> None:
        """Push everything to the disk and close. Raises DataError where the disk fails."""
        faults: list[DataError] = []
        while self._open:
            _, lines = self._open.popitem()
            try:
                lines.close()
            except DataError as error:
                faults.append(error)
        if faults:
            raise faults[0]

    def drop_scores(self) -> None:
        """Remove all scores. Raises DataError."""
        self._closed_scores()
        remove(self.path(SCORES))

    def replace_scores(
        self, scores: Iterator[Score], before: Callable[[], None] = lambda: None
    ) -> None:
        """Put other scores in the place of all, at once. The old ones stay if that fails.

        `before` is called when the new ones are complete, before they are seen. Raises DataError
        when the disk takes no more.
        """
        self._closed_scores()
        path = self.path(SCORES)
        try:
            with atomic_file(path) as draft:
                lines = Lines(draft, hold_bytes=HELD_BYTES)
                try:
                    for score in scores:
                        lines.append(score)
                finally:
                    lines.close()
                before()
            sync_folder(self.folder)
        except OSError as error:
            raise DataError(f"{path}: cannot write: {error.strerror}") from None

    def _closed_scores(self) -> None:
        if SCORES in self._open:
            self._open.pop(SCORES).close()
