"""Comparators as rows name them, by the type of the value, and structured values."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from toolmark.core.errors import UsageError
from toolmark.scoring.comparators import (
    COMPARATORS,
    FileContent,
    JsonValue,
    Number,
    Pattern,
    SetOfValues,
    choose_comparator,
    from_row,
)


@pytest.mark.parametrize("kind", COMPARATORS)
def test_a_row_names_a_comparator(kind: str) -> None:
    assert from_row(kind) == from_row({kind: {}}) == COMPARATORS[kind]()


def test_a_row_gives_settings() -> None:
    assert from_row({"number": {"tolerance": 0.01}}) == Number(tolerance=0.01)
    assert from_row(Number(unit="km")) == Number(unit="km")


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("numbr", "number"),
        ({"number": {"tolerence": 1}}, "tolerance"),
        ({"number": {"tolerance": -1}}, "tolerance"),
        ({"number": {"unit": "kilometr"}}, "kilometer"),
        ({"money": {"currency": "EURR"}}, "EUR"),
        ({"number": 1}, "number"),
        ({"date": {}, "time": {}}, "settings"),
        (5, "5"),
    ],
)
def test_a_wrong_comparator_is_one_line_with_what_was_meant(spec: Any, named: str) -> None:
    with pytest.raises(UsageError) as raised:
        from_row(spec)
    assert named in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        (True, "bool"),
        (1, "number"),
        (1.5, "number"),
        ("a", "text"),
        (["a", 1], "set"),
        ([{"a": 1}], "json"),
        ([], "json"),
        ({"a": 1}, "json"),
        (None, "json"),
    ],
)
def test_the_type_of_a_value_chooses(expected: Any, kind: str) -> None:
    assert choose_comparator(expected).kind == kind


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("number", "abc"), ("number", True), ("number", float("nan")), ("money", None), ("date", "x"),
     ("time", 5), ("text", ""), ("bool", "maybe"), ("name", 3), ("place", ""), ("set", "a"),
     ("file", 1), ("regex", 1)],
)  # fmt: skip
def test_an_expected_value_of_another_kind_is_refused(kind: str, expected: Any) -> None:
    for way in ("compare_value", "find_in_answer"):
        with pytest.raises(UsageError):
            getattr(COMPARATORS[kind](), way)("1", expected)


@pytest.mark.parametrize(
    ("comparator", "given", "expected", "matches"),
    [
        (JsonValue(), {"a": 1.0, "b": [1, 2]}, {"b": [1, 2], "a": 1}, True),
        (JsonValue(), '{"a": true}', {"a": 1}, False),
        (JsonValue(), {"a": 1, "c": 2}, {"a": 1}, False),
        (JsonValue(extra_keys=True), {"a": 1, "c": 2}, {"a": 1}, True),
        (JsonValue(ignore=("c",)), {"a": 1, "c": 2}, {"a": 1, "c": 3}, True),
        (JsonValue(ignore_order=True), [1, 2, 2], [2, 1, 2], True),
        (JsonValue(ignore_order=True), [1, 2, 1], [2, 1, 2], False),
        (JsonValue(), [1, 2], [2, 1], False),
        (JsonValue(tolerance=0.1), [1.05], [1], True),
        (JsonValue(), "1", "1", True),
        (JsonValue(), None, None, True),
        (SetOfValues(), ["b", "a"], ["a", "b"], True),
        (SetOfValues(), "b, a", ["a", "b"], True),
        (SetOfValues(), '["a", "b"]', ["a", "b"], True),
        (SetOfValues(), ["a"], ["a", "b"], False),
        (SetOfValues(), ["a", "b", "c"], ["a", "b"], False),
        (SetOfValues(extra=True), ["a", "b", "c"], ["a", "b"], True),
        (SetOfValues(ordered=True), ["b", "a"], ["a", "b"], False),
        (SetOfValues(), [], [], True),
        (SetOfValues(), ["a"], [], False),
        (SetOfValues(member="date"), ["March 5, 2024"], ["2024-03-05"], True),
        (FileContent(), "a\r\nb\r\n", "a\nb", True),
        (FileContent(), "a \nb", "a\nb", False),
        (FileContent(exact=True), "a\r\nb", "a\nb", False),
        (FileContent(), b"a", "a", True),
        (FileContent(), "a", "sha256:" + hashlib.sha256(b"a").hexdigest(), True),
        (FileContent(), "b", "sha256:" + hashlib.sha256(b"a").hexdigest(), False),
        (Pattern(), "abc-12", r"[a-z]+-\d+", True),
        (Pattern(), "abc-12 x", r"[a-z]+-\d+", False),
        (Pattern(whole=False), "abc-12 x", r"[a-z]+-\d+", True),
        (Pattern(), "ABC", "abc", False),
        (Pattern(ignore_case=True), "ABC", "abc", True),
        (Pattern(), 12, r"\d+", True),
    ],
)
def test_structured_values(comparator: Any, given: Any, expected: Any, matches: bool) -> None:
    assert comparator.compare_value(given, expected).matches is matches


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)b", "(", "a{1,100000}"])
def test_a_pattern_that_re2_refuses_is_a_usage_error(pattern: str) -> None:
    with pytest.raises(UsageError, match="next:"):
        Pattern().compare_value("a", pattern)


def test_json_that_is_nested_deeply_ends() -> None:
    value: Any = 1
    for _ in range(300):
        value = [value]
    assert not JsonValue().compare_value(value, value).matches
