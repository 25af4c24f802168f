"""Files that are written atomically, and files from a folder that someone else filled.

Of such a folder, no file outside it is read, no pipe, no device, and no file without end.
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

from toolmark.core.errors import DataError

MAX_SMALL_FILE_BYTES = 2**28
"""The largest small file, such as run.json; a small file is read in one piece."""

_BLOCK_BYTES = 1 << 20


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield the path of a draft; at the end the draft replaces the file.

    The file is either complete or unchanged: an error removes the draft. The draft's name is
    random, so that threads, processes and machines that share the folder never write the same
    draft. Process ids do not ensure that, because two containers may have equal ones. Raises
    OSError.
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
    """Write a file atomically; creates its folder if that is missing; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft:
        draft.write_bytes(data)


def is_inside(folder: Path, path: Path) -> bool:
    """Return whether a path, existing or not, is inside the folder after links are followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a link that leads to itself
        return False


def list_files(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Return the regular files inside a folder that have one of these suffixes, sorted by name.

    Links that lead out of the folder are left out. `suffixes` are in lower case.
    """
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in suffixes and is_inside(folder, path) and path.is_file()
    )


def read_head(path: Path, max_bytes: int) -> bytes:
    """Return the first bytes of a file; raises DataError if it is not a file or cannot be read."""
    with open_regular_file(path) as file:
        try:
            return file.read(max_bytes)
        except OSError as error:
            raise DataError(f"{path}: cannot read: {error.strerror}") from None


def read_small_file(path: Path) -> bytes:
    """Return the content of a small file.

    Raises FileNotFoundError if nothing is there. Raises DataError for what is not a file, cannot be
    read, or is larger than 256 MiB.
    """
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    data = read_head(path, MAX_SMALL_FILE_BYTES + 1)
    if len(data) > MAX_SMALL_FILE_BYTES:
        raise DataError(f"{path}: larger than {MAX_SMALL_FILE_BYTES >> 20} MiB")
    return data


@contextmanager
def open_regular_file(path: Path, buffering: int = -1) -> Iterator[BinaryIO]:
    """Open a file for reading; raises DataError if it is not a regular file or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(f"{path}: not a file")
    with open(descriptor, "rb", buffering=buffering) as file:
        yield file


def folder_sha256(folder: Path, suffixes: Collection[str], max_bytes: int) -> str:
    """Return the SHA-256, in hex, over names and first bytes of the files of `list_files`.

    Raises DataError as `read_head` does.
    """
    sha256 = hashlib.sha256()
    for path in list_files(folder, suffixes):
        name = os.fsencode(path.relative_to(folder))
        for part in (name, read_head(path, max_bytes)):
            sha256.update(hashlib.sha256(part).digest())
    return sha256.hexdigest()


def cache_folder() -> Path:
    """Return the cache folder: $TOOLMARK_HOME, $XDG_CACHE_HOME/toolmark or ~/.cache/toolmark."""
    if own := os.environ.get("TOOLMARK_HOME"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "toolmark"
    return Path.home() / ".cache" / "toolmark"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex; raises DataError if it is missing or no regular file."""
    sha256 = hashlib.sha256()
    with open_regular_file(path) as file:
        while block := file.read(_BLOCK_BYTES):
            sha256.update(block)
    return sha256.hexdigest()
