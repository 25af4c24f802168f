"""Files of a folder that somebody else filled: none outside it, no pipes or devices, no endless."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from toolmark.errors import DataError


def inside(folder: Path, path: Path) -> bool:
    """Tell whether a path, there or not, leads to a place in the folder, links followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a link that leads to itself
        return False


def below(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Return the regular files of a folder's own tree with such an ending, by their names.

    Links that lead out of it are left out. `suffixes` are in lower case.
    """
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in suffixes and inside(folder, path) and path.is_file()
    )


def head(path: Path, most: int) -> bytes:
    """Return the first bytes of a file. Raises DataError for what is none, or cannot be read."""
    with opened(path) as file:
        try:
            return file.read(most)
        except OSError as error:
            raise DataError(f"{path}: cannot read: {error.strerror}") from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be read. Raises DataError for what is none, or cannot be read."""
    try:
        place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise DataError(f"{path}: not a file")
    with open(place, "rb") as file:
        yield file


def digest(folder: Path, suffixes: Collection[str], most: int) -> str:
    """Return the SHA-256 over names and first bytes of the files that `below` returns, in hex.

    Raises DataError as `head`.
    """
    whole = hashlib.sha256()
    for path in below(folder, suffixes):
        name = os.fsencode(path.relative_to(folder))
        for part in (name, head(path, most)):
            whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()
