"""A request on the Messages wire: its shape, and the contents that go back in it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.models.wire_samples import HERE, MESSAGES, SYSTEM, USER, body_of, kinds_of
from tests.servers.anthropic_server import message

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import UsageError
from toolmark.core.records import (
    Message,
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

encoder, encode, answered = MESSAGES.encoder, MESSAGES.encode, MESSAGES.answered
THOUGHT, SAID, CALL = CONTENT = MESSAGES.said
Json = dict[str, Any]
ANTHROPIC = profile_for_url("https://api.anthropic.com/v1", "m", "anthropic")


# --- the shape --------------------------------------------------------------------------


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


def test_nothing_is_sent_without_a_word() -> None:
    blank = Message(role="user", parts=(Text(" \n"),))
    silent = Message(role="assistant", parts=(Text(""),))
    sent = encoder().encode_request(Request(messages=(blank, silent)))
    assert body_of(sent)["messages"] == [{"role": "user", "content": "(empty)"}]
    assert kinds_of(sent) == ["setting", "content", "content"]
    assert encode()["messages"] == [{"role": "user", "content": "(empty)"}]
    found = encode(Message(role="user", parts=(Text(""), Text("a"))))
    assert found["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


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


# --- contents that go back --------------------------------------------------------------


def spliced(content: list[Json], *change: Any) -> list[Json]:
    """Return the content of a reply as it goes back."""
    found: list[Json] = encode(USER, *answered(content), USER)["messages"][1]["content"]
    return found


def test_calls_without_ids_of_their_own_have_new_ones_in_content_and_results() -> None:
    content = [THOUGHT, CALL | {"id": "same"}, CALL | {"id": "same"}]
    sent = encoder().encode_request(Request(messages=(USER, *answered(content))))
    _, said, results = body_of(sent)["messages"]
    ids = [block["id"] for block in said["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == 2
    assert ids == [block["tool_use_id"] for block in results["content"]]
    assert said["content"][0] == THOUGHT
    assert "state_patched" in kinds_of(sent)


def test_thoughts_that_led_to_nothing_are_left_out() -> None:
    said, *_ = answered([SAID, THOUGHT])
    sent = encoder().encode_request(Request(messages=(USER, said, USER)))
    assert body_of(sent)["messages"][1]["content"] == [SAID]
    assert "state_dropped" in kinds_of(sent)
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
    assert "arguments" in kinds_of(sent)


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
    unthinking = Request(messages=(USER, *answered(CONTENT[1:])), tools=(*tools, Tool(name="g")))
    assert "block_binding" not in body_of(made.encode_request(unthinking))["thinking"]
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
