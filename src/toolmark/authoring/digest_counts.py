"""How often each of many texts occurs, in 20 to 40 bytes for each different one."""

from __future__ import annotations

import hashlib
from array import array

_DIGEST_BYTES = 8
_FIRST_SLOTS = 1024
_MAX_LOAD = 0.6  # above it, a search for a free slot becomes long


class DigestCounts:
    """Counts texts by 8 bytes of their digest, in a table without Python objects for each.

    `most` is the largest count, `total` the number of texts.
    """

    def __init__(self) -> None:
        self._keys, self._counts = _empty_table(_FIRST_SLOTS)
        self._n_different = 0
        self.most = 0
        self.total = 0

    def add(self, text: bytes) -> int:
        """Note a text; return how often it has now been noted."""
        key = int.from_bytes(hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest(), "little")
        at = self._find_slot(key)
        if not self._counts[at]:
            if self._n_different >= _MAX_LOAD * len(self._keys):
                self._grow()
                at = self._find_slot(key)
            self._keys[at] = key
            self._n_different += 1
        self._counts[at] += 1
        self.total += 1
        self.most = max(self.most, self._counts[at])
        return self._counts[at]

    def _find_slot(self, key: int) -> int:
        """Return the slot of a key, or the free one that it would have."""
        keys, counts = self._keys, self._counts
        mask = len(keys) - 1
        at = key & mask
        while counts[at] and keys[at] != key:
            at = (at + 1) & mask
        return at

    def _grow(self) -> None:
        old = zip(self._keys, self._counts, strict=True)
        self._keys, self._counts = _empty_table(2 * len(self._keys))
        for key, count in old:
            if count:
                at = self._find_slot(key)
                self._keys[at], self._counts[at] = key, count


def _empty_table(n_slots: int) -> tuple[array[int], array[int]]:
    """Return the keys and counts of a table; the number of slots is a power of two."""
    return array("Q", bytes(8 * n_slots)), array("I", bytes(4 * n_slots))
