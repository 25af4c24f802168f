"""Endpoints that answer as told, or fail as told: raw sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl as tls
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

_SOON_S = 60.0


@dataclass
class Asked:
    """One request as it arrived."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])


Behaviour = Callable[[Asked, asyncio.StreamWriter], Awaitable[bool | None]]
"""Answer one request; True closes the connection."""


@asynccontextmanager
async def serve(
    behaviour: Behaviour, *, ssl: tls.SSLContext | None = None
) -> AsyncIterator[Server]:
    """Serve on a free port until the end of the block."""
    reported = Server("")
    open_writers: set[asyncio.StreamWriter] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reported.connections += 1
        open_writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                asked = await read(reader)
                reported.asked.append(asked)
                if await behaviour(asked, writer):
                    break
        open_writers.discard(writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=ssl, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    reported.url = f"{'https' if ssl else 'http'}://127.0.0.1:{port}/v1"
    try:
        yield reported
    finally:
        server.close()
        for writer in open_writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@contextmanager
def in_thread(behaviour: Behaviour) -> Iterator[Server]:
    """Serve from a thread of its own, for what runs a loop itself, until the end of the block."""
    found: list[Server] = []
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def main() -> None:
        async with serve(behaviour) as server:
            found.append(server)
            ready.set()
            await over.wait()

    def run() -> None:  # a runner ends what still waits to answer
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(_SOON_S)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(_SOON_S)


async def read(reader: asyncio.StreamReader) -> Asked:
    """Read one request. Raises IncompleteReadError at the end of the connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {}
    for line in head[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(head[0].split(" ")[1], headers, body)


def raw(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    """Write a response as bytes."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def answer(status: int, body: bytes | Any, headers: dict[str, str] | None = None) -> Behaviour:
    """Answer this always; a body that is not bytes is sent as JSON."""
    data = raw(status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return behave


def script(*steps: Behaviour) -> Behaviour:
    """Behave differently at each request; the last one stays."""
    left = list(steps)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> bool | None:
        step = left.pop(0) if len(left) > 1 else left[0]
        return await step(asked, writer)

    return behave


def send(data: bytes, *, then: str) -> Behaviour:
    """Send these bytes, then "close", "reset" or "stall"."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        if then == "stall":
            await asyncio.Event().wait()
        if then == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        return True

    return behave


def drip(data: bytes, every_s: float) -> Behaviour:
    """Send one byte at a time."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        for i in range(len(data)):
            writer.write(data[i : i + 1])
            await writer.drain()
            await asyncio.sleep(every_s)

    return behave


def unused() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def reply(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    """Write a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "served-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        **more,
    }


def says(text: str) -> dict[str, Any]:
    """Write a chat completion of plain text."""
    return reply({"role": "assistant", "content": text})


def calls(*made: tuple[str, Any], ids: tuple[str, ...] = ()) -> dict[str, Any]:
    """Write a chat completion of tool calls: (name, arguments)."""
    names = ids or tuple(f"call_{i}" for i in range(len(made)))
    items = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id, (name, arguments) in zip(names, made, strict=True)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": items}
    return reply(message, "tool_calls")
