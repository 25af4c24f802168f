"""Laws of all comparators: written forms, guards, tolerance, prose around an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.called_code import CodeHolder
from toolmark.language.written_amounts import money_forms, quantity_forms
from toolmark.language.written_dates import date_forms
from toolmark.language.written_names import person_forms
from toolmark.language.written_numbers import number_forms
from toolmark.language.written_times import time_forms
from toolmark.scoring.comparators import (
    COMPARATORS,
    Comparator,
    Date,
    Money,
    Name,
    Number,
    PlaceName,
    PlainText,
    Time,
    from_row,
)


class Value(NamedTuple):
    """A value, forms of it, and another value of the kind with one form of it."""

    comparator: Comparator
    expected: Any
    forms: Sequence[str]
    other: Any
    other_form: str


VALUES = (
    Value(Number(), 15, number_forms(Fraction(15)), 16, "16"),
    Value(Number(), -2.5, number_forms(Fraction("-2.5")), 2.5, "2.5"),
    Value(Number(), 1_250_000, number_forms(Fraction(1_250_000)), 1_250, "1,250"),
    Value(Number(unit="km"), 15, quantity_forms(Fraction(15), "kilometer"), 16, "16 km"),
    Value(Number(unit="°C"), 20, quantity_forms(Fraction(20), "celsius"), 68, "68 °C"),
    Value(Money(), "$15.50", money_forms(Fraction("15.5"), "USD"), "$15.05", "$15.05"),
    Value(Money(currency="EUR"), 99, money_forms(Fraction(99), "EUR"), 98, "98 €"),
    Value(Date(), "2024-03-05", date_forms(date(2024, 3, 5)), "2024-05-03", "3 May 2024"),
    Value(Time(), "14:30", time_forms(14, 30), "02:30", "2:30 am"),
    Value(Time(), "00:00", time_forms(0, 0), "12:00", "noon"),
    Value(
        Name(initials=True),
        "Ada King Lovelace",
        person_forms("Ada King Lovelace"),
        "Ida Rhodes",
        "I. Rhodes",
    ),
    Value(PlaceName(), "New York City", ["New York City", "NYC"], "Boston", "Boston"),
    Value(PlainText(), "blue whale", ["blue whale", "Blue Whale", "blue-whale"], "ant", "ant"),
)
by_value = pytest.mark.parametrize(
    "value", VALUES, ids=lambda v: f"{v.comparator.kind} {v.expected}"
)
STATEMENTS = (
    "{}", "It is {}.", "The answer is {}.", "**{}**", "I looked this up.\nIt is {}.",
    "Answer: {}", "After some work I get {}, as you can check.",
)  # fmt: skip
DENIALS = (
    "It is not {}.", "It isn't {}.", "It is never {}.", "{} is wrong.", "The answer is not {}.",
    "I would not say that it is {}.", "It was something else rather than {}.", "Is it {}?",
    "{} is not the answer.", "I don't think that it is {}.",
)  # fmt: skip
PROSE = (
    "I hope this helps.", "Let me know if you need more.", "I checked the records for you.",
    "That follows from what you wrote.", "Thank you for your patience; the tools were not slow.",
)  # fmt: skip


@by_value
def test_a_value_matches_in_each_of_its_forms_and_no_other_value_does(value: Value) -> None:
    for form in value.forms:
        assert value.comparator.compare_value(form, value.expected).matches, form
        assert not value.comparator.compare_value(form, value.other).matches, form
        for statement in STATEMENTS:
            text = statement.format(form)
            assert value.comparator.find_in_answer(text, value.expected).matches, text
            assert not value.comparator.find_in_answer(text, value.other).matches, text


@by_value
@pytest.mark.parametrize("denial", DENIALS)
def test_a_denied_value_is_not_stated(value: Value, denial: str) -> None:
    for form in value.forms:
        text = denial.format(form)
        assert not value.comparator.find_in_answer(text, value.expected).matches, text


@by_value
def test_what_is_denied_does_not_hide_what_is_stated(value: Value) -> None:
    for form in value.forms:
        for text in (
            f"It is not {value.other_form} but {form}.",
            f"It is {form}, not {value.other_form}.",
            f"It isn't {value.other_form}; it is {form}.",
        ):
            assert value.comparator.find_in_answer(text, value.expected).matches, text
            assert not value.comparator.find_in_answer(text, value.other).matches, text


@by_value
def test_one_of_several_values_is_not_stated(value: Value) -> None:
    for form in value.forms:
        for text in (
            f"It is {form} or {value.other_form}.",
            f"It is either {value.other_form} or {form}.",
            f"It could be {form}, or maybe {value.other_form}.",
        ):
            assert not value.comparator.find_in_answer(text, value.expected).matches, text


@by_value
@given(before=st.lists(st.sampled_from(PROSE)), after=st.lists(st.sampled_from(PROSE)))
def test_prose_around_an_answer_changes_nothing(
    value: Value, before: list[str], after: list[str]
) -> None:
    form = value.forms[0]
    for sentence in (f"It is {form}.", f"It is not {form}.", f"It is {value.other_form}."):
        alone = value.comparator.find_in_answer(sentence, value.expected).matches
        text = " ".join([*before, sentence, *after])
        assert value.comparator.find_in_answer(text, value.expected).matches == alone, text


@given(
    st.decimals(-1000, 1000, places=2),
    st.decimals(-1000, 1000, places=2),
    st.floats(0, 100),
    st.floats(0, 100),
    st.sampled_from(["tolerance", "relative"]),
)
def test_a_wider_tolerance_matches_no_less(
    given_value: Any, expected: Any, one: float, two: float, field: str
) -> None:
    narrow, wide = (from_row({"number": {field: size}}) for size in sorted((one, two)))
    text = str(given_value)
    if narrow.compare_value(text, float(expected)).matches:
        assert wide.compare_value(text, float(expected)).matches


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(0, 50))
def test_the_tolerance_is_the_greatest_distance(one: int, two: int, size: int) -> None:
    assert Number(tolerance=size).compare_value(one, two).matches == (abs(one - two) <= size)


@pytest.mark.parametrize(
    ("comparator", "given_value", "expected", "matches"),
    [
        (Number(unit="km"), "15 miles", 15, False),
        (Number(unit="km"), "9.32 mi", 15, False),
        (Number(unit="km", relative=0.001), "9.32 mi", 15, True),
        (Number(unit="km"), "15000 m", 15, True),
        (Number(unit="km"), "15 kg", 15, False),
        (Number(unit="km"), "15", 15, True),
        (Number(unit="km", unit_required=True), "15", 15, False),
        (Number(), "15 km", 15, True),
        (Number(), "15 km", "15 km", True),
        (Number(), "15 mi", "15 km", False),
        (Number(), "15 %", 15, False),
        (Number(), "15 %", 0.15, True),
        (Number(unit="%"), "15 percent", 15, True),
        (Number(unit="min"), "1.5 hours", 90, True),
        (Number(), True, 1, False),
        (Number(), 0.1 + 0.2, 0.3, True),
        (Number(), 1_000_000_001, 1_000_000_002, False),
        (Number(), "15 to 16", 15, False),
        (Money(), "€15", "$15", False),
        (Money(), "US$15", "$15", True),
        (Money(), "CA$15", "$15", False),
        (Money(currency="CAD"), "$15", 15, True),
        (Money(), "15", "$15", False),
        (Money(currency_optional=True), "15", "$15", True),
        (Money(), "($15.00)", "-$15", True),
        (Money(), "₹15,00,000", "INR 1500000", True),
        (Money(), "15 kg", "$15", False),
        (Money(), "1550 cents", "$15.50", True),
        (Money(currency="EUR"), "1.500 €", 1500, True),
        (Money(), "$1.2m", {"amount": 1_200_000, "currency": "USD"}, True),
        (Date(), "March 5", "2024-03-05", False),
        (Date(year_optional=True), "March 5", "2024-03-05", True),
        (Date(), "3/5/2024", "2024-03-05", False),
        (Date(), "3/25/2024", "2024-03-25", True),
        (Date(order="month_first"), "3/5/2024", "2024-03-05", True),
        (Date(), "Monday, March 5, 2024", "2024-03-05", False),
        (Date(order="day_first"), "3/5/2024", "2024-03-05", False),
        (Date(order="either"), "3/5/2024", "2024-05-03", True),
        (Date(), "2024-03-05T10:00:00Z", "2024-03-05", True),
        (Date(), "Tuesday, March 5, 2024 at 3 pm", "2024-03-05", True),
        (Time(), "2:30", "14:30", False),
        (Time(half_optional=True), "2:30", "14:30", True),
        (Time(), "2:30 am", "14:30", False),
        (Time(half_optional=True), "2:30 am", "14:30", False),
        (Time(tolerance_minutes=5), "14:34", "14:30", True),
        (Time(tolerance_minutes=1), "23:59:30", "00:00", True),
        (Time(), "12:30 UTC", "14:30+02:00", True),
        (Time(), "14:30 UTC", "14:30+02:00", False),
        (Name(), "Jane Smith", "John Smith", False),
        (Name(), "John Smith-Jones", "John Smith", False),
        (Name(), "Smith", "John Smith", False),
        (Name(), "J. Smith", "John Smith", False),
        (Name(initials=True), "J. Smith", "John Smith", True),
        (Name(), "Juergen Gross", "Jürgen Groß", True),
        (Name(), "John Smith Jr.", "John Smith Sr.", False),
        (Name(), "Zoe\u0308 Kravchenko", "Zoë Kravchenko", True),
        (Name(family_alone=True), "Smith", "John Smith", True),
        (PlaceName(), "Paris, Texas", "Paris", False),
        (PlaceName(), "Paris", "Paris, France", True),
        (PlaceName(), "Springfield, MO", "Springfield, Illinois", False),
        (PlaceName(), "North Korea", "South Korea", False),
        (PlaceName(), "the UK", "United Kingdom", True),
    ],
)
def test_units_halves_and_years_are_guarded(
    comparator: Comparator, given_value: Any, expected: Any, matches: bool
) -> None:
    assert comparator.compare_value(given_value, expected).matches is matches


@pytest.mark.parametrize("kind", COMPARATORS)
def test_settings_are_plain_json_and_make_the_same_comparator(kind: str) -> None:
    comparator = COMPARATORS[kind]()
    settings = comparator.settings()
    assert isinstance(comparator, CodeHolder)
    assert msgspec.json.decode(msgspec.json.encode(settings))["kind"] == kind
    again = {name: value for name, value in settings.items() if name != "kind"}
    assert msgspec.convert(again, COMPARATORS[kind]) == comparator


@given(st.text(), st.sampled_from(sorted(COMPARATORS)))
def test_no_text_breaks_a_comparator(text: str, kind: str) -> None:
    expected: dict[str, Any] = {
        "number": 1, "money": "$1", "date": "2024-03-05", "time": "14:30", "text": "a",
        "bool": True, "name": "A. Jones", "place": "Paris", "set": [1, "a"], "json": [1],
        "file": "a", "regex": "a",
    }  # fmt: skip
    comparator = COMPARATORS[kind]()
    for found in (
        comparator.compare_value(text, expected[kind]),
        comparator.find_in_answer(text, expected[kind]),
    ):
        assert found.reason
