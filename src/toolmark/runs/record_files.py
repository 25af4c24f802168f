"""Files of records: appended line by line, read line by line, never left half written.

An appended record survives the end of the process at once. It survives a power cut once `sync` or
`close` has returned. Small files are replaced at once: after a power cut such a file has either its
old or its new content.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from toolmark.core import json_codec, media
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError
from toolmark.core.files import atomic_file, open_regular_file, read_small_file
from toolmark.runs.damaged_files import damage_advice

BLOCK_BYTES = 2**18  # tasks are long lines: fewer, larger reads and writes
_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EROFS)  # of file systems without sync
T = TypeVar("T")


class RecordLocation(NamedTuple):
    """Where a record is in its file: offset and length in bytes, with the newline."""

    offset: int
    length: int


def read_records(
    path: Path,
    kind: type[T],
    *,
    missing_ok: bool = False,
    strict: bool = False,
    damaged: list[DataError] | None = None,
) -> Iterator[T]:
    """Read a JSONL file line by line. An incomplete last line is skipped, unless `strict`.

    Raises DataError with file and line for any other line that is not a record. With `damaged` the
    error is added to that list instead, and the other lines are read.
    """
    return map(itemgetter(2), _scan_records(path, kind, missing_ok, strict, damaged))


def read_located_records(
    path: Path, kind: type[T], *, missing_ok: bool = False, strict: bool = False
) -> Iterator[tuple[RecordLocation, T]]:
    """Yield records as `read_records` does, each with its location. Raises DataError."""
    for offset, length, record in _scan_records(path, kind, missing_ok, strict):
        yield RecordLocation(offset, length), record


def _scan_records(
    path: Path,
    kind: type[T],
    missing_ok: bool,
    strict: bool,
    damaged: list[DataError] | None = None,
) -> Iterator[tuple[int, int, T]]:
    """Yield the records with their offsets and lengths in bytes."""
    if not os.path.lexists(path):
        if missing_ok:
            return
        raise DataError(f"{path}: missing; {damage_advice(path, line=False)}")
    decode = msgspec.json.Decoder(kind).decode
    offset = 0
    with open_regular_file(path, BLOCK_BYTES) as file:
        for number, line in enumerate(file, 1):
            if not (strict or line.endswith(b"\n") or _is_complete_record(line)):
                return
            length = len(line)
            try:
                try:
                    record = decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    record = json_codec.decode_record(line, kind)  # accepts numbers as text too
            except msgspec.DecodeError as error:
                fault = DataError(
                    f"{path}, line {number}: {describe_decode_error(error)}; {damage_advice(path)}"
                )
                if damaged is None:
                    raise fault from None
                damaged.append(fault)
            else:
                yield offset, length, record
            offset += length


def read_record_at(path: Path, location: RecordLocation, kind: type[T]) -> T:
    """Read the record at a location. Raises DataError where there is none."""
    with open_regular_file(path) as file:
        file.seek(location.offset)
        try:
            return json_codec.decode_record(file.read(location.length), kind)
        except msgspec.DecodeError as error:
            reason = describe_decode_error(error)
            raise DataError(
                f"{path}, byte {location.offset}: {reason}; {damage_advice(path)}"
            ) from None


def read_document(path: Path, kind: type[T]) -> T:
    """Read a file that contains one record.

    Raises FileNotFoundError where there is no file, DataError naming the file for other content.
    """
    try:
        return json_codec.decode_record(read_small_file(path), kind)
    except msgspec.DecodeError as error:
        reason = describe_decode_error(error)
        raise DataError(
            f"{path}: cannot be read: {reason}; {damage_advice(path, line=False)}"
        ) from None


class RecordAppender:
    """An append-only JSONL file. A failed write is undone.

    Each record is one write, unless `buffer_bytes` allows that many bytes to wait in memory. Use a
    buffer only for a file that can be made again.
    """

    def __init__(self, path: Path, *, buffer_bytes: int = 0) -> None:
        self.path = path
        self.buffer_bytes = buffer_bytes
        self._buffer = bytearray()
        self._unsynced = False
        self._sync_error = ""
        self._sync_lock = threading.Lock()
        self._descriptor = _open_for_writing(path)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise DataError(f"{path}: not a file")
        self._size = _complete_size(self._descriptor)
        tail = os.pread(
            self._descriptor, os.fstat(self._descriptor).st_size - self._size, self._size
        )
        if _is_complete_record(tail):  # only the newline is missing, as an editor may leave it
            self._size += os.pwrite(self._descriptor, tail + b"\n", self._size)
        os.ftruncate(self._descriptor, self._size)

    def append(self, record: Any) -> None:
        """Write one record. Raises DataError when the disk is full."""
        line = json_codec.encode_record(record) + b"\n"
        if not self.buffer_bytes:
            self._write_bytes(line)
            return
        self._buffer += line
        if len(self._buffer) >= self.buffer_bytes:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered. Raises DataError when the disk is full."""
        self._write_bytes(bytes(self._buffer))
        self._buffer.clear()

    def sync(self) -> None:
        """Flush what was written to the disk itself. Another thread may append meanwhile.

        Raises DataError where the disk fails; every later `append` then raises it too.
        """
        if not self._unsynced:
            return
        with self._sync_lock:
            self._unsynced = False  # records appended meanwhile need a new sync
            try:
                sync_descriptor(self._descriptor)
            except OSError as error:
                self._sync_error = str(error.strerror)
                raise self._error(self._sync_error) from None

    def close(self) -> None:
        """Flush everything to the disk and close."""
        try:
            self.flush()
            self.sync()
        finally:
            with self._sync_lock:
                os.close(self._descriptor)
                self._unsynced = False

    def _write_bytes(self, data: bytes) -> None:
        if self._sync_error:
            raise self._error(self._sync_error)
        if not data:
            return
        try:
            write_at(self._descriptor, data, self._size)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise self._error(str(error.strerror)) from None
        self._size += len(data)
        self._unsynced = True

    def _error(self, reason: str) -> DataError:
        return DataError(
            f"{self.path}: cannot write: {reason}; what was written is stored; "
            "make room and give the same command again"
        )


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of the data at an offset. Raises OSError."""
    n_written = 0
    while n_written < len(data):  # after a short write, the next write raises the reason
        n_written += os.pwrite(descriptor, data[n_written:], offset + n_written)


def sync_descriptor(descriptor: int) -> None:
    """Flush a file or folder to the disk, where its file system supports it. Raises OSError."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _SYNC_UNSUPPORTED:
            raise


def sync_folder(path: Path) -> None:
    """Flush the names in a folder to the disk, so that a file renamed there stays renamed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _open_for_writing(path: Path) -> int:
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # never block on a pipe
        return os.open(path, flags, 0o644)
    except OSError as error:
        raise DataError(f"{path}: cannot open for writing: {error.strerror}") from None


def _is_complete_record(line: bytes) -> bool:
    """Return whether a line without its newline is a complete JSON object."""
    try:
        return isinstance(json_codec.decode_record(line, dict), dict)
    except msgspec.DecodeError:
        return False


def _complete_size(descriptor: int) -> int:
    """Return the size up to and including the last newline."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - 65_536)
        block = os.pread(descriptor, end - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Lock a run folder for writing. Raises UsageError when another process has the lock."""
    with media.exclusive_lock(
        _open_for_writing(path / "lock"), f"{path}: another process is writing this run"
    ):
        yield


def write_document(path: Path, record: Any, *, durable: bool = True) -> None:
    """Write a small file completely or not at all. Raises DataError.

    After a power cut a `durable` file has its old or its new content; any other file may also be
    empty. `sync_folder` ensures that it has its new content.
    """
    data = msgspec.json.format(json_codec.encode_record(record), indent=2) + b"\n"
    try:
        with atomic_file(path) as draft:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                write_at(descriptor, data, 0)
                if durable:
                    sync_descriptor(descriptor)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def remove_file(path: Path) -> None:
    """Remove a file, if it exists, and sync the folder so that it stays removed.

    Raises DataError.
    """
    try:
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"{path}: cannot remove: {error.strerror}") from None


def remove_drafts(folder: Path, names: tuple[str, ...]) -> None:
    """Remove the drafts that killed processes left of these files, in a folder that is locked."""
    for name in names:
        for draft in folder.glob(f".{name}.*"):
            with suppress(OSError):
                draft.unlink()
