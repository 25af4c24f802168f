"""A body is read alike, fast or by the standard library, and no body raises anything unknown."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec.structs import asdict
from tests.servers.wire_bodies import BODIES

from toolmark.core.errors import EndpointError
from toolmark.core.records import Reply
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
N_BODIES = 1_500
VALUES: tuple[Any, ...] = (
    None, 0, 1, -1, 2.5, 10**30, True, False, "", "x", [], {}, [1], ["a"], [None], {"a": 1},
    {"type": "text"}, {"type": "text", "text": "t"}, [{"type": "text", "text": "q"}], "length",
    "stop", "error", "refusal", "incomplete", "failed", "SAFETY", '{"a": 1}',
)  # fmt: skip
MEMBERS = ("thinking", "reasoning", "signature", "text", "type", "name", "id", "error", "refusal")
MORE: dict[WireName, tuple[Any, ...]] = {
    "chat": (
        {"reasoning_content": "r", "refusal": None},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": None}]},
    ),
    "responses": (
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}],
         "encrypted_content": "e"},
        {"type": "message", "phase": "final", "content": [{"type": "refusal", "refusal": "no"}]},
    ),
    "anthropic": (
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ),
    "gemini": ({"text": "t", "thought": True}, {"text": "hi", "thoughtSignature": "s"}),
}  # fmt: skip


def bodies(wire: WireName) -> list[Json]:
    """Return bodies with text, calls, thoughts and counts."""
    made = BODIES[wire]
    said = [made.text("hi"), made.call("f", "c1", {} if wire != "chat" else "{}")]
    usage = {made.usage: {made.usage_input: 5}}
    return [
        made.body(*said, **usage),
        made.body(made.text("hi")),
        made.body(*MORE[wire], *said),
        *(made.body(each) for each in MORE[wire]),
    ]


def paths(value: Any, start: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a body."""
    if start:
        yield start
    named = value.items() if isinstance(value, dict) else ()
    for name, part in enumerate(value) if isinstance(value, list) else named:
        yield from paths(part, (*start, name))


def damage(rng: Random, body: Json) -> Json:
    """Return a body with one to three parts changed."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 2, 3))):
        *way, last = rng.choice(list(paths(body)) or [("model",)])
        parent: Any = body
        for name in way:
            parent = parent[name]
        how = rng.random()
        if how < 0.25:
            if isinstance(parent, list) or last in parent:
                del parent[last]
        elif how < 0.75:
            parent[last] = copy.deepcopy(rng.choice(VALUES))
        elif isinstance(parent, list):
            parent.insert(last, copy.deepcopy(rng.choice(parent)))
        else:
            parent[rng.choice(MEMBERS)] = copy.deepcopy(rng.choice(VALUES))
    return body


def read(wire: WireName, body: Json, model: Any) -> Any:
    """Return all that a body says but for its model; a wrong one keeps it from the fast way."""
    body = body | {BODIES[wire].model: model}
    try:
        reply = wire_by_name(wire).decode_reply(json.dumps(body).encode(), NO_TOOLS, 0.0, "o")
    except (EndpointError, ErrorInBody) as error:
        return type(error)
    return _comparable(reply)


def _comparable(reply: Reply) -> Json:
    found = asdict(reply) | {"model": ""}
    state = reply.provider_state
    found["provider_state"] = state and json.loads(state.data)
    found["calls"] = [(call.name, _parsed(call.arguments), call.id) for call in reply.calls]
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_body_is_read_alike_on_both_ways(wire: WireName) -> None:
    rng = Random(f"ways of {wire}")
    known = bodies(wire)
    n_replies = 0
    for _ in range(N_BODIES):
        body = damage(rng, rng.choice(known))
        fast = read(wire, body, "m")
        assert read(wire, body, 5) == fast, json.dumps(body)
        n_replies += isinstance(fast, dict)
    assert n_replies > N_BODIES / 3


@pytest.mark.parametrize("model", ["m", 5])
def test_a_block_without_its_text_is_empty(model: Any) -> None:
    blocks = [
        {"type": "text"},
        {"type": "thinking", "signature": "s"},
        {"type": "text", "text": "a"},
    ]
    reply = read("anthropic", BODIES["anthropic"].body(*blocks), model)
    assert (reply["text"], reply["stop"]) == ("a", "stop")
    assert reply["provider_state"]["content"] == blocks


@pytest.mark.parametrize("model", ["m", 5])
def test_a_content_that_is_a_list_has_its_parts(model: Any) -> None:
    body = {"candidates": [{"content": [{"text": "hi"}], "finishReason": "STOP"}]}
    assert read("gemini", body, model)["text"] == "hi"


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_a_long_integer_of_a_call_stays_one(wire: WireName) -> None:
    made = BODIES[wire]
    body = made.body(made.call("f", "c1", {"a": 10**30}))
    for model in ("m", 5):
        assert read(wire, body, model)["calls"] == [("f", {"a": 10**30}, "c1")]
