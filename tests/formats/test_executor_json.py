"""Calls written as the executor's JSON are read back, strictly and leniently."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.core import json_codec
from toolmark.core.records import Call, ParsedReply, Reply, Result, Text
from toolmark.formats.executor_json import (
    EXECUTOR_JSON_FORMAT,
    ExecutorJsonFormat,
    parse_calls,
    strip_thoughts,
)

ONE = '{"tool_calls": [{"name": "a/b", "arguments": {"x": 1}}]}'
BARE = '[{"name": "a/b", "arguments": {"x": 1}}]'
CALL = Call(name="a/b", arguments='{"x": 1}')
names = st.text(min_size=1, max_size=8).filter(lambda text: text == text.strip())
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=4), values, max_size=3)
written = st.builds(
    lambda name, given: Call(
        name=json_codec.escape_surrogates(name),
        arguments=json_codec.escape_surrogates(json.dumps(given, ensure_ascii=False)),
    ),
    names,
    objects,
)


@given(st.lists(written, max_size=4))
def test_what_is_written_is_read_back(calls: list[Call]) -> None:
    for tool_format in (EXECUTOR_JSON_FORMAT, ExecutorJsonFormat(lenient=False)):
        reading = tool_format.parse_reply(tool_format.render_calls(calls), ())
        assert reading.calls == tuple(calls)
        assert not reading.fault


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        BARE,
        f"<think>{{ not this }}</think>\n{ONE}",
        f"no opening tag</think>{ONE}",
        f"Here you are:\n```json\n{ONE}\n```\nand ```more```",
        f"```\n{BARE}\n```",
        f"```{ONE}```",
        f"```json{ONE}",
        f"I think <|begin_of_box|>{ONE}<|end_of_box|>",
        '{"tool_calls": [{"name": " a/b ", "arguments": {"x": 1}, "id": 7, "why": "x"}], "n": 1}',
        '{"tool_calls": [{"name": "a/b", "arguments": "{\\"x\\": 1}"}]}',
    ],
)
def test_leniency(text: str) -> None:
    found = parse_calls(text)
    assert (found.calls, found.fault) == ((CALL,), "")
    assert bool(parse_calls(text, lenient=False).calls) == (text == ONE)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not JSON"),
        ("I would call a/b.", "not JSON"),
        (ONE[:-1], "not JSON"),
        ('{"calls": []}', "no list"),
        ('{"tool_calls": {"name": "a/b", "arguments": {}}}', "no list"),
        ("3", "no list"),
        ('[{"name": "a/b"}, 4, {"arguments": {}}, {"name": 3, "arguments": {}}]', "4 of 4 items"),
        ("[" * 100_000, "nested deeper"),
        ('{"tool_calls": [{"name": "a", "arguments": ' + "9" * 5000 + "}]}", "digits"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, fault: str) -> None:
    found = parse_calls(text)
    assert not found.calls
    assert fault in found.fault


def test_no_arguments_and_odd_ones() -> None:
    found = parse_calls(
        '[{"name": "a", "arguments": null}, {"name": "b", "arguments": "not json"}]'
    )
    assert [call.arguments for call in found.calls] == ["{}", "not json"]
    assert parse_calls(EXECUTOR_JSON_FORMAT.render_calls(found.calls).text).calls == found.calls


def test_an_empty_list_is_readable() -> None:
    assert parse_calls('{"tool_calls": []}') == ((), "")


def test_thoughts_take_linear_time() -> None:
    assert strip_thoughts("<think>" * 200_000).startswith("<think>")
    assert strip_thoughts("a<think>b</think>c<think>d</think>e") == "ace"


def test_calls_that_the_endpoint_has_parsed_are_taken() -> None:
    assert EXECUTOR_JSON_FORMAT.parse_reply(Reply(text="x", calls=(CALL,)), ()).calls == (CALL,)


def test_every_call_is_answered_by_number_and_name() -> None:
    results = (Result(structured={"a": [1]}), Result(parts=(Text("no"),), is_error=True))
    _, heard = EXECUTOR_JSON_FORMAT.render_results(Reply(), (CALL, CALL, CALL), results)
    assert heard.text.split("\n\n")[:3] == [
        '[1] a/b:\n{"a": [1]}',
        "[2] a/b failed:\nno",
        "[3] a/b: not executed, there were too many calls",
    ]
    assert (
        "nothing returned"
        in EXECUTOR_JSON_FORMAT.render_results(Reply(), (CALL,), (Result(),))[1].text
    )


CUTS = ("```", "```json\n", "<think>", "</think>", "<|begin_of_box|>", "<|end_of_box|>")


@given(
    st.lists(st.sampled_from(CUTS) | st.text(max_size=5), max_size=6).map("".join),
    st.sampled_from(
        ["{}", "<think>so</think>{}", "so</think>\n{}", "```json\n{}\n```", "Look:\n```\n{}\n```",
         "<think>so</think>\n```json\n{}\n```"]
    ),
)  # fmt: skip
@example("<think></think>", "```json\n{}\n```")
def test_tags_and_fences_in_arguments_cut_nothing_off(value: str, frame: str) -> None:
    collected = json.dumps({"x": value}, ensure_ascii=False)
    call = Call(name="a/b", arguments=json_codec.escape_surrogates(collected))
    reply = Reply(text=frame.replace("{}", EXECUTOR_JSON_FORMAT.render_calls([call]).text))
    assert EXECUTOR_JSON_FORMAT.parse_reply(reply, ()) == ParsedReply(calls=(call,))


def test_what_is_weighed_in_thoughts_is_not_called() -> None:
    draft = ONE.replace("a/b", "c/d")
    for thought in (draft, f"```json\n{draft}\n```", f"{draft}</think> no"):
        for opening in ("<think>", ""):
            assert not parse_calls(f"{opening}{thought}</think>Nothing.").calls
            for said in (ONE, f"```json\n{ONE}\n```"):
                assert parse_calls(f"{opening}{thought}</think>{said}").calls == (CALL,)
