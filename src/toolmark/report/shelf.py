"""A fair choice of episodes that fits: a seeded sample, kept within a budget of bytes."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable

from toolmark.report.episode import Block

Key = tuple[int, str, int]  # run, task, repeat


class Shelf:
    """Holds the blocks of lowest rank that fit; a rank is a hash of the episode's key.

    One pass over any number of episodes, memory bounded by the budget: once something had to
    go, whatever ranks above it is turned away before it is made. Nothing is turned away as long
    as everything fits.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self.n_offered = 0
        self._bar = 1 << 64
        self._heap: list[tuple[int, int, Block]] = []

    def offer(self, key: Key, make: Callable[[], Block]) -> None:
        """Take an episode in, if its rank allows; `make` is called only then."""
        self.n_offered += 1
        position = rank(key)
        if position >= self._bar:
            return
        block = make()
        heapq.heappush(self._heap, (-position, self.n_offered, block))
        self.size_bytes += block.size_bytes
        self.shrink(self.limit_bytes)

    def shrink(self, limit_bytes: int) -> None:
        """Let the highest ranks go until the rest fits."""
        self.limit_bytes = limit_bytes
        while self.size_bytes > self.limit_bytes:
            negative, _, block = heapq.heappop(self._heap)
            self.size_bytes -= block.size_bytes
            self._bar = min(self._bar, -negative)

    @property
    def n_kept(self) -> int:
        """How many it holds."""
        return len(self._heap)

    def blocks(self) -> list[Block]:
        """Return what it holds, in the order offered."""
        return [block for _, _, block in sorted(self._heap, key=lambda entry: entry[1])]


def rank(key: Key) -> int:
    """Return a number below 2^64 that depends on the key alone: the same on every machine."""
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big")
