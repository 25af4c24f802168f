"""The content-addressed store: bytes under the name of their SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from toolmark.errors import DataError
from toolmark.types import Audio, Image, Part, Text

_SHA256 = re.compile("[0-9a-f]{64}")


class Media:
    """A folder of media files; adding the same bytes twice keeps one file."""

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
        """Tell whether the bytes of a reference are here."""
        return self._path(part.sha256).is_file()

    def take(self, other: Media, parts: Iterable[Part]) -> None:
        """Keep copies of what the parts refer to in another store. Raises DataError as `read`."""
        for part in parts:
            if not isinstance(part, Text) and not self._path(part.sha256).exists():
                self._keep(other.read(part))

    def _keep(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(data)
            part.replace(path)
        return sha256

    def _path(self, sha256: str) -> Path:
        # the name comes from a stranger's file: it must not lead out of the folder
        if not named(sha256):
            raise DataError(f"not a SHA-256: {sha256[:80]!r}")
        return self.folder / sha256[:2] / sha256


def named(sha256: str) -> bool:
    """Tell whether a text has the form of a name in a store."""
    return _SHA256.fullmatch(sha256) is not None
