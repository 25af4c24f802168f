"""Names of files that any system takes, for what has names of its own: items, conditions."""

from __future__ import annotations

import hashlib
import re
from functools import partial

from toolmark import codec

_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._=@+-]{0,78}[A-Za-z0-9=@+_-])?")
_ODD = re.compile(r"[^A-Za-z0-9=@+_-]+")


class Names:
    """Gives every file a name that no other file has."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, ...]] = {}

    def of(self, top: str, item: str, name: str, end: str) -> str:
        """Return top/ITEM/NAMEend, relative to the set; the same for what is asked twice."""
        folder = self._free((top, item), top, item, "")
        return self._free((item, name, end), folder, name, end)

    def _free(self, key: tuple[str, ...], folder: str, name: str, end: str) -> str:
        for form in (_plain, partial(_plain, marked=True)):
            found = f"{folder}/{form(name)}{end}"
            # some systems take A and a for one name
            if self._taken.setdefault(found.casefold(), key) == key:
                return found
        raise AssertionError(f"two names share a digest: {name!r}")


def _plain(name: str, *, marked: bool = False) -> str:
    """Return a name as a file's; with a digest where characters had to go, or it is `marked`."""
    if not marked and _PLAIN.fullmatch(name):
        return name
    kept = _ODD.sub("_", name)[:60]
    return f"{kept}~{hashlib.sha256(codec.encode(name)).hexdigest()[:10]}"
