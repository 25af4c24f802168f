"""Every written form that the table makes of a value is read back as that value, and only that."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.language import written_tables
from toolmark.language.value_tokens import cut_values, fold_text
from toolmark.language.written_amounts import (
    find_amounts,
    money_forms,
    percent_forms,
    quantity_forms,
)
from toolmark.language.written_dates import Day, date_forms, find_dates
from toolmark.language.written_names import find_person, person_forms, read_person
from toolmark.language.written_numbers import find_numbers, number_forms, plain_digits
from toolmark.language.written_places import place_forms, read_place, same_place
from toolmark.language.written_tables import convert_unit, units
from toolmark.language.written_times import find_times, time_forms

WHOLE = st.integers(-(10**14), 10**14).map(Fraction)
DECIMALS = st.decimals(-(10**6), 10**6, places=3).map(Fraction)
SHARES = st.sampled_from([Fraction(n, d) for d in (2, 3, 4, 5, 8, 10) for n in range(1, d)])


@given(st.one_of(WHOLE, DECIMALS, SHARES))
def test_a_number_is_read_from_all_its_forms(value: Fraction) -> None:
    for form in number_forms(value):
        tokens = cut_values(form)
        (found,) = find_numbers(tokens)
        assert (value in found.values, found.last) == (True, len(tokens)), form


@given(DECIMALS)
def test_digits_are_exact(value: Fraction) -> None:
    assert Fraction(plain_digits(abs(value))) == abs(value)


@pytest.mark.parametrize("unit", units())
@pytest.mark.parametrize("value", [Fraction(15), Fraction(5, 2)])
def test_a_quantity_is_read_from_all_its_forms(unit: str, value: Fraction) -> None:
    for form in quantity_forms(value, unit):
        tokens = cut_values(form)
        (found,) = find_amounts(tokens)
        assert value in found.values and unit in found.units, form
        assert found.last == len(tokens), form


@pytest.mark.parametrize("code", written_tables.currencies())
@pytest.mark.parametrize("value", [Fraction(15), Fraction(31, 2), Fraction(-1500)])
def test_money_is_read_from_all_its_forms(code: str, value: Fraction) -> None:
    for form in money_forms(value, code):
        tokens = cut_values(form)
        (found,) = find_amounts(tokens)
        assert value in found.values and code in found.currencies, form
        assert found.last == len(tokens), form


@given(st.integers(0, 1000).map(Fraction))
def test_per_cent_are_read_from_all_their_forms(value: Fraction) -> None:
    for form in percent_forms(value):
        (found,) = find_amounts(cut_values(form))
        assert found.is_percent and value in found.values, form


@given(st.dates(date(1100, 1, 1), date(2099, 12, 31)))
def test_a_date_is_read_from_all_its_forms(day: date) -> None:
    for form in date_forms(day):
        if len(form) == 8 and form.isdigit() and not 1900 <= day.year < 2100:
            continue  # eight digits are a date of these two centuries only
        tokens = cut_values(form)
        (found,) = find_dates(tokens)
        assert found.readings == (Day(day.year, day.month, day.day),), form
        assert found.last == len(tokens), form


@pytest.mark.parametrize("minute", range(0, 60, 5))
@pytest.mark.parametrize("hour", range(24))
def test_a_clock_time_is_read_from_all_its_forms(hour: int, minute: int) -> None:
    for form in time_forms(hour, minute):
        tokens = cut_values(form)
        (found,) = find_times(tokens)
        assert (found.seconds, found.last) == ((hour * 60 + minute) * 60, len(tokens)), form


@pytest.mark.parametrize(
    "name", ["John Ronald Reuel Tolkien", "José García", "Ada Lovelace", "Plato", "Anna Maria Sø"]
)
def test_a_name_is_found_in_all_its_forms(name: str) -> None:
    for form in person_forms(name):
        assert list(find_person(cut_values(f"it was {form} who wrote"), read_person(name))), form


@pytest.mark.parametrize("name", [*written_tables.place_names().cities, "Germany", "Texas"])
def test_a_place_is_known_by_all_its_forms(name: str) -> None:
    for form in place_forms(name):
        assert same_place(read_place(form), read_place(name)), form


@given(st.sampled_from(sorted(units())), st.sampled_from(sorted(units())), WHOLE)
def test_conversion_there_and_back_is_exact(unit: str, other: str, value: Fraction) -> None:
    there = convert_unit(value, unit, other)
    assert (there is None) == (units()[unit].dimension != units()[other].dimension)
    assert there is None or convert_unit(there, other, unit) == value


@pytest.mark.parametrize(
    ("value", "unit", "other", "wanted"),
    [
        ("15", "kilometer", "mile", "9.3205679"),
        ("100", "celsius", "fahrenheit", "212"),
        ("1", "pound", "gram", "453.59237"),
        ("36", "kilometer per hour", "meter per second", "10"),
        ("1", "kibibyte", "byte", "1024"),
        ("2", "year", "month", "24"),
    ],
)
def test_conversions_have_known_results(value: str, unit: str, other: str, wanted: str) -> None:
    found = convert_unit(Fraction(value), unit, other)
    assert found is not None
    assert abs(found - Fraction(wanted)) < Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234.5", ["1234.5"]),
        ("1.234.567,8", ["1234567.8"]),
        ("3,5", ["3.5"]),
        ("1'000", ["1000"]),
        ("12 500", ["12500"]),
        ("1.5 × 10^3", ["1500"]),
        ("2e-3", ["0.002"]),
        ("10⁻²", ["0.01"]),
        ("2½", ["2.5"]),
        ("1 1/2", ["1.5"]),
        ("two and a half", ["2.5"]),
        ("half a dozen", ["6"]),
        ("three point one four", ["3.14"]),
        ("twenty-first", ["21"]),
        ("a hundred and five", ["105"]),
        ("nineteen ninety-five", ["1995"]),
        ("7k", ["7000"]),
        ("A15", []),
        ("v1.2.3", []),
        ("the one that", []),
        ("1,2,3", []),
    ],
)
def test_numbers_of_other_forms(text: str, values: list[str]) -> None:
    found = [number.values[0] for number in find_numbers(cut_values(text))]
    assert found == [Fraction(value) for value in values]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("5 feet 11 inches", Fraction(71, 12), "foot"),
        ("2 hours and 30 minutes", Fraction(5, 2), "hour"),
        ("2h30m", Fraction(5, 2), "hour"),
        ("half an hour", Fraction(1, 2), "hour"),
        ("an hour", Fraction(1), "hour"),
    ],
)
def test_quantities_of_several_units(text: str, value: Fraction, unit: str) -> None:
    (found,) = find_amounts(cut_values(text))
    assert (found.values[0], unit in found.units) == (value, True)


def test_the_order_of_numbers_in_a_date_is_given() -> None:
    tokens = cut_values("3/4/2024")
    readings = [next(find_dates(tokens, day_first=order)).readings for order in (False, True, None)]
    assert readings[0] == (Day(2024, 3, 4),)
    assert readings[1] == (Day(2024, 4, 3),)
    assert {*readings[2]} == {*readings[0], *readings[1]}


@given(st.dates(date(1990, 1, 1), date(2030, 1, 1)), st.integers(1, 400))
def test_a_date_is_not_read_as_another_one(day: date, shift: int) -> None:
    other = day + timedelta(days=shift)
    for form in date_forms(day):
        found = next(find_dates(cut_values(form)))
        assert Day(other.year, other.month, other.day) not in found.readings


@given(st.text())
def test_tokens_are_the_text_without_its_spaces(text: str) -> None:
    tokens = cut_values(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert all(token.folded == fold_text(token.text) for token in tokens)


@pytest.mark.parametrize("word", ["the ", "Monday ", "one ", "half ", "5 ", "a ", "and ", "$"])
def test_repeated_words_are_read_without_recursion(word: str) -> None:
    tokens = cut_values(word * 5000)
    for find in (find_dates, find_times, find_amounts):
        assert len(list(find(tokens))) <= len(tokens)
