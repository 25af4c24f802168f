"""Whether values sound alike, stand in a text, or are names: what speech may have done to them."""

from __future__ import annotations

import re
from collections.abc import Set
from difflib import SequenceMatcher
from functools import cache
from typing import Any

from toolmark.language import number_words, word_likeness
from toolmark.language.value_words import MONTH_NAMES, WEEKDAY_NAMES
from toolmark.suites.mfcl_speech import call_differences
from toolmark.suites.mfcl_speech.clarification_lexicon import lexicon
from toolmark.suites.mfcl_speech.content_words import content_words

_MIN_LETTER_LIKENESS = 0.6  # of the letters, in order: boston / austin 0.67, red / green 0.5
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_NON_WORD = re.compile(r"\W+")
_SENTENCE_END = re.compile(r"[.!?:]\s|\n")
_DAYS_AND_MONTHS = frozenset((*WEEKDAY_NAMES, *MONTH_NAMES))


@cache
def small_words() -> frozenset[str]:
    """Return the words that no name consists of."""
    checking = {word for word in lexicon().checking_words if word.isalpha()}
    return content_words().small_words | checking


def is_in_text(value: Any, text: str) -> bool:
    """Return whether the words of a value stand in a text, in their order."""
    if not text:
        return False
    value_text = call_differences.value_words((value,))
    return (
        bool(value_text) and f" {value_text} " in f" {' '.join(word_likeness.split_tokens(text))} "
    )


def sounds_alike(one: Any, other: Any) -> bool:
    """Return whether two values may sound alike: number by number, else by letters and sounds."""
    left_words = call_differences.value_words((one,)).split()
    right_words = call_differences.value_words((other,)).split()
    pairs = [(a, b) for a, b in zip(left_words, right_words, strict=False) if a != b]
    numbers = all(_NUMBER.fullmatch(word) for pair in pairs for word in pair)
    if pairs and numbers and len(left_words) == len(right_words):
        return all(_numbers_sound_alike(a, b) for a, b in pairs)
    left_text, right_text = " ".join(left_words), " ".join(right_words)
    spelled_alike = (
        SequenceMatcher(None, left_text, right_text, autojunk=False).ratio() >= _MIN_LETTER_LIKENESS
    )
    return (
        spelled_alike
        or word_likeness.value_likeness(left_words, right_text) >= word_likeness.MIN_LIKENESS
    )


def _numbers_sound_alike(one: str, other: str) -> bool:
    """Return whether numbers are confused in speech.

    They are where one word is taken for another that sounds like it (teens and tens, five and nine)
    or is dropped, or one digit of several that are read one by one.
    """
    short, long = sorted((one, other), key=len)
    cuts = {long[:index] + long[index + 1 :] for index in range(len(long))}
    if len(short) > 1 and short in cuts:
        return True
    a, b = (
        number_words.cardinal_words(number).replace("-", " ").split() for number in (one, other)
    )
    edits = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    changed = [(a[i:j], b[k:m]) for kind, i, j, k, m in edits if kind != "equal"]
    if len(changed) != 1 or max(map(len, changed[0])) > 1:
        return False
    lost, new = ({*part} for part in changed[0])
    groups = content_words().confused_numbers
    return not (lost and new) or any(lost | new <= confused for confused in groups)


def is_proper_noun(value: Any, written: str) -> bool:
    """Return whether a value is a proper noun: the user's text writes it with capitals.

    The first word of a sentence has a capital anyway: there the value's own spelling decides. Days
    and months are not names, nor are words of two letters.
    """
    if not isinstance(value, str) or (value.islower() and not value.replace(" ", "").isalpha()):
        return False  # ai-news-today is made from words, and no name
    parts = [part for part in re.findall(r"[^\W\d_]+", value) if len(part) > 2]
    if not parts or _DAYS_AND_MONTHS.issuperset(part.casefold() for part in parts):
        return False
    starts = {
        gap.end()
        for gap in _NON_WORD.finditer(written)
        if not gap.start() or _SENTENCE_END.search(gap[0])
    } | {0}
    capitals = [
        capital for part in parts if (capital := _has_capital(part, written, starts)) is not None
    ]
    return bool(capitals) and all(capitals)


def _has_capital(part: str, written: str, starts: Set[int]) -> bool | None:
    """Return whether a word is written with a capital; None if it is not written, or too small."""
    if part.casefold() in small_words():
        return None
    places = [match.start() for match in re.finditer(rf"(?i)\b{re.escape(part)}", written)]
    if not places:
        return None
    inner = [position for position in places if position not in starts]
    return any(written[position].isupper() for position in inner) if inner else part[0].isupper()
