"""A strict table of what an endpoint can do wrong, each with what it must become.

`became` is a kind of failure (`torn`, `unavailable`, `timeout`, `rate_limited`, `rejected.auth`,
...) or, for what is not a failure of the endpoint, `reply:` and the stop reason of the Reply. What
is here goes wrong on every wire; `shape_faults` and `stream_faults` have what each wire writes in
its own form, and `chat_faults` and the others what one wire alone can do wrong.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Mapping
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
    """One way to fail: its name, how the server behaves, what it must become.

    `on` says what it becomes on wires where that differs.
    """

    name: str
    behaviour: fake.Behaviour
    became: str
    on: Mapping[str, str] = {}

    def expected(self, wire: str) -> list[str]:
        """Return what it may become on a wire."""
        return self.on.get(wire, self.became).split("|")


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


def error(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> fake.Behaviour:
    """Answer with an error object."""
    return body({"error": value}, status, headers)


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
DOCUMENTS = (
    Fault("empty", body(b""), "torn"),
    Fault("blanks", body(b" " * 100), "torn"),
    Fault("null", body(b"null"), "torn"),
    Fault("a number", body(b"7"), "torn"),
    Fault("a string", body(b'"fine"'), "torn"),
    Fault("a list", body(b"[]"), "torn"),
    Fault("an empty object", body(b"{}"), "torn"),
    Fault("a page of HTML", body(b"<html>502</html>"), "torn"),
    Fault("BOM", body(b"\xef\xbb\xbf" + OK), "torn"),
    Fault("UTF-16", body(OK.decode().encode("utf-16")), "torn"),
    Fault("UTF-32", body(OK.decode().encode("utf-32")), "torn"),
    Fault("half an escape", body(OK[:-1] + b',"a":"\\u12'), "torn"),
    Fault("cut in the middle", body(OK[: len(OK) // 2]), "torn"),
    Fault("two documents", body(OK + OK), "torn"),
    Fault("bytes after the document", body(OK + b"xyz"), "torn"),
    Fault("single quotes", body(OK.replace(b'"', b"'")), "torn"),
    Fault("500,000 brackets", body(b"[" * DEEP), "torn"),
    Fault("500,000 objects", body(b'{"a":' * DEEP), "torn"),
    Fault("500,000 brackets, closed", body(b"[" * DEEP + b"]" * DEEP), "torn"),
    Fault("many arguments that never end", body(b'{"arguments":[' * 100_000), "torn"),
    Fault("blanks after arguments", body(
        b'{"arguments"' + b" " * MEGA + b'"arguments"' + b" " * MEGA), "torn"),
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
    Fault("error of 2 MB under 200", error({"message": "x" * 2 * MEGA}), "unavailable"),
    Fault("error deep under 200", body(
        b'{"error":{"message":' + b"[" * 800 + b"]" * 800 + b"}}"), "unavailable|torn"),
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
    Fault("400 of 2 MB", error({"message": "x" * 2 * MEGA}, 400), "rejected.other"),
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
        {"code": "tool_use_failed", "failed_generation": "x" * 2 * MEGA}, 400),
        "reply:malformed|rejected.other"),
)  # fmt: skip

TRANSPORT = (*CONNECTION, *HEADS, *FRAMING)
ON_EVERY_WIRE = (*TRANSPORT, *DOCUMENTS, *ERRORS)
"""What an endpoint can do wrong before anything is said of the shape of its replies."""
