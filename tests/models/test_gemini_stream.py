"""A streamed generateContent response is the reply that would have come whole, or torn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.models.drawn_parts import CALL_PARTS, SPOKEN_PARTS, TEXTS
from tests.models.wire_samples import GEMINI
from tests.servers.gemini_server import events, response, said

from toolmark.core.errors import TornReply
from toolmark.core.records import Reply
from toolmark.models.wires.gemini import GEMINI_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]
PARTS = GEMINI.said
SIGNED: Json = {"text": "Done.", "thoughtSignature": "c2ln"}


def decode(body: bytes) -> Reply:
    return GEMINI_WIRE.decode_reply(body, NO_TOOLS, 0.0, "here")


def stateless(reply: Reply) -> Reply:
    """Return a reply without its state, and its arguments without the spaces of a whole body."""
    calls = tuple(
        replace(call, arguments=json.dumps(json.loads(call.arguments))) for call in reply.calls
    )
    return replace(reply, provider_state=None, calls=calls)


def state_parts(reply: Reply) -> list[Json]:
    """Return the parts that go back."""
    if reply.provider_state is None:
        texts: list[Json] = [{"text": reply.text}] if reply.text else []
        return texts + [
            {"functionCall": {"name": c.name, "args": json.loads(c.arguments), "id": c.id}}
            for c in reply.calls
        ]
    found: list[Json] = json.loads(reply.provider_state.data)["parts"]
    return found


def joined(parts: Iterable[Json]) -> bytes:
    assembler = GEMINI_WIRE.make_assembler()
    for part in parts:
        assembler.add_event("", json.dumps(part).encode())
    return assembler.whole_body()


def signed(parts: list[Json]) -> list[Json]:
    return [part for part in parts if "thoughtSignature" in part]


@given(st.lists(SPOKEN_PARTS | CALL_PARTS, min_size=1, max_size=6), st.integers(1, 30))
def test_a_stream_is_the_same_reply(parts: list[Json], n: int) -> None:
    whole = decode(json.dumps(response(parts)).encode())
    streamed = decode(joined(events(response(parts), n)))
    assert stateless(streamed) == stateless(whole)
    back = state_parts(streamed)
    assert said(back) == said(parts)
    # signatures stand where they stood: on a call, or after the text that they sign
    assert [part["thoughtSignature"] for part in signed(back)] == [
        part["thoughtSignature"] for part in signed(parts)
    ]
    for part in signed(back):
        if "text" in part:
            assert part["text"] == ""
        else:
            assert part in parts


@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=5))
def test_texts_are_joined_up_to_a_signature_and_no_further(texts: list[str]) -> None:
    pieces: list[Json] = [{"text": text} for text in texts]
    parts = [*pieces, SIGNED, *pieces, {"text": "x", "thought": True}, *pieces]
    unfinished = [response([part], None) for part in parts]
    found = state_parts(decode(joined([*unfinished, response([])])))
    text = "".join(texts)
    assert found == [
        {"text": text}, SIGNED, {"text": text}, {"text": "x", "thought": True}, {"text": text},
    ]  # fmt: skip


def test_a_blocked_request_is_refused_in_a_stream() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}
    assert decode(joined([blocked])).stop == "refused"


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"x", b'"x"', b"{", b'{"candidates":5}',
                                  b"[DONE]", b'{"candidates":[5]}'])  # fmt: skip
def test_an_event_that_is_no_response_is_torn(data: bytes) -> None:
    with pytest.raises(TornReply):
        GEMINI_WIRE.make_assembler().add_event("", data)


def test_an_empty_text_at_the_end_is_no_part() -> None:
    call = PARTS[2]
    unfinished = [response([part], None) for part in (call, {"text": ""})]
    assert state_parts(decode(joined([*unfinished, response([])]))) == [call]
