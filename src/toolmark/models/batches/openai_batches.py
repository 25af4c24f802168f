"""OpenAI's batches: a file of requests is uploaded, results are files. Others offer them too."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar

import msgspec
from msgspec import Raw, Struct

from toolmark.models.batches import bulk_transfer
from toolmark.models.batches.batch_protocol import (
    BatchComplaint,
    BatchLimits,
    BatchOutcome,
    BatchProtocol,
    BatchStatus,
    Headers,
    ItemResult,
    cancelled_item,
    check_id,
    cut_complaints,
    decode_answer,
    decode_line,
    expired_item,
)
from toolmark.models.batches.bulk_transfer import Spool
from toolmark.models.complaint_rules import load_table
from toolmark.models.endpoint_address import join_path
from toolmark.models.http_client import HttpClient, HttpResponse

KEY_NAME = "toolmark_batch"
"""The name under which the provider stores the key of a batch."""
LIMITED = "token_limit_exceeded"
"""The code of a batch that is refused because too much waits at the provider already."""
_PAGE_ITEMS = 100
_MAX_PAGES = 100  # of a list of batches that are read
_MAX_REQUEST_ID_CHARS = 200
_OUTCOMES: dict[str, BatchOutcome] = {
    "completed": "ended", "expired": "expired", "cancelled": "cancelled", "failed": "failed",
}  # fmt: skip


class _Fault(Struct):
    code: str | None = None
    message: str | None = None
    line: int | None = None


class _Faults(Struct):
    data: list[_Fault] | None = None


class _Counts(Struct):
    completed: int = 0
    failed: int = 0
    total: int = 0


class _Batch(Struct):
    id: str
    status: str
    created_at: float = 0
    expires_at: float | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Faults | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, str] | None = None


class _Page(Struct):
    data: list[_Batch]
    has_more: bool = False


class _File(Struct):
    id: str


class _Answer(Struct):
    status_code: int = 0
    request_id: str | None = None
    body: Raw = Raw(b"null")


class _Line(Struct):
    custom_id: str
    response: _Answer | None = None
    error: _Fault | None = None


class OpenAIBatches(BatchProtocol):
    """Batches of chat completions or of responses; `path` is that of the single request."""

    limits: ClassVar[BatchLimits] = BatchLimits(50_000, 200 * 10**6)
    stores_keys: ClassVar[bool] = True
    separator: ClassVar[bytes] = b"\n"
    suffix: ClassVar[bytes] = b"\n"

    def __init__(self, client: HttpClient, url: str, path: str) -> None:
        super().__init__(client, url)
        # whatever the endpoint's own address, here the protocol names the path at OpenAI
        self._endpoint = f"/v1/{path}"

    def write_item(self, item_id: str, body: bytes) -> bytes:
        """Return one request as a line."""
        if b"\n" in body or b"\r" in body:  # white space of JSON: in a text they are escaped
            body = body.replace(b"\n", b" ").replace(b"\r", b" ")
        head = f'{{"custom_id":"{item_id}","method":"POST","url":"{self._endpoint}","body":'
        return b"".join((head.encode(), body, b"}"))

    async def upload_items(self, key: str, spool: Spool) -> str:
        """Upload the file of requests."""
        url = join_path(self.url, "files")
        fields = (("purpose", "batch"),)
        name = f"toolmark-{key}.jsonl"
        answer = await bulk_transfer.post_file(self.client, url, fields, name, spool)
        return check_id(decode_answer(answer, _File).id)

    async def create_batch(self, key: str, file_id: str, spool: Spool, headers: Headers) -> str:
        """Submit the uploaded file; the key is stored with the batch."""
        body = {
            "input_file_id": file_id,
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {KEY_NAME: key},
        }
        url = join_path(self.url, "batches")
        answer = await self.client.post(url, msgspec.json.encode(body), headers)
        return check_id(decode_answer(answer, _Batch).id)

    async def read_status(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is."""
        answer = await self.client.get(join_path(self.url, f"batches/{batch_id}"))
        found: _Batch = decode_answer(answer, _Batch)
        counts = found.request_counts or _Counts()
        files = (found.output_file_id, found.error_file_id)
        faults = (found.errors.data if found.errors else None) or []
        return BatchStatus(
            _OUTCOMES.get(found.status, "running"),
            counts.completed + counts.failed,
            counts.total,
            found.expires_at,
            tuple(check_id(each) for each in files if each),
            cut_complaints([_complaint(each) for each in faults]),
        )

    async def read_results(
        self, batch_id: str, status: BatchStatus
    ) -> AsyncGenerator[ItemResult, None]:
        """Yield the results in the output file and in the error file."""
        for file_id in status.files:
            url = join_path(self.url, f"files/{file_id}/content")
            async with aclosing(bulk_transfer.read_lines(self.client, url)) as lines:
                async for line in lines:
                    yield _read_result(decode_line(line, _Line))

    async def cancel_batch(self, batch_id: str) -> None:
        """Ask the provider to end a batch."""
        url = join_path(self.url, f"batches/{batch_id}/cancel")
        decode_answer(await self.client.post(url, b"{}"), _Batch)

    async def find_batches(
        self, key: str, since_s: float, n_items: int
    ) -> AsyncGenerator[str, None]:
        """Yield the batch with this key, if there is one."""
        after = ""
        for _ in range(_MAX_PAGES):
            path = f"batches?limit={_PAGE_ITEMS}" + (f"&after={after}" if after else "")
            page: _Page = decode_answer(await self.client.get(join_path(self.url, path)), _Page)
            for batch in page.data:
                if (batch.metadata or {}).get(KEY_NAME) == key:
                    yield check_id(batch.id)
                    return
            if not page.has_more or not page.data or page.data[-1].created_at < since_s:
                return
            after = check_id(page.data[-1].id)


def _complaint(fault: _Fault) -> BatchComplaint:
    place = fault.line - 1 if fault.line is not None and fault.line > 0 else None
    return BatchComplaint(fault.code or "", fault.message or "the batch is refused", place)


def _read_result(line: _Line) -> ItemResult:
    if line.error is not None and line.error.code == "batch_expired":
        return expired_item(line.custom_id)
    if line.error is not None and line.error.code == "batch_cancelled":
        return cancelled_item(line.custom_id)
    if line.response is None or not line.response.status_code:
        fault = line.error or _Fault()
        return ItemResult(line.custom_id, refuse_item(_complaint(fault), default_status=502))
    answer = line.response
    request_id = answer.request_id or ""
    is_shown = request_id.isascii() and request_id.isprintable()
    return ItemResult(
        line.custom_id,
        HttpResponse(
            answer.status_code,
            bytes(answer.body),
            0.0,
            request_id=request_id[:_MAX_REQUEST_ID_CHARS] if is_shown else "",
        ),
    )


def refuse_item(complaint: BatchComplaint, *, default_status: int = 400) -> HttpResponse:
    """Return the answer that a single request with this fault would have got."""
    status = load_table().statuses.get(complaint.code, default_status)
    error = {"code": complaint.code, "message": complaint.message}
    return HttpResponse(status, msgspec.json.encode({"error": error}), 0.0)
