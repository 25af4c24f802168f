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

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count

MAX_RECORD_BYTES = 2**30
"""The longest record that is read, in bytes; an episode with its pictures has a few MB."""

_LENGTH_BYTES, _CHECKSUM_BYTES = 8, 4


def read_records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a file as (offset in bytes, data).

    Raises DataError, with file and offset, for a record that is cut short, changed, or too long.
    """
    with _open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        while (offset := file.tell()) < size:
            yield offset, _read_next_record(file, size, path)


def read_record(path: Path, offset: int) -> bytes:
    """Return the data of the record at an offset. Raises DataError as `read_records` does."""
    with _open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(min(offset, size))
        return _read_next_record(file, size, path)


def masked_crc32c(data: bytes) -> bytes:
    """Return the checksum of data in its stored form: rotated, with a constant added."""
    crc = google_crc32c.value(data)
    return int(((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(
        _CHECKSUM_BYTES, "little"
    )


@contextmanager
def _open_file(path: Path) -> Iterator[IO[bytes]]:
    with files.open_regular_file(path) as file:
        try:
            yield file
        except OSError as error:
            raise DataError(f"{path}: cannot read: {error.strerror}") from None


def _read_next_record(file: IO[bytes], size: int, path: Path) -> bytes:
    offset = file.tell()
    label = f"{path}: byte {offset}"
    header = file.read(_LENGTH_BYTES + _CHECKSUM_BYTES)
    if len(header) < _LENGTH_BYTES + _CHECKSUM_BYTES:
        raise DataError(f"{label}: the file ends within a record; fetch it again")
    if masked_crc32c(header[:_LENGTH_BYTES]) != header[_LENGTH_BYTES:]:
        raise DataError(f"{label}: no TFRecord, compressed, or changed: its length has a wrong sum")
    length = int.from_bytes(header[:_LENGTH_BYTES], "little")
    if length > MAX_RECORD_BYTES:
        raise DataError(
            f"{label}: a record of {format_count(length)} bytes; at most "
            f"{format_count(MAX_RECORD_BYTES)} are read"
        )
    if length + _CHECKSUM_BYTES > size - file.tell():
        raise DataError(f"{label}: the file ends within a record; fetch it again")
    data = file.read(length)
    if len(data) < length or masked_crc32c(data) != file.read(_CHECKSUM_BYTES):
        raise DataError(f"{label}: the record was changed: its data have a wrong sum")
    return data
