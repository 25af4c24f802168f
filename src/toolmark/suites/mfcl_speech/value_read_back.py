"""Whether words read back a value of the whitelist, and how much they sound like it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from toolmark.language import number_words, spoken_letters, word_likeness
from toolmark.suites.mfcl_speech.speech_task_data import WhitelistValue

MIN_SHARED_LETTERS = 0.41  # with fewer letters in common, a dictionary word is not a mishearing
MIN_NUMBER_LIKENESS = 0.8  # likeness from which letters count as a number word


def reads_back(slot: Sequence[str], value: WhitelistValue) -> bool:
    """Return whether a value is read back; the day alone may stand for a date."""
    found = word_likeness.parse_date(value)
    if found is not None and list(slot) == [str(found.day)]:
        return True
    return any(word_likeness.contains_value(slot, way) for way in _spoken_variants(value))


def slot_likeness(slot: Sequence[str], value: WhitelistValue) -> float:
    """Return how similar a slot and a value are, in [0, 1]; a number word may be misspelt."""
    digits = word_likeness.spoken_value(value)
    numeric = digits.replace(".", "", 1).isdecimal()
    best = (
        0.0
        if numeric and not any(w.isdecimal() for w in slot)
        else word_likeness.value_likeness(slot, value)
    )
    if (
        len(slot) == 1
        and spoken_letters.is_dictionary_word(slot[0])
        and shared_letters(slot, digits) < MIN_SHARED_LETTERS
    ):
        best = 0.0
    if digits.isdecimal() and len(digits) < 10 and not any(word.isdecimal() for word in slot):
        name = re.sub(r"\W", "", number_words.cardinal_words(digits))
        like = SequenceMatcher(None, "".join(slot)[:80], name, autojunk=False).ratio()
        best = max(best, like if like >= MIN_NUMBER_LIKENESS else 0.0)
    return best


def shared_letters(slot: Sequence[str], value: str) -> float:
    """Return the share of letters, 0 to 1, that words share with a value, or a word of it."""
    heard = "".join(slot)[:80]
    parts = word_likeness.split_tokens(value[:320])
    candidates = ["".join(parts), *(part for part in parts if len(part) > 3)]
    return max(
        SequenceMatcher(None, heard, part[:80], autojunk=False).ratio() for part in candidates
    )


def clock_numbers(value: WhitelistValue) -> set[str]:
    """Return the numbers in a date or a time, as they are said."""
    out: set[str] = set()
    if (found := word_likeness.parse_date(value)) is not None:
        out |= {str(found.day), str(found.year), str(found.year // 100), str(found.year % 100)}
    if (clock := word_likeness.parse_time(value)) is not None:
        out |= {str(clock.hour), str(clock.hour % 12 or 12), str(clock.minute)}
    return out


def _spoken_variants(value: WhitelistValue) -> list[WhitelistValue]:
    """Return a value in its spoken variants: unchanged, and joined into words."""
    if not isinstance(value, str) or len(value) > 200:
        return [value]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", value)
    return [value, spaced] if spaced != value else [value]
