"""A message is read once: plain ones as neutral records, all others with what must go back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.servers import fake
from tests.servers.anthropic_server import Json, error, events, message, write_events

from toolmark.core.errors import EndpointError, Rejected, TornReply, Unavailable
from toolmark.core.json_codec import decode_record, encode_record
from toolmark.core.records import Call, Message, Reply, Request, Text, Usage
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires import reply_parts
from toolmark.models.wires.anthropic_messages import MESSAGES_WIRE
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
THOUGHT: Json = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}


def said(text: str, **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


def called(name: str = "f", input: Any = None, **more: Any) -> Json:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": input or {}, **more}


def decode(body: Json | bytes) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return MESSAGES_WIRE.decode_reply(data, NO_TOOLS, 0.5, "here")


def read(*content: Any, **more: Any) -> Reply:
    return decode(message(list(content), **more))


def test_a_plain_reply_needs_no_state() -> None:
    found = read(said("It is sunny.", citations=None), called("f", {"a": 1}))
    assert found.text == "It is sunny."
    assert found.calls == (Call(name="f", arguments='{"a": 1}', id="toolu_1"),)
    assert found.provider_state is None
    assert (found.stop, found.finish, found.model) == ("stop", "", "thinker-1")
    assert found.latency_s == 0.5


@pytest.mark.parametrize(
    "content",
    [
        [THOUGHT, said("x")],
        [{"type": "redacted_thinking", "data": "x"}, said("x")],
        [called(), said("x")],
        [said("x"), said("y")],
        [said("x", citations=[{"type": "char_location"}])],
        [called(caller={"type": "direct"})],
        [said("x"), {"type": "hologram"}],
        [called(input="x")],
        [said("\ud800"), THOUGHT],
    ],
)
def test_all_else_is_state_whole(content: list[Json]) -> None:
    found = read(*content)
    assert found.provider_state is not None
    assert json.loads(found.provider_state.data)["content"] == content
    assert (found.provider_state.wire, found.provider_state.origin) == ("anthropic", "here")
    assert decode_record(encode_record(found), Reply) == found


def test_what_a_message_says() -> None:
    found = read(
        THOUGHT, said("a"), THOUGHT | {"thinking": ""}, called("f"), THOUGHT, said("b"),
        called("g", {"x": [1, 2.0]}, id="toolu_2"),
    )  # fmt: skip
    assert (found.text, found.reasoning) == ("ab", "I look.\n\nI look.")
    assert [(call.name, call.arguments, call.id) for call in found.calls] == [
        ("f", "{}", "toolu_1"), ("g", '{"x": [1, 2.0]}', "toolu_2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "details", "stop", "finish"),
    [
        ("end_turn", None, "stop", ""),
        ("tool_use", None, "stop", ""),
        ("stop_sequence", None, "stop", "stop_sequence"),
        ("max_tokens", None, "length", ""),
        ("model_context_window_exceeded", None, "over_long", "model_context_window_exceeded"),
        ("refusal", None, "refused", "refusal"),
        ("refusal", {"type": "refusal", "category": "cyber"}, "refused", "refusal: cyber"),
        ("refusal", {"type": "refusal", "category": None}, "refused", "refusal"),
        ("pause_turn", None, "length", "pause_turn"),
        ("perhaps", None, "stop", "perhaps"),
        (None, None, "stop", ""),
    ],
)
def test_how_a_message_ended(reason: Any, details: Any, stop: str, finish: str) -> None:
    found = read(said("x"), stop_reason=reason, stop_details=details)
    assert (found.stop, found.finish) == (stop, finish)


def test_input_includes_what_was_read_from_the_cache_and_put_in_it() -> None:
    assert read(THOUGHT, said("x")).usage == Usage(
        input=30, output=25, reasoning=5, cached=8, cache_written=2
    )
    counts = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None}
    assert read(said("x"), usage=counts).usage == Usage(input=3, output=4)
    wrong = read(said("x"), usage={"input_tokens": 3, "cache_read_input_tokens": -1})
    assert wrong.usage == Usage() and "input, cached" in wrong.defects[0]


def test_thoughts_that_the_endpoint_left_out_are_counted() -> None:
    changes = [{"type": "thinking_dropped", "path": "p", "reason": "r"}] * 2
    other = {"type": "thinking_mismatch_allowed", "path": "p", "reason": "r"}
    for content in ([said("x")], [said("\ud800")]):
        found = read(*content, input_transformations=[*changes, other])
        assert [each.kind for each in found.adaptations] == ["state_dropped"]
        assert "left out 2 thoughts" in found.adaptations[0].detail
    assert read(said("x"), input_transformations=[]).adaptations == ()


def test_an_error_under_200_is_that_error() -> None:
    for kind in ("overloaded_error", "api_error"):
        with pytest.raises(ErrorInBody) as caught:
            decode(error(kind, "no"))
        assert kind.encode() in caught.value.body


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"x", b'{"content":null}', b"\xff"])
def test_a_body_that_is_no_message_is_torn(body: bytes) -> None:
    with pytest.raises(TornReply):
        decode(body)


def test_what_is_long_is_cut_but_not_what_goes_back() -> None:
    text = "x" * (reply_parts.MAX_TEXT_CHARS + 5)
    found = read(THOUGHT | {"thinking": text}, said("short"))
    assert found.stop == "length" and len(found.reasoning) < len(text) + 50
    assert found.provider_state is not None and text in found.provider_state.data


# --- over the transport -----------------------------------------------------------------


def ask(*steps: fake.Behaviour, **more: Any) -> tuple[Reply | EndpointError, list[fake.Asked]]:
    """Ask once an endpoint that answers so."""

    async def go() -> tuple[Reply | EndpointError, list[fake.Asked]]:
        async with fake.serve(fake.script(*steps)) as server:
            model = EndpointModel(
                server.url, "m", wire=MESSAGES_WIRE, key="k" * 20, key_name="KEY", **more
            )
            try:
                return await model(HELLO), server.asked
            except EndpointError as failure:
                return failure, server.asked
            finally:
                await model.close()

    return asyncio.run(go())


def whole(body: Json, *, stream: bool) -> fake.Behaviour:
    """Answer with a message, whole or as a stream."""
    if not stream:
        return fake.answer(200, body)
    return fake.answer(200, write_events(events(body)), {"content-type": "text/event-stream"})


def test_the_key_is_sent_in_its_own_header() -> None:
    found, (asked,) = ask(fake.answer(200, message([said("x")])))
    assert isinstance(found, Reply)
    assert asked.target == "/v1/messages"
    assert asked.headers["x-api-key"] == "k" * 20 and "authorization" not in asked.headers
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in asked.headers


def test_a_state_that_holds_the_key_is_refused() -> None:
    found, _ = ask(fake.answer(200, message([THOUGHT | {"signature": "k" * 20}, said("x")])))
    assert isinstance(found, Rejected) and "holds the key (KEY)" in str(found)


SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_paused_message_goes_on_and_is_one_reply(stream: bool) -> None:
    first = message([THOUGHT, SEARCH], stop_reason="pause_turn")
    second = message([THOUGHT, said("a")], stop_reason="pause_turn")
    third = message([called()])
    steps = [whole(each, stream=stream) for each in (first, second, third)]
    found, asked = ask(*steps, is_stream=stream)
    assert isinstance(found, Reply)
    assert (found.stop, found.text, len(found.calls)) == ("stop", "a", 1)
    assert found.usage == Usage(input=90, output=70, reasoning=10, cached=24, cache_written=6)
    assert found.provider_state is not None
    content = json.loads(found.provider_state.data)["content"]
    assert content == [THOUGHT, SEARCH, THOUGHT, said("a"), called()]
    sent = [each.json["messages"] for each in asked]
    assert sent[0] == [{"role": "user", "content": "hello"}]
    assert sent[1] == [*sent[0], {"role": "assistant", "content": [THOUGHT, SEARCH]}]
    assert sent[2] == [*sent[0], {"role": "assistant", "content": content[:4]}]


def test_a_message_that_always_pauses_ends() -> None:
    found, asked = ask(fake.answer(200, message([said("x")], stop_reason="pause_turn")))
    assert isinstance(found, Reply) and (found.stop, found.finish) == ("length", "pause_turn")
    assert len(asked) == 9


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        (fake.answer(529, error("overloaded_error", "no")), Unavailable),
        (fake.answer(200, error("overloaded_error", "no")), Unavailable),
        (fake.answer(200, {"content": 5}), TornReply),
        (fake.answer(200, b"{"), TornReply),
    ],
)
def test_a_pause_that_ends_badly_is_that_failure(rest: fake.Behaviour, kind: type) -> None:
    paused = fake.answer(200, message([said("x")], stop_reason="pause_turn"))
    found, _ = ask(paused, rest)
    assert isinstance(found, kind)


def test_models_are_listed_with_the_same_key() -> None:
    async def go() -> tuple[Any, list[fake.Asked]]:
        listed = {"data": [{"id": "claude-a", "type": "model"}], "has_more": False}
        async with fake.serve(fake.answer(200, listed)) as server:
            model = EndpointModel(f"{server.url}?a=b", "m", wire=MESSAGES_WIRE, key="k" * 20)
            try:
                return await model.list_models(), server.asked
            finally:
                await model.close()

    names, (asked,) = asyncio.run(go())
    assert names == ("claude-a",)
    assert asked.target == "/v1/models?limit=1000&a=b"
    assert asked.headers["x-api-key"] == "k" * 20
