"""A strict table of what an endpoint can do wrong, each with what it must become.

`became` is a kind of failure (`torn`, `unavailable`, `timeout`, `rate_limited`, `rejected.auth`,
...) or, for what is not a failure of the endpoint, `reply:` and the stop reason of the Reply.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from functools import cache
from typing import Any, NamedTuple

from tests.servers import fake

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
_FINE = {"type": "message", "content": [{"type": "output_text", "text": "fine"}]}
_SAID = [{"type": "text", "text": "fine"}]
_CANDIDATE = {"content": {"parts": [{"text": "fine"}], "role": "model"}, "finishReason": "STOP"}
OK = json.dumps(
    {"output": [_FINE], "content": _SAID, "candidates": [_CANDIDATE], **fake.says("fine")}
).encode()
"""A reply on every wire that this table is for."""
WHOLE = fake.raw(200, OK)
ZIPPED = {"content-encoding": "gzip"}
MEGA = 2**20
LIMIT_BYTES = 8 * MEGA
"""The largest body that the client of these tests takes, so that what exceeds it is cheap."""


class Fault(NamedTuple):
    """One way to fail: its name, how the server behaves, what it must become."""

    name: str
    behaviour: fake.Behaviour
    became: str


def closed(data: bytes) -> fake.Behaviour:
    """Send these bytes and close."""
    return fake.send(data, then="close")


def body(
    data: bytes | Any, status: int = 200, headers: dict[str, str] | None = None
) -> fake.Behaviour:
    """Answer with a body."""
    return fake.answer(status, data, headers)


def head(lines: bytes, data: bytes = OK) -> fake.Behaviour:
    """Send a head of these lines, with the length of the body that follows, and close."""
    length = b"content-length: %d\r\n" % len(data)
    return closed(lines + b"\r\n" + length + b"\r\n" + data)


def repeated(first: bytes, again: bytes, every_s: float = 0.0) -> fake.Behaviour:
    """Send `first`, then `again` for as long as the client listens."""

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(every_s)

    return behave


def message(said: Any, **more: Any) -> fake.Behaviour:
    """Answer with this as the message."""
    return fake.answer(200, {"choices": [{"message": said, "finish_reason": "stop"}], **more})


def choices(value: Any) -> fake.Behaviour:
    """Answer with this as the choices."""
    return fake.answer(200, {"choices": value, "model": "x"})


def called(call: Any) -> fake.Behaviour:
    """Answer with one tool call of any shape."""
    return message({"content": None, "tool_calls": [call]})


def usage(value: Any) -> fake.Behaviour:
    """Answer with this usage, JSON text or a value."""
    text = value if isinstance(value, str) else json.dumps(value)
    return body(OK[:1] + b'"usage":' + text.encode() + b"," + OK[1:].partition(b'"usage"')[0]
                .rstrip(b", ") + b"}")  # fmt: skip


def error(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> fake.Behaviour:
    """Answer with an error object."""
    return body({"error": value}, status, headers)


def _text(raw: bytes) -> fake.Behaviour:
    """Answer with this as the JSON of the content."""
    return body(b'{"choices":[{"message":{"content":' + raw + b'},"finish_reason":"stop"}]}')


@cache
def _bomb(size: int) -> bytes:
    return gzip.compress(b'{"choices":"' + b" " * size, 1)


CONNECTION = (
    Fault("reset before the head", fake.send(b"", then="reset"), "unavailable"),
    Fault("closed before the head", closed(b""), "unavailable"),
    Fault("reset in the head", fake.send(WHOLE[:20], then="reset"), "unavailable"),
    Fault("closed in the head", closed(WHOLE[:20]), "unavailable"),
    Fault("reset in the body", fake.send(WHOLE[:-3], then="reset"), "torn"),
    Fault("closed in the body", closed(WHOLE[:-3]), "torn"),
    Fault("stalled before the head", fake.send(b"", then="stall"), "timeout"),
    Fault("stalled in the head", fake.send(WHOLE[:20], then="stall"), "timeout"),
    Fault("stalled in the body", fake.send(WHOLE[:-3], then="stall"), "timeout"),
    Fault("head that drips", repeated(b"HTTP/1.1 200 OK\r\nx: ", b"y", 0.02), "timeout"),
    Fault("body that drips", repeated(CHUNKED, b"1\r\n \r\n", 0.02), "timeout"),
    Fault("banner of another protocol", closed(b"SSH-2.0-x\r\n\r\n"), "torn"),
    Fault("TLS alert", closed(b"\x15\x03\x01\x00\x02\x02\x46"), "torn"),
    Fault("HTTP/0.9", closed(OK), "torn"),
    Fault("HTTP/2 settings", closed(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"), "torn"),
    Fault("HTTP/3.0 in the status line", head(b"HTTP/3.0 200 OK"), "torn"),
    Fault("zeros", closed(bytes(1000)), "torn"),
    Fault("endless blank lines", repeated(b"", b"\r\n" * 5000), "torn|timeout"),
    Fault("endless bytes without a line", repeated(b"", b"x" * 50_000), "torn"),
)

HEADS = (
    Fault("status of two digits", head(b"HTTP/1.1 20 OK"), "torn"),
    Fault("status of four digits", head(b"HTTP/1.1 2000 OK"), "torn"),
    Fault("status in letters", head(b"HTTP/1.1 2OO OK"), "torn"),
    Fault("negative status", head(b"HTTP/1.1 -20 OK"), "torn"),
    Fault("status 000", head(b"HTTP/1.1 000 OK"), "torn"),
    Fault("status 099", head(b"HTTP/1.1 099 OK"), "torn"),
    Fault("status 204", closed(b"HTTP/1.1 204 No Content\r\n\r\n"), "torn"),
    Fault("status 206", head(b"HTTP/1.1 206 Partial"), "torn"),
    Fault("status 600", head(b"HTTP/1.1 600 X"), "unavailable"),
    Fault("status 999", head(b"HTTP/1.1 999 X"), "unavailable"),
    Fault("status 304", closed(b"HTTP/1.1 304 Not Modified\r\n\r\n"), "rejected.other"),
    Fault("redirect without a place", head(b"HTTP/1.1 301 X"), "rejected.other"),
    Fault(
        "redirect to bytes", head(b"HTTP/1.1 307 X\r\nlocation: http://\xe4\xff/"), "rejected.other"
    ),
    Fault("switching protocols", closed(b"HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n"), "torn"),
    Fault("continue, then nothing", closed(b"HTTP/1.1 100 Continue\r\n\r\n"), "unavailable"),
    Fault(
        "endless 1xx", repeated(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100), "torn|timeout"
    ),
    Fault("header without a colon", head(b"HTTP/1.1 200 OK\r\nnonsense"), "torn"),
    Fault("header name with a blank", head(b"HTTP/1.1 200 OK\r\na b: c"), "torn"),
    Fault("header with a zero", head(b"HTTP/1.1 200 OK\r\na: b\0c"), "torn"),
    Fault("header of 2 MB", head(b"HTTP/1.1 200 OK\r\na: " + b"x" * 2 * MEGA), "torn"),
    Fault("10,000 headers", head(b"HTTP/1.1 200 OK" + b"\r\na: b" * 10_000), "torn"),
    Fault("endless headers", repeated(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 1000), "torn"),
    Fault("latin-1 header", head(b"HTTP/1.1 200 OK\r\nx-name: M\xfcller"), "reply:stop"),
    Fault(
        "latin-1 Retry-After", head(b"HTTP/1.1 429 X\r\nretry-after: \xb2\xff"), "rate_limited"
    ),
    Fault("latin-1 Content-Length", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: \xb2\r\n\r\nxx"), "torn"),
    Fault("negative length", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n" + OK), "torn"),
    Fault("length in words", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: ten\r\n\r\n" + OK), "torn"),
    Fault("two lengths", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 9\r\n\r\n" + OK), "torn"),
    Fault("length of 30 digits", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 30 + b"\r\n\r\n" + OK), "torn"),
    Fault("length of 2^63", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\n" + OK), "torn"),
    Fault("length beyond the limit", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n" + OK), "torn"),
    Fault("length too short", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n" + OK), "torn"),
    Fault("length too long", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(OK) + 9) + OK), "torn"),
    Fault("length 0", head(b"HTTP/1.1 200 OK", b""), "torn"),
    Fault("length and chunks", closed(
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
        b"%x\r\n" % len(OK) + OK + b"\r\n0\r\n\r\n"), "reply:stop|torn"),
    Fault("unknown transfer encoding", closed(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: foo\r\n\r\n" + OK), "reply:stop|torn"),
)  # fmt: skip

FRAMING = (
    Fault("closed in a chunk", closed(CHUNKED + b"30\r\nxx"), "torn"),
    Fault("closed between chunks", closed(CHUNKED + b"2\r\nxx\r\n"), "torn"),
    Fault("chunk size in words", closed(CHUNKED + b"ten\r\nxx\r\n0\r\n\r\n"), "torn"),
    Fault("negative chunk size", closed(CHUNKED + b"-2\r\nxx\r\n0\r\n\r\n"), "torn"),
    Fault("chunk size of 16 Fs", closed(CHUNKED + b"F" * 16 + b"\r\nxx"), "torn"),
    Fault("chunk size of 40 digits", closed(CHUNKED + b"1" * 40 + b"\r\nxx"), "torn"),
    Fault("chunk without its end", closed(CHUNKED + b"2\r\nxxxx\r\n0\r\n\r\n"), "torn"),
    Fault("endless chunk extension", repeated(CHUNKED + b"2;", b"x=y;" * 5000), "torn"),
    Fault("endless trailers", repeated(CHUNKED + b"0\r\n", b"a: b\r\n" * 1000), "torn|timeout"),
    Fault("endless chunks", repeated(CHUNKED, b"10000\r\n" + b" " * 0x10000 + b"\r\n"), "torn"),
    Fault("endless body without a length", repeated(
        b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536), "torn"),
    Fault("gzip in name only", body(OK, headers=ZIPPED), "torn"),
    Fault("gzip that ends early", body(gzip.compress(OK)[:-9], headers=ZIPPED), "torn"),
    Fault("gzip with a wrong sum", body(
        gzip.compress(OK)[:-8] + b"xxxxxxxx", headers=ZIPPED), "torn"),
    Fault("a bomb of gzip", body(_bomb(64 * MEGA), headers=ZIPPED), "torn"),
    Fault("a bomb of deflate", body(
        zlib.compress(b" " * 64 * MEGA, 9), headers={"content-encoding": "deflate"}), "torn"),
    Fault("gzip twice", body(
        gzip.compress(gzip.compress(OK)), headers={"content-encoding": "gzip, gzip"}), "torn"),
    Fault("brotli in name only", body(b"\xff" * 50, headers={"content-encoding": "br"}), "torn"),
    Fault("zstd with a huge window", body(
        b"\x28\xb5\x2f\xfd\x00\x88" + b"\xff" * 50, headers={"content-encoding": "zstd"}), "torn"),
    Fault("unknown content encoding", body(OK, headers={"content-encoding": "foo"}), "reply:stop"),
    Fault("trailing bytes after the answer", closed(WHOLE + b"trailing"), "reply:stop"),
)  # fmt: skip

DEEP = 500_000
BODIES = (
    Fault("empty", body(b""), "torn"),
    Fault("blanks", body(b" " * 100), "torn"),
    Fault("null", body(b"null"), "torn"),
    Fault("a number", body(b"7"), "torn"),
    Fault("a string", body(b'"fine"'), "torn"),
    Fault("a list", body(b"[]"), "torn"),
    Fault("an empty object", body(b"{}"), "torn"),
    Fault("a page of HTML", body(b"<html>502</html>"), "torn"),
    Fault("an event stream", body(b"data: " + OK + b"\n\ndata: [DONE]\n\n"), "torn"),
    Fault("BOM", body(b"\xef\xbb\xbf" + OK), "torn"),
    Fault("UTF-16", body(OK.decode().encode("utf-16")), "torn"),
    Fault("UTF-32", body(OK.decode().encode("utf-32")), "torn"),
    Fault("latin-1", _text('"Müller"'.encode("latin-1")), "torn"),
    Fault("raw surrogate", _text(b'"\xed\xa0\x80"'), "reply:stop"),
    Fault("overlong encoding", _text(b'"\xc0\xaf"'), "torn"),
    Fault("lone surrogate as escape", _text(b'"\\ud800"'), "reply:stop"),
    Fault("reversed pair as escape", _text(b'"\\udc00\\ud800"'), "reply:stop"),
    Fault("zeros in a string", _text(b'"\\u0000\x00"'), "reply:stop"),
    Fault("unknown escape", _text(b'"\\x41"'), "torn"),
    Fault("half an escape", body(OK[:-1] + b',"a":"\\u12'), "torn"),
    Fault("cut in the middle", body(OK[: len(OK) // 2]), "torn"),
    Fault("two documents", body(OK + OK), "torn"),
    Fault("bytes after the document", body(OK + b"xyz"), "torn"),
    Fault("single quotes", body(OK.replace(b'"', b"'")), "torn"),
    Fault("500,000 brackets", body(b"[" * DEEP), "torn"),
    Fault("500,000 objects", body(b'{"a":' * DEEP), "torn"),
    Fault("500,000 brackets, closed", body(b"[" * DEEP + b"]" * DEEP), "torn"),
    Fault("deep nesting in the message", body(
        b'{"choices":[{"message":{"content":' + b"[" * 900 + b"]" * 900 + b"}}]}"),
        "torn|reply:malformed"),
    Fault("deep arguments", body(
        b'{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":'
        + b"[" * DEEP + b"]" * DEEP + b"}}]}}]}"), "reply:stop"),
    Fault("arguments that never end", body(
        b'{"choices":[{"message":{"tool_calls":[{"function":{"arguments":{"' + b'\\"' * MEGA),
        "torn"),
    Fault("many arguments that never end", body(b'{"arguments":[' * 100_000), "torn"),
    Fault("blanks after arguments", body(
        b'{"arguments"' + b" " * MEGA + b'"arguments"' + b" " * MEGA), "torn"),
    Fault("duplicate keys", body(b'{"choices":[],' + OK[1:]), "reply:stop"),
    Fault("choices missing", body({"model": "x"}), "torn"),
    Fault("choices null", choices(None), "torn"),
    Fault("choices empty", choices([]), "torn"),
    Fault("choices an object", choices({}), "torn"),
    Fault("choices a text", choices("hello"), "torn"),
    Fault("a choice of null", choices([None]), "torn"),
    Fault("a choice of text", choices(["x"]), "torn"),
    Fault("a choice without message", choices([{}]), "torn"),
    Fault("message null", message(None), "torn"),
    Fault("message a text", message("x"), "torn"),
    Fault("message a list", message([1]), "torn"),
    Fault("content a number", message({"content": 5}), "reply:malformed"),
    Fault("content an object", message({"content": {"a": 1}}), "reply:malformed"),
    Fault("content numbers", message({"content": [1, 2]}), "reply:malformed"),
    Fault("content parts", message({"content": [{"type": "text", "text": "x"}]}), "reply:stop"),
    Fault("content true", message({"content": True}), "reply:malformed"),
    Fault("tool calls an object", message({"tool_calls": {"a": 1}}), "reply:malformed"),
    Fault("tool calls a text", message({"tool_calls": "f()"}), "reply:malformed"),
    Fault("a call of null", called(None), "reply:malformed"),
    Fault("a call without function", called({"id": "x"}), "reply:malformed"),
    Fault("a name that is a number", called({"function": {"name": 5}}), "reply:malformed"),
    Fault("arguments a number", called({"function": {"name": "f", "arguments": 5}}), "reply:stop"),
    Fault("arguments null", called({"function": {"name": "f", "arguments": None}}), "reply:stop"),
    Fault("arguments a list", called({"function": {"name": "f", "arguments": []}}), "reply:stop"),
    Fault("arguments an object", called(
        {"function": {"name": "f", "arguments": {"a": [1, "\ud800"]}}}), "reply:stop"),
    Fault("id a number", called({"id": 5, "function": {"name": "f"}}), "reply:stop"),
    Fault("id an object", called({"id": {}, "function": {"name": "f"}}), "reply:stop"),
    Fault("finish reason a number", choices(
        [{"message": {"content": "x"}, "finish_reason": 5}]), "reply:stop"),
    Fault("finish reason unknown", choices(
        [{"message": {"content": "x"}, "finish_reason": "because"}]), "reply:stop"),
    Fault("model a number", message({"content": "x"}, model=5), "reply:stop"),
    Fault("usage a text", usage("\"many\""), "reply:stop"),
    Fault("usage a list", usage([1]), "reply:stop"),
    Fault("negative usage", usage({"prompt_tokens": -5, "completion_tokens": 1}), "reply:stop"),
    Fault("usage as text", usage({"prompt_tokens": "5"}), "reply:stop"),
    Fault("usage in halves", usage({"prompt_tokens": 0.5}), "reply:stop"),
    Fault("usage true", usage({"prompt_tokens": True}), "reply:stop"),
    Fault("usage of 30 digits", usage({"prompt_tokens": 10**30}), "reply:stop"),
    Fault("usage of a million digits", usage('{"prompt_tokens":' + "9" * MEGA + "}"), "reply:stop"),
    Fault("usage NaN", usage('{"prompt_tokens":NaN}'), "reply:stop"),
    Fault("usage Infinity", usage('{"prompt_tokens":-Infinity}'), "reply:stop"),
    Fault("usage 1e999999", usage('{"prompt_tokens":1e999999}'), "reply:stop"),
    Fault("a float of a million digits", usage(
        '{"prompt_tokens":0.' + "7" * MEGA + "e-5}"), "reply:stop"),
    Fault("text of 6 MB", message({"content": "x" * 6 * MEGA}), "reply:length"),
    Fault("text of 6 MB of signs", message({"content": "\ud800\u0130" * (MEGA * 5 // 8)}),
        "reply:length"),
    Fault("arguments of 6 MB", called(
        {"function": {"name": "f", "arguments": "x" * 6 * MEGA}}), "reply:length"),
    Fault("a model's name of 6 MB", message({"content": "x"}, model="m" * 6 * MEGA), "reply:stop"),
    Fault("a tool's name of 6 MB", called({"function": {"name": "f" * 6 * MEGA}}), "reply:length"),
    Fault("200,000 calls", message(
        {"tool_calls": [{"function": {"name": "f"}}] * 200_000}), "reply:length"),
    Fault("2,000,000 choices", body(
        b'{"choices":[' + b'{},' * 2_000_000 + b'{}]}'), "torn"),
)  # fmt: skip

LONG = "max_tokens too large: 1 " * 100_000
ERRORS = (
    Fault("error under 200", error({"message": "no", "code": 503}), "unavailable"),
    Fault("error text under 200", error("no"), "unavailable"),
    Fault("error list under 200", error([1, 2]), "unavailable"),
    Fault("rate limit under 200", error({"code": "rate_limit_exceeded"}), "rate_limited"),
    Fault("error code a sign under 200", error({"code": "²"}), "unavailable"),
    Fault("error code of 400 digits under 200", error({"code": 10**400}), "unavailable"),
    Fault("error code a list under 200", error({"code": [1]}), "unavailable"),
    Fault("error of 6 MB under 200", error({"message": "x" * 6 * MEGA}), "unavailable"),
    Fault("error deep under 200", body(
        b'{"error":{"message":' + b"[" * 800 + b"]" * 800 + b"}}"), "unavailable|torn"),
    Fault("choice with an error", choices([{"error": {"code": 429}}]), "rate_limited"),
    Fault("choice finished by an error", choices(
        [{"message": {"content": ""}, "finish_reason": "error"}]), "unavailable"),
    Fault("400", error({"message": "no"}, 400), "rejected.other"),
    Fault("401", error({"message": "no"}, 401), "rejected.auth"),
    Fault("402", error({"message": "no"}, 402), "rejected.billing"),
    Fault("403", error({"message": "no"}, 403), "rejected.auth"),
    Fault("404", error({"message": "no"}, 404), "rejected.not_found"),
    Fault("408", error({"message": "no"}, 408), "unavailable"),
    Fault("409", error({"message": "no"}, 409), "unavailable"),
    Fault("413", error({"message": "no"}, 413), "rejected.other"),
    Fault("418", error({"message": "no"}, 418), "rejected.other"),
    Fault("422", error({"message": "no"}, 422), "rejected.other"),
    Fault("425", error({"message": "no"}, 425), "unavailable"),
    Fault("429", error({"message": "no"}, 429), "rate_limited"),
    Fault("429 without credit", error({"code": "insufficient_quota"}, 429), "rejected.billing"),
    Fault("500", error({"message": "no"}, 500), "unavailable"),
    Fault("503 with a word about pictures", body(
        b"upstream vision worker: 422: out of memory", 503), "unavailable"),
    Fault("529", error({"message": "no"}, 529), "unavailable"),
    Fault("429 that waits 1e999", error(
        "no", 429, headers={"retry-after": "1e999"}), "rate_limited"),
    Fault("429 that waits nan", error("no", 429, headers={"retry-after": "nan"}), "rate_limited"),
    Fault("429 that waits -5", error("no", 429, headers={"retry-after": "-5"}), "rate_limited"),
    Fault("429 that waits 50,000 digits", error(
        "no", 429, headers={"retry-after": "9" * 50_000}), "rate_limited"),
    Fault("429 until the year 99999", error(
        "no", 429, headers={"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}), "rate_limited"),
    Fault("429 until a date in brackets", error(
        "no", 429, headers={"retry-after": "(" * 3000}), "rate_limited"),
    Fault("400 of 6 MB", error({"message": "x" * 6 * MEGA}, 400), "rejected.other"),
    Fault("400 of 2 MB of complaint", error({"message": LONG}, 400), "rejected.other"),
    Fault("400 nested deep", body(b'{"error":' * DEEP, 400), "rejected.other"),
    Fault("400 in bytes", body(b"\xff\xfe\xed\xa0\x80" * 100, 400), "rejected.other"),
    Fault("400 of escapes and controls", body(b'{"error":"\\ud800\\u202e\\u001b[2J"}', 400),
        "rejected.other"),
    Fault("400 that never ends", repeated(
        b"HTTP/1.1 400 X\r\n\r\n", b"x" * 65536), "rejected.other"),
    Fault("400 with a bomb", body(_bomb(64 * MEGA), 400, headers=ZIPPED), "rejected.other"),
    Fault("400 cut short", fake.send(fake.raw(400, OK)[:-5], then="close"), "torn"),
    Fault("401 that stalls", fake.send(fake.raw(401, OK)[:-5], then="stall"), "timeout"),
    Fault("400 about a setting, always", error(
        {"message": "unsupported parameter: temperature", "param": "temperature"}, 400),
        "rejected.unsupported|rejected.other"),
    Fault("400, the conversation too long", error(
        {"code": "context_length_exceeded"}, 400), "reply:over_long"),
    Fault("400, filtered", error({"code": "content_filter"}, 400), "reply:refused"),
    Fault("400, the call not parsed", error(
        {"code": "tool_use_failed", "failed_generation": "x" * 6 * MEGA}, 400),
        "reply:malformed|rejected.other"),
)  # fmt: skip

FAULTS = (*CONNECTION, *HEADS, *FRAMING, *BODIES, *ERRORS)
"""What an endpoint of chat completions can do wrong."""
