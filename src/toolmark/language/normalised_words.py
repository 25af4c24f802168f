"""Plain words: the form in which transcripts and references are compared.

Plain words are in lower case, without punctuation and fillers. Digits and symbols are written as a
person says them, casual forms in full: "It's $55.20, um, at 10:30." -> it's fifty five dollars
twenty cents at ten thirty.

Many written forms can be said in more than one way: 123, USA, Dr., 5 km. `normalise_pair` reads
each text in the way that the other text uses, so that only a difference in sound is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolmark.language import figure_readings
from toolmark.language.figure_readings import (
    ONES_WORDS,
    SCALES,
    TENS_WORDS,
    cardinal_words,
    ordinal_words,
)
from toolmark.language.plain_forms import (
    NUMBER_WORD_PATTERN,
    NUMBER_WORDS,
    clipped_form_pattern,
    plain_forms,
    single_unit_pattern,
    unit_pattern,
)
from toolmark.language.value_words import MONTH_NAMES

__all__ = [
    "FILLER_WORDS",
    "NUMBER_WORDS",
    "cardinal_words",
    "normalise_pair",
    "normalise_words",
    "ordinal_words",
    "write_digits",
]

_FILLER_TEXT = "um umm uh uhh uhm er erm hm hmm mm mhm"
FILLER_WORDS = frozenset(_FILLER_TEXT.split())
_FIGURE = r"\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,9})?"
_SCALE = r"(?:\s?(k|m|bn|b|thousand|million|billion|trillion)\b)?"
_PRICE = re.compile(rf"(-?)([$€£])\s?(-?)({_FIGURE}){_SCALE}")
_PRICED = re.compile(rf"(?<![\d.,])({_FIGURE})\s?([$€£])(?!\s?\d)")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):([0-5]\d)(?!\d)")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3}){1,4}(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"\b(\d{1,9})(?:st|nd|rd|th)\b")
_DAY = re.compile(r"\b(" + "|".join(MONTH_NAMES) + r")\s+(\d{1,2})(?![\d:.]|,\d|st|nd|rd|th)")
_ISO = re.compile(r"(?<![\d-])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?![\d-])")
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])")
_DECADE = re.compile(r"(?<![\d.,])'?((?:1\d|20)?\d0)'?s\b")
_FRACTION = re.compile(r"(?<![\d/.])([1-9])[/\u2044]([2-9])(?![\d/])")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3})\s?k\b")
_LETTER = re.compile(r"(?<=\d)\s?([mglsh])\b")
_MINUS = re.compile(r"(?<![^\s(\[])-(?=\.?\d)")
_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
_DOTTED = re.compile(r"(?<![\w.@])(?:[^\W\d_]\.)+[^\W\d_]\b(?![.]?[\w@])")
_DOT = re.compile(r"(?<=[^\W_])\.(?=[^\W_])")
_JOINT = re.compile(r"(?<![^\W_])([^\W_]+)([-/])(?=([^\W_]+))")
_NOT_WORD = re.compile(r"[^\w']+")
_CAPITALS = re.compile(r"(?<![A-Za-z'])[A-Z]{2,7}(?![a-z'])")
_MAX_CAPITAL_WORDS = 3  # a longer text all in capitals: its capitals do not mark acronyms
_AND = re.compile(
    r"\b(hundred|thousand|million|dollars|euros|pounds) and (?=" + NUMBER_WORD_PATTERN + r"\b)"
)
_NEGATIVE = re.compile(rf"\bnegative (?={NUMBER_WORD_PATTERN}\b)")
_HALF = re.compile(rf"\b({NUMBER_WORD_PATTERN}|o'clock) ([ap])m\b")
_DIGIT = "(?:" + "|".join(ONES_WORDS[:10]) + ")"
_CENTS = re.compile(rf"\b(zero )?point ({_DIGIT}) ({_DIGIT}) (dollars|euros|pounds)\b")
_BRITISH = re.compile(r"\b(\w*)(met|lit)re(s?)\b")
_Choose: TypeAlias = Callable[[Sequence[str]], str]


def normalise_words(text: str, other: Sequence[str] = ()) -> list[str]:
    """Return the plain words of a text.

    A form with several ways to say it is read as in `other` (plain words), else in the usual way.
    """
    other_text = f" {' '.join(other)} "
    forms = plain_forms()

    def choose(ways: Sequence[str]) -> str:
        shortest = next((way for way in ways if f" {way} " in other_text), ways[0])
        longer = (
            way for way in ways if way.startswith(f"{shortest} ") and f" {way} " in other_text
        )
        return next(longer, shortest)

    text = (
        unicodedata.normalize("NFKC", _separate_fractions(text))
        .replace("\u2019", "'")
        .replace("\u2212", "-")
    )
    capitals = frozenset(m.lower() for m in _CAPITALS.findall(text))
    if len(capitals) > _MAX_CAPITAL_WORDS and text.upper() == text:
        capitals = frozenset()
    text = clipped_form_pattern().sub(lambda m: forms.clipped_forms[m[1]], text.lower())
    text = _read_figures(_read_amounts(_read_dates(_separate_initials(text), choose)), choose)
    text = _JOINT.sub(lambda m: _read_joint(m, other_text), text)
    text = _DOT.sub(" dot ", text)
    text = "".join(f" {forms.marks[c]} " if c in forms.marks else c for c in text)
    found: list[str] = []
    for word in _unify_phrases(_expand_words(text, other_text)).split():
        letters = " ".join(word)
        known = word in capitals or word in forms.initials or not re.search("[aeiouy']", word)
        split = (
            known
            and 1 < len(word) < 8
            and f" {word} " not in other_text
            and f" {letters} " in other_text
        )
        found += letters.split() if split else [word]
    return [word for word in found if word not in FILLER_WORDS]


def normalise_pair(one: str, two: str) -> tuple[list[str], list[str]]:
    """Return the plain words of two texts, each read in the way that the other text uses."""
    heard = normalise_words(two, normalise_words(one))
    return normalise_words(one, heard), heard


def _separate_fractions(text: str) -> str:
    """Put a space between a number and a fraction that follows it: 5\u00bd."""
    return re.sub(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])", " ", text)


def _separate_initials(text: str) -> str:
    """Write u.s. and p.m. as single letters."""
    return _DOTTED.sub(lambda m: f" {m[0].replace('.', ' ')} ", text)


def _read_dates(text: str, choose: _Choose) -> str:
    def read_date(m: re.Match[str], y: int, month: int, day: int) -> str:
        ways = figure_readings.date_readings(int(m[y]), int(m[month]), int(m[day]))
        return f" {choose([m[0], *ways])} "

    text = _ISO.sub(lambda m: read_date(m, 1, 2, 3), text)
    text = _SLASHED.sub(lambda m: read_date(m, 3, 1, 2), text)
    text = _DECADE.sub(lambda m: f" {figure_readings.decade_words(m[1])} ", text)
    return _DAY.sub(lambda m: choose([m[0], *_day_readings(m)]), text)


def _day_readings(m: re.Match[str]) -> list[str]:
    rank = ordinal_words(int(m[2]))
    return [f"{m[1]} {rank}", f"{m[1]} the {rank}"]


def _read_amounts(text: str) -> str:
    text = _PRICE.sub(lambda m: _read_price(m[4], m[5], m[2], m[1] or m[3]), text)
    text = _PRICED.sub(lambda m: _read_price(m[1], None, m[2], ""), text)
    return _MINUS.sub(" minus ", text)


def _read_price(figure: str, size: str | None, sign: str, minus: str) -> str:
    forms = plain_forms()
    scale = f" {forms.magnitudes.get(size, size)}" if size else ""
    return f" {'minus ' if minus else ''}{figure}{scale} {forms.currencies[sign]} "


def _read_figures(text: str, choose: _Choose) -> str:
    """Write figures as they are said; the most specific forms are handled first."""

    def read_fraction(m: re.Match[str]) -> str:
        above, below = int(m[1]), int(m[2])
        plain = f"{cardinal_words(above)} {cardinal_words(below)}"
        return f" {choose([plain, *figure_readings.fraction_readings(above, below)])} "

    def read_thousands(m: re.Match[str]) -> str:
        words = cardinal_words(int(m[1]))
        return f" {choose([f'{words} k', f'{words} thousand'])} "

    text = _CLOCK.sub(
        lambda m: f" {choose(figure_readings.clock_readings(int(m[1]), int(m[2])))} ", text
    )
    text = _ORDINAL.sub(lambda m: f" {ordinal_words(int(m[1]))} ", text)
    text = _FRACTION.sub(read_fraction, text)
    text = _THOUSANDS.sub(read_thousands, text)
    letters = plain_forms().unit_letters
    text = _LETTER.sub(lambda m: f" {choose([m[1], letters[m[1]] + 's', letters[m[1]]])} ", text)
    text = re.sub(r"(?<=\d)\s?mm\b", " millimeters ", text)  # elsewhere it is a filler
    text = re.sub(r"km/h|km / h", "kmh", text)
    text = re.sub(r"\u00b0\s?([cf])\b", _read_temperature_scale, text)
    text = _POINT.sub(" 0.", text)
    return _NUMBER.sub(lambda m: f" {choose(figure_readings.number_readings(m[0]))} ", text)


def _read_temperature_scale(m: re.Match[str]) -> str:
    return f" degrees {'celsius' if m[1] == 'c' else 'fahrenheit'} "


def _read_joint(m: re.Match[str], other_text: str) -> str:
    """Return the word for a dash or a slash between two words if the other text says it."""
    names = (name for name in plain_forms().joints[m[2]] if f" {m[1]} {name} {m[3]} " in other_text)
    return f"{m[1]} {next(names, '')} "


def _expand_words(text: str, other_text: str) -> str:
    """Return the words without punctuation, with casual and short forms written in full."""
    forms = plain_forms()
    found = []
    for word in (word.strip("'") for word in _NOT_WORD.sub(" ", text).split()):
        full = forms.casual_forms.get(word, word)
        if word in forms.abbreviations:
            full = next(
                (way for way in forms.abbreviations[word] if f" {way} " in other_text), word
            )
        elif full == word and re.search(r"([^\W\d_])\1\1", word) and len(set(word)) > 1:
            ways = [
                re.sub(r"([^\W\d_])\1\1+", rf"{replacement}", word)
                for replacement in (r"\1", r"\1\1")
            ]
            full = next((way for way in ways if f" {way} " in other_text), word)
        found.append(full)
    return " ".join(found)


def _unify_phrases(plain: str) -> str:
    """Give one form to the words next to numbers: units, a.m. and p.m., money."""
    forms = plain_forms()
    plain = _BRITISH.sub(r"\1\2er\3", plain)
    plain = _AND.sub(r"\1 ", _AND.sub(r"\1 ", plain))
    plain = re.sub(r"\bper cent\b", "percent", plain)
    plain = _NEGATIVE.sub("minus ", plain)
    plain = _HALF.sub(r"\1 \2 m", plain)
    plain = unit_pattern().sub(
        lambda m: f"{m[1]} {forms.compound_units.get(m[2]) or forms.units[m[2]] + 's'}", plain
    )
    plain = _CENTS.sub(_read_cents, plain)
    return single_unit_pattern().sub(_singular_unit, plain)


def _read_cents(m: re.Match[str]) -> str:
    n = 10 * ONES_WORDS.index(m[2]) + ONES_WORDS.index(m[3])
    small = f"{cardinal_words(n)} {'pence' if m[4] == 'pounds' else 'cents'}" if n else ""
    return small if m[1] and n else f"{'zero ' if m[1] else ''}{m[4]} {small}".strip()


def _singular_unit(m: re.Match[str]) -> str:
    before = m.string[max(m.start() - 16, 0) : m.start()].split()
    return m[0] if before and before[-1] in NUMBER_WORDS else f"one {m[1]}"


def write_digits(words_said: Sequence[str]) -> list[str]:
    """Write runs of number words in digits where `normalise_words` gives the same words back.

    A lone number below ten stays a word, as people write it.
    """
    written: list[str] = []
    at = 0
    while at < len(words_said):
        end, number = at, None
        while end < len(words_said) and end - at < 16 and words_said[end] in NUMBER_WORDS:
            end += 1
        if end < len(words_said) and words_said[end] in _ORDINALS:  # twenty first
            end = at
        while end > at and (number := _number_in_digits(words_said[at:end])) is None:
            end -= 1
        written.append(number or words_said[at])
        at = max(end, at + 1)
    return written


def _number_in_digits(run: Sequence[str]) -> str | None:
    whole, _, part = " ".join(run).partition(" point ")
    value = _parse_number_words(whole.split())
    if value is None or (value < 10 and not part):
        return None
    shapes = [str(value), f"{value:,}"]
    if part:
        figures = [ONES_WORDS.index(w) if w in ONES_WORDS[:10] else None for w in part.split()]
        if None in figures:
            return None
        shapes = [f"{shape}.{''.join(map(str, figures))}" for shape in shapes]
    run_words = list(run)
    return next((shape for shape in shapes if normalise_words(shape) == run_words), None)


def _parse_number_words(run: Sequence[str]) -> int | None:
    total = part = 0
    if (
        len(run) in (2, 3)
        and run[0] in ONES_WORDS[11:] + TENS_WORDS
        and run[1] in ONES_WORDS[10:] + TENS_WORDS
    ):
        years = [_parse_number_words(run[:1]), _parse_number_words(run[1:])]  # nineteen ninety five
        return years[0] * 100 + years[1] if years[0] and years[1] else None
    for word in run:
        if word in ONES_WORDS:
            part += ONES_WORDS.index(word)
        elif word in TENS_WORDS:
            part += 20 + 10 * TENS_WORDS.index(word)
        elif word == "hundred":
            part *= 100
        elif scale := next((size for size, name in SCALES if name == word), 0):
            total, part = total + part * scale, 0
        else:
            return None
    return total + part if run and total + part < 10**figure_readings.MAX_DIGITS else None


_ORDINALS = frozenset(ordinal_words(n) for n in (*range(1, 20), *range(20, 100, 10)))
