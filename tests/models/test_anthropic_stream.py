"""A streamed message is the reply that would have come whole; a torn one is torn."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from msgspec.structs import replace
from tests.models.test_anthropic_request import CALL, CONTENT, SAID, THOUGHT
from tests.servers.anthropic_server import Json, events, message

from toolmark.core.records import Reply
from toolmark.models.wires.anthropic_messages import MESSAGES_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS

WHOLE = message(CONTENT)


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


def test_an_error_after_the_message_has_stopped_takes_nothing_from_it() -> None:
    parts = list(events(WHOLE))
    failed = {"type": "error", "error": {"type": "api_error", "message": "gone"}}
    assert json.loads(joined([*parts[:-1], failed])) == WHOLE
    assert "error" in json.loads(joined([*parts[:-2], failed]))


def test_the_last_counts_are_totals_and_absent_ones_stay() -> None:
    found = decode(joined(events(WHOLE)))
    assert (found.usage.input, found.usage.output, found.usage.cached) == (30, 25, 8)
    parts = list(events(WHOLE))
    parts[-2]["usage"] |= {"input_tokens": 50, "cache_read_input_tokens": None}
    found = decode(joined(parts))
    assert (found.usage.input, found.usage.output, found.usage.cached) == (60, 25, 8)


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
