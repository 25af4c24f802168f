"""Requests and answers that are too large for memory: both are read and sent in pieces."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from datetime import timedelta
from typing import Any, BinaryIO, NamedTuple

from pyreqwest import exceptions
from pyreqwest.multipart import FormBuilder, PartBuilder

from toolmark.core.errors import TornReply
from toolmark.models.http_client import MAX_BODY_BYTES, HttpClient, HttpResponse, endpoint_error

_TRANSFER_TIMEOUT = timedelta(hours=1)
_PIECE_BYTES = 2**20


class Spool(NamedTuple):
    """A body on disk: `n_bytes` of it, from the beginning of the file."""

    file: BinaryIO
    n_bytes: int


class RefusedAnswer(Exception):
    """The status of an answer is not 200. What that means, the endpoint's complaint says."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__(str(answer.status))
        self.answer = answer


def post_file(
    client: HttpClient, url: str, fields: Sequence[tuple[str, str]], file_name: str, spool: Spool
) -> Coroutine[Any, Any, HttpResponse]:
    """Send a form with these fields and a file; raises EndpointError as `HttpClient.post` does."""
    form = FormBuilder()
    for name, value in fields:
        form = form.text(name, value)
    part = PartBuilder.from_stream_with_length(_read_pieces(spool), spool.n_bytes)
    form = form.part("file", part.file_name(file_name).mime("application/jsonl"))
    # the client's own header says JSON
    content_type = f"multipart/form-data; boundary={form.boundary}"
    request = client.begin_post(url).multipart(form).headers([("Content-Type", content_type)])
    return client.send_request(request.timeout(_TRANSFER_TIMEOUT))


def post_spool(
    client: HttpClient, url: str, spool: Spool, headers: Sequence[tuple[str, str]] = ()
) -> Coroutine[Any, Any, HttpResponse]:
    """Send a spool as the body; raises EndpointError as `HttpClient.post` does."""
    request = client.begin_post(url).body_stream(_read_pieces(spool))
    # of a known length: many servers take no body in chunks
    sent_headers = [*headers, ("Content-Length", str(spool.n_bytes))]
    return client.send_request(request.headers(sent_headers).timeout(_TRANSFER_TIMEOUT))


async def read_lines(client: HttpClient, url: str) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a file, without their ends, as they arrive.

    Raises RefusedAnswer for an answer with another status than 200, EndpointError where the
    endpoint fails, TornReply for a line that is longer than any body may be.
    """
    start = time.perf_counter()
    has_begun = False
    try:
        request = client.begin_get(url).timeout(_TRANSFER_TIMEOUT)
        async with request.build_streamed() as response:
            has_begun = True
            if response.status != 200:
                raise RefusedAnswer(await client.read_complaint(response, start))
            rest = bytearray()
            while (chunk := await response.body_reader.read_chunk()) is not None:
                rest += memoryview(chunk)
                if b"\n" in memoryview(chunk).tobytes():
                    *lines, tail = bytes(rest).split(b"\n")
                    rest = bytearray(tail)
                    for line in lines:
                        if line.strip():
                            yield line
                if len(rest) > MAX_BODY_BYTES:
                    raise TornReply(f"a line of the file is larger than {MAX_BODY_BYTES} bytes")
            if rest.strip():
                yield bytes(rest)
    except exceptions.PyreqwestError as error:
        raise endpoint_error(error, time.perf_counter() - start, has_begun) from None
    except ValueError:  # a header with bytes beyond ASCII
        raise TornReply("the answer's head is garbled") from None


def _read_pieces(spool: Spool) -> Iterator[bytes]:
    spool.file.seek(0)
    left = spool.n_bytes
    while left and (piece := spool.file.read(min(_PIECE_BYTES, left))):
        left -= len(piece)
        yield piece
