"""A streamed response is the reply that would have come whole; a torn one is torn."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models.test_responses_request import OUTPUT
from tests.servers.responses_server import events, response

from toolmark.core.errors import TornReply
from toolmark.core.records import Reply
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.responses import RESPONSES_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]
WHOLE = response(OUTPUT)


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


def test_the_mark_of_the_end_alone_is_no_end() -> None:
    assembler = RESPONSES_WIRE.make_assembler()
    assert assembler.add_event("", b" [DONE]") == "" and not assembler.has_ended
    with pytest.raises(TornReply):
        assembler.whole_body()
