"""Docs and calls as text."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import json_codec
from toolmark.core.records import Call, Reply, Tool
from toolmark.formats.parse import reply_parser
from toolmark.formats.prompt_format import (
    PromptFormat,
    PromptVariant,
    default_wording,
    render_system_message,
)
from toolmark.formats.render.call_text import render_calls
from toolmark.formats.render.tool_docs import render_docs

DOC = {
    "name": "area",
    "description": "Finds an area.",
    "parameters": {
        "type": "object",
        "properties": {
            "sides": {"type": "array", "items": {"type": "number"}, "description": "Lengths."},
            "unit": {"type": "string", "enum": ["m", "km"], "default": "m, or so"},
            "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
            "place": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
        "required": ["sides"],
    },
}


def test_docs_as_python() -> None:
    assert render_docs([DOC], "python") == (
        '# Function: area\n    """\n    Finds an area.\n\n    Args:\n'
        "        sides (list[float]): Lengths.\n"
        "        unit (str, default='m, or so'):  Enum values: ['m', 'km'].\n"
        "        extra (dict[str, int]): \n"
        "        place (dict): \n"
        '            city (str): \n    """\n\n\n\n'
    )


def test_docs_as_xml_have_no_commas_between_attributes() -> None:
    text = render_docs([DOC], "xml")
    assert '    <param name="sides" type="array[number]" required="true">\n' in text
    assert (
        '<param name="unit" type="string" required="false" default="\'m or so\'">\n'
        "      <desc> Enum values: ['m', 'km'].</desc>" in text
    )
    assert '<param name="extra" type="object[integer]" required="false">' in text
    assert '        <param name="city" type="string" required="true">' in text


@pytest.mark.parametrize("form", ["python", "xml", "json"])
def test_schemas_of_any_kind_are_written(form: str) -> None:
    odd = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"type": "object", "additionalProperties": False},
            "c": {"anyOf": [{"type": "string"}]},
            "d": {"type": "array"},
        },
    }
    text = render_docs([{"name": "f", "parameters": odd}], form)  # type: ignore[arg-type]
    assert all(name in text for name in odd["properties"])


shapes = st.builds(
    PromptVariant,
    call_form=st.sampled_from(get_args(reply_parser.CallForm)),
    has_tag=st.booleans(),
    tool_doc_form=st.sampled_from(["python", "xml", "json"]),
    layout=st.sampled_from(["plaintext", "markdown"]),
    style=st.sampled_from(["classic", "experimental"]),
)
words = st.from_regex(r"[a-z]{3,8}_x", fullmatch=True)
printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False) | printable,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(shapes, st.lists(st.tuples(words, st.dictionaries(words, values, max_size=3)), min_size=1))
def test_what_is_written_is_read_back_in_every_form(
    form: PromptVariant, calls: list[tuple[str, dict[str, object]]]
) -> None:
    if form.call_form == "json" and any("}" in json.dumps(given) for _, given in calls):
        return  # the official decoder cuts a list short where a text holds its end
    prompt = PromptFormat(form)
    made = [
        Call(name=name, arguments=json_codec.escape_surrogates(json.dumps(given)))
        for name, given in calls
    ]
    reading = prompt.parse_reply(prompt.render_calls(made), ())
    assert reading.fault == ""
    read = [
        (call.name, json.loads(json_codec.restore_surrogates(call.arguments)))
        for call in reading.calls
    ]
    if form.call_form == "concise_xml":  # text around markup is trimmed
        calls = [(name, {k: _trimmed(v) for k, v in given.items()}) for name, given in calls]
    assert read == calls


def _trimmed(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


@given(shapes)
def test_own_wording_covers_every_format(form: PromptVariant) -> None:
    text = render_system_message(form, default_wording(), [DOC])
    assert "{" + "output_format" not in text
    assert default_wording().call_shapes[form.call_form] in text
    assert ("<TOOLCALL>" in text) == form.has_tag
    assert ("# Tools" in text) == (form.layout == "markdown")
    assert render_docs([DOC], form.tool_doc_form) in text


@given(shapes)
def test_own_example_is_read_in_its_own_form(form: PromptVariant) -> None:
    example = default_wording().call_shapes[form.call_form]
    text = f"<TOOLCALL>{example}</TOOLCALL>" if form.has_tag else example
    found = [
        (call.name, json.loads(call.arguments))
        for call in PromptFormat(form).parse_reply(Reply(text=text), ()).calls
    ]
    assert found == [("first_tool", {"name": "text", "count": 2}), ("second_tool", {"flag": True})]


@pytest.mark.parametrize("raw", ['{"a": 1', "[1]", "", "nope"])
@pytest.mark.parametrize("form", get_args(reply_parser.CallForm))
def test_broken_arguments_stay_broken_in_every_form(form: reply_parser.CallForm, raw: str) -> None:
    text = render_calls([Call(name="f", arguments=raw)], form)
    reading = PromptFormat(PromptVariant(call_form=form)).parse_reply(Reply(text=text), ())
    assert reading.fault and not reading.calls


def test_only_the_tag_counts_where_one_is_due() -> None:
    prompt = PromptFormat(PromptVariant(has_tag=True))
    assert prompt.parse_reply(Reply(text="I call <TOOLCALL> [f(a=1)] </TOOLCALL> now."), ()).calls
    assert prompt.parse_reply(Reply(text="[f(a=1)]"), ()).fault
    assert prompt.parse_reply(Reply(text="It is 5."), ()).fault == ""


def test_signs_and_positions_survive_the_whole_parse() -> None:
    (one,) = reply_parser.parse_written_calls(
        "[f(1, 'x', a=+2, b=not True, c=~1, **{'d': 3})]", "python"
    )
    assert (one.name, one.positional) == ("f", (1, "x"))
    assert one.keywords == {"a": 2, "b": False, "c": -2, "d": 3}
    assert reply_parser.parse_reply("[f(1, a=+2)]", "python") == [("f", {"a": -2})]


def test_tools_without_a_published_doc_are_shown_by_their_schema() -> None:
    tool = Tool(name="area", description="Finds.", parameters=DOC["parameters"])  # type: ignore[arg-type]
    (message,), _ = PromptFormat(PromptVariant(tool_doc_form="xml")).render_opening((), (tool,))
    assert '<function name="area">\n  <desc>Finds.</desc>' in message.text
