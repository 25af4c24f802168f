"""Calls asked for in a prompt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import json_codec
from toolmark.core.records import Call, Message, Reply, Result, Text, Tool
from toolmark.formats.prompt_format import PromptFormat, PromptWording, default_wording

PROMPT = PromptFormat()
TOOL = Tool(
    name="pkg.add",
    description="Adds.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}}},
)
ASKED = Message(role="user", parts=(Text("Add."),))

names = st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,8})?", fullmatch=True).filter(
    lambda name: not {"not", "in", "is", "or", "if", "and", "as", "for", "def", "del", "from",
                      "try", "pass", "with", "else", "elif", "while", "break", "class", "raise",
                      "return", "yield", "async", "await", "global", "import", "lambda", "assert",
                      "except", "finally", "continue", "nonlocal"} & set(name.split("."))
)  # fmt: skip
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
keywords = names.filter(lambda name: "." not in name)


@given(st.lists(st.tuples(names, st.dictionaries(keywords, plain, max_size=3)), max_size=3))
def test_what_is_written_is_read_back(calls: list[tuple[str, dict[str, object]]]) -> None:
    made = [
        Call(
            name=name, arguments=json_codec.escape_surrogates(json.dumps(args, ensure_ascii=False))
        )
        for name, args in calls
    ]
    reading = PROMPT.parse_reply(PROMPT.render_calls(made), ())
    assert reading.fault == ""
    assert [
        (call.name, json.loads(json_codec.restore_surrogates(call.arguments)))
        for call in reading.calls
    ] == calls


def test_tools_are_in_the_system_message_and_not_in_the_request() -> None:
    (system, user), tools = PROMPT.render_opening((ASKED,), (TOOL,))
    assert tools == ()
    assert (system.role, user) == ("system", ASKED)
    assert '"name": "pkg.add"' in system.text


def test_an_opening_system_message_follows_the_prompt() -> None:
    own = Message(role="system", parts=(Text("Be kind."),))
    (system, user), _ = PROMPT.render_opening((own, ASKED), (TOOL,))
    assert system.text.endswith("\n\nBe kind.")
    assert user == ASKED


def test_the_published_doc_is_shown_with_the_tools_own_description() -> None:
    source = {"name": "f", "description": "Does it.", "x": 1}
    tool = Tool(name="f", description="Does it. Hint.", source=source)
    (system,), _ = PROMPT.render_opening((), (tool,))
    assert (
        json.dumps([{"name": "f", "description": "Does it. Hint.", "x": 1}], indent=4)
        in system.text
    )


def test_words_are_an_answer_and_broken_calls_are_a_fault() -> None:
    for text in ("The sum is 5.", "None of the tools (see above) fits.", "42", ""):
        assert PROMPT.parse_reply(Reply(text=text), ()).fault == ""
    for text in ("[f(a=1", "f(a=)", "```python\n[f(a=1)]\n```", "[f(a=1)] done"):
        reading = PROMPT.parse_reply(Reply(text=text), ())
        assert reading.fault and not reading.calls


def test_odd_values_reach_the_environment_as_json() -> None:
    text = "[f(a=(1, 2), b=..., c=1e400, d=b'x', **{'z': 1})]"
    (call,) = PROMPT.parse_reply(Reply(text=text), ()).calls
    assert json.loads(call.arguments) == {
        "a": [1, 2], "b": "...", "c": "inf", "d": "b'x'", "None": {"z": 1},
    }  # fmt: skip


def test_broken_arguments_stay_broken_when_written() -> None:
    for raw in ('{"a": 1', "[1]", "", "nope"):
        written = PROMPT.render_calls([Call(name="f", arguments=raw)])
        assert PROMPT.parse_reply(written, ()).fault


def test_results_come_back_in_one_user_message() -> None:
    reply = Reply(text="[f(a=1), g()]")
    calls = PROMPT.parse_reply(reply, ()).calls
    results = (Result(parts=(Text("one"),)), Result(parts=(Text("two"),)))
    said, heard = PROMPT.render_results(reply, calls, results)
    assert (said.role, said.text, heard.role) == ("assistant", reply.text, "user")
    assert json.loads(heard.text) == {
        "results": [{"tool": "f", "result": "one"}, {"tool": "g", "result": "two"}]
    }
    assert len(PROMPT.render_results(reply, (), ())) == 1


def test_wording_is_data() -> None:
    classic = {**default_wording().styles["classic"], "persona": "HELLO"}
    louder = PromptWording(
        default_wording().call_shapes,
        default_wording().type_notes,
        {"classic": classic},
        default_wording().layouts,
    )
    (system,), _ = PromptFormat(wording=louder).render_opening((), ())
    assert system.text.startswith("HELLO")


@pytest.mark.parametrize("text", ["\ufdd0d800", "f(a='\ufdd0d800')"])
def test_escaped_surrogates_are_restored_before_parsing(text: str) -> None:
    assert PROMPT.parse_reply(Reply(text=text), ()).calls == ()
