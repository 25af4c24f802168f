"""A server process: JSON-RPC lines on its standard input and output, and its controlled end.

The transport of the SDK buffers a line of any length, logs foreign text, and does not report how a
process ended. This one bounds its memory, skips output that is not JSON-RPC, and stores the last
output.
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

from toolmark.core import json_codec, number_format
from toolmark.environments.mcp import sandbox
from toolmark.environments.mcp.sandbox_limits import WatchedSandbox
from toolmark.environments.mcp.server_launch import ServerLaunch

LIMIT_BYTES = json_codec.MAX_JSON_CHARS
ANSWER_TOO_LONG_CODE = -32099  # our own code for an answer over the limit
_BLOCK_BYTES = 2**16
_MAX_SERVER_REQUESTS = (
    16  # requests of the server that wait for an answer; further ones are dropped
)
_MAX_SERVER_REQUEST_BYTES = 2**16  # of such a request; a longer one is dropped
_TAIL_BYTES = 1200
_JUNK_BYTES = 200  # of each line
_ENDS_BYTES = 256
_GRACE_S = 2.0  # to end after standard input closed, and once more after SIGTERM
_POLL_S = 0.01
_SETTLE_S = 0.5

_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,99}")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID_AT_START = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb",")
_ID_AT_END = re.compile(rb",\s*" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*\Z")

_running_pids: set[int] = set()


@dataclass(frozen=True, slots=True)
class OversizedLine:
    """A line over the limit: its two ends and its size."""

    head: bytes
    tail: bytes
    size_bytes: int


class LineSplitter:
    """Splits a stream into lines; of a line over the limit only the two ends are stored."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._clear_line()

    def feed(self, block: bytes) -> Iterator[bytes | OversizedLine]:
        """Add a block, and yield the lines that it completes."""
        *ends, rest = block.split(b"\n")
        for end in ends:
            self._add_bytes(end)
            yield self._line()
        self._add_bytes(rest)

    def _clear_line(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._head = self._tail = b""

    def _add_bytes(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self.limit_bytes:
            self._parts.append(piece)
            return
        if self._parts:
            joined = b"".join(self._parts)
            self._head, self._tail = joined[:_ENDS_BYTES], joined[-_ENDS_BYTES:]
            self._parts = []
        if len(self._head) < _ENDS_BYTES:
            self._head = (self._head + piece)[:_ENDS_BYTES]
        self._tail = (self._tail + piece)[-_ENDS_BYTES:]

    def _line(self) -> bytes | OversizedLine:
        if self._size > self.limit_bytes:
            line: bytes | OversizedLine = OversizedLine(self._head, self._tail, self._size)
        else:
            line = b"".join(self._parts)
        self._clear_line()
        return line


class ServerPipe:
    """A running server process; `read` and `write` are the streams of a session."""

    def __init__(
        self, process: asyncio.subprocess.Process, watched: WatchedSandbox | None = None
    ) -> None:
        self.process = process
        self.watched = watched
        self.ended = False
        self.errors = b""
        self.junk = b""
        self._waiting: set[int | str] = set()
        self._server_requests: set[int | str] = set()
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

    def describe_end(self) -> str:
        """Return how the process ended, if it has, and its last output.

        The first line ends with the last line of each output, which usually has the cause. The
        earlier output follows below it.
        """
        code = self.process.returncode
        parts = [] if code is None else [_describe_exit(code)]
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
        _signal_group(self.process.pid, signal.SIGKILL)

    async def carry_messages(self) -> None:
        """Carry messages until the process closes its output."""
        helpers = [
            asyncio.create_task(self._send_messages()),
            asyncio.create_task(self._read_errors()),
        ]
        try:
            await self._receive_messages()
        finally:
            self.ended = True
            self._inbox.close()
            # the last output may still be in the pipe
            await asyncio.wait(helpers[1:], timeout=_SETTLE_S)
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def wait_for_exit(self) -> None:
        """Wait up to 0.5 s for a process that is ending."""
        until = asyncio.get_running_loop().time() + _SETTLE_S
        while self.process.returncode is None and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_POLL_S)

    def close(self) -> None:
        """Release the streams, and the transport that asyncio stores while the pipes are open."""
        for stream in (self._inbox, self.read, self.write, self._outbox):
            stream.close()
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _receive_messages(self) -> None:
        assert self.process.stdout is not None
        lines = LineSplitter()
        closed_errors = (anyio.BrokenResourceError, anyio.ClosedResourceError)
        while block := await self.process.stdout.read(_BLOCK_BYTES):
            for line in lines.feed(block):
                for message in self._messages(line):
                    # the session has ended: read on, so that the process can exit
                    with suppress(*closed_errors):
                        await self._inbox.send(SessionMessage(message))

    def _messages(self, line: bytes | OversizedLine) -> list[mcp_types.JSONRPCMessage]:
        if isinstance(line, OversizedLine):
            return self._answer_oversized(line)
        message = _parse_message(line)
        if message is None and (start := line.find(b'{"')) > 0:
            message = _parse_message(line[start:])  # text was printed before it, without a newline
        if isinstance(message, mcp_types.JSONRPCRequest) and not self._accepts_request(
            message, len(line)
        ):
            message = None
        if message is None:
            self.junk = (self.junk + line[:_JUNK_BYTES] + b"\n")[-_TAIL_BYTES:]
            return []
        if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._waiting.discard(message.id if message.id is not None else "")
        return [message]

    def _accepts_request(self, request: mcp_types.JSONRPCRequest, size: int) -> bool:
        """Return whether to answer a request of the server: it may ask without reading answers."""
        if (
            size > _MAX_SERVER_REQUEST_BYTES
            or len(self._server_requests) >= _MAX_SERVER_REQUESTS
            or request.id in self._server_requests
        ):
            return False
        self._server_requests.add(request.id)
        return True

    def _answer_oversized(self, line: OversizedLine) -> list[mcp_types.JSONRPCMessage]:
        """Return errors for the request that an oversized line answers, or for all that wait."""
        id = answered_request_id(line)
        candidates = self._waiting if id is None else {id}
        size, limit = map(number_format.format_count, (line.size_bytes, LIMIT_BYTES))
        text = number_format.replace_special_spaces(
            f"the answer has {size} bytes; the limit is {limit}"
        )
        error = mcp_types.ErrorData(code=ANSWER_TOO_LONG_CODE, message=text)
        refused = sorted(candidates & self._waiting, key=str)
        self._waiting.difference_update(refused)
        return [mcp_types.JSONRPCError(jsonrpc="2.0", id=id, error=error) for id in refused]

    async def _send_messages(self) -> None:
        assert self.process.stdin is not None
        try:
            async for item in self._outbox:
                message = item.message
                if isinstance(message, mcp_types.JSONRPCRequest):
                    self._waiting.add(message.id)
                if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
                    self._server_requests.discard(message.id if message.id is not None else "")
                payload = message.model_dump(by_alias=True, mode="python", exclude_unset=True)
                self.process.stdin.write(json.dumps(payload).encode() + b"\n")
                await self.process.stdin.drain()
        except (OSError, RuntimeError):  # it reads no more; its output shows its end
            self._inbox.close()
        finally:
            self._outbox.close()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while block := await self.process.stderr.read(_BLOCK_BYTES):
            self.errors = (self.errors + block)[-_TAIL_BYTES:]


def _parse_message(line: bytes) -> mcp_types.JSONRPCMessage | None:
    try:
        found = json_codec.parse_json(line.decode("utf-8", "replace"))
        return mcp_types.jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValueError:
        return None


def answered_request_id(line: OversizedLine) -> int | str | None:
    """Return the id of the request that an oversized line answers, None where it is not found."""
    found = _ID_AT_START.match(line.head) or _ID_AT_END.search(line.tail)
    if found is None:
        return None
    id: int | str = json.loads(found[1])
    return id


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"it exited with code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


@asynccontextmanager
async def open_server(launch: ServerLaunch) -> AsyncIterator[ServerPipe]:
    """Start a server; on leaving, end it and all it started. Raises OSError."""
    async with (
        _start_process(launch) as (process, watched),
        _carry_process(process, watched) as pipe,
    ):
        yield pipe


@asynccontextmanager
async def _start_process(
    launch: ServerLaunch,
) -> AsyncIterator[tuple[asyncio.subprocess.Process, WatchedSandbox | None]]:
    ends: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    ends["limit"] = 2**20
    if launch.sandbox_spec is not None:
        async with sandbox.open_sandboxed(
            launch.argv, launch.env, launch.sandbox_spec, **ends
        ) as found:
            yield found
        return
    process = await asyncio.create_subprocess_exec(
        *launch.argv, env=dict(launch.env), cwd=launch.cwd, start_new_session=True, **ends
    )
    yield process, None


@asynccontextmanager
async def _carry_process(
    process: asyncio.subprocess.Process, watched: WatchedSandbox | None
) -> AsyncIterator[ServerPipe]:
    _running_pids.add(process.pid)
    pipe = ServerPipe(process, watched)
    carry_task = asyncio.create_task(pipe.carry_messages())
    try:
        yield pipe
    finally:
        try:
            await _end_process(process)
        finally:
            pipe.kill()
            _running_pids.discard(process.pid)
            carry_task.cancel()
            with suppress(asyncio.CancelledError):
                await carry_task
            with suppress(asyncio.CancelledError):
                await pipe.wait_for_exit()  # a killed process ends soon
            pipe.close()


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """End a process: close its input, then send SIGTERM, each time with 2 s to end."""
    assert process.stdin is not None
    process.stdin.close()
    loop = asyncio.get_running_loop()
    for _ in range(2):
        until = loop.time() + _GRACE_S
        while process.returncode is None and loop.time() < until:
            # not wait(): that also waits for children that have the pipes open
            await asyncio.sleep(_POLL_S)
        _signal_group(process.pid, signal.SIGTERM)  # also to its children
        if process.returncode is not None:
            return


def _signal_group(pid: int, signal_number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal_number)


@atexit.register
def _kill_all() -> None:
    """Kill what is left when the program ends without having left its contexts."""
    for pid in _running_pids:
        _signal_group(pid, signal.SIGKILL)
