"""Reads the body of one answer, within the limits on its size, its memory and its time."""

from __future__ import annotations

import asyncio
import time

from pyreqwest.response import Response

from toolmark.core.errors import Timeout, TornReply
from toolmark.core.number_format import format_duration
from toolmark.models.memory_budget import MemoryReservation


class BodyReader:
    """Reads one body that may be long; one of unknown length is counted as it arrives.

    At most `max_bytes` are read, into the memory of `reservation`, until `timeout_s` after `start`,
    which is a time of `time.perf_counter`. `chunks` is where the bytes come from.
    """

    def __init__(
        self,
        response: Response,
        reservation: MemoryReservation,
        max_bytes: int,
        start: float,
        timeout_s: float,
    ) -> None:
        self.chunks = response.body_reader
        self.reservation = reservation
        self._max_bytes = max_bytes
        self._start = start
        self._timeout_s = timeout_s

    @property
    def elapsed_s(self) -> float:
        """Seconds since the request began."""
        return time.perf_counter() - self._start

    async def read_rest(self, body: bytearray) -> bytes:
        """Read the rest of a body of which the beginning is there. Raises TornReply, Timeout.

        The beginning grows in place: joined parts would fragment the memory.
        """
        while (chunk := await self.chunks.read_chunk()) is not None:
            size = len(body) + len(chunk)
            self.check_size(size)
            if size > self.reservation.size:
                await self.reserve_memory(size)
            body += memoryview(chunk)
        return bytes(body)

    def check_size(self, size: int) -> None:
        """Raise TornReply where a body has more bytes than it may."""
        if size > self._max_bytes:
            raise TornReply(f"the answer is larger than {self._max_bytes} bytes")

    async def reserve_memory(self, size: int) -> None:
        """Wait until this many bytes are free, at most for the request's own time limit."""
        try:
            async with asyncio.timeout(max(0.0, self._timeout_s - self.elapsed_s)):
                await self.reservation.grow(size)
        except TimeoutError:
            raise Timeout(
                f"no complete answer after {format_duration(self.elapsed_s)}: other large answers "
                "took the room"
            ) from None
