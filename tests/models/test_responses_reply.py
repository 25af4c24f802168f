"""A response is read once: plain ones as neutral records, all others with what must go back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.servers import fake
from tests.servers.responses_server import response

from toolmark.core.errors import EndpointError, RateLimited, Rejected, TornReply, Unavailable
from toolmark.core.json_codec import decode_record, encode_record
from toolmark.core.records import Call, Message, Reply, Request, Text, Usage
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires import reply_parts
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.responses import RESPONSES_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]
HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
THOUGHT: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


def said(text: str, **more: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**message, "content": [part], **more}


def called(name: str = "f", arguments: Any = "{}", id: Any = "call_1", **more: Any) -> Json:
    call = {"type": "function_call", "id": "fc_1", "call_id": id, "status": "completed"}
    return {**call, "name": name, "arguments": arguments, **more}


def decode(body: Json | bytes) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RESPONSES_WIRE.decode_reply(data, NO_TOOLS, 0.5, "here")


def read(*output: Any, **more: Any) -> Reply:
    return decode(response(list(output), **more))


def test_a_plain_reply_needs_no_state() -> None:
    found = read(said("It is sunny."), called("f", '{"a": 1}', "call_7"))
    assert found.text == "It is sunny."
    assert found.calls == (Call(name="f", arguments='{"a": 1}', id="call_7"),)
    assert found.provider_state is None
    assert (found.stop, found.model, found.latency_s) == ("stop", "thinker-1", 0.5)


@pytest.mark.parametrize(
    "output",
    [
        [THOUGHT, said("x")],
        [said("x", phase="final_answer")],
        [said("x", content=[{"type": "output_text", "text": "x", "annotations": [{"a": 1}]}])],
        [said("x"), said("y")],
        [said("x", content=[said("x")["content"][0], said("y")["content"][0]])],
        [called(), said("x")],
        [called(namespace="n")],
        [called(unknown=1)],
        [called(status="incomplete")],
        [{"type": "web_search_call", "id": "ws_1", "status": "completed"}],
        [said("", content=[{"type": "refusal", "refusal": "no"}])],
    ],
)
def test_what_the_records_lack_is_state_in_its_own_bytes(output: list[Json]) -> None:
    text = json.dumps(output, indent=3, ensure_ascii=False)
    body = json.dumps(response([])).replace('"output": []', '"output": ' + text)
    state = decode(body.encode()).provider_state
    assert state is not None
    assert (state.wire, state.origin, state.data) == ("responses", "here", text)


@pytest.mark.parametrize("extra", [{"phase": None}, {"id": None}, {"status": None}])
def test_what_is_null_is_no_state(extra: Json) -> None:
    assert read(said("x", **extra)).provider_state is None


def test_thoughts_are_read_where_they_are_readable() -> None:
    summary = [{"type": "summary_text", "text": part} for part in ("First.", "Then.")]
    own = {"type": "reasoning", "id": "rs_2", "summary": summary[:1],
           "content": [{"type": "reasoning_text", "text": "Own words."}]}  # fmt: skip
    assert read({**THOUGHT, "summary": summary}, said("x")).reasoning == "First.\n\nThen."
    assert read(own, said("x")).reasoning == "Own words."


@pytest.mark.parametrize(
    ("status", "reason", "stop", "finish"),
    [
        ("completed", None, "stop", ""),
        (None, None, "stop", ""),
        ("incomplete", "max_output_tokens", "length", ""),
        ("incomplete", "content_filter", "refused", "content_filter"),
        ("incomplete", "max_messages", "length", "max_messages"),
        ("incomplete", None, "length", ""),
    ],
)
def test_how_a_reply_ended(status: str | None, reason: str | None, stop: str, finish: str) -> None:
    details = None if reason is None else {"reason": reason}
    found = read(said("x"), status=status, incomplete_details=details)
    assert (found.stop, found.finish) == (stop, finish)


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
def test_a_response_that_is_not_finished_is_torn(status: str) -> None:
    with pytest.raises(TornReply):
        read(said("x"), status=status)


def test_a_refusal_is_the_text_of_a_refused_reply() -> None:
    found = read(said("", content=[{"type": "refusal", "refusal": "I cannot."}]))
    assert (found.text, found.stop) == ("I cannot.", "refused")


def test_usage_is_counted_with_what_was_cached_and_thought() -> None:
    assert read(THOUGHT, said("x")).usage == Usage(
        input=30, output=25, reasoning=5, cached=8, cache_written=2
    )
    assert read(said("x"), usage=None).usage == Usage()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", RateLimited),
        ("server_error", Unavailable),
        ("vector_store_timeout", Unavailable),
        ("invalid_image", Rejected),
        ("context_length_exceeded", "over_long"),
        ("invalid_prompt", "refused"),
        ("bio_policy", "refused"),
        ("misalignment_policy_violation", "refused"),
        ("image_content_policy_violation", "refused"),
    ],
)
@pytest.mark.parametrize("form", ["failed", "error"])
def test_a_failed_response_is_what_its_code_says(code: str, kind: Any, form: str) -> None:
    error = {"code": code, "message": "it says why"}
    body = response([], status="failed", error=error) if form == "failed" else {"error": error}

    async def ask() -> Reply | EndpointError:
        async with fake.serve(fake.answer(200, body)) as server:
            model = EndpointModel(server.url, "m", wire=RESPONSES_WIRE)
            try:
                return await model(HELLO)
            except EndpointError as found:
                return found
            finally:
                await model.close()

    found = asyncio.run(ask())
    assert found.stop == kind if isinstance(found, Reply) else type(found) is kind


def test_a_failed_response_without_a_reason_is_an_error() -> None:
    with pytest.raises(ErrorInBody):
        read(status="failed")


# --- shapes that no documentation has ---------------------------------------------------


@pytest.mark.parametrize(
    ("output", "text", "arguments"),
    [
        ([{"type": "message", "content": "plain"}], "plain", []),
        ([called(arguments={"a": [1]})], "", ['{"a": [1]}']),
        ([called(arguments=None)], "", ["{}"]),
        ([called(id=5)], "", ["{}"]),
        ([{"type": "message", "content": None}], "", []),
        ([{"no": "type"}, {"type": 5}, said("x")], "x", []),
        ([], "", []),
    ],
)
def test_other_shapes_are_read_as_far_as_they_can_be(
    output: list[Any], text: str, arguments: list[str]
) -> None:
    found = read(*output)
    assert found.text == text
    assert [call.arguments for call in found.calls] == arguments
    assert found.stop == "stop"


@pytest.mark.parametrize(
    "item",
    [
        None, "x", 5, {"type": "message", "content": 5}, {"type": "message", "content": [5]},
        {"type": "message", "content": [{"text": 5}]}, {"type": "function_call"},
        {"type": "function_call", "name": 5}, {"type": "reasoning", "summary": "x", "content": 1},
    ],
)  # fmt: skip
def test_items_of_the_wrong_shape_are_malformed(item: Any) -> None:
    assert read(item).stop == "malformed"


def test_lone_surrogates_are_stored_and_go_back() -> None:
    body = json.dumps(response([THOUGHT, said("x\ud800")])).encode()
    found = decode(body)
    assert decode_record(encode_record(found), Reply) == found
    assert found.provider_state is not None
    assert json.loads(found.provider_state.data) == [THOUGHT, said("x\ud800")]


def test_what_is_too_long_is_cut_but_what_goes_back_is_not() -> None:
    text = "x" * (reply_parts.MAX_TEXT_CHARS + 1000)
    found = read(THOUGHT, said(text), *[called()] * 3)
    assert found.stop == "length" and len(found.text) < len(text) and found.defects
    assert found.provider_state is not None and text in found.provider_state.data
    many = read(*[called()] * (reply_parts.MAX_CALLS + 5))
    assert len(many.calls) == reply_parts.MAX_CALLS and many.stop == "length"


def test_a_key_in_what_goes_back_is_refused() -> None:
    key = "sk-very-secret-key"
    body = response([{**THOUGHT, "encrypted_content": key}, said("x")])

    async def ask() -> None:
        async with fake.serve(fake.answer(200, body)) as server:
            model = EndpointModel(server.url, "m", wire=RESPONSES_WIRE, key=key)
            try:
                await model(HELLO)
            finally:
                await model.close()

    with pytest.raises(Rejected, match="the reply holds the key"):
        asyncio.run(ask())
