"""An endpoint of no latency: a tool call first, then text.

It looks only at whether the body holds a tool message. With the argument `wires` it answers on each
wire, whole and streamed, for `wires.py`; else by chat completions alone, which costs it less. It
prints its port on one line and serves until its standard input closes, so that it never outlives
the benchmark that started it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import uvloop

_USAGE = b'"usage":{"prompt_tokens":410,"completion_tokens":21,"total_tokens":431}'
_HEAD = b'{"id":"chatcmpl-1","object":"chat.completion","created":1750000000,"model":"fake-1",'
_CALL = (
    _HEAD + b'"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":['
    b'{"id":"call_1","type":"function","function":{"name":"tool_3",'
    b'"arguments":"{\\"city\\":\\"Paris\\",\\"days\\":3}"}}]},"finish_reason":"tool_calls"}],'
    + _USAGE
    + b"}"
)
_TEXT = (
    _HEAD + b'"choices":[{"index":0,"message":{"role":"assistant","content":"It will be sunny."},'
    b'"finish_reason":"stop"}],' + _USAGE + b"}"
)
_TOOL = b'"role":"tool"'
_SPACED = b'"role": "tool"'


def _response(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


_ANSWERS = (_response(_CALL), _response(_TEXT))


def find_chat_answer(head: bytes, body: bytes) -> bytes:
    """Return the answer to a request of chat completions."""
    return _ANSWERS[_TOOL in body or _SPACED in body]


class Server(asyncio.Protocol):
    """One connection: reads whole requests, writes canned answers."""

    def __init__(self, find_answer: Callable[[bytes, bytes], bytes]) -> None:
        self.find_answer = find_answer
        self.buffer = b""
        self.transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.WriteTransport, transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            size = _length(self.buffer[:end])
            if len(self.buffer) < end + 4 + size:
                return
            head, body = self.buffer[:end], self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            assert self.transport is not None
            self.transport.write(self.find_answer(head, body))


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            return int(line[15:])
    return 0


async def main() -> None:
    """Serve until standard input closes."""
    loop = asyncio.get_running_loop()
    find_answer = find_chat_answer
    if sys.argv[1:] == ["wires"]:
        sys.path.append(str(Path(__file__).resolve().parent.parent))
        from benchmarks.wire_answers import find_answer

    server = await loop.create_server(lambda: Server(find_answer), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    uvloop.run(main())
