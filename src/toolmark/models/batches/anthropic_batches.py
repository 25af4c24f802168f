"""Anthropic's message batches: one body submits the requests, results are lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Raw, Struct

from toolmark.models.batches import bulk_transfer
from toolmark.models.batches.batch_protocol import (
    BatchLimits,
    BatchProtocol,
    BatchStatus,
    Headers,
    ItemResult,
    cancelled_item,
    check_id,
    decode_answer,
    decode_line,
    expired_item,
)
from toolmark.models.batches.bulk_transfer import Spool
from toolmark.models.complaint_rules import load_table
from toolmark.models.endpoint_address import join_path
from toolmark.models.http_client import HttpResponse

_PAGE_ITEMS = 1000
_MAX_PAGES = 20  # of a list of batches that are read
_DEFAULT_STATUS = 502


class _Counts(Struct, frozen=True):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        """All requests of the batch."""
        return self.processing + self.succeeded + self.errored + self.canceled + self.expired


class _Batch(Struct):
    id: str
    processing_status: str
    created_at: datetime | None = None
    expires_at: datetime | None = None
    request_counts: _Counts = _Counts()


class _Page(Struct):
    data: list[_Batch]
    has_more: bool = False


class _Result(Struct):
    type: str
    message: Raw = Raw(b"null")
    error: Raw = Raw(b"null")


class _Line(Struct):
    custom_id: str
    result: _Result


class _Error(Struct, frozen=True):
    type: str = ""


class _ErrorBody(Struct):
    error: _Error = _Error()


class AnthropicBatches(BatchProtocol):
    """Batches of messages."""

    # not in the types of its package: the limits that its documentation names
    limits: ClassVar[BatchLimits] = BatchLimits(100_000, 256 * 10**6)
    prefix: ClassVar[bytes] = b'{"requests":['
    separator: ClassVar[bytes] = b","
    suffix: ClassVar[bytes] = b"]}"

    def write_item(self, item_id: str, body: bytes) -> bytes:
        """Return one request as a member of the list."""
        return b"".join((f'{{"custom_id":"{item_id}","params":'.encode(), body, b"}"))

    async def upload_items(self, key: str, spool: Spool) -> str:
        """Do nothing: the requests are sent with the batch."""
        return ""

    async def create_batch(self, key: str, file_id: str, spool: Spool, headers: Headers) -> str:
        """Submit the requests."""
        url = join_path(self.url, "messages/batches")
        answer = await bulk_transfer.post_spool(self.client, url, spool, headers)
        return check_id(decode_answer(answer, _Batch).id)

    async def read_status(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is; the counts are those of the end until it has ended."""
        answer = await self.client.get(join_path(self.url, f"messages/batches/{batch_id}"))
        found: _Batch = decode_answer(answer, _Batch)
        counts = found.request_counts
        return BatchStatus(
            "ended" if found.processing_status == "ended" else "running",
            counts.total - counts.processing,
            counts.total,
            found.expires_at.timestamp() if found.expires_at else None,
        )

    async def read_results(
        self, batch_id: str, status: BatchStatus
    ) -> AsyncGenerator[ItemResult, None]:
        """Yield the results, from our own address: the key goes nowhere that a server names."""
        url = join_path(self.url, f"messages/batches/{batch_id}/results")
        async with aclosing(bulk_transfer.read_lines(self.client, url)) as lines:
            async for line in lines:
                yield _read_result(decode_line(line, _Line))

    async def cancel_batch(self, batch_id: str) -> None:
        """Ask the provider to end a batch."""
        url = join_path(self.url, f"messages/batches/{batch_id}/cancel")
        decode_answer(await self.client.post(url, b""), _Batch)

    async def find_batches(
        self, key: str, since_s: float, n_items: int
    ) -> AsyncGenerator[str, None]:
        """Yield the batches of this size: the API stores no key with a batch."""
        after = ""
        for _ in range(_MAX_PAGES):
            path = f"messages/batches?limit={_PAGE_ITEMS}"
            path += f"&after_id={after}" if after else ""
            page: _Page = decode_answer(await self.client.get(join_path(self.url, path)), _Page)
            times = [each.created_at.timestamp() if each.created_at else 0.0 for each in page.data]
            for batch, created_s in zip(page.data, times, strict=True):
                if created_s >= since_s and batch.request_counts.total == n_items:
                    yield check_id(batch.id)
            if not page.has_more or not page.data or times[-1] < since_s:
                return
            after = check_id(page.data[-1].id)


def _read_result(line: _Line) -> ItemResult:
    match line.result.type:
        case "succeeded":
            return ItemResult(line.custom_id, HttpResponse(200, bytes(line.result.message), 0.0))
        case "expired":
            return expired_item(line.custom_id)
        case "canceled":
            return cancelled_item(line.custom_id)
    body = bytes(line.result.error)
    return ItemResult(line.custom_id, HttpResponse(_status_of_error(body), body, 0.0))


def _status_of_error(body: bytes) -> int:
    try:
        kind = msgspec.json.decode(body, type=_ErrorBody).error.type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _DEFAULT_STATUS
    return load_table().statuses.get(kind, _DEFAULT_STATUS)
