"""A request on the responses wire: its shape, and the outputs that go back in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.servers.responses_server import response

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import Rejected, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Adaptation,
    Call,
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
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.provider_table import profile_for_url
from toolmark.models.wires.responses import RESPONSES_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]
HERE = "here"
USER = Message(role="user", parts=(Text("hello"),))
OUTPUT: list[Json] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "phase": "commentary",
     "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
     "arguments": '{"city":  "Paris"}', "status": "completed"},
]  # fmt: skip


def encoder(
    profile: EndpointProfile = DEFAULT_PROFILE,
    media: MediaStore | None = None,
    origin: str = HERE,
    **more: Any,
) -> RequestEncoder:
    settings = EncoderSettings("m", profile, media, origin, **more)
    return RESPONSES_WIRE.make_encoder(settings)


def body_of(sent: EncodedRequest) -> Json:
    found: Json = json.loads(sent.body)
    return found


def encode(*messages: Message, **more: Any) -> Json:
    return body_of(encoder().encode_request(Request(messages=messages, **more)))


def decode(output: list[Json]) -> Reply:
    return RESPONSES_WIRE.decode_reply(json.dumps(response(output)).encode(), NO_TOOLS, 0.0, HERE)


def answered(output: list[Json]) -> tuple[Message, ...]:
    """Return the messages that follow a reply: what it said, and a result for each call."""
    reply = decode(output)
    results = tuple(Result(parts=(Text(f"r{i}"),)) for i, _ in enumerate(reply.calls))
    return render_reply(NATIVE_FORMAT, reply, reply.calls, results)


def test_the_shape_of_a_request() -> None:
    request = Request(
        messages=(Message(role="system", parts=(Text("Be brief."),)), USER),
        tools=(Tool(name="get.weather", description="d", parameters={"type": "object"}),),
        sampling=Sampling(
            temperature=0.5, top_p=0.9, max_tokens=50, reasoning_effort="low",
            extra={"reasoning": {"context": "all_turns"}, "include": ["x"], "metadata": {"a": "b"}},
        ),
    )  # fmt: skip
    sent = encoder(is_stream=True).encode_request(request)
    assert body_of(sent) == {
        "model": "m",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
        ],
        "tools": [
            {"type": "function", "name": "get_weather", "description": "d",
             "parameters": {"type": "object"}, "strict": False},
        ],
        "store": False, "stream": True, "temperature": 0.5, "top_p": 0.9,
        "max_output_tokens": 50, "metadata": {"a": "b"},
        "include": ["reasoning.encrypted_content", "x"],
        "reasoning": {"effort": "low", "summary": "auto", "context": "all_turns"},
    }  # fmt: skip
    assert sent.adaptations == (Adaptation(kind="tool_name", detail="get.weather -> get_weather"),)


def test_an_extra_field_that_is_none_leaves_a_member_of_a_tool_out() -> None:
    tool = Tool(name="f", extra_fields={"strict": None, "response": {"type": "object"}})
    assert encode(USER, tools=(tool,))["tools"] == [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}},
         "response": {"type": "object"}}
    ]  # fmt: skip


def test_the_least_that_is_sent() -> None:
    assert encode(USER) == {
        "model": "m", "input": [{"role": "user", "content": "hello"}], "store": False,
        "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
    }  # fmt: skip


def test_openai_gets_the_role_of_a_developer() -> None:
    profile = profile_for_url("https://api.openai.com/v1")
    system = Message(role="system", parts=(Text("x"),))
    found = encoder(profile).encode_request(Request(messages=(USER, system)))
    assert [item["role"] for item in body_of(found)["input"]] == ["user", "developer"]


def test_what_was_refused_is_left_out() -> None:
    unsent = ("encrypted_reasoning", "reasoning_summary", "temperature")
    found = encoder(EndpointProfile(unsent_settings=unsent)).encode_request(
        Request(messages=(USER,), sampling=Sampling(temperature=0.0, top_p=1.0))
    )
    assert not {"include", "reasoning", "temperature"} & body_of(found).keys()
    assert body_of(found)["top_p"] == 1.0


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"store": True}, "store"),
        ({"conversation": "c"}, "conversation"),
        ({"background": True}, "background"),
        ({"truncation": "auto"}, "truncation"),
        ({"instructions": "x"}, "instructions"),
        ({"reasoning": "high"}, "reasoning"),
        ({"include": "x"}, "include"),
    ],
)
def test_an_extra_body_that_cannot_be_replayed_is_refused(extra: Json, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        encode(USER, sampling=Sampling(extra=extra))


def test_a_tool_without_parameters_has_an_empty_schema() -> None:
    (tool,) = encode(USER, tools=(Tool(name="f"),))["tools"]
    assert tool["parameters"] == {"type": "object", "properties": {}}


def test_pictures_go_where_they_stand_and_sound_nowhere(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    image = media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")
    part = {
        "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto",
    }  # fmt: skip
    messages = (
        Message(role="user", parts=(Text("a"), image)),
        Message(role="assistant", calls=(Call(name="f", id="c"),)),
        Message(role="tool", call_id="c", parts=(Text("b"), image)),
    )
    items = body_of(encoder(media=media).encode_request(Request(messages=messages)))["input"]
    assert items[0]["content"] == [{"type": "input_text", "text": "a"}, part]
    assert items[2]["output"] == [{"type": "input_text", "text": "b"}, part]
    sound = Message(role="user", parts=(media.add_audio(b"RIFF", "audio/wav"),))
    with pytest.raises(Rejected, match="takes no sound; next: --wire chat"):
        encoder(media=media).encode_request(Request(messages=(sound,)))


def test_messages_without_state_are_neutral_items() -> None:
    call = Call(name="f", arguments='{"a":1}', id="c")
    said = Message(role="assistant", parts=(Text("x"),), calls=(call,))
    result = Message(role="tool", call_id="c", parts=(Text("1"), Text("2")))
    assert encode(USER, said, result, Message(role="assistant"))["input"] == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c", "output": "12"},
        {"role": "assistant", "content": ""},
    ]


# --- outputs that go back ---------------------------------------------------------------


def test_an_output_goes_back_in_its_own_bytes() -> None:
    text = json.dumps(OUTPUT, indent=2).replace("\n", "\r\n")
    state = ProviderState(wire="responses", origin=HERE, data=text)
    said, result = answered(OUTPUT)
    sent = encoder().encode_request(
        Request(messages=(USER, replace(said, provider_state=state), result))
    )
    assert b'"arguments": "{\\"city\\":  \\"Paris\\"}"' in sent.body
    assert body_of(sent)["input"][1:-1] == OUTPUT
    assert sent.adaptations == ()


def with_calls(*calls: Call) -> Message:
    return replace(answered(OUTPUT)[0], calls=calls)


CALL = Call(name="get_weather", arguments='{"city":  "Paris"}', id="call_1")


@pytest.mark.parametrize(
    ("message", "origin"),
    [
        (with_calls(replace(CALL, id="call_0")), HERE),
        (with_calls(replace(CALL, name="f")), HERE),
        (with_calls(replace(CALL, arguments='{"city": "Paris"}')), HERE),
        (with_calls(), HERE),
        (with_calls(CALL, CALL), HERE),
        (with_calls(CALL), "elsewhere"),
        (replace(with_calls(CALL), provider_state=ProviderState(
            wire="chat", origin=HERE, data="[]")), HERE),
        (replace(with_calls(CALL), provider_state=ProviderState(
            wire="responses", origin=HERE, data="{}")), HERE),
    ],
)  # fmt: skip
def test_an_output_that_does_not_fit_is_left_out_and_recorded(
    message: Message, origin: str
) -> None:
    sent = encoder(origin=origin).encode_request(Request(messages=(USER, message)))
    neutral = replace(message, provider_state=None)
    assert sent.body == encoder().encode_request(Request(messages=(USER, neutral))).body
    assert [each.kind for each in sent.adaptations] == ["state_dropped"]


def test_thoughts_that_the_endpoint_would_not_know_are_left_out_and_recorded() -> None:
    output = [{"type": "reasoning", "id": "rs_1", "summary": []}, *OUTPUT[1:]]
    sent = encoder().encode_request(Request(messages=(USER, *answered(output))))
    assert body_of(sent)["input"][1:-1] == OUTPUT[1:]
    assert [each.kind for each in sent.adaptations] == ["state_dropped"]


def test_thoughts_in_the_open_go_back_where_there_is_no_ciphertext() -> None:
    text = [{"type": "reasoning_text", "text": "hm"}]
    both = {**OUTPUT[0], "content": text}
    own = {"type": "reasoning", "id": "rs_1", "summary": [], "content": text}
    for thought, sent_back in ((both, OUTPUT[0]), (own, own)):
        sent = encoder().encode_request(Request(messages=(USER, *answered([thought, *OUTPUT[1:]]))))
        assert body_of(sent)["input"][1] == sent_back


def test_members_that_are_null_stay_away() -> None:
    nulls = {"content": None, "status": None}
    sent = encoder().encode_request(
        Request(messages=(USER, *answered([OUTPUT[0] | nulls, *OUTPUT[1:]])))
    )
    assert body_of(sent)["input"][1:-1] == OUTPUT


def test_arguments_that_a_server_cannot_read_are_sent_as_none_next_to_their_thoughts() -> None:
    output = [*OUTPUT[:2], OUTPUT[2] | {"arguments": "{"}]
    request = Request(messages=(USER, *answered(output)))
    assert body_of(encoder().encode_request(request))["input"][3]["arguments"] == "{"
    repaired = encoder().encode_request(request, repair_arguments=True)
    sent = body_of(encoder().encode_request(request))["input"]
    sent[3]["arguments"] = "{}"
    assert body_of(repaired)["input"] == sent
    assert [each.kind for each in repaired.adaptations] == ["state_patched"]


TEXT = st.text(max_size=20)
THOUGHTS = st.builds(
    lambda id, text: {"type": "reasoning", "id": id, "encrypted_content": "g" + text,
                      "summary": [{"type": "summary_text", "text": text}]},
    TEXT, TEXT,
)  # fmt: skip
MESSAGES = st.builds(
    lambda text, phase: {"type": "message", "id": "m", "role": "assistant", "status": "completed",
                         "phase": phase,
                         "content": [{"type": "output_text", "text": text, "annotations": []}]},
    TEXT, st.sampled_from(["commentary", "final_answer"]),
)  # fmt: skip
NAMES = st.text("abcdef_-", min_size=1, max_size=9)
CALLS = st.builds(
    lambda name, text: {"type": "function_call", "id": "fc", "status": "completed",
                        "name": name, "arguments": json.dumps({"a": text})},
    NAMES, TEXT,
)  # fmt: skip


@given(st.lists(st.lists(THOUGHTS | MESSAGES | CALLS, min_size=1, max_size=6), max_size=4))
def test_every_output_goes_back_whole_and_in_order(conversation: list[list[Json]]) -> None:
    messages: list[Message] = [USER]
    expected: list[Json] = []
    for step, items in enumerate(conversation):
        output = [
            item | ({"call_id": f"c{step}-{i}"} if item["type"] == "function_call" else {})
            for i, item in enumerate(items)
        ]
        messages += answered(output)
        expected += output
        messages.append(USER)
    sent = encoder().encode_request(Request(messages=tuple(messages)))
    found = [item for item in body_of(sent)["input"] if item.get("type") != "function_call_output"]
    assert [_neutral(i) for i in found if i.get("role") != "user"] == [
        _neutral(item) for item in expected
    ]
    assert sent.adaptations == ()


def _neutral(item: Json) -> Json:
    """Write a call without the members that a neutral item lacks; those of plain replies do."""
    return {k: v for k, v in item.items() if item["type"] != "function_call" or k not in
            ("id", "status")}  # fmt: skip
