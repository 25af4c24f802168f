"""A request on the gemini wire: its shape, and the contents that go back in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.servers.gemini_server import DUMMY_SIGNATURE, response

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import UsageError
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
from toolmark.models.wires.gemini import GEMINI_WIRE
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]
HERE = "here"
USER = Message(role="user", parts=(Text("hello"),))
SYSTEM = Message(role="system", parts=(Text("Be brief."),))
SAID_HELLO: Json = {"role": "user", "parts": [{"text": "hello"}]}
PARTS: list[Json] = [
    {"text": "Hm.", "thought": True},
    {"text": "I look."},
    {"functionCall": {"name": "get_weather", "args": {"city":  "Paris"}},
     "thoughtSignature": "c2lnbmVk"},
    {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}, "id": "own"}},
]  # fmt: skip


def encoder(
    profile: EndpointProfile = DEFAULT_PROFILE,
    media: MediaStore | None = None,
    origin: str = HERE,
    **more: Any,
) -> RequestEncoder:
    return GEMINI_WIRE.make_encoder(EncoderSettings("m", profile, media, origin, **more))


def body_of(sent: EncodedRequest) -> Json:
    found: Json = json.loads(sent.body)
    return found


def encode(*messages: Message, **more: Any) -> Json:
    return body_of(encoder().encode_request(Request(messages=messages, **more)))


def contents(*messages: Message) -> list[Json]:
    found: list[Json] = encode(*messages)["contents"]
    return found


def decode(parts: list[Json]) -> Reply:
    return GEMINI_WIRE.decode_reply(json.dumps(response(parts)).encode(), NO_TOOLS, 0.0, HERE)


def answered(parts: list[Json]) -> tuple[Message, ...]:
    """Return the messages that follow a reply: what it said, and a result for each call."""
    reply = decode(parts)
    results = tuple(Result(parts=(Text(f"r{i}"),)) for i, _ in enumerate(reply.calls))
    return render_reply(NATIVE_FORMAT, reply, reply.calls, results)


def test_the_shape_of_a_request() -> None:
    request = Request(
        messages=(SYSTEM, USER),
        tools=(
            Tool(name="get.weather", description="d", parameters={"type": "object"}),
            Tool(name="1 x"), Tool(name="f"),
        ),
        sampling=Sampling(
            temperature=0.5, top_p=0.9, max_tokens=50, reasoning_effort="low",
            extra={
                "generationConfig": {"seed": 1, "thinkingConfig": {"thinkingBudget": 5}},
                "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            },
        ),
    )  # fmt: skip
    sent = encoder(is_stream=True).encode_request(request)
    assert body_of(sent) == {
        "contents": [SAID_HELLO],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "get.weather", "description": "d", "parametersJsonSchema": {"type": "object"}},
            {"name": "_1_x"}, {"name": "f"},
        ]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 0.5, "topP": 0.9, "maxOutputTokens": 50, "seed": 1,
            "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True,
                               "thinkingBudget": 5},
        },
    }  # fmt: skip
    assert sent.adaptations == (Adaptation(kind="tool_name", detail="1 x -> _1_x"),)


def test_the_least_that_is_sent() -> None:
    thoughts = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
    assert encode(USER) == {"contents": [SAID_HELLO], **thoughts}


def test_what_was_refused_is_left_out() -> None:
    unsent = ("thought_summaries", "temperature")
    settings = Sampling(temperature=0.0, top_p=1.0)
    for profile, sampling, config in (
        (EndpointProfile(unsent_settings=unsent), settings, {"topP": 1.0}),
        (EndpointProfile(unsent_settings=unsent), Sampling(), None),
        (DEFAULT_PROFILE, Sampling(reasoning_effort="none"),
         {"thinkingConfig": {"thinkingBudget": 0}}),
    ):  # fmt: skip
        found = encoder(profile).encode_request(Request(messages=(USER,), sampling=sampling))
        assert body_of(found).get("generationConfig") == config


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({"cachedContent": "cachedContents/1"}, "cachedContent"),
        ({"generation_config": {}}, "generation_config"),
        ({"system_instruction": {}}, "system_instruction"),
        ({"systemInstruction": {}}, "systemInstruction"),
        ({"contents": []}, "contents"),
        ({"generationConfig": 5}, "generationConfig"),
        ({"generationConfig": {"thinkingConfig": 5}}, "thinkingConfig"),
    ],
)
def test_an_extra_body_that_cannot_be_sent_is_refused(extra: Json, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        encode(USER, sampling=Sampling(extra=extra))


def test_messages_in_a_row_are_one_content_but_results_stand_alone() -> None:
    said = Message(role="assistant", parts=(Text("x"),), calls=(Call(name="f", id="c"),))
    result = Message(role="tool", call_id="c", parts=(Text("1"), Text("2")))
    more = Message(role="assistant", parts=(Text("y"),))
    assert contents(SYSTEM, USER, USER, said, result, USER, more, more, USER) == [
        {"role": "user", "parts": [{"text": "hello"}, {"text": "hello"}]},
        {"role": "model", "parts": [
            {"text": "x"}, {"functionCall": {"name": "f", "id": "c", "args": {}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c", "name": "f", "response": {"output": "12"}}}]},
        SAID_HELLO,
        {"role": "model", "parts": [{"text": "y"}, {"text": "y"}]},
        SAID_HELLO,
    ]  # fmt: skip


def test_instructions_that_come_later_or_alone_are_the_users() -> None:
    said = {"role": "user", "parts": [{"text": "Be brief."}]}
    sent = encoder().encode_request(Request(messages=(SYSTEM, USER, SYSTEM)))
    assert [each.kind for each in sent.adaptations] == ["content"]
    assert body_of(sent)["contents"] == [
        {"role": "user", "parts": [{"text": "hello"}, {"text": "Be brief."}]}
    ]
    alone = encode(SYSTEM)
    assert alone["contents"] == [said] and "systemInstruction" not in alone
    assert contents() == [{"role": "user", "parts": [{"text": ""}]}]


def test_a_reply_without_content_is_left_out_and_recorded() -> None:
    sent = encoder().encode_request(Request(messages=(USER, Message(role="assistant"), USER)))
    assert len(body_of(sent)["contents"]) == 1
    assert [each.kind for each in sent.adaptations] == ["content"]


def test_results_have_the_name_of_their_call_in_the_step_before() -> None:
    def step(name: str) -> tuple[Message, Message]:
        call = Call(name=name, id="call_0")
        result = Message(role="tool", call_id="call_0", parts=(Text("1"),), is_error=name == "b c")
        return Message(role="assistant", calls=(call,)), result

    found = contents(USER, *step("a"), *step("b c"))
    assert [c["parts"][0]["functionResponse"] for c in found[2::2]] == [
        {"id": "call_0", "name": "a", "response": {"output": "1"}},
        {"id": "call_0", "name": "b_c", "response": {"error": "1"}},
    ]


def test_a_result_of_no_call_goes_under_its_id() -> None:
    (content,) = contents(Message(role="tool", call_id="c 1", parts=(Text("1"),)))
    assert content["parts"][0]["functionResponse"]["name"] == "c_1"


def test_media_go_where_they_stand(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    image = media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")
    document = media.add_image(b"%PDF-1.7", "application/pdf")
    wav, mp3 = media.add_audio(b"RIFF", "audio/wav"), media.add_audio(b"ID3", "audio/mpeg")
    messages = (
        Message(role="user", parts=(Text("a"), image, document, wav, mp3)),
        Message(role="assistant", calls=(Call(name="f", id="c"),)),
        Message(role="tool", call_id="c", parts=(Text("b"), image)),
    )
    found = body_of(encoder(media=media).encode_request(Request(messages=messages)))["contents"]
    assert found[0]["parts"] == [
        {"text": "a"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjc="}},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        {"inlineData": {"mimeType": "audio/mp3", "data": "SUQz"}},
    ]
    result = found[2]["parts"][0]["functionResponse"]
    assert result["response"] == {"output": "b"}
    assert result["parts"] == [found[0]["parts"][1]]


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null", '"x"', '{"a":NaN}'])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(arguments: str) -> None:
    said = Message(role="assistant", calls=(Call(name="f", arguments=arguments, id="c"),))
    sent = encoder().encode_request(Request(messages=(USER, said)))
    assert body_of(sent)["contents"][1]["parts"][0]["functionCall"]["args"] == {}
    assert [each.kind for each in sent.adaptations] == ["arguments"]


def test_arguments_go_in_their_own_characters() -> None:
    arguments = '{"a":  1.0, "b": 100000000000000000000000001, "c": "\\u00fc"}'
    said = Message(role="assistant", calls=(Call(name="f", arguments=arguments, id="c"),))
    sent = encoder().encode_request(Request(messages=(USER, said)))
    assert b'"args":' + arguments.encode() in sent.body


# --- contents that go back --------------------------------------------------------------


def with_state(text: str) -> Message:
    state = ProviderState(wire="gemini", origin=HERE, data=text)
    return replace(answered(PARTS)[0], provider_state=state)


def test_a_content_goes_back_in_its_own_bytes() -> None:
    text = json.dumps({"parts": PARTS, "role": "model"}, indent=2).replace("\n", "\r\n")
    message = with_state(text)
    arguments = tuple(
        replace(call, arguments=text_of_args(text, index))
        for index, call in enumerate(message.calls)
    )
    message = replace(message, calls=arguments)
    sent = encoder().encode_request(Request(messages=(USER, message)))
    assert body_of(sent)["contents"][1] == {"role": "model", "parts": PARTS}
    assert b'"city": "Paris"\r\n' in sent.body
    assert sent.adaptations == ()


def text_of_args(text: str, index: int) -> str:
    """Return the source text of the arguments of a call."""
    start = text.split('"args": ')[index + 1]
    return start[: start.index("}") + 1]


def test_results_echo_the_ids_that_the_endpoint_gave_and_no_other() -> None:
    said, *results = answered(PARTS)
    assert [call.id for call in said.calls] == ["call_0", "own"]
    found = contents(USER, said, *results)
    assert found[1:] == [
        {"role": "model", "parts": PARTS},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "get_weather", "response": {"output": "r0"}}},
            {"functionResponse": {"id": "own", "name": "get_weather",
                                  "response": {"output": "r1"}}},
        ]},
    ]  # fmt: skip


def test_ids_that_the_endpoint_gave_twice_pair_by_position() -> None:
    calls: list[Json] = [{"functionCall": {"name": n, "args": {}, "id": "x"}} for n in ("f", "g")]
    said, *results = answered([{"text": "a", "thought": True}, *calls])
    assert [call.id for call in said.calls] == ["x", "call_1"]
    found = contents(USER, said, *results)[2]["parts"]
    assert [(p["functionResponse"]["id"], p["functionResponse"]["name"]) for p in found] == [
        ("x", "f"), ("x", "g"),
    ]  # fmt: skip


def with_calls(*calls: Call) -> Message:
    return replace(answered(PARTS)[0], calls=calls)


ONE, OTHER = answered(PARTS)[0].calls


@pytest.mark.parametrize(
    ("message", "origin"),
    [
        (with_calls(replace(ONE, name="f"), OTHER), HERE),
        (with_calls(replace(ONE, arguments='{"city":"Paris"}'), OTHER), HERE),
        (with_calls(OTHER, ONE), HERE),
        (with_calls(ONE), HERE),
        (with_calls(), HERE),
        (with_calls(ONE, OTHER), "elsewhere"),
        (replace(with_calls(ONE, OTHER), provider_state=ProviderState(
            wire="chat", origin=HERE, data="[]")), HERE),
        (with_state("[]"), HERE),
        (with_state('{"parts":[]}'), HERE),
    ],
)  # fmt: skip
def test_a_content_that_does_not_fit_is_left_out_and_recorded(
    message: Message, origin: str
) -> None:
    sent = encoder(origin=origin).encode_request(Request(messages=(USER, message)))
    neutral = replace(message, provider_state=None)
    plain = body_of(encoder().encode_request(Request(messages=(USER, neutral))))
    found = body_of(sent)
    kinds = {each.kind for each in sent.adaptations}
    if "state_patched" in kinds:
        signed = next(p for p in found["contents"][1]["parts"] if "functionCall" in p)
        assert signed.pop("thoughtSignature") == DUMMY_SIGNATURE
    assert found == plain
    assert kinds - {"state_patched"} == {"state_dropped"}


def test_only_the_first_call_of_a_step_is_marked() -> None:
    patched = with_calls(replace(ONE, name="f"), OTHER)
    sent = encoder().encode_request(Request(messages=(USER, patched)))
    parts = body_of(sent)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, DUMMY_SIGNATURE, None]
    assert [each.kind for each in sent.adaptations] == ["state_dropped", "state_patched"]


def test_a_reply_that_had_no_signature_gets_none_before_the_endpoint_refuses_it() -> None:
    plain = answered(PARTS[3:])
    assert plain[0].provider_state is None
    foreign = replace(plain[0], provider_state=ProviderState(wire="chat", origin="x", data="{}"))
    for message in (plain[0], foreign):
        request = Request(messages=(USER, *answered(PARTS), USER, message, *plain[1:]))
        sent = encoder().encode_request(request)
        assert DUMMY_SIGNATURE.encode() not in sent.body
        repaired = encoder().encode_request(request, repair_arguments=True)
        assert repaired.body.count(DUMMY_SIGNATURE.encode()) == 1
        assert "state_patched" in [each.kind for each in repaired.adaptations]


def test_a_content_with_arguments_that_are_no_object_is_left_out() -> None:
    parts = [{"functionCall": {"name": "f", "args": 5}, "thoughtSignature": "x"}]
    sent = encoder().encode_request(Request(messages=(USER, *answered(parts))))
    assert body_of(sent)["contents"][1]["parts"][0]["functionCall"]["args"] == {}
    assert {"state_dropped", "arguments"} <= {each.kind for each in sent.adaptations}


TEXT = st.text(max_size=20)
SPOKEN = st.builds(
    lambda text, more: {"text": text, **more}, st.text(min_size=1, max_size=20),
    st.sampled_from([{}, {"thought": True}, {"thoughtSignature": "c2ln"},
                     {"thought": True, "thoughtSignature": "c2ln"}]),
)  # fmt: skip
CALLS = st.builds(
    lambda name, text, id, more: {
        "functionCall": {"name": name, "args": {"a": text}, **({"id": id} if id else {})}, **more},
    st.text("abcdef_-:.", min_size=1, max_size=9).map("f".__add__), TEXT, st.text("ab", max_size=2),
    st.sampled_from([{}, {"thoughtSignature": "c2ln"}]),
)  # fmt: skip


@given(st.lists(st.lists(SPOKEN | CALLS, min_size=1, max_size=6), max_size=4))
def test_every_content_goes_back_whole_and_in_order(conversation: list[list[Json]]) -> None:
    messages: list[Message] = [USER]
    for parts in conversation:
        messages += answered(parts)
        messages.append(USER)
    sent = encoder().encode_request(Request(messages=tuple(messages)))
    found = [each["parts"] for each in body_of(sent)["contents"] if each["role"] == "model"]
    assert found == conversation
    n_results = [
        len(c["parts"]) for c in body_of(sent)["contents"] if "functionResponse" in c["parts"][0]
    ]
    assert n_results == [
        n for parts in conversation if (n := sum("functionCall" in p for p in parts))
    ]
    assert sent.adaptations == ()
