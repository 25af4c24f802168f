"""Pieces of a question: numbers, names, quotations, dates, and which of them lies where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.-])-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|[“‘]([^”’]{1,80})[”’]")
_JOINED = re.compile(r"\s*+(?:,\s*+(?:and|or)?|&|and|or)\s*+(?:(?:in|for)\s++)?")
_CAPITAL = r"[A-Z][\w'&.-]*[\w]|[A-Z]"
_NAME = re.compile(
    rf"(?:{_CAPITAL})(?:\s+(?:of\s+the\s+|of\s+|de\s+|the\s+)?(?:{_CAPITAL}|\d+\b))*"
    r"(?:,\s*(?:[A-Z]{2,3}\b|[A-Z][a-z]+\b(?!\s*(?:,|and\b))))?"
)
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{3,}\b|[\w.+-]+@[\w-]+\.[\w.]+|https?://\S+")
_DIGITS = 18
_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name[:3]: i for i, name in enumerate(_MONTHS.split(), 1)}
_ISO = re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b")
_SPOKEN = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?({'|'.join(_MONTHS.split())})\b"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(\d{4}))?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b\.?|\b(\d{1,2}):(\d{2})\b", re.I)
_SPELLINGS = "two three four five six seven eight nine ten"
_SMALL = {word: number for number, word in enumerate(_SPELLINGS.split(), 2)}
_SPELT = re.compile(rf"\b({'|'.join(_SMALL)})\b", re.IGNORECASE)
_COMMON = (
    "a an the of to in on at for from by with and or is are was be been i me my you your we it its "
    "this that these those what which who whom how when where why can could would should please do "
    "does did will if so as get give find tell show need want let know some any using use given "
    "based specific specified about into have has there between note provided function python "
    "syntax"
)
_STOP = frozenset(_COMMON.split())
_LEADING = {
    "Find", "Get", "What", "Can", "Could", "How", "Calculate", "Please", "I", "I'm", "I'd", "Who",
    "Where", "When", "Which", "Is", "Are", "Give", "Tell", "Show", "Compute", "Determine", "Help",
    "Retrieve", "Also", "Then", "Book", "Search", "Look", "Provide", "Convert", "Generate", "My",
    "The", "A", "An", "If", "In", "For", "Play", "Order", "Check", "List", "Create", "Add", "Set",
    "What's", "Let's", "Will", "Do", "Does", "Would", "Estimate", "Predict", "Identify", "You",
    "Fetch", "Send", "Update", "Buy", "Make", "Plan", "Suppose", "Using", "Hi", "Hello", "Hey",
}  # fmt: skip


class Span(NamedTuple):
    """A piece of the text and where it begins."""

    text: str
    start: int


@lru_cache(maxsize=65_536)
def norm(word: str) -> str:
    """Cut the commonest endings off a word."""
    word = word.lower()
    for ending in ("ations", "ation", "ating", "ing", "ies", "ied", "ate", "ers", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
    return word.removesuffix("e") if len(word) > 4 else word


def stems(text: str) -> set[str]:
    """Return the stems of the words of a text or a name; common words are left out."""
    words = (found[0].lower() for found in _WORD.finditer(text))
    return {norm(word) for word in words if word not in _STOP}


class Spans:
    """The pieces of one text, each given out once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stems = stems(text)
        self._used: list[tuple[int, int]] = []

    @property
    def used(self) -> int:
        """The number of pieces given out."""
        return len(self._used)

    def number(self, words: set[str], *, near: int | None, whole: bool) -> Span | None:
        """Return the number nearest to one of the words; `near` bounds the distance.

        Digits are preferred to spelt numbers, and whole numbers where `whole` asks for one.
        """
        free = [x for x in self._digits() if not whole or "." not in x.text] or list(
            self._numbers()
        )
        places = self._places(words)
        if near is not None:
            free = [x for x in free if _distance(x, places, 10**6) <= near]
        if not free:
            return None
        return self._take(min(free, key=lambda x: (_distance(x, places, 200), x.start)))

    def numbers(self) -> list[Span]:
        """Return all numbers left."""
        return [self._take(span) for span in self._digits()]

    def names(self) -> list[Span]:
        """Return all quotations, or else all names left."""
        found = list(self._quotations()) or list(self._names())
        return [self._take(span) for span in found]

    def quoted(self) -> Span | None:
        """Return the first quotation left."""
        span = next(self._quotations(), None)
        return None if span is None else self._take(span)

    def named(self, words: set[str]) -> Span | None:
        """Return the name or code nearest to one of the words."""
        free = [*self._names(), *self._find(_CODE)]
        if not free:
            return None
        places = self._places(words)
        return self._take(min(free, key=lambda x: (_distance(x, places, 60), x.start)))

    def phrase(self, words: set[str]) -> Span | None:
        """Return the words after the last "of", "for" and the like, or after one of `words`."""
        pattern = re.compile(
            r"\b(?:of|for|about|named|called|on|in|to)\s+(?:an?\s+|the\s+)?"
            r"([a-z][\w'-]*(?:\s+(?!in\b|for\b|from\b|to\b|with\b|and\b|at\b|on\b)[a-z][\w'-]*){0,2})"
        )
        free = [Span(x[1], x.start(1)) for x in pattern.finditer(self.text)]
        free = [span for span in free if self._free(span)]
        return self._take(free[0]) if free else None

    def date(self, *, iso: bool) -> str | None:
        """Return the first date; year, month and day in this order where `iso` asks for it."""
        for found in self._matches(_ISO):
            year, month, day = (int(part) for part in found.groups())
            return f"{year:04}-{month:02}-{day:02}" if iso else found[0]
        for spoken in self._matches(_SPOKEN):
            day_text = spoken[1] or spoken[3]
            if not day_text and not spoken[4]:
                continue
            if not iso or not (day_text and spoken[4]):
                return spoken[0].strip()
            month = _MONTH[spoken[2][:3].lower()]
            return f"{int(spoken[4]):04}-{month:02}-{int(day_text):02}"
        return None

    def clock(self) -> str | None:
        """Return the first time of day as HH:MM."""
        found = next(self._matches(_CLOCK), None)
        if found is None:
            return None
        hour, minute = int(found[1] or found[4]), int(found[2] or found[5] or 0)
        if found[3]:
            hour = hour % 12 + (12 if found[3].lower() == "p" else 0)
        return f"{hour:02}:{minute:02}"

    def says(self, phrase: str) -> bool:
        """Tell whether the text has all words of a phrase."""
        words = stems(phrase)
        return bool(words) and words <= self.stems

    def members(self, name: str) -> list[str]:
        """Return the names of the list that a name stands in, by itself where there is none."""
        found = list(self._names())
        at = next((i for i, span in enumerate(found) if span.text == name), None)
        if at is None:
            return [name]
        run = [found[at]]
        for span in found[at + 1 :]:
            between = self.text[run[-1].start + len(run[-1].text) : span.start]
            if not _JOINED.fullmatch(between):
                break
            run.append(span)
        return [span.text for span in run]

    def _digits(self) -> list[Span]:
        found = [Span(x[0].replace(",", ""), x.start()) for x in _NUMBER.finditer(self.text)]
        return [span for span in found if len(span.text) <= _DIGITS and self._free(span)]

    def _numbers(self) -> list[Span]:
        """Return numbers in digits, where there are none those spelt out."""
        spelt = [Span(str(_SMALL[x[0].lower()]), x.start()) for x in _SPELT.finditer(self.text)]
        return self._digits() or [span for span in spelt if self._free(span)]

    def _quotations(self) -> Iterator[Span]:
        for found in _QUOTED.finditer(self.text):
            index = next(i for i in (1, 2, 3) if found[i] is not None)
            span = Span(found[index], found.start(index))
            if len(span.text) < 60 and self._free(span):
                yield span

    def _names(self) -> Iterator[Span]:
        for span in self._find(_NAME):
            first, _, rest = span.text.partition(" ")
            if first in _LEADING:
                span = Span(rest.lstrip(), span.start + len(span.text) - len(rest.lstrip()))
            if span.text and span.text[0].isupper():
                yield span

    def _find(self, pattern: re.Pattern[str]) -> Iterator[Span]:
        for found in pattern.finditer(self.text):
            span = Span(found[0], found.start())
            if self._free(span):
                yield span

    def _matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Go through the matches left, taking each."""
        for found in pattern.finditer(self.text):
            span = Span(found[0], found.start())
            if self._free(span):
                self._take(span)
                yield found

    def _places(self, words: set[str]) -> list[int]:
        return [x.start() for x in _WORD.finditer(self.text) if norm(x[0]) in words]

    def _free(self, span: Span) -> bool:
        end = span.start + len(span.text)
        return all(end <= a or span.start >= b for a, b in self._used)

    def _take(self, span: Span) -> Span:
        self._used.append((span.start, span.start + len(span.text)))
        return span


def _distance(span: Span, places: list[int], far: int) -> int:
    """Return how far a piece lies from the nearest place; before it counts double."""
    gaps = (span.start - place for place in places)
    return min((gap if gap >= 0 else -2 * gap for gap in gaps), default=far)
