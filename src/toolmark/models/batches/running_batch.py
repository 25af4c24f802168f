"""One batch in this process: its requests, who waits for them, and how far it is."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias, cast

from toolmark.core.errors import DataError, ToolmarkError
from toolmark.core.number_format import format_count, format_duration
from toolmark.models.batches.batch_ledger import BatchEntry
from toolmark.models.batches.batch_protocol import BatchStatus, Headers
from toolmark.models.batches.bulk_transfer import Spool
from toolmark.models.http_client import HttpResponse

Result: TypeAlias = HttpResponse | ToolmarkError | None
"""An answer, an error, or None: the request has to be submitted anew."""


class Outcome(NamedTuple):
    """What became of a request. With `is_final` its batch will never have another answer."""

    result: Result
    is_final: bool


class RunningBatch:
    """A batch that gathers, was submitted, or is over.

    `key` is ours, `batch_id` the provider's, "" while it is not known. `entry` is the batch as an
    earlier process noted it. `was_over` says that it had ended then: its failures were reported.
    """

    def __init__(
        self,
        key: str,
        headers: Headers = (),
        *,
        entry: BatchEntry | None = None,
        spool: BinaryIO | None = None,
    ) -> None:
        self.key = key
        self.headers = headers
        self.is_resumed = entry is not None
        self.was_over = entry is not None and entry.state == "ended"
        self.batch_id = entry.batch_id if entry else ""
        self.begun_s = entry.begun_s if entry else 0.0
        self.items = list(entry.items) if entry else []
        self.n_bytes = 0
        self.n_waiting = 0
        self.is_over = self.was_over
        self.may_be_submitted = False  # a submission was not answered
        self.is_full = asyncio.Event()
        self.status: BatchStatus | None = None
        self.worker: asyncio.Task[None] | None = None
        self.spool = spool
        self.tried_ids: set[str] = set()  # that turned out to be those of other batches
        self._futures: dict[str, asyncio.Future[Outcome]] = {}

    async def wait_for_outcome(self, item: str) -> Outcome:
        """Return what becomes of a request; two that are the same share it."""
        future = self._futures.get(item)
        if future is None:
            future = self._futures[item] = asyncio.get_running_loop().create_future()
        self.n_waiting += 1
        try:
            return await asyncio.shield(future)  # one of two may be cancelled
        finally:
            self.n_waiting -= 1

    def settle_item(self, item: str, outcome: Outcome) -> None:
        """Give an outcome to whoever waits for this request."""
        future = self._futures.pop(item, None)
        if future is not None:
            future.set_result(outcome)

    def list_waiting(self) -> list[str]:
        """Return the requests that have no outcome yet."""
        return list(self._futures)

    def settle_rest(self, outcome: Outcome) -> None:
        """Give an outcome to all who still wait."""
        for item in self.list_waiting():
            self.settle_item(item, outcome)

    def write_spool(self, data: bytes) -> None:
        """Add to the requests on the disk. Raises DataError when it is full."""
        assert self.spool is not None
        with _name_disk_errors():
            self.spool.write(data)

    def finish_spool(self, suffix: bytes) -> Spool:
        """Return all requests, as they are sent. Raises DataError when the disk is full."""
        self.write_spool(suffix)
        assert self.spool is not None
        with _name_disk_errors():
            self.spool.flush()
            return Spool(self.spool, self.spool.tell())

    def close_spool(self) -> None:
        """Remove the requests from the disk."""
        if self.spool is not None:
            with suppress(OSError):
                self.spool.close()
            self.spool = None


def open_spool(folder: Path | None) -> BinaryIO:
    """Return a file without a name for the requests of a batch. Raises DataError."""
    with _name_disk_errors():
        return cast(BinaryIO, tempfile.TemporaryFile(dir=folder))


@contextmanager
def _name_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the requests of a batch cannot be stored: {error.strerror}; make room and give the "
            "same command again"
        ) from None


def describe_batches(sent: Sequence[RunningBatch], n_gathered: int) -> str:
    """Return what submitted batches do, for people, and how many requests wait for the next."""
    texts = []
    if sent:
        statuses = [each.status for each in sent if each.status is not None]
        n_done = sum(status.n_done for status in statuses)
        n_all = sum(len(each.items) for each in sent)
        name = f"batch {sent[0].batch_id}" if len(sent) == 1 else f"{len(sent)} batches"
        texts.append(f"{name}: {format_count(n_done)} of {format_count(n_all)} done")
        ends = [status.expires_s for status in statuses if status.expires_s is not None]
        if ends:
            left_s = max(0, int(min(ends) - time.time()))
            left_s -= left_s % (3600 if left_s > 3600 else 60)  # a text that seldom changes
            texts.append(f"expires in {format_duration(left_s)}")
    if n_gathered:
        texts.append(f"{format_count(n_gathered)} gathered")
    return ", ".join(texts)
