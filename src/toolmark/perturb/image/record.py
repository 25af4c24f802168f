"""What was made of pictures: a line per file in record.jsonl, over all runs into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from toolmark import media
from toolmark.errors import UsageError
from toolmark.files import write_atomically
from toolmark.perturb.image.box import Box
from toolmark.types import Record

FILE = "record.jsonl"
SHEET = "sheet"


class Made(Record, frozen=True, kw_only=True):
    """One variation of one picture, or why there is none; a contact sheet is one called `sheet`.

    `file` is within the folder of what is made, `size` is (width, height), `boxes` are in pixels of
    the variation, and `settings` and `note` those of `variation.Varied`. It was made of a picture
    whose bytes have the SHA-256 `source`, with the boxes `given`, which are in its pixels.
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
    source: str = ""
    given: tuple[Box, ...] = ()


Key: TypeAlias = tuple[str, str]
"""Name and variation, "" for a picture that failed."""


def read(folder: Path) -> dict[Key, Made]:
    """Return the last line of each picture and variation, and of each file.

    A last line that was cut off is passed over. Raises UsageError for a record of something else.
    """
    path = folder / FILE
    try:
        *lines, _ = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror}") from None
    found: dict[Key, Made] = {}
    owner: dict[str, Key] = {}
    for n, line in enumerate(lines, 1):
        try:
            one = msgspec.json.decode(line, type=Made)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            told = f"{path}: line {n} is of no picture ({error}); choose another folder"
            raise UsageError(told) from None
        key = one.name, one.variation
        for old in (key, (one.name, ""), owner.get(one.file, key)):
            found.pop(old, None)
        found[key] = one
        if one.file:
            owner[one.file] = key
    return found


@contextmanager
def kept(folder: Path) -> Iterator[Callable[[Made], object]]:
    """Give what adds a line to the record; at the end lines that later ones replace are left out.

    Every line is on disk at once: what was made is known whatever comes later. Raises UsageError,
    also where another process makes pictures into the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        with media.sole(place, f"{folder}: another process is making pictures into this folder"):
            _tidy(folder)
            with (folder / FILE).open("ab", buffering=0) as file:
                try:
                    yield lambda one: file.write(msgspec.json.encode(one) + b"\n")
                finally:
                    _tidy(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write: {error.strerror}") from None


def _tidy(folder: Path) -> None:
    lines = [msgspec.json.encode(one) + b"\n" for one in read(folder).values()]
    write_atomically(folder / FILE, b"".join(lines))
