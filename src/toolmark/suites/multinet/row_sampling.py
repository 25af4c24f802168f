"""Rows made from other rows: a random sample, or several sets joined."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count
from toolmark.suites.multinet.frame_records import (
    Frame,
    OneStepRows,
    Picture,
    Rows,
)

SET_SEPARATOR = ":"
"""Separates the name of a set from the id of a row."""


@dataclass(frozen=True)
class SampledRows(OneStepRows):
    """At most n rows, drawn by the seed and their ids, in their original order; n None means all.

    `with_note`: a note says out of how many rows they are drawn. `pool`: from endless rows, the
    first `pool` rows are the candidates, then the next `pool`, and so on, so that a larger sample
    contains the smaller one. 0 means that all rows are candidates.
    """

    rows: Rows
    n: int | None
    seed: int
    with_note: bool = True
    pool: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the drawn rows."""
        return SampledRows, (self.rows, self.n, self.seed, self.with_note, self.pool)

    @property
    def clustered(self) -> bool:
        """Whether rows of one group depend on each other."""
        return self.rows.clustered

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of what was read, by name."""
        return self.rows.hashes

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user, and how many rows are asked out of how many."""
        if len(self) == len(self.rows) or not self.with_note:
            return self.rows.notes
        n, n_rows = format_count(len(self)), format_count(len(self.rows))
        note = f"{n} of {n_rows} rows are asked, drawn with seed {self.seed}"
        return (*self.rows.notes, note)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows) if self.n is None else min(self.n, len(self.rows))

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        return iter(self.rows if len(self) == len(self.rows) else self._sampled_frames)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError if one is not available."""
        return self.rows.pictures(id)

    @cached_property
    def _sampled_frames(self) -> tuple[Frame, ...]:
        """The drawn rows, cached: another pass over all rows is slow."""
        sampled = heapq.nsmallest(
            self.n or 0, enumerate(self.rows.partial_frames()), key=self._draw_key
        )
        in_order = sorted(sampled, key=lambda pair: pair[0])
        return tuple(self.rows.complete_frame(frame) for _, frame in in_order)

    def _draw_key(self, row: tuple[int, Frame]) -> tuple[int, float, str]:
        position, id = row[0], row[1].id
        draw = seeds.make_rng(self.seed, id, 0, "multinet sample").random()
        return position // self.pool if self.pool else 0, draw, id


@dataclass(frozen=True)
class JoinedRows(OneStepRows):
    """Several sets by name, one after the other; ids and groups begin with the name of the set."""

    sets: Mapping[str, Rows]

    @property
    def clustered(self) -> bool:
        """Whether rows of one group depend on each other."""
        return any(rows.clustered for rows in self.sets.values())

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of what was read, by name."""
        return {
            f"{name}/{file}": sha256
            for name, rows in self.sets.items()
            for file, sha256 in rows.hashes.items()
        }

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user about each set; a note that applies to all sets appears once."""
        notes_by_set = {name: [*rows.notes] for name, rows in self.sets.items()}
        common = [
            note
            for note in next(iter(notes_by_set.values()), [])
            if all(note in x for x in notes_by_set.values())
        ]
        own_notes = (
            f"{name}: {note}"
            for name, notes in notes_by_set.items()
            for note in notes
            if note not in common
        )
        return (*common, *own_notes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self.sets.values()))

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        for name, rows in self.sets.items():
            for frame in rows:
                yield replace(
                    frame,
                    id=f"{name}{SET_SEPARATOR}{frame.id}",
                    group=f"{name}{SET_SEPARATOR}{frame.group}",
                )

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError if one is not available."""
        name, _, own_id = id.partition(SET_SEPARATOR)
        if name not in self.sets:
            raise DataError(f"no row {id[:80]!r}")
        return self.sets[name].pictures(own_id)
