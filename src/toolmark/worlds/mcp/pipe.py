"""A server process: JSON-RPC lines on its standard input and output, its end under our control.

The transport of the SDK gathers a line of any length, logs foreign text, and does not tell how a
process ended; this one bounds what it holds, skips junk, and keeps the tail of what was said.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from toolmark import codec
from toolmark.worlds.mcp import sandbox
from toolmark.worlds.mcp.config import Launch
from toolmark.worlds.mcp.limits import Watched

LIMIT_BYTES = codec.MAX_BYTES
TOO_LONG = -32099  # our own code for an answer that was over the limit
_BLOCK_BYTES = 2**16
_ASKED = 16  # requests of the server that wait for an answer; further ones are dropped
_ASKED_BYTES = 2**16  # of such a request; a longer one is dropped
_TAIL_BYTES = 1200
_JUNK_BYTES = 200  # of each line
_ENDS_BYTES = 256
_GRACE_S = 2.0  # to leave after standard input closed, and once more after SIGTERM
_POLL_S = 0.01
_SETTLE_S = 0.5

_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,99}")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb",")
_LAST = re.compile(rb",\s*" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*\Z")

_running: set[int] = set()


@dataclass(frozen=True, slots=True)
class Huge:
    """A line over the limit: its two ends and its size."""

    head: bytes
    tail: bytes
    size_bytes: int


class Lines:
    """Cuts a stream into lines; of a line over the limit only the ends are held."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._clear()

    def feed(self, block: bytes) -> Iterator[bytes | Huge]:
        """Take a block in; go through the lines that are complete with it."""
        *ends, rest = block.split(b"\n")
        for end in ends:
            self._add(end)
            yield self._line()
        self._add(rest)

    def _clear(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._head = self._tail = b""

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self.limit_bytes:
            self._parts.append(piece)
            return
        if self._parts:
            held = b"".join(self._parts)
            self._head, self._tail = held[:_ENDS_BYTES], held[-_ENDS_BYTES:]
            self._parts = []
        if len(self._head) < _ENDS_BYTES:
            self._head = (self._head + piece)[:_ENDS_BYTES]
        self._tail = (self._tail + piece)[-_ENDS_BYTES:]

    def _line(self) -> bytes | Huge:
        if self._size > self.limit_bytes:
            line: bytes | Huge = Huge(self._head, self._tail, self._size)
        else:
            line = b"".join(self._parts)
        self._clear()
        return line


class Pipe:
    """A running server process; `read` and `write` are what a session is made of."""

    def __init__(self, process: asyncio.subprocess.Process, watched: Watched | None = None) -> None:
        self.process = process
        self.watched = watched
        self.ended = False
        self.errors = b""
        self.junk = b""
        self._waiting: set[int | str] = set()
        self._asked: set[int | str] = set()
        self._inbox: MemoryObjectSendStream[SessionMessage | Exception]
        self.read: MemoryObjectReceiveStream[SessionMessage | Exception]
        self.write: MemoryObjectSendStream[SessionMessage]
        self._outbox: MemoryObjectReceiveStream[SessionMessage]
        self._inbox, self.read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.write, self._outbox = anyio.create_memory_object_stream[SessionMessage](0)

    @property
    def exceeded(self) -> str:
        """The limit of its sandbox for which it was ended, "" if it was for none."""
        return self.watched.exceeded if self.watched is not None else ""

    def told(self) -> str:
        """Say how the process ended, if it has, and what it said last.

        The first line ends in the last one of each output, where the cause mostly stands; below it
        comes what was said before.
        """
        code = self.process.returncode
        parts = [] if code is None else [_ending(code)]
        before = []
        for name, tail in (("stderr", self.errors), ("stdout", self.junk)):
            *earlier, last = tail.decode("utf-8", "replace").strip().splitlines() or [""]
            if last:
                parts.append(f"{name}: {last.strip()}")
            if earlier:
                before.append("\n".join([f"{name} before that:", *earlier]))
        return "\n".join(["; ".join(parts), *before])

    def kill(self) -> None:
        """Kill the process and all it started, now."""
        _kill(self.process.pid, signal.SIGKILL)

    async def run(self) -> None:
        """Carry messages until the process closes its output."""
        helpers = [asyncio.create_task(self._send()), asyncio.create_task(self._heed())]
        try:
            await self._receive()
        finally:
            self.ended = True
            self._inbox.close()
            # what it said last may still be on its way
            await asyncio.wait(helpers[1:], timeout=_SETTLE_S)
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def settle(self) -> None:
        """Wait a moment for a process that is going to have gone."""
        until = asyncio.get_running_loop().time() + _SETTLE_S
        while self.process.returncode is None and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_POLL_S)

    def close(self) -> None:
        """Release the streams, and what asyncio keeps until nobody holds the process's pipes."""
        for stream in (self._inbox, self.read, self.write, self._outbox):
            stream.close()
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _receive(self) -> None:
        assert self.process.stdout is not None
        lines = Lines()
        gone = (anyio.BrokenResourceError, anyio.ClosedResourceError)
        while block := await self.process.stdout.read(_BLOCK_BYTES):
            for line in lines.feed(block):
                for message in self._messages(line):
                    with suppress(*gone):  # the session is gone: drain, so that it can exit
                        await self._inbox.send(SessionMessage(message))

    def _messages(self, line: bytes | Huge) -> list[mcp_types.JSONRPCMessage]:
        if isinstance(line, Huge):
            return self._refused(line)
        message = _message(line)
        if message is None and (start := line.find(b'{"')) > 0:
            message = _message(line[start:])  # printed in front of it, without a newline
        if isinstance(message, mcp_types.JSONRPCRequest) and not self._takes(message, len(line)):
            message = None
        if message is None:
            self.junk = (self.junk + line[:_JUNK_BYTES] + b"\n")[-_TAIL_BYTES:]
            return []
        if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._waiting.discard(message.id if message.id is not None else "")
        return [message]

    def _takes(self, request: mcp_types.JSONRPCRequest, size: int) -> bool:
        """Tell whether a request of the server is answered: it may ask without ever listening."""
        if size > _ASKED_BYTES or len(self._asked) >= _ASKED or request.id in self._asked:
            return False
        self._asked.add(request.id)
        return True

    def _refused(self, line: Huge) -> list[mcp_types.JSONRPCMessage]:
        """Answer for a line over the limit: the request it names, or all that are waiting."""
        id = answered(line)
        named = self._waiting if id is None else {id}
        text = f"the answer has {line.size_bytes:,} bytes; the limit is {LIMIT_BYTES:,}"
        error = mcp_types.ErrorData(code=TOO_LONG, message=text)
        refused = sorted(named & self._waiting, key=str)
        self._waiting.difference_update(refused)
        return [mcp_types.JSONRPCError(jsonrpc="2.0", id=id, error=error) for id in refused]

    async def _send(self) -> None:
        assert self.process.stdin is not None
        try:
            async for item in self._outbox:
                message = item.message
                if isinstance(message, mcp_types.JSONRPCRequest):
                    self._waiting.add(message.id)
                if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
                    self._asked.discard(message.id if message.id is not None else "")
                said = message.model_dump(by_alias=True, mode="python", exclude_unset=True)
                self.process.stdin.write(json.dumps(said).encode() + b"\n")
                await self.process.stdin.drain()
        except (OSError, RuntimeError):  # it reads no more; its output says when it is gone
            self._inbox.close()
        finally:
            self._outbox.close()

    async def _heed(self) -> None:
        assert self.process.stderr is not None
        while block := await self.process.stderr.read(_BLOCK_BYTES):
            self.errors = (self.errors + block)[-_TAIL_BYTES:]


def _message(line: bytes) -> mcp_types.JSONRPCMessage | None:
    try:
        found = codec.loads(line.decode("utf-8", "replace"))
        return mcp_types.jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValueError:
        return None


def answered(line: Huge) -> int | str | None:
    """Return the id of the request that a line over the limit answers, if an end of it tells."""
    found = _FIRST.match(line.head) or _LAST.search(line.tail)
    if found is None:
        return None
    id: int | str = json.loads(found[1])
    return id


def _ending(code: int) -> str:
    if code >= 0:
        return f"it exited with code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


@asynccontextmanager
async def opened(launch: Launch) -> AsyncIterator[Pipe]:
    """Start a server, and end it and all it started on leaving. Raises OSError."""
    async with _process(launch) as (process, watched), _carried(process, watched) as pipe:
        yield pipe


@asynccontextmanager
async def _process(
    launch: Launch,
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Watched | None]]:
    ends: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    ends["limit"] = 2**20
    if launch.box is not None:
        async with sandbox.opened(launch.argv, launch.env, launch.box, **ends) as found:
            yield found
        return
    process = await asyncio.create_subprocess_exec(
        *launch.argv, env=dict(launch.env), cwd=launch.cwd, start_new_session=True, **ends
    )
    yield process, None


@asynccontextmanager
async def _carried(
    process: asyncio.subprocess.Process, watched: Watched | None
) -> AsyncIterator[Pipe]:
    _running.add(process.pid)
    pipe = Pipe(process, watched)
    carrier = asyncio.create_task(pipe.run())
    try:
        yield pipe
    finally:
        try:
            await _leave(process)
        finally:
            pipe.kill()
            _running.discard(process.pid)
            carrier.cancel()
            with suppress(asyncio.CancelledError):
                await carrier
            with suppress(asyncio.CancelledError):
                await pipe.settle()  # killed, it is gone in a moment
            pipe.close()


async def _leave(process: asyncio.subprocess.Process) -> None:
    """Let a process go: close its input, then ask, each with a little time."""
    assert process.stdin is not None
    process.stdin.close()
    loop = asyncio.get_running_loop()
    for _ in range(2):
        until = loop.time() + _GRACE_S
        while process.returncode is None and loop.time() < until:
            # not wait(): that also waits for children which hold the pipes open
            await asyncio.sleep(_POLL_S)
        _kill(process.pid, signal.SIGTERM)  # also for what it has started
        if process.returncode is not None:
            return


def _kill(pid: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, how)


@atexit.register
def _kill_all() -> None:
    """End what is left when the program ends without having left its contexts."""
    for pid in _running:
        _kill(pid, signal.SIGKILL)
