"""What a question asks for: its words, and whether a date, a number, a place or a name answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from toolmark.models.baselines.desk_facts import terms

Want = Literal["date", "number", "place", "name"]

_SENTENCE = re.compile(r"[^.?!]+(?:[.?!](?=\S)[^.?!]*)*[.?!]?")
_REQUEST = re.compile(
    r"(?:please|find|tell|give|name|look up|say|show|i (?:would|want|need|\w+ like)|what i)\b", re.I
)
_WANTS: dict[Want, re.Pattern[str]] = {
    "number": re.compile(
        r"\b(?:how (?:many|much|long|far|tall|high|old|big|heavy|large)|number|price|cost|budget|"
        r"capacity|total|figure|count|size|length|height|weight|distance|population|fee|area|"
        r"attendance|energy|running time|prize money)\b", re.I
    ),
    "date": re.compile(r"\b(?:when|date|day|year|month|time|hours)\b", re.I),
    "place": re.compile(
        r"\b(?:where|city|town|street|place|district|address|location|country)\b", re.I
    ),
    "name": re.compile(r"\b(?:who|whose|name|person)\b", re.I),
}  # fmt: skip
_CHOICE = re.compile(r"\bthe one (?:that|which|with|who) ([^.?!;,]+)", re.I)
_EXTREMES = (  # words, whether they mean the most, whether of dates
    ("first|earliest|oldest", False, True),
    ("last|latest|newest|youngest|most recent(?:ly)?", True, True),
    ("fewest|least|smallest|lowest|cheapest|shortest|lightest", False, False),
    ("most|greatest|largest|biggest|highest|tallest|longest|heaviest|dearest", True, False),
)
_MEANS = {
    "lowest": "height", "tallest": "height", "highest": "height", "cheapest": "price",
    "dearest": "price", "heaviest": "weight", "lightest": "weight",
}  # fmt: skip
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b|\b{_MONTH} \d{{1,2}}\b|\b{_MONTH} \d{{4}}\b|"
    r"\b\d{4}-\d\d-\d\d\b|^(?:1[5-9]|20)\d\d$",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH}) (\d{{4}})\b", re.I)
_CLOCK = re.compile(r"^\d{1,2}[:.]\d\d\b")
_NUMBER = re.compile(r"^\W?\d[\d,. ]*\b")
_AMOUNT = re.compile(r"^\W?(\d[\d,]{0,20}(?:\.\d{1,9})?)")

# words that stand for each other, one group a line
_KIN = (
    "open opened opening inaugurated", "found founded founding established formed began started",
    "architect designed designer design plans", "wrote written author writer script",
    "born birth birthplace", "coach coached trainer trains manager",
    "capacity seats seating hold holds", "cost price", "sell sells selling seller sold",
    "street address road", "released release",
    "directed director", "maker manufacturer", "factory made produced", "owner owned owns",
    "sing sings singer", "weigh weighs weight", "workers staff employees employs workforce",
    "won winner wins", "captain captained", "former once formerly earlier previously",
    "attendance attended attend spectators", "height tall high", "label signed",
    "host hosts hosted presenter presents presented", "chef cook cooks cooked",
    "population inhabitants people live lives", "drums drummer",
)  # fmt: skip
_LETTERS = 5  # of a stem


class Choice(NamedTuple):
    """How the one that is meant is told from the others: the most or the least of something."""

    words: frozenset[str]
    most: bool
    dated: bool


class Question(NamedTuple):
    """A question: its whole text, the stems of its words, what kind of value answers it.

    `choice` is there where the question chooses among what can be seen; `places` tells where in
    the question each stem is, counted in words.
    """

    text: str
    stems: frozenset[str]
    want: Want
    choice: Choice | None = None
    places: Mapping[str, int] = MappingProxyType({})


def of(text: str) -> Question:
    """Read a question. What is wanted is said by a last sentence on the form, or by the request."""
    said = [found.strip() for found in _SENTENCE.findall(text) if found.strip()]
    requests = [one for one in said if one.endswith("?") or _REQUEST.match(one)]
    wanted = [want for one in (*said[-1:], *reversed(requests)) if (want := _want(one))]
    clause = _CHOICE.search(text)
    # what tells the one from the others is not what is asked of it
    told = " ".join(requests or said)
    words = (told.replace(clause[0], " ") if clause else told).split()
    places = {stem: at for at, word in enumerate(words) for stem in stems(word) - _GENERAL}
    choice = _choice(clause[1]) if clause else None
    return Question(
        text, frozenset(places), wanted[0] if wanted else "name", choice, MappingProxyType(places)
    )


def _choice(clause: str) -> Choice | None:
    for words, most, dated in _EXTREMES:
        if found := re.search(rf"\b(?:{words})\b", clause, re.IGNORECASE):
            left = f"{clause[: found.start()]} {clause[found.end() :]}"
            more = stems(_MEANS.get(found[0].lower(), ""))
            return Choice(frozenset(stems(left) | more), most, dated)
    return None


def _want(sentence: str) -> Want | None:
    """Return what the first word says that tells it."""
    found = {want: sign.search(sentence) for want, sign in _WANTS.items()}
    places = {want: sign.start() for want, sign in found.items() if sign}
    return min(places, key=lambda want: places[want], default=None)


def stems(text: str) -> set[str]:
    """Return the stems of the words of a text, one stem for words that stand for each other.

    Stems are cut short: who plans is a planner.
    """
    return {_HEADS.get(stem, stem)[:_LETTERS] for stem in terms(text)}


def fits(value: str, want: Want) -> bool:
    """Tell whether a value is of the kind that is wanted."""
    dated = bool(_DATE.search(value))
    match want:
        case "date":
            return dated or bool(_CLOCK.match(value))
        case "number":
            year = value.isdigit() and dated  # which may be a number as well
            return bool(_NUMBER.match(value)) and (year or not dated) and not _CLOCK.match(value)
        case _:
            return not dated and not _NUMBER.match(value)


def order(value: str) -> tuple[int, float] | None:
    """Return what puts numbers and dates in order: 0 for numbers, 1 for dates, then where."""
    if date := _DAY.search(value):
        month = _MONTHS.index(date[2][:3].lower())
        return 1, int(date[3]) * 372 + month * 31 + int(date[1])
    number = _AMOUNT.match(value)
    if number is None or _DATE.search(value) or _CLOCK.match(value):
        return None
    return 0, float(number[1].replace(",", ""))


_HEADS = {
    stem: sorted(terms(group.split()[0]))[0]
    for group in _KIN
    if terms(group.split()[0])
    for stem in terms(group)
}
# of every question, and what a fact is rather than which one
_GENERAL = stems(
    "date day month year time number name named exact full answer please question picture image "
    "photo seen look up like know tell out person does whose named read hangs "
    # things that bear names, and where they are
    "sign signs poster banner board screen ticket package plate sleeve cover plaque stone window "
    "shelf stall left right middle far above below top bottom"
)
