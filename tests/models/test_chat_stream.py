"""Chunks of a stream become the body that would have come whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.servers import fake, streams

from toolmark.core.errors import TornReply
from toolmark.core.records import Reply
from toolmark.models.wires import chat_reply
from toolmark.models.wires.chat_stream import ChatAssembler
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]


def read(body: bytes) -> Reply:
    return chat_reply.decode_reply(body, NO_TOOLS, 0.0, "here")


def join(*parts: Any) -> Reply:
    return read(join_body(*parts))


def join_body(*parts: Any) -> bytes:
    assembler = ChatAssembler()
    for part in parts:
        assembler.add_event("", part if isinstance(part, bytes) else json.dumps(part).encode())
    return assembler.whole_body()


def delta(_finish: str | None = None, **members: Any) -> Json:
    return {"choices": [{"index": 0, "delta": members, "finish_reason": _finish}]}


def call_delta(*pieces: Json) -> Json:
    return delta(tool_calls=list(pieces))


def piece(index: int | None = None, id: str | None = None, **function: Any) -> Json:
    found: Json = {"function": function}
    if index is not None:
        found["index"] = index
    if id is not None:
        found["id"] = id
    return found


END = delta("stop")
CALLS_END = delta("tool_calls")


def names(reply: Reply) -> list[tuple[str, str, str]]:
    return [(call.name, call.arguments, call.id) for call in reply.calls]


WHOLE_BODIES = {
    "text": fake.says("It is sunny: 😀, \u2028 and \\ud800."),
    "calls": fake.calls(("f", '{"a": "é"}'), ("g", "{}")),
    "refusal": fake.reply({"role": "assistant", "content": None, "refusal": "no, never"}),
    "cut": fake.reply({"role": "assistant", "content": "so lo"}, "length"),
    "reasoning": fake.reply({"role": "assistant", "reasoning_content": "hm, so", "content": "yes"}),
}


@pytest.mark.parametrize("name", WHOLE_BODIES)
def test_a_stream_is_read_as_the_whole_is(name: str) -> None:
    body = WHOLE_BODIES[name]
    for n in (1, 2, 7, 1000):
        assert join(*streams.chunks(body, n)) == read(json.dumps(body).encode())


@pytest.mark.parametrize("name", WHOLE_BODIES)
def test_a_chunk_with_an_unknown_member_is_joined_as_a_usual_one(name: str) -> None:
    for n in (1, 7):
        usual = list(streams.chunks(WHOLE_BODIES[name], n))
        odd = [
            each | {"choices": [choice | {"x": 1} for choice in each["choices"]]} for each in usual
        ]
        assert join_body(*usual) == join_body(*odd)
        mixed = [pair[index % 2] for index, pair in enumerate(zip(usual, odd, strict=True))]
        assert join_body(*usual) == join_body(*mixed)


def test_marks_say_when_output_and_calls_begin() -> None:
    assembler = ChatAssembler()
    marks = [
        assembler.add_event("", json.dumps(each).encode())
        for each in (
            delta(role="assistant", content=""),
            delta(reasoning="so"),
            call_delta(piece(0, "a", name="", arguments="")),
            call_delta(piece(0, name="f")),
            call_delta(piece(0, arguments="{}")),
            CALLS_END,
        )
    ]
    assert marks == ["", "token", "token", "call", "token", ""]


def test_an_error_in_a_stream_is_the_endpoints() -> None:
    with pytest.raises(ErrorInBody):
        join(delta(content="hello"), {"error": "gone"}, END)
    assembler = ChatAssembler()
    assembler.add_event("error", b'{"message": "gone"}')
    with pytest.raises(ErrorInBody):
        read(assembler.whole_body())


# --- which piece belongs to which call ---------------------------------------------------


def test_pieces_of_calls_that_alternate_are_joined_by_index() -> None:
    reply = join(
        call_delta(piece(1, "b", name="g", arguments="")),
        call_delta(piece(0, "a", name="f", arguments='{"x"')),
        call_delta(piece(1, arguments="{}"), piece(0, arguments=": 1}")),
        CALLS_END,
    )
    assert names(reply) == [("f", '{"x": 1}', "a"), ("g", "{}", "b")]


def test_without_an_index_the_id_counts_and_then_the_place() -> None:
    reply = join(
        call_delta(piece(None, "a", name="f", arguments='{"x":')),
        call_delta(piece(None, "b", name="g", arguments="{")),
        call_delta(piece(None, "a", arguments="1}")),
        call_delta(piece(None, "b", arguments="}")),
        CALLS_END,
    )
    assert names(reply) == [("f", '{"x":1}', "a"), ("g", "{}", "b")]
    reply = join(
        call_delta(piece(name="f", arguments="{")),
        call_delta(piece(arguments="}")),
        call_delta(piece(name="f", arguments="{}")),
        CALLS_END,
    )
    assert names(reply) == [("f", "{}", ""), ("f", "{}", "")]


def test_a_new_id_on_a_used_index_is_a_new_call() -> None:
    reply = join(
        call_delta(piece(0, "a", name="f", arguments="{}")),
        call_delta(piece(0, "b", name="f", arguments="{")),
        call_delta(piece(0, arguments="}")),
        CALLS_END,
    )
    assert names(reply) == [("f", "{}", "a"), ("f", "{}", "b")]


def test_ids_that_servers_draw_for_each_piece_and_empty_names_change_nothing() -> None:
    reply = join(
        call_delta(piece(0, "a", name="f", arguments="")),
        call_delta(piece(0, "b", name="", arguments="{")),
        call_delta(piece(0, "c", name=None, arguments="}")),
        CALLS_END,
    )
    assert names(reply) == [("f", "{}", "a")]


def test_names_come_repeated_or_in_pieces() -> None:
    repeated = join(
        call_delta(piece(0, "a", name="f", arguments="{")),
        call_delta(piece(0, "a", name="f", arguments="}")),
        CALLS_END,
    )
    assert names(repeated) == [("f", "{}", "a")]
    pieces = join(
        call_delta(piece(0, "a", name="get_")),
        call_delta(piece(0, name="sun", arguments="{}")),
        CALLS_END,
    )
    assert names(pieces) == [("get_sun", "{}", "a")]


def test_arguments_that_are_objects_keep_their_text_and_missing_ones_are_empty() -> None:
    text = b'{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":'
    reply = join(text + b'{"n": 1.0,  "m": 1e400}}}]}}]}', CALLS_END)
    assert names(reply) == [("f", '{"n": 1.0,  "m": 1e400}', "a")]
    assert names(join(call_delta(piece(0, "a", name="f", arguments="")), CALLS_END)) == [
        ("f", "{}", "a")
    ]


def test_unknown_members_of_calls_stay() -> None:
    signature = {"google": {"thought_signature": "S=="}}
    start = {**piece(0, "a", name="f", arguments=""), "extra_content": signature}
    body = json.loads(join_body(call_delta(start), call_delta(piece(0, arguments="{}")), CALLS_END))
    assert body["choices"][0]["message"]["tool_calls"][0]["extra_content"] == signature


# --- endings ------------------------------------------------------------------------------


def test_two_finish_chunks_and_a_repeated_last_chunk_are_one_end() -> None:
    last = delta("stop", content=" end")
    reply = join(delta(content="the"), last, last, delta("stop"), b"[DONE]")
    assert (reply.text, reply.stop) == ("the end", "stop")
    reply = join(delta(content="the"), delta("stop"), delta("length"), delta("stop"))
    assert reply.stop == "length"


def test_usage_comes_last_or_grows() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5}
    growing = {**delta(content="x"), "usage": {"prompt_tokens": 7, "completion_tokens": 1}}
    reply = join(growing, END, {"choices": [], "usage": usage})
    assert (reply.usage.input, reply.usage.output) == (7, 5)


@pytest.mark.parametrize(
    "odd",
    [
        delta(content=5),
        delta(content={"a": 1}),
        delta(tool_calls={"a": 1}),
        delta(tool_calls=[5]),
        delta(tool_calls=[{"function": "f"}]),
        delta(tool_calls=[{"index": 0, "function": {"name": 5}}]),
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"arguments": "{}"}}]),
        {"choices": [{"delta": "text"}]},
    ],
)
def test_what_has_finished_and_cannot_be_joined_is_malformed(odd: Json) -> None:
    assert join(delta(content="so"), odd, END).stop == "malformed"


def test_a_whole_message_in_place_of_a_delta_is_read() -> None:
    message = {"role": "assistant", "content": "hello"}
    assert join({"choices": [{"message": message, "finish_reason": "stop"}]}).text == "hello"


def test_other_choices_were_not_asked_for() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]}
    reply = join(delta(content="yes"), other, END)
    assert (reply.text, reply.stop) == ("yes", "stop")


def test_too_many_calls_are_refused() -> None:
    many = call_delta(*({"index": n} for n in range(20_000)))
    with pytest.raises(TornReply):
        join(many, CALLS_END)


# --- parts --------------------------------------------------------------------------------


def test_details_are_joined_by_type_and_index_and_ciphertext_stays_apart() -> None:
    kind = {"type": "reasoning.text", "index": 0, "format": "x"}
    secret = {"type": "reasoning.encrypted", "index": 1, "data": "AAAA"}
    body = json.loads(
        join_body(
            delta(reasoning_details=[{**kind, "text": "so "}]),
            delta(reasoning_details=[secret]),
            delta(reasoning_details=[{**kind, "text": "far"}]),
            delta(reasoning_details=[{**secret, "data": "BBBB"}]),
            delta(reasoning_details=[{**kind, "signature": "S"}]),
            END,
        )
    )
    assert body["choices"][0]["message"]["reasoning_details"] == [
        {**kind, "text": "so far", "signature": "S"},
        secret,
        {**secret, "data": "BBBB"},
    ]


def test_details_that_repeat_the_text_so_far_are_not_doubled() -> None:
    kind = {"type": "reasoning.text", "index": 0, "format": "MiniMax-response-v1"}
    parts = [delta(reasoning_details=[{**kind, "text": text}]) for text in ("so", "so far", "!")]
    details = json.loads(join_body(*parts, END))["choices"][0]["message"]["reasoning_details"]
    assert details == [{**kind, "text": "so far!"}]


def test_parts_of_content_are_joined_and_a_text_follows_them() -> None:
    def thinking(text: str) -> Json:
        return delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": text}]}])

    body = json.loads(join_body(thinking("so "), thinking("far"), delta(content="hel"),
                                delta(content="lo"), END))  # fmt: skip
    assert body["choices"][0]["message"]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "so far"}]},
        {"type": "text", "text": "hello"},
    ]
