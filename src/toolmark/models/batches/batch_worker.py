"""The way of one batch: submitted once, watched to its end, read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple, TypeVar

from toolmark.core.errors import (
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    TornReply,
    Unavailable,
)
from toolmark.models.batches.batch_ledger import BatchLedger
from toolmark.models.batches.batch_protocol import BatchCancelled, BatchProtocol, BatchStatus
from toolmark.models.batches.bulk_transfer import RefusedAnswer, Spool
from toolmark.models.batches.running_batch import Outcome, RunningBatch
from toolmark.models.http_client import HttpResponse

_T = TypeVar("_T")
_PASSING_ERRORS = (RateLimited, Unavailable, Timeout, TornReply)
_MAX_PASSING_FAILURES = 20  # in a row, of one batch that is watched
_CLOCK_SLACK_S = 600.0  # between the provider's clock and ours
_PAUSE_GROWTH = 1.3


class BatchTiming(NamedTuple):
    """How long to wait, in seconds.

    - `settle_s`: a batch is submitted when for so long no request has come.
    - `first_pause_s`, `longest_pause_s`: between two looks at a batch.
    - `search_s`: before a batch is looked for whose submission was not answered.
    """

    settle_s: float = 1.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    search_s: float = 5.0


class BatchWorker:
    """Submits, watches and reads batches.

    `read_refusal` makes the error of an answer that refuses something. `max_retries` is how often a
    request about a batch is repeated that failed for a passing reason.
    """

    def __init__(
        self,
        protocol: BatchProtocol,
        ledger: BatchLedger,
        read_refusal: Callable[[HttpResponse], EndpointError],
        max_retries: int,
        timing: BatchTiming,
    ) -> None:
        self.protocol = protocol
        self.ledger = ledger
        self.timing = timing
        self._read_refusal = read_refusal
        self._max_retries = max_retries

    async def submit_batch(self, batch: RunningBatch) -> None:
        """Submit a batch that has gathered; its id is on the disk when this returns.

        Raises EndpointError. Where it is then known that nothing was submitted, the ledger says so.
        """
        spool = batch.finish_spool(self.protocol.suffix)
        file_id = await self._repeat(lambda: self.protocol.upload_items(batch.key, spool))
        batch.begun_s = time.time()
        self.ledger.note_prepared(batch.key, batch.items)
        try:
            await self._repeat(lambda: self._create_batch(batch, file_id, spool))
        except (Rejected, RateLimited):
            if not batch.may_be_submitted:
                self.ledger.note_state(batch.key, "abandoned")
                batch.begun_s = 0.0
            raise

    async def _create_batch(self, batch: RunningBatch, file_id: str, spool: Spool) -> None:
        """Submit once. Where the answer is lost, the batch is looked for before a repetition."""
        try:
            batch_id = await self.protocol.create_batch(batch.key, file_id, spool, batch.headers)
        except (RefusedAnswer, *_PASSING_ERRORS) as error:
            if isinstance(error, RefusedAnswer) and error.answer.status < 500:
                raise
            batch.may_be_submitted = True
            await asyncio.sleep(self.timing.search_s)
            if not await self.find_batch(batch):
                raise
            return
        self._note_id(batch, batch_id)

    async def find_batch(self, batch: RunningBatch) -> bool:
        """Look for a batch whose id is not known; where it is found, the id is noted.

        Raises EndpointError.
        """
        known = {each.batch_id for each in self.ledger.list_batches()} | batch.tried_ids
        since_s = batch.begun_s - _CLOCK_SLACK_S

        async def find() -> str:
            found = self.protocol.find_batches(batch.key, since_s, len(batch.items))
            async with aclosing(found) as listed:
                async for batch_id in listed:
                    if batch_id not in known:
                        return batch_id
            return ""

        batch_id = await self._repeat(find)
        if batch_id:
            self._note_id(batch, batch_id, is_probable=not self.protocol.stores_keys)
        return bool(batch_id)

    def _note_id(self, batch: RunningBatch, batch_id: str, *, is_probable: bool = False) -> None:
        batch.batch_id = batch_id
        self.ledger.note_state(batch.key, "submitted", batch_id, is_probable=is_probable)

    async def watch_batch(self, batch: RunningBatch) -> BatchStatus:
        """Return how the batch ended. Raises EndpointError where that cannot be known for now."""
        pause_s, n_failures = self.timing.first_pause_s, 0
        while True:
            try:
                batch.status = await self._ask(lambda: self.protocol.read_status(batch.batch_id))
                n_failures = 0
            except _PASSING_ERRORS as error:
                n_failures += 1
                if n_failures > _MAX_PASSING_FAILURES:
                    raise Unavailable(f"batch {batch.batch_id}: {error}") from None
            except Rejected as error:
                raise _unreadable_error(batch, error) from None
            if batch.status is not None and batch.status.outcome != "running":
                if not batch.is_over:
                    self.ledger.note_state(batch.key, "ended")
                batch.is_over = True
                return batch.status
            await asyncio.sleep(pause_s)
            pause_s = min(self.timing.longest_pause_s, pause_s * _PAUSE_GROWTH)

    async def deliver_results(self, batch: RunningBatch, status: BatchStatus) -> bool:
        """Give every result to whoever waits for it, and return whether this was the batch.

        A download that breaks is begun again. Raises EndpointError.
        """
        answered: set[str] = set()

        async def deliver() -> None:
            results = self.protocol.read_results(batch.batch_id, status)
            async with aclosing(results) as found:
                async for item, result in found:
                    answered.add(item)
                    batch.settle_item(item, Outcome(result, is_final=True))
                    await asyncio.sleep(0)  # it is stored before the next ones are read

        without_result = Outcome(_error_without_result(status), is_final=True)
        while True:
            try:
                await self._repeat(deliver)
            except Rejected as error:
                raise _unreadable_error(batch, error) from None
            if answered.isdisjoint(batch.items) and status.outcome == "ended":
                return False
            for item in batch.list_waiting():
                if item not in answered:
                    batch.settle_item(item, without_result)
            if not batch.list_waiting():
                return True
            # who asked while the results were read may have missed theirs: they are read again
            await asyncio.sleep(self.timing.settle_s)

    async def _repeat(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask until there is an answer, as often as retries allow. Raises EndpointError."""
        pause_s = self.timing.first_pause_s
        n_tries = 0
        while True:
            try:
                return await self._ask(ask)
            except _PASSING_ERRORS as error:
                n_tries += 1
                if n_tries > self._max_retries:
                    raise
                requested_s = error.wait_s if isinstance(error, RateLimited | Unavailable) else None
            await asyncio.sleep(max(pause_s, requested_s or 0.0))
            pause_s = min(self.timing.longest_pause_s, pause_s * 2)

    async def _ask(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask once. Raises EndpointError, also for an answer that refuses."""
        try:
            return await ask()
        except RefusedAnswer as refusal:
            raise self._read_refusal(refusal.answer) from None


def _error_without_result(status: BatchStatus) -> EndpointError:
    if status.outcome == "expired":
        return Timeout("the batch expired before this request was answered")
    if status.outcome == "cancelled":
        return BatchCancelled("the batch was cancelled before this request was answered")
    return TornReply("the batch ended without a result for this request")


def _unreadable_error(batch: RunningBatch, error: Rejected) -> Rejected:
    step = "next: give the key that submitted it; --fresh submits all anew, and pays anew"
    text = f"batch {batch.batch_id} cannot be read: {error}; {step}"
    return Rejected(text, error.status, kind=error.kind, subject=error.subject)
