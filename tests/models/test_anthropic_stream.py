"""How the pieces of a streamed message are joined: counts, arguments, citations."""

from __future__ import annotations

import json

import pytest
from tests.models.wire_samples import MESSAGES
from tests.models.wire_streams import STREAMS, decode, join
from tests.servers.anthropic_server import events, message

from toolmark.core.errors import TornReply

THOUGHT, SAID, CALL = CONTENT = MESSAGES.said
STREAM = STREAMS["anthropic"]


def test_an_error_after_the_message_has_stopped_takes_nothing_from_it() -> None:
    parts = STREAM.events
    failed = {"type": "error", "error": {"type": "api_error", "message": "gone"}}
    assert json.loads(join(STREAM, [*parts[:-1], failed])) == STREAM.whole
    assert "error" in json.loads(join(STREAM, [*parts[:-2], failed]))


def test_the_last_counts_are_totals_and_absent_ones_stay() -> None:
    found = decode(STREAM, join(STREAM, STREAM.events))
    assert (found.usage.input, found.usage.output, found.usage.cached) == (30, 25, 8)
    parts = STREAM.events
    parts[-2]["usage"] |= {"input_tokens": 50, "cache_read_input_tokens": None}
    found = decode(STREAM, join(STREAM, parts))
    assert (found.usage.input, found.usage.output, found.usage.cached) == (60, 25, 8)


def test_arguments_are_the_characters_of_their_pieces() -> None:
    parts = list(events(message([CALL])))
    pieces = ['{"city":', "  1.0", ', "x": "\\u00e9"}']
    deltas = [
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in pieces
    ]  # fmt: skip
    stored = [part for part in parts if part["type"] != "content_block_delta"]
    body = join(STREAM, [*stored[:3], *deltas, *stored[3:]])
    assert decode(STREAM, body).calls[0].arguments == "".join(pieces)


def test_arguments_that_were_cut_stay_as_they_are() -> None:
    parts = list(events(message([THOUGHT, CALL], stop_reason="max_tokens"), 4))
    last = max(i for i, part in enumerate(parts) if part["type"] == "content_block_delta")
    found = decode(STREAM, join(STREAM, parts[:last] + parts[last + 1 :]))
    assert (found.stop, found.calls[0].arguments) == ("length", '{"city": "Paris"'[:16])


def test_citations_are_part_of_their_text() -> None:
    parts = list(events(message([SAID | {"citations": None}])))
    citation = {"type": "char_location", "cited_text": "x"}
    parts.insert(3, {"type": "content_block_delta", "index": 0,
                     "delta": {"type": "citations_delta", "citation": citation}})  # fmt: skip
    assert json.loads(join(STREAM, parts))["content"] == [SAID | {"citations": [citation]}]


def test_changes_of_the_input_are_those_of_the_last_event_that_says_so() -> None:
    dropped = [{"type": "thinking_dropped", "path": "p", "reason": "r"}]
    first = list(events(message(CONTENT, input_transformations=dropped)))
    assert len(decode(STREAM, join(STREAM, first)).adaptations) == 1
    first[-2]["input_transformations"] = []
    assert decode(STREAM, join(STREAM, first)).adaptations == ()


def test_pieces_of_a_block_that_never_began_are_malformed() -> None:
    parts = [part for part in STREAM.events if part["type"] != "content_block_start"]
    found = decode(STREAM, join(STREAM, parts))
    assert found.stop == "malformed" and "not joinable" in found.text


def test_a_message_without_a_reason_to_stop_is_torn() -> None:
    """Counts may come before the reason, or without it."""
    *parts, last, _ = STREAM.events
    counts = last | {"delta": {"stop_reason": None}}
    with pytest.raises(TornReply):
        join(STREAM, [*parts, counts])
    assert json.loads(join(STREAM, [*parts, counts, last])) == STREAM.whole
