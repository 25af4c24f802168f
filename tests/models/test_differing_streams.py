"""Streams of servers that differ are the same reply; what each event brings, and its errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.wire_streams import STREAMS, Stream, decode, decode_whole, join
from tests.servers import anthropic_server, responses_server

from toolmark.core.errors import TornReply
from toolmark.models.wire_names import WireName
from toolmark.models.wires.reply_parts import ErrorInBody

Json = dict[str, Any]
every_wire = pytest.mark.parametrize("name", STREAMS)
MESSAGES, RESPONSES, GEMINI = (STREAMS[name] for name in ("anthropic", "responses", "gemini"))


def without(stream: Stream, *kinds: str) -> list[Json]:
    return [part for part in stream.events if part["type"] not in kinds]


# --- servers ----------------------------------------------------------------------------


def later_blocks_first() -> list[Json]:
    parts = MESSAGES.events
    blocks = [part for part in parts if "index" in part]
    first = [part for part in parts if part not in blocks]
    return [*first[:2], *sorted(blocks, key=lambda part: -part["index"]), *first[2:]]


def last_without_output() -> list[Json]:
    *parts, last = RESPONSES.events
    return [*parts, {**last, "response": {**RESPONSES.whole, "output": []}}]


def all_at_index_0() -> list[Json]:
    return [part | {"output_index": 0} if "output_index" in part else part
            for part in last_without_output()]  # fmt: skip


def doubled(kind: str) -> list[Json]:
    return [
        part
        for part in last_without_output()
        for _ in range(2 if part["type"] == kind else 1)
    ]  # fmt: skip


def shuffled_items() -> list[Json]:
    parts = last_without_output()
    done = [part for part in parts if part["type"] == "response.output_item.done"]
    return [*[part for part in parts[:-1] if part not in done], *reversed(done), parts[-1]]


def two_parts_in_an_event() -> list[Json]:
    parts = GEMINI.events
    both = [p for e in parts[:2] for p in e["candidates"][0]["content"]["parts"]]
    first = parts[0] | {"candidates": [{"content": {"role": "model", "parts": both}}]}
    return [first, *parts[2:]]


def last_without_content() -> list[Json]:
    *parts, last = GEMINI.events
    candidate = {k: v for k, v in last["candidates"][0].items() if k != "content"}
    return [*parts, last | {"candidates": [candidate]}]


def null_members() -> list[Json]:
    nulls = {"promptFeedback": None, "error": None, "modelVersion": None}
    *parts, last = GEMINI.events
    return [*(nulls | part for part in parts), {**last, "modelVersion": None, "responseId": None}]


SERVERS: dict[WireName, tuple[list[Json], ...]] = {
    "anthropic": (
        without(MESSAGES, "ping"),
        without(MESSAGES, "content_block_stop"),
        later_blocks_first(),
        [*MESSAGES.events, *anthropic_server.events(anthropic_server.message([]))],
        [{"type": "keepalive"}, *MESSAGES.events],
        [MESSAGES.events[0], *MESSAGES.events],
    ),
    "responses": (
        without(RESPONSES, "response.created", "response.in_progress"),
        without(RESPONSES, "response.output_item.added"),
        without(RESPONSES, "response.output_item.done"),
        without(RESPONSES, "response.output_text.delta", "response.function_call_arguments.delta"),
        last_without_output(),
        all_at_index_0(),
        doubled("response.output_item.done"),
        doubled("response.completed"),
        shuffled_items(),
        [*RESPONSES.events,
         {"type": "response.completed", "response": responses_server.response([])}],
        [{"type": "keepalive"}, *RESPONSES.events],
    ),
    "gemini": (
        [GEMINI.whole],
        two_parts_in_an_event(),
        last_without_content(),
        null_members(),
        [{}, *GEMINI.events],
        [{"candidates": []}, *GEMINI.events],
        [{"candidates": [{"index": 0}]}, *GEMINI.events],
        [*GEMINI.events, *GEMINI.events],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parts"), [(name, parts) for name, found in SERVERS.items() for parts in found]
)
def test_streams_of_servers_that_differ_are_the_same_reply(
    name: WireName, parts: list[Json]
) -> None:
    """Those of chat completions differ in how calls are cut: see test_chat_stream."""
    assert decode(STREAMS[name], join(STREAMS[name], parts)) == decode_whole(STREAMS[name])


# --- events -----------------------------------------------------------------------------

MARKS: dict[WireName, list[tuple[str, str]]] = {
    "chat": [("", "token"), ("", "call"), ("", "token"), ("", "call"), ("", "token")],
    "responses": [
        ("response.output_text.delta", "token"),
        ("response.output_item.done", "token"),
        ("response.output_item.added", "call"),
        ("response.function_call_arguments.delta", "token"),
        ("response.output_item.done", "call"),
    ],
    "anthropic": [
        ("content_block_delta", "token"), ("content_block_delta", "token"),
        ("content_block_start", "call"), ("content_block_delta", "token"),
    ],
    "gemini": [("", "token"), ("", "token"), ("", "token"), ("", "call"), ("", "call")],
}  # fmt: skip
"""The type of each event that brings something, and what: texts and arguments are tokens."""


@every_wire
def test_marks_say_when_output_and_calls_began(name: WireName) -> None:
    """Each text comes in one piece here."""
    stream = STREAMS[name]
    assembler = stream.wire.make_assembler()
    marks = [
        (part.get("type", ""), assembler.add_event("", json.dumps(part).encode()))
        for part in stream.bodies.events(stream.whole, 1000)
    ]
    assert [(kind, mark) for kind, mark in marks if mark] == MARKS[name]


def failed_response() -> Json:
    error = {"code": "rate_limit_exceeded"}
    failed = responses_server.response([], status="failed", error=error)
    return {"type": "response.failed", "response": failed}


ERRORS: dict[WireName, tuple[Json, ...]] = {
    "chat": ({"error": {"message": "rate_limit_exceeded", "code": 429}},
             {"error": "rate_limit_exceeded"}),
    "responses": (
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
        {"type": "error", "error": {"code": "rate_limit_exceeded"}},
        {"error": {"code": "rate_limit_exceeded"}},
        failed_response(),
    ),
    "anthropic": ({"type": "error", "error": {"type": "rate_limit_exceeded", "message": "slow"}},),
    "gemini": (
        {"error": {"code": 429, "status": "rate_limit_exceeded", "message": "slow"}},
        {"error": {"status": "rate_limit_exceeded"}, "candidates": [{"finishReason": "STOP"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "event"), [(name, event) for name, found in ERRORS.items() for event in found]
)
def test_an_error_in_a_stream_is_that_error(name: WireName, event: Json, n: int) -> None:
    stream = STREAMS[name]
    with pytest.raises(ErrorInBody) as caught:
        decode(stream, join(stream, [*stream.events[:n], event]))
    assert b"rate_limit_exceeded" in caught.value.body


@every_wire
def test_the_mark_of_the_end_alone_is_no_end(name: WireName) -> None:
    assembler = STREAMS[name].wire.make_assembler()
    with pytest.raises(TornReply):
        assembler.add_event("", b" [DONE]")
        assembler.whole_body()
