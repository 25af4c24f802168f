"""Calls written as XML: casts by the declared type, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cpu_limit import processor_limit

from toolmark.formats.parse import bfcl_xml_calls
from toolmark.formats.parse.reply_text import UnreadableCalls


def value(raw: str, label: str) -> Any:
    body = f'<param name="k" type="{label}" value="{raw}"/>'
    return bfcl_xml_calls.parse_verbose(
        f'<functions><function name="f">{body}</function></functions>'
    )[0][1]["k"]


@pytest.mark.parametrize(
    ("raw", "label", "expected"),
    [
        ("1", "integer", 1), (" 7 ", "integer", 7), ("1.5", "float", 1.5), ("x", "null", None),
        ("TRUE", "boolean", True), ("yes", "boolean", False), ("[1, 'a']", "array", [1, "a"]),
        ("(1,)", "tuple", (1,)), ("{'a': 1}", "dict", {"a": 1}), ("{}", "object", {}),
        ("1", "int", "1"), ("true", "bool", "true"), ("1", "number", "1"), (" x ", "string", " x "),
        ("a &amp; b", "string", "a & b"),
    ],
)  # fmt: skip
def test_values_are_converted_by_the_label_and_unknown_labels_leave_text(
    raw: str, label: str, expected: Any
) -> None:
    found = value(raw, label)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("x", "integer"), ("1.0", "integer"), ("9" * 5000, "integer"), ("", "float"),
        ("[true]", "array"), ("f()", "array"), ("1 +", "dict"), ("{[1]: 2}", "dict"),
        ("[" * 500, "array"), ("a < b", "string"), ("a & b", "string"),
    ],
)  # fmt: skip
def test_one_value_that_does_not_fit_spoils_the_reply(raw: str, label: str) -> None:
    with pytest.raises(UnreadableCalls):
        value(raw, label)


def test_verbose_takes_the_first_container_and_concise_none() -> None:
    text = (
        '<functions><function name="f"><params><param name="a" value="1">x</param></params>'
        '<param name="b" value="2"> y </param></function></functions>'
    )
    assert bfcl_xml_calls.parse_verbose(text) == [("f", {"a": "1"})]
    assert bfcl_xml_calls.parse_concise(text) == [("f", {"b": "y"})]


def test_a_nameless_parameter_is_none_in_verbose_and_an_error_in_concise() -> None:
    text = '<functions><function name="f"><param value="1">1</param></function></functions>'
    assert bfcl_xml_calls.parse_verbose(text) == [("f", {None: "1"})]
    with pytest.raises(UnreadableCalls):
        bfcl_xml_calls.parse_concise(text)


@pytest.mark.parametrize(
    "text",
    ["", "<functions/>", "<functions><function/></functions>", "<functions><a></functions>",
     "<functions>\ud800</functions>", "<functions>\x00</functions>"],
)  # fmt: skip
def test_broken_markup_is_unreadable(text: str) -> None:
    for read in (bfcl_xml_calls.parse_verbose, bfcl_xml_calls.parse_concise):
        with pytest.raises(UnreadableCalls):
            read(text)


def test_only_the_first_section_counts() -> None:
    one, two = (f'<functions><function name="{name}"/></functions>' for name in "fg")
    assert bfcl_xml_calls.parse_concise(f"text {one}{two}") == [("f", {})]


def test_entity_bombs_and_depth_are_refused_before_they_are_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    inner = '<function name="f"><param name="k">&b;</param></function>'
    for text in (
        f"{bomb}<functions>{inner}</functions>",
        f"<functions>{bomb}{inner}</functions>",
        "<functions>" * 50_000,
        "<functions>" + "<a>" * 50_000 + "</functions>",
    ):
        with processor_limit(), pytest.raises(UnreadableCalls):
            bfcl_xml_calls.parse_concise(text)
    deep = "<a>" * 50_000 + "</a>" * 50_000
    with processor_limit():
        assert bfcl_xml_calls.parse_concise(f"<functions>{deep}</functions>") == []
