"""The reply as it comes in: what the model said is kept, whatever its shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers import fake

from toolmark.core import json_codec
from toolmark.core.records import Call, Reply, Usage
from toolmark.models.wires import chat_reply, reply_parts
from toolmark.models.wires.tool_names import ToolNames


def read(body: Any, meant: dict[str, str] | None = None) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return chat_reply.decode_reply(data, ToolNames((), b"", {}, meant or {}), 0.25, "here")


def test_text_usage_model_and_latency() -> None:
    body = fake.says("hello")
    body["usage"] |= {
        "completion_tokens_details": {"reasoning_tokens": 3},
        "prompt_tokens_details": {"cached_tokens": 2},
    }
    usage = Usage(input=7, output=5, reasoning=3, cached=2)
    assert read(body) == Reply(text="hello", usage=usage, latency_s=0.25, model="served-1")


def test_names_are_mapped_back_and_unknown_ones_unchanged() -> None:
    reply = read(fake.calls(("a_b", "{}"), ("nope", "{}")), {"a_b": "a.b"})
    assert [call.name for call in reply.calls] == ["a.b", "nope"]


HOSTILE = [
    "not json",
    "",
    '{"a": 1e400}',
    '{"a": "7"}',
    '{"a": ' + "1" * 5000 + "}",
    '{"a": ' + "[" * 10_000 + "]" * 10_000 + "}",
    '{"a": NaN}',
    '{"a": "x\ud800y"}',
    "\ufdd0d800",
    "x" * reply_parts.MAX_TEXT_CHARS,
    "\x00\x1f\u2028",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_and_arguments_stay_as_sent_and_can_be_stored(text: str) -> None:
    spoken = read(fake.says(text))
    called = read(fake.calls(("f", text)))
    assert json_codec.restore_surrogates(spoken.text) == text
    assert json_codec.restore_surrogates(called.calls[0].arguments) == text
    for reply in (spoken, called):
        assert json_codec.decode_record(json_codec.encode_record(reply), Reply) == reply


@given(st.text(st.characters(exclude_categories=()), max_size=50))
def test_any_text_round_trips(text: str) -> None:
    reply = read(fake.calls((text, text), ids=(text,)))
    assert [
        json_codec.restore_surrogates(x) for x in (reply.calls[0].name, reply.calls[0].arguments)
    ] == [text] * 2
    assert json_codec.restore_surrogates(reply.calls[0].id) == text
    assert json_codec.restore_surrogates(read(fake.says(text)).text) == text


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1e400, "b": 1.0}',
        '{"a":  [1, {"arguments": {"x": "}]"}}]}',
        '{"n": ' + "1" * 5000 + "}",
        "[" * 10_000 + "]" * 10_000,
        '{"s": "\\ud800 \\" {"}',
    ],
)
def test_arguments_sent_as_an_object_keep_their_json_text(arguments: str) -> None:
    text = 'say "arguments": {'
    body = json.dumps(fake.calls(("f", "HERE"), ("g", "{}"))).replace('"HERE"', arguments)
    body = body.replace('"content": null', '"content": ' + json.dumps(text))
    reply = read(body.encode())
    assert reply.calls == (
        Call(name="f", arguments=arguments, id="call_0"),
        Call(name="g", arguments="{}", id="call_1"),
    )
    assert (reply.text, reply.stop) == (text, "stop")


def test_duplicate_ids_stay() -> None:
    reply = read(fake.calls(("f", "{}"), ("g", "{}"), ids=("same", "same")))
    assert [call.id for call in reply.calls] == ["same", "same"]


def test_absent_null_and_odd_fields_are_read() -> None:
    call = {"id": 7, "function": {"name": "f", "arguments": None}}
    assert read(fake.reply({"tool_calls": [call]})).calls == (Call(name="f", id="7"),)
    assert read(fake.reply({"tool_calls": [{"function": {"name": "f"}}]})).calls[0].id == ""
    assert read({"choices": [{"message": {"content": None}}]}) == Reply(latency_s=0.25)
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(fake.reply({"content": parts})).text == "ab"
    assert read(fake.reply({"content": "a"}) | {"error": None, "usage": "none"}).text == "a"
    odd = {"prompt_tokens": 3.0, "completion_tokens": -1, "prompt_tokens_details": []}
    assert read(fake.reply({"content": "a"}) | {"usage": odd}).usage == Usage(input=3)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_separated(field: str) -> None:
    reply = read(fake.reply({"content": "a", field: "b"}))
    assert reply.provider_state is not None
    assert reply == Reply(
        text="a",
        provider_state=reply.provider_state,
        reasoning="b",
        latency_s=0.25,
        usage=Usage(input=7, output=5),
        model="served-1",
    )


def test_a_refusal_is_refused_and_its_words_are_the_text() -> None:
    for extra in ({}, {"content": ["", ""]}):
        reply = read(fake.reply({"refusal": "I will not.", **extra}))
        assert (reply.stop, reply.text) == ("refused", "I will not.")


# --- what else an endpoint says ------------------------------------------------------------


@pytest.mark.parametrize("finish", ["network_error", "insufficient_system_resource", "abort"])
def test_an_end_by_a_fault_of_the_endpoint_is_its_error(finish: str) -> None:
    for content in ("x", [{"type": "text", "text": "x"}]):
        with pytest.raises(reply_parts.ErrorInBody) as caught:
            read(fake.reply({"role": "assistant", "content": content}, finish))
        assert json.loads(caught.value.body)["error"]["code"] == "503"


def test_what_answered_is_on_record() -> None:
    body = fake.says("x")
    body |= {"system_fingerprint": "fp_1", "provider": "Fast"}
    reply = read(body)
    assert (reply.fingerprint, reply.upstream) == ("fp_1", "Fast")
    body |= {"system_fingerprint": 7, "provider": {"name": "Fast"}}
    reply = read(body)
    assert (reply.fingerprint, reply.upstream) == ("", "")


def test_plain_replies_have_no_state() -> None:
    """So files and cache keys of models that do not think stay as they were."""
    plain: dict[str, Any] = dict.fromkeys(("refusal", "reasoning_content", "audio"))
    plain |= {"role": "assistant", "content": "x", "annotations": [], "function_call": None}
    assert read(fake.reply(plain)).provider_state is None
    assert read(fake.reply({**plain, "reasoning": "", "other": 5})).provider_state is None
    assert read(fake.calls(("f", "{}"))).provider_state is None
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(fake.reply({"content": parts})).provider_state is None


def test_state_is_the_source_text() -> None:
    body = json.dumps(fake.reply({"content": "x", "reasoning_details": "HERE"}))
    details = (
        '[ {"type":"reasoning.text" , "text":"\\u00fc", "n": 1.50, "big": 12345678901234567890123}]'
    )
    reply = read(body.replace('"HERE"', details).encode())
    assert reply.provider_state is not None
    assert details in reply.provider_state.data
    assert reply.reasoning == "ü"


def test_thoughts_are_shown_under_whatever_name_they_came() -> None:
    for message in (
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "S"}]},
        {"reasoning_text": "hm", "reasoning_opaque": "AAAA"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ):
        reply = read(fake.reply({"role": "assistant", "content": "x", **message}))
        assert reply.reasoning.startswith("hm"), message
        assert reply.provider_state is not None
