"""A reply is read on every wire: how it ended, and what it cost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.wire_samples import SAMPLES, by_wire

from toolmark.core.errors import TornReply
from toolmark.core.records import Usage
from toolmark.models.wire_names import WireName
from toolmark.models.wires.reply_parts import ErrorInBody

Json = dict[str, Any]
every_wire = pytest.mark.parametrize("name", SAMPLES)
SAID = {name: sample.bodies.text("It is sunny.") for name, sample in SAMPLES.items()}

# --- how it ended -----------------------------------------------------------------------

ENDINGS: dict[WireName, tuple[Any, ...]] = {
    "chat": (
        ("stop", {}, "stop", ""), ("tool_calls", {}, "stop", ""), ("eos", {}, "stop", "eos"),
        (None, {}, "stop", ""), ("length", {}, "length", ""),
        ("content_filter", {}, "refused", ""), ("model_length", {}, "over_long", "model_length"),
        ("sensitive", {}, "refused", "sensitive"), ("max_tokens", {}, "length", "max_tokens"),
    ),
    "responses": (
        ("completed", {}, "stop", ""), (None, {}, "stop", ""), ("incomplete", {}, "length", ""),
        *(("incomplete", {"incomplete_details": {"reason": reason}}, stop, finish)
          for reason, stop, finish in (
              ("max_output_tokens", "length", ""), ("content_filter", "refused", "content_filter"),
              ("max_messages", "length", "max_messages"))),
    ),
    "anthropic": (
        ("end_turn", {}, "stop", ""), ("tool_use", {}, "stop", ""), (None, {}, "stop", ""),
        ("stop_sequence", {}, "stop", "stop_sequence"), ("max_tokens", {}, "length", ""),
        ("model_context_window_exceeded", {}, "over_long", "model_context_window_exceeded"),
        ("refusal", {}, "refused", "refusal"), ("pause_turn", {}, "length", "pause_turn"),
        ("refusal", {"stop_details": {"category": "cyber"}}, "refused", "refusal: cyber"),
        ("refusal", {"stop_details": {"category": None}}, "refused", "refusal"),
        ("perhaps", {}, "stop", "perhaps"),
    ),
    "gemini": (
        ("STOP", {}, "stop", ""), ("MAX_TOKENS", {}, "length", ""),
        ("SOMETHING_NEW", {}, "stop", "SOMETHING_NEW"),
        *((word, {}, "refused", word) for word in ("SAFETY", "RECITATION", "SPII", "IMAGE_SAFETY")),
        *((word, {}, "malformed", word) for word in (
            "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
            "MALFORMED_RESPONSE")),
    ),
}  # fmt: skip


@by_wire("word more stop finish", ENDINGS)
def test_how_a_reply_ended(
    name: WireName, word: str | None, more: Json, stop: str, finish: str
) -> None:
    body = SAMPLES[name].bodies.body(SAID[name], finish=word, **more)
    for found in SAMPLES[name].decode_both_ways(body):
        assert (found.stop, found.finish, found.text) == (stop, finish, "It is sunny.")


TORN: dict[WireName, tuple[bytes, ...]] = {
    "chat": (
        b'{"choices": [{"message": {"content": "ab', b'{"choices": []}', b'{"choices": null}',
        b'{"choices": {"message": {}}}', b'{"choices": [7]}', b'{"choices": [{"message": "x"}]}',
    ),
    "responses": (
        b'{"output":null}', b'{"output":"x"}', b'{"output":[],"status":"queued"}',
        b'{"output":[],"status":"in_progress"}', b'{"output":[],"status":"cancelled"}',
    ),
    "anthropic": (b'{"content":null}', b'{"content":[{"type":"text"'),
    "gemini": (
        b'{"candidates":[]}', b'{"promptFeedback":{}}', b'{"candidates":[{"content":{}}]}',
        *(b'{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":%s}]}' % reason
          for reason in (b'"OTHER"', b'"FINISH_REASON_UNSPECIFIED"', b"null", b'""', b"5")),
    ),
}  # fmt: skip


@every_wire
def test_a_body_that_is_no_reply_is_torn(name: WireName) -> None:
    for body in (b"", b"x", b"[]", b"null", b"{}", b"\xff\xfe", b"<html>502</html>",
                 b"[" * 100_000, *TORN[name]):  # fmt: skip
        with pytest.raises(TornReply):
            SAMPLES[name].decode(body)


ERRORS: dict[WireName, tuple[Any, ...]] = {
    "chat": (
        {"error": "overloaded", "choices": []},
        {"choices": [{"error": {"code": "overloaded"}, "message": None}]},
        {"choices": [{"finish_reason": "error", "message": {"content": ""},
                      "error": "overloaded"}]},
    ),
    "responses": (
        {"output": [], "status": "failed", "error": {"code": "overloaded"}},
        {"output": [{"type": "message", "content": "x"}], "status": "failed",
         "error": {"code": "overloaded"}},
    ),
    "anthropic": ({"type": "error", "message": "overloaded"},),
    "gemini": ([{"error": {"status": "overloaded"}}],),
}  # fmt: skip


@every_wire
def test_an_error_under_status_200_is_that_error(name: WireName) -> None:
    for body in ({"error": {"message": "overloaded", "code": 503}}, *ERRORS[name]):
        with pytest.raises(ErrorInBody) as caught:
            SAMPLES[name].decode(body)
        assert b"overloaded" in caught.value.body


@every_wire
def test_an_error_next_to_what_was_said_takes_nothing_from_it(name: WireName) -> None:
    body = SAMPLES[name].bodies.body(SAID[name], error={"message": "overloaded"})
    for found in SAMPLES[name].decode_both_ways(body):
        assert (found.text, found.stop) == ("It is sunny.", "stop")


# --- what it cost -----------------------------------------------------------------------

USAGES: dict[WireName, tuple[Any, ...]] = {
    "chat": (
        ({"prompt_tokens": 9, "completion_tokens": 5,
          "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}},
         Usage(input=9, output=5, cached=4, cache_written=2)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 8},
         Usage(input=9, output=5, cached=8)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 34,
          "completion_tokens_details": {"reasoning_tokens": 20}},  # counted apart from the output
         Usage(input=9, output=25, reasoning=20)),
        ({"prompt_tokens": 9, "completion_tokens": 25, "total_tokens": 34,
          "completion_tokens_details": {"reasoning_tokens": 20}},
         Usage(input=9, output=25, reasoning=20)),
    ),
    "responses": (
        ({"input_tokens": 9, "output_tokens": 5,
          "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
          "output_tokens_details": {"reasoning_tokens": 3}},
         Usage(input=9, output=5, reasoning=3, cached=4, cache_written=2)),
    ),
    "anthropic": (
        ({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 4,
          "cache_creation_input_tokens": 2, "output_tokens_details": {"thinking_tokens": 1}},
         Usage(input=9, output=5, reasoning=1, cached=4, cache_written=2)),
        ({"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None},
         Usage(input=3, output=4)),
    ),
    "gemini": (
        ({"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 20,
          "cachedContentTokenCount": 8}, Usage(input=9, output=25, reasoning=20, cached=8)),
        ({"promptTokenCount": 3, "toolUsePromptTokenCount": 4, "candidatesTokenCount": 5},
         Usage(input=7, output=5)),
    ),
}  # fmt: skip


@by_wire("counts usage", USAGES)
def test_tokens_are_counted_however_they_are_named(
    name: WireName, counts: Json, usage: Usage
) -> None:
    bodies = SAMPLES[name].bodies
    for found in SAMPLES[name].decode_both_ways(bodies.body(SAID[name], **{bodies.usage: counts})):
        assert (found.usage, found.defects) == (usage, ())


IMPOSSIBLE: dict[WireName, Json] = {
    "chat": {"completion_tokens": -1, "prompt_tokens_details": {"cached_tokens": "x"}},
    "responses": {"output_tokens": -1},
    "anthropic": {"input_tokens": 3, "cache_read_input_tokens": -1},
    "gemini": {"promptTokenCount": 3, "toolUsePromptTokenCount": -4, "thoughtsTokenCount": "x"},
}


@every_wire
def test_impossible_counts_are_none_and_marked(name: WireName) -> None:
    bodies = SAMPLES[name].bodies
    cases = (None, IMPOSSIBLE[name], {bodies.usage_input: -1}, {bodies.usage_input: "x"})
    for counts in cases:
        found = SAMPLES[name].decode(bodies.body(SAID[name], **{bodies.usage: counts}))
        assert (found.usage, bool(found.defects)) == (Usage(), counts is not None)
