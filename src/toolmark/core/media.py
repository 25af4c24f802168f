"""The content-addressed store: files named by the SHA-256 of their bytes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import write_atomically
from toolmark.core.records import Audio, Image, Part, Task, Text

_SHA256 = re.compile("[0-9a-f]{64}")


def task_pictures(task: Task) -> list[Image]:
    """Return the pictures in the messages of a task, in their order."""
    parts = (part for turn in task.turns for message in turn.messages for part in message.parts)
    return [part for part in parts if isinstance(part, Image)]


class MediaStore:
    """A folder of media files; equal bytes are stored once.

    Adding raises DataError when the disk is full or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add_image(self, data: bytes, mime: str) -> Image:
        """Store a picture and return its reference."""
        return Image(sha256=self._store_bytes(data), mime=mime, size_bytes=len(data))

    def add_audio(self, data: bytes, mime: str) -> Audio:
        """Store a recording and return its reference."""
        return Audio(sha256=self._store_bytes(data), mime=mime, size_bytes=len(data))

    def read(self, part: Image | Audio) -> bytes:
        """Return the bytes of a reference; raises DataError if they are missing or changed."""
        path = self._path(part.sha256)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: cannot read media: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise DataError(f"{path}: the content does not match its name")
        return data

    def has_file(self, part: Image | Audio) -> bool:
        """Return whether the bytes of a reference are here.

        A file of another size is incomplete.
        """
        return _has_size(self._path(part.sha256), part.size_bytes)

    def path(self, part: Image | Audio) -> Path:
        """Return the path for the bytes of a reference, existing or not."""
        return self._path(part.sha256)

    def link_file(self, part: Image | Audio, path: Path) -> None:
        """Give the bytes of a reference another name too, as a hard link if the disk supports it.

        Raises DataError as `read` does.
        """
        data = self.read(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.hardlink_to(self.path(part))
        except OSError:  # some disks do not support links
            write_atomically(path, data)

    def copy_from(self, source: MediaStore, parts: Iterable[Part]) -> None:
        """Store copies of what the parts refer to in another store.

        Raises DataError as `read` does.
        """
        for part in parts:
            if not isinstance(part, Text) and not self.has_file(part):
                self._store_bytes(source.read(part))

    def _store_bytes(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        if not _has_size(path, len(data)):
            try:
                write_atomically(path, data)
            except OSError as error:  # ends a run: every later episode would fail too
                raise DataError(f"{path}: cannot write media: {error.strerror}") from None
        return sha256

    def _path(self, sha256: str) -> Path:
        # the name comes from another person's file: it must not lead out of the folder
        if not is_sha256(sha256):
            raise DataError(f"not a SHA-256: {sha256[:80]!r}")
        return self.folder / sha256[:2] / sha256


class MediaOverlay(MediaStore):
    """A store that also reads what another one has, and never writes there."""

    def __init__(self, folder: Path, source: MediaStore) -> None:
        super().__init__(folder)
        self.source = source

    def read(self, part: Image | Audio) -> bytes:
        """Return the bytes of a reference; raises DataError if both stores lack it."""
        return super().read(part) if super().has_file(part) else self.source.read(part)

    def has_file(self, part: Image | Audio) -> bool:
        """Return whether the bytes of a reference are in one of the stores."""
        return super().has_file(part) or self.source.has_file(part)

    def path(self, part: Image | Audio) -> Path:
        """Return the path of the bytes, in the other store if only that has them."""
        return super().path(part) if super().has_file(part) else self.source.path(part)


@contextmanager
def exclusive_lock(lock: int, message: str) -> Iterator[None]:
    """Lock an open file or folder for this process alone, and close its descriptor at the end.

    Raises UsageError with the text `message` if another process has the lock.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(message) from None
    else:
        yield
    finally:
        os.close(lock)


def _has_size(path: Path, size_bytes: int) -> bool:
    try:
        info = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(info.st_mode) and info.st_size == size_bytes


def is_sha256(sha256: str) -> bool:
    """Return whether a text has the form of a file name in a store."""
    return _SHA256.fullmatch(sha256) is not None
