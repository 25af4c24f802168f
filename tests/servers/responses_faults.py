"""What an endpoint of the Responses API can do wrong, each with what it must become."""

from __future__ import annotations

from typing import Any

from tests.servers import fake, faults
from tests.servers.faults import (
    MEGA,
    OK,
    Fault,
    body,
)
from tests.servers.responses_server import events, response, write_events

OUTPUT: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "It is sunny.", "annotations": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
     "arguments": '{"city": "Paris"}', "status": "completed"},
]  # fmt: skip


def output(value: Any, **more: Any) -> fake.Behaviour:
    """Answer with this as the output."""
    return body(response([]) | {"output": value} | more)


def item(**more: Any) -> fake.Behaviour:
    """Answer with one item."""
    return output([more])


def said(content: Any) -> fake.Behaviour:
    """Answer with a message of this content."""
    return item(type="message", content=content)


def failed(code: Any, **more: Any) -> fake.Behaviour:
    """Answer with a response that failed."""
    return output([], status="failed", error={"code": code, "message": "no"} | more)


def usage(value: Any) -> fake.Behaviour:
    """Answer with this usage."""
    return output(OUTPUT, usage=value)


OWN = (
    Fault("an event stream", body(b"data: " + OK + b"\n\ndata: [DONE]\n\n"), "torn"),
    Fault("a chat completion", body(fake.says("fine")), "torn"),
    Fault("an unknown item of 900 brackets", body(
        b'{"output":[{"type":"x","y":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:stop"),
    Fault("an item of an unknown type", item(type="hologram", beam=5), "reply:stop"),
    Fault("a type that is a number", item(type=5), "reply:stop"),
    Fault("content null", said(None), "reply:stop"),
    Fault("content a text", said("fine"), "reply:stop"),
    Fault("content a number", said(5), "reply:malformed"),
    Fault("content numbers", said([1]), "reply:malformed"),
    Fault("a part of another kind", said([{"type": "audio", "data": "x"}]), "reply:stop"),
    Fault("a refusal", said([{"type": "refusal", "refusal": "no"}]), "reply:refused"),
    Fault("a refusal that is a number", said([{"type": "refusal", "refusal": 5}]),
        "reply:malformed"),
    Fault("a thought without parts", item(type="reasoning"), "reply:stop"),
    Fault("a thought that is a text", item(type="reasoning", summary="x"), "reply:stop"),
    Fault("a thought of numbers", item(type="reasoning", summary=[1]), "reply:malformed"),
    Fault("a ciphertext that is a number", item(
        type="reasoning", summary=[], encrypted_content=5), "reply:stop"),
    Fault("status queued", output(OUTPUT, status="queued"), "torn"),
    Fault("status cancelled", output(OUTPUT, status="cancelled"), "torn"),
    Fault("incomplete for no reason", output(OUTPUT, status="incomplete"), "reply:length"),
    Fault("incomplete details a text", output(
        OUTPUT, status="incomplete", incomplete_details="x"), "reply:length"),
    Fault("a ciphertext of 2 MB", item(
        type="reasoning", id="rs", summary=[], encrypted_content="x" * 2 * MEGA), "reply:stop"),
    Fault("failed without a reason", output([], status="failed"), "unavailable"),
    Fault("failed by an error of the server", failed("server_error"), "unavailable"),
    Fault("failed by the rate", failed("rate_limit_exceeded"), "rate_limited"),
    Fault("failed by a filter", failed("bio_policy"), "reply:refused"),
    Fault("failed by a picture", failed("invalid_image"), "rejected.other"),
    Fault("failed by the length", failed("context_length_exceeded"), "reply:over_long"),
    Fault("failed for a reason unknown", failed("because"), "unavailable"),
    Fault("failed by a number", failed(5), "unavailable"),
    Fault("failed by a text", output([], status="failed", error="no"), "unavailable"),
    Fault("failed with 2 MB of reasons", failed("x", message="x" * 2 * MEGA), "unavailable"),
    Fault("thoughts that were lost", faults.error(
        {"message": "Item with id 'rs_1' not found."}, 404), "rejected.other"),
    Fault("thoughts that were changed", faults.error(
        {"code": "invalid_encrypted_content", "message": "no"}, 400), "rejected.other"),
)  # fmt: skip

# --- streams ----------------------------------------------------------------------------

_WHOLE = response(OUTPUT)
_EVENTS = list(events(_WHOLE))


def streamed(*parts: Any, end: bytes = b"") -> fake.Behaviour:
    """Answer with these values as events."""
    return body(write_events(iter(parts)) + end, headers={"content-type": "text/event-stream"})


def _ended(**more: Any) -> fake.Behaviour:
    """Answer with a stream whose last event has other members."""
    return streamed(*_EVENTS[:-1], _EVENTS[-1] | more)


STREAMED = (
    Fault("ended by a text", _ended(response="x"), "torn"),
    Fault("ended by null", _ended(response=None), "torn"),
    Fault("ended by an empty response", _ended(response={}), "reply:stop"),
    Fault("ended without output", _ended(response=_WHOLE | {"output": None}), "torn"),
    Fault("ended queued", _ended(response=_WHOLE | {"status": "queued"}), "torn"),
    Fault("cut", _ended(type="response.incomplete", response=_WHOLE | {
        "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
        "reply:length"),
    Fault("failed", _ended(type="response.failed", response=_WHOLE | {
        "status": "failed", "error": {"code": "rate_limit_exceeded"}}), "rate_limited"),
    Fault("an item of text", streamed({
        "type": "response.output_item.done", "output_index": 0, "item": "x"}), "torn"),
    Fault("an index of text", streamed({
        "type": "response.output_item.done", "output_index": "0", "item": {}}), "torn"),
    Fault("a call without name", streamed(
        {"type": "response.output_item.done", "item": {"type": "function_call"}},
        {"type": "response.completed", "response": {"output": []}}), "reply:malformed"),
    Fault("an error of the length", streamed({
        "type": "error", "error": {"code": "context_length_exceeded"}}), "reply:over_long"),
    Fault("a text of 2 MB", streamed(
        {"type": "response.output_item.done", "item": {"type": "message", "content": [
            {"type": "output_text", "text": "x" * 2 * MEGA}]}},
        {"type": "response.completed", "response": {"output": []}}), "reply:length"),
)  # fmt: skip
"""What an endpoint can do wrong while it streams, beside what all can."""
