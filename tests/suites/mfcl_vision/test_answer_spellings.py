"""A right answer counts however it is usually written, and no other one does."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.suites.mfcl_vision import answer_spellings, final_answer


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        ("14 March 1987", "", "March 14, 1987"),
        ("14 March 1987", "", "1987-03-14"),
        ("14 March 1987", "", "14th of March 1987"),
        ("1 May 1990", "", "May 1st, 1990"),
        ("3 September 2001", "", "3 Sep 2001"),
        ("12 June 1999", "", "12th June 1999"),
        ("3,215", "seats", "3215"),
        ("3,215", "seats", "3 215"),
        ("3,215", "seats", "3,215 seats"),
        ("48210", "", "48,210"),
        ("21:42", "", "9:42 pm"),
        ("5:07", "", "05:07"),
        ("12:05", "", "12:05 p.m."),
        ("6:42 a.m.", "", "06:42"),
        ("The Velmar Foxes", "", "Velmar Foxes"),
        ("a copper kettle", "", "copper kettle"),
    ],
)
def test_usual_ways_to_write_an_answer_are_accepted(value: str, unit: str, said: str) -> None:
    known = {
        final_answer.normalise_text(form)
        for form in answer_spellings.accepted_spellings(value, unit)
    }
    assert final_answer.normalise_text(said) in known


def test_an_article_is_added_only_where_the_page_has_it() -> None:
    owner = answer_spellings.accepted_spellings(
        "Walter Rirtumo", sentence="The owner is Walter Rirtumo."
    )
    assert owner == ("Walter Rirtumo",)
    league = answer_spellings.accepted_spellings(
        "Velmar Union", sentence="It plays in the Velmar Union."
    )
    assert league == ("Velmar Union", "the Velmar Union")


@given(
    st.dates(date(1300, 1, 1), date(2030, 12, 31)), st.dates(date(1300, 1, 1), date(2030, 12, 31))
)
def test_no_way_to_write_a_date_is_one_of_another(one: date, two: date) -> None:
    ways = [
        {
            final_answer.normalise_text(form)
            for form in answer_spellings.accepted_spellings(
                f"{d.day} {answer_spellings.MONTHS[d.month - 1]} {d.year}"
            )
        }
        for d in (one, two)
    ]
    assert (one == two) == bool(ways[0] & ways[1])


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_no_way_to_write_a_number_is_one_of_another(one: int, two: int) -> None:
    ways = [
        {
            final_answer.normalise_text(form)
            for form in answer_spellings.accepted_spellings(f"{n:,}", "seats")
        }
        for n in (one, two)
    ]
    assert (one == two) == bool(ways[0] & ways[1])


def test_the_value_itself_comes_first() -> None:
    assert answer_spellings.accepted_spellings("3,215", "seats")[0] == "3,215"
