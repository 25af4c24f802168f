"""What an endpoint of the Messages API can do wrong, each with what it must become."""

from __future__ import annotations

from typing import Any

from tests.servers import fake, faults
from tests.servers.anthropic_server import error, events, message, write_events
from tests.servers.faults import (
    CHUNKED,
    MEGA,
    OK,
    Fault,
    body,
)

CONTENT: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "I look.", "signature": "c2lnbmVk"},
    {"type": "text", "text": "It is sunny."},
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
]


def content(value: Any, **more: Any) -> fake.Behaviour:
    """Answer with this as the content."""
    return body(message([]) | {"content": value} | more)


def block(**more: Any) -> fake.Behaviour:
    """Answer with one block."""
    return content([more])


def ended(reason: Any, **more: Any) -> fake.Behaviour:
    """Answer with a message that ended so."""
    return content(CONTENT, stop_reason=reason, **more)


def usage(value: Any) -> fake.Behaviour:
    """Answer with this usage."""
    return content(CONTENT, usage=value)


def refused(kind: str, text: str, status: int) -> fake.Behaviour:
    """Answer with an error."""
    return body(error(kind, text), status)


OWN = (
    Fault("an event stream", body(b"data: " + OK + b"\n\ndata: [DONE]\n\n"), "torn"),
    Fault("a chat completion", body(fake.says("fine")), "torn"),
    Fault("an unknown block of 900 brackets", body(
        b'{"content":[{"type":"x","y":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:stop"),
    Fault("a block of an unknown type", block(type="hologram", beam=5), "reply:stop"),
    Fault("a type that is a number", block(type=5), "reply:malformed"),
    Fault("a text that is missing", block(type="text"), "reply:stop"),
    Fault("a thought that is a number", block(type="thinking", thinking=5), "reply:malformed"),
    Fault("a thought without its signature", block(
        type="thinking", thinking="x"), "reply:stop"),
    Fault("a signature that is a number", block(
        type="thinking", thinking="x", signature=5), "reply:stop"),
    Fault("a redacted thought without data", block(type="redacted_thinking"), "reply:stop"),
    Fault("stop at the limit", ended("max_tokens"), "reply:length"),
    Fault("stop at the window", ended("model_context_window_exceeded"), "reply:over_long"),
    Fault("a refusal", ended("refusal", stop_details={
        "type": "refusal", "category": "cyber"}), "reply:refused"),
    Fault("a refusal without details", ended("refusal"), "reply:refused"),
    Fault("details of a stop a text", ended("refusal", stop_details="x"), "reply:refused"),
    Fault("a pause that never ends", ended("pause_turn"), "reply:length"),
    Fault("a pause without content", content([], stop_reason="pause_turn"), "reply:length"),
    Fault("changes of the input a text", content(
        CONTENT, input_transformations="x"), "reply:stop"),
    Fault("changes of the input numbers", content(
        CONTENT, input_transformations=[5]), "reply:stop"),
    Fault("a signature of 2 MB", content(
        [CONTENT[0] | {"signature": "x" * 2 * MEGA}, CONTENT[1]]), "reply:stop"),
    Fault("a thought of 2 MB", content(
        [CONTENT[0] | {"thinking": "x" * 2 * MEGA}, CONTENT[1]]), "reply:length"),
    Fault("an error of the rate", body(error("rate_limit_error", "slow")), "rate_limited"),
    Fault("an error of the server", body(error("api_error", "no")), "unavailable"),
    Fault("an overloaded server", body(error("overloaded_error", "Overloaded")), "unavailable"),
    Fault("an error of time", body(error("timeout_error", "no")), "unavailable"),
    Fault("an error of the bill", body(error("billing_error", "no")), "rejected.billing"),
    Fault("an error that is a text", body({"type": "error", "error": "no"}), "unavailable"),
    Fault("an error that is null", body({"type": "error", "error": None}), "unavailable"),
    Fault("an error of 2 MB", body(error("x", "x" * 2 * MEGA)), "unavailable"),
    Fault("529 in words", refused("overloaded_error", "Overloaded", 529), "unavailable"),
    Fault("504", refused("timeout_error", "Timed out", 504), "unavailable"),
    Fault("no credit", refused(
        "invalid_request_error", "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits.", 400), "rejected.billing"),
    Fault("402 in words", refused("billing_error", "no", 402), "rejected.billing"),
    Fault("no key", refused("authentication_error", "invalid x-api-key", 401), "rejected.auth"),
    Fault("not allowed", refused("permission_error", "no", 403), "rejected.auth"),
    Fault("no such model", refused("not_found_error", "model: x", 404), "rejected.not_found"),
    Fault("prompt too long", refused(
        "invalid_request_error", "prompt is too long: 211180 tokens > 200000 maximum", 400),
        "reply:over_long"),
    Fault("prompt and limit too long", refused(
        "invalid_request_error", "input length and `max_tokens` exceed context limit: 178959 + "
        "64000 > 200000, decrease input length or `max_tokens` and try again", 400),
        "reply:over_long"),
    Fault("413 in words", refused(
        "request_too_large", "Request exceeds the maximum size", 413), "reply:over_long"),
    Fault("a filter", refused(
        "invalid_request_error", "Output blocked by content filtering policy", 400),
        "reply:refused"),
    Fault("a thought that was changed", refused(
        "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block",
        400), "rejected.other"),
    Fault("a limit beyond the model", refused(
        "invalid_request_error", "max_tokens: 100000 > 64000, which is the maximum allowed "
        "number of output tokens for this model", 400), "rejected.other"),
)  # fmt: skip

# --- streams ----------------------------------------------------------------------------

_WHOLE = message(CONTENT)
_EVENTS = list(events(_WHOLE))
_OPEN = CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-type: text/event-stream\r\n\r\n")
_BEGUN = write_events(iter(_EVENTS[:5]))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _stream(data: bytes) -> fake.Behaviour:
    return body(data, headers={"content-type": "text/event-stream"})


def streamed(*parts: Any) -> fake.Behaviour:
    """Answer with these values as events."""
    return _stream(write_events(iter(parts)))


def _with(place: int, **more: Any) -> fake.Behaviour:
    """Answer with a stream of which one event has other members."""
    parts = list(_EVENTS)
    parts[place] = parts[place] | more
    return streamed(*parts)


def _without(*kinds: str) -> fake.Behaviour:
    return streamed(*(part for part in _EVENTS if part["type"] not in kinds))


STREAMED = (
    Fault("no end of the message", streamed(*_EVENTS[:-2]), "torn"),
    Fault("pings alone", streamed(*[{"type": "ping"}] * 99), "torn"),
    Fault("an end alone", streamed({"type": "message_stop"}), "torn"),
    Fault("pings that never end", faults.repeated(
        _OPEN + _chunk(_BEGUN), _chunk(write_events(iter([{"type": "ping"}]))), 0.02), "timeout"),
    Fault("blocks that never end", faults.repeated(
        _OPEN + _chunk(_BEGUN), _chunk(b"".join(
            write_events(iter([{"type": "content_block_start", "index": n,
                                "content_block": {"type": "text", "text": ""}}]))
            for n in range(20_000)))), "torn"),
    Fault("no beginning", _without("message_start"), "torn"),
    Fault("a beginning of text", _with(0, message="x"), "torn"),
    Fault("a beginning of null", _with(0, message=None), "torn"),
    Fault("an empty beginning", _with(0, message={}), "reply:stop"),
    Fault("blocks that never began", _without("content_block_start"), "reply:malformed"),
    Fault("blocks that never stop", _without("content_block_stop"), "reply:stop"),
    Fault("no pieces", _without("content_block_delta"), "reply:stop"),
    Fault("no reason to stop", _without("message_delta"), "reply:stop"),
    Fault("an index of text", _with(2, index="0"), "torn"),
    Fault("a block of text", _with(2, content_block="x"), "torn"),
    Fault("a block without type", _with(2, content_block={}), "reply:stop|reply:malformed"),
    Fault("a delta of text", _with(3, delta="x"), "torn"),
    Fault("a delta of an unknown type", _with(3, delta={"type": "beam_delta"}), "reply:stop"),
    Fault("a piece that is a number", _with(3, delta={
        "type": "text_delta", "text": 5}), "torn"),
    Fault("a signature that is a number", _with(4, delta={
        "type": "signature_delta", "signature": 5}), "reply:stop"),
    Fault("cut", _with(-2, delta={"stop_reason": "max_tokens"}), "reply:length"),
    Fault("a refusal", _with(-2, delta={"stop_reason": "refusal"}), "reply:refused"),
    Fault("counts of text", _with(-2, usage="x"), "torn"),
    Fault("arguments that are no JSON", streamed(
        _EVENTS[0],
        {"type": "content_block_start", "index": 0,
         "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "input_json_delta", "partial_json": '{"a": '}},
        *_EVENTS[-2:]), "reply:stop"),
    Fault("an overloaded server", streamed(
        *_EVENTS[:5], error("overloaded_error", "Overloaded")), "unavailable"),
    Fault("a text of 2 MB", streamed(
        _EVENTS[0],
        {"type": "content_block_start", "index": 0,
         "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "text_delta", "text": "x" * 2 * MEGA}},
        *_EVENTS[-2:]), "reply:length"),
)  # fmt: skip
"""What an endpoint can do wrong while it streams, beside what all can."""
