"""The transport: one pooled HTTP client; every way to fail becomes an error of ours.

The only module that knows pyreqwest. It was chosen by measurement: with uvloop it serves about
twice as many requests per CPU second as aiohttp, and the faults in the tests (reset, torn,
stalled, garbage, ...) all end in time. It speaks HTTP/1.1: over HTTP/2 all requests share one
connection, and those beyond its stream limit wait unseen. Proxies come from the usual
environment variables. Redirects are not followed: a key must not travel to
a host that the user did not name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple

from pyreqwest import exceptions
from pyreqwest.client import ClientBuilder
from pyreqwest.http import Url
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response

from toolmark.errors import EndpointError, Timeout, Torn, Unavailable, UsageError

MAX_BODY_BYTES = 64 * 2**20
_CONNECT_S = 10.0
# many servers close idle connections after 5 s; whoever lets go first decides whether a request
# can be lost in between
_IDLE_S = 4.0


class Answer(NamedTuple):
    """A complete response: the whole body, the time to its last byte, two headers that matter."""

    status: int
    body: bytes
    latency_s: float
    wait_s: float | None = None
    location: str = ""


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
        try:
            self._client = (
                ClientBuilder()
                .user_agent("toolmark")
                .default_headers(headers)
                .timeout(timedelta(seconds=timeout_s))
                .connect_timeout(timedelta(seconds=min(_CONNECT_S, timeout_s)))
                .pool_idle_timeout(timedelta(seconds=_IDLE_S))
                .follow_redirects(False)
                .build()
            )
        except (exceptions.BuilderError, ValueError):
            # the text of the error may hold the value of a header, so it is not repeated
            raise UsageError("a header or the key holds characters that HTTP forbids") from None

    async def post(self, url: str, body: bytes) -> Answer:
        """Send a body and read the whole answer. Raises EndpointError."""
        return await self._send(self._client.post(_known(url)).body_bytes(body))

    async def get(self, url: str) -> Answer:
        """Read the whole answer. Raises EndpointError."""
        return await self._send(self._client.get(_parsed(url)))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(self, builder: RequestBuilder) -> Answer:
        start = time.perf_counter()
        try:
            async with builder.build_streamed() as response:
                status = response.status
                body = await self._read(response)
                latency_s = time.perf_counter() - start
                if status == 200:
                    return Answer(200, body, latency_s)
                wait_s = _wait(response.get_header("retry-after"))
                return Answer(
                    status, body, latency_s, wait_s, response.get_header("location") or ""
                )
        except exceptions.PyreqwestError as error:
            raise _fault(error, time.perf_counter() - start) from None

    async def _read(self, response: Response) -> bytes:
        """Read the body. One of unknown length (chunked, compressed) is counted as it comes."""
        limit = self.max_body_bytes
        length = response.get_header("content-length")
        if length is not None and length.isdigit() and int(length) <= limit:
            return (await response.bytes()).to_bytes()
        chunks: list[bytes] = []
        size = 0
        while (chunk := await response.body_reader.read_chunk()) is not None:
            size += len(chunk)
            if size > limit:
                raise Torn(f"the answer is larger than {limit} bytes")
            chunks.append(chunk.to_bytes())
        return b"".join(chunks)


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


def _wait(text: str | None) -> float | None:
    """Read Retry-After, seconds or an HTTP date; None if absent or unreadable."""
    if not text:
        return None
    try:
        wait_s = float(text)
    except ValueError:
        return _until(text)
    return wait_s if 0 <= wait_s < float("inf") else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
