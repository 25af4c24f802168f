"""TFRecord files: each record with its length and two checksums, read without TensorFlow.

A record is: its length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes (4), the data,
and the masked CRC-32C of the data (4).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import google_crc32c

from toolmark import files
from toolmark.errors import DataError

MOST_BYTES = 2**30
"""The longest record that is read; an episode with its pictures has a few MB."""

_LENGTH, _SUM = 8, 4


def records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Go through the records of a file as (offset in bytes, data).

    Raises DataError, with file and offset, for what is cut short, changed, or too long.
    """
    with _read(path) as file:
        size = os.fstat(file.fileno()).st_size
        while (offset := file.tell()) < size:
            yield offset, _next(file, size, path)


def record(path: Path, offset: int) -> bytes:
    """Return the data of the record that begins at an offset. Raises DataError as `records`."""
    with _read(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(min(offset, size))
        return _next(file, size, path)


def masked(data: bytes) -> bytes:
    """Return the checksum of data as it is written: rotated, and a constant added."""
    crc = google_crc32c.value(data)
    return int(((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(_SUM, "little")


@contextmanager
def _read(path: Path) -> Iterator[IO[bytes]]:
    with files.opened(path) as file:
        try:
            yield file
        except OSError as error:
            raise DataError(f"{path}: cannot read: {error.strerror}") from None


def _next(file: IO[bytes], size: int, path: Path) -> bytes:
    offset = file.tell()
    told = f"{path}: byte {offset}"
    head = file.read(_LENGTH + _SUM)
    if len(head) < _LENGTH + _SUM:
        raise DataError(f"{told}: the file ends within a record; fetch it again")
    if masked(head[:_LENGTH]) != head[_LENGTH:]:
        raise DataError(f"{told}: no TFRecord, compressed, or changed: its length has a wrong sum")
    length = int.from_bytes(head[:_LENGTH], "little")
    if length > MOST_BYTES:
        raise DataError(f"{told}: a record of {length:,} bytes; at most {MOST_BYTES:,} are read")
    if length + _SUM > size - file.tell():
        raise DataError(f"{told}: the file ends within a record; fetch it again")
    data = file.read(length)
    if len(data) < length or masked(data) != file.read(_SUM):
        raise DataError(f"{told}: the record was changed: its data have a wrong sum")
    return data
