"""Compare words as a listener does: without case and accents, numbers as digits, names by sound.

Number words, months and the classes of consonants are English only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, time
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from toolmark.language.value_words import MONTH_NAMES

MIN_LIKENESS = 0.72  # least likeness of two keys, or of two spellings, that counts as a mis-hearing
_MAX_COMPARED_CHARS = 80

_LETTER_TABLE = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d",
     "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": " - "}
)  # fmt: skip
_TOKEN = re.compile(r"\d+\.\d+|[^\W_]+")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_POSSESSIVE = re.compile(r"(?<=\w)'s\b")


def _split_words(text: str) -> list[str]:
    return text.split()


_SMALL_NUMBERS = _split_words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _split_words("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _split_words(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_NUMBER_VALUES = {word: n for names in (_SMALL_NUMBERS, _ORDINALS) for n, word in enumerate(names)}
_NUMBER_VALUES |= {word: 10 * n for n, word in enumerate(_TENS, 2)}
_NUMBER_VALUES |= {f"{word[:-1]}ieth": 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}

_DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%B %d, %Y",
    "%d %B %Y",
    "%d.%m.%Y",
)
_TIME_FORMATS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I %p", "%I:%M%p", "%I%p")

_CONSONANT_CLASSES = {
    letter: key
    for letters, key in (("bpfv", "1"), ("cgjkqsxz", "2"), ("dt", "3"), ("l", "4"), ("mn", "5"))
    for letter in letters
} | {"r": "6"}


def plain_text(text: str) -> str:
    """Return the text in lower case without accents, with straight quotes."""
    split = unicodedata.normalize("NFKD", text.casefold().translate(_LETTER_TABLE))
    return "".join(letter for letter in split if not unicodedata.combining(letter))


def split_tokens(text: str) -> list[str]:
    """Return the plain words of a text; spoken and written numbers are digits."""
    text = _THOUSANDS.sub("", _ORDINAL.sub(r"\1", plain_text(text)))
    text = text.replace("a.m", "am").replace("p.m", "pm")
    return _add_number_words(_TOKEN.findall(_POSSESSIVE.sub("", text).replace("'", "")))


def _add_number_words(words: Sequence[str]) -> list[str]:
    """Return the words with runs of number words added up: `two hundred fifty` is `250`."""
    out: list[str] = []
    total, room = 0, 0  # the number so far, and the limit of what may be added to it; 0: no number
    for word in words:
        value = _NUMBER_VALUES.get(word)
        if value is not None:
            if 0 < value < room:
                out[-1] = str(total := total + value)
            else:
                out.append(str(total := value))
            room = 10 if value >= 20 else 1
        elif word in _SCALES and out and out[-1].isdecimal() and len(out[-1]) < 10:
            out[-1] = str(total := _apply_scale(int(out[-1]), _SCALES[word]))
            room = _SCALES[word]
        else:
            out.append(word)
            total, room = (int(word), 1) if word.isdecimal() and len(word) < 10 else (0, 0)
    return out


def _apply_scale(number: int, scale: int) -> int:
    """Multiply the number before a scale: all of it, or the part after a greater scale."""
    greater_part = number - number % (scale * 10) if scale == 100 and number >= 1000 else 0
    return greater_part + (number - greater_part) * scale


def parse_date(value: Any) -> date | None:
    """Return the value as a date; None if it is not one."""
    return found.date() if (found := _parse_with_formats(value, _DATE_FORMATS)) else None


def parse_time(value: Any) -> time | None:
    """Return the value as a time of day; None if it is not one."""
    return found.time() if (found := _parse_with_formats(value, _TIME_FORMATS)) else None


def _parse_with_formats(value: Any, formats: Sequence[str]) -> datetime | None:
    if not isinstance(value, str) or len(value) > 30:
        return None
    for form in formats:
        try:
            return datetime.strptime(value.strip(), form)
        except ValueError:
            continue
    return None


def contains_value(words: Sequence[str], value: Any) -> bool:
    """Return whether these words state a value, in any of the ways to say it."""
    if (found := parse_date(value)) is not None:
        months = {MONTH_NAMES[found.month - 1], MONTH_NAMES[found.month - 1][:3]}
        if months & set(words) and str(found.day) in words:
            return True
    if (clock := parse_time(value)) is not None:
        past = [str(clock.minute), f"{clock.minute:02}"] if clock.minute else ["", "00", "0"]
        hours = {str(clock.hour), f"{clock.hour:02}", str(clock.hour % 12 or 12)}
        if any(_contains_joined(words, hour + minute) for hour in hours for minute in past):
            return True
    return _contains_joined(words, "".join(split_tokens(spoken_value(value))))


def spoken_value(value: Any) -> str:
    """Return a value as it is said: an integer without its decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _contains_joined(words: Sequence[str], joined: str) -> bool:
    """Return whether some consecutive words, joined without spaces, equal `joined`."""
    if not joined or len(joined) > 1000:
        return False
    for start in range(len(words)):
        built = ""
        for word in words[start:]:
            built += word
            if built == joined:
                return True
            if not joined.startswith(built):
                break
    return False


@lru_cache(maxsize=4096)
def sound_key(text: str) -> str:
    """Return the classes of a word's consonants, repeats only once (after Russell's Soundex, 1918).

    Words that sound alike have similar keys; vowels and h, w, y are ignored.
    """
    text = text.replace("ph", "f").replace("gh", "").replace("tch", "ch")
    keys = [_CONSONANT_CLASSES.get(letter, letter if letter.isdigit() else "") for letter in text]
    return "".join(
        key for index, key in enumerate(keys) if key and (index == 0 or keys[index - 1] != key)
    )


def value_likeness(heard_words: Sequence[str], value: Any) -> float:
    """Return how likely the words are a mis-heard value, in [0, 1], by letters or by sound.

    If a value has several words, one part of it also counts: a surname, a street.
    """
    heard = "".join(heard_words)[:_MAX_COMPARED_CHARS]
    parts = split_tokens(str(value)[: 4 * _MAX_COMPARED_CHARS])
    candidates = [parts, *([part] for part in parts if len(parts) > 1 and len(part) > 3)]
    return max(
        (_word_likeness(heard, "".join(part)[:_MAX_COMPARED_CHARS]) for part in candidates),
        default=0.0,
    )


def _word_likeness(a: str, b: str) -> float:
    if not a or not b:
        return 0.0
    letters = SequenceMatcher(None, a, b, autojunk=False).ratio()
    if a.isdecimal() or b.isdecimal():
        return letters if a == b else 0.0
    x, y = sound_key(a), sound_key(b)
    if not x and not y:
        return max(letters, MIN_LIKENESS if min(len(a), len(b)) > 2 else 0.0)
    if min(len(x), len(y)) < 2 and letters < 0.4:
        return letters
    return max(letters, SequenceMatcher(None, x, y, autojunk=False).ratio())
