"""Reads one answer that is streamed, and notes when its output began."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

from pyreqwest import exceptions

from toolmark.core.errors import TornReply
from toolmark.models import memory_budget
from toolmark.models.body_reader import BodyReader
from toolmark.models.event_stream import (
    MIN_SNIFFED_BYTES,
    EventStreamParser,
    looks_like_events,
)
from toolmark.models.wires.wire import StreamAssembler, StreamMark

# the end of the answer that follows the last event
_STREAM_END_TIMEOUT_S = 0.1
# what may follow a finished reply, such as counts of tokens
_FINISHED_TIMEOUT_S = 5.0


class StreamedBody(NamedTuple):
    """A body as the endpoint would have sent it whole, and seconds since the request began.

    They are those to its last event, to the first output and to the first call.
    """

    body: bytes
    latency_s: float
    first_token_s: float | None = None
    first_call_s: float | None = None


class StreamReader:
    """Reads one stream of events within the limits of its reader.

    The memory of what its assembler has stored counts, and not that of the frames.
    """

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader
        self._chunks = reader.chunks
        self._first_token_s: float | None = None
        self._first_call_s: float | None = None
        self._n_read = self._n_stored = 0
        self._chunk_s = 0.0  # one time for all events of a chunk: none comes after the last

    async def read_body(self, assembler: StreamAssembler) -> StreamedBody:
        """Read until the stream says that it is complete, or to the end of a plain body.

        Raises TornReply, Timeout.
        """
        beginning = await self._read_beginning()
        if not looks_like_events(bytes(beginning)):
            body = await self._reader.read_rest(beginning)
            return StreamedBody(body, self._reader.elapsed_s)
        await self._read_events(assembler, bytes(beginning))
        latency_s = self._chunk_s  # what follows a finished reply may be long in coming
        body = assembler.whole_body()
        return StreamedBody(body, latency_s, self._first_token_s, self._first_call_s)

    async def _read_beginning(self) -> bytearray:
        beginning = bytearray()
        n_blank = 0
        while len(beginning) - n_blank < MIN_SNIFFED_BYTES:
            chunk = await self._chunks.read_chunk()
            if chunk is None:
                break
            beginning += memoryview(chunk)
            self._reader.check_size(len(beginning))
            if n_blank == len(beginning) - len(chunk):  # only white space before
                n_blank = len(beginning) - len(chunk.to_bytes().lstrip())
        return beginning

    async def _read_events(self, assembler: StreamAssembler, chunk: bytes) -> None:
        """Read until the reply is finished, and then what may follow it."""
        parser = EventStreamParser()
        try:
            while True:
                self._add_chunk(assembler, parser, chunk)
                if self._n_stored > self._reader.reservation.size:
                    await self._reserve_memory()
                if assembler.is_finished:
                    break
                found = await self._chunks.read_chunk()
                if found is None:
                    return
                chunk = found.to_bytes()
            await self._read_rest(assembler, parser)
        except TornReply:
            if not assembler.is_finished:
                raise

    async def _read_rest(self, assembler: StreamAssembler, parser: EventStreamParser) -> None:
        """Read what follows a finished reply, and the end of the answer.

        A stream that then is reset, or stalls, lacks nothing that the reply needs.
        """
        with suppress(TimeoutError, exceptions.PyreqwestError):
            async with asyncio.timeout(_FINISHED_TIMEOUT_S) as limit:
                while not assembler.has_ended:
                    found = await self._chunks.read_chunk()
                    if found is None:
                        return
                    self._add_chunk(assembler, parser, found.to_bytes())
                    if self._n_stored > self._reader.reservation.size:
                        await self._reserve_memory()
                # once the end is read, the connection can be used again
                limit.reschedule(asyncio.get_running_loop().time() + _STREAM_END_TIMEOUT_S)
                await self._chunks.read_chunk()

    def _add_chunk(
        self, assembler: StreamAssembler, parser: EventStreamParser, chunk: bytes
    ) -> None:
        """Take the events of a chunk, up to the one that ends the stream."""
        self._n_read += len(chunk)
        self._chunk_s = self._reader.elapsed_s
        self._reader.check_size(self._n_read)
        for event in parser.add_chunk(chunk):
            mark = assembler.add_event(event.name, event.data)
            if mark and (self._first_token_s is None or mark == "call"):
                self._note_mark(mark)
            if assembler.has_ended:
                return
        joined = assembler.size_bytes
        self._n_stored = parser.size_bytes + (self._n_read if joined is None else joined)

    async def _reserve_memory(self) -> None:
        await self._reader.reserve_memory(min(self._n_stored, memory_budget.LARGE_BYTES))

    def _note_mark(self, mark: StreamMark) -> None:
        if mark and self._first_token_s is None:
            self._first_token_s = self._chunk_s
        if mark == "call" and self._first_call_s is None:
            self._first_call_s = self._chunk_s
