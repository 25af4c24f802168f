"""Plain words: the one form in which transcripts and references are compared.

Lower case, no punctuation, digits and symbols as a person says them, casual forms in full, fillers
left out: "It's $55.20, um, at 10:30." -> it's fifty five dollars twenty cents at ten thirty.

What is written can often be said in more than one way: 123, USA, Dr., 5 km. `pair` reads each text
as the other says it, so that only what sounds different is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolmark.perturb.hear import readings
from toolmark.perturb.hear.readings import MONTHS, ONES, SCALES, TENS, cardinal, ordinal

__all__ = ["FILLERS", "NUMBERS", "cardinal", "digits", "ordinal", "pair", "words"]

_FILLERS = "um umm uh uhh uhm er erm hm hmm mm mhm"
FILLERS = frozenset(_FILLERS.split())
NUMBERS = frozenset([*ONES, *TENS, "hundred", "point", *(name for _, name in SCALES)])
_MARKS = {
    "@": "at", "&": "and", "+": "plus", "=": "equals", "_": "underscore", "#": "hash", "*": "star",
    "%": "percent", "°": "degrees",
}  # fmt: skip
_MONEY = {"$": "dollars", "€": "euros", "£": "pounds"}
_SIZES = {"k": "thousand", "m": "million", "bn": "billion", "b": "billion"}
_UNITS = {
    "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "kg": "kilogram", "mg": "milligram",
    "ml": "milliliter", "lb": "pound", "lbs": "pound", "oz": "ounce", "hr": "hour", "hrs": "hour",
    "min": "minute", "mins": "minute", "sec": "second", "secs": "second", "gb": "gigabyte",
    "mb": "megabyte", "kb": "kilobyte", "tb": "terabyte", "kw": "kilowatt",
}  # fmt: skip
_WHOLE = {
    "mph": "miles per hour", "kmh": "kilometers per hour", "kph": "kilometers per hour",
    "ft": "feet", "ghz": "gigahertz", "mhz": "megahertz", "khz": "kilohertz", "hz": "hertz",
    "kwh": "kilowatt hours",
}  # fmt: skip
_LETTERS = {"m": "meter", "g": "gram", "l": "liter", "s": "second", "h": "hour"}
_SHORT = {
    "mr": ("mister",), "mrs": ("missus", "misses"), "dr": ("doctor", "drive"),
    "st": ("street", "saint"), "ave": ("avenue",), "rd": ("road",), "blvd": ("boulevard",),
    "vs": ("versus",), "etc": ("et cetera",), "dept": ("department",),
    **{name[:3]: (name,) for name in MONTHS if name != "may"}, "sept": ("september",),
}  # fmt: skip
_CASUAL = {
    "gonna": "going to", "wanna": "want to", "gotta": "got to", "hafta": "have to",
    "lemme": "let me", "gimme": "give me", "kinda": "kind of", "outta": "out of",
    "couldja": "could you", "wouldja": "would you", "tryna": "trying to", "lotta": "lot of",
    "dunno": "don't know", "ya": "you", "yer": "your", "yerself": "yourself", "ok": "okay",
    "sooo": "so", "theee": "the", "tooo": "to", "aaand": "and", "forrr": "for",
    "pleeease": "please", "caaan": "can", "neeed": "need", "innn": "in", "whaaat": "what",
    "aaall": "all", "liiike": "like",
}  # fmt: skip
_CLIPPED = {"em": "them", "im": "him", "cause": "because", "bout": "about"}
_INITIALS = frozenset(("usa", "uk", "fbi", "cia", "dna", "id", "api", "ip", "ai", "atm", "ceo"))
_FIGURE = r"\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,9})?"
_SCALE = r"(?:\s?(k|m|bn|b|thousand|million|billion|trillion)\b)?"
_PRICE = re.compile(rf"(-?)([$€£])\s?(-?)({_FIGURE}){_SCALE}")
_PRICED = re.compile(rf"(?<![\d.,])({_FIGURE})\s?([$€£])(?!\s?\d)")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):([0-5]\d)(?!\d)")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3}){1,4}(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"\b(\d{1,9})(?:st|nd|rd|th)\b")
_DAY = re.compile(r"\b(" + "|".join(MONTHS) + r")\s+(\d{1,2})(?![\d:.]|,\d|st|nd|rd|th)")
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
_JOINTS = {"-": ("dash", "hyphen"), "/": ("slash",)}
_CLIP = re.compile(r"(?<!\w)'(" + "|".join(_CLIPPED) + r")\b")
_NOT_WORD = re.compile(r"[^\w']+")
_CAPITALS = re.compile(r"(?<![A-Za-z'])[A-Z]{2,7}(?![a-z'])")
_SHOUTED = 3  # words in a text all of capitals: these tell nothing
_ANY = "(?:" + "|".join(sorted(NUMBERS)) + ")"
_AND = re.compile(r"\b(hundred|thousand|million|dollars|euros|pounds) and (?=" + _ANY + r"\b)")
_NEGATIVE = re.compile(rf"\bnegative (?={_ANY}\b)")
_HALF = re.compile(rf"\b({_ANY}|o'clock) ([ap])m\b")
_UNIT = re.compile(rf"\b({_ANY}) ({'|'.join([*_UNITS, *_WHOLE])})\b")
_DIGIT = "(?:" + "|".join(ONES[:10]) + ")"
_CENTS = re.compile(rf"\b(zero )?point ({_DIGIT}) ({_DIGIT}) (dollars|euros|pounds)\b")
_BRITISH = re.compile(r"\b(\w*)(met|lit)re(s?)\b")
_ONLY = "|".join(("dollar", "euro", "pound", "cent", *_UNITS.values()))
_SINGLE = re.compile(rf"\bone ({_ONLY})s\b")
_Choose: TypeAlias = Callable[[Sequence[str]], str]


def words(text: str, other: Sequence[str] = ()) -> list[str]:
    """Return the plain words of a text.

    What can be said in several ways is read as it stands in `other`, plain words, else as usual.
    """
    said = f" {' '.join(other)} "

    def choose(ways: Sequence[str]) -> str:
        first = next((way for way in ways if f" {way} " in said), ways[0])
        whole = (way for way in ways if way.startswith(f"{first} ") and f" {way} " in said)
        return next(whole, first)

    text = unicodedata.normalize("NFKC", _apart(text)).replace("\u2019", "'").replace("\u2212", "-")
    capitals = frozenset(m.lower() for m in _CAPITALS.findall(text))
    if len(capitals) > _SHOUTED and text.upper() == text:
        capitals = frozenset()
    text = _CLIP.sub(lambda m: _CLIPPED[m[1]], text.lower())
    text = _figures(_amounts(_dates(_letters(text), choose)), choose)
    text = _JOINT.sub(lambda m: _joint(m, said), text)
    text = _DOT.sub(" dot ", text)
    text = "".join(f" {_MARKS[c]} " if c in _MARKS else c for c in text)
    found: list[str] = []
    for word in _phrases(_plainly(text, said)).split():
        letters = " ".join(word)
        known = word in capitals or word in _INITIALS or not re.search("[aeiouy']", word)
        split = known and 1 < len(word) < 8 and f" {word} " not in said and f" {letters} " in said
        found += letters.split() if split else [word]
    return [word for word in found if word not in FILLERS]


def pair(one: str, two: str) -> tuple[list[str], list[str]]:
    """Return the plain words of two texts, each read as the other says it."""
    heard = words(two, words(one))
    return words(one, heard), heard


def _apart(text: str) -> str:
    """Keep a number away from a fraction behind it, which would run into it: 5\u00bd."""
    return re.sub(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])", " ", text)


def _letters(text: str) -> str:
    """Write u.s. and p.m. as letters."""
    return _DOTTED.sub(lambda m: f" {m[0].replace('.', ' ')} ", text)


def _dates(text: str, choose: _Choose) -> str:
    def dated(m: re.Match[str], y: int, month: int, day: int) -> str:
        ways = readings.date(int(m[y]), int(m[month]), int(m[day]))
        return f" {choose([m[0], *ways])} "

    text = _ISO.sub(lambda m: dated(m, 1, 2, 3), text)
    text = _SLASHED.sub(lambda m: dated(m, 3, 1, 2), text)
    text = _DECADE.sub(lambda m: f" {readings.decade(m[1])} ", text)
    return _DAY.sub(lambda m: choose([m[0], *_ranks(m)]), text)


def _ranks(m: re.Match[str]) -> list[str]:
    rank = ordinal(int(m[2]))
    return [f"{m[1]} {rank}", f"{m[1]} the {rank}"]


def _amounts(text: str) -> str:
    text = _PRICE.sub(lambda m: _price(m[4], m[5], m[2], m[1] or m[3]), text)
    text = _PRICED.sub(lambda m: _price(m[1], None, m[2], ""), text)
    return _MINUS.sub(" minus ", text)


def _price(figure: str, size: str | None, sign: str, minus: str) -> str:
    scale = f" {_SIZES.get(size, size)}" if size else ""
    return f" {'minus ' if minus else ''}{figure}{scale} {_MONEY[sign]} "


def _figures(text: str, choose: _Choose) -> str:
    """Write figures as they are said, the more special first."""

    def several(m: re.Match[str]) -> str:
        above, below = int(m[1]), int(m[2])
        plain = f"{cardinal(above)} {cardinal(below)}"
        return f" {choose([plain, *readings.fraction(above, below)])} "

    text = _CLOCK.sub(lambda m: f" {choose(readings.clock(int(m[1]), int(m[2])))} ", text)
    text = _ORDINAL.sub(lambda m: f" {ordinal(int(m[1]))} ", text)
    text = _FRACTION.sub(several, text)
    text = _THOUSANDS.sub(
        lambda m: f" {choose([f'{cardinal(int(m[1]))} k', f'{cardinal(int(m[1]))} thousand'])} ",
        text,
    )
    text = _LETTER.sub(lambda m: f" {choose([m[1], _LETTERS[m[1]] + 's', _LETTERS[m[1]]])} ", text)
    text = re.sub(r"(?<=\d)\s?mm\b", " millimeters ", text)  # elsewhere it is a filler
    text = re.sub(r"km/h|km / h", "kmh", text)
    text = re.sub(r"\u00b0\s?([cf])\b", _scale, text)
    text = _POINT.sub(" 0.", text)
    return _NUMBER.sub(lambda m: f" {choose(readings.number(m[0]))} ", text)


def _scale(m: re.Match[str]) -> str:
    return f" degrees {'celsius' if m[1] == 'c' else 'fahrenheit'} "


def _joint(m: re.Match[str], said: str) -> str:
    """Read a dash or a slash between two words if it is said between them."""
    names = (name for name in _JOINTS[m[2]] if f" {m[1]} {name} {m[3]} " in said)
    return f"{m[1]} {next(names, '')} "


def _plainly(text: str, said: str) -> str:
    """Return words without punctuation, casual and short forms in full."""
    found = []
    for word in (word.strip("'") for word in _NOT_WORD.sub(" ", text).split()):
        full = _CASUAL.get(word, word)
        if word in _SHORT:
            full = next((way for way in _SHORT[word] if f" {way} " in said), word)
        elif full == word and re.search(r"([^\W\d_])\1\1", word) and len(set(word)) > 1:
            ways = [re.sub(r"([^\W\d_])\1\1+", rf"{kept}", word) for kept in (r"\1", r"\1\1")]
            full = next((way for way in ways if f" {way} " in said), word)
        found.append(full)
    return " ".join(found)


def _phrases(plain: str) -> str:
    """Give one form to what numbers stand beside: units, halves of the day, money."""
    plain = _BRITISH.sub(r"\1\2er\3", plain)
    plain = _AND.sub(r"\1 ", _AND.sub(r"\1 ", plain))
    plain = re.sub(r"\bper cent\b", "percent", plain)
    plain = _NEGATIVE.sub("minus ", plain)
    plain = _HALF.sub(r"\1 \2 m", plain)
    plain = _UNIT.sub(lambda m: f"{m[1]} {_WHOLE.get(m[2]) or _UNITS[m[2]] + 's'}", plain)
    plain = _CENTS.sub(_cents, plain)
    return _SINGLE.sub(_single, plain)


def _cents(m: re.Match[str]) -> str:
    n = 10 * ONES.index(m[2]) + ONES.index(m[3])
    small = f"{cardinal(n)} {'pence' if m[4] == 'pounds' else 'cents'}" if n else ""
    return small if m[1] and n else f"{'zero ' if m[1] else ''}{m[4]} {small}".strip()


def _single(m: re.Match[str]) -> str:
    before = m.string[max(m.start() - 16, 0) : m.start()].split()
    return m[0] if before and before[-1] in NUMBERS else f"one {m[1]}"


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
        figures = [ONES.index(w) if w in ONES[:10] else None for w in part.split()]
        if None in figures:
            return None
        shapes = [f"{shape}.{''.join(map(str, figures))}" for shape in shapes]
    said = list(run)
    return next((shape for shape in shapes if words(shape) == said), None)


def _value(run: Sequence[str]) -> int | None:
    total = part = 0
    if len(run) in (2, 3) and run[0] in ONES[11:] + TENS and run[1] in ONES[10:] + TENS:
        years = [_value(run[:1]), _value(run[1:])]  # nineteen ninety five
        return years[0] * 100 + years[1] if years[0] and years[1] else None
    for word in run:
        if word in ONES:
            part += ONES.index(word)
        elif word in TENS:
            part += 20 + 10 * TENS.index(word)
        elif word == "hundred":
            part *= 100
        elif scale := next((size for size, name in SCALES if name == word), 0):
            total, part = total + part * scale, 0
        else:
            return None
    return total + part if run and total + part < 10**readings.MOST_DIGITS else None


_RANKS = frozenset(ordinal(n) for n in (*range(1, 20), *range(20, 100, 10)))
