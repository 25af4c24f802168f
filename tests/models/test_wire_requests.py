"""A request on each wire: its shape, the settings that are sent, and those that cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.wire_samples import SAMPLES, SYSTEM, USER, body_of, kinds_of

from toolmark.core.errors import UsageError
from toolmark.core.records import Adaptation, Call, Message, Request, Sampling, Text, Tool
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.provider_table import profile_for_url
from toolmark.models.wire_names import WireName

Json = dict[str, Any]
every_wire = pytest.mark.parametrize("name", SAMPLES)
HELLO: Json = {"role": "user", "content": "hello"}
HELLO_PART: Json = {"role": "user", "parts": [{"text": "hello"}]}
NO_PARAMETERS: Json = {"type": "object", "properties": {}}
SCHEMA: Json = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 10**30}}}
ADDRESSES = {
    "chat": "https://api.openai.com/v1", "responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
}  # fmt: skip

# --- the shape --------------------------------------------------------------------------

LEAST: dict[WireName, Json] = {
    "chat": {"model": "m", "messages": [HELLO]},
    "responses": {
        "model": "m", "input": [HELLO], "store": False,
        "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
    },
    "anthropic": {"model": "m", "messages": [HELLO], "max_tokens": 8192},
    "gemini": {
        "contents": [HELLO_PART],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    },
}  # fmt: skip


@every_wire
def test_the_least_that_is_sent(name: WireName) -> None:
    sent = SAMPLES[name].send(USER)
    assert body_of(sent) == LEAST[name]
    limit = Adaptation(kind="setting", detail="max_tokens 8192: the wire needs a limit")
    assert sent.adaptations == ((limit,) if name == "anthropic" else ())


EXTRA: dict[WireName, Json] = {
    "chat": {"seed": 3},
    "responses": {"reasoning": {"context": "all_turns"}, "include": ["x"], "metadata": {"a": "b"}},
    "anthropic": {"output_config": {"format": None}, "metadata": {"user_id": "b"}},
    "gemini": {
        "generationConfig": {"seed": 1, "thinkingConfig": {"thinkingBudget": 5}},
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    },
}
FULL: dict[WireName, Json] = {
    "chat": {
        "model": "claude-opus-5",
        "messages": [{"role": "system", "content": "Be brief."}, HELLO],
        "tools": [
            {"type": "function", "function": {
                "name": "get_weather", "description": "d", "parameters": SCHEMA}},
            {"type": "function", "function": {"name": "f"}},
        ],
        "temperature": 0.0, "top_p": 0.9, "max_completion_tokens": 4000,
        "reasoning_effort": "high", "seed": 3,
        "stream": True, "stream_options": {"include_usage": True},
    },
    "responses": {
        "model": "claude-opus-5",
        "input": [{"role": "developer", "content": "Be brief."}, HELLO],
        "tools": [
            {"type": "function", "name": "get_weather", "description": "d", "parameters": SCHEMA,
             "strict": False},
            {"type": "function", "name": "f", "parameters": NO_PARAMETERS, "strict": False},
        ],
        "store": False, "stream": True, "temperature": 0.0, "top_p": 0.9,
        "max_output_tokens": 4000, "metadata": {"a": "b"},
        "include": ["reasoning.encrypted_content", "x"],
        "reasoning": {"effort": "high", "summary": "auto", "context": "all_turns"},
    },
    "anthropic": {
        "model": "claude-opus-5",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [HELLO],
        "tools": [
            {"name": "get_weather", "description": "d", "input_schema": SCHEMA},
            {"name": "f", "input_schema": NO_PARAMETERS},
        ],
        "max_tokens": 4000, "temperature": 0.0, "top_p": 0.9, "stream": True,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high", "format": None}, "metadata": {"user_id": "b"},
    },
    "gemini": {
        "contents": [HELLO_PART],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "get.weather", "description": "d", "parametersJsonSchema": SCHEMA},
            {"name": "f"},
        ]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 0.0, "topP": 0.9, "maxOutputTokens": 4000, "seed": 1,
            "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True,
                               "thinkingBudget": 5},
        },
    },
}  # fmt: skip


@every_wire
def test_the_shape_of_a_request(name: WireName) -> None:
    """Zero is a setting; what the user adds to an object does not replace the rest of it."""
    profile = profile_for_url(ADDRESSES[name], "m", name)
    encoder = SAMPLES[name].encoder(profile, model="claude-opus-5", is_stream=True)
    weather = Tool(name="get.weather", description="d", parameters=SCHEMA, source="x")
    sampling = Sampling(
        temperature=0.0, top_p=0.9, max_tokens=4000, reasoning_effort="high", extra=EXTRA[name]
    )
    request = Request(messages=(SYSTEM, USER), tools=(weather, Tool(name="f")), sampling=sampling)
    sent = encoder.encode_request(request)
    assert body_of(sent) == FULL[name]
    renamed = Adaptation(kind="tool_name", detail="get.weather -> get_weather")
    assert sent.adaptations == (() if name == "gemini" else (renamed,))
    assert sent.headers == ()


STEP: dict[WireName, list[Json]] = {
    "chat": [
        {"role": "assistant", "content": "x", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "b_c", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": "c", "content": "12"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "d", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "d", "content": "no"},
    ],
    "responses": [
        {"role": "assistant", "content": "x"},
        {"type": "function_call", "call_id": "c", "name": "b_c", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c", "output": "12"},
        {"type": "function_call", "call_id": "d", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "d", "output": "no"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "c", "name": "b_c", "input": {"a": 1}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": "12"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "d", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "d", "content": "no", "is_error": True}]},
    ],
    "gemini": [
        {"role": "model", "parts": [
            {"text": "x"}, {"functionCall": {"name": "b_c", "id": "c", "args": {"a": 1}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c", "name": "b_c", "response": {"output": "12"}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "d", "args": {}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "d", "name": "f", "response": {"error": "no"}}}]},
    ],
}  # fmt: skip


@every_wire
def test_the_shape_of_steps_without_a_state(name: WireName) -> None:
    """Names are legal, also those that the model made up; a step without a text has none."""
    first = Call(name="b c", arguments='{"a":1}', id="c")
    messages = (
        USER,
        Message(role="assistant", parts=(Text("x"),), calls=(first,)),
        Message(role="tool", call_id="c", parts=(Text("1"), Text("2"))),
        Message(role="assistant", calls=(Call(name="f", id="d"),)),
        Message(role="tool", call_id="d", parts=(Text("no"),), is_error=True),
    )
    body = SAMPLES[name].encode(*messages, tools=(Tool(name="b c"),))
    assert body[SAMPLES[name].conversation][1:] == STEP[name]


@every_wire
def test_a_reply_without_content_is_left_out_where_the_wire_takes_none(name: WireName) -> None:
    sent = SAMPLES[name].send(USER, Message(role="assistant"))
    expected = [{"role": "assistant", "content": ""}] if name in ("chat", "responses") else []
    assert body_of(sent)[SAMPLES[name].conversation][1:] == expected
    assert ("content" in kinds_of(sent)) is (not expected)


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_later_instructions_are_the_users_and_that_is_on_record(name: WireName) -> None:
    """Instructions have a place of their own, before the conversation, which must not change."""
    sample = SAMPLES[name]
    said, *results = sample.answered()
    sent = sample.send(SYSTEM, USER, said, *results, SYSTEM)
    before = sample.encode(SYSTEM, USER, said, *results)
    body = body_of(sent)
    member = "system" if name == "anthropic" else "systemInstruction"
    assert body[member] == before[member]
    (*_, last) = body[sample.conversation]
    assert last["role"] == "user"
    (*_, part) = last["content" if name == "anthropic" else "parts"]
    assert part["text"] == "Be brief."
    assert "content" in kinds_of(sent)


@every_wire
def test_extra_fields_of_a_tool_belong_to_chat_and_responses(name: WireName) -> None:
    """One that is None leaves the member of that name out."""
    tool = Tool(name="f", extra_fields={"strict": None, "response": {"type": "object"}})
    (sent,) = SAMPLES[name].encode(USER, tools=(tool,))["tools"]
    match name:
        case "chat":
            assert sent["function"]["response"] == {"type": "object"}
        case "responses":
            assert sent["response"] == {"type": "object"} and "strict" not in sent
        case _:
            assert "response" not in str(sent)


# --- settings ---------------------------------------------------------------------------

WRONG_EXTRA: dict[WireName, tuple[tuple[Json, str], ...]] = {
    "chat": tuple(({name: 1}, name) for name in ("messages", "model", "stream", "tools")),
    "responses": (
        ({"previous_response_id": "resp_1"}, "previous_response_id"), ({"store": True}, "store"),
        ({"conversation": "c"}, "conversation"), ({"background": True}, "background"),
        ({"truncation": "auto"}, "truncation"), ({"instructions": "x"}, "instructions"),
        ({"reasoning": "high"}, "'reasoning' must be an object"),
        ({"include": "x"}, "'include' must be a list"),
    ),
    "anthropic": (
        ({"thinking": True}, "'thinking' must be an object"),
        ({"output_config": "high"}, "'output_config' must be an object"),
        ({"system": "x"}, "may not set 'system'"),
    ),
    "gemini": (
        ({"cachedContent": "cachedContents/1"}, "cachedContent"),
        ({"generation_config": {}}, "generation_config"),
        ({"system_instruction": {}}, "system_instruction"),
        ({"systemInstruction": {}}, "systemInstruction"), ({"contents": []}, "contents"),
        ({"generationConfig": 5}, "generationConfig"),
        ({"generationConfig": {"thinkingConfig": 5}}, "thinkingConfig"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "extra", "words"),
    [(name, *each) for name, found in WRONG_EXTRA.items() for each in found],
)
def test_an_extra_body_that_cannot_be_sent_is_refused(
    name: WireName, extra: Json, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        SAMPLES[name].send(USER, sampling=Sampling(extra=extra))


LEFT: dict[WireName, Json] = {
    "chat": {"max_tokens": 2000},
    "responses": {"store": False, "max_output_tokens": 2000},
    "anthropic": {"max_tokens": 2000, "thinking": {"type": "adaptive"}},
    "gemini": {"generationConfig": {"maxOutputTokens": 2000}},
}


@every_wire
def test_settings_that_were_refused_are_left_out(name: WireName) -> None:
    sample = SAMPLES[name]
    unsent = ("temperature", "top_p", "reasoning_effort", *sample.wire.optional_settings)
    encoder = sample.encoder(EndpointProfile(unsent_settings=unsent), model="claude-opus-5-5")
    sampling = Sampling(temperature=0.0, top_p=1.0, max_tokens=2000, reasoning_effort="low")
    body = body_of(encoder.encode_request(Request(messages=(USER,), sampling=sampling)))
    settings = {
        key: value for key, value in body.items() if key not in ("model", sample.conversation)
    }
    assert settings == LEFT[name]


@every_wire
def test_settings_of_one_request_are_not_those_of_the_next(name: WireName) -> None:
    encoder = SAMPLES[name].encoder()
    settings = (Sampling(max_tokens=5), Sampling(max_tokens=6), Sampling(max_tokens=5))
    bodies = [
        encoder.encode_request(Request(messages=(USER,), sampling=each)).body for each in settings
    ]
    assert bodies[0] == bodies[2] != bodies[1]
