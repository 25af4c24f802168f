"""Analysis of a question: its words, and the kind of its answer (date, number, place, name)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from toolmark.baselines.desk_facts import term_stems

AnswerKind = Literal["date", "number", "place", "name"]

_SENTENCE = re.compile(r"[^.?!]+(?:[.?!](?=\S)[^.?!]*)*[.?!]?")
_REQUEST = re.compile(
    r"(?:please|find|tell|give|name|look up|say|show|i (?:would|want|need|\w+ like)|what i)\b", re.I
)
_ANSWER_KIND_WORDS: dict[AnswerKind, re.Pattern[str]] = {
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
_CHOICE_CLAUSE = re.compile(r"\bthe one (?:that|which|with|who) ([^.?!;,]+)", re.I)
# Words, whether they mean the most, whether they compare dates.
_EXTREMES = (
    ("first|earliest|oldest", False, True),
    ("last|latest|newest|youngest|most recent(?:ly)?", True, True),
    ("fewest|least|smallest|lowest|cheapest|shortest|lightest", False, False),
    ("most|greatest|largest|biggest|highest|tallest|longest|heaviest|dearest", True, False),
)
_QUANTITY_WORDS = {
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

# Words with the same meaning, one group per text.
_SYNONYM_GROUPS = (
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
# Letters of a stem.
_STEM_LETTERS = 5


class ChoiceClause(NamedTuple):
    """The criterion of a question that chooses: the most or the least of something."""

    words: frozenset[str]
    most: bool
    dated: bool


class AnalysedQuestion(NamedTuple):
    """A question: its text, the stems of its words, the kind of its answer.

    `choice` is present if the question chooses among candidates in the picture. `stem_positions` is
    the position of each stem in the question, counted in words.
    """

    text: str
    stems: frozenset[str]
    answer_kind: AnswerKind
    choice: ChoiceClause | None = None
    stem_positions: Mapping[str, int] = MappingProxyType({})


def analyse_question(text: str) -> AnalysedQuestion:
    """Return the analysis of a question.

    The kind of the answer is read from the last sentence, which may state the form, else from the
    request.
    """
    sentences = [found.strip() for found in _SENTENCE.findall(text) if found.strip()]
    requests = [
        sentence for sentence in sentences if sentence.endswith("?") or _REQUEST.match(sentence)
    ]
    kinds = [
        kind
        for sentence in (*sentences[-1:], *reversed(requests))
        if (kind := _find_answer_kind(sentence))
    ]
    clause = _CHOICE_CLAUSE.search(text)
    # The criterion of a choice is not part of what is asked.
    asked_text = " ".join(requests or sentences)
    content_words = (asked_text.replace(clause[0], " ") if clause else asked_text).split()
    places = {
        stem: i
        for i, word in enumerate(content_words)
        for stem in word_stems(word) - _GENERAL_STEMS
    }
    choice = _parse_choice(clause[1]) if clause else None
    return AnalysedQuestion(
        text, frozenset(places), kinds[0] if kinds else "name", choice, MappingProxyType(places)
    )


def _parse_choice(clause: str) -> ChoiceClause | None:
    for words_of_extreme, most, dated in _EXTREMES:
        if found := re.search(rf"\b(?:{words_of_extreme})\b", clause, re.IGNORECASE):
            remaining = f"{clause[: found.start()]} {clause[found.end() :]}"
            more = word_stems(_QUANTITY_WORDS.get(found[0].lower(), ""))
            return ChoiceClause(frozenset(word_stems(remaining) | more), most, dated)
    return None


def _find_answer_kind(sentence: str) -> AnswerKind | None:
    """Return the answer kind that the earliest known word of a sentence indicates, or None."""
    found = {kind: match.search(sentence) for kind, match in _ANSWER_KIND_WORDS.items()}
    places = {kind: match.start() for kind, match in found.items() if match}
    return min(places, key=lambda kind: places[kind], default=None)


def word_stems(text: str) -> set[str]:
    """Return the stems of the words of a text, with one stem for words of the same meaning.

    Stems are cut to a few letters, so that "plans" and "planner" are equal.
    """
    return {_GROUP_STEM.get(stem, stem)[:_STEM_LETTERS] for stem in term_stems(text)}


def is_of_kind(value: str, answer_kind: AnswerKind) -> bool:
    """Tell whether a value is of the wanted kind."""
    dated = bool(_DATE.search(value))
    match answer_kind:
        case "date":
            return dated or bool(_CLOCK.match(value))
        case "number":
            # A year may be a number as well.
            year = value.isdigit() and dated
            return bool(_NUMBER.match(value)) and (year or not dated) and not _CLOCK.match(value)
        case _:
            return not dated and not _NUMBER.match(value)


def value_order(value: str) -> tuple[int, float] | None:
    """Return a sort key: 0 for numbers or 1 for dates, then the position; None for other values."""
    if date := _DAY.search(value):
        month = _MONTHS.index(date[2][:3].lower())
        return 1, int(date[3]) * 372 + month * 31 + int(date[1])
    number = _AMOUNT.match(value)
    if number is None or _DATE.search(value) or _CLOCK.match(value):
        return None
    return 0, float(number[1].replace(",", ""))


_GROUP_STEM = {
    stem: sorted(term_stems(group.split()[0]))[0]
    for group in _SYNONYM_GROUPS
    if term_stems(group.split()[0])
    for stem in term_stems(group)
}
# Stems of every question, and of what a fact is in general.
_GENERAL_STEMS = word_stems(
    "date day month year time number name named exact full answer please question picture image "
    "photo seen look up like know tell out person does whose named read hangs "
    # Objects that show names, and their positions.
    "sign signs poster banner board screen ticket package plate sleeve cover plaque stone window "
    "shelf stall left right middle far above below top bottom"
)
