"""Numbers that are said can be read back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from toolmark.language import figure_readings, number_words


def _words(said: str) -> list[str]:
    return re.split(r"[ -]", said.replace("o'clock", "oclock"))


@given(st.integers(0, 10**15 - 1))
def test_a_quantity_is_read_back(n: int) -> None:
    words = _words(number_words.cardinal_words(str(n)))
    assert number_words.parse_number_words(words, 0) == (str(n), len(words))


@given(st.from_regex(r"(0|[1-9][0-9]{0,8})\.[0-9]{1,6}", fullmatch=True))
def test_a_fraction_is_read_back(digits: str) -> None:
    words = _words(number_words.cardinal_words(digits))
    found = number_words.parse_number_words(words, 0)
    assert found is not None and float(found[0]) == float(digits) and found[1] == len(words)


@given(st.from_regex(r"[0-9]{2,40}", fullmatch=True))
def test_digits_one_by_one_keep_their_zeros(digits: str) -> None:
    words = _words(number_words.spell_digits(digits))
    assert number_words.parse_number_words(words, 0) == (digits, len(words))


def test_every_year_is_read_back() -> None:
    for year in range(1100, 2100):
        words = _words(number_words.year_words(year))
        assert number_words.parse_number_words(words, 0) == (str(year), len(words))


def test_every_place_in_a_row_is_read_back() -> None:
    for n in (n for n in range(1, 2000) if n % 100):
        words = _words(number_words.ordinal_words(n))
        assert number_words.parse_number_words(words, 0) == (
            figure_readings.ordinal_digits(n),
            len(words),
        )


def test_every_minute_of_the_day_is_read_back() -> None:
    for hour in range(24):
        for minute in range(1, 60):
            for text in (f"{hour}:{minute:02}", f"{hour:02}:{minute:02}"):
                words = _words(number_words.clock_words(text, am_pm_follows=False))
                found = number_words.parse_number_words(words, 0)
                assert found is not None and found[1] == len(words), text
                assert int(found[0]) == hour * 100 + minute, text


def test_what_is_no_number_is_left() -> None:
    assert number_words.parse_number_words(["oh", "no"], 0) is None
    assert number_words.parse_number_words(["table"], 0) is None
