"""Accepted spellings of an answer, so that no correct spelling counts as wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DATE = re.compile(rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})")
_TIME = re.compile(r"(\d{1,2})[:.](\d{2})(?: ([ap])\.?m\.?)?")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")


def accepted_spellings(value: str, unit: str = "", sentence: str = "") -> tuple[str, ...]:
    """Return the value and its other spellings.

    `unit` is what a number counts. `sentence` is the sentence with the value: if "the" comes before
    the value there, the value with "the" is accepted too.
    """
    return tuple(dict.fromkeys((value, *_other_spellings(value, unit, sentence))))


def _other_spellings(value: str, unit: str, sentence: str) -> Iterator[str]:
    if date := _DATE.fullmatch(value):
        yield from _date_spellings(int(date[1]), date[2], date[3])
    elif time := _TIME.fullmatch(value):
        yield from _time_spellings(int(time[1]), time[2], time[3] or "")
    elif _NUMBER.fullmatch(value):
        yield from _number_spellings(int(value.replace(",", "")), unit)
    elif value.lower().startswith("the "):
        yield value[4:]
    elif value.lower().startswith(("a ", "an ")):
        yield value.split(" ", 1)[1]
    elif (with_the := f"the {value}") in sentence:
        yield with_the


def _date_spellings(day: int, month: str, year: str) -> Iterator[str]:
    number = MONTHS.index(month) + 1
    yield f"{year}-{number:02}-{day:02}"
    for month_name in (month, month[:3]):
        for day_text in (str(day), f"{day:02}", f"{day}{_ordinal_suffix(day)}"):
            yield f"{day_text} {month_name} {year}"
            yield f"{month_name} {day_text}, {year}"
        yield f"{day}{_ordinal_suffix(day)} of {month_name} {year}"
        yield f"the {day}{_ordinal_suffix(day)} of {month_name} {year}"


def _ordinal_suffix(day: int) -> str:
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _time_spellings(hour: int, minute: str, meridiem: str) -> Iterator[str]:
    """Yield the spellings of a time in the 24-hour and the 12-hour clock."""
    if meridiem:
        hour = hour % 12 + (12 if meridiem == "p" else 0)
    for hour_text in (f"{hour}", f"{hour:02}"):
        yield f"{hour_text}:{minute}"
        yield f"{hour_text}.{minute}"
    twelve, part = (hour - 1) % 12 + 1, "pm" if hour >= 12 else "am"
    for suffix in (part, f" {part}", f" {part[0]}.m."):
        yield f"{twelve}:{minute}{suffix}"
        yield f"{twelve:02}:{minute}{suffix}"
        yield f"{twelve}.{minute}{suffix}"


def _number_spellings(number: int, unit: str) -> Iterator[str]:
    threes = f"{number:,}"
    for digits in (threes, str(number), threes.replace(",", " ")):
        yield digits
        if unit:
            yield f"{digits} {unit}"
