"""A fair choice of episodes that fits: a seeded sample, kept within a budget of bytes."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Mapping

from toolmark.report.episode import FRAME, Block

Key = tuple[int, str, int]  # run, task, repeat


class Shelf:
    """Holds the blocks of lowest rank that fit; a rank is a hash of the episode's key.

    One pass over any number of episodes, memory bounded by the budget: once something had to
    go, whatever ranks above it is turned away before it is made. Nothing is turned away as long
    as everything fits. Recordings take `most_sound_bytes` at most, and half of the budget where not
    all fits: some blocks are held without theirs, by the rank of their largest. Drawings and
    recordings that blocks share count once.
    """

    def __init__(self, limit_bytes: int, most_sound_bytes: int | None = None) -> None:
        self.limit_bytes = limit_bytes
        self.most_sound_bytes = limit_bytes if most_sound_bytes is None else most_sound_bytes
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
        self._users: Counter[str] = Counter()

    def offer(self, key: Key, make: Callable[[], Block]) -> None:
        """Take an episode in, if its rank allows; `make` is called only then."""
        self.n_offered += 1
        position = rank(key)
        if position >= self._bar:
            return
        block = make()
        entry = (-position, self.n_offered)
        heapq.heappush(self._heap, entry)
        if block.sounds:  # by the largest, so that those who share it stay or go together
            name = max(block.sounds, key=lambda name: len(block.sounds[name]))
            heapq.heappush(self._loud, (-rank((0, name, 0)), self.n_offered))
        self._put(self.n_offered, block)
        self.hush(self.most_sound_bytes)
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
        """Let recordings go, those of the highest ranks first, until they fit."""
        while self._loud and (self.sound_bytes > most_bytes or -self._loud[0][0] >= self._hush):
            negative, at = heapq.heappop(self._loud)
            self._hush = min(self._hush, -negative)
            if at in self._blocks:
                self._put(at, self._take(at).hushed())
                self._hushed.add(at)

    def _put(self, at: int, block: Block) -> None:
        self._blocks[at] = block
        sounds = self._use(block.sounds, 1)
        self.sound_bytes += sounds
        self.size_bytes += block.size_bytes + self._use(block.drawn, 1) + sounds

    def _take(self, at: int) -> Block:
        block = self._blocks.pop(at)
        sounds = self._use(block.sounds, -1)
        self.sound_bytes -= sounds
        self.size_bytes -= block.size_bytes + self._use(block.drawn, -1) + sounds
        self._hushed.discard(at)
        return block

    def _use(self, pieces: Mapping[str, bytes], n: int) -> int:
        """Count one user of each piece more, or less; return the bytes that come, or go."""
        changed = 0
        for name, data in pieces.items():
            before = self._users[name]
            self._users[name] += n
            changed += len(data) + FRAME if 0 in (before, before + n) else 0
        return changed

    @property
    def n_hushed(self) -> int:
        """How many of those it holds lost their recordings."""
        return len(self._hushed)

    @property
    def n_loud(self) -> int:
        """How many of those it holds have recordings with them."""
        return sum(bool(block.sounds) for block in self._blocks.values())

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
