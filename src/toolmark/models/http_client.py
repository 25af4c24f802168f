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

A streamed answer has the same limits. Of its memory what its assembler has stored counts, because
the frames around each token are many times larger than the token.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
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
from toolmark.models.event_stream import (
    MIN_SNIFFED_BYTES,
    EventStreamParser,
    looks_like_events,
)
from toolmark.models.wires.wire import StreamAssembler, StreamMark

MAX_BODY_BYTES = memory_budget.LARGE_BYTES
MAX_COMPLAINT_BYTES = 64 * 2**10
"""How many bytes are read of an answer whose status is not 200; the rest is not requested."""
_MAX_HEADER_CHARS = 2000  # of a header that are read
_MAX_DATE_CHARS = 64
_CONNECT_TIMEOUT_S = 10.0
# many servers close idle connections after 5 s; the client must close first, or a request could
# be lost in between
_IDLE_TIMEOUT_S = 4.0
# the end of the answer that follows the last event; once it is read, the connection can be used
# again
_STREAM_END_TIMEOUT_S = 0.1
_MAX_REQUEST_ID_CHARS = 200
_REQUEST_ID_HEADERS = ("x-request-id", "request-id")


class HttpResponse(NamedTuple):
    """A complete response: the body, the time to its last byte, and some headers.

    `is_complete` is False for a complaint of which only the beginning was read. `first_token_s` and
    `first_call_s` are the times to the first output and to the first call of a streamed answer.
    """

    status: int
    body: bytes
    latency_s: float
    wait_s: float | None = None
    redirect_location: str = ""
    is_complete: bool = True
    first_token_s: float | None = None
    first_call_s: float | None = None
    request_id: str = ""


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

    def post(
        self, url: str, body: bytes, headers: Sequence[tuple[str, str]] = ()
    ) -> Coroutine[Any, Any, HttpResponse]:
        """Send a body and read the complete answer; raises EndpointError.

        `headers` replace those of all requests.
        """
        return self._send(self._start_post(url, body, headers))

    def post_stream(
        self,
        url: str,
        body: bytes,
        assembler: StreamAssembler,
        headers: Sequence[tuple[str, str]] = (),
    ) -> Coroutine[Any, Any, HttpResponse]:
        """Send a body and join the events of the answer; raises EndpointError.

        The response contains the body that the endpoint would have sent whole. An answer that is no
        stream is returned as it is.
        """
        builder = self._start_post(url, body, headers)
        # without a limit of 0 the first chunks come only when 64 kB of them are there
        return self._send(builder.streamed_read_buffer_limit(0), assembler)

    def _start_post(
        self, url: str, body: bytes, headers: Sequence[tuple[str, str]]
    ) -> RequestBuilder:
        builder = self._client.post(_parse_url_cached(url)).body_bytes(body)
        return builder.headers(list(headers)) if headers else builder

    def get(self, url: str) -> Coroutine[Any, Any, HttpResponse]:
        """Send a GET request and read the complete answer; raises EndpointError."""
        return self._send(self._client.get(_parse_url(url)))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(
        self, builder: RequestBuilder, assembler: StreamAssembler | None = None
    ) -> HttpResponse:
        start = time.perf_counter()
        reservation: memory_budget.MemoryReservation | None = None
        has_begun = False
        try:
            async with builder.build_streamed() as response:
                has_begun = True
                status = response.status
                if status != 200:
                    return await self._read_complaint(response, start)
                request_id = _read_request_id(response)
                length = response.get_header("content-length")
                if (
                    assembler is None
                    and length is not None
                    and length.isdecimal()
                    and int(length) <= self._small_bytes
                ):
                    body = (await response.bytes()).to_bytes()
                else:
                    reservation = memory_budget.MemoryReservation(
                        memory_budget.budget_of_running_loop()
                    )
                    if assembler is not None:
                        reader = _StreamReader(self, response, reservation, start)
                        answer = await reader.read_answer(assembler)
                        return answer._replace(request_id=request_id)
                    body = await self._read_long_body(response, length, reservation, start)
                return HttpResponse(200, body, time.perf_counter() - start, request_id=request_id)
        except exceptions.PyreqwestError as error:
            raise _endpoint_error(error, time.perf_counter() - start, has_begun) from None
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
        if length is not None and length.isdecimal():
            self._check_size(int(length))
        return await self._read_rest(response, bytearray(), reservation, start)

    async def _read_rest(
        self,
        response: Response,
        body: bytearray,  # grows in place; joined parts would fragment the memory
        reservation: memory_budget.MemoryReservation,
        start: float,
    ) -> bytes:
        """Read the rest of a body of which the beginning is there."""
        while (chunk := await response.body_reader.read_chunk()) is not None:
            size = len(body) + len(chunk)
            self._check_size(size)
            if size > reservation.size:
                await self._reserve_memory(reservation, size, start)
            body += memoryview(chunk)
        return bytes(body)

    def _check_size(self, size: int) -> None:
        if size > self.max_body_bytes:
            raise TornReply(f"the answer is larger than {self.max_body_bytes} bytes")

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


class _StreamReader:
    """Reads one answer that is streamed, within the limits of its client."""

    def __init__(
        self,
        client: HttpClient,
        response: Response,
        reservation: memory_budget.MemoryReservation,
        start: float,
    ) -> None:
        self._client = client
        self._response = response
        self._reservation = reservation
        self._start = start
        self._first_token_s: float | None = None
        self._first_call_s: float | None = None

    async def read_answer(self, assembler: StreamAssembler) -> HttpResponse:
        """Read until the stream says that it is complete, or to the end of a plain body."""
        beginning = await self._read_beginning()
        if not looks_like_events(bytes(beginning)):
            body = await self._client._read_rest(
                self._response, beginning, self._reservation, self._start
            )
            return HttpResponse(200, body, self._elapsed_s())
        await self._read_events(assembler, bytes(beginning))
        latency_s = self._elapsed_s()
        body = assembler.whole_body()
        return HttpResponse(
            200, body, latency_s,
            first_token_s=self._first_token_s, first_call_s=self._first_call_s,
        )  # fmt: skip

    async def _read_beginning(self) -> bytearray:
        beginning = bytearray()
        n_blank = 0
        while len(beginning) - n_blank < MIN_SNIFFED_BYTES:
            chunk = await self._response.body_reader.read_chunk()
            if chunk is None:
                break
            beginning += memoryview(chunk)
            self._client._check_size(len(beginning))
            if n_blank == len(beginning) - len(chunk):  # only white space before
                n_blank = len(beginning) - len(chunk.to_bytes().lstrip())
        return beginning

    async def _read_events(self, assembler: StreamAssembler, chunk: bytes) -> None:
        parser = EventStreamParser()
        n_read = 0
        while True:
            n_read += len(chunk)
            self._client._check_size(n_read)
            for event in parser.add_chunk(chunk):
                self._note_mark(assembler.add_event(event.name, event.data))
                if assembler.has_ended:
                    await self._read_end()
                    return
            stored = parser.size_bytes + (
                n_read if assembler.size_bytes is None else assembler.size_bytes
            )
            if stored > self._reservation.size:
                await self._client._reserve_memory(
                    self._reservation, min(stored, memory_budget.LARGE_BYTES), self._start
                )
            found = await self._response.body_reader.read_chunk()
            if found is None:
                return
            chunk = found.to_bytes()

    async def _read_end(self) -> None:
        """Read what ends the answer, so that the connection can be used again."""
        with suppress(TimeoutError, exceptions.PyreqwestError):
            async with asyncio.timeout(_STREAM_END_TIMEOUT_S):
                await self._response.body_reader.read_chunk()

    def _note_mark(self, mark: StreamMark) -> None:
        if mark and self._first_token_s is None:
            self._first_token_s = self._elapsed_s()
        if mark == "call" and self._first_call_s is None:
            self._first_call_s = self._elapsed_s()

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._start


def _parse_url(url: str) -> Url:
    try:
        return Url(url)
    except ValueError as error:
        raise UsageError(f"not an address: {url!r} ({error})") from None


# parsing costs more than building the rest of a request; GET addresses are not cached: each is
# requested once, and may contain a key
_parse_url_cached = lru_cache(maxsize=64)(_parse_url)


def _endpoint_error(
    error: exceptions.PyreqwestError, after_s: float, has_begun: bool
) -> EndpointError | UsageError:
    """Return what an error means; `has_begun` says that the head of the answer came."""
    cause = _innermost_cause(error)
    match error:
        case exceptions.RequestTimeoutError():
            return Timeout(f"no complete answer after {format_duration(after_s)}")
        case exceptions.ReadError() | exceptions.DecodeError():
            return TornReply(f"the answer ended early or is garbled ({cause})")
        case exceptions.BuilderError():
            return UsageError(f"the request cannot be built ({cause})")
        case _ if has_begun:
            return TornReply(f"the answer ended early or is garbled ({cause})")
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


def _read_request_id(response: Response) -> str:
    """Return the endpoint's name of the request; "" where there is none that can be stored."""
    for name in _REQUEST_ID_HEADERS:
        text = _read_header(response, name)
        if text:
            return text[:_MAX_REQUEST_ID_CHARS] if text.isascii() and text.isprintable() else ""
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
