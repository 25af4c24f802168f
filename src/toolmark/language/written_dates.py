"""Dates as they are written: in numbers, with the names of months, in words.

`find_dates` reads them from a text, `date_forms` writes them.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import NamedTuple

from toolmark.language import figure_readings
from toolmark.language.form_matching import FormTable
from toolmark.language.number_phrases import ordinal_numbers, small_numbers
from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.value_words import MONTH_NAMES, WEEKDAY_NAMES
from toolmark.language.written_numbers import read_number
from toolmark.language.written_tables import calendar_words, month_forms, weekday_forms

FIRST_YEAR, LAST_YEAR = 1000, 2999
_PIVOT = 69  # of a year in two digits: 70 is 1970
_SEPARATORS = frozenset("-/.‐‑–")
ROMAN_MONTHS = {
    roman: n
    for n, roman in enumerate("I II III IV V VI VII VIII IX X XI XII".split(), 1)  # noqa: SIM905
}
_ALSO_WORDS = frozenset({"may", "march", "mar", "dec", "sep", "jan", "jun"})


class Day(NamedTuple):
    """A date; what is not stated is None."""

    year: int | None
    month: int
    day: int | None


class WrittenDate(NamedTuple):
    """A date of a text.

    - `readings`: by the order of its numbers; one where that is clear or given.
    - `first`, `last`: its tokens, `last` exclusive.
    - `weekday`: what is stated before it, Monday 0, else None.
    - `is_bare`: whether it is two numbers with a slash, which may be a share.
    """

    readings: tuple[Day, ...]
    first: int
    last: int
    is_bare: bool = False
    weekday: int | None = None


def find_dates(
    tokens: Sequence[ValueToken], *, day_first: bool | None = False
) -> Iterator[WrittenDate]:
    """Yield the dates of a text in order.

    `day_first` is the order of numbers such as 3/4/2024 where both are possible; None gives both
    readings. Numbers joined by points begin with the day.
    """
    at = 0
    while at < len(tokens):
        found = _read_date(tokens, at, day_first)
        if found is not None:
            yield found
        at = found.last if found is not None else at + 1


def _read_date(tokens: Sequence[ValueToken], at: int, day_first: bool | None) -> WrittenDate | None:
    start = _skip_lead(tokens, at)
    if start >= len(tokens):
        return None
    found = _read_numeric(tokens, start, day_first) if tokens[start].kind == "number" else None
    found = (
        found
        or _read_month_first(tokens, start)
        or _read_day_first(tokens, start)
        or _read_named_day(tokens, start)
    )
    if found is None or start == at:
        return found
    return found._replace(first=at, weekday=weekday_forms().get(text_at(tokens, at)))


def _skip_lead(tokens: Sequence[ValueToken], at: int) -> int:
    """Return where a date begins after its weekday and "the": Tuesday the 5th of March."""
    i = at
    if text_at(tokens, i) in weekday_forms():
        i = _skip_word(tokens, _skip_word(tokens, i + 1, {"."}), {","})
    return _skip_word(tokens, i, {"the"})


def _read_named_day(tokens: Sequence[ValueToken], at: int) -> WrittenDate | None:
    """Read Christmas Day 2024."""
    named = _named_days().find_at(tokens, at)
    if named is None:
        return None
    month, day = map(int, named.meaning.split("-"))
    year, last = _year_after(tokens, named.last)
    return _only(Day(year, month, day), at, last if year else named.last)


@cache
def _named_days() -> FormTable[str]:
    return FormTable(calendar_words().named_days)


def is_day(year: int | None, month: int, day: int | None) -> bool:
    """Return whether numbers are a day of the calendar; without a year, of a leap year."""
    if not 1 <= month <= 12 or (year is not None and not FIRST_YEAR <= year <= LAST_YEAR):
        return False
    return day is None or 1 <= day <= monthrange(year or 2000, month)[1]


# --- numbers ----------------------------------------------------------------------------


def _read_numeric(
    tokens: Sequence[ValueToken], at: int, day_first: bool | None
) -> WrittenDate | None:
    if text_at(tokens, at + 1) == "年":
        return _read_east_asian(tokens, at)
    parts, last, mark = _joined_numbers(tokens, at)
    if not parts or (is_glued(tokens, at) and tokens[at - 1].kind != "sign"):
        return None
    if len(parts) == 1:
        return _read_compact(parts[0], at, last)
    numbers = [int(part) for part in parts]
    if len(parts) == 2:
        return _read_two_numbers(parts, numbers, mark, at, last, day_first)
    if len(parts) != 3 or any(len(part) > 4 for part in parts):
        return None
    if len(parts[0]) == 4:
        return _only(Day(numbers[0], numbers[1], numbers[2]), at, last)
    if len(parts[2]) not in (2, 4) or len(parts[0]) > 2 or len(parts[1]) > 2:
        return None
    year = numbers[2] if len(parts[2]) == 4 else _full_year(numbers[2])
    if mark == ".":
        return _only(Day(year, numbers[1], numbers[0]), at, last)
    return _by_order(year, numbers[0], numbers[1], at, last, day_first)


def _read_east_asian(tokens: Sequence[ValueToken], at: int) -> WrittenDate | None:
    """Read 2024年3月5日."""
    year, month, day = (text_at(tokens, at + n) for n in (0, 2, 4))
    signs = text_at(tokens, at + 3) == "月" and text_at(tokens, at + 5).startswith("日")
    if not signs or not all(n.isdecimal() and len(n) < 5 for n in (year, month, day)):
        return None
    return _only(Day(int(year), int(month), int(day)), at, at + 6)


def _joined_numbers(tokens: Sequence[ValueToken], at: int) -> tuple[list[str], int, str]:
    """Return the numbers that one separator joins, at most three, their end, the separator."""
    text = tokens[at].text
    if "." in text:
        parts = text.split(".")
        plain = len(parts) == 3 and all(part.isdigit() for part in parts)
        return (parts, at + 1, ".") if plain else ([], at, "")
    parts, mark = [text], ""
    if not text.isdigit():
        return [], at, ""
    i = at + 1
    while len(parts) < 4 and is_glued(tokens, i) and is_glued(tokens, i + 1):
        if tokens[i].text not in _SEPARATORS or (mark and tokens[i].text != mark):
            break
        if not tokens[i + 1].text.isdigit():
            break
        mark = tokens[i].text
        parts.append(tokens[i + 1].text)
        i += 2
    return parts, i, mark


def _read_compact(digits: str, at: int, last: int) -> WrittenDate | None:
    if len(digits) != 8 or not 1900 <= int(digits[:4]) < 2100:
        return None
    return _only(Day(int(digits[:4]), int(digits[4:6]), int(digits[6:])), at, last)


def _read_two_numbers(
    parts: Sequence[str], numbers: Sequence[int], mark: str, at: int, last: int,
    day_first: bool | None,
) -> WrittenDate | None:  # fmt: skip
    """Read 2024-03, 03/2024 and 3/5."""
    if len(parts[0]) == 4 and len(parts[1]) == 2 and 1500 <= numbers[0] < 2100 and mark == "-":
        return _only(Day(numbers[0], numbers[1], None), at, last)
    if len(parts[1]) == 4 and len(parts[0]) < 3 and mark == "/":
        return _only(Day(numbers[1], numbers[0], None), at, last)
    if mark == "/" and max(map(len, parts)) < 3:
        found = _by_order(None, numbers[0], numbers[1], at, last, day_first)
        return found._replace(is_bare=True) if found else None
    return None


def _by_order(
    year: int | None, one: int, two: int, at: int, last: int, day_first: bool | None
) -> WrittenDate | None:
    days = [Day(year, two, one), Day(year, one, two)]  # the day first, the month first
    possible = [day for day in days if is_day(*day)]
    if len(possible) == 2 and day_first is not None:
        possible = [days[0] if day_first else days[1]]
    return WrittenDate(tuple(dict.fromkeys(possible)), at, last) if possible else None


def _only(day: Day, at: int, last: int) -> WrittenDate | None:
    return WrittenDate((day,), at, last) if is_day(*day) else None


def _full_year(two_digits: int) -> int:
    return two_digits + (2000 if two_digits <= _PIVOT else 1900)


# --- names of months --------------------------------------------------------------------


def _read_month_first(tokens: Sequence[ValueToken], at: int) -> WrittenDate | None:
    """Read March 5th, 2024, March the fifth and March 2024."""
    month = _month_at(tokens, at)
    if not month:
        return None
    i = _skip_word(tokens, at + 1, {".", "-", ","}) if text_at(tokens, at + 1) != "," else at + 1
    after_the = _skip_word(tokens, i, {"the"})
    found = _day_at(tokens, after_the)
    if found:
        year, last = _year_after(tokens, found[1])
        return _only(Day(year, month, found[0]), at, last)
    year, last = _year_after(tokens, _skip_word(tokens, i, {"of"}))
    return _only(Day(year, month, None), at, last) if year else None


def _read_day_first(tokens: Sequence[ValueToken], at: int) -> WrittenDate | None:
    """Read 5 March 2024, the 5th of March and 5-Mar-24."""
    found = _day_at(tokens, at)
    if not found:
        return None
    i = _skip_word(tokens, found[1], {"of", "-", ".", "/", "day"})
    i = _skip_word(tokens, i, {"of"})
    month = _month_at(tokens, i, after_day=True)
    if not month:
        return None
    year, last = _year_after(tokens, _skip_word(tokens, i + 1, {".", "-", "/"}))
    return _only(Day(year, month, found[0]), at, last if year else i + 1)


def _month_at(tokens: Sequence[ValueToken], at: int, *, after_day: bool = False) -> int:
    """Return the number of the month at a token, 0 for none; small "may" and "march" are verbs."""
    word = text_at(tokens, at)
    month = month_forms().get(word, 0)
    if not month and after_day and is_glued(tokens, at) and is_glued(tokens, at + 1):
        return ROMAN_MONTHS.get(tokens[at].text, 0)
    if month and word in _ALSO_WORDS and not after_day and tokens[at].text.islower():
        day = _day_at(tokens, _skip_word(tokens, at + 1, {"the"}))
        return month if day and _year_after(tokens, day[1])[0] else 0
    return month


def _day_at(tokens: Sequence[ValueToken], at: int) -> tuple[int, int] | None:
    """Return the day of the month at a token, and where it ends."""
    if at >= len(tokens):
        return None
    if tokens[at].kind == "number":
        text = tokens[at].text
        if not text.isdigit() or len(text) > 2 or not 1 <= int(text) <= 31:
            return None
        ordinal = is_glued(tokens, at + 1) and text_at(tokens, at + 1) in _ENDS
        return int(text), at + 1 + ordinal
    if text_at(tokens, at) == "second":
        return 2, at + 1
    small = small_numbers().get(text_at(tokens, at))
    if small is not None:
        return _day_in_words(tokens, at, small)
    found = read_number(tokens, at) if tokens[at].kind == "word" else None
    if found is None or not found.is_ordinal or found.values[0] > 31:
        return None
    return int(found.values[0]), found.last


def _day_in_words(tokens: Sequence[ValueToken], at: int, small: int) -> tuple[int, int] | None:
    """Return a day from its first word on; a year may follow at once: may five twenty thirty."""
    last = at + 1
    if small in (20, 30):
        last += text_at(tokens, last) == "-"
        rank = ordinal_numbers().get(text_at(tokens, last), 0)
        one = small_numbers().get(text_at(tokens, last), rank)
        year_begins = text_at(tokens, last + 1) in {"thousand", "hundred"}
        if 0 < one < 10 and not year_begins:
            small, last = small + one, last + 1
    return (small, last) if 1 <= small <= 31 else None


_ENDS = frozenset({"st", "nd", "rd", "th"})


def _year_after(tokens: Sequence[ValueToken], at: int) -> tuple[int | None, int]:
    """Return the year at a token, after a comma or "of", and where the date ends."""
    start = _skip_word(tokens, _skip_word(tokens, at, {","}), {"of", "'", "’"})
    if start >= len(tokens):
        return None, at
    token = tokens[start]
    if token.kind == "number":
        if token.text.isdigit() and len(token.text) == 4 and not _begins_time(tokens, start):
            return int(token.text), start + 1
        short = token.text.isdigit() and len(token.text) == 2
        if short and text_at(tokens, start - 1) in {"'", "’", "-", "/"}:
            return _full_year(int(token.text)), start + 1
        return None, at
    found = read_number(tokens, start) if token.kind == "word" else None
    value = found.values[0] if found is not None else 0
    if found is not None and FIRST_YEAR <= value <= LAST_YEAR and not found.is_ordinal:
        return int(value), found.last
    return None, at


def _begins_time(tokens: Sequence[ValueToken], at: int) -> bool:
    return text_at(tokens, at + 1) in {"hours", "hrs", ":"}


def _skip_word(tokens: Sequence[ValueToken], at: int, words: set[str]) -> int:
    return at + (text_at(tokens, at) in words)


# --- writing ----------------------------------------------------------------------------


def date_forms(day: date) -> list[str]:
    """Return the ways to write a date that need no order of day and month to be read."""
    name = MONTH_NAMES[day.month - 1].capitalize()
    short = [form.capitalize() for form, n in month_forms().items() if n == day.month]
    rank = figure_readings.ordinal_digits(day.day)
    weekday = WEEKDAY_NAMES[day.weekday()].capitalize()
    year, number = day.year, day.day
    forms = [
        day.isoformat(), f"{year}/{day.month:02}/{number:02}", day.strftime("%Y%m%d"),
        f"{number}.{day.month}.{year}", f"{number:02}.{day.month:02}.{year}",
        f"{weekday}, {name} {number}, {year}", f"{name} the {rank}, {year}",
        f"the {rank} of {name} {year}", f"{name} {rank} {year}", f"{rank} {name}, {year}",
    ]  # fmt: skip
    for month in short:
        forms += [
            f"{month} {number}, {year}", f"{month}. {number}, {year}", f"{number} {month} {year}",
            f"{number}-{month}-{year}", f"{month} {number} {year}",
        ]  # fmt: skip
    return [*forms, *figure_readings.date_readings(year, day.month, number)]
