"""The transport: one pooled HTTP client that turns every failure into an EndpointError.

Only this module and `batches.bulk_transfer` know pyreqwest. It was chosen by measurement: with
uvloop it serves about twice as many requests per CPU second as aiohttp, and the faults in the tests
(reset, torn, stalled, garbage, ...) all end in time. It uses HTTP/1.1: over HTTP/2 all requests
share one connection, and those beyond its stream limit wait without notice. Proxies come from the
usual environment variables. Redirects are not followed: a key must not be sent to a host that the
user did not name.

What a server sends is limited: a body by `max_body_bytes`, the body of a complaint by
`MAX_COMPLAINT_BYTES`, the bodies in flight together by `memory_budget.BUDGET_BYTES`, a request from
its first byte to its last by `timeout_s`. Bodies are decompressed from gzip and deflate only, whose
windows are 32 kB; a server can choose windows of any size for zstd and brotli.

A streamed answer has the same limits. Of its memory what its assembler has stored counts, because
the frames around each token are many times larger than the token.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, NamedTuple

from pyreqwest import exceptions
from pyreqwest.client import ClientBuilder
from pyreqwest.http import Url
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response

from toolmark.core.errors import EndpointError, Timeout, TornReply, Unavailable, UsageError
from toolmark.core.number_format import format_duration
from toolmark.models import memory_budget, wait_headers
from toolmark.models.body_reader import BodyReader
from toolmark.models.stream_reader import StreamReader
from toolmark.models.wires.wire import StreamAssembler

MAX_BODY_BYTES = memory_budget.LARGE_BYTES
MAX_COMPLAINT_BYTES = 64 * 2**10
"""How many bytes are read of an answer whose status is not 200; the rest is not requested."""
_MAX_HEADER_CHARS = 2000  # of a header that are read
_CONNECT_TIMEOUT_S = 10.0
# many servers close idle connections after 5 s; the client must close first, or a request could
# be lost in between
_IDLE_TIMEOUT_S = 4.0
_MAX_REQUEST_ID_CHARS = 200
_MAX_UNNAMED = 32  # answers in a row without a name, after which the next ones have none either
_REQUEST_ID_HEADERS = ("x-request-id", "request-id")
# read of complaints alone: of a reply each header costs time
_COMPLAINT_ID_HEADERS = (*_REQUEST_ID_HEADERS, "apim-request-id", "x-amzn-requestid", "cf-ray")


class HttpResponse(NamedTuple):
    """A complete response: the body, the time to its last byte, and some headers.

    `is_complete` is False for a complaint of which only the beginning was read. `first_token_s` and
    `first_call_s` are the times to the first output and to the first call of a streamed answer.
    `may_retry` is what a complaint says of asking again. `limits` is what is left of the endpoint's
    limits; it is read of answers with status 200 from the first 429 on that names limits.
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
    may_retry: bool | None = None
    limits: wait_headers.ServerLimits | None = None


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
        self._reads_limits = False
        self._reads_request_ids = True
        self._n_unnamed = 0
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

    def begin_post(self, url: str) -> RequestBuilder:
        """Return a POST request without its body, for `send_request`."""
        return self._client.post(_parse_url(url))

    def begin_get(self, url: str) -> RequestBuilder:
        """Return a GET request, for what reads its answer in pieces."""
        return self._client.get(_parse_url(url))

    def send_request(self, builder: RequestBuilder) -> Coroutine[Any, Any, HttpResponse]:
        """Send a request that was begun here and read the complete answer."""
        return self._send(builder)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(
        self, builder: RequestBuilder, assembler: StreamAssembler | None = None
    ) -> HttpResponse:
        start = time.perf_counter()
        reservation: memory_budget.MemoryReservation | None = None
        has_begun, request_id = False, ""
        try:
            async with builder.build_streamed() as response:
                has_begun = True
                status = response.status
                if status != 200:
                    return await self.read_complaint(response, start)
                if self._reads_request_ids:
                    request_id = self._read_reply_id(response)
                limits = self._read_limits(response) if self._reads_limits else None
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
                    reader = BodyReader(
                        response, reservation, self.max_body_bytes, start, self.timeout_s
                    )
                    if assembler is not None:
                        read = await StreamReader(reader).read_body(assembler)
                        return HttpResponse(
                            200, read.body, read.latency_s, request_id=request_id, limits=limits,
                            first_token_s=read.first_token_s, first_call_s=read.first_call_s,
                        )  # fmt: skip
                    if length is not None and length.isdecimal():
                        reader.check_size(int(length))
                    body = await reader.read_rest(bytearray())
                latency_s = time.perf_counter() - start
                return HttpResponse(200, body, latency_s, request_id=request_id, limits=limits)
        except exceptions.PyreqwestError as error:
            found = endpoint_error(error, time.perf_counter() - start, has_begun)
            found.request_id = request_id
            raise found from None
        except EndpointError as error:
            error.request_id = request_id
            raise
        except ValueError:  # a header with bytes beyond ASCII
            raise TornReply("the answer's head is garbled") from None
        finally:
            if reservation is not None:  # the caller decodes the body before the next starts
                reservation.release()

    async def read_complaint(self, response: Response, start: float) -> HttpResponse:
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
        read = partial(_read_header, response)
        limits = self._read_limits(response) if response.status == 429 else None
        self._reads_limits = self._reads_limits or limits is not None
        return HttpResponse(
            response.status,
            body[:MAX_COMPLAINT_BYTES],
            time.perf_counter() - start,
            wait_headers.read_wait(read),
            read("location"),
            size <= MAX_COMPLAINT_BYTES,
            request_id=_read_request_id(response, _COMPLAINT_ID_HEADERS),
            may_retry=wait_headers.read_may_retry(read),
            limits=limits,
        )

    def _read_reply_id(self, response: Response) -> str:
        """Return the name of the request, "" for none; an endpoint that gives none is not asked on.

        A header that is missing costs 0.5 to 0.9 us, more than one that is there.
        """
        request_id = _read_request_id(response)
        self._n_unnamed = 0 if request_id else self._n_unnamed + 1
        self._reads_request_ids = self._n_unnamed < _MAX_UNNAMED
        return request_id

    def _read_limits(self, response: Response) -> wait_headers.ServerLimits | None:
        return wait_headers.read_limits(partial(_read_header, response))


def _parse_url(url: str) -> Url:
    try:
        return Url(url)
    except ValueError as error:
        raise UsageError(f"not an address: {url!r} ({error})") from None


# parsing costs more than building the rest of a request; GET addresses are not cached: each is
# requested once, and may contain a key
_parse_url_cached = lru_cache(maxsize=64)(_parse_url)


def endpoint_error(
    error: exceptions.PyreqwestError, after_s: float, has_begun: bool
) -> EndpointError | UsageError:
    """Return what an error means; `has_begun` says that the head of the answer came."""
    cause = _innermost_cause(error)
    match error:
        case exceptions.RequestTimeoutError():
            late = Timeout(f"no complete answer after {format_duration(after_s)}")
            late.may_be_charged = not _failed_to_connect(error)
            return late
        case exceptions.ReadError() | exceptions.DecodeError():
            return TornReply(f"the answer ended early or is garbled ({cause})")
        case exceptions.BuilderError():
            return UsageError(f"the request cannot be built ({cause})")
        case _ if has_begun:
            return TornReply(f"the answer ended early or is garbled ({cause})")
        case _:
            unreached = Unavailable(f"the endpoint cannot be reached ({cause})")
            # a connection may also end after the request was sent, as a gateway ends long ones
            unreached.may_be_charged = not _failed_to_connect(error)
            return unreached


def _failed_to_connect(error: exceptions.PyreqwestError) -> bool:
    """Return whether there was no connection, so that nothing was sent.

    The errors of connections that were lost, or waited for an answer, have the same types; their
    causes say which it is.
    """
    return any(message == "client error (Connect)" for message in _cause_messages(error))


def _innermost_cause(error: exceptions.PyreqwestError) -> str:
    """Return the innermost cause, which contains neither the URL nor a header."""
    return (_cause_messages(error) or [error.message])[-1]


def _cause_messages(error: exceptions.PyreqwestError) -> list[str]:
    details = getattr(error, "details", None) or {}
    return [str(cause["message"]) for cause in details.get("causes") or []]


def _read_header(response: Response, name: str) -> str:
    """Return the beginning of a header; "" where it is absent or not ASCII."""
    try:
        return (response.get_header(name) or "")[:_MAX_HEADER_CHARS]
    except ValueError:
        return ""


def _read_request_id(response: Response, names: Sequence[str] = _REQUEST_ID_HEADERS) -> str:
    """Return the endpoint's name of the request; "" where there is none that can be stored."""
    for name in names:
        text = _read_header(response, name)
        if text:
            return text if is_request_id(text) else ""
    return ""


def is_request_id(text: str) -> bool:
    """Tell whether a text can be stored and shown as the name of a request.

    A longer one is none: cut, it could contain a part of a key, which no mask finds.
    """
    return len(text) <= _MAX_REQUEST_ID_CHARS and text.isascii() and text.isprintable()
