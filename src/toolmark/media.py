"""The content-addressed store: bytes under the name of their SHA-256."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolmark.errors import DataError, UsageError
from toolmark.files import write_atomically
from toolmark.types import Audio, Image, Part, Text

_SHA256 = re.compile("[0-9a-f]{64}")


class Media:
    """A folder of media files; adding the same bytes twice keeps one file.

    Adding raises DataError when the disk takes no more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def image(self, data: bytes, mime: str) -> Image:
        """Keep a picture and return its reference."""
        return Image(sha256=self._keep(data), mime=mime, size_bytes=len(data))

    def audio(self, data: bytes, mime: str) -> Audio:
        """Keep a recording and return its reference."""
        return Audio(sha256=self._keep(data), mime=mime, size_bytes=len(data))

    def read(self, part: Image | Audio) -> bytes:
        """Return the bytes of a reference. Raises DataError if they are missing or changed."""
        path = self._path(part.sha256)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: cannot read media: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise DataError(f"{path}: the content does not match its name")
        return data

    def holds(self, part: Image | Audio) -> bool:
        """Tell whether the bytes of a reference are here: a file of another size is torn."""
        return _sized(self._path(part.sha256), part.size_bytes)

    def path(self, part: Image | Audio) -> Path:
        """Return where the bytes of a reference are, or would be."""
        return self._path(part.sha256)

    def link(self, part: Image | Audio, path: Path) -> None:
        """Put the bytes of a reference under another name too, on the disk once where it can be.

        Raises DataError as `read`.
        """
        data = self.read(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.hardlink_to(self._path(part.sha256))
        except OSError:  # some disks know no links
            write_atomically(path, data)

    def take(self, other: Media, parts: Iterable[Part]) -> None:
        """Keep copies of what the parts refer to in another store. Raises DataError as `read`."""
        for part in parts:
            if not isinstance(part, Text) and not self.holds(part):
                self._keep(other.read(part))

    def _keep(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        if not _sized(path, len(data)):
            try:
                write_atomically(path, data)
            except OSError as error:  # of a run it ends all: each episode would be asked in vain
                raise DataError(f"{path}: cannot write media: {error.strerror}") from None
        return sha256

    def _path(self, sha256: str) -> Path:
        # the name comes from a stranger's file: it must not lead out of the folder
        if not named(sha256):
            raise DataError(f"not a SHA-256: {sha256[:80]!r}")
        return self.folder / sha256[:2] / sha256


@contextmanager
def sole(lock: int, told: str) -> Iterator[None]:
    """Hold a file or folder alone by its open descriptor, which is closed; else raise `told`."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(told) from None
    else:
        yield
    finally:
        os.close(lock)


def _sized(path: Path, size_bytes: int) -> bool:
    try:
        about = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(about.st_mode) and about.st_size == size_bytes


def named(sha256: str) -> bool:
    """Tell whether a text has the form of a name in a store."""
    return _SHA256.fullmatch(sha256) is not None
