"""Files of records: appended line by line, read line by line, never left half written.

What was appended outlasts the process at once. It outlasts a power cut once `sync` has returned,
which `close` does too. Small files are written whole: such a file is there as it was or as it is,
also after a power cut.
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

from toolmark import codec, media
from toolmark.errors import DataError
from toolmark.files import atomic_file, content, opened
from toolmark.runs.damage import lost

BLOCK_BYTES = 2**18  # tasks are long lines: fewer, larger reads and writes
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EROFS)  # of a file system that has none
T = TypeVar("T")


class Place(NamedTuple):
    """Where a record stands in its file: both in bytes, the newline is counted in."""

    offset: int
    length: int


def records(
    path: Path, kind: type[T], *, missing_ok: bool = False, whole: bool = False
) -> Iterator[T]:
    """Read a JSONL file line by line; a torn last line is passed over, unless `whole`.

    Raises DataError with file and line for anything else that is not a record.
    """
    return map(itemgetter(2), _scan(path, kind, missing_ok, whole))


def placed(
    path: Path, kind: type[T], *, missing_ok: bool = False, whole: bool = False
) -> Iterator[tuple[Place, T]]:
    """Read as `records` does, each with its place. Raises DataError."""
    for offset, length, record in _scan(path, kind, missing_ok, whole):
        yield Place(offset, length), record


def _scan(path: Path, kind: type[T], missing_ok: bool, whole: bool) -> Iterator[tuple[int, int, T]]:
    """Go through the records with their offsets and lengths in bytes."""
    if not os.path.lexists(path):
        if missing_ok:
            return
        raise DataError(f"{path}: missing; {lost(path, line=False)}")
    offset = 0
    with opened(path, BLOCK_BYTES) as file:
        for number, line in enumerate(file, 1):
            if not (whole or line.endswith(b"\n") or _complete(line)):
                return
            try:
                record = codec.decode(line, kind)
            except msgspec.DecodeError as error:
                raise DataError(f"{path}, line {number}: {error}; {lost(path)}") from None
            length = len(line)
            yield offset, length, record
            offset += length


def at(path: Path, place: Place, kind: type[T]) -> T:
    """Read the record that stands at a place. Raises DataError where there is none."""
    with opened(path) as file:
        file.seek(place.offset)
        try:
            return codec.decode(file.read(place.length), kind)
        except msgspec.DecodeError as error:
            raise DataError(f"{path}, byte {place.offset}: {error}; {lost(path)}") from None


def document(path: Path, kind: type[T]) -> T:
    """Read a file that holds one record.

    Raises FileNotFoundError where there is none, DataError naming the file for anything else.
    """
    try:
        return codec.decode(content(path), kind)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: cannot be read: {error}; {lost(path, line=False)}") from None


class Lines:
    """An append-only JSONL file; a failed write leaves no trace.

    Each record is one write, unless `hold_bytes` allows that many to wait, which only a file
    that can be made anew may do.
    """

    def __init__(self, path: Path, *, hold_bytes: int = 0) -> None:
        self.path = path
        self.hold_bytes = hold_bytes
        self._held = bytearray()
        self._unsynced = False
        self._failed = ""
        self._syncing = threading.Lock()
        self._fd = _opened(path)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            os.close(self._fd)
            raise DataError(f"{path}: not a file")
        self._size = _whole(self._fd)
        tail = os.pread(self._fd, os.fstat(self._fd).st_size - self._size, self._size)
        if _complete(tail):  # only the newline is missing, as an editor may leave it
            self._size += os.pwrite(self._fd, tail + b"\n", self._size)
        os.ftruncate(self._fd, self._size)

    def append(self, record: Any) -> Place:
        """Write one record; return its place. Raises DataError when the disk takes no more."""
        line = codec.encode(record) + b"\n"
        place = Place(self._size + len(self._held), len(line))
        if not self.hold_bytes:
            self._write(line)
            return place
        self._held += line
        if len(self._held) >= self.hold_bytes:
            self.flush()
        return place

    def flush(self) -> None:
        """Write what waits. Raises DataError when the disk takes no more."""
        self._write(bytes(self._held))
        self._held.clear()

    def sync(self) -> None:
        """Push what was written to the disk itself. Another thread may append meanwhile.

        Raises DataError where the disk fails; so does then every later `append`.
        """
        if not self._unsynced:
            return
        with self._syncing:
            self._unsynced = False  # before: what is appended meanwhile counts for the next time
            try:
                sync(self._fd)
            except OSError as error:
                self._failed = str(error.strerror)
                raise self._error(self._failed) from None

    def close(self) -> None:
        """Push everything to the disk and close."""
        try:
            self.flush()
            self.sync()
        finally:
            with self._syncing:
                os.close(self._fd)
                self._unsynced = False

    def _write(self, data: bytes) -> None:
        if self._failed:
            raise self._error(self._failed)
        if not data:
            return
        try:
            put(self._fd, data, self._size)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise self._error(str(error.strerror)) from None
        self._size += len(data)
        self._unsynced = True

    def _error(self, why: str) -> DataError:
        return DataError(
            f"{self.path}: cannot write: {why}; what was written is kept; "
            "make room and give the same command again"
        )


def put(fd: int, data: bytes, offset: int) -> None:
    """Write all of the data at an offset. Raises OSError."""
    written = 0
    while written < len(data):  # a short write: the next one says why
        written += os.pwrite(fd, data[written:], offset + written)


def sync(fd: int) -> None:
    """Push a file or folder to the disk, where its file system can. Raises OSError."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def sync_folder(path: Path) -> None:
    """Push the names in a folder to the disk: a file that was renamed there stays renamed."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(fd)
    finally:
        os.close(fd)


def _opened(path: Path) -> int:
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would be waited on
        return os.open(path, flags, 0o644)
    except OSError as error:
        raise DataError(f"{path}: cannot open for writing: {error.strerror}") from None


def _complete(line: bytes) -> bool:
    """Tell whether a line without its newline is a whole object."""
    try:
        return isinstance(codec.decode(line, dict), dict)
    except msgspec.DecodeError:
        return False


def _whole(fd: int) -> int:
    """Return the size up to and including the last newline."""
    end = os.fstat(fd).st_size
    while end:
        start = max(0, end - 65_536)
        block = os.pread(fd, end - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other writers out of a run folder. Raises UsageError when one is in."""
    with media.sole(_opened(path / "lock"), f"{path}: another process is writing this run"):
        yield


def write(path: Path, record: Any, *, durable: bool = True) -> None:
    """Write a whole small file at once: complete or not at all. Raises DataError.

    After a power cut a `durable` one is there as it was before or as it is now, others may be empty
    too. `sync_folder` makes sure that it is as it is now.
    """
    data = msgspec.json.format(codec.encode(record), indent=2) + b"\n"
    try:
        with atomic_file(path) as draft:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                put(fd, data, 0)
                if durable:
                    sync(fd)
            finally:
                os.close(fd)
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def remove(path: Path) -> None:
    """Remove a file, if it is there, such that it stays removed. Raises DataError."""
    try:
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"{path}: cannot remove: {error.strerror}") from None


def clear_drafts(folder: Path, names: tuple[str, ...]) -> None:
    """Remove what killed processes left of files that they wrote, in a folder that is locked."""
    for name in names:
        for draft in folder.glob(f".{name}.*"):
            with suppress(OSError):
                draft.unlink()
