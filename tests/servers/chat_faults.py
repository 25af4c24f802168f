"""What an endpoint of chat completions alone can do wrong, each with what it must become."""

from __future__ import annotations

from typing import Any

from tests.servers import fake, faults, streams
from tests.servers.faults import OK, Fault, body


def message(said: Any, **more: Any) -> fake.Behaviour:
    """Answer with this as the message."""
    return fake.answer(200, {"choices": [{"message": said, "finish_reason": "stop"}], **more})


def choices(value: Any) -> fake.Behaviour:
    """Answer with this as the choices."""
    return fake.answer(200, {"choices": value, "model": "x"})


def called(call: Any) -> fake.Behaviour:
    """Answer with one tool call of any shape."""
    return message({"content": None, "tool_calls": [call]})


OWN = (
    Fault("an event stream", body(b"data: " + OK + b"\n\ndata: [DONE]\n\n"), "torn"),
    Fault("a choice without message", choices([{}]), "torn"),
    Fault("message null", message(None), "torn"),
    Fault("message a text", message("x"), "torn"),
    Fault("message a list", message([1]), "torn"),
    Fault("content parts", message({"content": [{"type": "text", "text": "x"}]}), "reply:stop"),
    Fault("tool calls an object", message({"tool_calls": {"a": 1}}), "reply:malformed"),
    Fault("tool calls a text", message({"tool_calls": "f()"}), "reply:malformed"),
    Fault("a call of null", called(None), "reply:malformed"),
    Fault("a call without function", called({"id": "x"}), "reply:malformed"),
    Fault("200,000 calls", message(
        {"tool_calls": [{"function": {"name": "f"}}] * 200_000}), "reply:length"),
    Fault("choice with an error", choices([{"error": {"code": 429}}]), "rate_limited"),
    Fault("choice finished by an error", choices(
        [{"message": {"content": ""}, "finish_reason": "error"}]), "unavailable"),
)  # fmt: skip

# --- streams ----------------------------------------------------------------------------


def chunk(**members: Any) -> dict[str, Any]:
    """Write a chunk with these members as its delta."""
    return {"choices": [{"index": 0, "delta": members, "finish_reason": None}]}


STREAMED = (
    Fault("an event stream", body(b"data: " + OK + b"\n\ndata: [DONE]\n\n"), "reply:stop"),
    Fault("stalled before an event", fake.send(streams.CHUNKED_HEAD, then="stall"), "timeout"),
    Fault("comments for ever", faults.repeated(
        streams.CHUNKED_HEAD, b"5\r\n: hi\n\r\n", 0.02), "timeout"),
    Fault("an error of no shape", streams.answer({"error": "broken"}), "unavailable"),
    Fault("many parts", streams.raw_answer(
        b"data: [" + b"{}," * 1_100_000 + b"{}]\n\n"), "torn"),
    Fault("an error after text", streams.answer(
        chunk(content="x"), {"error": {"message": "slow down", "code": 429}}), "rate_limited"),
    Fault("an error at once", streams.answer(
        {"error": {"message": "slow down", "code": 429}}), "rate_limited"),
)  # fmt: skip
"""What an endpoint can do wrong while it streams."""
