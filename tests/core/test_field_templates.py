"""Templates put the fields of a task into a text, and do nothing else."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cpu_limit import processor_limit

from toolmark.core.errors import DataError, UsageError
from toolmark.core.field_templates import parse_template, scalar_texts
from toolmark.core.records import Task


def task(data: Any) -> Task:
    return Task(id="t-1", suite="s", turns=(), data=data)


def filled(text: str, data: Any) -> str:
    return parse_template(text, "goal").fill_fields(task(data))


@given(st.text(), st.text())
def test_a_value_stands_in_the_text_as_it_is(value: str, other: str) -> None:
    assert filled("{a}|{b}|{a}", {"a": value, "b": other}) == f"{value}|{other}|{value}"


@given(st.text())
def test_doubled_braces_are_braces(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert filled(doubled, {}) == text


@pytest.mark.parametrize(
    "text",
    ["{", "}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{ a }", "{a", "{{{a", "a}b",
     "{a-b}", "{ä}"],
)  # fmt: skip
def test_only_plain_names_are_fields(text: str) -> None:
    with pytest.raises(UsageError, match="goal"):
        parse_template(text, "goal")


def test_no_attribute_of_a_value_is_reached() -> None:
    assert filled("{a}", {"a": {"b": [1, "ü", None, True]}}) == '{"b": [1, "ü", null, true]}'


@pytest.mark.parametrize("data", [{"golf": 1, "other": 2}, {"goals": "x"}])
def test_an_unknown_field_is_named_with_its_task_and_the_nearest_one(data: dict[str, Any]) -> None:
    with pytest.raises(DataError) as error:
        filled("{goal}", data)
    assert "t-1" in str(error.value) and next(iter(data)) in str(error.value)


@pytest.mark.parametrize("data", [None, 3, "text", [1]])
def test_data_without_fields_have_no_field(data: Any) -> None:
    assert filled("plain", data) == "plain"
    with pytest.raises(DataError, match="t-1"):
        filled("{goal}", data)


def test_names_stand_for_values_where_these_must_not_be_read() -> None:
    template = parse_template("the {order_number}, {{so}}", "x")
    assert template.name_fields() == "the order number, {so}"
    assert template.field_names == ("order_number",)


def test_scalars_of_a_value() -> None:
    value = {"a": ["x", 1, 2.5, True, None, {"b": "y"}]}
    assert list(scalar_texts(value)) == ["x", "1", "2.5", "y"]


@pytest.mark.parametrize("piece", ["{", "}", "{a}", "{{", "a{a}", "{a_"])
def test_the_work_is_linear_in_the_text(piece: str) -> None:
    with processor_limit(), suppress(UsageError):
        parse_template(piece * 1_000_000, "x")
