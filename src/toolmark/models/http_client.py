"""The transport: one pooled HTTP client that turns every failure into an EndpointError.

No other module knows pyreqwest. It was chosen by measurement: with uvloop it serves about twice as
many requests per CPU second as aiohttp, and the faults in the tests (reset, torn, stalled, garbage,
...) all end in time. It uses HTTP/1.1: over HTTP/2 all requests share one connection, and those
beyond its stream limit wait without notice. Proxies come from the usual environment variables.
Redirects are not followed: a key must not be sent to a host that the user did not name.

What a server sends is limited: a body by `max_body_bytes`, the body of a complaint by
`MAX_COMPLAINT_BYTES`, the bodies in flight together by `memory_budget.BUDGET_BYTES`, a request from
its first byte to its last by `timeout_s`. Bodies are decompressed from gzip and deflate only, whose
windows are 32 kB; a server can choose windows of any size for zstd and brotli.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, NamedTuple

from pyreqwest import exceptions
from pyreqwest.client import ClientBuilder
from pyreqwest.http import Url
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response

from toolmark.core.errors import EndpointError, Timeout, TornReply, Unavailable, UsageError
from toolmark.core.number_format import format_duration
from toolmark.models import memory_budget

MAX_BODY_BYTES = memory_budget.LARGE_BYTES
MAX_COMPLAINT_BYTES = 64 * 2**10
"""How many bytes are read of an answer whose status is not 200; the rest is not requested."""
_MAX_HEADER_CHARS = 2000  # of a header that are read
_MAX_DATE_CHARS = 64
_CONNECT_TIMEOUT_S = 10.0
# many servers close idle connections after 5 s; the client must close first, or a request could
# be lost in between
_IDLE_TIMEOUT_S = 4.0


class HttpResponse(NamedTuple):
    """A complete response: the body, the time to its last byte, and two headers.

    `is_complete` is False for a complaint of which only the beginning was read.
    """

    status: int
    body: bytes
    latency_s: float
    wait_s: float | None = None
    redirect_location: str = ""
    is_complete: bool = True


class HttpClient:
    """Pooled connections; `timeout_s` limits a request from connecting to its last byte."""

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.timeout_s = timeout_s
        self.max_body_bytes = max_body_bytes
        self._small_bytes = min(memory_budget.SMALL_BYTES, max_body_bytes)
        try:
            self._client = (
                ClientBuilder()
                .user_agent("toolmark")
                .default_headers(headers)
                .timeout(timedelta(seconds=timeout_s))
                .connect_timeout(timedelta(seconds=min(_CONNECT_TIMEOUT_S, timeout_s)))
                .pool_idle_timeout(timedelta(seconds=_IDLE_TIMEOUT_S))
                .follow_redirects(False)
                .brotli(False)
                .zstd(False)
                .build()
            )
        except (exceptions.BuilderError, ValueError):
            # the text of the error may contain the value of a header, so it is not repeated
            raise UsageError("a header or the key holds characters that HTTP forbids") from None

    def post(self, url: str, body: bytes) -> Coroutine[Any, Any, HttpResponse]:
        """Send a body and read the complete answer; raises EndpointError."""
        return self._send(self._client.post(_parse_url_cached(url)).body_bytes(body))

    def get(self, url: str) -> Coroutine[Any, Any, HttpResponse]:
        """Send a GET request and read the complete answer; raises EndpointError."""
        return self._send(self._client.get(_parse_url(url)))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(self, builder: RequestBuilder) -> HttpResponse:
        start = time.perf_counter()
        reservation: memory_budget.MemoryReservation | None = None
        try:
            async with builder.build_streamed() as response:
                status = response.status
                if status != 200:
                    return await self._read_complaint(response, start)
                length = response.get_header("content-length")
                if length is not None and length.isdecimal() and int(length) <= self._small_bytes:
                    body = (await response.bytes()).to_bytes()
                else:
                    reservation = memory_budget.MemoryReservation(
                        memory_budget.budget_of_running_loop()
                    )
                    body = await self._read_long_body(response, length, reservation, start)
                return HttpResponse(200, body, time.perf_counter() - start)
        except exceptions.PyreqwestError as error:
            raise _endpoint_error(error, time.perf_counter() - start) from None
        except ValueError:  # a header with bytes beyond ASCII
            raise TornReply("the answer's head is garbled") from None
        finally:
            if reservation is not None:  # the caller decodes the body before the next starts
                reservation.release()

    async def _read_complaint(self, response: Response, start: float) -> HttpResponse:
        """Read the beginning of an error body, which says why there is no reply."""
        chunks: list[bytes] = []
        size = 0
        while size <= MAX_COMPLAINT_BYTES:
            chunk = await response.body_reader.read_chunk()
            if chunk is None:
                break
            chunks.append(chunk.to_bytes())
            size += len(chunk)
        body = b"".join(chunks)
        return HttpResponse(
            response.status,
            body[:MAX_COMPLAINT_BYTES],
            time.perf_counter() - start,
            _parse_retry_after(_read_header(response, "retry-after")),
            _read_header(response, "location"),
            size <= MAX_COMPLAINT_BYTES,
        )

    async def _read_long_body(
        self,
        response: Response,
        length: str | None,
        reservation: memory_budget.MemoryReservation,
        start: float,
    ) -> bytes:
        """Read a body that may be long; one of unknown length is counted as it arrives."""
        limit = self.max_body_bytes
        if length is not None and length.isdecimal() and int(length) > limit:
            raise TornReply(f"the answer is larger than {limit} bytes")
        body = bytearray()  # grows in place; joined parts would fragment the memory
        while (chunk := await response.body_reader.read_chunk()) is not None:
            size = len(body) + len(chunk)
            if size > limit:
                raise TornReply(f"the answer is larger than {limit} bytes")
            if size > reservation.size:
                await self._reserve_memory(reservation, size, start)
            body += memoryview(chunk)
        return bytes(body)

    async def _reserve_memory(
        self, reservation: memory_budget.MemoryReservation, size: int, start: float
    ) -> None:
        """Wait until this many bytes are free, at most for the request's own time limit."""
        left_s = start + self.timeout_s - time.perf_counter()
        try:
            async with asyncio.timeout(max(0.0, left_s)):
                await reservation.grow(size)
        except TimeoutError:
            after_s = time.perf_counter() - start
            raise Timeout(
                f"no complete answer after {format_duration(after_s)}: other large answers took "
                "the room"
            ) from None


def _parse_url(url: str) -> Url:
    try:
        return Url(url)
    except ValueError as error:
        raise UsageError(f"not an address: {url!r} ({error})") from None


# parsing costs more than building the rest of a request; GET addresses are not cached: each is
# requested once, and may contain a key
_parse_url_cached = lru_cache(maxsize=64)(_parse_url)


def _endpoint_error(error: exceptions.PyreqwestError, after_s: float) -> EndpointError | UsageError:
    cause = _innermost_cause(error)
    match error:
        case exceptions.RequestTimeoutError():
            return Timeout(f"no complete answer after {format_duration(after_s)}")
        case exceptions.ReadError() | exceptions.DecodeError():
            return TornReply(f"the answer ended early or is garbled ({cause})")
        case exceptions.BuilderError():
            return UsageError(f"the request cannot be built ({cause})")
        case _:
            return Unavailable(f"the endpoint cannot be reached ({cause})")


def _innermost_cause(error: exceptions.PyreqwestError) -> str:
    """Return the innermost cause, which contains neither the URL nor a header."""
    details = getattr(error, "details", None) or {}
    causes = details.get("causes") or []
    return str(causes[-1]["message"]) if causes else error.message


def _read_header(response: Response, name: str) -> str:
    """Return the beginning of a header; "" where it is absent or not ASCII."""
    try:
        return (response.get_header(name) or "")[:_MAX_HEADER_CHARS]
    except ValueError:
        return ""


def _parse_retry_after(text: str) -> float | None:
    """Read Retry-After, seconds or an HTTP date; None if absent or unreadable."""
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    try:
        wait_s = float(text)
    except ValueError:
        return _seconds_until(text)
    return wait_s if 0 <= wait_s < float("inf") else None


def _seconds_until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
