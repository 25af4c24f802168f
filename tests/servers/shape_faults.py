"""What an endpoint can do wrong in the shape of a reply, written in the form of each wire."""

from __future__ import annotations

from tests.servers.faults import DEEP, MEGA, OK, Fault, body
from tests.servers.wire_bodies import (
    ABSENT,
    body_of,
    call_of,
    member_of,
    on_each,
    root_of,
    text_of,
    usage_of,
)

_NESTED = b"[" * 900 + b"]" * 900
_DEEP = b"[" * DEEP + b"]" * DEEP

TEXTS = (
    Fault("latin-1", text_of('"Müller"'.encode("latin-1")), "torn"),
    Fault("raw surrogate", text_of(b'"\xed\xa0\x80"'), "reply:stop"),
    Fault("overlong encoding", text_of(b'"\xc0\xaf"'), "torn"),
    Fault("lone surrogate as escape", text_of(b'"\\ud800"'), "reply:stop"),
    Fault("reversed pair as escape", text_of(b'"\\udc00\\ud800"'), "reply:stop"),
    Fault("zeros in a string", text_of(b'"\\u0000\x00"'), "reply:stop"),
    Fault("unknown escape", text_of(b'"\\x41"'), "torn"),
    Fault("deep nesting in a text", text_of(_NESTED), "torn|reply:malformed"),
    Fault("a text that is a number", text_of(5), "reply:malformed"),
    Fault("a text that is an object", text_of({"a": 1}), "reply:malformed"),
    Fault("a text of numbers", text_of([1, 2]), "reply:malformed"),
    Fault("a text that is true", text_of(True), "reply:malformed"),
    Fault("a text of null", text_of(None), "reply:stop"),
    Fault("text of 2 MB", text_of("x" * 2 * MEGA), "reply:length"),
    Fault("text of 2 MB of signs", text_of("\ud800\u0130" * (MEGA * 5 // 8)), "reply:length"),
)  # fmt: skip

CALLS = (
    Fault("a call without name", call_of(name=ABSENT), "reply:malformed"),
    Fault("a name that is a number", call_of(name=5), "reply:malformed"),
    Fault("arguments a number", call_of(arguments=5), "reply:stop"),
    Fault("arguments null", call_of(arguments=None), "reply:stop"),
    Fault("arguments a list", call_of(arguments=[]), "reply:stop"),
    Fault("arguments an object", call_of(arguments={"a": [1, "\ud800"]}), "reply:stop"),
    Fault("arguments half a text", call_of(arguments='{"a": 1'), "reply:stop"),
    Fault("arguments a lone surrogate", call_of(arguments="\ud800"), "reply:stop"),
    Fault("deep arguments", call_of(arguments=_DEEP), "torn", {"chat": "reply:stop"}),
    Fault("arguments that never end", call_of(arguments=b'{"' + b'\\"' * MEGA), "torn"),
    Fault("id a number", call_of(id=5), "reply:stop"),
    Fault("id an object", call_of(id={}), "reply:stop"),
    Fault("id null", call_of(id=None), "reply:stop"),
    Fault("arguments of 2 MB", on_each(
        lambda wire: body(wire.body(wire.call(arguments={"a": "x" * 2 * MEGA})))), "reply:length"),
    Fault("arguments of 2 MB of text", call_of(arguments="x" * 2 * MEGA), "reply:length"),
    Fault("a tool's name of 2 MB", call_of(name="f" * 2 * MEGA), "reply:length"),
    Fault("50,000 calls", body_of(lambda wire: wire.body(*wire.calls(50_000))), "reply:length"),
)  # fmt: skip

ROOTS = (
    Fault("nothing said, by no member", root_of(ABSENT), "torn"),
    Fault("nothing said, by null", root_of(None), "torn"),
    Fault("nothing said, by an empty list", root_of([]), "torn", {
        "responses": "reply:stop", "anthropic": "reply:stop"}),
    Fault("all that was said an object", root_of({}), "torn", {"anthropic": "reply:malformed"}),
    Fault("all that was said a text", root_of("hello"), "torn", {"anthropic": "reply:stop"}),
    Fault("all that was said a number", root_of(5), "torn", {"anthropic": "reply:malformed"}),
    Fault("a list of null", root_of([None]), "torn", {
        "responses": "reply:malformed", "anthropic": "reply:malformed"}),
    Fault("a list of text", root_of(["x"]), "torn", {
        "responses": "reply:malformed", "anthropic": "reply:malformed"}),
    Fault("a list of empty objects", root_of([{}]), "torn", {
        "responses": "reply:stop", "anthropic": "reply:stop"}),
    Fault("2,000,000 empty objects", root_of(b"[" + b"{}," * 2_000_000 + b"{}]"), "torn"),
    Fault("500,000 brackets in all that was said", root_of(b"[" + _DEEP + b"]"), "torn"),
    Fault("duplicate keys", body(
        b'{"choices":[],"output":[],"content":[],"candidates":[],' + OK[1:]), "reply:stop"),
)  # fmt: skip

ABOUT = (
    Fault("end a number", body_of(lambda wire: wire.body(wire.text("x"), finish=5)),
          "reply:stop", {"gemini": "torn"}),
    Fault("end unknown", body_of(lambda wire: wire.body(wire.text("x"), finish="because")),
          "reply:stop"),
    Fault("end null", body_of(lambda wire: wire.body(wire.text("x"), finish=None)),
          "reply:stop", {"gemini": "torn"}),
    Fault("model a number", member_of("model", 5), "reply:stop"),
    Fault("a model's name of 2 MB", member_of("model", "m" * 2 * MEGA), "reply:stop"),
    Fault("usage a text", member_of("usage", "many"), "reply:stop"),
    Fault("usage a list", member_of("usage", [1]), "reply:stop"),
    Fault("usage null", member_of("usage", None), "reply:stop"),
    Fault("details of usage a number", member_of("usage", {
        "output_tokens_details": 5, "completion_tokens_details": 5, "promptTokensDetails": 5}),
        "reply:stop"),
    Fault("negative usage", usage_of(b"-5"), "reply:stop"),
    Fault("usage as text", usage_of(b'"5"'), "reply:stop"),
    Fault("usage in halves", usage_of(b"0.5"), "reply:stop"),
    Fault("usage true", usage_of(b"true"), "reply:stop"),
    Fault("usage of 30 digits", usage_of(b"1" + b"0" * 30), "reply:stop"),
    Fault("usage of a million digits", usage_of(b"9" * MEGA), "reply:stop"),
    Fault("usage NaN", usage_of(b"NaN"), "reply:stop"),
    Fault("usage Infinity", usage_of(b"-Infinity"), "reply:stop"),
    Fault("usage 1e999999", usage_of(b"1e999999"), "reply:stop"),
    Fault("a float of a million digits", usage_of(b"0." + b"7" * MEGA + b"e-5"), "reply:stop"),
)  # fmt: skip

SHAPES = (*TEXTS, *CALLS, *ROOTS, *ABOUT)
"""What an endpoint of any wire can do wrong in a reply."""
