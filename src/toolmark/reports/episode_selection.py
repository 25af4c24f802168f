"""A fair selection of episodes within a budget of bytes: a seeded sample."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Mapping

from toolmark.reports.episode_block import ELEMENT_BYTES, EpisodeBlock

PageEpisodeKey = tuple[int, str, int]  # run, task, repeat


class EpisodeSelection:
    """Select the blocks of lowest rank that fit; a rank is a hash of the episode's key.

    It needs one pass over any number of episodes; the budget bounds the memory. While everything
    fits, nothing is rejected. After the first block is removed, an episode of higher rank is
    rejected before its block is made. Recordings take `max_sound_bytes` at most, and half of the
    budget where not everything fits: some blocks are then stored without their recordings, by the
    rank of the largest recording. Drawings and recordings that blocks share count once.
    """

    def __init__(self, limit_bytes: int, max_sound_bytes: int | None = None) -> None:
        self.limit_bytes = limit_bytes
        self.max_sound_bytes = limit_bytes if max_sound_bytes is None else max_sound_bytes
        self.size_bytes = 0
        self.n_offered = 0
        self._rank_limit = 1 << 64
        self._sound_rank_limit = 1 << 64
        self._is_over_budget = False
        self.sound_bytes = 0
        self._blocks: dict[int, EpisodeBlock] = {}
        self._silenced: set[int] = set()
        self._heap: list[tuple[int, int]] = []
        self._sound_heap: list[tuple[int, int]] = []
        self._n_users: Counter[str] = Counter()

    def offer_episode(self, key: PageEpisodeKey, make: Callable[[], EpisodeBlock]) -> None:
        """Add an episode if its rank allows it; `make` is called only then."""
        self.n_offered += 1
        episode_rank = sampling_rank(key)
        if episode_rank >= self._rank_limit:
            return
        block = make()
        entry = (-episode_rank, self.n_offered)
        heapq.heappush(self._heap, entry)
        if block.sounds:  # ranked by the largest, so that blocks that share it are treated alike
            name = max(block.sounds, key=lambda name: len(block.sounds[name]))
            heapq.heappush(self._sound_heap, (-sampling_rank((0, name, 0)), self.n_offered))
        self._insert_block(self.n_offered, block)
        self.drop_recordings(self.max_sound_bytes)
        self.shrink_to(self.limit_bytes)

    def shrink_to(self, limit_bytes: int) -> None:
        """Remove the highest ranks until the rest fits, recordings first."""
        self.limit_bytes = limit_bytes
        self._is_over_budget = self._is_over_budget or self.size_bytes > limit_bytes
        if self._is_over_budget:  # from then on always, so that the order of offers does not matter
            self.drop_recordings(limit_bytes // 2)
        while self.size_bytes > self.limit_bytes:
            negative, at = heapq.heappop(self._heap)
            self._remove_block(at)
            self._rank_limit = min(self._rank_limit, -negative)

    def drop_recordings(self, max_bytes: int) -> None:
        """Remove recordings, those of the highest ranks first, until they fit."""
        while self._sound_heap and (
            self.sound_bytes > max_bytes or -self._sound_heap[0][0] >= self._sound_rank_limit
        ):
            negative, at = heapq.heappop(self._sound_heap)
            self._sound_rank_limit = min(self._sound_rank_limit, -negative)
            if at in self._blocks:
                self._insert_block(at, self._remove_block(at).without_recordings())
                self._silenced.add(at)

    def _insert_block(self, index: int, block: EpisodeBlock) -> None:
        self._blocks[index] = block
        sounds = self._count_use(block.sounds, 1)
        self.sound_bytes += sounds
        self.size_bytes += block.size_bytes + self._count_use(block.pictures, 1) + sounds

    def _remove_block(self, index: int) -> EpisodeBlock:
        block = self._blocks.pop(index)
        sounds = self._count_use(block.sounds, -1)
        self.sound_bytes -= sounds
        self.size_bytes -= block.size_bytes + self._count_use(block.pictures, -1) + sounds
        self._silenced.discard(index)
        return block

    def _count_use(self, pieces: Mapping[str, bytes], n: int) -> int:
        """Add `n` (1 or -1) users to each piece; return the bytes that are added or removed."""
        changed = 0
        for name, data in pieces.items():
            before = self._n_users[name]
            self._n_users[name] += n
            changed += len(data) + ELEMENT_BYTES if 0 in (before, before + n) else 0
        return changed

    @property
    def n_without_recordings(self) -> int:
        """The number of selected blocks whose recordings were removed."""
        return len(self._silenced)

    @property
    def n_with_recordings(self) -> int:
        """The number of selected blocks with recordings."""
        return sum(bool(block.sounds) for block in self._blocks.values())

    @property
    def n_selected(self) -> int:
        """The number of selected blocks."""
        return len(self._heap)

    def blocks(self) -> list[EpisodeBlock]:
        """Return the selected blocks, in the order offered."""
        return [self._blocks[at] for at in sorted(self._blocks)]


def sampling_rank(key: PageEpisodeKey) -> int:
    """Return a number below 2^64 that depends only on the key: the same on every machine."""
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big")
