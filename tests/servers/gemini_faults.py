"""What an endpoint of generateContent can do wrong, each with what it must become."""

from __future__ import annotations

from typing import Any

from tests.servers import fake, faults
from tests.servers.faults import (
    CHUNKED,
    CONNECTION,
    DEEP,
    ERRORS,
    FRAMING,
    HEADS,
    MEGA,
    OK,
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


def called(**more: Any) -> fake.Behaviour:
    """Answer with a call."""
    return parts({"functionCall": {"name": "f", "id": "c", "args": {}} | more})


def ended(finish: Any, *said: Any, **more: Any) -> fake.Behaviour:
    """Answer with a reply that ended so."""
    return parts(*said, finish=finish, **more)


def usage(value: Any) -> fake.Behaviour:
    """Answer with this usage."""
    return body(response(PARTS) | {"usageMetadata": value})


def refused(kind: str, message: str, status: int, *details: Any) -> fake.Behaviour:
    """Answer with an error in a list."""
    return body([error(message, kind, status, *details)], status)


def _raw(text: bytes) -> fake.Behaviour:
    """Answer with this as the JSON of a text."""
    return body(
        b'{"candidates":[{"finishReason":"STOP","content":{"parts":[{"text":' + text + b"}]}}]}"
    )


def _nested(value: bytes) -> fake.Behaviour:
    """Answer with this as the JSON of a content."""
    return body(b'{"candidates":[{"finishReason":"STOP","content":' + value + b"}]}")


BODIES = (
    Fault("empty", body(b""), "torn"),
    Fault("a list", body(b"[]"), "torn"),
    Fault("a list of responses", body([response(PARTS)]), "torn"),
    Fault("a list of text", body(["x"]), "torn"),
    Fault("an empty object", body(b"{}"), "torn"),
    Fault("a page of HTML", body(b"<html>502</html>"), "torn"),
    Fault("an event stream", body(b"data: {}\n\n"), "torn"),
    Fault("a chat completion", body(fake.says("fine")), "torn"),
    Fault("BOM", body(b"\xef\xbb\xbf" + OK), "torn"),
    Fault("latin-1", _raw('"Müller"'.encode("latin-1")), "torn"),
    Fault("raw surrogate", _raw(b'"\xed\xa0\x80"'), "reply:stop"),
    Fault("lone surrogate as escape", _raw(b'"\\ud800"'), "reply:stop"),
    Fault("unknown escape", _raw(b'"\\x41"'), "torn"),
    Fault("cut in the middle", body(OK[: len(OK) // 2]), "torn"),
    Fault("two documents", body(OK + OK), "torn"),
    Fault("500,000 brackets", body(b"[" * DEEP), "torn"),
    Fault("500,000 objects", body(b'{"a":' * DEEP), "torn"),
    Fault("a content of 500,000 brackets", _nested(b"[" * DEEP + b"]" * DEEP), "torn"),
    Fault("deep nesting in a part", _nested(
        b'{"parts":[{"text":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:malformed"),
    Fault("an unknown part of 900 brackets", _nested(
        b'{"parts":[{"x":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:stop"),
    Fault("deep arguments", _nested(
        b'{"parts":[{"functionCall":{"name":"f","args":' + b"[" * DEEP + b"]" * DEEP + b"}}]}"),
        "torn"),
    Fault("candidates missing", body({"modelVersion": "x", "usageMetadata": {}}), "torn"),
    Fault("candidates null", candidates(None), "torn"),
    Fault("candidates an object", candidates({}), "torn"),
    Fault("candidates a text", candidates("hello"), "torn"),
    Fault("candidates empty", candidates([]), "torn"),
    Fault("candidates of null", candidates([None]), "torn"),
    Fault("candidates of text", candidates(["x"]), "torn"),
    Fault("a candidate without members", candidates([{}]), "torn"),
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
    Fault("a text that is a number", parts({"text": 5}), "reply:malformed"),
    Fault("a text of null", parts({"text": None}), "reply:stop"),
    Fault("an empty text", parts({"text": ""}), "reply:stop"),
    Fault("a thought alone", parts(PARTS[0]), "reply:stop"),
    Fault("a thought that is a text", parts({"text": "x", "thought": "yes"}), "reply:stop"),
    Fault("a signature that is a number", parts({"text": "x", "thoughtSignature": 5}),
        "reply:stop"),
    Fault("a call that is a text", parts({"functionCall": "f"}), "reply:malformed"),
    Fault("a call without name", parts({"functionCall": {"args": {}}}), "reply:malformed"),
    Fault("a name that is a number", called(name=5), "reply:malformed"),
    Fault("arguments a number", called(args=5), "reply:stop"),
    Fault("arguments null", called(args=None), "reply:stop"),
    Fault("arguments as text", called(args='{"a": 1}'), "reply:stop"),
    Fault("arguments with a lone surrogate", called(args={"a": [1, "\ud800"]}), "reply:stop"),
    Fault("call id a number", called(id=5), "reply:stop"),
    Fault("call id an object", called(id={}), "reply:stop"),
    Fault("call id null", called(id=None), "reply:stop"),
    Fault("finish missing", ended(None, *PARTS), "torn"),
    Fault("finish a number", ended(5, *PARTS), "torn"),
    Fault("finish unknown", ended("PERHAPS", *PARTS), "reply:stop"),
    Fault("finish unspecified", ended("FINISH_REASON_UNSPECIFIED", *PARTS), "torn"),
    Fault("finished for another reason", ended("OTHER", *PARTS), "torn"),
    Fault("finished by the limit", ended("MAX_TOKENS", *PARTS), "reply:length"),
    Fault("finished by the limit before a part", ended("MAX_TOKENS"), "reply:length"),
    Fault("finished by a filter", ended("SAFETY"), "reply:refused"),
    Fault("finished by a filter of pictures", ended("IMAGE_OTHER"), "reply:refused"),
    Fault("finished by a call that is malformed", ended(
        "MALFORMED_FUNCTION_CALL", finishMessage="f(a="), "reply:malformed"),
    Fault("finished by a call that is malformed, for 6 MB of reasons", ended(
        "MALFORMED_FUNCTION_CALL", finishMessage="x" * 6 * MEGA), "reply:malformed"),
    Fault("finished by a call without tools", ended("UNEXPECTED_TOOL_CALL", *PARTS),
        "reply:malformed"),
    Fault("finished for a message that is a number", ended(
        "SAFETY", finishMessage=5), "reply:refused"),
    Fault("finished for lack of a signature", ended("MISSING_THOUGHT_SIGNATURE"),
        "rejected.other"),
    Fault("finished with the account", ended("PUP_LIMITED_DISABLED"), "rejected.auth"),
    Fault("model a number", body(response(PARTS) | {"modelVersion": 5}), "reply:stop"),
    Fault("response id a list", body(response(PARTS) | {"responseId": [5]}), "reply:stop"),
    Fault("response id of 6 MB", body(response(PARTS) | {"responseId": "x" * 6 * MEGA}),
        "reply:stop"),
    Fault("usage a text", usage("many"), "reply:stop"),
    Fault("usage a list", usage([1]), "reply:stop"),
    Fault("negative usage", usage({"promptTokenCount": -5}), "reply:stop"),
    Fault("usage as text", usage({"promptTokenCount": "5"}), "reply:stop"),
    Fault("usage of 30 digits", usage({"promptTokenCount": 10**30}), "reply:stop"),
    Fault("text of 6 MB", parts({"text": "x" * 6 * MEGA}), "reply:length"),
    Fault("arguments of 6 MB", called(args={"a": "x" * 6 * MEGA}), "reply:length"),
    Fault("a signature of 6 MB", parts({"text": "x", "thoughtSignature": "x" * 6 * MEGA}),
        "reply:stop"),
    Fault("a tool's name of 6 MB", called(name="f" * 6 * MEGA), "reply:length"),
    Fault("50,000 calls", parts(*[{"functionCall": {"name": "f"}}] * 50_000), "reply:length"),
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
    Fault("429 with 6 MB of a quota", refused("RESOURCE_EXHAUSTED", "Quota.", 429, {
        "violations": [{"quotaId": "x" * 6 * MEGA}]}), "rate_limited"),
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

FAULTS = (
    *CONNECTION, *HEADS, *FRAMING, *BODIES,
    *(fault for fault in ERRORS if not fault.name.startswith("choice")),
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


STREAM_FAULTS = (
    Fault("whole", streamed(*_EVENTS), "reply:stop"),
    Fault("whole in one event", streamed(_WHOLE), "reply:stop"),
    Fault("whole, and done", streamed(*_EVENTS, end=b"data: [DONE]\n\n"), "reply:stop"),
    Fault("more after the end", streamed(*_EVENTS, *_EVENTS[:2]), "reply:stop"),
    Fault("the end twice", streamed(*_EVENTS, _END), "reply:stop"),
    Fault("no end", streamed(*_EVENTS[:-1]), "torn"),
    Fault("no end, and done", streamed(*_EVENTS[:-1], end=b"data: [DONE]\n\n"), "torn"),
    Fault("an end alone", streamed(response([])), "torn"),
    Fault("an end of the length alone", streamed(response([], "MAX_TOKENS")), "reply:length"),
    Fault("comments alone", _stream(b": x\n\n" * 99), "torn"),
    Fault("no last blank line", _stream(_STREAM[:-2]), "torn"),
    Fault("closed in an event", faults.closed(_OPEN + _chunk(_STREAM[:300])), "torn"),
    Fault("reset in an event", fake.send(_OPEN + _chunk(_STREAM[:300]), then="reset"), "torn"),
    Fault("stalled in an event", fake.send(
        _OPEN + _chunk(_STREAM[:300]), then="stall"), "timeout"),
    Fault("stalled after the end", fake.send(_OPEN + _chunk(_STREAM), then="stall"),
        "reply:stop"),
    Fault("comments that never end", faults.repeated(
        _OPEN + _chunk(_BEGUN), _chunk(b": x\n\n"), 0.02), "timeout"),
    Fault("texts that never end", faults.repeated(
        _OPEN + _chunk(_BEGUN), _chunk(write_events(iter([unfinished({"text": "x" * 99})])) * 500)),
        "torn"),
    Fault("parts that never end", faults.repeated(_OPEN + _chunk(_BEGUN), _chunk(write_events(
        iter([unfinished({"functionCall": {"name": "f" * 99}})])) * 500)), "torn"),
    Fault("a line that never ends", faults.repeated(
        _OPEN + _chunk(b"data: {"), _chunk(b"x" * 65536)), "torn"),
    Fault("an event that is no JSON", _stream(_BEGUN + b"data: {\n\n"), "torn"),
    Fault("an event that is a list", _stream(_BEGUN + b"data: []\n\n"), "torn"),
    Fault("an event of 500,000 brackets", _stream(
        _BEGUN + b'data: {"a":' + b"[" * DEEP + b"\n\n"), "torn"),
    Fault("an event in latin-1", _stream(
        _BEGUN + b'data: {"modelVersion":"\xfc"}\n\n' + _STREAM), "torn|reply:stop"),
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
    Fault("an error", streamed(*_EVENTS[:2], error("no", "INTERNAL", 500)), "unavailable"),
    Fault("an error of the rate", streamed(
        *_EVENTS[:2], error("no", "RESOURCE_EXHAUSTED", 429)), "rate_limited"),
    Fault("an error of a day", streamed(*_EVENTS[:2], error("no", "RESOURCE_EXHAUSTED", 429, {
        "violations": [{"quotaId": "GenerateRequestsPerDay"}]})), "rejected.billing"),
    Fault("an error that is a text", streamed(*_EVENTS[:2], {"error": "no"}), "unavailable"),
    Fault("an error of 6 MB", streamed({"error": {"message": "x" * 6 * MEGA}}), "unavailable"),
    Fault("a text of 6 MB", streamed(response([{"text": "x" * 6 * MEGA}])), "reply:length"),
)  # fmt: skip
"""What an endpoint can do wrong while it streams."""
