"""Gathers requests into batches, and hands out the answers.

A request is known by an id that follows from its content. The ids are noted before a batch is
submitted, so a later process finds the answers instead of asking again. A batch is submitted when
it is full, or when for a while no request has come: then everybody waits for an answer.
"""

from __future__ import annotations

import asyncio
import copy
import secrets
from typing import NamedTuple

from toolmark.core.errors import Rejected, ToolmarkError, Unavailable
from toolmark.core.number_format import format_count
from toolmark.models.batches.batch_protocol import (
    BatchCancelled,
    BatchComplaint,
    BatchStatus,
    Headers,
)
from toolmark.models.batches.batch_worker import BatchWorker
from toolmark.models.batches.openai_batches import LIMITED, refuse_item
from toolmark.models.batches.running_batch import (
    Outcome,
    RunningBatch,
    describe_batches,
    open_spool,
)
from toolmark.models.http_client import HttpResponse

_ADAPTABLE_STATUSES = (400, 422)
_CANCEL_AGAIN_S = 0.1
_ASK_AGAIN = Outcome(None, is_final=True)


class AskAgain(Exception):
    """There is no answer, and the request has to be submitted anew."""


class BatchAnswer(NamedTuple):
    """An answer, whether an earlier process had it too, and the batch that it is from."""

    response: HttpResponse
    is_old: bool
    batch: RunningBatch


class BatchQueue:
    """Answers requests by batches that `worker` submits."""

    def __init__(self, worker: BatchWorker) -> None:
        self.max_items = worker.protocol.limits.n_items
        self._worker = worker
        self._protocol = worker.protocol
        self._batch_by_item: dict[str, RunningBatch] | None = None
        self._gathering: dict[Headers, RunningBatch] = {}
        self._active: set[RunningBatch] = set()  # that are worked on
        self._turn = asyncio.Lock()
        self._is_limited = False

    async def answer_item(self, item: str, body: bytes, headers: Headers) -> BatchAnswer:
        """Return the answer to a request, from the batch that has it or will have it.

        A failure that an earlier process has reported is not final: only a refusal that may be met
        by another form of the request is returned. Raises EndpointError where there is no answer,
        AskAgain where the request has to be submitted anew.
        """
        known = self._load_known()
        batch = known.get(item)
        if batch is None:
            batch = known[item] = self._add_item(item, body, headers)
        self._start_work(batch)
        result, is_final = await batch.wait_for_outcome(item)
        if isinstance(result, HttpResponse) and result.status == 200:
            return BatchAnswer(result, batch.was_over, batch)
        if is_final and known.get(item) is batch:
            del known[item]
        if result is None:
            raise AskAgain
        if isinstance(result, HttpResponse):
            if batch.was_over and result.status not in _ADAPTABLE_STATUSES:
                raise AskAgain
            return BatchAnswer(result, batch.was_over, batch)
        is_renewed = batch.is_resumed and isinstance(result, BatchCancelled)
        if is_final and (batch.was_over or is_renewed):
            raise AskAgain
        raise copy.copy(result)  # many share it, and each raising adds to its traceback

    def forget_answer(self, item: str, batch: RunningBatch) -> None:
        """Let a request be submitted anew, as its answer is not a reply."""
        known = self._load_known()
        if known.get(item) is batch:
            del known[item]

    def describe_state(self) -> str:
        """Return what the batches do now, for people; "" where there is none."""
        sent = sorted((each for each in self._active if each.batch_id), key=lambda b: b.begun_s)
        return describe_batches(sent, sum(len(each.items) for each in self._gathering.values()))

    async def close(self) -> None:
        """End all work here; what was submitted goes on at the provider."""
        tasks = {each.worker for each in self._active if each.worker is not None}
        while tasks:
            for task in tasks:
                task.cancel()
            # a request that ends at this instant may swallow it
            _, tasks = await asyncio.wait(tasks, timeout=_CANCEL_AGAIN_S)
        for batch in self._gathering.values():
            batch.close_spool()
        self._worker.ledger.close()

    def _load_known(self) -> dict[str, RunningBatch]:
        if self._batch_by_item is None:
            self._batch_by_item = {}
            for entry in self._worker.ledger.list_batches():
                if entry.state != "abandoned":
                    batch = RunningBatch(entry.key, entry=entry)
                    self._batch_by_item |= dict.fromkeys(entry.items, batch)
        return self._batch_by_item

    # --- gathering ---

    def _add_item(self, item: str, body: bytes, headers: Headers) -> RunningBatch:
        line = self._protocol.write_item(item, body)
        separator, limits = self._protocol.separator, self._protocol.limits
        room = limits.n_bytes - len(self._protocol.prefix) - len(self._protocol.suffix)
        if len(line) > room:
            raise Rejected(f"the request has {format_count(len(line))} bytes, a batch takes fewer")
        batch = self._gathering.get(headers)
        if batch is not None and batch.n_bytes + len(separator) + len(line) > room:
            self._end_gathering(batch)
            batch = None
        if batch is None:
            batch = self._gathering[headers] = self._begin_batch(headers)
        batch.write_spool(separator if batch.items else self._protocol.prefix)
        batch.write_spool(line)
        batch.n_bytes += len(separator) + len(line)
        batch.items.append(item)
        if len(batch.items) >= self.max_items:
            self._end_gathering(batch)
        return batch

    def _begin_batch(self, headers: Headers) -> RunningBatch:
        folder = self._worker.ledger.folder
        return RunningBatch(secrets.token_hex(16), headers, spool=open_spool(folder))

    def _end_gathering(self, batch: RunningBatch) -> None:
        if self._gathering.get(batch.headers) is batch:
            del self._gathering[batch.headers]
        batch.is_full.set()

    async def _gather_items(self, batch: RunningBatch) -> None:
        """Return when the batch is full, or when no request has come for a while."""
        while not batch.is_full.is_set():
            n_before = len(batch.items)
            try:
                async with asyncio.timeout(self._worker.timing.settle_s):
                    await batch.is_full.wait()
            except TimeoutError:
                if len(batch.items) == n_before:
                    break
        self._end_gathering(batch)

    # --- the work on one batch ---

    def _start_work(self, batch: RunningBatch) -> None:
        if batch.worker is None or batch.worker.done():
            self._active.add(batch)
            batch.worker = asyncio.create_task(self._work_on_batch(batch))

    async def _work_on_batch(self, batch: RunningBatch) -> None:
        """Bring a batch to its end; all who wait for it get an outcome."""
        outcome = Outcome(Unavailable("the work on the batch ended early"), is_final=False)
        try:
            await self._obtain_results(batch)
            outcome = _ASK_AGAIN
        except ToolmarkError as error:  # of a full disk too: whoever waits ends the run
            outcome = Outcome(error, is_final=False)
            if not batch.begun_s:  # it was not submitted
                self._forget_items(batch)
        finally:
            self._active.discard(batch)
            batch.close_spool()
            batch.settle_rest(outcome)

    async def _obtain_results(self, batch: RunningBatch) -> None:
        if batch.spool is None:
            await asyncio.sleep(self._worker.timing.settle_s)  # until all have asked for it
            await self._resume_batch(batch)
            return
        await self._gather_items(batch)
        if not batch.n_waiting:  # the run was stopped
            self._forget_items(batch)
        elif self._is_limited:
            async with self._turn:
                await self._submit_batch(batch)
        else:
            await self._submit_batch(batch)

    async def _submit_batch(self, batch: RunningBatch) -> None:
        await self._worker.submit_batch(batch)
        batch.close_spool()
        await self._resume_batch(batch)

    async def _resume_batch(self, batch: RunningBatch) -> None:
        """Go on with a batch that was submitted, or about to be, when its work ended."""
        while batch.batch_id or await self._worker.find_batch(batch):
            if await self._finish_batch(batch):
                return
            # the id was only probable, and the results are those of others
            batch.tried_ids.add(batch.batch_id)
            batch.batch_id, batch.is_over = "", False
        self._worker.ledger.note_state(batch.key, "abandoned")
        self._forget_items(batch)

    async def _finish_batch(self, batch: RunningBatch) -> bool:
        """Hand out the results of a batch when it is over; return whether it was this one."""
        status = await self._worker.watch_batch(batch)
        if status.outcome != "failed":
            return await self._worker.deliver_results(batch, status)
        await self._settle_refused(batch, status)
        self._forget_items(batch)
        return True

    async def _settle_refused(self, batch: RunningBatch, status: BatchStatus) -> None:
        """Say why a batch was refused: to the requests that are the reason, else to all.

        The others are asked anew.
        """
        found = status.complaints
        by_place = {each.place: each for each in found if each.place is not None}
        if by_place:
            for place, complaint in by_place.items():
                if place < len(batch.items):
                    outcome = Outcome(refuse_item(complaint), is_final=True)
                    batch.settle_item(batch.items[place], outcome)
        elif found and found[0].code == LIMITED:
            await self._wait_for_room(batch, found[0])
        elif found:
            batch.settle_rest(Outcome(refuse_item(found[0]), is_final=True))
        else:
            failure = Unavailable(f"batch {batch.batch_id} failed, and says no reason")
            batch.settle_rest(Outcome(failure, is_final=True))

    async def _wait_for_room(self, batch: RunningBatch, complaint: BatchComplaint) -> None:
        """The provider lets only so much wait: go on with smaller batches, one at a time."""
        self._is_limited = True
        others = {each for each in self._active if each.batch_id and not each.is_over}
        if not others and len(batch.items) == 1:
            batch.settle_item(batch.items[0], Outcome(refuse_item(complaint), is_final=True))
        elif not others:
            self.max_items = min(self.max_items, (len(batch.items) + 1) // 2)
        while any(each in self._active and not each.is_over for each in others):
            await asyncio.sleep(self._worker.timing.first_pause_s)

    def _forget_items(self, batch: RunningBatch) -> None:
        """Let the requests of a batch be submitted anew."""
        known = self._load_known()
        for item in batch.items:
            if known.get(item) is batch:
                del known[item]
