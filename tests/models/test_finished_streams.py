"""A stream that said how its reply ended is that reply, whatever becomes of the connection."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from tests.servers import fake

from toolmark.core.errors import EndpointError
from toolmark.core.records import Message, Reply, Request, Text
from toolmark.models import stream_reader
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
HEAD = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CHAT: list[Json] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
ANTHROPIC: list[Json] = [
    {"type": "message_start", "message": {
        "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
]  # fmt: skip
RESPONSES: list[Json] = [
    {"type": "response.completed", "response": {
        "status": "completed", "model": "m", "output": [
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "Hi", "annotations": []}]}]}},
]  # fmt: skip
GEMINI: list[Json] = [
    {"modelVersion": "m", "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
]  # fmt: skip
EVENTS: dict[WireName, list[Json]] = {
    "chat": CHAT, "anthropic": ANTHROPIC, "responses": RESPONSES, "gemini": GEMINI,
}  # fmt: skip


def written(events: Iterable[Json], after: bytes = b"") -> bytes:
    """Return the head of an answer and one chunk with the events."""
    data = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events) + after
    return HEAD + f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def outcome(wire: WireName, behaviour: fake.Behaviour) -> Reply | EndpointError:
    async with fake.serve(behaviour) as server:
        model = EndpointModel(
            server.url, "m", wire=wire_by_name(wire), timeout_s=60.0, is_stream=True
        )
        try:
            return await model(HELLO)
        except EndpointError as error:
            return error
        finally:
            await model.close()


@pytest.mark.parametrize("after", [b"", b'data: {"choices": [], "usa', b"data: no JSON\n\n"])
@pytest.mark.parametrize("then", ["reset", "stall", "close"])
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_finished_stream_is_a_reply_however_it_ends(
    wire: WireName, then: str, after: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_reader, "_FINISHED_TIMEOUT_S", 0.01)
    found = asyncio.run(outcome(wire, fake.send(written(EVENTS[wire], after), then=then)))
    assert isinstance(found, Reply), str(found)
    assert (found.text, found.stop) == ("Hi", "stop")


@pytest.mark.parametrize("then", ["reset", "close"])
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_stream_that_did_not_finish_is_torn(wire: WireName, then: str) -> None:
    begun = EVENTS[wire][:-1] or [{"type": "response.created"}, {"modelVersion": "m"}]
    found = asyncio.run(outcome(wire, fake.send(written(begun), then=then)))
    assert isinstance(found, EndpointError)
    assert found.kind == "torn"


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_what_an_assembler_stores_is_counted(wire: WireName) -> None:
    assembler = wire_by_name(wire).make_assembler()
    tracemalloc.start()
    for event in EVENTS[wire]:
        padded = event | {"padding": "x" * 10**7}
        assembler.add_event("", json.dumps(padded).encode())
        del padded
    n_stored, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert assembler.is_finished
    assert n_stored - (assembler.size_bytes or 0) < 10**6
