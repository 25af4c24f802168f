"""What must survive the process: which requests were submitted, and under which id.

A line is written before a batch is submitted, and one after. If the process ends in between, the
batch is looked for at the provider under the key of the first line.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.core.records import Record

LedgerState: TypeAlias = Literal["prepared", "submitted", "abandoned", "ended"]


class BatchEntry(Record, frozen=True, kw_only=True):
    """One batch, or one line about it: what a later line does not say stays as it was.

    `key` is ours, `batch_id` the provider's. `items` are the ids of the requests, in their order.
    `begun_s` is when it was about to be submitted, in seconds since 1970. `abandoned` means that it
    was never submitted, `ended` that it is over at the provider. With `is_probable` the id is that
    of a batch that looks like this one, where the provider does not say more.
    """

    key: str
    state: LedgerState
    batch_id: str = ""
    items: tuple[str, ...] = ()
    begun_s: float = 0.0
    is_probable: bool = False


class BatchLedger:
    """The batches of one run, in memory; a subclass stores them.

    `folder` is where requests may lie until they are submitted, None for the system's own.
    """

    folder: Path | None = None

    def __init__(self) -> None:
        self._lines: list[BatchEntry] = []

    def read_lines(self) -> Iterable[BatchEntry]:
        """Return all lines, the oldest first."""
        return self._lines

    def append_line(self, line: BatchEntry) -> None:
        """Store a line; it is on the disk when this returns. Raises DataError."""
        self._lines.append(line)

    def close(self) -> None:
        """Release the file."""

    def list_batches(self) -> list[BatchEntry]:
        """Return the batches as they stand, the oldest first."""
        found: dict[str, BatchEntry] = {}
        for line in self.read_lines():
            before = found.get(line.key, line)
            found[line.key] = replace(
                line,
                batch_id=line.batch_id or before.batch_id,
                items=line.items or before.items,
                begun_s=line.begun_s or before.begun_s,
                is_probable=line.is_probable if line.batch_id else before.is_probable,
            )
        return list(found.values())

    def note_prepared(self, key: str, items: Iterable[str]) -> None:
        """Note that these requests are about to be submitted."""
        self.append_line(
            BatchEntry(key=key, state="prepared", items=tuple(items), begun_s=time.time())
        )

    def note_state(
        self, key: str, state: LedgerState, batch_id: str = "", *, is_probable: bool = False
    ) -> None:
        """Note what became of a batch."""
        self.append_line(
            BatchEntry(key=key, state=state, batch_id=batch_id, is_probable=is_probable)
        )
