"""Files of records: appended line by line, read line by line, never left half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from toolmark import codec, media
from toolmark.errors import DataError

BLOCK_BYTES = 2**18  # tasks are long lines: fewer, larger reads and writes
T = TypeVar("T")


def records(
    path: Path, kind: type[T], *, missing_ok: bool = False, whole: bool = False
) -> Iterator[T]:
    """Read a JSONL file line by line; a torn last line is passed over, unless `whole`.

    Raises DataError with file and line for anything else that is not a record.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited on for ever
        raise DataError(f"{path}: not a file")
    try:
        file = path.open("rb", buffering=BLOCK_BYTES)
    except FileNotFoundError:
        if missing_ok:
            return
        raise DataError(f"{path}: missing") from None
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    with file:
        for number, line in enumerate(file, 1):
            if not (whole or line.endswith(b"\n") or _complete(line)):
                return
            try:
                yield codec.decode(line, kind)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise DataError(
                    f"{path}, line {number}: {error}; nothing was changed; mend or remove the line"
                ) from None


class Lines:
    """An append-only JSONL file; a failed write leaves no trace.

    Each record is one write, unless `hold_bytes` allows that many to wait, which only a file
    that can be made anew may do.
    """

    def __init__(self, path: Path, *, hold_bytes: int = 0) -> None:
        self.path = path
        self.hold_bytes = hold_bytes
        self._held = bytearray()
        self._fd = _opened(path)
        self._size = _whole(self._fd)
        tail = os.pread(self._fd, os.fstat(self._fd).st_size - self._size, self._size)
        if _complete(tail):  # only the newline is missing, as an editor may leave it
            self._size += os.pwrite(self._fd, tail + b"\n", self._size)
        os.ftruncate(self._fd, self._size)

    def append(self, record: Any) -> None:
        """Write one record. Raises DataError when the disk takes no more."""
        line = codec.encode(record) + b"\n"
        if not self.hold_bytes:
            self._write(line)
            return
        self._held += line
        if len(self._held) >= self.hold_bytes:
            self.flush()

    def flush(self) -> None:
        """Write what waits. Raises DataError when the disk takes no more."""
        self._write(bytes(self._held))
        self._held.clear()

    def close(self) -> None:
        """Push everything to the disk and close."""
        try:
            self.flush()
            with suppress(OSError):  # fsync is refused by some file systems; the data are written
                os.fsync(self._fd)
        finally:
            os.close(self._fd)

    def _write(self, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):  # a short write: the next one says why
                written += os.pwrite(self._fd, data[written:], self._size + written)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise DataError(
                f"{self.path}: cannot write: {error.strerror}; what was written is kept; "
                "make room and give the same command again"
            ) from None
        self._size += len(data)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DataError(f"{path}: cannot open for writing: {error.strerror}") from None


def _complete(line: bytes) -> bool:
    """Tell whether a line without its newline is a whole object."""
    try:
        return isinstance(msgspec.json.decode(line), dict)
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


def write(path: Path, record: Any) -> None:
    """Write a whole small file at once: complete or not at all. Raises DataError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(msgspec.json.format(codec.encode(record), indent=2) + b"\n")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise DataError(f"{path}: cannot write: {error.strerror}") from None
