"""Plain texts, names of persons, and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from toolmark.core.errors import UsageError
from toolmark.language.value_tokens import ValueToken, cut_values, is_glued, plain_text, text_at
from toolmark.language.written_names import find_person, read_person
from toolmark.language.written_places import Place, find_places, read_place, same_place
from toolmark.language.written_tables import name_words
from toolmark.scoring.comparators.answer_statements import judge_answer
from toolmark.scoring.comparators.comparison import (
    Comparator,
    Comparison,
    show_value,
    visible_text,
)
from toolmark.scoring.comparators.statement_guards import AnswerText, Candidate

_HYPHENS = frozenset("-‐‑")
_PATH_SIGNS = frozenset("./\\_~@")
_ARTICLES = frozenset({"the", "a", "an"})


class PlainText(Comparator, frozen=True, kw_only=True):
    """A text without a form of its own, by its words.

    - `exact`: whether case, accents, signs and white space count; in prose, case alone.
    """

    kind: ClassVar[str] = "text"

    exact: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare two texts by their words; an article before them does not count."""
        wanted, shown = _expected_text(expected, self.kind), show_value(expected)
        if not isinstance(given, str):
            return Comparison(False, f"the value is of type {type(given).__name__}, no text")
        if self.exact or not any(char.isalnum() for char in wanted):
            same = given == wanted if self.exact else given.strip() == wanted.strip()
        else:
            same = any(_words(given) == _words(form) for form in self._forms(wanted))
        return Comparison(same, f"the value is {'' if same else 'not '}{shown}")

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the words of an answer: the expected ones stand together in it."""
        wanted, text = plain_text(_expected_text(expected, self.kind)), visible_text(text)
        tokens = cut_values(text)
        candidates = [Candidate(*span, True) for span in self._spans(tokens, wanted)]
        answer = AnswerText(tokens, candidates, is_complete=False)
        return judge_answer(text, answer, show_value(expected))

    def _spans(self, tokens: Sequence[ValueToken], wanted: str) -> list[tuple[int, int]]:
        """Return where the expected words stand."""
        words = cut_values(wanted)
        return [
            (first, last)
            for first, last in find_words(tokens, words)
            if not self.exact or _is_same_case(tokens[first:last], words)
        ]

    def _forms(self, wanted: str) -> Sequence[str]:
        """Return the ways to write the expected text."""
        return (wanted,)


def find_words(
    tokens: Sequence[ValueToken], wanted: Sequence[ValueToken]
) -> Iterator[tuple[int, int]]:
    """Yield where words stand together; signs between them do not count, as in e-mail."""
    words = [token.folded for token in wanted if token.kind != "sign"]
    words = words or [token.folded for token in wanted]
    at = 0
    while at < len(tokens):
        last = _words_end(tokens, at, words)
        if last and not _is_part(tokens, at, last):
            yield at, last
        at = last or at + 1


def _words_end(tokens: Sequence[ValueToken], at: int, words: Sequence[str]) -> int:
    i = at
    for n, word in enumerate(words):
        while n and i < len(tokens) and tokens[i].kind == "sign" and i - at < 4 * len(words):
            if tokens[i].text in ".!?;:" and not is_glued(tokens, i + 1):
                return 0
            i += 1
        text = text_at(tokens, i)
        is_same = text == word or (text.endswith("'s") and text.removesuffix("'s") == word)
        if not is_same:
            return 0
        i += 1
    return i if words else 0


def _is_part(tokens: Sequence[ValueToken], at: int, last: int) -> bool:
    """Return whether what is found is a part of a longer word or number: non-toxic, 3.5."""
    before = is_glued(tokens, at) and tokens[at - 1].text in _HYPHENS and is_glued(tokens, at - 1)
    after = text_at(tokens, last) in _HYPHENS and is_glued(tokens, last)
    touched = is_glued(tokens, at) and tokens[at - 1].kind != "sign"
    touched = touched or (is_glued(tokens, last) and tokens[last].kind != "sign")
    return before or touched or (after and is_glued(tokens, last + 1)) or _goes_on(tokens, at, last)


def _goes_on(tokens: Sequence[ValueToken], at: int, last: int) -> bool:
    """Return whether a name with points or slashes in it is longer: b.txt of b.txt.bak."""
    is_path = any(token.text in _PATH_SIGNS and token.glued for token in tokens[at:last])
    sign = text_at(tokens, last) in _PATH_SIGNS and is_glued(tokens, last)
    more = is_glued(tokens, last + 1) and tokens[last + 1].kind != "sign"
    return is_path and sign and more


def _is_same_case(found: Sequence[ValueToken], wanted: Sequence[ValueToken]) -> bool:
    ours = [token.text for token in found if token.kind != "sign"]
    return ours == [token.text for token in wanted if token.kind != "sign"]


def _words(text: str) -> list[str]:
    tokens = cut_values(text)
    words = [token.folded for token in tokens if token.kind != "sign" or token.text in "+-#%$€£"]
    first = 0
    while first < len(words) - 1 and words[first] in _ARTICLES:
        first += 1
    words = words[first:]
    return [word for word in words if word != "-"] or words


def _expected_text(expected: Any, kind: str) -> str:
    if isinstance(expected, str) and expected.strip():
        return expected
    raise UsageError(
        f"the comparator {kind} needs an expected text, got {show_value(expected)!r}; "
        "next: write a text, or name another comparator"
    )


class Name(Comparator, frozen=True, kw_only=True):
    """A person, by given names and family name.

    - `initials`: whether J. Smith matches John Smith. Initials of middle names always do.
    - `family_alone`: whether the family name is enough.
    """

    kind: ClassVar[str] = "name"

    initials: bool = False
    family_alone: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a text that is a name, in any order, with initials or titles."""
        wanted, shown = _expected_text(expected, self.kind), show_value(expected)
        if not isinstance(given, str):
            return Comparison(False, f"the value is of type {type(given).__name__}, no name")
        same = any(self._is_whole(each, wanted) for each in _spellings(given))
        return Comparison(same, f"the value is {'' if same else 'not '}{shown}")

    def _is_whole(self, given: str, expected: str) -> bool:
        """Return whether a text is a name and nothing more; titles do not count."""
        own, tokens = read_person(given), cut_values(given)
        n_words = len(own.given) + len(own.family)
        return any(n_words <= last - first for first, last in self._find(tokens, expected))

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the names in an answer."""
        wanted, shown = _expected_text(expected, self.kind), show_value(expected)
        found = Comparison(False, f"the answer does not contain {shown}")
        for each in _spellings(visible_text(text)):
            tokens = cut_values(each)
            candidates = [
                Candidate(first, last, True) for first, last in self._find(tokens, wanted)
            ]
            if candidates:
                answer = AnswerText(tokens, candidates, is_complete=False)
                found = judge_answer(each, answer, shown)
        return found

    def _find(self, tokens: Sequence[ValueToken], expected: str) -> list[tuple[int, int]]:
        spans = {
            span
            for each in _spellings(expected)
            for span in find_person(
                tokens,
                read_person(each),
                family_alone=self.family_alone,
                initials=self.initials,
            )
        }
        return sorted(spans)


def _spellings(text: str) -> list[str]:
    """Return a text, and the text with ue for ü where that differs."""
    plain = plain_text(text)
    letters = name_words().transliterations
    return list(dict.fromkeys([plain, "".join(letters.get(char, char) for char in plain)]))


class PlaceName(Comparator, frozen=True, kw_only=True):
    """A place: a country, a part of one, a city, or any name with what it lies in."""

    kind: ClassVar[str] = "place"

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare two places by their names and by what is said of where they lie."""
        place, shown = _expected_place(expected), show_value(expected)
        if not isinstance(given, str):
            return Comparison(False, f"the value is of type {type(given).__name__}, no place")
        same = same_place(read_place(plain_text(given)), place)
        return Comparison(same, f"the value is {'' if same else 'not '}{shown}")

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the places in an answer."""
        place, text = _expected_place(expected), visible_text(text)
        tokens, name = cut_values(text), expected.split(",")[0].split("(")[0].strip()
        candidates = [
            Candidate(found.first, found.last, same_place(found.place, place))
            for found in find_places(tokens, [name])
            if not _is_part(tokens, found.first, found.last)
        ]
        answer = AnswerText(tokens, candidates, is_open=True)
        return judge_answer(text, answer, show_value(expected))


def _expected_place(expected: Any) -> Place:
    return read_place(plain_text(_expected_text(expected, "place")))
