"""The batches of a run on disk: `batches.jsonl` in its folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from toolmark.core.errors import DataError
from toolmark.models.batches.batch_ledger import BatchEntry, BatchLedger
from toolmark.models.batches.batch_protocol import is_id
from toolmark.runs.record_files import RecordAppender, read_records

BATCHES_FILE = "batches.jsonl"


class StoredLedger(BatchLedger):
    """The ledger of the run in a folder. The file is made with its first line."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._path = folder / BATCHES_FILE
        self._appender: RecordAppender | None = None

    def read_lines(self) -> Iterable[BatchEntry]:
        """Return all lines. Raises DataError for a damaged file."""
        for line in read_records(self._path, BatchEntry, missing_ok=True):
            if line.batch_id and not is_id(line.batch_id):  # it becomes a part of an address
                raise DataError(f"{self._path}: {line.batch_id[:80]!r} is no id of a batch")
            yield line

    def append_line(self, line: BatchEntry) -> None:
        """Store a line, also against a power cut. Raises DataError when the disk is full."""
        if self._appender is None:
            self._appender = RecordAppender(self._path)
        self._appender.append(line)
        self._appender.sync()

    def close(self) -> None:
        """Close the file."""
        if self._appender is not None:
            self._appender.close()
            self._appender = None


def list_run_batches(folder: Path) -> list[BatchEntry]:
    """Return the batches of a run as its folder knows them. Raises DataError for a damaged file."""
    return StoredLedger(folder).list_batches()


def list_open_batches(folder: Path) -> list[BatchEntry]:
    """Return the batches of a run that may still be running at the provider."""
    return [each for each in list_run_batches(folder) if each.state in ("prepared", "submitted")]
