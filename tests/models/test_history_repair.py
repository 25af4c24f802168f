"""A history that a server refuses goes again without what no server has to take, on every wire."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.servers import anthropic_server, fake, gemini_server, responses_server

from toolmark.core.errors import Rejected
from toolmark.core.records import Call, Message, Request, Sampling, Text, Tool
from toolmark.models.complaint_outcome import Complaint, refused_settings
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.secret_mask import SecretMask
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import EncoderSettings
from toolmark.models.wires.wire_registry import wire_by_name

USER = Message(role="user", parts=(Text("go"),))
UNANSWERED = Message(role="assistant", calls=(Call(name="lost", arguments='{"a":1', id="c1"),))
ANSWERED = Message(role="assistant", calls=(Call(name="done", arguments="{}", id="c2"),))
RESULT = Message(role="tool", parts=(Text("ok"),), call_id="c2")
HISTORY = Request(messages=(USER, UNANSWERED, USER, ANSWERED, RESULT), tools=(Tool(name="done"),))


def encode(wire: WireName, *, repair: bool) -> tuple[str, set[str]]:
    """Return a body, and the kinds of what was changed."""
    settings = EncoderSettings("m", EndpointProfile(), None, "here")
    encoder = wire_by_name(wire).make_encoder(settings)
    sent = encoder.encode_request(HISTORY, repair_arguments=repair)
    return sent.body.decode(), {each.kind for each in sent.adaptations}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_calls_that_nobody_answered_are_left_out_after_a_refusal_and_noted(wire: WireName) -> None:
    assert "lost" in encode(wire, repair=False)[0]
    body, kinds = encode(wire, repair=True)
    assert "lost" not in body and "done" in body
    assert "content" in kinds


def test_values_that_a_server_repeats_name_no_setting() -> None:
    fault: dict[str, Any] = {
        "type": "extra_forbidden",
        "loc": ["body", "messages", 1, "reasoning_content"],
        "msg": "Extra inputs are not permitted",
        "input": "the user wants the temperature in Oslo",
    }
    complaint = Complaint(json.dumps({"detail": [fault]}).encode(), SecretMask("", ()))
    assert refused_settings(complaint) == {"reasoning_history"}
    assert "Oslo" not in complaint.text


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_more_tools_than_an_endpoint_takes_are_not_sent(wire: WireName) -> None:
    async def ask(n_tools: int) -> int:
        async with fake.serve(fake.answer(500, b"busy")) as server:
            model = EndpointModel(
                server.url, "m", wire=wire_by_name(wire), wire_profile=EndpointProfile(max_tools=2)
            )
            tools = tuple(Tool(name=f"t{i}") for i in range(n_tools))
            with pytest.raises(Rejected, match="at most 2") as caught:
                await model(Request(messages=(USER,), tools=tools, sampling=Sampling()))
            assert (caught.value.kind, caught.value.subject) == ("rejected.unsupported", "tools")
            await model.close()
            return len(server.asked)

    assert asyncio.run(ask(3)) == 0


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_repair_that_helped_is_made_at_once_in_later_requests(wire: WireName) -> None:
    """The server refuses calls that nobody answered, as most do."""

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        is_repaired = b"lost" not in asked.body
        body = SAID[wire] if is_repaired else {"error": {"message": "invalid history"}}
        writer.write(fake.raw(200 if is_repaired else 400, json.dumps(body).encode()))

    async def ask() -> list[bool]:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m", wire=wire_by_name(wire))
            for _ in range(3):
                assert (await model(HISTORY)).text == "hi"
            await model.close()
            return [b"lost" in asked.body for asked in server.asked]

    assert asyncio.run(ask()) == [True, False, False, False]


SAID: dict[WireName, Any] = {
    "chat": fake.says("hi"),
    "responses": responses_server.response([
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "hi", "annotations": []}]}]),
    "anthropic": anthropic_server.message([{"type": "text", "text": "hi"}]),
    "gemini": gemini_server.response([{"text": "hi"}]),
}  # fmt: skip
CALLS = [("lost", "{}", "c1"), ("done", "{}", "c2")]
THINKING: dict[WireName, Any] = {
    "chat": fake.reply({
        "role": "assistant", "content": None, "reasoning_content": "deep thought", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments, id in CALLS]}, finish="tool_calls"),
    "responses": responses_server.response([
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "deep thought"},
        *({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
          for name, arguments, id in reversed(CALLS))]),
    "anthropic": anthropic_server.message([
        {"type": "thinking", "thinking": "deep thought", "signature": "s"},
        *({"type": "tool_use", "id": id, "name": name, "input": {}} for name, _, id in CALLS)]),
    "gemini": gemini_server.response([
        {"text": "deep thought", "thought": True},
        *({"functionCall": {"id": id, "name": name, "args": {}}} for name, _, id in CALLS)]),
}  # fmt: skip


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_thoughts_stay_with_a_reply_of_which_a_call_is_left_out(wire: WireName) -> None:
    settings = EncoderSettings("m", EndpointProfile(), None, "here")
    spoken = wire_by_name(wire)
    body = json.dumps(THINKING[wire]).encode()
    reply = spoken.decode_reply(body, NO_TOOLS, 0.0, "here")
    said = Message(role="assistant", calls=reply.calls, provider_state=reply.provider_state)
    messages = (USER, said, RESULT, USER)
    request = Request(messages=messages, sampling=Sampling(max_tokens=9))
    sent = spoken.make_encoder(settings).encode_request(request, repair_arguments=True)
    assert b"deep thought" in sent.body
    assert b"lost" not in sent.body and b"done" in sent.body
    assert [each.kind for each in sent.adaptations] == ["content", "state_patched"]


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_thoughts_of_other_calls_are_never_patched(wire: WireName) -> None:
    """A state that does not fit its message is dropped, in a repair too."""
    settings = EncoderSettings("m", EndpointProfile(), None, "here")
    spoken = wire_by_name(wire)
    body = json.dumps(THINKING[wire]).encode()
    reply = spoken.decode_reply(body, NO_TOOLS, 0.0, "here")
    others = (Call(name="lost", id="c1"), Call(name="other", id="c2"))
    said = Message(role="assistant", calls=others, provider_state=reply.provider_state)
    messages = (USER, said, RESULT, USER)
    request = Request(messages=messages, sampling=Sampling(max_tokens=9))
    sent = spoken.make_encoder(settings).encode_request(request, repair_arguments=True)
    assert b"deep thought" not in sent.body
    assert "state_dropped" in {each.kind for each in sent.adaptations}
