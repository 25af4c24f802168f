"""A stream is cut into lines, and a line of any length costs no more than the limit."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from toolmark.environments.mcp.stdio_process import (
    LineSplitter,
    OversizedLine,
    ServerPipe,
    answered_request_id,
)


def cut(blocks: list[bytes], limit_bytes: int) -> list[bytes | OversizedLine]:
    lines = LineSplitter(limit_bytes)
    return [line for block in blocks for line in lines.feed(block)]


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\r", b"\n")), max_size=20))
def test_lines_do_not_depend_on_how_the_stream_was_cut(blocks: list[bytes]) -> None:
    whole = b"".join(blocks)
    expected = whole.split(b"\n")[:-1]
    assert cut(blocks, 10**6) == expected == cut([whole], 10**6)


@given(
    st.lists(st.binary(min_size=1, max_size=700).map(lambda b: b.replace(b"\n", b" ")), min_size=1),
    st.integers(0, 1000),
)
def test_of_a_line_over_the_limit_the_ends_remain(blocks: list[bytes], limit: int) -> None:
    whole = b"".join(blocks)
    (line,) = cut([*blocks, b"\n"], limit)
    if len(whole) <= limit:
        assert line == whole
    else:
        assert line == OversizedLine(whole[:256], whole[-256:], len(whole))


def test_the_buffer_stays_within_the_limit() -> None:
    lines = LineSplitter(1000)
    for _ in range(1000):
        assert not list(lines.feed(b"x" * 500))
        assert sum(map(len, lines._parts)) + len(lines._head) + len(lines._tail) <= 1512
    assert list(lines.feed(b"\nnext\n")) == [
        OversizedLine(b"x" * 256, b"x" * 256, 500_000),
        b"next",
    ]


@pytest.mark.parametrize(
    "order",
    [
        ("jsonrpc", "id", "result"),
        ("result", "jsonrpc", "id"),
        ("id", "result", "jsonrpc"),
        ("result", "id", "jsonrpc"),
    ],
)
@pytest.mark.parametrize("id", [7, "seven"])
@pytest.mark.parametrize("gaps", [(",", ":"), (", ", ": ")])
def test_either_end_of_a_long_answer_names_its_request(
    order: tuple[str, ...], id: int | str, gaps: tuple[str, str]
) -> None:
    # what looks like an id inside the result is none
    result = {"id": 3, "text": "x" * 1000, "last": {"id": 4}}
    whole = {"jsonrpc": "2.0", "id": id, "result": result}
    line = json.dumps({key: whole[key] for key in order}, separators=gaps).encode()
    (huge,) = cut([line, b"\n"], 500)
    assert isinstance(huge, OversizedLine) and answered_request_id(huge) == id


def test_a_long_line_that_names_nothing_names_nothing() -> None:
    (huge,) = cut([b'{"method":"x","params":{"id":1,' + b"y" * 999 + b'"id":2}}\n'], 500)
    assert isinstance(huge, OversizedLine) and answered_request_id(huge) is None


class _Process:
    """A server that never reads, until it is let."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.stdin = self
        self.returncode = None

    def write(self, data: bytes) -> None:
        self.heard.append(data)

    async def drain(self) -> None:
        pass


def test_little_is_buffered_of_what_a_server_asks() -> None:
    """It may ask without end and never listen: each request held costs memory and a task."""

    def line(id: object, more: str = "") -> bytes:
        return json.dumps(
            {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"a": more}}
        ).encode()

    async def scene() -> None:
        process = _Process()
        pipe = ServerPipe(process)  # type: ignore[arg-type]
        taken = [pipe._messages(line(n)) for n in range(1000)]
        assert [len(each) for each in taken] == [1] * 16 + [0] * 984
        sending = asyncio.create_task(pipe._send_messages())
        for n in (3, 4):
            said = JSONRPCResponse(jsonrpc="2.0", id=n, result={})
            await pipe.write.send(SessionMessage(said))
        while len(process.heard) < 2:
            await asyncio.sleep(0)
        assert pipe._messages(line("x" * 70_000)) == [] == pipe._messages(line("y", "x" * 70_000))
        assert pipe._messages(line(7)) == []  # it was asked, and not answered yet
        assert [len(pipe._messages(line(n))) for n in range(2000, 2003)] == [1, 1, 0]
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        for stream in (pipe._inbox, pipe.read, pipe.write, pipe._outbox):
            stream.close()

    asyncio.run(scene())
