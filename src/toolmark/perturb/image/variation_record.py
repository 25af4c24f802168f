"""The record of all variations in a folder: record.jsonl with a line per file, over all runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from toolmark.core import media
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import UsageError
from toolmark.core.files import write_atomically
from toolmark.core.records import Record
from toolmark.perturb.image.box_geometry import Box

RECORD_FILE = "record.jsonl"
SHEET_VARIATION = "sheet"


class VariationRecord(Record, frozen=True, kw_only=True):
    """One variation of one picture, or why it failed; a contact sheet is the variation `sheet`.

    `file` is a path within the output folder, `size` is (width, height), `boxes` are in pixels of
    the variation, and `settings` and `note` are those of `VariedPicture`. `source_sha256` is the
    SHA-256 of the source picture's bytes; `source_boxes` are the boxes of that picture, in its
    pixels.
    """

    name: str
    seed: int
    variation: str = ""
    file: str = ""
    size: tuple[int, int] = (0, 0)
    boxes: tuple[Box, ...] = ()
    settings: dict[str, str | float | int] = {}
    note: str = ""
    failed: str = ""
    source_sha256: str = ""
    source_boxes: tuple[Box, ...] = ()


RecordKey: TypeAlias = tuple[str, str]
"""Name of the picture, and variation; the variation is "" for a picture that failed."""


def read_record(folder: Path) -> dict[RecordKey, VariationRecord]:
    """Return the last line of each picture and variation, and of each file.

    An incomplete last line is ignored. Raises UsageError for a record of something else.
    """
    path = folder / RECORD_FILE
    try:
        *lines, _ = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror}") from None
    found: dict[RecordKey, VariationRecord] = {}
    owner: dict[str, RecordKey] = {}
    for n, line in enumerate(lines, 1):
        try:
            line_record = msgspec.json.decode(line, type=VariationRecord)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            reason = describe_decode_error(error)
            message = f"{path}: line {n} is of no picture ({reason}); choose another folder"
            raise UsageError(message) from None
        key = line_record.name, line_record.variation
        for old in (key, (line_record.name, ""), owner.get(line_record.file, key)):
            found.pop(old, None)
        found[key] = line_record
        if line_record.file:
            owner[line_record.file] = key
    return found


@contextmanager
def open_record(folder: Path) -> Iterator[Callable[[VariationRecord], object]]:
    """Yield a function that adds a line to the record; at the end, replaced lines are removed.

    Every line is written at once, so that all finished pictures are recorded after a crash. Raises
    UsageError as `read_record` does, and if another process writes pictures into the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        with media.exclusive_lock(
            descriptor, f"{folder}: another process is making pictures into this folder"
        ):
            _compact_record(folder)
            with (folder / RECORD_FILE).open("ab", buffering=0) as file:
                try:
                    yield lambda one: file.write(msgspec.json.encode(one) + b"\n")
                finally:
                    _compact_record(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write: {error.strerror}") from None


def _compact_record(folder: Path) -> None:
    lines = [msgspec.json.encode(one) + b"\n" for one in read_record(folder).values()]
    write_atomically(folder / RECORD_FILE, b"".join(lines))
