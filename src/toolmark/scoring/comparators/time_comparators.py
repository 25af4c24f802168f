"""Dates and clock times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from toolmark.core.errors import UsageError
from toolmark.language.value_tokens import ValueToken, cut_values, plain_text
from toolmark.language.written_dates import Day, WrittenDate, find_dates
from toolmark.language.written_times import WrittenTime, find_times
from toolmark.scoring.comparators.answer_statements import judge_answer, judge_whole, trim_signs
from toolmark.scoring.comparators.comparison import (
    Comparator,
    Comparison,
    show_value,
    visible_text,
)
from toolmark.scoring.comparators.statement_guards import AnswerText, Candidate

_SECONDS_A_DAY = 24 * 3600
_DAY_FIRST = {"unknown": None, "month_first": False, "day_first": True, "either": None}


class Date(Comparator, frozen=True, kw_only=True):
    """A day, or a month of a year.

    - `order`: how numbers such as 3/4/2024 are read. Of an unknown order they match no date, and
      with "either" both readings count. 31/1/2024, 3/3/2024 and 3.4.2024 have one reading.
    - `year_optional`: whether a date without a year matches one with a year.
    """

    kind: ClassVar[str] = "date"

    order: Literal["unknown", "month_first", "day_first", "either"] = "unknown"
    year_optional: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a text that begins with a date; a clock time may follow it."""
        day = self._expected_day(expected)
        if not isinstance(given, str):
            return Comparison(False, f"the value is of type {type(given).__name__}, no date")
        tokens = _without_time(cut_values(plain_text(given)))
        return judge_whole(
            tokens, AnswerText(tokens, self._candidates(tokens, day)), show_value(expected)
        )

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the dates that an answer states."""
        day, text = self._expected_day(expected), visible_text(text)
        tokens = cut_values(text)
        answer = AnswerText(tokens, self._candidates(tokens, day), is_time=True)
        return judge_answer(text, answer, show_value(expected))

    def _candidates(self, tokens: Sequence[ValueToken], day: Day) -> list[Candidate]:
        return [
            Candidate(found.first, found.last, self._matches(found, day))
            for found in find_dates(tokens, day_first=_DAY_FIRST[self.order])
        ]

    def _matches(self, found: WrittenDate, expected: Day) -> bool:
        same = [self._same(reading, expected) for reading in found.readings]
        matches = all(same) if self.order == "unknown" else any(same)
        return matches and _is_weekday_right(found.weekday, expected)

    def _same(self, found: Day, expected: Day) -> bool:
        if (found.month, found.day) != (expected.month, expected.day):
            return False
        if found.year is None and expected.year is not None:
            return self.year_optional
        return found.year == expected.year or expected.year is None

    def _expected_day(self, expected: Any) -> Day:
        if isinstance(expected, str):
            tokens = _without_time(cut_values(expected))
            start, end = trim_signs(tokens)
            for found in find_dates(tokens, day_first=_DAY_FIRST[self.order]):
                if found.first <= start and found.last >= end:
                    return found.readings[0]
        raise UsageError(
            f"the comparator date needs an expected date, got {show_value(expected)!r}; "
            "next: write it as 2024-03-05"
        )


def _is_weekday_right(weekday: int | None, day: Day) -> bool:
    """Return whether the weekday before a date is not contradictory."""
    if weekday is None or day.year is None or day.day is None:
        return True
    return date(day.year, day.month, day.day).weekday() == weekday


def _without_time(tokens: list[ValueToken]) -> list[ValueToken]:
    """Return the tokens of a date without the time after it."""
    for at in range(1, len(tokens)):
        if tokens[at].folded == "t" and tokens[at].glued:
            return tokens[:at]
    times = [time for time in find_times(tokens) if time.last == len(tokens) and time.first > 0]
    end = times[0].first if times else len(tokens)
    if times and end > 0 and tokens[end - 1].text in {",", "at"}:
        end -= 1
    return [token._replace(glued=token.glued and n > 0) for n, token in enumerate(tokens[:end])]


class Time(Comparator, frozen=True, kw_only=True):
    """A clock time.

    - `tolerance_minutes`: how far a time may be from the expected one.
    - `half_optional`: whether 2:30 without am or pm matches 14:30.
    """

    kind: ClassVar[str] = "time"

    tolerance_minutes: Annotated[float, Meta(ge=0)] = 0.0
    half_optional: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a text that is a clock time, or a date with one."""
        time = _expected_time(expected)
        if not isinstance(given, str):
            return Comparison(False, f"the value is of type {type(given).__name__}, no time")
        tokens = _without_date(cut_values(plain_text(given)))
        candidates = list(self._candidates(tokens, time, whole=True))
        return judge_whole(tokens, AnswerText(tokens, candidates), show_value(expected))

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the clock times that an answer states."""
        time, text = _expected_time(expected), visible_text(text)
        tokens = cut_values(text)
        whole = len(tokens) < 5
        candidates = list(self._candidates(tokens, time, whole=whole))
        answer = AnswerText(tokens, candidates, is_time=True)
        return judge_answer(text, answer, show_value(expected))

    def _candidates(
        self, tokens: Sequence[ValueToken], time: WrittenTime, *, whole: bool
    ) -> Iterator[Candidate]:
        for found in find_times(tokens, whole=whole):
            yield Candidate(found.first, found.last, self._matches(found, time))

    def _matches(self, found: WrittenTime, expected: WrittenTime) -> bool:
        shift = 0
        if found.zone is not None and expected.zone is not None:
            shift = 60 * (expected.zone - found.zone)
        gaps = [_distance(found.seconds + shift, expected.seconds)]
        if self.half_optional and not found.is_half_known:
            gaps.append(_distance(found.seconds + shift + _SECONDS_A_DAY // 2, expected.seconds))
        return min(gaps) <= 60 * self.tolerance_minutes


def _distance(one: int, two: int) -> int:
    """Return how many seconds two times are apart, the short way round the clock."""
    gap = (one - two) % _SECONDS_A_DAY
    return min(gap, _SECONDS_A_DAY - gap)


def _expected_time(expected: Any) -> WrittenTime:
    if isinstance(expected, str):
        tokens = _without_date(cut_values(expected))
        start, end = trim_signs(tokens)
        for found in find_times(tokens, whole=True):
            if found.first <= start and found.last >= end:
                return found
    raise UsageError(
        f"the comparator time needs an expected clock time, got {show_value(expected)!r}; "
        "next: write it as 14:30"
    )


def _without_date(tokens: list[ValueToken]) -> list[ValueToken]:
    """Return the tokens of a time without the date, and the T or "at", before it."""
    found = next(find_dates(tokens), None)
    if found is None or found.first or found.is_bare:
        return tokens
    start = found.last
    while start < len(tokens) and tokens[start].folded in {"t", ",", "at"}:
        start += 1
    rest = tokens[start:]
    return [rest[0]._replace(glued=False), *rest[1:]] if rest else tokens
