"""Rows made of other rows: some that are drawn of many, several sets as one."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from toolmark import seeds
from toolmark.errors import DataError
from toolmark.suites.multinet.frame import Frame, Picture, Rows, bare, full

SIGN = ":"
"""Between the name of a set and what it calls a row."""


@dataclass(frozen=True)
class Drawn:
    """At most n rows, drawn by the seed and their ids, in the order that they have; None: all.

    `told`: the notes say of how many they are drawn. `pool`: of rows that have no end so many are
    drawn from first, then as many again, and so on: more rows hold the fewer. 0 is all of them.
    """

    rows: Rows
    n: int | None
    seed: int
    told: bool = True
    pool: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what was drawn."""
        return Drawn, (self.rows, self.n, self.seed, self.told, self.pool)

    @property
    def clustered(self) -> bool:
        """Whether rows of one group hang together."""
        return self.rows.clustered

    @property
    def hashes(self) -> Mapping[str, str]:
        """What was read, by name."""
        return self.rows.hashes

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know, and how many rows are asked of how many."""
        if len(self) == len(self.rows) or not self.told:
            return self.rows.notes
        told = f"{self.n:,} of {len(self.rows):,} rows are asked, drawn with seed {self.seed}"
        return (*self.rows.notes, told)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows) if self.n is None else min(self.n, len(self.rows))

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        return iter(self.rows if len(self) == len(self.rows) else self._frames)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError where one cannot be had."""
        return self.rows.pictures(id)

    @cached_property
    def _frames(self) -> tuple[Frame, ...]:
        """Those that were drawn: going through all rows again for a few costs time."""
        drawn = heapq.nsmallest(self.n or 0, enumerate(bare(self.rows)), key=self._lot)
        in_order = sorted(drawn, key=lambda pair: pair[0])
        return tuple(full(self.rows, frame) for _, frame in in_order)

    def _lot(self, row: tuple[int, Frame]) -> tuple[int, float, str]:
        at, id = row[0], row[1].id
        drawn = seeds.of(self.seed, id, 0, "multinet sample").random()
        return at // self.pool if self.pool else 0, drawn, id


@dataclass(frozen=True)
class Joined:
    """Several sets by their names, one after the other; ids and groups begin with the name."""

    sets: Mapping[str, Rows]

    @property
    def clustered(self) -> bool:
        """Whether rows of one group hang together."""
        return any(rows.clustered for rows in self.sets.values())

    @property
    def hashes(self) -> Mapping[str, str]:
        """What was read, by name."""
        return {
            f"{name}/{file}": sha256
            for name, rows in self.sets.items()
            for file, sha256 in rows.hashes.items()
        }

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know of each set; what holds for all is said once."""
        told = {name: [*rows.notes] for name, rows in self.sets.items()}
        common = [
            note for note in next(iter(told.values()), []) if all(note in x for x in told.values())
        ]
        own = (
            f"{name}: {note}"
            for name, notes in told.items()
            for note in notes
            if note not in common
        )
        return (*common, *own)

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(map(len, self.sets.values()))

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        for name, rows in self.sets.items():
            for frame in rows:
                yield replace(
                    frame, id=f"{name}{SIGN}{frame.id}", group=f"{name}{SIGN}{frame.group}"
                )

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError where one cannot be had."""
        name, _, own = id.partition(SIGN)
        if name not in self.sets:
            raise DataError(f"no row {id[:80]!r}")
        return self.sets[name].pictures(own)
