"""The ways in which a right answer may be written, so that none of them counts as wrong."""

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


def accepted(value: str, unit: str = "", told: str = "") -> tuple[str, ...]:
    """Return the value and the other ways to write it.

    `unit` is what a number counts; `told` is the sentence that tells the value: with "the" before
    it there, it is right with it.
    """
    return tuple(dict.fromkeys((value, *_others(value, unit, told))))


def _others(value: str, unit: str, told: str) -> Iterator[str]:
    if date := _DATE.fullmatch(value):
        yield from _dates(int(date[1]), date[2], date[3])
    elif time := _TIME.fullmatch(value):
        yield from _times(int(time[1]), time[2], time[3] or "")
    elif _NUMBER.fullmatch(value):
        yield from _numbers(int(value.replace(",", "")), unit)
    elif value.lower().startswith("the "):
        yield value[4:]
    elif value.lower().startswith(("a ", "an ")):
        yield value.split(" ", 1)[1]
    elif (named := f"the {value}") in told:
        yield named


def _dates(day: int, month: str, year: str) -> Iterator[str]:
    number = MONTHS.index(month) + 1
    yield f"{year}-{number:02}-{day:02}"
    for named in (month, month[:3]):
        for which in (str(day), f"{day:02}", f"{day}{_ordinal(day)}"):
            yield f"{which} {named} {year}"
            yield f"{named} {which}, {year}"
        yield f"{day}{_ordinal(day)} of {named} {year}"
        yield f"the {day}{_ordinal(day)} of {named} {year}"


def _ordinal(day: int) -> str:
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _times(hour: int, minute: str, half: str) -> Iterator[str]:
    """Go through the ways of the 24-hour and of the 12-hour clock."""
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    for shown in (f"{hour}", f"{hour:02}"):
        yield f"{shown}:{minute}"
        yield f"{shown}.{minute}"
    twelve, part = (hour - 1) % 12 + 1, "pm" if hour >= 12 else "am"
    for said in (part, f" {part}", f" {part[0]}.m."):
        yield f"{twelve}:{minute}{said}"
        yield f"{twelve:02}:{minute}{said}"
        yield f"{twelve}.{minute}{said}"


def _numbers(number: int, unit: str) -> Iterator[str]:
    threes = f"{number:,}"
    for digits in (threes, str(number), threes.replace(",", " ")):
        yield digits
        if unit:
            yield f"{digits} {unit}"
