"""What an endpoint of generateContent can do wrong, each with what it must become."""

from __future__ import annotations

from typing import Any

from tests.servers import fake, faults
from tests.servers.faults import (
    CHUNKED,
    MEGA,
    Fault,
    body,
)
from tests.servers.gemini_server import error, events, response, write_events

PARTS: list[dict[str, Any]] = [
    {"text": "I look.", "thought": True},
    {"text": "It is sunny."},
    {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}},
     "thoughtSignature": "c2lnbmVk"},
]  # fmt: skip


def parts(*value: Any, **more: Any) -> fake.Behaviour:
    """Answer with these parts; `more` are members of the candidate."""
    return body(response(list(value), **more))


def content(value: Any) -> fake.Behaviour:
    """Answer with this content."""
    return parts(content=value)


def candidates(value: Any, **more: Any) -> fake.Behaviour:
    """Answer with these candidates."""
    return body(response(PARTS) | {"candidates": value} | more)


def ended(finish: Any, *said: Any, **more: Any) -> fake.Behaviour:
    """Answer with a reply that ended so."""
    return parts(*said, finish=finish, **more)


def usage(value: Any) -> fake.Behaviour:
    """Answer with this usage."""
    return body(response(PARTS) | {"usageMetadata": value})


def refused(kind: str, message: str, status: int, *details: Any) -> fake.Behaviour:
    """Answer with an error in a list."""
    return body([error(message, kind, status, *details)], status)


def _nested(value: bytes) -> fake.Behaviour:
    """Answer with this as the JSON of a content."""
    return body(b'{"candidates":[{"finishReason":"STOP","content":' + value + b"}]}")


OWN = (
    Fault("a list of responses", body([response(PARTS)]), "torn"),
    Fault("a list of text", body(["x"]), "torn"),
    Fault("an event stream", body(b"data: {}\n\n"), "torn"),
    Fault("a chat completion", body(fake.says("fine")), "torn"),
    Fault("deep nesting in a part", _nested(
        b'{"parts":[{"text":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:malformed"),
    Fault("an unknown part of 900 brackets", _nested(
        b'{"parts":[{"x":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:stop"),
    Fault("two candidates", candidates(response(PARTS)["candidates"] * 2), "reply:stop"),
    Fault("blocked", candidates([], promptFeedback={"blockReason": "SAFETY"}), "reply:refused"),
    Fault("blocked for a number", candidates([], promptFeedback={"blockReason": 5}), "torn"),
    Fault("blocked by a text", candidates([], promptFeedback="SAFETY"), "torn"),
    Fault("content missing", candidates([{"finishReason": "STOP"}]), "torn"),
    Fault("content null", content(None), "torn"),
    Fault("content empty", content({}), "torn"),
    Fault("content a text", content("fine"), "reply:malformed"),
    Fault("content a number", content(5), "reply:malformed"),
    Fault("parts null", content({"parts": None}), "torn"),
    Fault("parts empty", parts(), "torn"),
    Fault("parts a text", content({"parts": "fine"}), "reply:malformed"),
    Fault("another role", content({"parts": PARTS, "role": "user"}), "reply:stop"),
    Fault("a role that is a number", content({"parts": PARTS, "role": 5}), "reply:stop"),
    Fault("a part of null", parts(None), "reply:malformed"),
    Fault("a part of text", parts("x"), "reply:malformed"),
    Fault("a part without members", parts({}), "reply:stop"),
    Fault("a part of an unknown kind", parts({"hologram": {"beam": 5}}), "reply:stop"),
    Fault("an empty text", parts({"text": ""}), "reply:stop"),
    Fault("a thought alone", parts(PARTS[0]), "reply:stop"),
    Fault("a thought that is a text", parts({"text": "x", "thought": "yes"}), "reply:stop"),
    Fault("a signature that is a number", parts({"text": "x", "thoughtSignature": 5}),
        "reply:stop"),
    Fault("a call that is a text", parts({"functionCall": "f"}), "reply:malformed"),
    Fault("finish unspecified", ended("FINISH_REASON_UNSPECIFIED", *PARTS), "torn"),
    Fault("finished for another reason", ended("OTHER", *PARTS), "torn"),
    Fault("finished by the limit", ended("MAX_TOKENS", *PARTS), "reply:length"),
    Fault("finished by the limit before a part", ended("MAX_TOKENS"), "reply:length"),
    Fault("finished by a filter", ended("SAFETY"), "reply:refused"),
    Fault("finished by a filter of pictures", ended("IMAGE_OTHER"), "reply:refused"),
    Fault("finished by a call that is malformed", ended(
        "MALFORMED_FUNCTION_CALL", finishMessage="f(a="), "reply:malformed"),
    Fault("finished by a call that is malformed, for 2 MB of reasons", ended(
        "MALFORMED_FUNCTION_CALL", finishMessage="x" * 2 * MEGA), "reply:malformed"),
    Fault("finished by a call without tools", ended("UNEXPECTED_TOOL_CALL", *PARTS),
        "reply:malformed"),
    Fault("finished for a message that is a number", ended(
        "SAFETY", finishMessage=5), "reply:refused"),
    Fault("finished for lack of a signature", ended("MISSING_THOUGHT_SIGNATURE"),
        "rejected.other"),
    Fault("finished with the account", ended("PUP_LIMITED_DISABLED"), "rejected.auth"),
    Fault("response id a list", body(response(PARTS) | {"responseId": [5]}), "reply:stop"),
    Fault("response id of 2 MB", body(response(PARTS) | {"responseId": "x" * 2 * MEGA}),
        "reply:stop"),
    Fault("a signature of 2 MB", parts({"text": "x", "thoughtSignature": "x" * 2 * MEGA}),
        "reply:stop"),
    Fault("2,000,000 parts", _nested(b'{"parts":[' + b"{}," * 2_000_000 + b"{}]}"), "torn"),
    Fault("429 of a minute", refused("RESOURCE_EXHAUSTED", "Quota.", 429), "rate_limited"),
    Fault("429 of a day", refused("RESOURCE_EXHAUSTED", "Quota.", 429, {
        "violations": [{"quotaId": "GenerateRequestsPerDay"}]}), "rejected.billing"),
    Fault("429 with details that are a text", body(
        {"error": {"code": 429, "details": "x"}}, 429), "rate_limited"),
    Fault("429 with details of texts", refused("RESOURCE_EXHAUSTED", "Quota.", 429, "x", 5, {
        "violations": "x"}, {"violations": ["x", {"quotaId": 5}]}), "rate_limited"),
    Fault("429 with 100,000 details", refused(
        "RESOURCE_EXHAUSTED", "Quota.", 429, *[{"reason": "x"}] * 100_000), "rate_limited"),
    Fault("429 with 2 MB of a quota", refused("RESOURCE_EXHAUSTED", "Quota.", 429, {
        "violations": [{"quotaId": "x" * 2 * MEGA}]}), "rate_limited"),
    Fault("400 for a key", refused(
        "INVALID_ARGUMENT", "API key not valid.", 400), "rejected.auth"),
    Fault("400 for a signature", refused(
        "INVALID_ARGUMENT", "Function call is missing a thought_signature.", 400),
        "rejected.other"),
    Fault("400 for the length", refused(
        "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens "
        "allowed (8).", 400), "reply:over_long"),
    Fault("400 for thoughts, always", refused(
        "INVALID_ARGUMENT", "Thinking is not enabled for models/x", 400), "rejected.other"),
    Fault("an error in a list under 200", body([error("Slow.", "RESOURCE_EXHAUSTED", 429)]),
        "rate_limited"),
    Fault("an error by its word under 200", body({"error": {"status": "UNAVAILABLE"}}),
        "unavailable"),
)  # fmt: skip

# --- streams ----------------------------------------------------------------------------

_WHOLE = response(PARTS)
_EVENTS = list(events(_WHOLE))
_STREAM = write_events(iter(_EVENTS))
_OPEN = CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-type: text/event-stream\r\n\r\n")
_BEGUN = write_events(iter(_EVENTS[:2]))
_END = _EVENTS[-1]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _stream(data: bytes) -> fake.Behaviour:
    return body(data, headers={"content-type": "text/event-stream"})


def streamed(*values: Any, end: bytes = b"") -> fake.Behaviour:
    """Answer with these values as events."""
    return _stream(write_events(iter(values)) + end)


def unfinished(*said: Any, **more: Any) -> dict[str, Any]:
    """Write an event with these parts that does not end the stream."""
    return response(list(said), None, **more)


STREAMED = (
    Fault("whole in one event", streamed(_WHOLE), "reply:stop"),
    Fault("an end alone", streamed(response([])), "torn"),
    Fault("an end of the length alone", streamed(response([], "MAX_TOKENS")), "reply:length"),
    Fault("stalled after the end", fake.send(_OPEN + _chunk(_STREAM), then="stall"),
        "reply:stop"),
    Fault("parts that never end", faults.repeated(_OPEN + _chunk(_BEGUN), _chunk(write_events(
        iter([unfinished({"functionCall": {"name": "f" * 99}})])) * 500)), "torn"),
    Fault("candidates of text", streamed({"candidates": ["x"]}), "torn"),
    Fault("parts of text", streamed(response(["x"])), "torn"),
    Fault("a text that is a number", streamed(response([{"text": 5}])), "torn|reply:malformed"),
    Fault("a call without name", streamed(response([{"functionCall": {"args": {}}}])),
        "reply:malformed"),
    Fault("usage a text", streamed(*_EVENTS[:-1], _END | {"usageMetadata": "x"}), "reply:stop"),
    Fault("cut", streamed(*_EVENTS[:-1], response([], "MAX_TOKENS")), "reply:length"),
    Fault("filtered", streamed(*_EVENTS[:-1], response([], "SAFETY")), "reply:refused"),
    Fault("ended for another reason", streamed(*_EVENTS[:-1], response([], "OTHER")), "torn"),
    Fault("blocked", streamed({"promptFeedback": {"blockReason": "SAFETY"}}), "reply:refused"),
    Fault("blocked for a number", streamed({"promptFeedback": {"blockReason": 5}}), "torn"),
    Fault("an error of a day", streamed(*_EVENTS[:2], error("no", "RESOURCE_EXHAUSTED", 429, {
        "violations": [{"quotaId": "GenerateRequestsPerDay"}]})), "rejected.billing"),
    Fault("an error that is a text", streamed(*_EVENTS[:2], {"error": "no"}), "unavailable"),
    Fault("a text of 2 MB", streamed(response([{"text": "x" * 2 * MEGA}])), "reply:length"),
)  # fmt: skip
"""What an endpoint can do wrong while it streams, beside what all can."""
