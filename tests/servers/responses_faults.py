"""What an endpoint of the Responses API can do wrong, each with what it must become."""

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


def called(**more: Any) -> fake.Behaviour:
    """Answer with a call."""
    return item(type="function_call", **{"name": "f", "call_id": "c", "arguments": "{}"} | more)


def failed(code: Any, **more: Any) -> fake.Behaviour:
    """Answer with a response that failed."""
    return output([], status="failed", error={"code": code, "message": "no"} | more)


def usage(value: Any) -> fake.Behaviour:
    """Answer with this usage."""
    return output(OUTPUT, usage=value)


def _raw(text: bytes) -> fake.Behaviour:
    """Answer with this as the JSON of a text."""
    return body(b'{"output":[{"type":"message","content":[{"text":' + text + b"}]}]}")


BODIES = (
    Fault("empty", body(b""), "torn"),
    Fault("a list", body(b"[]"), "torn"),
    Fault("an empty object", body(b"{}"), "torn"),
    Fault("a page of HTML", body(b"<html>502</html>"), "torn"),
    Fault("an event stream", body(b"data: " + OK + b"\n\ndata: [DONE]\n\n"), "torn"),
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
    Fault("an output of 500,000 brackets", body(
        b'{"output":[' + b"[" * DEEP + b"]" * DEEP + b"]}"), "torn"),
    Fault("deep nesting in a message", body(
        b'{"output":[{"type":"message","content":' + b"[" * 900 + b"]" * 900 + b"}]}"),
        "torn|reply:malformed"),
    Fault("an unknown item of 900 brackets", body(
        b'{"output":[{"type":"x","y":' + b"[" * 900 + b"]" * 900 + b"}]}"), "torn|reply:stop"),
    Fault("deep arguments", body(
        b'{"output":[{"type":"function_call","name":"f","arguments":'
        + b"[" * DEEP + b"]" * DEEP + b"}]}"), "torn"),
    Fault("output missing", body({"model": "x", "status": "completed"}), "torn"),
    Fault("output null", output(None), "torn"),
    Fault("output an object", output({}), "torn"),
    Fault("output a text", output("hello"), "torn"),
    Fault("output empty", output([]), "reply:stop"),
    Fault("an item of null", output([None]), "reply:malformed"),
    Fault("an item of text", output(["x"]), "reply:malformed"),
    Fault("an item without type", output([{}]), "reply:stop"),
    Fault("an item of an unknown type", item(type="hologram", beam=5), "reply:stop"),
    Fault("a type that is a number", item(type=5), "reply:stop"),
    Fault("content null", said(None), "reply:stop"),
    Fault("content a text", said("fine"), "reply:stop"),
    Fault("content a number", said(5), "reply:malformed"),
    Fault("content numbers", said([1]), "reply:malformed"),
    Fault("a part of another kind", said([{"type": "audio", "data": "x"}]), "reply:stop"),
    Fault("a text that is a number", said([{"type": "output_text", "text": 5}]), "reply:malformed"),
    Fault("a refusal", said([{"type": "refusal", "refusal": "no"}]), "reply:refused"),
    Fault("a refusal that is a number", said([{"type": "refusal", "refusal": 5}]),
        "reply:malformed"),
    Fault("a thought without parts", item(type="reasoning"), "reply:stop"),
    Fault("a thought that is a text", item(type="reasoning", summary="x"), "reply:stop"),
    Fault("a thought of numbers", item(type="reasoning", summary=[1]), "reply:malformed"),
    Fault("a ciphertext that is a number", item(
        type="reasoning", summary=[], encrypted_content=5), "reply:stop"),
    Fault("a call without name", item(type="function_call", arguments="{}"), "reply:malformed"),
    Fault("a name that is a number", called(name=5), "reply:malformed"),
    Fault("arguments a number", called(arguments=5), "reply:stop"),
    Fault("arguments null", called(arguments=None), "reply:stop"),
    Fault("arguments an object", called(arguments={"a": [1, "\ud800"]}), "reply:stop"),
    Fault("call id a number", called(call_id=5), "reply:stop"),
    Fault("call id an object", called(call_id={}), "reply:stop"),
    Fault("call id null", called(call_id=None), "reply:stop"),
    Fault("status a number", output(OUTPUT, status=5), "reply:stop"),
    Fault("status unknown", output(OUTPUT, status="perhaps"), "reply:stop"),
    Fault("status queued", output(OUTPUT, status="queued"), "torn"),
    Fault("status cancelled", output(OUTPUT, status="cancelled"), "torn"),
    Fault("incomplete for no reason", output(OUTPUT, status="incomplete"), "reply:length"),
    Fault("incomplete details a text", output(
        OUTPUT, status="incomplete", incomplete_details="x"), "reply:length"),
    Fault("model a number", output(OUTPUT, model=5), "reply:stop"),
    Fault("usage a text", usage("many"), "reply:stop"),
    Fault("usage a list", usage([1]), "reply:stop"),
    Fault("negative usage", usage({"input_tokens": -5, "output_tokens": 1}), "reply:stop"),
    Fault("usage as text", usage({"input_tokens": "5"}), "reply:stop"),
    Fault("usage of 30 digits", usage({"input_tokens": 10**30}), "reply:stop"),
    Fault("usage NaN", body(OK[:-1] + b',"usage":{"input_tokens":NaN}}'), "reply:stop"),
    Fault("details of usage a number", usage({"output_tokens_details": 5}), "reply:stop"),
    Fault("text of 6 MB", said([{"type": "output_text", "text": "x" * 6 * MEGA}]), "reply:length"),
    Fault("arguments of 6 MB", called(arguments="x" * 6 * MEGA), "reply:length"),
    Fault("a ciphertext of 6 MB", item(
        type="reasoning", id="rs", summary=[], encrypted_content="x" * 6 * MEGA), "reply:stop"),
    Fault("a tool's name of 6 MB", called(name="f" * 6 * MEGA), "reply:length"),
    Fault("50,000 calls", output(
        [{"type": "function_call", "name": "f", "arguments": "{}"}] * 50_000), "reply:length"),
    Fault("2,000,000 items", body(b'{"output":[' + b"{}," * 2_000_000 + b"{}]}"), "torn"),
    Fault("failed without a reason", output([], status="failed"), "unavailable"),
    Fault("failed by an error of the server", failed("server_error"), "unavailable"),
    Fault("failed by the rate", failed("rate_limit_exceeded"), "rate_limited"),
    Fault("failed by a filter", failed("bio_policy"), "reply:refused"),
    Fault("failed by a picture", failed("invalid_image"), "rejected.other"),
    Fault("failed by the length", failed("context_length_exceeded"), "reply:over_long"),
    Fault("failed for a reason unknown", failed("because"), "unavailable"),
    Fault("failed by a number", failed(5), "unavailable"),
    Fault("failed by a text", output([], status="failed", error="no"), "unavailable"),
    Fault("failed with 6 MB of reasons", failed("x", message="x" * 6 * MEGA), "unavailable"),
    Fault("thoughts that were lost", faults.error(
        {"message": "Item with id 'rs_1' not found."}, 404), "rejected.other"),
    Fault("thoughts that were changed", faults.error(
        {"code": "invalid_encrypted_content", "message": "no"}, 400), "rejected.other"),
)  # fmt: skip

FAULTS = (
    *CONNECTION, *HEADS, *FRAMING, *BODIES,
    *(fault for fault in ERRORS if not fault.name.startswith("choice")),
)  # fmt: skip

# --- streams ----------------------------------------------------------------------------

_WHOLE = response(OUTPUT)
_EVENTS = list(events(_WHOLE))
_STREAM = write_events(iter(_EVENTS))
_OPEN = CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-type: text/event-stream\r\n\r\n")
_BEGUN = write_events(iter(_EVENTS[:5]))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def streamed(*parts: Any, end: bytes = b"") -> fake.Behaviour:
    """Answer with these values as events."""
    return body(write_events(iter(parts)) + end, headers={"content-type": "text/event-stream"})


def _stream(data: bytes) -> fake.Behaviour:
    return body(data, headers={"content-type": "text/event-stream"})


def _ended(**more: Any) -> fake.Behaviour:
    """Answer with a stream whose last event has other members."""
    return streamed(*_EVENTS[:-1], _EVENTS[-1] | more)


STREAM_FAULTS = (
    Fault("whole", streamed(*_EVENTS), "reply:stop"),
    Fault("whole, and done", streamed(*_EVENTS, end=b"data: [DONE]\n\n"), "reply:stop"),
    Fault("more after the end", streamed(*_EVENTS, *_EVENTS[:4]), "reply:stop"),
    Fault("no end", streamed(*_EVENTS[:-1]), "torn"),
    Fault("no end, and done", streamed(*_EVENTS[:-1], end=b"data: [DONE]\n\n"), "torn"),
    Fault("done alone", _stream(b"data: [DONE]\n\n"), "torn"),
    Fault("comments alone", _stream(b": x\n\n" * 99), "torn"),
    Fault("no last blank line", _stream(_STREAM[:-1]), "torn"),
    Fault("closed in an event", faults.closed(_OPEN + _chunk(_STREAM[:900])), "torn"),
    Fault("reset in an event", fake.send(
        _OPEN + _chunk(_STREAM[:900]), then="reset"), "torn"),
    Fault("stalled in an event", fake.send(
        _OPEN + _chunk(_STREAM[:900]), then="stall"), "timeout"),
    Fault("comments that never end", faults.repeated(
        _OPEN + _chunk(_BEGUN), _chunk(b": x\n\n"), 0.02), "timeout"),
    Fault("deltas that never end", faults.repeated(
        _OPEN + _chunk(_BEGUN), _chunk(write_events(iter(_EVENTS[6:7])) * 500)), "torn"),
    Fault("a line that never ends", faults.repeated(
        _OPEN + _chunk(b"data: {"), _chunk(b"x" * 65536)), "torn"),
    Fault("an event that is no JSON", _stream(_BEGUN + b"data: {\n\n"), "torn"),
    Fault("an event that is a list", _stream(_BEGUN + b"data: []\n\n"), "torn"),
    Fault("an event of 500,000 brackets", _stream(
        _BEGUN + b'data: {"a":' + b"[" * DEEP + b"\n\n"), "torn"),
    Fault("an event in latin-1", _stream(
        _BEGUN + b'data: {"type":"\xfc"}\n\n' + _STREAM), "torn"),
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
    Fault("an error", streamed(*_EVENTS[:5], {
        "type": "error", "code": "server_error", "message": "no"}), "unavailable"),
    Fault("an error of the rate", streamed(*_EVENTS[:5], {
        "type": "error", "code": "rate_limit_exceeded", "message": "no"}), "rate_limited"),
    Fault("an error of the length", streamed({
        "type": "error", "error": {"code": "context_length_exceeded"}}), "reply:over_long"),
    Fault("an error of 6 MB", streamed({"type": "error", "message": "x" * 6 * MEGA}),
        "unavailable"),
    Fault("a text of 6 MB", streamed(
        {"type": "response.output_item.done", "item": {"type": "message", "content": [
            {"type": "output_text", "text": "x" * 6 * MEGA}]}},
        {"type": "response.completed", "response": {"output": []}}), "reply:length"),
)  # fmt: skip
"""What an endpoint can do wrong while it streams."""
