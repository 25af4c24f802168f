"""Cut a text into pieces that are read as one: dates, clock times, numbers, words, signs, marks.

A mark is punctuation: it is heard as a pause or not at all. A sign is said by its name: it is
inside a code, an address or a formula. A hyphen between two plain words is silent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from toolmark.language.value_words import COMPASS_NAMES, value_words

Kind: TypeAlias = Literal[
    "date", "month", "clock", "decade", "number", "ordinal", "word", "sign", "mark", "silent"
]  # fmt: skip


class Lexeme(NamedTuple):
    """One piece: kind, text, span (characters), and whether it touches the piece before."""

    kind: Kind
    text: str
    start: int
    end: int
    glued: bool


_YEAR, _MONTH, _DAY = r"(?:1[5-9]|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_PIECE = re.compile(
    r"(?P<date>(?<!\d)[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?<![\d/])(?<!\d[-.:])(?:{_YEAR}(?P<y>[-/.]){_MONTH}(?P=y){_DAY}(?!(?P=y)?\d)"
    rf"|(?:{_DAY}(?P<d>[-/.]){_MONTH}(?P=d)|{_MONTH}(?P<m>[-/.]){_DAY}(?P=m))"
    rf"{_YEAR}(?![-/.]?\d)))"
    rf"|(?P<month>(?<![\w/.,$€£-]){_MONTH}/(?:19|20)\d\d(?![/.-]?\w))"
    r"|(?P<clock>(?<![\d:.])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?![\d:]))"
    r"|(?P<decade>(?<![\w.,$€£-])(?:1\d|20)\d0['’]?s(?!\w)|(?:(?<=the )|(?<=['’]))[2-9]0s(?!\w))"
    r"|(?P<ordinal>(?<![\d.])\d{1,4}(?:st|nd|rd|th)\b)"
    r"|(?P<number>(?<![\w.-])\d+(?:\.\d+[eE][-+]?|[eE][-+])\d{1,3}(?![-\w])"
    r"|(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]*\d)"
    r"|(?<!\d)(?<!\d\.)\d+\.\d+(?!\.?\d)|\d+)"
    r"|(?P<word>[^\W\d_¹²³]+(?:['’][^\W\d_¹²³]+)*)"
    r"|(?P<sign>\*\*|&&|\|\||\S)"
)
_ALWAYS_SAID = frozenset("@_&+=%^~°€£¥₹$×÷≤≥±√#\\|<>²³")
INCH_MARK = "″"
"""The text of a piece that is an inch mark."""
_PUNCTUATION = frozenset("″()[]{}\"'`“”‘’«»…¿¡•")


def lex_text(text: str) -> list[Lexeme]:
    """Return the pieces of a text in order, without spaces."""
    matches = [
        (m.lastgroup or "sign", m.group(), m.start(), m.end()) for m in _PIECE.finditer(text)
    ]
    code_spans, inch_positions = _code_spans(text), inch_mark_positions(text)
    pieces: list[Lexeme] = []
    for kind, piece, start, end in matches:
        glued = bool(pieces) and pieces[-1].end == start
        if kind == "number" and not glued and _is_dotted_time(pieces, piece, text[end : end + 6]):
            kind, piece = "clock", piece.replace(".", ":")
        if kind == "sign":
            kind = _sign_kind(text, piece, start, end, code_spans)
            if start in inch_positions:
                piece = INCH_MARK
            if piece in "-–" and _is_subtraction(text, start):
                kind, piece = "sign", "−"
        pieces.append(Lexeme(kind, piece, start, end, glued))  # type: ignore[arg-type]
    return pieces


def _is_dotted_time(pieces: Sequence[Lexeme], piece: str, after: str) -> bool:
    """Return whether a number is a time with a point, by its context: 11.00 a.m., a date."""
    if not re.fullmatch(r"(?:[01]?\d|2[0-3])\.[0-5]\d", piece):
        return False
    if re.match(r"(?i)\s?[ap]\.?m\b", after):
        return True
    if re.match(r"\s?[\w%°$€£¥₹]", after) and not re.match(r"\s[a-z]", after):
        return False
    near = [other for other in pieces[-3:] if other.text not in {",", "at", "from", "time"}]
    timed = bool(pieces) and pieces[-1].text == "time"
    return timed or bool(pieces and near and near[-1].kind == "date")


def inch_mark_positions(text: str) -> frozenset[int]:
    """Return the positions where " means inches: after a number, where it closes no quotation."""
    found, opened = list[int](), False
    for m in re.finditer('"', text):
        before = text[max(m.start() - 12, 0) : m.start()]
        number = re.search(r"(?:^|[\s(,:x×])\d+(?:\.\d+)?$", before)
        if number and not opened and re.match(r"\s*[x×]\s*\d|(?!\w)", text[m.end() :][:9]):
            found.append(m.start())
        else:
            opened = not opened
    return frozenset(found)


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of codes: runs without spaces in which digits or signs touch letters."""
    runs = []
    for m in re.finditer(r"[^\s,;()\[\]{}\"“”]+", text):
        run = m.group().strip(".!?:'’‘`")
        if re.search(r"\w[@_/\\:=#|.&+~]+\w|[^\W\d_][-]?\d|\d[-]?[^\W\d_]", run):
            at = m.start() + m.group().find(run)
            runs.append((at, at + len(run)))
    return runs


def _sign_kind(
    text: str, piece: str, start: int, end: int, code_spans: list[tuple[int, int]]
) -> Kind:
    """Return whether a sign is said, is only heard as a pause, or is silent."""
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    inner = before.isalnum() and after.isalnum()
    if piece in _ALWAYS_SAID or len(piece) == 2:
        return "sign"
    if piece in _PUNCTUATION:
        return "mark"
    if piece == "*":
        return "sign" if before not in " *" or inner or (after == " " and before == " ") else "mark"
    if piece in "-−–":
        return _dash_kind(text, before, after, start, inner, code_spans)
    if piece == "/":
        return "sign"
    if piece in ".:?!;,":
        if (
            piece == "."
            and before.islower()
            and re.match(r"[A-Z][a-z]+(?![\w.])", text[end : end + 30])
        ):
            return "mark"  # the space after a sentence is missing
        half = re.search(r"(?i)\d\s?[ap]$", text[max(start - 4, 0) : start])
        if piece == "." and half and re.match(r"(?i)m(?!\w)", text[end : end + 2]):
            return "silent"  # a.m.
        if piece == "." and _is_initial_point(text, start, before, after):
            return "silent"
        touching = (
            inner or (piece == ":" and after in "/\\") or (before in "@/_" and after.isalnum())
        )
        return (
            "sign"
            if (touching and piece in ".:") or (_is_in_spans(start, code_spans) and inner)
            else "mark"
        )
    return "sign" if unicodedata.category(piece[0]) in {"Sm", "Sc"} else "mark"


def _dash_kind(
    text: str, before: str, after: str, start: int, inner: bool, code_spans: list[tuple[int, int]]
) -> Kind:
    if after.isdigit() and not before.isalnum() and before not in ")_-":
        return "sign"  # a minus
    if after in value_words().currencies and before not in ")_-":
        return "sign"  # a debt, or a range of amounts
    if before == after == " " and _is_between_clocks(text, start):
        return "sign"
    if not inner:
        return "mark"
    if before.isdigit() and re.match(r"[a-z]{3,}(?![-\w])", text[start + 1 : start + 30]):
        digits = re.search(r"(?<![\w.-])\d{1,3}(?:\.\d+)?$", text[max(start - 9, 0) : start])
        return "silent" if digits else "sign"  # a 10-day trip
    near = before.isdigit() or after.isdigit() or _is_in_spans(start, code_spans)
    return "sign" if near else "silent"


def _is_subtraction(text: str, at: int) -> bool:
    """Return whether a dash is a minus between terms of a formula: 3x^2 - 2x or x^2-1."""
    before, after = text[max(at - 30, 0) : at], text[at + 1 : at + 31]
    if _is_between_clocks(text, at):
        return False
    if before.endswith(" ") and after.startswith(" "):
        left = re.search(r"(?:\d|\)|(?<![A-Za-z])[a-z]|\^\w)\s+$", before)
        return bool(left and re.match(r"\s+(?:\d|\(|[a-z](?![A-Za-z']))", after))
    run = re.split(r"\s", before)[-1] + re.split(r"\s", after)[0]
    return bool(
        re.search(r"\w$", before) and re.match(r"[\w(]", after) and re.search(r"[\^*=+]", run)
    )


def _is_between_clocks(text: str, at: int) -> bool:
    """Return whether a dash is between two clock times."""
    before, after = text[max(at - 12, 0) : at], text[at + 1 : at + 8]
    return bool(re.search(r":\d\d\s*$", before) and re.match(r"\s*\d?\d:\d\d", after))


def _is_in_spans(at: int, spans: list[tuple[int, int]]) -> bool:
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][1] <= at:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low][0] <= at < spans[low][1]


def _is_initial_point(text: str, at: int, before: str, after: str) -> bool:
    alone = at < 2 or not text[at - 2].isalnum()
    return alone and before.isupper() and after.isupper() and not text[at + 2 : at + 3].isalnum()


def is_range_sign(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the sign at i means "to": between times, amounts, or increasing numbers."""
    if not 0 < i < len(pieces) - 1 or pieces[i].text not in {"-", "−", "–"}:
        return False
    low, high = pieces[i - 1], pieces[i + 1]
    if low.kind == high.kind == "clock":
        return True
    currencies = value_words().currencies
    if i > 1 and pieces[i - 2].text in currencies and low.kind == "number" and pieces[i].glued:
        has_currency = i + 2 < len(pieces) and high.text in currencies
        return (pieces[i + 2] if has_currency else high).kind == "number" and high.glued
    if low.kind != "number" or high.kind != "number" or not (pieces[i].glued and high.glued):
        return False
    free = not low.glued or pieces[i - 2].kind == "mark"
    ends = i + 2 >= len(pieces) or not pieces[i + 2].glued or pieces[i + 2].kind == "mark"
    if not (free and ends and low.text.isdigit() and high.text.isdigit()):
        return False
    if max(len(low.text), len(high.text)) <= 3:
        return int(low.text) < int(high.text)
    return all(re.fullmatch(r"1[5-9]\d\d|20\d\d", year.text) for year in (low, high))


def is_by_sign(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the x at i means "by": 12x18, 12" x 18"."""
    if not 0 < i < len(pieces) - 1 or pieces[i].text not in {"x", "×"}:
        return False
    if pieces[i - 1].text == INCH_MARK:
        return pieces[i + 1].kind == "number"
    numbers = pieces[i - 1].kind == pieces[i + 1].kind == "number"
    return numbers and pieces[i].glued and pieces[i + 1].glued


def parse_date(text: str, *, day_first: bool = False) -> tuple[int, int, int]:
    """Return year, month and day of a date piece; `day_first` decides for 3/4/2024."""
    a, b, c = (int(part) for part in re.split(r"[-/.]", text))
    if a > 31:
        return a, b, c
    return (c, b, a) if a > 12 or (day_first and b <= 12) else (c, a, b)


def is_compass_letter(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the letter at i is a compass direction: 37.8651 N, 45° W."""
    if (
        not 0 < i < len(pieces)
        or pieces[i].text not in COMPASS_NAMES
        or _touches_previous(pieces, i + 1)
    ):
        return False
    last = pieces[i - 1]
    return last.text == "°" or (last.kind == "number" and "." in last.text)


def is_magnitude_letter(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the letter at i multiplies an amount of money: $5k, -$1.2M."""
    if (
        not 1 < i < len(pieces)
        or pieces[i].text not in value_words().magnitudes
        or _touches_previous(pieces, i + 1)
    ):
        return False
    return (
        pieces[i].glued
        and pieces[i - 1].kind == "number"
        and pieces[i - 2].text in value_words().currencies
    )


def is_trailing_currency(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the sign at i is the currency of the number before it: 100$."""
    if (
        not 0 < i < len(pieces)
        or pieces[i].text not in value_words().currencies
        or _touches_previous(pieces, i + 1)
    ):
        return False
    return pieces[i].glued and pieces[i - 1].kind == "number"


def is_feet_mark(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the mark at i is between feet and inches: 5'11."""
    if not 0 < i < len(pieces) - 1 or not (pieces[i].glued and pieces[i + 1].glued):
        return False
    return pieces[i - 1].kind == pieces[i + 1].kind == "number"


_ELECTRIC_WORD = re.compile(
    r"(?i)(?:amp|fuse|circuit|wire|electr|volt|ohm|resist|breaker|solenoid|coil|battery|charg)|"
    r"current$"
)


def is_letter_label(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the capital letter at i is a label, not a unit: size 10 W, is it 5 A."""
    if not re.fullmatch(r"[A-Z]", pieces[i].text) or i < 1 or pieces[i - 1].kind != "number":
        return False
    if i > 1 and pieces[i - 2].text.lower() in value_words().label_nouns:
        return True
    rate = i + 1 < len(pieces) and pieces[i + 1].text == "/" and pieces[i + 1].glued
    if pieces[i].text != "A" or pieces[i].glued or "." in pieces[i - 1].text or rate:
        return False
    return not any(_ELECTRIC_WORD.match(piece.text) for piece in pieces[max(i - 12, 0) : i + 4])


def is_abbreviation_start(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the letter at i begins an abbreviation with points: A.D."""
    return i + 2 < len(pieces) and pieces[i + 1].text == "." and _touches_previous(pieces, i + 2)


def _touches_previous(pieces: Sequence[Lexeme], i: int) -> bool:
    return i < len(pieces) and pieces[i].glued and pieces[i].kind in {"word", "number"}


def hash_sign_name(pieces: Sequence[Lexeme], i: int) -> str:
    """Return what a # is called: "number" before a short number, "hashtag" before a word."""
    after = pieces[i + 1] if i + 1 < len(pieces) else None
    if (
        pieces[i].text != "#"
        or after is None
        or not after.glued
        or _touches_previous(pieces, i + 2)
    ):
        return ""
    if after.kind == "number" and len(after.text) < 5:
        return "number"
    tag = after.kind == "word" and len(after.text) > 2 and not pieces[i].glued
    return "hashtag" if tag else ""
