"""A streamed message is the reply that would have come whole; a torn one is torn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.models.test_anthropic_request import CALL, CONTENT, SAID, THOUGHT
from tests.servers.anthropic_server import Json, error, events, message, write_events

from toolmark.core.errors import TornReply
from toolmark.core.records import Reply
from toolmark.models.event_stream import EventStreamParser
from toolmark.models.wires.anthropic_messages import MESSAGES_WIRE
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS

WHOLE = message(CONTENT)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_CALLS = st.fixed_dictionaries({
    "type": st.just("tool_use"), "id": st.just("toolu_1"), "name": st.sampled_from(["f", "ü"]),
    "input": st.dictionaries(_TEXT, st.none() | st.integers() | _TEXT, max_size=3),
})  # fmt: skip
_BLOCKS = st.lists(
    _CALLS
    | st.builds(lambda text: {"type": "text", "text": text}, _TEXT)
    | st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"}, _TEXT)
    | st.sampled_from([
        {"type": "redacted_thinking", "data": "e30="}, {"type": "hologram", "beam": [1, None]},
        CALL, {"type": "text", "text": "x", "citations": [{"type": "char_location"}]},
    ]),
    max_size=6,
)  # fmt: skip


def decode(body: bytes) -> Reply:
    """Return the reply, with its state without the spaces that a whole body may have."""
    found = MESSAGES_WIRE.decode_reply(body, NO_TOOLS, 0.0, "here")
    if found.provider_state is None:
        return found
    data = json.dumps(json.loads(found.provider_state.data))
    return replace(found, provider_state=replace(found.provider_state, data=data))


def joined(parts: Iterable[Json]) -> bytes:
    assembler = MESSAGES_WIRE.make_assembler()
    for part in parts:
        assembler.add_event(part.get("type", ""), json.dumps(part).encode())
    return assembler.whole_body()


def joined_bytes(data: bytes, cuts: list[int]) -> bytes:
    """Join a stream whose bytes are cut at these places."""
    parser, assembler = EventStreamParser(), MESSAGES_WIRE.make_assembler()
    places = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(places):
        for event in parser.add_chunk(data[start:end]):
            assembler.add_event(event.name, event.data)
    return assembler.whole_body()


@given(_BLOCKS, st.integers(1, 30))
def test_a_stream_is_the_same_reply(content: list[Json], n: int) -> None:
    whole = message(content)
    body = joined(events(whole, n))
    assert json.loads(body) == whole
    assert decode(body) == decode(json.dumps(whole).encode())


@given(st.data())
def test_a_stream_is_the_same_wherever_its_bytes_are_cut(data: st.DataObject) -> None:
    whole = message([THOUGHT, {"type": "text", "text": "grüße 🌍 \u2028"}, CALL])
    stream = write_events(events(whole))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=9))
    assert json.loads(joined_bytes(stream, cuts)) == whole


def test_a_stream_that_is_cut_before_it_says_why_it_stops_is_torn_at_every_byte() -> None:
    whole = message([THOUGHT, SAID, CALL])
    stream = write_events(events(whole))
    finished_at = len(write_events(iter(list(events(whole))[:-1])))
    for n in range(finished_at):
        with pytest.raises(TornReply):
            joined_bytes(stream[:n], [])
    for n in range(finished_at, len(stream)):
        assert json.loads(joined_bytes(stream[:n], [])) == whole


def test_a_stream_that_ends_early_is_torn() -> None:
    parts = list(events(WHOLE))
    for n in range(len(parts) - 1):
        with pytest.raises(TornReply):
            joined(parts[:n])


def test_an_error_after_the_message_has_stopped_takes_nothing_from_it() -> None:
    parts = list(events(WHOLE))
    failed = {"type": "error", "error": {"type": "api_error", "message": "gone"}}
    assert json.loads(joined([*parts[:-1], failed])) == WHOLE
    assert "error" in json.loads(joined([*parts[:-2], failed]))


def test_an_event_that_is_cut_is_torn_at_every_byte() -> None:
    parts = [(part["type"], json.dumps(part).encode()) for part in events(WHOLE)]
    for at, (name, data) in enumerate(parts):
        for n in range(len(data)):
            assembler = MESSAGES_WIRE.make_assembler()
            for each in parts[:at]:
                assembler.add_event(*each)
            with pytest.raises(TornReply):
                assembler.add_event(name, data[:n])
                assembler.whole_body()


def test_the_last_counts_are_totals_and_absent_ones_stay() -> None:
    found = decode(joined(events(WHOLE)))
    assert (found.usage.input, found.usage.output, found.usage.cached) == (30, 25, 8)
    parts = list(events(WHOLE))
    parts[-2]["usage"] |= {"input_tokens": 50, "cache_read_input_tokens": None}
    found = decode(joined(parts))
    assert (found.usage.input, found.usage.output, found.usage.cached) == (60, 25, 8)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("max_tokens", "length"), ("refusal", "refused"), ("end_turn", "stop")],
)
def test_a_stream_says_how_it_ended(reason: str, stop: str) -> None:
    assert decode(joined(events(message(CONTENT, stop_reason=reason)))).stop == stop


def test_marks_say_when_output_and_calls_began() -> None:
    assembler = MESSAGES_WIRE.make_assembler()
    marks = [
        (part["type"], assembler.add_event("", json.dumps(part).encode()))
        for part in events(WHOLE, 1000)
    ]
    assert [(kind, mark) for kind, mark in marks if mark] == [
        ("content_block_delta", "token"), ("content_block_delta", "token"),
        ("content_block_start", "call"), ("content_block_delta", "token"),
    ]  # fmt: skip


def test_arguments_are_the_characters_of_their_pieces() -> None:
    parts = list(events(message([CALL])))
    pieces = ['{"city":', "  1.0", ', "x": "\\u00e9"}']
    deltas = [
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in pieces
    ]  # fmt: skip
    stored = [part for part in parts if part["type"] != "content_block_delta"]
    body = joined([*stored[:3], *deltas, *stored[3:]])
    assert decode(body).calls[0].arguments == "".join(pieces)


def test_arguments_that_were_cut_stay_as_they_are() -> None:
    parts = list(events(message([THOUGHT, CALL], stop_reason="max_tokens"), 4))
    last = max(i for i, part in enumerate(parts) if part["type"] == "content_block_delta")
    found = decode(joined(parts[:last] + parts[last + 1 :]))
    assert (found.stop, found.calls[0].arguments) == ("length", '{"city": "Paris"'[:16])


def without(*kinds: str) -> list[Json]:
    return [part for part in events(WHOLE) if part["type"] not in kinds]


def later_blocks_first() -> list[Json]:
    parts = list(events(WHOLE))
    blocks = [part for part in parts if "index" in part]
    first = [part for part in parts if part not in blocks]
    return [*first[:2], *sorted(blocks, key=lambda part: -part["index"]), *first[2:]]


@pytest.mark.parametrize(
    "parts",
    [
        without("ping"),
        without("content_block_stop"),
        later_blocks_first(),
        [*events(WHOLE), *events(message([SAID]))],
        [{"type": "keepalive"}, *events(WHOLE)],
        [next(iter(events(WHOLE))), *events(WHOLE)],
    ],
)
def test_streams_of_servers_that_differ_are_the_same_reply(parts: list[Json]) -> None:
    assert decode(joined(parts)) == decode(json.dumps(WHOLE).encode())


def test_citations_are_part_of_their_text() -> None:
    parts = list(events(message([SAID | {"citations": None}])))
    citation = {"type": "char_location", "cited_text": "x"}
    parts.insert(3, {"type": "content_block_delta", "index": 0,
                     "delta": {"type": "citations_delta", "citation": citation}})  # fmt: skip
    assert json.loads(joined(parts))["content"] == [SAID | {"citations": [citation]}]


def test_changes_of_the_input_are_those_of_the_last_event_that_says_so() -> None:
    dropped = [{"type": "thinking_dropped", "path": "p", "reason": "r"}]
    first = list(events(message(CONTENT, input_transformations=dropped)))
    assert len(decode(joined(first)).adaptations) == 1
    first[-2]["input_transformations"] = []
    assert decode(joined(first)).adaptations == ()


def test_pieces_of_a_block_that_never_began_are_malformed() -> None:
    found = decode(joined(without("content_block_start")))
    assert found.stop == "malformed" and "not joinable" in found.text


@pytest.mark.parametrize("n", [0, 1, 5])
def test_an_error_in_a_stream_is_that_error(n: int) -> None:
    with pytest.raises(ErrorInBody) as caught:
        decode(joined([*list(events(WHOLE))[:n], error("overloaded_error", "Overloaded")]))
    assert b"overloaded_error" in caught.value.body


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"x", b'"x"', b"{", b'{"type":5}'])
def test_an_event_that_is_no_object_is_torn(data: bytes) -> None:
    with pytest.raises(TornReply):
        MESSAGES_WIRE.make_assembler().add_event("message_stop", data)


def test_an_assembler_knows_how_much_it_took() -> None:
    assembler = MESSAGES_WIRE.make_assembler()
    text = "x" * 10_000
    parts: list[Any] = list(events(message([{"type": "text", "text": text}]), 100))
    for part in parts:
        assembler.add_event("", json.dumps(part).encode())
    assert assembler.size_bytes is not None
    assert 10_000 < assembler.size_bytes < 100_000
