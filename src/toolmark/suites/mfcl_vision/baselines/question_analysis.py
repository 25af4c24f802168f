"""Analysis of a question: its words, and the kind of its answer (date, number, place, name)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from toolmark.baselines.desk_facts import term_stems
from toolmark.suites.mfcl_vision.baselines.question_words import question_words

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
        for stem in word_stems(word) - _general_stems()
    }
    choice = _parse_choice(clause[1]) if clause else None
    return AnalysedQuestion(
        text, frozenset(places), kinds[0] if kinds else "name", choice, MappingProxyType(places)
    )


def _parse_choice(clause: str) -> ChoiceClause | None:
    for words_of_extreme, most, dated in _EXTREMES:
        if found := re.search(rf"\b(?:{words_of_extreme})\b", clause, re.IGNORECASE):
            remaining = f"{clause[: found.start()]} {clause[found.end() :]}"
            more = word_stems(question_words().quantities.get(found[0].lower(), ""))
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
    return {_group_stems().get(stem, stem)[:_STEM_LETTERS] for stem in term_stems(text)}


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


@cache
def _group_stems() -> dict[str, str]:
    """Return the stem that stands for each stem of a group of synonyms."""
    return {
        stem: sorted(term_stems(group[0]))[0]
        for group in question_words().synonym_groups
        if term_stems(group[0])
        for stem in term_stems(" ".join(group))
    }


@cache
def _general_stems() -> frozenset[str]:
    """Return the stems of every question, and of what a fact is in general."""
    words = question_words()
    return frozenset(word_stems(" ".join(words.general_words | words.sign_words)))
