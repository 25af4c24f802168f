"""The request as it goes out: names, arguments, settings, media."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.errors import UsageError
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Call, Message, Part, Request, Sampling, Text, Tool
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile, identity_fields
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


def test_dots_stay_where_the_profile_takes_them() -> None:
    assert (
        encoder(EndpointProfile(allows_dots=True)).namer.name_tools((Tool(name="a.b"),)).sent == {}
    )


def test_mistral_gets_a_schema_with_every_tool_and_is_not_asked_for_usage() -> None:
    request = Request(messages=(said("user", Text("x")),), tools=(Tool(name="f"),))
    bodies = {}
    for host in ("api.mistral.ai", "other.test"):
        profile = profile_for_url(f"https://{host}/v1")
        writer = ChatEncoder(EncoderSettings("m", profile, None, is_stream=True))
        bodies[host] = sent(request, writer)
    theirs, others = bodies["api.mistral.ai"], bodies["other.test"]
    schema = {"type": "object", "properties": {}}
    assert theirs["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": schema}}
    ]
    assert others["tools"] == [{"type": "function", "function": {"name": "f"}}]
    assert others.keys() - theirs.keys() == {"stream_options"} and theirs["stream"] is True


def test_no_reply_depends_on_how_usage_is_asked_for() -> None:
    asked = EndpointProfile(takes_stream_options=False)
    assert identity_fields(asked, "chat") == identity_fields(DEFAULT_PROFILE, "chat")
    needy = EndpointProfile(needs_parameters=True)
    assert identity_fields(needy, "chat") != identity_fields(DEFAULT_PROFILE, "chat")


def test_a_tools_tuple_is_encoded_once() -> None:
    writer = encoder()
    tools = (Tool(name="a"),)
    assert writer.namer.name_tools(tools) is writer.namer.name_tools(tools)


def test_tools_beyond_the_cached_ones_are_still_right() -> None:
    writer = encoder()
    for i in range(600):
        assert f'"t{i}"'.encode() in writer.namer.name_tools((Tool(name=f"t{i}"),)).encoded


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
