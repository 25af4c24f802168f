"""Files that are written whole, and files of a folder that somebody else filled.

Of those none outside the folder is read, no pipe or device, and nothing endless.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from toolmark.errors import DataError

MOST_BYTES = 2**28
"""Of a small file, such as run.json, which is read whole."""


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give the place of a draft beside a file; what is written there replaces the file at the end.

    The file is complete or as it was: an error removes the draft. The draft's name is drawn, so
    that threads, processes and machines that share the folder never write the same one; process
    ids are no such names, for two containers may have equal ones. Raises OSError.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, its folder too where that is missing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft:
        draft.write_bytes(data)


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


def content(path: Path) -> bytes:
    """Return what a small file holds. Raises FileNotFoundError where there is nothing, DataError.

    DataError is for what is no file, cannot be read, or is larger than 256 MiB.
    """
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    data = head(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DataError(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    return data


@contextmanager
def opened(path: Path, buffering: int = -1) -> Iterator[BinaryIO]:
    """Open a file to be read. Raises DataError for what is none, or cannot be read."""
    try:
        place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise DataError(f"{path}: not a file")
    with open(place, "rb", buffering=buffering) as file:
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
