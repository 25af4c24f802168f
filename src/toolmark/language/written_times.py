"""Clock times as they are written: 14:30, 2:30 pm, half past two, noon.

`find_times` reads them from a text, `time_forms` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolmark.language import figure_readings
from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.written_numbers import read_number
from toolmark.language.written_tables import calendar_words

MINUTES_A_DAY = 24 * 60
_PAST = frozenset({"past", "after"})
_TO = frozenset({"to", "before", "till"})


class WrittenTime(NamedTuple):
    """A clock time of a text.

    - `seconds`: after midnight, as a clock of 24 hours shows it.
    - `is_half_known`: False for 2:30 without am or pm, which may be in the afternoon too.
    - `zone`: minutes east of Greenwich, None where none is stated.
    - `first`, `last`: its tokens, `last` exclusive.
    """

    seconds: int
    first: int
    last: int
    is_half_known: bool = True
    zone: int | None = None


def find_times(tokens: Sequence[ValueToken], *, whole: bool = False) -> Iterator[WrittenTime]:
    """Yield the clock times of a text in order.

    `whole`: the text is one value, so that also "two thirty" is a time.
    """
    at = 0
    while at < len(tokens):
        found = _read_time(tokens, at, whole)
        if found is not None:
            found = _read_zone(tokens, found)
            yield found
        at = found.last if found is not None else at + 1


class _Clock(NamedTuple):
    hour: int
    minute: int
    last: int
    second: int = 0
    needs_half: bool = False  # digits or words that are a time only with am or pm after them
    is_padded: bool = False


def _read_time(tokens: Sequence[ValueToken], at: int, whole: bool) -> WrittenTime | None:
    word = text_at(tokens, at)
    named = calendar_words().named_times.get(word)
    if named is not None:
        return WrittenTime(named * 60, at, at + 1)
    clock = _read_past(tokens, at) or _read_digits(tokens, at) or _read_words(tokens, at)
    if clock is None or (is_glued(tokens, at) and tokens[at - 1].folded not in _TIME_LEADS):
        return None
    return _to_written_time(tokens, at, clock, whole)


_TIME_LEADS = frozenset("t(*`\"'[~@=—–-“‘>|,:")


def _to_written_time(
    tokens: Sequence[ValueToken], at: int, clock: _Clock, whole: bool
) -> WrittenTime | None:
    """Return the time of a clock reading, by the half of the day that follows it."""
    half, last = _read_half(tokens, clock.last)
    noon = calendar_words().named_times.get(text_at(tokens, clock.last))
    if noon is not None and clock.hour == 12 and not clock.minute:
        return WrittenTime(noon * 60, at, clock.last + 1)
    if not half and clock.needs_half and not whole:
        return None
    if clock.hour > 24 or clock.minute > 59 or (half in {"am", "pm"} and not clock.hour):
        return None
    hour = clock.hour
    if half in {"am", "pm", "night"} and hour <= 12:
        hour = _hour_of_half(hour, half)
    seconds = (hour * 60 + clock.minute) * 60 + clock.second
    known = bool(half) or clock.hour > 12 or clock.hour == 0 or clock.is_padded
    return WrittenTime(seconds % (MINUTES_A_DAY * 60), at, last, is_half_known=known)


def _hour_of_half(hour: int, half: str) -> int:
    if half == "night":
        return hour % 12 + (12 if 5 < hour < 12 else 0)
    return hour % 12 + (12 if half == "pm" else 0)


def _read_half(tokens: Sequence[ValueToken], at: int) -> tuple[str, int]:
    """Return am, pm, night or 24 (hours, as with Uhr), "" for none, and where it ends."""
    i = at + (text_at(tokens, at) == "o'clock")
    word = text_at(tokens, i)
    if word == "uhr":
        return "24", i + 1
    if word in {"am", "pm"}:
        return word, i + 1
    if _is_dotted_half(tokens, i):
        dot = text_at(tokens, i + 3) == "." and is_glued(tokens, i + 3)
        return f"{word}m", i + 3 + dot
    lead = i + (word == ",")
    if lead > i and (text_at(tokens, lead) in {"am", "pm"} or _is_dotted_half(tokens, lead)):
        return _read_half(tokens, lead)
    lead += text_at(tokens, lead) in {"in", "at", "this", "that"}
    lead += lead > i and text_at(tokens, lead) == "the"
    lead += lead > i and text_at(tokens, lead) in calendar_words().parts_of_a_day_part
    part = text_at(tokens, lead)
    if part in calendar_words().day_parts and (lead > i or part == "tonight"):
        return ("night" if part == "night" else calendar_words().day_parts[part]), lead + 1
    return "", i


def _is_dotted_half(tokens: Sequence[ValueToken], at: int) -> bool:
    letters = text_at(tokens, at) in {"a", "p"} and text_at(tokens, at + 2) == "m"
    return letters and text_at(tokens, at + 1) == "."


def _read_digits(tokens: Sequence[ValueToken], at: int) -> _Clock | None:
    """Read 14:30, 14:30:15, 14.30, 14h30, 1430 hours, 2 (pm)."""
    text = text_at(tokens, at)
    if at >= len(tokens) or tokens[at].kind != "number":
        return None
    if text.replace(".", "", 1).isdigit() and "." in text:
        hour, _, minute = text.partition(".")
        if len(hour) < 3 and len(minute) == 2 and int(minute) < 60:
            return _Clock(int(hour), int(minute), at + 1, needs_half=True)
    if not text.isdigit() or not text.isascii():
        return None
    if len(text) == 4 and text_at(tokens, at + 1) in {"hours", "hrs", "h"}:
        return _Clock(int(text[:2]), int(text[2:]), at + 2, is_padded=True)
    if len(text) > 2:
        return None
    mark, after = text_at(tokens, at + 1), text_at(tokens, at + 2)
    joined = is_glued(tokens, at + 1) and is_glued(tokens, at + 2)
    if mark in {":", "h"} and joined and len(after) == 2 and after.isdigit():
        last, second = _read_seconds(tokens, at + 3)
        last += text_at(tokens, last) == "h"
        padded = text[0] == "0" or mark == "h"
        return _Clock(int(text), int(after), last, second, is_padded=padded)
    if text_at(tokens, at + 1) == "o'clock":
        return _Clock(int(text), 0, at + 1)
    return _Clock(int(text), 0, at + 1, needs_half=True)


def _read_seconds(tokens: Sequence[ValueToken], at: int) -> tuple[int, int]:
    """Return where a time ends, and its seconds; a fraction of them is dropped."""
    text = text_at(tokens, at + 1)
    if text_at(tokens, at) != ":" or not is_glued(tokens, at + 1) or len(text) < 2:
        return at, 0
    whole = text[:2]
    valid = whole.isdigit() and int(whole) < 60 and (len(text) == 2 or text[2] in ".,")
    return (at + 2, int(whole)) if valid else (at, 0)


def _read_past(tokens: Sequence[ValueToken], at: int) -> _Clock | None:
    """Read half past two, quarter to three, ten minutes past two."""
    i = at + (text_at(tokens, at) == "a")
    parts = calendar_words().parts_of_an_hour
    minute = parts.get(text_at(tokens, i))
    if minute is None:
        found = read_number(tokens, i)
        if found is None or found.values[0].denominator > 1 or not 0 < found.values[0] < 60:
            return None
        minute, i = int(found.values[0]), found.last - 1
        in_minutes = text_at(tokens, i + 1) in {"minutes", "minute", "mins", "min"}
        i += in_minutes
        in_digits = tokens[at].kind == "number" and not in_minutes
        if in_digits and text_at(tokens, i + 1) != "past":  # 3 to 4 pm is a range
            return None
    word = text_at(tokens, i + 1)
    if word not in _PAST | _TO:
        return None
    if (named := calendar_words().named_times.get(text_at(tokens, i + 2))) is not None:
        ranges = word in _TO and text_at(tokens, at - 1) in {"from", "between"}
        time = (named + (minute if word in _PAST else -minute)) % MINUTES_A_DAY
        return None if ranges else _Clock(time // 60, time % 60, i + 3, is_padded=True)
    hour, last = _hour_at(tokens, i + 2)
    if hour is None:
        return None
    # "10 minutes before 3" alone may be no time: 10 minutes before 3 eggs are added
    needs_half = tokens[at].kind == "number" and word != "past"
    if word in _PAST:
        return _Clock(hour, minute, last, needs_half=needs_half)
    return _Clock((hour - 1) % 12 or 12, 60 - minute, last, needs_half=needs_half)


def _hour_at(tokens: Sequence[ValueToken], at: int) -> tuple[int | None, int]:
    found = read_number(tokens, at)
    if found is None or found.values[0].denominator > 1 or not 1 <= found.values[0] <= 12:
        return None, at
    return int(found.values[0]), found.last


def _read_words(tokens: Sequence[ValueToken], at: int) -> _Clock | None:
    """Read two o'clock, two thirty and two oh five."""
    if at >= len(tokens) or tokens[at].kind != "word":
        return None
    found = read_number(tokens, at)
    if found is None or found.values[0].denominator > 1 or found.is_ordinal:
        return None
    value = int(found.values[0])
    if 1000 < value < 2400 and value % 100 < 60:  # twelve thirty reads as a year does
        return _Clock(value // 100, value % 100, found.last, needs_half=True)
    if not 0 <= value <= 24:
        return None
    if text_at(tokens, found.last) == "o'clock":
        return _Clock(value, 0, found.last)
    start = found.last + (text_at(tokens, found.last) == "oh")
    minute = read_number(tokens, start)
    if minute is not None and tokens[start].kind == "word":
        two = minute.values[0]
        if two.denominator == 1 and (10 <= two < 60 or (start > found.last and 0 < two < 10)):
            return _Clock(value, int(two), minute.last, needs_half=True)
    return _Clock(value, 0, found.last, needs_half=True)


def _read_zone(tokens: Sequence[ValueToken], found: WrittenTime) -> WrittenTime:
    at = found.last
    zone = calendar_words().zones.get(tokens[at].text) if at < len(tokens) else None
    last = at + (zone is not None)
    sign = {"+": 1, "-": -1, "−": -1}.get(text_at(tokens, last))
    hours = text_at(tokens, last + 1)
    if sign and is_glued(tokens, last) and is_glued(tokens, last + 1) and hours.isdigit():
        minutes = 0
        if len(hours) == 4:
            hours, minutes = hours[:2], int(hours[2:])
        elif text_at(tokens, last + 2) == ":" and text_at(tokens, last + 3).isdigit():
            minutes = int(text_at(tokens, last + 3)[:2])
            last += 2
        if len(hours) <= 2 and int(hours) < 15:
            offset = sign * (int(hours) * 60 + minutes)
            return found._replace(zone=(zone or 0) + offset, last=last + 2)
    return found._replace(zone=zone, last=at + 1) if zone is not None else found


# --- writing ----------------------------------------------------------------------------


def time_forms(hour: int, minute: int) -> list[str]:
    """Return the ways to write a clock time from which its half of the day can be read."""
    short, half = hour % 12 or 12, "pm" if hour >= 12 else "am"
    part = "morning" if hour < 12 else "afternoon" if hour < 18 else "evening"
    dotted = f"{half[0]}.m."
    forms = [
        f"{hour:02}:{minute:02}", f"{hour:02}:{minute:02}:00", f"{hour:02}h{minute:02}",
        f"{hour:02}{minute:02} hours", f"{short}:{minute:02} {half}", f"{short}:{minute:02}{half}",
        f"{short}:{minute:02} {half.upper()}", f"{short}:{minute:02} {dotted}",
        f"{short}.{minute:02} {half}", f"{short}:{minute:02} in the {part}",
    ]  # fmt: skip
    if not minute:
        forms += [f"{short} {half}", f"{short}{half}", f"{short} o'clock in the {part}"]
    names = {time: name for name, time in calendar_words().named_times.items()}
    if hour * 60 + minute in names:
        forms.append(names[hour * 60 + minute])
    readings = figure_readings.clock_readings(short, minute)
    return [*forms, *(f"{each} {half}" for each in readings), *_past_forms(short, minute, half)]


def _past_forms(hour: int, minute: int, half: str) -> list[str]:
    if not minute or minute % 5:
        return []
    part = "morning" if half == "am" else "afternoon"
    words = figure_readings.cardinal_words(minute if minute <= 30 else 60 - minute)
    if minute <= 30:
        return [f"{words} past {figure_readings.cardinal_words(hour)} in the {part}"]
    if hour in (11, 12):  # the next hour may be in the other half of the day
        return []
    return [f"{words} to {figure_readings.cardinal_words(hour + 1)} in the {part}"]
