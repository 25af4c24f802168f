"""Tool formats that ask in a call syntax: what is written is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import json_codec
from toolmark.core.records import Call, Message, Reply, Result, Text, Tool
from toolmark.formats.parse.thoughts import separate_thoughts, split_thoughts
from toolmark.formats.prompt_format import PromptFormat
from toolmark.formats.syntax_format import SyntaxFormat, is_syntax_format, syntax_formats
from toolmark.runs.suite import default_tool_formats

FORMATS = list(syntax_formats().values())
by_format = pytest.mark.parametrize("tool_format", FORMATS, ids=lambda each: each.name)
ASKED = Message(role="user", parts=(Text("Add."),))
TOOL = Tool(
    name="add",
    description="Adds.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}}},
)

names = st.from_regex(r"[a-z]{3}_[a-zA-Z0-9_]{0,20}(\.[a-z]{2}_)?", fullmatch=True)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
    | st.sampled_from(
        ["1", '"1"', "null", "{}", " a ", "\n", "</parameter>", "</arg_value>", "<tool_call>", "'",
         "</think>", "```", "\\", "\ud800"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def _calls(drawn: list[tuple[str, dict[str, Any]]]) -> tuple[Call, ...]:
    return tuple(
        Call(
            name=name,
            arguments=json.dumps(json_codec.to_plain_json(given), ensure_ascii=False),
            id=f"call_{index}",
        )
        for index, (name, given) in enumerate(drawn)
    )


# what is drawn is written in every format: to draw takes longer than to write and to read
@given(
    drawn=st.lists(
        st.tuples(names, st.dictionaries(st.text(min_size=1), values, max_size=3)),
        min_size=1,
        max_size=3,
    )
)
def test_what_is_written_is_read_back_in_every_format(
    drawn: list[tuple[str, dict[str, Any]]],
) -> None:
    calls = _calls(drawn)
    for tool_format in FORMATS:
        parsed = tool_format.parse_reply(tool_format.render_calls(calls), ())
        found = (tool_format.name, parsed.calls, parsed.fault, parsed.reply)
        assert found == (tool_format.name, calls, "", None)


@given(text=st.text() | st.sampled_from(["1", '"1"', "true", "null", "[1]"]), number=st.integers())
def test_a_text_of_a_tools_schema_stays_text_in_every_format(text: str, number: int) -> None:
    text, number = json_codec.escape_surrogates(text), number % 1000
    properties = {"a": {"type": "string"}, "b": {"type": "integer"}}
    calls = _calls([("f_x", {"a": text, "b": number})])
    tools = (Tool(name="f_x", parameters={"properties": properties}),)
    for tool_format in FORMATS:
        parsed = tool_format.parse_reply(tool_format.render_calls(calls), tools)
        assert (tool_format.name, parsed.calls) == (tool_format.name, calls)


@by_format
def test_broken_arguments_stay_broken(tool_format: SyntaxFormat) -> None:
    for broken in ("{", "x", '{"a": '):
        reply = tool_format.render_calls((Call(name="add", arguments=broken),))
        parsed = tool_format.parse_reply(reply, (TOOL,))
        assert not parsed.calls and parsed.fault


@by_format
def test_plain_words_are_an_answer(tool_format: SyntaxFormat) -> None:
    for words in ("It is 3.", "", "I called add before.", "3"):
        parsed = tool_format.parse_reply(Reply(text=words), (TOOL,))
        assert (parsed.calls, parsed.fault, parsed.reply) == ((), "", None)


@by_format
def test_calls_in_another_syntax_are_a_fault_that_names_it(tool_format: SyntaxFormat) -> None:
    for other in FORMATS:
        text = other.render_calls((Call(name="add", arguments='{"a": 1}'),)).text
        parsed = tool_format.parse_reply(Reply(text=text), (TOOL,))
        assert parsed.calls or parsed.fault


@by_format
def test_the_system_message_shows_the_tools_and_calls_that_can_be_read(
    tool_format: SyntaxFormat,
) -> None:
    own = Message(role="system", parts=(Text("Be kind."),))
    (system, user), tools = tool_format.render_opening((own, ASKED), (TOOL,))
    assert (tools, user, system.role) == ((), ASKED, "system")
    assert '"name": "add"' in system.text and system.text.endswith("\n\nBe kind.")
    shown = tool_format.render_calls(
        (
            Call(name="first_tool", arguments='{"place": "Rome", "count": 2}'),
            Call(name="second_tool", arguments='{"is_final": true}'),
        )
    )
    assert shown.text in system.text


@by_format
def test_results_stand_in_the_order_of_their_calls(tool_format: SyntaxFormat) -> None:
    calls = (Call(name="one", arguments="{}"), Call(name="two", arguments="{}"))
    results = tuple(Result(parts=(Text(text),)) for text in ("first {name}", "second"))
    reply = tool_format.render_calls(calls)
    said, shown = tool_format.render_results(reply, calls, results)
    assert (said.role, said.text, shown.role) == ("assistant", reply.text, "user")
    assert 0 <= shown.text.index("first {name}") < shown.text.index("second")
    assert tool_format.render_results(reply, calls, ()) == (said,)


@by_format
def test_tools_that_appear_later_stand_before_the_turn(tool_format: SyntaxFormat) -> None:
    (message,), tools = tool_format.render_turn((ASKED,), (TOOL,))
    assert tools == () and message.text.endswith("Add.") and '"add"' in message.text
    (alone,), _ = tool_format.render_turn((), (TOOL,))
    assert '"add"' in alone.text
    assert tool_format.render_turn((ASKED,), ()) == ((ASKED,), ())


def test_positional_arguments_have_the_names_of_the_schema() -> None:
    pythonic = syntax_formats()["pythonic"]
    (call,) = pythonic.parse_reply(Reply(text="[add(1)]"), (TOOL,)).calls
    assert json.loads(call.arguments) == {"a": 1}
    assert pythonic.parse_reply(Reply(text="[add(1, 2)]"), (TOOL,)).fault


def test_harmony_is_read_after_thoughts_in_its_own_channels() -> None:
    harmony = syntax_formats()["openai"]
    text = (
        "<|channel|>analysis<|message|>I need add.<|end|><|start|>assistant"
        '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>'
    )
    (call,) = harmony.parse_reply(Reply(text=text), (TOOL,)).calls
    assert (call.name, call.arguments) == ("add", '{"a": 1}')
    _, shown = harmony.render_results(Reply(text=text), (call,), (Result(parts=(Text("3"),)),))
    assert shown.text == (
        "<|start|>functions.add to=assistant<|channel|>commentary<|message|>3<|end|>"
    )


def test_every_suite_can_be_asked_in_them() -> None:
    assert set(syntax_formats()) <= set(default_tool_formats())
    assert is_syntax_format("hermes") and not is_syntax_format("kimi_k3")
    assert not is_syntax_format("native")


# --- thoughts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("<think>so</think>It is 3.", "so", "It is 3."),
        ("\n<think>\nso\n</think>\n\nIt is 3.", "so", "It is 3."),
        ("<think></think>It is 3.", "", "It is 3."),
        ("<think>so it is", "so it is", ""),
        ("so it is\n</think>\n3", "so it is", "3"),
        ("It is 3.", "", "It is 3."),
        ("It is <think>so</think> 3.", "", "It is <think>so</think> 3."),
        ('{"a": "</think>"}', "", '{"a": "</think>"}'),
    ],
)
def test_thoughts_at_the_start_are_reasoning(text: str, thoughts: str, answer: str) -> None:
    assert split_thoughts(text) == (thoughts, answer)
    reply = separate_thoughts(Reply(text=text, reasoning="earlier"))
    assert reply.text == answer
    assert reply.reasoning == (f"earlier\n\n{thoughts}" if thoughts else "earlier")


@pytest.mark.parametrize("tool_format", [*FORMATS, PromptFormat()], ids=lambda each: each.name)
def test_calls_after_thoughts_are_read_in_every_text_format(tool_format: Any) -> None:
    calls = (Call(name="add", arguments='{"a": 1}', id="call_0"),)
    written = tool_format.render_calls(calls).text
    parsed = tool_format.parse_reply(Reply(text=f"<think>\n{written}\n</think>\n{written}"), ())
    assert (parsed.calls, parsed.fault) == (calls, "")
    assert parsed.reply == Reply(text=written, reasoning=written.strip())
    unclosed = tool_format.parse_reply(Reply(text=f"<think>{written}"), ())
    assert (unclosed.calls, unclosed.reply.text) == ((), "")
