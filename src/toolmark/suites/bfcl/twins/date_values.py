"""New dates for the dates of an entry: all move by the same number of days."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from toolmark.core import seeds
from toolmark.suites.bfcl.twins.entry_parts import Changes, Entry, Leaf, iterate_scalars

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTH = "|".join(MONTHS)
_ABBREVIATED = "|".join(name[:3] for name in MONTHS)
LATEST_DAY = 28  # every month has it

# groups: y, m or M (a month's name) or A (its first letters), d, and s for the suffix
_FORMS = (
    r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
    r"(?P<y>\d{4})/(?P<m>\d{2})/(?P<d>\d{2})",
    r"(?P<m>\d{2})/(?P<d>\d{2})/(?P<y>\d{4})",
    r"(?P<d>\d{2})/(?P<m>\d{2})/(?P<y>\d{4})",
    r"(?P<m>\d{2})-(?P<d>\d{2})-(?P<y>\d{4})",
    r"(?P<d>\d{2})-(?P<m>\d{2})-(?P<y>\d{4})",
    rf"(?P<M>{_MONTH}) (?P<d>\d{{1,2}})(?P<s>st|nd|rd|th)?,? (?P<y>\d{{4}})",
    rf"(?P<d>\d{{1,2}})(?P<s>st|nd|rd|th)?(?: of)? (?P<M>{_MONTH}),? (?P<y>\d{{4}})",
    rf"(?P<A>{_ABBREVIATED})\.?\s?(?P<d>\d{{1,2}}),\s?(?P<y>\d{{4}})",
)  # fmt: skip
_DATE_FORMS = tuple(re.compile(form) for form in _FORMS)
_BOUND_FORMS = tuple(re.compile(rf"(?<![\w/.-]){form}(?![\w/-]|\.\d)") for form in _FORMS)
_TIMED = re.compile(r"(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}\S*)\Z")
_DATE_LIKE = re.compile(
    rf"\b(?:19|20)\d\d\b|\d{{1,4}}[/.-]\d{{1,2}}[/.-]\d{{1,4}}|\b(?:{_MONTH}|{_ABBREVIATED})\b"
)
_TIED = re.compile(
    r"\b(?:today|tomorrow|yesterday|now|current|currently|next|last|previous|following|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weeks?|weekends?|weekdays?|nights?|days?|months?|"
    r"monthly|weekly|quarters?|fiscal|annual|holidays?|christmas|easter|valentine\w*|halloween|"
    r"thanksgiving|eve|birthday|born|birth|war|battle|treaty|election|olympics?|independence|eclipse|"
    r"moon|solstice|anniversary|festival|game|match|finals?|season|launch\w*|released?|signed|died|contribution|contributed|happened|occurred|histor\w*|famous)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as it is written: its form, its day, and the text of the match."""

    form: re.Pattern[str]
    day: date
    match: re.Match[str]

    @property
    def is_ambiguous(self) -> bool:
        """Whether day and month can be taken for each other."""
        cells = self.match.groupdict()
        return (
            bool(cells.get("m"))
            and self.match.start("y") > self.match.start("m")
            and (self.day.day <= 12)
        )

    def write_moved(self, days: int) -> str:
        """Return the date that many days later, written in the same way."""
        new, text = self.day + timedelta(days), self.match[0]
        origin = self.match.start()
        cells = {
            "y": f"{new.year:04}",
            "m": f"{new.month:02}",
            "d": f"{new.day:02}"
            if (len(self.match["d"]) == 2 and self.day.day < 10)
            or (len(self.match["d"]) == 2 and "m" in self.match.groupdict())
            else str(new.day),
            "M": MONTHS[new.month - 1],
            "A": MONTHS[new.month - 1][:3],
            "s": _ordinal_suffix(new.day),
        }
        groups = [name for name, found in self.match.groupdict().items() if found is not None]
        for name in sorted(groups, key=self.match.start, reverse=True):
            start, end = self.match.start(name) - origin, self.match.end(name) - origin
            text = text[:start] + cells[name] + text[end:]
        return text


def _ordinal_suffix(day: int) -> str:
    return "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def change_dates(entry: Entry, rng: Random) -> Changes:
    """Return new dates where every date of the question is one of the truth, else no changes."""
    leaves = [leaf for leaf in entry.leaves if any(_days_of(leaf))]
    if not leaves or _TIED.search(entry.text):
        return Changes()
    days: set[date] = set()
    for leaf in leaves:
        found = _days_of(leaf)
        if leaf.has_fixed_values or len(found) != 1 or None in found:
            return Changes()
        days |= {day for day in found if day}
    mentions = _find_dates(entry.texts, days)
    if {each.day for _, each in mentions} != days or _has_other_dates(entry, leaves, mentions):
        return Changes()
    if any(each.is_ambiguous for _, each in mentions):
        return Changes()
    shift = _draw_shift(days, rng)
    if shift is None:
        return Changes()
    changes = Changes()
    for index, written in mentions:
        changes.edits.append((index, *written.match.span(), written.write_moved(shift)))
    for leaf in leaves:
        changes.options[leaf.path] = [_move_option(each, shift, days) for each in leaf.options]
    return changes


def _days_of(leaf: Leaf) -> set[date | None]:
    """Return the days that the accepted values name; None for a value that is no plain date."""
    texts = [each for each in leaf.values if isinstance(each, str)]
    if not texts or len(texts) < len(leaf.values):
        return set()
    readings = [_read_dates(text) for text in texts]
    if not any(readings):
        return set()
    common = set.intersection(*({each.day for each in found} for found in readings))
    return {*common} if len(common) == 1 else {None}


def _read_dates(text: str) -> list[WrittenDate]:
    timed = _TIMED.match(text)
    body = timed[1] if timed else text
    found = [(form, form.fullmatch(body)) for form in _DATE_FORMS]
    return [read for form, match in found if match and (read := _read_match(form, match))]


def _read_match(form: re.Pattern[str], match: re.Match[str]) -> WrittenDate | None:
    cells = match.groupdict()
    if cells.get("M"):
        month = MONTHS.index(cells["M"]) + 1
    elif cells.get("A"):
        month = [name[:3] for name in MONTHS].index(cells["A"]) + 1
    else:
        month = int(cells["m"])
    try:
        return WrittenDate(form, date(int(cells["y"]), month, int(cells["d"])), match)
    except ValueError:
        return None


def _find_dates(texts: Sequence[str], days: set[date]) -> list[tuple[int, WrittenDate]]:
    """Return the dates in the texts that are one of these days, each place once."""
    found: dict[tuple[int, int], tuple[int, WrittenDate]] = {}
    for index, text in enumerate(texts):
        for form in _BOUND_FORMS:
            for match in form.finditer(text):
                read = _read_match(form, match)
                if read and read.day in days:
                    found.setdefault((index, match.start()), (index, read))
    return [*found.values()]


def _has_other_dates(
    entry: Entry, leaves: Sequence[Leaf], mentions: Sequence[tuple[int, WrittenDate]]
) -> bool:
    """Return whether the question, or another value, has a date besides the mentioned ones."""
    texts = [*entry.texts]
    for index, written in sorted(mentions, key=lambda x: x[1].match.start(), reverse=True):
        start, end = written.match.span()
        texts[index] = texts[index][:start] + texts[index][end:]
    if any(_DATE_LIKE.search(text) for text in texts):
        return True
    dated = {leaf.path for leaf in leaves}
    others = [leaf.options for leaf in entry.leaves if leaf.path not in dated] + [*entry.frozen]
    return any(
        isinstance(each, str) and _DATE_LIKE.search(each) for each in iterate_scalars(others)
    ) or any(written.match[0] in entry.docs_text for _, written in mentions)


def _draw_shift(days: set[date], rng: Random) -> int | None:
    """Return by how many days all move, so that months stay and days stay of their size.

    None where days begin and end months. A day after the 12th stays so: it shows which number is
    the month.
    """
    if any(day.day == 1 or day.day > LATEST_DAY - 1 for day in days):
        return None

    def fits(shift: int) -> bool:
        return all(
            (moved := day + timedelta(shift)).month == day.month
            and 1 < moved.day < LATEST_DAY
            and (moved.day > 12) == (day.day > 12)
            and (day.day > 9) == (moved.day > 9)
            for day in days
        )

    shifts = [shift for shift in range(-25, 26) if shift and shift % 7 and fits(shift)]
    return seeds.draw_one(rng, shifts) if shifts else None


def _move_option(option: Any, shift: int, days: set[date]) -> Any:
    if not isinstance(option, str) or not option:
        return option
    timed = _TIMED.match(option)
    written = next(each for each in _read_dates(option) if each.day in days)
    return written.write_moved(shift) + (timed[2] if timed else "")
