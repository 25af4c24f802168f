"""A request on the gemini wire: its shape, and the contents that go back in it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.models.wire_samples import GEMINI, SYSTEM, USER, body_of
from tests.servers.gemini_server import DUMMY_SIGNATURE

from toolmark.core.records import (
    Adaptation,
    Call,
    Message,
    ProviderState,
    Request,
    Sampling,
    Text,
    Tool,
)
from toolmark.models.endpoint_profile import EndpointProfile

encoder, encode, answered, PARTS = GEMINI.encoder, GEMINI.encode, GEMINI.answered, GEMINI.said
Json = dict[str, Any]
SAID_HELLO: Json = {"role": "user", "parts": [{"text": "hello"}]}


def contents(*messages: Message) -> list[Json]:
    found: list[Json] = encode(*messages)["contents"]
    return found


def test_thoughts_are_asked_for_unless_they_are_off_or_refused() -> None:
    off = encode(USER, sampling=Sampling(reasoning_effort="none"))
    assert off["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 0}}
    profile = EndpointProfile(unsent_settings=("thought_summaries",))
    refused = encoder(profile).encode_request(Request(messages=(USER,)))
    assert "generationConfig" not in body_of(refused)


def test_names_begin_with_a_letter() -> None:
    sent = encoder().encode_request(Request(messages=(USER,), tools=(Tool(name="1 x"),)))
    assert sent.adaptations == (Adaptation(kind="tool_name", detail="1 x -> _1_x"),)


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


def test_instructions_alone_are_the_users() -> None:
    said = {"role": "user", "parts": [{"text": "Be brief."}]}
    alone = encode(SYSTEM)
    assert alone["contents"] == [said] and "systemInstruction" not in alone
    assert contents() == [{"role": "user", "parts": [{"text": ""}]}]


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


# --- contents that go back --------------------------------------------------------------


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
