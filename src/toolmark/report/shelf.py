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
    as everything fits. Where not all fits, recordings take half of the budget at most: the blocks
    of highest rank are held without theirs.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self.n_offered = 0
        self._bar = 1 << 64
        self._hush = 1 << 64
        self._tight = False
        self.sound_bytes = 0
        self._blocks: dict[int, Block] = {}
        self._hushed: set[int] = set()
        self._heap: list[tuple[int, int]] = []
        self._loud: list[tuple[int, int]] = []

    def offer(self, key: Key, make: Callable[[], Block]) -> None:
        """Take an episode in, if its rank allows; `make` is called only then."""
        self.n_offered += 1
        position = rank(key)
        if position >= self._bar:
            return
        block = make()
        entry = (-position, self.n_offered)
        heapq.heappush(self._heap, entry)
        if block.sound_bytes:
            heapq.heappush(self._loud, entry)
        self._put(self.n_offered, block)
        self.shrink(self.limit_bytes)

    def shrink(self, limit_bytes: int) -> None:
        """Let the highest ranks go until the rest fits, recordings first."""
        self.limit_bytes = limit_bytes
        self._tight = self._tight or self.size_bytes > limit_bytes
        if self._tight:  # from then on always, so that the order of offers does not matter
            self.hush(limit_bytes // 2)
        while self.size_bytes > self.limit_bytes:
            negative, at = heapq.heappop(self._heap)
            self._take(at)
            self._bar = min(self._bar, -negative)

    def hush(self, most_bytes: int) -> None:
        """Let recordings go, of the highest ranks first, until they fit."""
        while self._loud and (self.sound_bytes > most_bytes or -self._loud[0][0] >= self._hush):
            negative, at = heapq.heappop(self._loud)
            self._hush = min(self._hush, -negative)
            if at in self._blocks:
                self._put(at, self._take(at).hushed())
                self._hushed.add(at)

    def _put(self, at: int, block: Block) -> None:
        self._blocks[at] = block
        self.size_bytes += block.size_bytes
        self.sound_bytes += block.sound_bytes

    def _take(self, at: int) -> Block:
        block = self._blocks.pop(at)
        self.size_bytes -= block.size_bytes
        self.sound_bytes -= block.sound_bytes
        self._hushed.discard(at)
        return block

    @property
    def n_hushed(self) -> int:
        """How many of those it holds lost their recordings."""
        return len(self._hushed)

    @property
    def n_kept(self) -> int:
        """How many it holds."""
        return len(self._heap)

    def blocks(self) -> list[Block]:
        """Return what it holds, in the order offered."""
        return [self._blocks[at] for at in sorted(self._blocks)]


def rank(key: Key) -> int:
    """Return a number below 2^64 that depends on the key alone: the same on every machine."""
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big")
