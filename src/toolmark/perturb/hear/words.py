"""Plain words: the one form in which transcripts and references are compared.

Lower case, no punctuation, digits and symbols as a person says them, fillers left out:
"It's $55.20, um, at 10:30." -> it's fifty five point two zero dollars at ten thirty.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_FILLERS = "um umm uh uhh uhm er erm hm hmm mm mhm"
_SAID = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
FILLERS = frozenset(_FILLERS.split())
_ONES = _SAID.split()
_TENS = _DECADES.split()
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"))
NUMBERS = frozenset([*_ONES, *_TENS, "hundred", "point", *(name for _, name in _SCALES)])
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_MARKS = {
    "@": "at", "&": "and", "+": "plus", "=": "equals", "_": "underscore", "#": "hash", "*": "star",
}  # fmt: skip
_MONEY = {"$": "dollars", "€": "euros", "£": "pounds"}
_MOST_DIGITS = 15
_AMOUNT = re.compile(r"([$€£])\s?(\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,9})?)")
_CLOCK = re.compile(r"\b(\d{1,2}):([0-5]\d)\b")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3}){1,4}(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"\b(\d{1,9})(?:st|nd|rd|th)\b")
_DOT = re.compile(r"(?<=[^\W_])\.(?=[^\W_])")
_NOT_WORD = re.compile(r"[^\w']+")
_AND = re.compile(r"\b(hundred|thousand|million) and (?=(?:" + "|".join(sorted(NUMBERS)) + r")\b)")


def words(text: str) -> list[str]:
    """Return the plain words of a text."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    text = _AMOUNT.sub(lambda m: f" {m[2]} {_MONEY[m[1]]} ", text)
    text = _CLOCK.sub(_clock, text)
    text = _ORDINAL.sub(lambda m: f" {ordinal(int(m[1]))} ", text)
    text = _NUMBER.sub(lambda m: f" {_said(m[0])} ", text)
    text = _DOT.sub(" dot ", text).replace("%", " percent ")
    text = "".join(f" {_MARKS[c]} " if c in _MARKS else c for c in text)
    plain = " ".join(word.strip("'") for word in _NOT_WORD.sub(" ", text).split())
    return [word for word in _AND.sub(r"\1 ", plain).split() if word not in FILLERS]


def cardinal(n: int) -> str:
    """Return a number below 10^15 in words, without "and"."""
    if n < 20:
        return _ONES[n]
    if n < 100:
        rest = f" {_ONES[n % 10]}" if n % 10 else ""
        return _TENS[n // 10 - 2] + rest
    if n < 1000:
        rest = f" {cardinal(n % 100)}" if n % 100 else ""
        return f"{_ONES[n // 100]} hundred{rest}"
    size, name = next(pair for pair in _SCALES if n >= pair[0])
    rest = f" {cardinal(n % size)}" if n % size else ""
    return f"{cardinal(n // size)} {name}{rest}"


def ordinal(n: int) -> str:
    """Return "twenty first" for 21."""
    *front, last = cardinal(n).split()
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = f"{last[:-1]}ieth"
    else:
        last = f"{last}th"
    return " ".join([*front, last])


def digits(said: Sequence[str]) -> list[str]:
    """Write runs of number words in digits, wherever `words` reads them back as they were.

    A lone number below ten stays a word, as people write it.
    """
    written: list[str] = []
    at = 0
    while at < len(said):
        end, number = at, None
        while end < len(said) and end - at < 16 and said[end] in NUMBERS:
            end += 1
        if end < len(said) and said[end] in _RANKS:  # twenty first
            end = at
        while end > at and (number := _written(said[at:end])) is None:
            end -= 1
        written.append(number or said[at])
        at = max(end, at + 1)
    return written


def _written(run: Sequence[str]) -> str | None:
    whole, _, part = " ".join(run).partition(" point ")
    value = _value(whole.split())
    if value is None or (value < 10 and not part):
        return None
    shapes = [str(value), f"{value:,}"]
    if part:
        figures = [_ONES.index(w) if w in _ONES[:10] else None for w in part.split()]
        if None in figures:
            return None
        shapes = [f"{shape}.{''.join(map(str, figures))}" for shape in shapes]
    said = list(run)
    return next((shape for shape in shapes if words(shape) == said), None)


def _value(run: Sequence[str]) -> int | None:
    total = part = 0
    if len(run) in (2, 3) and run[0] in _ONES[11:] + _TENS and run[1] in _ONES[10:] + _TENS:
        years = [_value(run[:1]), _value(run[1:])]  # nineteen ninety five
        return years[0] * 100 + years[1] if years[0] and years[1] else None
    for word in run:
        if word in _ONES:
            part += _ONES.index(word)
        elif word in _TENS:
            part += 20 + 10 * _TENS.index(word)
        elif word == "hundred":
            part *= 100
        elif scale := next((size for size, name in _SCALES if name == word), 0):
            total, part = total + part * scale, 0
        else:
            return None
    return total + part if run and total + part < 10**_MOST_DIGITS else None


def _said(number: str) -> str:
    whole, _, part = number.partition(".")
    plain = whole.replace(",", "")
    spelled = " ".join(_ONES[int(d)] for d in part)
    if len(plain) > _MOST_DIGITS or (plain[0] == "0" and len(plain) > 1):
        front = " ".join(_ONES[int(d)] for d in plain)
    elif "," not in whole and len(plain) == 4 and not part:
        front = _year(int(plain))
    elif "," not in whole and len(plain) in (5, 7, 10) and not part:  # codes and telephones
        front = " ".join(_ONES[int(d)] for d in plain)
    else:
        front = cardinal(int(plain))
    return f"{front} point {spelled}" if spelled else front


def _year(n: int) -> str:
    """Return 1100-1999 and 2010-2099 as years are said; "19 hundred" for full hundreds is not."""
    century, rest = divmod(n, 100)
    if not (11 <= century <= 20) or rest < 10 or 2000 <= n < 2010:
        return cardinal(n)
    return f"{cardinal(century)} {cardinal(rest)}"


def _clock(m: re.Match[str]) -> str:
    hour, minute = int(m[1]), int(m[2])
    if not minute:
        return f" {cardinal(hour)} "
    return f" {cardinal(hour)} {'oh ' if minute < 10 else ''}{cardinal(minute)} "


_RANKS = frozenset(ordinal(n) for n in (*range(1, 20), *range(20, 100, 10)))
