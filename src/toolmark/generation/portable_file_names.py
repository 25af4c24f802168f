"""File names that any system accepts, for items and conditions with free names."""

from __future__ import annotations

import hashlib
import re
from functools import partial

from toolmark.core import json_codec

_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._=@+-]{0,78}[A-Za-z0-9=@+_-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9=@+_-]+")


class FileNames:
    """Gives every file a name that no other file has."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, ...]] = {}

    def file_name(self, top: str, item: str, name: str, end: str) -> str:
        """Return top/ITEM/NAMEend, relative to the set; equal arguments give the same name."""
        folder = self._unused_name((top, item), top, item, "")
        return self._unused_name((item, name, end), folder, name, end)

    def _unused_name(self, key: tuple[str, ...], folder: str, name: str, end: str) -> str:
        for make_name in (_portable_name, partial(_portable_name, with_digest=True)):
            found = f"{folder}/{make_name(name)}{end}"
            # some systems do not distinguish A from a
            if self._taken.setdefault(found.casefold(), key) == key:
                return found
        raise AssertionError(f"two names share a digest: {name!r}")


def _portable_name(name: str, *, with_digest: bool = False) -> str:
    """Return a portable file name; a digest is added for replaced characters or `with_digest`."""
    if not with_digest and _PLAIN.fullmatch(name):
        return name
    safe = _UNSAFE.sub("_", name)[:60]
    return f"{safe}~{hashlib.sha256(json_codec.encode_record(name)).hexdigest()[:10]}"
