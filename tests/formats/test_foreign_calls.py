"""Calls of offered tools in the text of a reply: each syntax is found, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.records import Tool
from toolmark.formats.call_syntaxes import CallSyntax, call_syntaxes, parser_step
from toolmark.formats.parse.foreign_calls import (
    MAX_MARKERS,
    WINDOW_CHARS,
    find_foreign_call,
    is_abstention,
    may_have_call,
)
from toolmark.formats.parse.reply_text import UnreadableCalls
from toolmark.formats.parse.syntax_readers import read_calls

SYNTAXES = call_syntaxes().syntaxes
by_syntax = pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda each: each.name)
MARKED = [each for each in SYNTAXES if each.markers]
PIECES = [
    piece
    for each in SYNTAXES
    for piece in (*each.markers, *each.signs, each.call_close, each.name_close, each.key_open)
    if piece
]


@by_syntax
def test_the_example_of_a_syntax_is_found_under_its_name(syntax: CallSyntax) -> None:
    found = find_foreign_call(syntax.example, ["g", "f"])
    assert found is not None
    assert (found.syntax.name, found.tool) == (syntax.name, "f")


@by_syntax
def test_the_example_of_a_syntax_is_read(syntax: CallSyntax) -> None:
    tools = (Tool(name="f", parameters={"properties": {"a": {"type": "integer"}}}),)
    expected = [] if syntax.shape == "unread" else [("f", {"a": 1})]
    assert read_calls(syntax, syntax.example, tools) == expected


@by_syntax
def test_a_call_of_a_tool_that_is_not_offered_is_none(syntax: CallSyntax) -> None:
    assert find_foreign_call(syntax.example, ["g", "ff"]) is None
    assert find_foreign_call(syntax.example, []) is None


@pytest.mark.parametrize("syntax", MARKED, ids=lambda each: each.name)
def test_a_marked_call_is_found_after_words_and_in_reasoning(syntax: CallSyntax) -> None:
    words = "I shall look it up.\n\n"
    found = find_foreign_call(words + syntax.example, ["f"])
    assert found is not None and found.syntax == syntax and not found.in_reasoning
    for text, reasoning in (
        ("Done.", words + syntax.example),
        (f"<think>{words}{syntax.example}</think>Done.", ""),
        (f"<think>{words}{syntax.example}", ""),
    ):
        found = find_foreign_call(text, ["f"], reasoning)
        assert found is not None and found.syntax == syntax and found.in_reasoning


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "None",
        "The tool f would help, but I cannot call it.",
        "Use f(a=1) for that.",
        "You could write:\n```python\nf(a=1)\n```",
        'The answer is {"name": "f"}.',
        '{"result": "f"}',
        '["f", "g"]',
        '<function_call> {"name": "no_function", "arguments": {}}',
        "out_of_domain(user_query='f')",
        "<tool_call> is how calls of Hermes begin.",
        "<tool_call>\n{}\n</tool_call> So f was not called.",
        "[TOOL_CALLS]" + " " * (WINDOW_CHARS + 1) + "f",
        "<|python_tag|>print('off')",
        "<function=ff>{}</function>",
        "prefix_f(a=1)",
    ],
)
def test_a_decoy_is_not_found(text: str) -> None:
    assert find_foreign_call(text, ["f"]) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("```json\n[f(a=1)]\n```", "pythonic"),
        ("['f(a=1)']", "pythonic"),
        ("f(a=1);", "pythonic"),
        ("[g(), f(a=1)]", "pythonic"),
        ("[{'f': {'a': 1}}]", "json"),
        ("['f', {'a': 1}]", "json"),
        ('Here it is:\n```json\n{"name": "f", "arguments": {"a": 1}}\n```', "json"),
        ('<|im_start|>\n{"arguments": {"a": 1}, "name": "f"}\n<|im_start|>', "hermes"),
        ("<|channel|>analysis<|message|>so<|end|><|start|>assistant to=functions.f<|channel|>"
         "commentary json<|message|>{}", "openai"),
        ("<tool_call>\n<function=f>\n</function>\n</tool_call>", "qwen3_coder"),
        ("<tool_call><tool_call>\n{'name': 'f'}\n</tool_call>", "hermes"),
    ],
)  # fmt: skip
def test_a_variant_is_found(text: str, name: str) -> None:
    found = find_foreign_call(text, ["f"])
    assert found is not None and found.syntax.name == name


@pytest.mark.parametrize("written", ["math.gcd", "math_gcd", "math\\_gcd", "functions.math.gcd"])
def test_a_dotted_name_is_found_as_endpoints_and_markdown_write_it(written: str) -> None:
    found = find_foreign_call(f"[{written}(a=1)]", ["math.gcd"])
    assert found is not None and found.tool == "math.gcd"


def test_a_name_after_long_arguments_is_found_before_the_end_of_its_call() -> None:
    long = '{"arguments": {"a": "' + "x" * 2000 + '"}, "name": "f"}'
    assert find_foreign_call(f"<tool_call>{long}</tool_call>", ["f"]) is not None
    assert find_foreign_call(f"<tool_call>{long}", ["f"]) is None


def test_the_table_is_bounded_and_its_names_are_unique() -> None:
    markers = {marker for each in SYNTAXES for marker in each.markers}
    assert len(markers) <= MAX_MARKERS
    assert len({each.name for each in SYNTAXES}) == len(SYNTAXES)
    for each in SYNTAXES:
        assert each.markers or each.may_be_bare
        assert len([other for other in SYNTAXES if set(other.markers) & set(each.markers)]) < 4


def test_every_marker_and_example_has_a_sign_of_a_call() -> None:
    texts = [text for each in SYNTAXES for text in (*each.markers, each.example)]
    assert [text for text in texts if not may_have_call(text)] == []
    assert not may_have_call("It is sunny in Paris, and 20 degrees warm.")


def test_words_that_say_that_no_tool_fits_are_abstentions() -> None:
    assert all(map(is_abstention, ("no_function", "out_of_domain", "None")))
    assert not is_abstention("f")


def test_the_next_step_names_the_flag_and_a_tool_format() -> None:
    steps = {each.name: parser_step(each) for each in SYNTAXES}
    assert "--tool-call-parser hermes" in steps["hermes"]
    assert steps["hermes"].endswith("--tool-format hermes")
    assert steps["openai"].endswith("--tool-format openai")
    assert steps["kimi_k3"].endswith("--tool-format prompt")


@given(st.lists(st.sampled_from([*PIECES, "f", "g", " ", "\n", "{", '"', "1", "(", "x" * 200])))
def test_any_text_of_pieces_is_searched_and_read_or_refused(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = find_foreign_call(text, ["f"])
    assert found is None or ("f" in text and may_have_call(text))
    for syntax in SYNTAXES:
        try:
            calls = read_calls(syntax, text)
        except UnreadableCalls:
            continue
        kinds = {(type(name), type(arguments)) for name, arguments in calls}
        assert kinds <= {(str, dict)}
