"""Write digits and signs as they are read aloud, piece by piece; the rest does not change."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from toolmark.language import (
    number_words,
    spoken_amounts,
    spoken_dates,
    spoken_letters,
    text_lexer,
)
from toolmark.language.argument_facts import SpokenText, TextChange
from toolmark.language.spoken_pieces import Reader, SpokenPiece, piece_kind
from toolmark.language.text_lexer import Lexeme

FEATURES = (
    "date", "time", "money", "unit", "number", "code", "symbol", "acronym",
)  # fmt: skip
_NUMERIC_KINDS = frozenset({"number", "ordinal", "clock", "date", "month"})


def read_out(
    text: str, features: Collection[str] = FEATURES, *, day_first: bool | None = None
) -> SpokenText:
    """Return the text with digits and signs as they are read aloud, by the features that are on.

    `day_first` says how to read dates such as 3/4/2024; None follows the other dates of the text.
    """
    pieces = text_lexer.lex_text(text)
    shouting = sum(c.isupper() for c in text) > 0.6 * max(sum(c.isalpha() for c in text), 1)
    days = spoken_dates.dates_begin_with_day(pieces) if day_first is None else day_first
    parts: list[str] = []
    changes: list[TextChange] = []
    at, i, seen, seen_to = 0, 0, 0, 0
    while i < len(pieces):
        found = _read_piece(pieces, i, features, shouting, days)
        if found is None:
            i += 1
            continue
        if piece_kind(pieces, i + found.n) == "silent":  # a 10-day trip
            found = found._replace(n=found.n + 1)
        start, end = pieces[i].start, pieces[i + found.n - 1].end
        seen += len(text[seen_to:start].split())
        seen_to = start
        parts.append(text[at:start])
        parts.append(_with_separator(found.words, parts, pieces, i))
        parts.append(_separator_after(pieces, i, i + found.n))
        changes.append(TextChange(found.feature, seen, text[start:end], found.words))
        at, i = end, i + found.n
    parts.append(text[at:])
    spoken = re.sub(r"[ \t]{2,}", " ", "".join(parts)) if changes else text
    return SpokenText(
        re.sub(r" +([,.?!])(?=\s|$)", r"\1", spoken).strip() if changes else text, tuple(changes)
    )


def _with_separator(words: str, parts: list[str], pieces: Sequence[Lexeme], i: int) -> str:
    """Return the words with a space before them, and with a pause between two numbers in a row."""
    before = parts[-1][-1:] if parts[-1] else (parts[-2][-1:] if len(parts) > 1 else "")
    lead = " " if before.isalnum() or before in "_@,;" else ""
    if not i or pieces[i].glued or parts[-1].strip() or pieces[i].kind not in _NUMERIC_KINDS:
        return lead + words
    if pieces[i - 1].kind in _NUMERIC_KINDS or number_words.is_number_word(
        pieces[i - 1].text.lower()
    ):
        return ", " + words
    return lead + words


def _separator_after(pieces: Sequence[Lexeme], i: int, after: int) -> str:
    """Return the separator after a piece: a space, or a pause before number words."""
    if after >= len(pieces):
        return ""
    if pieces[after].glued:
        return "" if pieces[after].kind == "mark" else " "
    counted = pieces[i].kind in _NUMERIC_KINDS and number_words.is_number_word(
        pieces[after].text.lower()
    )
    return "," if counted else ""


def _read_piece(
    pieces: Sequence[Lexeme], i: int, features: Collection[str], shouting: bool, day_first: bool
) -> SpokenPiece | None:
    if pieces[i].kind == "date":
        date = spoken_dates.read_numeric_date(pieces[i].text, day_first=day_first)
        return date if "date" in features else None
    for reader in _PIECE_READERS:
        found = reader(pieces, i)
        if found is not None:
            return found if found.feature in features else None
    if not shouting and "acronym" in features:
        return (
            spoken_letters.read_state(pieces, i)
            or spoken_letters.read_roman_numeral(pieces, i)
            or spoken_letters.read_acronym(pieces, i)
        )
    return None


_PIECE_READERS: tuple[Reader, ...] = (
    spoken_amounts.read_unit_rate,
    spoken_dates.read_date,
    spoken_dates.read_clock,
    spoken_amounts.read_ratio,
    spoken_amounts.read_money,
    spoken_letters.read_mark,
    spoken_amounts.read_unit,
    spoken_amounts.read_number,
    spoken_letters.read_letters,
    spoken_letters.read_sign,
)
