"""Pieces of a question with their positions: numbers, names, quotations, dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from toolmark.core.data_files import DataRecord, read_table

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.-])-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|[“‘]([^”’]{1,80})[”’]")
_LIST_SEPARATOR = re.compile(r"\s*+(?:,\s*+(?:and|or)?|&|and|or)\s*+(?:(?:in|for)\s++)?")
_CAPITALIZED_WORD = r"[A-Z][\w'&.-]*[\w]|[A-Z]"
_NAME = re.compile(
    rf"(?:{_CAPITALIZED_WORD})(?:\s+(?:of\s+the\s+|of\s+|de\s+|the\s+)?(?:{_CAPITALIZED_WORD}|\d+\b))*"
    r"(?:,\s*(?:[A-Z]{2,3}\b|[A-Z][a-z]+\b(?!\s*(?:,|and\b))))?"
)
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{3,}\b|[\w.+-]+@[\w-]+\.[\w.]+|https?://\S+")
_MAX_DIGITS = 18
_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_MONTH_NUMBER = {name[:3]: i for i, name in enumerate(_MONTH_NAMES.split(), 1)}
_ISO_DATE = re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b")
_WRITTEN_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?({'|'.join(_MONTH_NAMES.split())})\b"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(\d{4}))?",
    re.IGNORECASE,
)
_CLOCK_TIME = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b\.?|\b(\d{1,2}):(\d{2})\b", re.I)
_NUMBER_WORDS = "two three four five six seven eight nine ten"
_NUMBER_BY_WORD = {word: number for number, word in enumerate(_NUMBER_WORDS.split(), 2)}
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_NUMBER_BY_WORD)})\b", re.IGNORECASE)


class QuestionWords(DataRecord, frozen=True):
    """The data file: words without meaning of their own, and words that begin a sentence."""

    common_words: frozenset[str]
    leading_words: frozenset[str]


def question_words() -> QuestionWords:
    """Return the content of the data file."""
    return read_table(__file__, "question_words.toml", QuestionWords)


class Span(NamedTuple):
    """A piece of the text and its start position."""

    text: str
    start: int


@lru_cache(maxsize=65_536)
def stem_word(word: str) -> str:
    """Remove the most common endings from a word."""
    word = word.lower()
    for ending in ("ations", "ation", "ating", "ing", "ies", "ied", "ate", "ers", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
    return word.removesuffix("e") if len(word) > 4 else word


def word_stems(text: str) -> set[str]:
    """Return the stems of the words of a text or a name, without common words."""
    common_words = question_words().common_words
    words = (found[0].lower() for found in _WORD.finditer(text))
    return {stem_word(word) for word in words if word not in common_words}


class TextSpans:
    """The pieces of one text; each is returned once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stems = word_stems(text)
        self._used: list[tuple[int, int]] = []

    @property
    def n_used(self) -> int:
        """The number of pieces returned so far."""
        return len(self._used)

    def take_number(
        self, words: set[str], *, max_distance: int | None, is_integer: bool
    ) -> Span | None:
        """Return the number nearest to one of the words, at most `max_distance` characters away.

        Digits are preferred to spelt numbers, and numbers without a decimal point if `is_integer`.
        """
        candidates = [
            x for x in self._digit_spans() if not is_integer or "." not in x.text
        ] or list(self._number_spans())
        positions = self._word_positions(words)
        if max_distance is not None:
            candidates = [
                x for x in candidates if _distance_to_nearest(x, positions, 10**6) <= max_distance
            ]
        if not candidates:
            return None
        return self._mark_used(
            min(candidates, key=lambda x: (_distance_to_nearest(x, positions, 200), x.start))
        )

    def take_numbers(self) -> list[Span]:
        """Return all unused numbers."""
        return [self._mark_used(span) for span in self._digit_spans()]

    def take_names(self) -> list[Span]:
        """Return all unused quotations, or else all unused names."""
        found = list(self._quotation_spans()) or list(self._name_spans())
        return [self._mark_used(span) for span in found]

    def take_quotation(self) -> Span | None:
        """Return the first unused quotation."""
        span = next(self._quotation_spans(), None)
        return None if span is None else self._mark_used(span)

    def take_name(self, words: set[str]) -> Span | None:
        """Return the unused name or code nearest to one of the words."""
        candidates = [*self._name_spans(), *self._unused_spans(_CODE)]
        if not candidates:
            return None
        positions = self._word_positions(words)
        return self._mark_used(
            min(candidates, key=lambda x: (_distance_to_nearest(x, positions, 60), x.start))
        )

    def take_phrase(self, words: set[str]) -> Span | None:
        """Return the first unused words after "of", "for" and the like; `words` has no effect."""
        pattern = re.compile(
            r"\b(?:of|for|about|named|called|on|in|to)\s+(?:an?\s+|the\s+)?"
            r"([a-z][\w'-]*(?:\s+(?!in\b|for\b|from\b|to\b|with\b|and\b|at\b|on\b)[a-z][\w'-]*){0,2})"
        )
        candidates = [Span(x[1], x.start(1)) for x in pattern.finditer(self.text)]
        candidates = [span for span in candidates if self._is_unused(span)]
        return self._mark_used(candidates[0]) if candidates else None

    def take_date(self, *, iso: bool) -> str | None:
        """Return the first date; in the order year, month, day if `iso`."""
        for found in self._take_matches(_ISO_DATE):
            year, month, day = (int(part) for part in found.groups())
            return f"{year:04}-{month:02}-{day:02}" if iso else found[0]
        for written in self._take_matches(_WRITTEN_DATE):
            day_text = written[1] or written[3]
            if not day_text and not written[4]:
                continue
            if not iso or not (day_text and written[4]):
                return written[0].strip()
            month = _MONTH_NUMBER[written[2][:3].lower()]
            return f"{int(written[4]):04}-{month:02}-{int(day_text):02}"
        return None

    def take_time(self) -> str | None:
        """Return the first time of day as HH:MM."""
        found = next(self._take_matches(_CLOCK_TIME), None)
        if found is None:
            return None
        hour, minute = int(found[1] or found[4]), int(found[2] or found[5] or 0)
        if found[3]:
            hour = hour % 12 + (12 if found[3].lower() == "p" else 0)
        return f"{hour:02}:{minute:02}"

    def contains_words(self, phrase: str) -> bool:
        """Return whether the text has all words of a phrase."""
        words = word_stems(phrase)
        return bool(words) and words <= self.stems

    def list_members(self, name: str) -> list[str]:
        """Return the names of a list from `name` onwards; only `name` if it is in no list."""
        found = list(self._name_spans())
        at = next((i for i, span in enumerate(found) if span.text == name), None)
        if at is None:
            return [name]
        run = [found[at]]
        for span in found[at + 1 :]:
            between = self.text[run[-1].start + len(run[-1].text) : span.start]
            if not _LIST_SEPARATOR.fullmatch(between):
                break
            run.append(span)
        return [span.text for span in run]

    def _digit_spans(self) -> list[Span]:
        found = [Span(x[0].replace(",", ""), x.start()) for x in _NUMBER.finditer(self.text)]
        return [span for span in found if len(span.text) <= _MAX_DIGITS and self._is_unused(span)]

    def _number_spans(self) -> list[Span]:
        """Return numbers in digits; if there are none, numbers spelt as words."""
        word_spans = [
            Span(str(_NUMBER_BY_WORD[x[0].lower()]), x.start())
            for x in _NUMBER_WORD.finditer(self.text)
        ]
        return self._digit_spans() or [span for span in word_spans if self._is_unused(span)]

    def _quotation_spans(self) -> Iterator[Span]:
        for found in _QUOTED.finditer(self.text):
            index = next(i for i in (1, 2, 3) if found[i] is not None)
            span = Span(found[index], found.start(index))
            if len(span.text) < 60 and self._is_unused(span):
                yield span

    def _name_spans(self) -> Iterator[Span]:
        for span in self._unused_spans(_NAME):
            first, _, remaining = span.text.partition(" ")
            if first in question_words().leading_words:
                span = Span(
                    remaining.lstrip(), span.start + len(span.text) - len(remaining.lstrip())
                )
            if span.text and span.text[0].isupper():
                yield span

    def _unused_spans(self, pattern: re.Pattern[str]) -> Iterator[Span]:
        for found in pattern.finditer(self.text):
            span = Span(found[0], found.start())
            if self._is_unused(span):
                yield span

    def _take_matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the unused matches and mark each as used."""
        for found in pattern.finditer(self.text):
            span = Span(found[0], found.start())
            if self._is_unused(span):
                self._mark_used(span)
                yield found

    def _word_positions(self, words: set[str]) -> list[int]:
        return [x.start() for x in _WORD.finditer(self.text) if stem_word(x[0]) in words]

    def _is_unused(self, span: Span) -> bool:
        end = span.start + len(span.text)
        return all(end <= a or span.start >= b for a, b in self._used)

    def _mark_used(self, span: Span) -> Span:
        self._used.append((span.start, span.start + len(span.text)))
        return span


def _distance_to_nearest(span: Span, positions: list[int], default: int) -> int:
    """Return the distance to the nearest position; a position after the piece counts double."""
    gaps = (span.start - place for place in positions)
    return min((gap if gap >= 0 else -2 * gap for gap in gaps), default=default)
