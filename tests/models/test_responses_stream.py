"""A streamed response is the reply that would have come whole; a torn one is torn."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.models.test_responses_request import CALLS, MESSAGES, OUTPUT, THOUGHTS
from tests.servers.responses_server import events, response, write_events

from toolmark.core.errors import TornReply
from toolmark.core.json_codec import encode_record
from toolmark.core.records import Reply
from toolmark.models.event_stream import EventStreamParser
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.responses import RESPONSES_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]
WHOLE = response(OUTPUT)
PIECES = [
    b"null", b"-1", b"NaN", b"[]", b"{}", b'""', b"[" * 40, b'"\\ud800"', b"\xff", b"\x00", b"\n",
    b'"error":{"code":"429"},', b'"item":5,', b'"response":null,', b'"output_index":1,', b"\n\n",
    b"data: {}\n\n",
]  # fmt: skip


def decode(body: bytes) -> Reply:
    """Return the reply, with its state without the spaces that a whole body may have."""
    found = RESPONSES_WIRE.decode_reply(body, NO_TOOLS, 0.0, "here")
    if found.provider_state is None:
        return found
    data = json.dumps(json.loads(found.provider_state.data))
    return replace(found, provider_state=replace(found.provider_state, data=data))


def joined(parts: Iterable[Json]) -> bytes:
    assembler = RESPONSES_WIRE.make_assembler()
    for part in parts:
        assembler.add_event(part.get("type", ""), json.dumps(part).encode())
    return assembler.whole_body()


@given(
    st.lists(THOUGHTS | MESSAGES | CALLS.map(lambda call: call | {"call_id": "c"}), max_size=6),
    st.integers(1, 30),
)
def test_a_stream_is_the_same_reply(output: list[Json], n: int) -> None:
    whole = response([item | {"id": f"i{at}"} for at, item in enumerate(output)])
    body = joined(events(whole, n))
    assert json.loads(body) == whole
    assert decode(body) == decode(json.dumps(whole).encode())


@pytest.mark.parametrize(("status", "stop"), [("incomplete", "length"), ("completed", "stop")])
def test_a_stream_says_how_it_ended(status: str, stop: str) -> None:
    details = {"reason": "max_output_tokens"} if status == "incomplete" else None
    whole = response(OUTPUT, status=status, incomplete_details=details)
    assert decode(joined(events(whole))).stop == stop


def test_a_stream_that_ends_early_is_torn() -> None:
    parts = list(events(WHOLE))
    for n in range(len(parts)):
        with pytest.raises(TornReply):
            joined(parts[:n])


def test_an_event_that_is_cut_is_torn_at_every_byte() -> None:
    parts = [(part["type"], json.dumps(part).encode()) for part in events(WHOLE)]
    for at, (name, data) in enumerate(parts):
        for n in range(len(data)):
            assembler = RESPONSES_WIRE.make_assembler()
            for each in parts[:at]:
                assembler.add_event(*each)
            with pytest.raises(TornReply):
                assembler.add_event(name, data[:n])
                assembler.whole_body()


STREAM = write_events(events(WHOLE))


def read(chunks: Iterable[bytes]) -> Reply:
    """Read a stream as the transport does."""
    assembler, parser = RESPONSES_WIRE.make_assembler(), EventStreamParser()
    for chunk in chunks:
        for event in parser.add_chunk(chunk):
            assembler.add_event(event.name, event.data)
    return decode(assembler.whole_body())


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_chunks_make_no_difference(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert read(STREAM[a:b] for a, b in pairwise(places)) == decode(json.dumps(WHOLE).encode())


def test_a_stream_that_is_cut_at_any_byte_is_torn() -> None:
    for n in range(len(STREAM)):
        with pytest.raises(TornReply):
            read([STREAM[:n]])


def fuzz(n: int) -> Counter[str]:
    """Read n damaged streams; return how often they became what. Anything else is raised."""
    rng, counts = Random(n), Counter[str]()
    for _ in range(n):
        data = bytearray(STREAM)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data) + 1)
            to = min(len(data), at + rng.randint(0, 40))
            match rng.randrange(5):
                case 0:
                    data[at:to] = rng.choice(PIECES)
                case 1:
                    data[at:at] = rng.choice(PIECES)
                case 2:
                    del data[at:to]
                case 3:
                    data[at % len(data)] = rng.randrange(256)
                case _:
                    data[at:at] = data[at:to]
        try:
            encode_record(found := read([bytes(data)]))
            counts[found.stop] += 1
        except (TornReply, ErrorInBody) as error:
            counts[type(error).__name__] += 1
    return counts


def test_two_thousand_damaged_streams_are_replies_or_errors() -> None:
    assert {"stop", "TornReply"} <= fuzz(2000).keys()


@pytest.mark.long
def test_a_hundred_thousand_damaged_streams_are_replies_or_errors() -> None:
    assert fuzz(100_000).total() == 100_000


def test_marks_say_when_output_and_calls_began() -> None:
    assembler = RESPONSES_WIRE.make_assembler()
    marks = [
        (part["type"], assembler.add_event("", json.dumps(part).encode()))
        for part in events(WHOLE, 1000)
    ]
    assert [(kind, mark) for kind, mark in marks if mark] == [
        ("response.output_text.delta", "token"),
        ("response.output_item.done", "token"),
        ("response.output_item.added", "call"),
        ("response.function_call_arguments.delta", "token"),
        ("response.output_item.done", "call"),
    ]


def without(*kinds: str) -> list[Json]:
    return [part for part in events(WHOLE) if part["type"] not in kinds]


def last_without_output() -> list[Json]:
    parts = list(events(WHOLE))
    return [*parts[:-1], {**parts[-1], "response": {**WHOLE, "output": []}}]


def all_at_index_0() -> list[Json]:
    return [part | {"output_index": 0} if "output_index" in part else part for part in
            last_without_output()]  # fmt: skip


def doubled(kind: str) -> list[Json]:
    return list(itertools.chain.from_iterable(
        [part] * (2 if part["type"] == kind else 1) for part in last_without_output()
    ))  # fmt: skip


def shuffled_items() -> list[Json]:
    parts = last_without_output()
    done = [part for part in parts if part["type"] == "response.output_item.done"]
    return [*[part for part in parts[:-1] if part not in done], *reversed(done), parts[-1]]


@pytest.mark.parametrize(
    "parts",
    [
        without("response.created", "response.in_progress"),
        without("response.output_item.added"),
        without("response.output_item.done"),
        without("response.output_text.delta", "response.function_call_arguments.delta"),
        last_without_output(),
        all_at_index_0(),
        doubled("response.output_item.done"),
        doubled("response.completed"),
        shuffled_items(),
        [*events(WHOLE), {"type": "response.completed", "response": response([])}],
        [{"type": "keepalive"}, *events(WHOLE)],
    ],
)
def test_streams_of_servers_that_differ_are_the_same_reply(parts: Sequence[Json]) -> None:
    assert decode(joined(parts)) == decode(json.dumps(WHOLE).encode())


def test_the_ciphertext_is_that_of_the_finished_item() -> None:
    state = decode(joined(last_without_output())).provider_state
    assert state is not None and json.loads(state.data) == OUTPUT


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
        {"type": "error", "error": {"code": "rate_limit_exceeded"}},
        {"error": {"code": "rate_limit_exceeded"}},
        {"type": "response.failed",
         "response": response([], status="failed", error={"code": "rate_limit_exceeded"})},
    ],
)  # fmt: skip
def test_an_error_in_a_stream_is_that_error(event: Json) -> None:
    with pytest.raises(ErrorInBody) as caught:
        decode(joined([*list(events(WHOLE))[:5], event]))
    assert b"rate_limit_exceeded" in caught.value.body


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"x", b'"x"', b"{", b'{"type":5}'])
def test_an_event_that_is_no_object_is_torn(data: bytes) -> None:
    with pytest.raises(TornReply):
        RESPONSES_WIRE.make_assembler().add_event("response.completed", data)


def test_the_mark_of_the_end_alone_is_no_end() -> None:
    assembler = RESPONSES_WIRE.make_assembler()
    assert assembler.add_event("", b" [DONE]") == "" and not assembler.has_ended
    with pytest.raises(TornReply):
        assembler.whole_body()
