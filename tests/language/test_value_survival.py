"""A good listener finds what was said, and misses what was not."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark.core.records import Tool
from toolmark.language import value_survival
from toolmark.language.argument_facts import Fact, enum_facts, extract_facts

HEARD: list[tuple[Any, str, str]] = [
    ("Liam", "ask Liam", "ask L I A M please"),
    ("Liam Neeson", "films with Liam Neeson", "films with l i a m n e e s o n"),
    ("john.smith@gmail.com", "to john.smith@gmail.com", "to john dot smith at gmail dot com"),
    ("USR005", "user USR005", "user U S R zero zero five"),
    ("a_b-1.txt", "open a_b-1.txt now", "open A underscore B dash one dot T X T now"),
    ("2345-6789", "card 2345-6789", "card two three four five dash six seven eight nine"),
    (55.2, "use 55.2", "use fifty five point two"),
    (0.015, "a rate of 1.5%", "a rate of one point five percent"),
    (-5, "at -5 degrees", "at minus five degrees"),
    (1500000, "worth $1.5 million", "worth one point five million dollars"),
    (45.5, "for $45.50", "for forty-five dollars and fifty cents"),
    (1995, "in 1995", "in nineteen ninety-five"),
    (1905, "in 1905", "in nineteen oh five"),
    (299792458, "c is 299792458", "c is two nine nine seven nine two four five eight"),
    ("2023-04-25", "on 2023-04-25", "on April twenty-fifth, twenty twenty-three"),
    ("2023-04-25", "on 25 April 2023", "on the twenty-fifth of April, twenty twenty-three"),
    ("04/25/2023", "on April 25th, 2023", "on April twenty-fifth twenty twenty-three"),
    ("14:30", "at 14:30", "at fourteen thirty"),
    ("10:00", "at 10:00", "at ten o'clock"),
    ("10 AM", "at 10 AM", "at ten a m"),
    ("km/h", "in km/h", "in kilometers per hour"),
    ("x^2", "plot x^2", "plot X squared"),
    ("Zürich", "in Zürich", "in zurich"),
    ("New York, NY", "in New York, NY", "in New York, N Y"),
    ("2019-2020", "the 2019-2020 season", "the twenty nineteen to twenty twenty season"),
    (True, "set it to true", "set it to True"),
]


@pytest.mark.parametrize(("value", "written", "spoken"), HEARD, ids=str)
def test_a_value_is_heard(value: Any, written: str, spoken: str) -> None:
    assert value_survival.fact_state(written, spoken, Fact("p", (value,))) == "preserved"


@pytest.mark.parametrize(
    ("value", "written", "spoken"),
    [
        (50, "for 50 people", "for fifteen people"),
        (55.2, "use 55.2", "use fifty five"),
        (-5, "at -5", "at five"),
        (2, "just 2", "just twenty"),
        ("USR005", "user USR005", "user U S R zero five"),
        ("Liam", "ask Liam", "ask L I M A"),
        ("a@b.com", "to a@b.com", "to A at B com"),
        ("2023-04-25", "on 2023-04-25", "on April twenty-sixth, twenty twenty-three"),
        ("14:30", "at 14:30", "at fourteen thirteen"),
        ("cat", "a cat", "concatenate it"),
        ("x^2 - 1", "plot x^2 - 1", "plot X squared, one"),
    ],
    ids=str,
)
def test_a_distorted_value_does_not_survive(value: Any, written: str, spoken: str) -> None:
    fact = Fact("p", (value,))
    assert value_survival.fact_state(written, spoken, fact) == "lost"
    assert value_survival.lost_facts(written, spoken, [fact]) == [fact]


def test_what_was_never_stated_needs_not_survive() -> None:
    fact = Fact("p", ("celsius", 9.81))
    assert value_survival.fact_state("how warm is it", "tell me", fact) == "unstated"
    assert value_survival.fact_survives("how warm is it", "tell me", fact)


def test_numbers_in_a_row_stay_apart_at_pauses() -> None:
    spoken = "five, six, seven"
    assert all(value_survival.value_spans(spoken, n) for n in (5, 6, 7))
    assert not value_survival.value_spans(spoken, 567)


def test_facts_are_leaves_without_the_empty_ones() -> None:
    truth = [{"f": {"a": ["x", ""], "b": [""], "c": [[1, 2]], "d": [{"e": [True, None]}]}}]
    assert extract_facts(truth) == (
        Fact("f.a", ("x",)),
        Fact("f.c[0]", (1,)),
        Fact("f.c[1]", (2,)),
        Fact("f.d.e", (True,)),
    )


def test_call_texts_are_read_and_never_run() -> None:
    assert extract_facts(["f(a=1, b=['x'], c=__import__('os'))", "not a call(", ""]) == (
        Fact("f.a", (1,)),
        Fact("f.b[0]", ("x",)),
    )


def test_the_same_parameter_of_two_calls_is_two_facts() -> None:
    names = [fact.name for fact in extract_facts([{"f": {"a": ["x"]}}, {"f": {"a": ["y"]}}])]
    assert names == ["f.a", "f#2.a"]


def test_choices_of_a_signature_are_facts() -> None:
    inner = {"items": {"enum": ["red", 3]}}
    tool = Tool(name="f", parameters={"properties": {"unit": {"enum": ["km"]}, "l": inner}})
    assert [fact.values[0] for fact in enum_facts([tool])] == ["km", "red"]
