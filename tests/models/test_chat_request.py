"""The request as it goes out: names, arguments, settings, media."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.errors import Rejected, UsageError
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.media import MediaStore
from toolmark.core.records import Audio, Call, Image, Message, Part, Request, Sampling, Text, Tool
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.provider_table import profile_for_url
from toolmark.models.wires.chat_request import ChatEncoder
from toolmark.models.wires.request_parts import check_sampling
from toolmark.models.wires.wire import EncoderSettings

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def encoder(profile: EndpointProfile = DEFAULT_PROFILE) -> ChatEncoder:
    return ChatEncoder(EncoderSettings("m", profile, None))


def sent(request: Request, writer: ChatEncoder | None = None, *, amended: bool = False) -> Any:
    return json.loads((writer or encoder()).encode_request(request, repair_arguments=amended)[0])


def said(role: Any, *parts: Part) -> Message:
    return Message(role=role, parts=parts)


def test_no_tools_and_no_settings_are_left_out() -> None:
    body = sent(Request(messages=(said("user", Text("hi")),)))
    assert body == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_settings_go_out_under_the_endpoints_names_and_zero_is_a_setting() -> None:
    sampling = Sampling(
        temperature=0.0, top_p=0.5, max_tokens=9, reasoning_effort="low", extra={"seed": 3}
    )
    newer = encoder(profile_for_url("https://api.openai.com/v1"))
    body = sent(Request(messages=(), sampling=sampling), newer)
    body.pop("model"), body.pop("messages")
    assert body == {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_completion_tokens": 9,
        "reasoning_effort": "low",
        "seed": 3,
    }
    assert sent(Request(messages=(), sampling=sampling))["max_tokens"] == 9


@pytest.mark.parametrize("name", ["messages", "model", "stream", "tools"])
def test_extra_may_not_set_what_toolmark_sets(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        encoder().encode_request(Request(messages=(), sampling=Sampling(extra={name: 1})))


def test_a_tools_schema_goes_as_it_is_and_empty_parts_are_left_out() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 10**30}}}
    tools = (Tool(name="a", description="does a", parameters=schema, source="x"), Tool(name="b"))
    body = sent(Request(messages=(), tools=tools))
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "a", "description": "does a", "parameters": schema},
        },
        {"type": "function", "function": {"name": "b"}},
    ]


@given(st.lists(st.text(max_size=80), max_size=8, unique=True))
def test_any_names_become_legal_distinct_and_map_back(names: list[str]) -> None:
    kit = encoder().namer.name_tools(tuple(Tool(name=escape_surrogates(name)) for name in names))
    tools = json.loads(b"{" + kit.encoded[1:] + b"}")["tools"] if names else []
    out = [tool["function"]["name"] for tool in tools]
    assert all(LEGAL.fullmatch(name) for name in out)
    assert len(set(out)) == len(out)
    assert [kit.own_name(name) for name in out] == [escape_surrogates(name) for name in names]


def test_a_legal_name_keeps_itself_when_a_mangled_one_collides() -> None:
    names = ("a.b", "a_b", "a b", "x" * 70, "x" * 71)
    kit = encoder().namer.name_tools(tuple(Tool(name=name) for name in names))
    assert kit.sent == {
        "a.b": "a_b_2",
        "a b": "a_b_3",
        "x" * 70: "x" * 64,
        "x" * 71: "x" * 62 + "_2",
    }


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(extra={"model": "x"}),
        Sampling(extra={"messages": []}),
        Sampling(extra={"stream": True}),
        Sampling(extra={"a": float("nan")}),
        Sampling(extra={"a": {1, 2}}),
        Sampling(temperature=float("nan")),
        Sampling(temperature=-1.0),
        Sampling(top_p=1.5),
        Sampling(max_tokens=0),
    ],
)
def test_settings_that_no_request_can_hold_are_refused_up_front(sampling: Sampling) -> None:
    with pytest.raises(UsageError):
        check_sampling(sampling)


def test_possible_settings_pass() -> None:
    check_sampling(Sampling())
    check_sampling(Sampling(temperature=0.0, top_p=1.0, max_tokens=1, extra={"seed": [1, "a"]}))


def test_a_setting_that_the_profile_excludes_is_not_sent() -> None:
    drawn = Sampling(temperature=0.0, top_p=1.0, max_tokens=5)
    request = Request(messages=(said("user", Text("x")),), sampling=drawn)
    out = sent(request, encoder(EndpointProfile(unsent_settings=("temperature",))))
    assert "temperature" not in out
    assert (out["top_p"], out["max_tokens"]) == (1.0, 5)


def test_dots_stay_where_the_profile_takes_them() -> None:
    assert (
        encoder(EndpointProfile(allows_dots=True)).namer.name_tools((Tool(name="a.b"),)).sent == {}
    )


def test_the_history_uses_the_same_names_and_made_up_ones_are_legal() -> None:
    calls = (Call(name="a.b", id="1"), Call(name="no such/tool", id="2"))
    request = Request(messages=(Message(role="assistant", calls=calls),), tools=(Tool(name="a.b"),))
    made = sent(request)["messages"][0]["tool_calls"]
    assert [call["function"]["name"] for call in made] == ["a_b", "no_such_tool"]


def test_a_tools_tuple_is_encoded_once() -> None:
    writer = encoder()
    tools = (Tool(name="a"),)
    assert writer.namer.name_tools(tools) is writer.namer.name_tools(tools)


def test_tools_beyond_the_cached_ones_are_still_right() -> None:
    writer = encoder()
    for i in range(600):
        assert f'"t{i}"'.encode() in writer.namer.name_tools((Tool(name=f"t{i}"),)).encoded


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1e400}',
        "not json",
        "",
        '{"a": ' + "1" * 5000 + "}",
        "[" * 10_000,
        '"\ud800"',
        "\ufdd0",
    ],
)
def test_arguments_go_back_exactly_as_the_model_sent_them(arguments: str) -> None:
    call = Call(name="f", id="c", arguments=escape_surrogates(arguments))
    result = Message(role="tool", call_id="c", parts=(Text("ok"),))
    body = sent(Request(messages=(Message(role="assistant", calls=(call,)), result)))
    first, second = body["messages"]
    assert first["tool_calls"][0]["function"]["arguments"] == arguments
    assert first["content"] is None
    assert second == {"role": "tool", "tool_call_id": "c", "content": "ok"}


def test_mending_replaces_only_arguments_that_are_no_object() -> None:
    given_ = ('{"a": 1e400}', "[1]", "{", "[" * 10_000)
    calls = tuple(Call(name="f", id=str(k), arguments=a) for k, a in enumerate(given_))
    results = (Message(role="tool", call_id=call.id, parts=(Text("ok"),)) for call in calls)
    body = sent(Request(messages=(Message(role="assistant", calls=calls), *results)), amended=True)
    made = [c["function"]["arguments"] for c in body["messages"][0]["tool_calls"]]
    assert made == ['{"a": 1e400}', "{}", "{}", "{}"]


def test_mending_leaves_out_calls_that_no_result_answers() -> None:
    def asking(*ids: str, text: str = "") -> Message:
        parts = (Text(text),) if text else ()
        return Message(
            role="assistant", parts=parts, calls=tuple(Call(name="f", id=i) for i in ids)
        )

    def result(id: str) -> Message:
        return Message(role="tool", call_id=id, parts=(Text("ok"),))

    user = said("user", Text("go on"))
    messages = (
        asking("a"),
        user,
        asking("b", "c"),
        result("b"),
        user,
        asking("a", text="hm"),
        user,
    )
    assert len(sent(Request(messages=messages))["messages"]) == len(messages)
    body = sent(Request(messages=messages), amended=True)
    found = [
        (m["role"], [c["id"] for c in m.get("tool_calls", ())], m["content"])
        for m in body["messages"]
    ]
    assert found == [
        ("user", [], "go on"),
        ("assistant", ["b"], None),
        ("tool", [], "ok"),
        ("user", [], "go on"),
        ("assistant", [], "hm"),
        ("user", [], "go on"),
    ]


def test_lone_surrogates_in_text_survive() -> None:
    body = sent(Request(messages=(said("user", Text(escape_surrogates("a\ud800b"))),)))
    assert body["messages"][0]["content"] == "a\ud800b"


def test_images_are_data_urls_and_audio_is_input_audio(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    parts = (
        Text("look"),
        media.add_image(b"png bytes", "image/png"),
        media.add_audio(b"wav bytes", "audio/x-wav"),
        media.add_audio(b"mp3 bytes", "audio/mpeg"),
    )
    writer = ChatEncoder(EncoderSettings("m", DEFAULT_PROFILE, media))
    content = sent(Request(messages=(said("user", *parts),)), writer)["messages"][0]["content"]
    png, wav, mp3 = (
        base64.b64encode(b).decode() for b in (b"png bytes", b"wav bytes", b"mp3 bytes")
    )
    assert content == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
        {"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": mp3, "format": "mp3"}},
    ]


def test_media_of_tool_results_follow_the_last_result(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    image = media.add_image(b"x", "image/png")
    messages = (
        Message(role="assistant", calls=(Call(name="f", id="1"), Call(name="f", id="2"))),
        Message(role="tool", call_id="1", parts=(image,)),
        Message(role="tool", call_id="2", parts=(Text("two"),)),
    )
    for more in ((), (said("user", Text("go on")),)):
        request = Request(messages=messages + more)
        out = sent(request, ChatEncoder(EncoderSettings("m", DEFAULT_PROFILE, media)))["messages"]
        assert [m["role"] for m in out] == [
            "assistant",
            "tool",
            "tool",
            "user",
            *("user" for _ in more),
        ]
        assert isinstance(out[1]["content"], str)
        assert out[3]["content"][0]["type"] == "image_url"
    saved = sent(
        Request(messages=messages),
        ChatEncoder(EncoderSettings("m", EndpointProfile(takes_media_in_results=True), media)),
    )["messages"]
    assert saved[1]["content"][0]["type"] == "image_url"


def test_media_that_cannot_be_sent_say_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="media store"):
        encoder().encode_request(
            Request(
                messages=(said("user", Image(sha256="0" * 64, mime="image/png", size_bytes=1)),)
            )
        )
    odd = Audio(sha256="0" * 64, mime="audio/flac", size_bytes=1)
    with pytest.raises(Rejected, match="audio/flac"):
        ChatEncoder(EncoderSettings("m", DEFAULT_PROFILE, MediaStore(tmp_path))).encode_request(
            Request(messages=(said("user", odd),))
        )
