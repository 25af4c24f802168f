"""A reply is read on every wire: what it said, and what goes back of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.wire_samples import SAMPLES, WireSample, by_wire
from tests.servers import fake

from toolmark.core.errors import Rejected
from toolmark.core.json_codec import decode_record, encode_record
from toolmark.core.records import Call, Reply
from toolmark.models.wire_names import WireName
from toolmark.models.wires import reply_parts

Json = dict[str, Any]
every_wire = pytest.mark.parametrize("name", SAMPLES)
KEY = "AIzaKey-of-tests-123456"


def called(sample: WireSample, name: str = "f", id: Any = "c", **arguments: Any) -> Json:
    is_text = sample.name in ("chat", "responses")
    made = sample.bodies.call(name, id, json.dumps(arguments) if is_text else arguments)
    assert isinstance(made, dict)
    return made


def thought(text: str) -> Json:
    """Return a thought on the responses wire."""
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": text}


def message(*content: Json, **more: Any) -> Json:
    """Return a message on the responses wire."""
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": list(content), **more}  # fmt: skip


def output_text(text: str, **more: Any) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": [], **more}


SAID = {name: sample.bodies.text("It is sunny.") for name, sample in SAMPLES.items()}
ITEM = message(output_text("x"))
ITEM_CALL: Json = {"type": "function_call", "id": "fc_1", "call_id": "c", "status": "completed",
                   "name": "f", "arguments": "{}"}  # fmt: skip
THINKING: Json = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
BLOCK: Json = {"type": "text", "text": "x"}
TOOL_USE: Json = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
THOUGHT_PART: Json = {"text": "Hm.", "thought": True}
PART: Json = {"text": "x"}
FUNCTION: Json = {"name": "f", "args": {}, "id": "c"}

# --- what was said ----------------------------------------------------------------------


@every_wire
def test_a_plain_reply_needs_no_state(name: WireName) -> None:
    sample = SAMPLES[name]
    found = sample.read(SAID[name], called(sample, "f", "call_7", a=1))
    assert found.text == "It is sunny."
    assert found.calls == (Call(name="f", arguments='{"a": 1}', id="call_7"),)
    assert found.provider_state is None
    assert (found.stop, found.finish, found.latency_s) == ("stop", "", 0.5)
    assert found.model == sample.bodies.body()[sample.bodies.model]


PLAIN: dict[WireName, tuple[Any, ...]] = {
    "chat": ({"content": "x", "refusal": None, "annotations": [], "reasoning": ""},),
    "responses": tuple(ITEM | {member: None} for member in ("phase", "id", "status")),
    "anthropic": (BLOCK | {"citations": None},),
    "gemini": (PART, {"functionCall": FUNCTION}),
}


@by_wire("said", PLAIN)
def test_what_is_null_is_no_state(name: WireName, said: Json) -> None:
    assert SAMPLES[name].read(said).provider_state is None


STATES: dict[WireName, tuple[list[Json], ...]] = {
    "responses": (
        [thought("gAAA"), ITEM],
        [ITEM | {"phase": "final_answer"}],
        [message(output_text("x", annotations=[{"a": 1}]))],
        [ITEM, ITEM],
        [message(output_text("x"), output_text("y"))],
        [ITEM_CALL, ITEM],
        [ITEM_CALL | {"namespace": "n"}],
        [ITEM_CALL | {"unknown": 1}],
        [ITEM_CALL | {"status": "incomplete"}],
        [{"type": "web_search_call", "id": "ws_1", "status": "completed"}],
        [message({"type": "refusal", "refusal": "no"})],
    ),
    "anthropic": (
        [THINKING, BLOCK],
        [{"type": "redacted_thinking", "data": "x"}, BLOCK],
        [TOOL_USE, BLOCK],
        [BLOCK, BLOCK],
        [BLOCK | {"citations": [{"type": "char_location"}]}],
        [TOOL_USE | {"caller": {"type": "direct"}}],
        [BLOCK, {"type": "hologram"}],
        [TOOL_USE | {"input": "x"}],
    ),
    "gemini": (
        [THOUGHT_PART, PART],
        [PART | {"thoughtSignature": "c2ln"}],
        [{"functionCall": FUNCTION, "thoughtSignature": "c2ln"}],
        [{"functionCall": {"name": "f", "args": {}}}],
        [{"functionCall": FUNCTION | {"id": ""}}],
        [{"functionCall": FUNCTION}, {"functionCall": FUNCTION}],
        [PART, PART],
        [{"functionCall": FUNCTION}, PART],
        [{"functionCall": {"name": "f", "id": "c"}}],
        [{"functionCall": FUNCTION | {"unknown": 1}}],
        [{"executableCode": {"code": "1"}}, PART],
    ),
}


@by_wire("said", STATES)
def test_what_the_records_lack_is_state_in_its_own_bytes(name: WireName, said: list[Json]) -> None:
    """The chat wire stores members of a message: see test_chat_reply."""
    sample = SAMPLES[name]
    text = json.dumps(said, indent=3, ensure_ascii=False)
    whole = json.dumps(sample.bodies.body(*said)).replace(json.dumps(said), text)
    found = sample.decode(whole.encode())
    state = found.provider_state
    assert state is not None and text in state.data
    assert (state.wire, state.origin) == (name, "here")
    assert decode_record(encode_record(found), Reply) == found


@every_wire
def test_arguments_are_the_source_text(name: WireName) -> None:
    sample = SAMPLES[name]
    arguments = '{ "a":  1.0, "b": 1e400, "ü": "\\u00fc" }'
    is_text = name in ("chat", "responses")
    body = json.dumps(sample.bodies.body(sample.bodies.call(arguments="HERE")))
    sent = body.replace('"HERE"', json.dumps(arguments) if is_text else arguments)
    assert sample.decode(sent.encode()).calls[0].arguments == arguments


SUMMARY = [{"type": "summary_text", "text": text} for text in ("First.", "Then.")]
OWN_WORDS = [{"type": "reasoning_text", "text": "Own words."}]
READ: dict[WireName, tuple[Any, ...]] = {
    "chat": (
        ([{"content": "b", "reasoning": "a"}], "b", "a", []),
        ([{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
         "ab", "", []),
        ([{"tool_calls": [{"function": {"name": "f", "arguments": {"a": [1]}}}]}],
         "", "", ['{"a": [1]}']),
        ([{"tool_calls": [{"id": 7, "function": {"name": "f", "arguments": None}}]}],
         "", "", ["{}"]),
        ([{"tool_calls": [{"function": {"name": "f"}}]}], "", "", ["{}"]),
    ),
    "responses": (
        ([thought("g") | {"summary": SUMMARY}, ITEM], "x", "First.\n\nThen.", []),
        ([thought("g") | {"summary": SUMMARY, "content": OWN_WORDS}, ITEM], "x", "Own words.", []),
        ([{"type": "message", "content": "plain"}], "plain", "", []),
        ([ITEM_CALL | {"arguments": {"a": [1]}}], "", "", ['{"a": [1]}']),
        ([ITEM_CALL | {"arguments": None}], "", "", ["{}"]),
        ([ITEM_CALL | {"call_id": 5}], "", "", ["{}"]),
        ([{"type": "message", "content": None}], "", "", []),
        ([{"no": "type"}, {"type": 5}, ITEM], "x", "", []),
        ([], "", "", []),
    ),
    "anthropic": (
        ([THINKING, BLOCK, THINKING | {"thinking": ""}, TOOL_USE, THINKING, BLOCK,
          TOOL_USE | {"id": "d", "input": {"x": [1, 2.0]}}],
         "xx", "I look.\n\nI look.", ["{}", '{"x": [1, 2.0]}']),
        ([TOOL_USE | {"input": None}], "", "", ["{}"]),
        ([TOOL_USE | {"input": "x"}], "", "", ["x"]),
        ([], "", "", []),
    ),
    "gemini": (
        ([THOUGHT_PART, PART, {"text": " Ha.", "thought": True}, {"text": " Yes."}],
         "x Yes.", "Hm. Ha.", []),
        ([{"functionCall": FUNCTION | {"args": {"a": [1, "\ud800"]}}}],
         "", "", ['{"a": [1, "\\ud800"]}']),
        ([{"functionCall": FUNCTION | {"args": 5}}], "", "", ["5"]),
        ([{"functionCall": {"name": "f", "args": None}}], "", "", ["{}"]),
        ([{"functionCall": FUNCTION | {"id": 5}}], "", "", ["{}"]),
        ([{"no": "kind"}, {"inlineData": 5}, PART], "x", "", []),
        ([{"text": None}, {"functionCall": None}], "", "", []),
        ([PART | {"thought": None}, {"text": "y", "thought": "yes"}], "x", "y", []),
    ),
}  # fmt: skip


@by_wire("said text reasoning arguments", READ)
def test_a_reply_is_read_as_far_as_it_can_be(
    name: WireName, said: list[Json], text: str, reasoning: str, arguments: list[str]
) -> None:
    for found in SAMPLES[name].decode_both_ways(SAMPLES[name].bodies.body(*said)):
        assert (found.text, found.reasoning, found.stop) == (text, reasoning, "stop")
        assert [call.arguments for call in found.calls] == arguments


WRONG: dict[WireName, tuple[Any, ...]] = {
    "chat": (
        {"content": 42}, {"content": [{"type": "text"}]}, {"tool_calls": "f()"},
        {"tool_calls": ["f"]}, {"tool_calls": [{"function": "f"}]},
        {"tool_calls": [{"function": {"arguments": "{}"}}]}, {"tool_calls": {"name": "f"}},
        {"reasoning": {"a": 1}, "content": "x"},
    ),
    "responses": (
        None, "x", 5, {"type": "message", "content": 5}, {"type": "message", "content": [5]},
        {"type": "message", "content": [{"text": 5}]}, {"type": "function_call"},
        {"type": "function_call", "name": 5}, {"type": "reasoning", "summary": "x", "content": 1},
    ),
    "anthropic": (
        None, "x", 5, {"type": 5}, {"type": "text", "text": 5}, {"type": "tool_use"},
        {"type": "tool_use", "name": 5}, {"type": "thinking", "thinking": 5},
    ),
    "gemini": (
        None, "x", 5, {"text": 5}, {"functionCall": 5}, {"functionCall": {}},
        {"functionCall": {"name": 5}},
    ),
}  # fmt: skip


@by_wire("said", WRONG)
def test_parts_of_the_wrong_shape_are_malformed_and_their_json_stays(
    name: WireName, said: Any
) -> None:
    found = SAMPLES[name].read(said)
    assert (found.stop, found.calls) == ("malformed", ())
    written = {"role": "assistant", "content": None} | said if name == "chat" else said
    assert json.dumps(written) in found.text


@every_wire
def test_lone_surrogates_are_stored_and_go_back(name: WireName) -> None:
    sample = SAMPLES[name]
    thoughts = {"reasoning_content": "Hm."} if name == "chat" else sample.said[0]
    said = sample.bodies.text("x\ud800")
    found = sample.read(thoughts, said)
    assert decode_record(encode_record(found), Reply) == found
    assert found.provider_state is not None
    if name != "chat":  # its texts are no state
        assert json.dumps([thoughts, said]) in found.provider_state.data
    assert sample.read(said, called(sample)).provider_state is None


# --- what is too long -------------------------------------------------------------------


@every_wire
def test_what_is_too_long_is_cut_but_what_goes_back_is_not(name: WireName) -> None:
    sample = SAMPLES[name]
    text = "x" * (reply_parts.MAX_TEXT_CHARS + 1000)
    thoughts = {"reasoning_content": text} if name == "chat" else sample.said[0]
    found = sample.read(thoughts, sample.bodies.text(text), called(sample))
    assert found.stop == "length" and found.defects
    assert found.text == text[: reply_parts.MAX_TEXT_CHARS] + f" [cut: {len(text)} characters]"
    assert found.provider_state is not None and text in found.provider_state.data
    many = sample.read(*sample.bodies.calls(reply_parts.MAX_CALLS + 5))
    assert len(many.calls) == reply_parts.MAX_CALLS and many.stop == "length"


# --- a key ------------------------------------------------------------------------------

KEY_IN_STATE: dict[WireName, Json] = {
    "chat": {"content": "x", "reasoning_details": [{"type": "reasoning.encrypted", "data": KEY}]},
    "responses": thought(KEY),
    "anthropic": THINKING | {"signature": KEY},
    "gemini": PART | {"thoughtSignature": KEY},
}


@every_wire
def test_a_key_in_what_goes_back_is_refused(name: WireName) -> None:
    sample = SAMPLES[name]
    body = sample.bodies.body(KEY_IN_STATE[name])
    found, _ = sample.ask(fake.answer(200, body), key=KEY, key_name="MY_KEY")
    assert isinstance(found, Rejected) and "the reply holds the key (MY_KEY)" in str(found)
    assert KEY not in str(found)
