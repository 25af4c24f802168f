"""Dates, years, decades and clock times as they are read aloud."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolmark.language import number_words, text_lexer
from toolmark.language.spoken_pieces import SpokenPiece, is_glued, piece_kind, text_at
from toolmark.language.text_lexer import Lexeme
from toolmark.language.value_words import MONTH_NAMES

_MONTH_PATTERN = re.compile("|".join([*MONTH_NAMES, *(name[:3] for name in MONTH_NAMES), "sept"]))


def dates_begin_with_day(pieces: Sequence[Lexeme]) -> bool:
    """Return whether some date of the text must begin with its day: 19/03/2024."""
    dates = [re.split(r"[-/.]", piece.text) for piece in pieces if piece.kind == "date"]
    return any(12 < int(parts[0]) < 32 for parts in dates)


def read_numeric_date(text: str, *, day_first: bool) -> SpokenPiece:
    """Read a date in numbers: 2024-03-19."""
    year, month, last = text_lexer.parse_date(text, day_first=day_first)
    words = (
        f"{MONTH_NAMES[month - 1].capitalize()} {number_words.ordinal_words(last)}, "
        f"{year_or_number(str(year))}"
    )
    return SpokenPiece(1, words, "date")


def read_date(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read April 25, 2023, 25 April, and decades."""
    if piece_kind(pieces, i) == "decade":
        return SpokenPiece(1, number_words.decade_words(re.sub(r"\D", "", pieces[i].text)), "date")
    if piece_kind(pieces, i) == "month":
        month, year = pieces[i].text.split("/")
        return SpokenPiece(
            1, f"{MONTH_NAMES[int(month) - 1].capitalize()} {year_or_number(year)}", "date"
        )
    if _is_month(pieces, i) and (day := _day_number(pieces, i + 1)):
        skip = 3 if text_at(pieces, i + 2) == "," else 2
        return _read_year_after(
            pieces, i, skip, f"{_month_name(pieces, i)} {number_words.ordinal_words(day)}"
        )
    of = text_at(pieces, i + 1) == "of"
    if (day := _day_number(pieces, i)) and _is_month(pieces, i + 1 + of):
        skip = 2 + of + (text_at(pieces, i + 2 + of) == ",")
        words = f"{number_words.ordinal_words(day)} of {_month_name(pieces, i + 1 + of)}"
        return _read_year_after(pieces, i, skip, words, plain=2 + of)
    return None


def _read_year_after(
    pieces: Sequence[Lexeme], i: int, skip: int, words: str, plain: int = 2
) -> SpokenPiece:
    year = text_at(pieces, i + skip)
    if re.fullmatch(r"1\d{3}|20\d\d", year) and not is_glued(pieces, i + skip):
        return SpokenPiece(skip + 1, f"{words}, {year_or_number(year)}", "date")
    return SpokenPiece(plain, words, "date")


def _month_name(pieces: Sequence[Lexeme], i: int) -> str:
    """Return the full name of a month."""
    short = pieces[i].text.lower()[:3]
    return next(name for name in MONTH_NAMES if name.startswith(short)).capitalize()


def _is_month(pieces: Sequence[Lexeme], i: int) -> bool:
    text = text_at(pieces, i)
    return (
        piece_kind(pieces, i) == "word"
        and text[:1].isupper()
        and bool(_MONTH_PATTERN.fullmatch(text.lower()))
    )


def _day_number(pieces: Sequence[Lexeme], i: int) -> int:
    if piece_kind(pieces, i) not in {"number", "ordinal"} or (
        is_glued(pieces, i + 1) and piece_kind(pieces, i + 1) in {"word", "sign"}
    ):
        return 0
    digits = re.sub(r"\D+$", "", pieces[i].text)
    return int(digits) if digits.isdigit() and len(digits) <= 2 and 1 <= int(digits) <= 31 else 0


def year_or_number(digits: str) -> str:
    """Return four digits that may be a year in words."""
    n = int(digits)
    return number_words.year_words(n) if 1100 <= n < 2100 else number_words.cardinal_words(digits)


def read_clock(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read 14:30, 2:30 pm and 2 pm."""
    text = text_at(pieces, i)
    n, half = _day_half(pieces, i + 1)
    if piece_kind(pieces, i) == "clock":
        words = number_words.clock_words(text, am_pm_follows=bool(half))
        return SpokenPiece(1 + n, f"{words} {half} M" if half else words, "time")
    hour = piece_kind(pieces, i) == "number" and bool(re.fullmatch(r"[1-9]\d?", text))
    return (
        SpokenPiece(1 + n, f"{number_words.cardinal_words(text)} {half} M", "time")
        if half and hour
        else None
    )


def _day_half(pieces: Sequence[Lexeme], i: int) -> tuple[int, str]:
    """Return how many pieces "am", "p.m." and similar forms take, and "A" or "P"."""
    if found := re.fullmatch(r"(?i)([ap])m", text_at(pieces, i)):
        return 1, found[1].upper()
    has_points = piece_kind(pieces, i + 1) == "silent" and text_at(pieces, i + 2).lower() == "m"
    if not has_points or text_at(pieces, i).lower() not in {"a", "p"}:
        return 0, ""
    after = text_at(pieces, i + 4)  # a full stop that ends the sentence stays
    closed = text_at(pieces, i + 3) == "." and bool(after) and not after[0].isupper()
    return 3 + closed, pieces[i].text.upper()
