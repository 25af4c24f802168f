"""Words as a listener compares them: without case and accents, numbers as digits, names by sound.

English only: number words, months and the classes of consonants are English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, time
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

NEAR = 0.72  # likeness of two keys, or of two spellings, from which they pass for a mis-hearing
_SHOWN = 80  # characters compared

_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d",
     "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": " - "}
)  # fmt: skip
_TOKEN = re.compile(r"\d+\.\d+|[^\W_]+")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_OWNER = re.compile(r"(?<=\w)'s\b")


def _split(text: str) -> list[str]:
    return text.split()


_SMALL = _split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _split("twenty thirty forty fifty sixty seventy eighty ninety")
_NTH = _split(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_VALUES = {word: n for names in (_SMALL, _NTH) for n, word in enumerate(names)}
_VALUES |= {word: 10 * n for n, word in enumerate(_TENS, 2)}
_VALUES |= {f"{word[:-1]}ieth": 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}

MONTHS = _split(
    "january february march april may june july august september october november december"
)
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%B %d, %Y", "%d %B %Y", "%d.%m.%Y")
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I %p", "%I:%M%p", "%I%p")

_CLASSES = {
    letter: key
    for letters, key in (("bpfv", "1"), ("cgjkqsxz", "2"), ("dt", "3"), ("l", "4"), ("mn", "5"))
    for letter in letters
} | {"r": "6"}


def plain(text: str) -> str:
    """Return the text in small letters without accents, with straight quotes."""
    split = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(letter for letter in split if not unicodedata.combining(letter))


def tokens(text: str) -> list[str]:
    """Return the words of a text, plain; numbers, spoken or written, are digits."""
    text = _THOUSANDS.sub("", _ORDINAL.sub(r"\1", plain(text)))
    text = text.replace("a.m", "am").replace("p.m", "pm")
    return _counted(_TOKEN.findall(_OWNER.sub("", text).replace("'", "")))


def _counted(words: Sequence[str]) -> list[str]:
    """Return the words with runs of number words added up: `two hundred fifty` is `250`."""
    out: list[str] = []
    total, room = 0, 0  # the number so far, and what may still be added to it; 0: no number
    for word in words:
        value = _VALUES.get(word)
        if value is not None:
            if 0 < value < room:
                out[-1] = str(total := total + value)
            else:
                out.append(str(total := value))
            room = 10 if value >= 20 else 1
        elif word in _SCALES and out and out[-1].isdecimal() and len(out[-1]) < 10:
            out[-1] = str(total := _scaled(int(out[-1]), _SCALES[word]))
            room = _SCALES[word]
        else:
            out.append(word)
            total, room = (int(word), 1) if word.isdecimal() and len(word) < 10 else (0, 0)
    return out


def _scaled(number: int, scale: int) -> int:
    """Multiply what stands before a scale: all of it, or what came after a greater scale."""
    done = number - number % (scale * 10) if scale == 100 and number >= 1000 else 0
    return done + (number - done) * scale


def day(value: Any) -> date | None:
    """Return the date that a value is."""
    return found.date() if (found := _read(value, _DATES)) else None


def hour(value: Any) -> time | None:
    """Return the time of day that a value is."""
    return found.time() if (found := _read(value, _TIMES)) else None


def _read(value: Any, formats: Sequence[str]) -> datetime | None:
    if not isinstance(value, str) or len(value) > 30:
        return None
    for form in formats:
        try:
            return datetime.strptime(value.strip(), form)
        except ValueError:
            continue
    return None


def holds(words: Sequence[str], value: Any) -> bool:
    """Tell whether a value is said in these words, in any of the ways that it can be said."""
    if (found := day(value)) is not None:
        months = {MONTHS[found.month - 1], MONTHS[found.month - 1][:3]}
        if months & set(words) and str(found.day) in words:
            return True
    if (clock := hour(value)) is not None:
        past = [str(clock.minute), f"{clock.minute:02}"] if clock.minute else ["", "00", "0"]
        hours = {str(clock.hour), f"{clock.hour:02}", str(clock.hour % 12 or 12)}
        if any(_within(words, hour + minute) for hour in hours for minute in past):
            return True
    return _within(words, "".join(tokens(told(value))))


def told(value: Any) -> str:
    """Return a value as it is said: a whole number without its decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _within(words: Sequence[str], joined: str) -> bool:
    """Tell whether some words in a row, written together, are this."""
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
def sound(text: str) -> str:
    """Return the classes of a word's consonants, repeats once (after Russell's Soundex, 1918).

    Words that sound alike have like keys; vowels and h, w, y count for nothing.
    """
    text = text.replace("ph", "f").replace("gh", "").replace("tch", "ch")
    keys = [_CLASSES.get(letter, letter if letter.isdigit() else "") for letter in text]
    return "".join(key for at, key in enumerate(keys) if key and (at == 0 or keys[at - 1] != key))


def likeness(said: Sequence[str], value: Any) -> float:
    """Return how far words pass for a mis-heard value, in [0, 1]: by letters or by sound.

    A part of a value of several words counts by itself: a surname, a street.
    """
    heard = "".join(said)[:_SHOWN]
    parts = tokens(str(value)[: 4 * _SHOWN])
    whole = [parts, *([part] for part in parts if len(parts) > 1 and len(part) > 3)]
    return max((_like(heard, "".join(part)[:_SHOWN]) for part in whole), default=0.0)


def _like(a: str, b: str) -> float:
    if not a or not b:
        return 0.0
    letters = SequenceMatcher(None, a, b, autojunk=False).ratio()
    if a.isdecimal() or b.isdecimal():
        return letters if a == b else 0.0
    x, y = sound(a), sound(b)
    if not x and not y:
        return max(letters, NEAR if min(len(a), len(b)) > 2 else 0.0)
    if min(len(x), len(y)) < 2 and letters < 0.4:
        return letters
    return max(letters, SequenceMatcher(None, x, y, autojunk=False).ratio())
