"""What a model said goes back on every wire as it came, or is left out where it does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.models.drawn_parts import CONVERSATIONS
from tests.models.wire_samples import SAMPLES, USER, WireSample, body_of, kinds_of
from tests.servers.gemini_server import DUMMY_SIGNATURE

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Call, Message, ProviderState, Request, Text
from toolmark.models.wire_names import WireName

Json = dict[str, Any]
every_wire = pytest.mark.parametrize("name", SAMPLES)
OBJECTS = (
    "{ }", '{"a":  1.0, "b": 100000000000000000000000001, "c": "\\u00fc"}', '{"a": 1e400}',
    '{"a": ' + "1" * 5000 + "}",
)  # fmt: skip
NO_OBJECTS = (
    "", "{", "[1]", "null", '"x"', "5", "{}}", '{"a": ', '{"a":NaN}', "not json", "[" * 10_000,
    '"\ud800"', "\ufdd0",
)  # fmt: skip
IS_TEXT = ("chat", "responses")
"""The wires on which arguments are a text; on the others they are an object."""


def called(arguments: str) -> tuple[Message, ...]:
    """Return the messages of a call without a state, and of its result."""
    call = Call(name="f", arguments=escape_surrogates(arguments), id="c")
    result = Message(role="tool", call_id="c", parts=(Text("ok"),))
    return USER, Message(role="assistant", calls=(call,)), result


def arguments_of(sample: WireSample, body: Json) -> list[Any]:
    """Return the arguments of all calls in a request: texts, or objects."""
    said = sample.spoken(body)
    match sample.name:
        case "chat":
            calls = [call for each in said for call in each.get("tool_calls", ())]
            return [call["function"]["arguments"] for call in calls]
        case "responses":
            return [each["arguments"] for each in said if "arguments" in each]
        case "anthropic":
            return [each["input"] for each in said if "input" in each]
        case "gemini":
            return [each["functionCall"]["args"] for each in said if "functionCall" in each]


# --- arguments --------------------------------------------------------------------------


@every_wire
@pytest.mark.parametrize("repairs", [False, True])
@pytest.mark.parametrize("arguments", OBJECTS, ids=range(len(OBJECTS)))
def test_arguments_go_in_their_own_characters(
    name: WireName, arguments: str, repairs: bool
) -> None:
    request = Request(messages=called(arguments))
    sent = SAMPLES[name].encoder().encode_request(request, repair_arguments=repairs)
    written = json.dumps(arguments) if name in IS_TEXT else arguments
    assert b":" + written.encode() in sent.body
    assert "arguments" not in kinds_of(sent)


@every_wire
@pytest.mark.parametrize("arguments", NO_OBJECTS, ids=range(len(NO_OBJECTS)))
def test_arguments_that_are_no_object_are_an_empty_one_where_the_wire_or_a_repair_wants_it(
    name: WireName, arguments: str
) -> None:
    sample, request = SAMPLES[name], Request(messages=called(arguments))
    sent = sample.encoder().encode_request(request)
    repaired = sample.encoder().encode_request(request, repair_arguments=True)
    (found,), (valid,) = (arguments_of(sample, body_of(each)) for each in (sent, repaired))
    assert (found, valid) == ((arguments, "{}") if name in IS_TEXT else ({}, {}))
    assert ("arguments" in kinds_of(sent)) is (name not in IS_TEXT)


@every_wire
def test_lone_surrogates_are_sent_as_escapes(name: WireName) -> None:
    sample = SAMPLES[name]
    user = Message(role="user", parts=(Text(escape_surrogates("x\udc00")),))
    body = sample.encode(user, *called('{"a": "\ud800"}')[1:])
    (found,) = arguments_of(sample, body)
    assert (json.loads(found) if isinstance(found, str) else found) == {"a": "\ud800"}
    assert '"x\\udc00"' in json.dumps(body)


# --- what goes back ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["responses", "anthropic", "gemini"])
def test_what_was_said_goes_back_in_its_own_bytes(name: WireName) -> None:
    """Those of the chat wire are a part of a message: see test_chat_reply."""
    sample = SAMPLES[name]
    whole = json.dumps(sample.bodies.body(*sample.said))
    texts = [json.dumps(each, indent=3).replace("\n", "\r\n") for each in sample.said]
    plain = json.dumps(sample.said)
    assert whole.count(plain) == 1
    reply = sample.decode(whole.replace(plain, f"[ {' , '.join(texts)}]").encode())
    said, *results = sample.answered()
    said = replace(said, calls=reply.calls, provider_state=reply.provider_state)
    sent = sample.send(USER, said, *results)
    assert all(text.encode() in sent.body for text in texts)
    assert sample.spoken(body_of(sent)) == sample.said
    assert not {"state_dropped", "state_patched", "arguments"} & set(kinds_of(sent))


@every_wire
@given(data=st.data())
def test_every_conversation_goes_back_whole_and_in_order(
    name: WireName, data: st.DataObject
) -> None:
    sample = SAMPLES[name]
    drawn = CONVERSATIONS[name]
    conversation = data.draw(st.lists(drawn.parts, max_size=4))
    messages = [USER]
    for said in conversation:
        messages += (*sample.answered(said), USER)
    sent = sample.send(*messages)
    expected = [part for said in conversation for part in said]
    assert list(map(drawn.neutral, sample.spoken(body_of(sent)))) == list(
        map(drawn.neutral, expected)
    )
    assert set(kinds_of(sent)) <= {"setting"}
    n_calls = sum(len(each.calls) for each in messages)
    assert json.dumps(body_of(sent)).count(drawn.result_mark) == n_calls


# --- what does not fit ------------------------------------------------------------------


def change_state(**members: Any) -> Callable[[Message], Message]:
    def change(said: Message) -> Message:
        assert isinstance(said.provider_state, ProviderState)
        return replace(said, provider_state=replace(said.provider_state, **members))

    return change


def change_call(**members: Any) -> Callable[[Message], Message]:
    return lambda said: replace(said, calls=(replace(said.calls[0], **members), *said.calls[1:]))


CHANGES: dict[str, Callable[[Message], Message]] = {
    "another name": change_call(name="f"),
    "other arguments": change_call(arguments="{}"),
    "other spaces": change_call(arguments='{"city":"Paris"}'),
    "no calls": lambda said: replace(said, calls=()),
    "a call more": lambda said: replace(said, calls=(*said.calls, said.calls[0])),
    "another order": lambda said: replace(said, calls=(Call(name="f"), *said.calls)[::-1]),
    "another endpoint": change_state(origin="elsewhere"),
    "another wire": change_state(wire="unknown"),
    **{f"the data {data[:20]!r}": change_state(data=data)
       for data in ("", "[1]", "[]", "{}", '{"parts":[]}', '{"parts":[5]}', '{"content":5}',
                    '{"content":[5]}', "[" * 9999)},
}  # fmt: skip


@every_wire
@pytest.mark.parametrize("change", CHANGES)
def test_what_does_not_fit_is_left_out_and_recorded(name: WireName, change: str) -> None:
    sample = SAMPLES[name]
    said, *results = sample.answered()
    changed = CHANGES[change](said)
    sent = sample.send(USER, changed, *results)
    neutral = sample.encode(USER, replace(changed, provider_state=None), *results)
    found = body_of(sent)
    if "state_patched" in kinds_of(sent):  # the endpoint wants a mark in the place of a signature
        part = next(each for each in sample.spoken(found) if "functionCall" in each)
        assert part.pop("thoughtSignature") == DUMMY_SIGNATURE
    assert found == neutral
    assert "state_dropped" in kinds_of(sent)
