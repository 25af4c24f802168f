"""The transport: one pooled HTTP client; every way to fail becomes an error of ours.

The only module that knows pyreqwest. It was chosen by measurement: with uvloop it serves about
twice as many requests per CPU second as aiohttp, and the faults in the tests (reset, torn,
stalled, garbage, ...) all end in time. It speaks HTTP/1.1: over HTTP/2 all requests share one
connection, and those beyond its stream limit wait unseen. Proxies come from the usual
environment variables. Redirects are not followed: a key must not travel to
a host that the user did not name.

What a server sends is bounded: a body by `max_body_bytes`, the body of a complaint by
`COMPLAINT_BYTES`, the bodies in flight together by `room.BUDGET_BYTES`, a request from its first
byte to its last by `timeout_s`. Bodies are decompressed from gzip and deflate only, whose windows
are 32 kB; those of zstd and brotli are as large as a server likes.
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

from toolmark.errors import EndpointError, Timeout, Torn, Unavailable, UsageError
from toolmark.models import room

MAX_BODY_BYTES = room.LARGE_BYTES
COMPLAINT_BYTES = 64 * 2**10
"""How much is read of the body of an answer whose status is not 200; the rest is not asked for."""
_HEADER = 2000  # characters of a header that are looked at
_DATE = 64
_CONNECT_S = 10.0
# many servers close idle connections after 5 s; whoever lets go first decides whether a request
# can be lost in between
_IDLE_S = 4.0


class Answer(NamedTuple):
    """A complete response: the body, the time to its last byte, two headers that matter.

    `ended` is False for a complaint of which only the beginning was read.
    """

    status: int
    body: bytes
    latency_s: float
    wait_s: float | None = None
    location: str = ""
    ended: bool = True


class Client:
    """Pooled connections. `timeout_s` bounds a request from connecting to its last byte."""

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.timeout_s = timeout_s
        self.max_body_bytes = max_body_bytes
        self._small = min(room.SMALL_BYTES, max_body_bytes)
        try:
            self._client = (
                ClientBuilder()
                .user_agent("toolmark")
                .default_headers(headers)
                .timeout(timedelta(seconds=timeout_s))
                .connect_timeout(timedelta(seconds=min(_CONNECT_S, timeout_s)))
                .pool_idle_timeout(timedelta(seconds=_IDLE_S))
                .follow_redirects(False)
                .brotli(False)
                .zstd(False)
                .build()
            )
        except (exceptions.BuilderError, ValueError):
            # the text of the error may hold the value of a header, so it is not repeated
            raise UsageError("a header or the key holds characters that HTTP forbids") from None

    def post(self, url: str, body: bytes) -> Coroutine[Any, Any, Answer]:
        """Send a body and read the whole answer. Raises EndpointError."""
        return self._send(self._client.post(_known(url)).body_bytes(body))

    def get(self, url: str) -> Coroutine[Any, Any, Answer]:
        """Read the whole answer. Raises EndpointError."""
        return self._send(self._client.get(_parsed(url)))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(self, builder: RequestBuilder) -> Answer:
        start = time.perf_counter()
        held: room.Held | None = None
        try:
            async with builder.build_streamed() as response:
                status = response.status
                if status != 200:
                    return await self._complaint(response, start)
                length = response.get_header("content-length")
                if length is not None and length.isdecimal() and int(length) <= self._small:
                    body = (await response.bytes()).to_bytes()
                else:
                    held = room.Held(room.here())
                    body = await self._long(response, length, held, start)
                return Answer(200, body, time.perf_counter() - start)
        except exceptions.PyreqwestError as error:
            raise _fault(error, time.perf_counter() - start) from None
        except ValueError:  # a header in bytes beyond ASCII where one of ASCII is needed
            raise Torn("the answer's head is garbled") from None
        finally:
            if held is not None:  # whoever asked reads the body before another one is let in
                held.release()

    async def _complaint(self, response: Response, start: float) -> Answer:
        """Read the beginning of a body that says why there is no reply."""
        chunks: list[bytes] = []
        size = 0
        while size <= COMPLAINT_BYTES:
            chunk = await response.body_reader.read_chunk()
            if chunk is None:
                break
            chunks.append(chunk.to_bytes())
            size += len(chunk)
        body = b"".join(chunks)
        return Answer(
            response.status,
            body[:COMPLAINT_BYTES],
            time.perf_counter() - start,
            _wait(_header(response, "retry-after")),
            _header(response, "location"),
            size <= COMPLAINT_BYTES,
        )

    async def _long(
        self, response: Response, length: str | None, held: room.Held, start: float
    ) -> bytes:
        """Read a body that may be long. One of unknown length is counted as it comes."""
        limit = self.max_body_bytes
        if length is not None and length.isdecimal() and int(length) > limit:
            raise Torn(f"the answer is larger than {limit} bytes")
        body = bytearray()  # it grows where it is; of many parts the memory would be in pieces
        while (chunk := await response.body_reader.read_chunk()) is not None:
            size = len(body) + len(chunk)
            if size > limit:
                raise Torn(f"the answer is larger than {limit} bytes")
            if size > held.size:
                await self._grown(held, size, start)
            body += memoryview(chunk)
        return bytes(body)

    async def _grown(self, held: room.Held, size: int, start: float) -> None:
        """Wait until there is room for so many bytes; not beyond the request's own time."""
        left_s = start + self.timeout_s - time.perf_counter()
        try:
            async with asyncio.timeout(max(0.0, left_s)):
                await held.grow(size)
        except TimeoutError:
            after_s = time.perf_counter() - start
            raise Timeout(
                f"no complete answer after {after_s:.1f} s: other large answers took the room"
            ) from None


def _parsed(url: str) -> Url:
    try:
        return Url(url)
    except ValueError as error:
        raise UsageError(f"not an address: {url!r} ({error})") from None


# parsing costs more than building the rest of a request; what is read is asked for once, and its
# address may hold a key
_known = lru_cache(maxsize=64)(_parsed)


def _fault(error: exceptions.PyreqwestError, after_s: float) -> EndpointError | UsageError:
    why = _why(error)
    match error:
        case exceptions.RequestTimeoutError():
            return Timeout(f"no complete answer after {after_s:.1f} s")
        case exceptions.ReadError() | exceptions.DecodeError():
            return Torn(f"the answer ended early or is garbled ({why})")
        case exceptions.BuilderError():
            return UsageError(f"the request cannot be built ({why})")
        case _:
            return Unavailable(f"the endpoint cannot be reached ({why})")


def _why(error: exceptions.PyreqwestError) -> str:
    """Return the innermost cause: it holds neither the URL nor a header."""
    details = getattr(error, "details", None) or {}
    causes = details.get("causes") or []
    return str(causes[-1]["message"]) if causes else error.message


def _header(response: Response, name: str) -> str:
    """Return the beginning of a header; "" where it is absent or not ASCII."""
    try:
        return (response.get_header(name) or "")[:_HEADER]
    except ValueError:
        return ""


def _wait(text: str) -> float | None:
    """Read Retry-After, seconds or an HTTP date; None if absent or unreadable."""
    if not text or len(text) > _DATE:
        return None
    try:
        wait_s = float(text)
    except ValueError:
        return _until(text)
    return wait_s if 0 <= wait_s < float("inf") else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
