"""A request on the Messages wire: its shape, and the contents that go back in it."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.servers.anthropic_server import message

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import Rejected, UsageError
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Adaptation,
    Audio,
    Call,
    Image,
    Message,
    ProviderState,
    Reply,
    Request,
    Result,
    Sampling,
    Text,
    Tool,
)
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.models import claude_models
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.provider_table import profile_for_url
from toolmark.models.wires.anthropic_messages import MESSAGES_WIRE
from toolmark.models.wires.anthropic_tools import root_object
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]
HERE = "here"
USER = Message(role="user", parts=(Text("hello"),))
SYSTEM = Message(role="system", parts=(Text("Be brief."),))
THOUGHT: Json = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
SAID: Json = {"type": "text", "text": "I look that up."}
CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "get_weather",
              "input": {"city": "Paris"}, "caller": {"type": "direct"}}  # fmt: skip
CONTENT: list[Json] = [THOUGHT, SAID, CALL]
ANTHROPIC = profile_for_url("https://api.anthropic.com/v1", "m", "anthropic")


def encoder(
    profile: EndpointProfile = DEFAULT_PROFILE,
    media: MediaStore | None = None,
    origin: str = HERE,
    model: str = "m",
    **more: Any,
) -> RequestEncoder:
    return MESSAGES_WIRE.make_encoder(EncoderSettings(model, profile, media, origin, **more))


def body_of(sent: EncodedRequest) -> Json:
    found: Json = json.loads(sent.body)
    return found


def encode(*messages: Message, **more: Any) -> Json:
    return body_of(encoder().encode_request(Request(messages=messages, **more)))


def decode(content: list[Json]) -> Reply:
    body = json.dumps(message(content)).encode()
    return MESSAGES_WIRE.decode_reply(body, NO_TOOLS, 0.0, HERE)


def answered(content: list[Json]) -> tuple[Message, ...]:
    """Return the messages that follow a reply: what it said, and a result for each call."""
    reply = decode(content)
    results = tuple(Result(parts=(Text(f"r{i}"),)) for i, _ in enumerate(reply.calls))
    return render_reply(NATIVE_FORMAT, reply, reply.calls, results)


def kinds(sent: EncodedRequest) -> list[str]:
    return [each.kind for each in sent.adaptations]


# --- the shape --------------------------------------------------------------------------


def test_the_shape_of_a_request() -> None:
    request = Request(
        messages=(SYSTEM, USER),
        tools=(Tool(name="get.weather", description="d", parameters={"type": "object"}),),
        sampling=Sampling(
            temperature=0.5, top_p=0.9, max_tokens=4000, reasoning_effort="high",
            extra={"output_config": {"format": None}, "metadata": {"user_id": "b"}},
        ),
    )  # fmt: skip
    sent = encoder(ANTHROPIC, model="claude-opus-5", is_stream=True).encode_request(request)
    assert body_of(sent) == {
        "model": "claude-opus-5",
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [
            {"name": "get_weather", "description": "d", "input_schema": {"type": "object"}},
        ],
        "max_tokens": 4000, "temperature": 0.5, "top_p": 0.9, "stream": True,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high", "format": None}, "metadata": {"user_id": "b"},
    }  # fmt: skip
    assert sent.adaptations == (Adaptation(kind="tool_name", detail="get.weather -> get_weather"),)
    assert sent.headers == ()


def test_the_least_that_is_sent_has_a_limit_which_is_on_record() -> None:
    sent = encoder().encode_request(Request(messages=(USER,)))
    assert body_of(sent) == {
        "model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8192,
    }  # fmt: skip
    detail = "max_tokens 8192: the wire needs a limit"
    assert sent.adaptations == (Adaptation(kind="setting", detail=detail),)


def test_the_headers_name_the_version_and_the_features() -> None:
    given = {"Anthropic-Beta": "a, b", "anthropic-version": "2026-10-21"}
    plain = MESSAGES_WIRE.settle_profile(DEFAULT_PROFILE, {})
    other = MESSAGES_WIRE.settle_profile(DEFAULT_PROFILE, given)
    assert MESSAGES_WIRE.headers("", plain) == {"anthropic-version": "2023-06-01"}
    assert MESSAGES_WIRE.headers("k", other) == {
        "anthropic-version": "2026-10-21", "x-api-key": "k", "anthropic-beta": "a,b",
    }  # fmt: skip
    assert other.unsent_settings == ("temperature", "top_p")
    assert MESSAGES_WIRE.settle_profile(other, {}) == other


@pytest.mark.parametrize(
    ("version", "n"), [("2023-01-01", 0), ("2023-06-01", 0), ("2026-10-21", 2), ("2027-01-01", 2)]
)
def test_a_version_that_is_unknown_refuses_what_the_one_before_it_refused(
    version: str, n: int
) -> None:
    assert len(claude_models.refused_by_version(version)) == n


def test_all_results_of_a_step_are_one_message_before_any_text() -> None:
    calls = [CALL | {"id": f"toolu_{n}"} for n in range(3)]
    said, *results = answered([THOUGHT, *calls])
    results[1] = replace(results[1], is_error=True)
    found = encode(USER, said, *results, USER, USER)["messages"]
    assert [each["role"] for each in found] == ["user", "assistant", "user"]
    assert found[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_0", "content": "r0"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r1", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "r2"},
        {"type": "text", "text": "hello"}, {"type": "text", "text": "hello"},
    ]  # fmt: skip


def test_results_come_before_text_that_came_before_them() -> None:
    said, result = answered(CONTENT)
    (*_, last) = encode(USER, said, USER, result)["messages"]
    assert [each["type"] for each in last["content"]] == ["tool_result", "text"]


def test_a_later_message_of_the_system_changes_nothing_before_it() -> None:
    said, result = answered(CONTENT)
    sent = encoder().encode_request(Request(messages=(SYSTEM, USER, said, result, SYSTEM)))
    body = body_of(sent)
    assert body["system"] == [{"type": "text", "text": "Be brief."}]
    assert body["messages"][-1]["content"][-1] == {"type": "text", "text": "Be brief."}
    assert "content" in kinds(sent)


def test_nothing_is_sent_without_a_word() -> None:
    blank = Message(role="user", parts=(Text(" \n"),))
    silent = Message(role="assistant", parts=(Text(""),))
    sent = encoder().encode_request(Request(messages=(blank, silent)))
    assert body_of(sent)["messages"] == [{"role": "user", "content": "(empty)"}]
    assert kinds(sent) == ["setting", "content", "content"]
    assert encode()["messages"] == [{"role": "user", "content": "(empty)"}]
    found = encode(Message(role="user", parts=(Text(""), Text("a"))))
    assert found["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


def test_pictures_and_documents_in_messages_and_results(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    image = store.add_image(b"\x89PNG", "image/png")
    paper = store.add_image(b"%PDF", "application/pdf")
    said, result = answered(CONTENT)
    result = replace(result, parts=(Text("see"), image, paper))
    user = Message(role="user", parts=(image, Text("what?")))
    request = Request(messages=(user, said, result))
    first, _, last = body_of(encoder(media=store).encode_request(request))["messages"]
    picture = {"type": "image", "source": {
        "type": "base64", "media_type": "image/png",
        "data": base64.b64encode(b"\x89PNG").decode()}}  # fmt: skip
    document = {"type": "document", "source": {
        "type": "base64", "media_type": "application/pdf",
        "data": base64.b64encode(b"%PDF").decode()}}  # fmt: skip
    assert first["content"] == [picture, {"type": "text", "text": "what?"}]
    assert last["content"][0]["content"] == [{"type": "text", "text": "see"}, picture, document]


def test_sound_and_other_pictures_are_refused_in_one_line() -> None:
    sound = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=1)
    with pytest.raises(Rejected, match=r"^the anthropic wire takes no sound; next: --wire chat"):
        encode(Message(role="user", parts=(sound,)))
    picture = Image(sha256="0" * 64, mime="image/bmp", size_bytes=1)
    with pytest.raises(Rejected, match=r"image/bmp.*png, jpeg, gif, webp"):
        encode(Message(role="user", parts=(picture,)))


def test_marks_of_what_is_stored_leave_earlier_bytes_as_they_were() -> None:
    """The end alone says that the conversation is stored, and only once it goes on."""
    said, result = answered(CONTENT)
    made = encoder(ANTHROPIC, model="claude-opus-5-5")
    messages = (SYSTEM, USER, said, result, *answered(CONTENT[1:]), USER)
    bodies = [made.encode_request(Request(messages=messages[:n])).body for n in (2, 4, 6)]
    starts = [body[: body.rindex(b"]")] for body in bodies]
    for before, after in pairwise(starts):
        assert after.startswith(before)
    assert [json.loads(body).get("cache_control") for body in bodies] == [
        None, *[{"type": "ephemeral"}] * 2,
    ]  # fmt: skip
    assert b"cache_control" not in encoder().encode_request(Request(messages=messages)).body


# --- thinking ---------------------------------------------------------------------------


def settings(model: str, effort: str | None = None, **more: Any) -> tuple[Json, list[str]]:
    """Return the thinking and effort that are sent, and what was changed of the settings."""
    sampling = Sampling(reasoning_effort=effort, max_tokens=more.pop("max_tokens", 50_000), **more)
    sent = encoder(model=model).encode_request(Request(messages=(USER,), sampling=sampling))
    body = body_of(sent)
    found = {name: body[name] for name in body if name in ("thinking", "output_config")}
    return found, [each.detail for each in sent.adaptations]


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "effort", "found", "n_changed"),
    [
        ("claude-opus-5-5", None, {"thinking": ADAPTIVE}, 0),
        ("claude-opus-5-5", "none", {"thinking": ADAPTIVE}, 1),
        ("claude-opus-5-5", "xhigh", {
            "thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}}, 0),
        ("claude-opus-5-5-20260922", "minimal", {
            "thinking": ADAPTIVE, "output_config": {"effort": "low"}}, 1),
        ("claude-sonnet-5-5", "none", {"thinking": {"type": "between_tools"}}, 0),
        ("claude-haiku-5-5", "off", {"thinking": {"type": "disabled"}}, 0),
        ("claude-opus-4-6", None, {}, 0),
        ("claude-opus-4-6", "max", {"thinking": ADAPTIVE, "output_config": {"effort": "max"}}, 0),
        ("claude-sonnet-4-5-20250929", None, {}, 0),
        ("claude-sonnet-4-5", "medium", {
            "thinking": {"type": "enabled", "budget_tokens": 8192}}, 1),
        ("claude-opus-9", "high", {
            "thinking": ADAPTIVE, "output_config": {"effort": "high"}}, 0),
        ("deepseek-v4", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}, 1),
        ("deepseek-v4", None, {}, 0),
    ],
)  # fmt: skip
def test_each_model_is_asked_to_think_in_its_way(
    model: str, effort: str | None, found: Json, n_changed: int
) -> None:
    sent, changed = settings(model, effort)
    assert (sent, len(changed)) == (found, n_changed)


def test_a_budget_leaves_room_for_an_answer() -> None:
    sent, _ = settings("claude-sonnet-4-5", "max", max_tokens=5000)
    assert sent == {"thinking": {"type": "enabled", "budget_tokens": 3976}}
    sent, changed = settings("claude-sonnet-4-5", "max", max_tokens=2000)
    assert sent == {} and changed == ["no thinking: max_tokens 2000 leaves no room for it"]
    with pytest.raises(UsageError, match="no reasoning effort 'much'"):
        settings("claude-sonnet-4-5", "much")


def test_the_extra_body_has_the_last_word() -> None:
    sent, _ = settings("claude-opus-5-5", "low", extra={"thinking": {"type": "adaptive"}})
    assert sent["thinking"] == {"type": "adaptive"}
    body = encode(USER, sampling=Sampling(extra={"max_tokens": 5}))
    assert body["max_tokens"] == 5
    with pytest.raises(UsageError, match="'thinking' must be an object"):
        encode(USER, sampling=Sampling(extra={"thinking": True}))
    with pytest.raises(UsageError, match="may not set 'system'"):
        encode(USER, sampling=Sampling(extra={"system": "x"}))


def test_refused_settings_are_left_out() -> None:
    profile = EndpointProfile(unsent_settings=("temperature", "thinking_display"))
    request = Request(messages=(USER,), sampling=Sampling(temperature=0.1))
    body = body_of(encoder(profile, model="claude-opus-5-5").encode_request(request))
    assert body["thinking"] == {"type": "adaptive"} and "temperature" not in body


# --- contents that go back --------------------------------------------------------------


def spliced(content: list[Json], *change: Any) -> list[Json]:
    """Return the content of a reply as it goes back."""
    found: list[Json] = encode(USER, *answered(content), USER)["messages"][1]["content"]
    return found


BLOCKS = st.lists(
    st.sampled_from([
        THOUGHT, {"type": "redacted_thinking", "data": "e30="}, SAID, CALL,
        SAID | {"citations": None},
        {"type": "server_tool_use", "id": "s", "name": "x", "input": {}},
        {"type": "hologram", "beam": [1, None]},
    ]),
    min_size=1, max_size=6,
)  # fmt: skip


@given(BLOCKS)
def test_a_content_goes_back_as_it_came(blocks: list[Json]) -> None:
    content = [
        block | {"id": f"toolu_{n}"} if block["type"] == "tool_use" else block
        for n, block in enumerate(blocks)
    ]
    content.append(SAID)
    expected = [
        {k: v for k, v in block.items() if k != "citations" or v is not None} for block in content
    ]
    found = [
        {k: v for k, v in block.items() if k != "citations" or v is not None}
        for block in spliced(content)
    ]
    plain = all(block["type"] in ("text", "tool_use") for block in content)
    if not plain:
        assert found == expected
    else:
        assert [b["type"] for b in found] == [b["type"] for b in expected]


def test_the_bytes_of_a_content_are_its_own() -> None:
    source = (
        '[ {"type":"thinking", "thinking":"\\u00e9", "signature":"s"},'
        '{"type":"tool_use","id":"t","name":"f","input":{"a":  1.0, "b":"\\u00e9"}} ]'
    )
    body = ('{"content":' + source + "}").encode()
    reply = MESSAGES_WIRE.decode_reply(body, NO_TOOLS, 0.0, HERE)
    assert reply.calls[0].arguments == '{"a":  1.0, "b":"\\u00e9"}'
    messages = (USER, *render_reply(NATIVE_FORMAT, reply, reply.calls, (Result(),)))
    sent = encoder().encode_request(Request(messages=messages)).body
    assert b'"input":{"a":  1.0, "b":"\\u00e9"}' in sent
    assert b'{"type":"thinking", "thinking":"\\u00e9", "signature":"s"}' in sent


def test_a_plain_reply_goes_back_with_the_characters_of_its_arguments() -> None:
    call = Call(name="f", arguments='{"a":  1.0}', id="t")
    sent = encoder().encode_request(
        Request(messages=(USER, Message(role="assistant", parts=(Text("x"),), calls=(call,))))
    )
    assert b'"input":{"a":  1.0}}' in sent.body


@pytest.mark.parametrize("arguments", ["", "[1]", '{"a": ', "null", "5", "{}}"])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(arguments: str) -> None:
    said = Message(role="assistant", calls=(Call(name="f", arguments=arguments, id="t"),))
    sent = encoder().encode_request(Request(messages=(USER, said)))
    assert body_of(sent)["messages"][1]["content"][0]["input"] == {}
    assert "arguments" in kinds(sent)


def test_lone_surrogates_are_sent_as_escapes() -> None:
    arguments = escape_surrogates('{"a": "\ud800"}')
    said = Message(role="assistant", calls=(Call(name="f", arguments=arguments, id="t"),))
    user = Message(role="user", parts=(Text(escape_surrogates("x\udc00")),))
    found = encode(user, said)["messages"]
    assert found[0]["content"] == "x\udc00"
    assert found[1]["content"][0]["input"] == {"a": "\ud800"}


def test_calls_without_ids_of_their_own_have_new_ones_in_content_and_results() -> None:
    content = [THOUGHT, CALL | {"id": "same"}, CALL | {"id": "same"}]
    sent = encoder().encode_request(Request(messages=(USER, *answered(content))))
    _, said, results = body_of(sent)["messages"]
    ids = [block["id"] for block in said["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == 2
    assert ids == [block["tool_use_id"] for block in results["content"]]
    assert said["content"][0] == THOUGHT
    assert "state_patched" in kinds(sent)


def changed_call(said: Message) -> Message:
    return replace(said, calls=(replace(said.calls[0], arguments="{}"),))


@pytest.mark.parametrize(
    "change",
    [
        changed_call,
        lambda said: replace(said, calls=()),
        lambda said: replace(said, provider_state=replace(said.provider_state, origin="x")),
        lambda said: replace(said, provider_state=replace(said.provider_state, wire="chat")),
        lambda said: replace(said, provider_state=replace(said.provider_state, data="[1]")),
    ],
)
def test_a_content_that_does_not_fit_is_replaced_and_that_is_on_record(change: Any) -> None:
    said, result = answered(CONTENT)
    sent = encoder().encode_request(Request(messages=(USER, change(said), result)))
    content = body_of(sent)["messages"][1]["content"]
    assert "thinking" not in {block["type"] for block in content}
    assert "state_dropped" in kinds(sent)


def test_thoughts_that_led_to_nothing_are_left_out() -> None:
    said, *_ = answered([SAID, THOUGHT])
    sent = encoder().encode_request(Request(messages=(USER, said, USER)))
    assert body_of(sent)["messages"][1]["content"] == [SAID]
    assert "state_dropped" in kinds(sent)
    alone, *_ = answered([THOUGHT])
    sent = encoder().encode_request(Request(messages=(USER, alone, USER)))
    assert [each["role"] for each in body_of(sent)["messages"]] == ["user"]


def test_blank_texts_are_left_out() -> None:
    assert spliced([THOUGHT, {"type": "text", "text": "\n\n"}, CALL]) == [THOUGHT, CALL]


def test_a_call_that_was_cut_goes_back_with_its_thought() -> None:
    content = [THOUGHT, CALL | {"input": '{"city": '}]
    said, *_ = answered(content)
    sent = encoder().encode_request(Request(messages=(USER, said)))
    assert said.calls[0].arguments == '{"city": '
    assert body_of(sent)["messages"][1]["content"] == [THOUGHT, CALL | {"input": {}}]
    assert "arguments" in kinds(sent)


def test_other_tools_ask_for_thoughts_to_be_dropped_where_a_model_binds_them() -> None:
    tools = (Tool(name="get_weather"),)
    made = encoder(EndpointProfile(beta_features=("a",)), model="claude-opus-5-5")
    offered = made.encode_request(Request(messages=(USER,), tools=tools)).names
    body = json.dumps(message(CONTENT)).encode()
    reply = MESSAGES_WIRE.decode_reply(body, offered, 0.0, HERE)
    messages = (USER, *render_reply(NATIVE_FORMAT, reply, reply.calls, (Result(),)))
    same = made.encode_request(Request(messages=messages, tools=(Tool(name="get_weather"),)))
    other = made.encode_request(Request(messages=messages, tools=(*tools, Tool(name="g"))))
    assert "block_binding" not in body_of(same)["thinking"] and same.headers == ()
    assert body_of(other)["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert other.headers == (("anthropic-beta", "a,thinking-binding-controls-2026-08-01"),)
    silent = Request(
        messages=messages,
        tools=(*tools, Tool(name="g")),
        sampling=Sampling(reasoning_effort="none"),
    )
    sent = encoder(model="claude-haiku-5-5").encode_request(silent)
    assert (body_of(sent)["thinking"], sent.headers) == ({"type": "disabled"}, ())
    refused = encoder(EndpointProfile(unsent_settings=("block_binding",)), model="claude-opus-5-5")
    sent = refused.encode_request(Request(messages=messages, tools=(*tools, Tool(name="g"))))
    assert "block_binding" not in body_of(sent)["thinking"]


# --- schemas ----------------------------------------------------------------------------

_PROPERTIES = st.dictionaries(
    st.sampled_from("abc"), st.sampled_from([{"type": "string"}, {"type": "integer"}, {}]),
    max_size=3,
)  # fmt: skip


@st.composite
def _schemas(draw: st.DrawFn, depth: int = 2) -> Json:
    schema: Json = {"properties": draw(_PROPERTIES)}
    if draw(st.booleans()):
        schema["type"] = "object"
    if names := draw(st.lists(st.sampled_from("abc"), max_size=2, unique=True)):
        schema["required"] = names
    if depth < 2:  # another property is one that no branch describes
        schema["additionalProperties"] = False
    if depth and (name := draw(st.sampled_from(["", "allOf", "anyOf", "oneOf"]))):
        schema[name] = draw(st.lists(_schemas(depth - 1), min_size=1, max_size=3))
    return schema


@given(_schemas(), st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["x", 1, None])))
def test_a_schema_without_a_choice_at_its_root_accepts_what_the_schema_accepts(
    schema: Json, value: Json
) -> None:
    merged = root_object(schema)
    assert merged["type"] == "object"
    assert not merged.keys() & {"allOf", "anyOf", "oneOf"}
    if jsonschema.Draft202012Validator(schema).is_valid(value):
        assert jsonschema.Draft202012Validator(merged).is_valid(value)


def test_a_schema_of_an_object_stays_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [{}, {}]}}}
    assert root_object(schema) is schema
    tools = (Tool(name="f", parameters=schema), Tool(name="g", parameters={"oneOf": [schema]}))
    sent = encoder().encode_request(Request(messages=(USER,), tools=(*tools, Tool(name="h"))))
    assert [each.detail for each in sent.adaptations if each.kind == "tool_schema"] == [
        "g: oneOf at the root merged into one object"
    ]
    assert body_of(sent)["tools"][2]["input_schema"] == {"type": "object", "properties": {}}


def test_a_state_of_another_shape_is_none() -> None:
    said, _ = answered(CONTENT)
    assert isinstance(said.provider_state, ProviderState)
    for data in ("", "{}", "[]", '{"content":5}', '{"content":[5]}', "[" * 9999):
        state = replace(said.provider_state, data=data)
        sent = encoder().encode_request(
            Request(messages=(USER, replace(said, provider_state=state)))
        )
        assert "state_dropped" in kinds(sent)
