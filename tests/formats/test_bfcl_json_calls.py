"""Calls written as JSON: what the official decoder reads, and what it loses."""

from __future__ import annotations

from contextlib import suppress

import pytest
from tests.cpu_limit import processor_limit

from toolmark.formats.parse import bfcl_json_calls
from toolmark.formats.parse.reply_text import MisshapenCalls, UnreadableCalls

ONE = '[{"function": "f", "parameters": {"a": 1}}]'


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (ONE, [("f", {"a": 1})]),
        (f"Sure: {ONE} Done.", [("f", {"a": 1})]),
        (f"[json\n{ONE}]", [("f", {"a": 1})]),
        ("[]", []),
        ("[not json]", []),
        ('{"function": "f", "parameters": {}}', []),
        ('[5, {"function": "f", "parameters": {}}]', [("f", {})]),
        ('[{"function": null, "parameters": {}}]', [("None", {})]),
    ],
)
def test_calls_are_read(text: str, calls: list[object]) -> None:
    assert bfcl_json_calls.parse_calls(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "5", "null", '[{"parameters": {}}]', '[{"function": "f"}]', "[" * 300 + "]" * 300,
        '[{"function": [], "parameters": {}}]',
        f'[{{"function": "f", "parameters": {"9" * 5000}}}]',
    ],
)  # fmt: skip
def test_what_is_no_list_of_calls_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableCalls):
        bfcl_json_calls.parse_calls(text)


def test_parameters_that_are_no_object_are_misshapen() -> None:
    with pytest.raises(MisshapenCalls):
        bfcl_json_calls.parse_calls('[{"function": "f", "parameters": [1]}]')


def test_a_list_of_objects_is_cut_officially_and_whole_otherwise() -> None:
    text = '[{"function": "f", "parameters": {"a": [{"b": 1}], "c": 2}}]'
    assert bfcl_json_calls.parse_calls(text) == []
    assert bfcl_json_calls.parse_complete_calls(text) == [("f", {"a": [{"b": 1}], "c": 2})]
    assert bfcl_json_calls.parse_complete_calls(
        f"```json\n{text}\n```"
    ) == bfcl_json_calls.parse_complete_calls(text)


@pytest.mark.parametrize("text", [ONE, "[]", "[broken", '[{"a": 1]', '[{"function": "f"'])
def test_whole_differs_only_where_something_is_dropped(text: str) -> None:
    try:
        expected = bfcl_json_calls.parse_calls(text)
    except UnreadableCalls:
        with pytest.raises(UnreadableCalls):
            bfcl_json_calls.parse_complete_calls(text)
    else:
        assert bfcl_json_calls.parse_complete_calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[{" + "},{" * 500_000,
        "[{" + "},{" * 500_000 + "}x]",
        "[" * 2_000_000,
        "[ " * 1_000_000 + "{}",
        "}" * 1_000_000,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    for read in (bfcl_json_calls.parse_calls, bfcl_json_calls.parse_complete_calls):
        with processor_limit(), suppress(UnreadableCalls):
            read(text)
