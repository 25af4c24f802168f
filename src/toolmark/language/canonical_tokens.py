"""Turn a text into canonical tokens: all spellings of a thing get the same token."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from toolmark.language import figure_readings, number_words, text_lexer
from toolmark.language.text_lexer import Lexeme
from toolmark.language.value_words import COMPASS_NAMES, MONTH_NAMES, value_words


class Token(NamedTuple):
    """One token: its canonical text, the numbers that it may mean, its span in characters."""

    text: str
    start: int
    end: int
    values: tuple[Decimal, ...] = ()
    pause: bool = False  # whether a pause follows


_SYNONYMS = {"vs": "versus", "inches": "inch"}
_TEMPERATURE_SCALES = {"C": "celsius", "F": "fahrenheit", "K": "kelvin"}


def _fold_text(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")


def tokenize_text(text: str) -> Iterator[Token]:
    """Yield the tokens of a text: signs as words, words case-folded, dates as dates."""
    pieces = text_lexer.lex_text(text)
    for n in range(len(pieces)):
        yield from _piece_tokens(pieces, n)


def _piece_tokens(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    start, end = piece.start, piece.end
    match piece.kind:
        case "word":
            yield from _word_tokens(pieces, n)
        case "date":
            year, month, day = text_lexer.parse_date(piece.text)
            yield date_token(month, day, start, end)
            yield number_token(str(year), start, end)
        case "month":
            first, last = piece.text.split("/")
            yield Token(MONTH_NAMES[int(first) - 1], start, end)
            yield number_token(last, start, end)
        case "clock":
            yield from _clock_tokens(piece)
        case "decade":
            yield decade_token(re.sub(r"[^\ds]", "", piece.text), start, end)
        case "number":
            yield number_token(piece.text.replace(",", ""), start, end)
        case "ordinal":
            yield ordinal_token(int(piece.text[:-2]), start, end)
        case "sign":
            yield from _sign_tokens(pieces, n)
        case "mark":
            feet = piece.text in {"'", "’"} and text_lexer.is_feet_mark(pieces, n)
            inch = "inch" * (piece.text == text_lexer.INCH_MARK)
            yield Token("foot" if feet else inch, start, end)
        case "silent":
            return


def _clock_tokens(piece: Lexeme) -> Iterator[Token]:
    """Yield the tokens of a clock time; zero seconds equal no seconds."""
    hours, minutes, *seconds = piece.text.split(":")
    yield number_token(hours + minutes, piece.start, piece.end, hours, minutes)
    if any(map(int, seconds)):
        yield Token("and", piece.start, piece.end)
        yield number_token(str(int(seconds[0])), piece.start, piece.end)
        yield Token("seconds", piece.start, piece.end)


def decade_token(text: str, start: int, end: int) -> Token:
    """Return the token of a decade, such as 1980s."""
    return Token(f"‹{text}›", start, end, (Decimal(text[:-1]),))


def _sign_tokens(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    after = pieces[n + 1] if n + 1 < len(pieces) else None
    before_amount = after is not None and (
        after.kind == "number" or after.text in value_words().currencies
    )
    minus = before_amount and piece.text in "-−–" and after is not None and after.glued
    if minus and not (piece.glued and n and _is_operand(pieces[n - 1])):
        yield Token("minus", piece.start, piece.end)
    elif piece.text == "/" and n + 1 < len(pieces) and n and _is_unit(pieces, n + 1):
        yield Token("per", piece.start, piece.end)
    elif text_lexer.is_range_sign(pieces, n):
        yield Token("to", piece.start, piece.end)
    elif text_lexer.is_trailing_currency(pieces, n):
        yield Token(value_words().currencies[piece.text][0], piece.start, piece.end)
    elif name := text_lexer.hash_sign_name(pieces, n):
        yield Token(name, piece.start, piece.end)
    elif piece.text in value_words().currencies:
        yield Token(piece.text, piece.start, piece.end)
    else:
        for word in value_words().symbols.get(piece.text, _fold_text(piece.text)).split():
            yield Token(word, piece.start, piece.end)


def _is_operand(piece: Lexeme) -> bool:
    if piece.kind in {"mark", "silent"} or piece.text in {"^", "="}:
        return False
    return piece.text not in value_words().currencies


def _word_tokens(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    text = re.sub(r"['’]s$", "", piece.text)
    if text_lexer.is_magnitude_letter(pieces, n):
        yield Token(value_words().magnitudes[piece.text], piece.start, piece.end)
    elif text_lexer.is_compass_letter(pieces, n):
        yield Token(COMPASS_NAMES[piece.text], piece.start, piece.end)
    elif n and text in _TEMPERATURE_SCALES and pieces[n - 1].text in {"°", "degrees", "degree"}:
        yield Token(_TEMPERATURE_SCALES[text], piece.start, piece.end)
    elif (
        text in value_words().units
        and _is_unit(pieces, n)
        and not (
            text_lexer.is_abbreviation_start(pieces, n) or text_lexer.is_letter_label(pieces, n)
        )
    ):
        for word in value_words().units[text][0].split():
            yield Token(word.casefold(), piece.start, piece.end)
    else:
        word = "by" if text_lexer.is_by_sign(pieces, n) else _SYNONYMS.get(text, _fold_text(text))
        yield Token(word, piece.start, piece.end)


def _is_unit(pieces: Sequence[Lexeme], n: int) -> bool:
    """Return whether an abbreviation is a unit: after a number, in a unit fraction, or alone."""
    if len(pieces) == 1 or (n and pieces[n - 1].kind == "number"):
        return True
    upper = (
        n > 1
        and pieces[n - 1].text == "/"
        and pieces[n].glued
        and pieces[n - 1].glued
        and pieces[n - 2].text in value_words().units
    )
    lower = (
        n + 2 < len(pieces)
        and pieces[n + 1].text == "/"
        and pieces[n + 2].text in value_words().units
    )
    return upper or (lower and pieces[n + 1].glued and pieces[n + 2].glued)


def number_token(written: str, start: int, end: int, *others: str) -> Token:
    """Return the token of a number in digits; `others` are numbers that it may also mean."""
    padded = len(written) > 1 and written[0] == "0" and "." not in written
    text = written if padded or len(written) > 40 else number_words.plain_decimal(Decimal(written))
    return Token(f"‹{text}›", start, end, tuple(map(Decimal, (written, *others))))


def ordinal_token(n: int, start: int, end: int) -> Token:
    """Return the token of an ordinal."""
    return Token(f"‹{figure_readings.ordinal_digits(n)}›", start, end, (Decimal(n),))


def date_token(month: int, day: int, start: int, end: int) -> Token:
    """Return the token of a day of the year; the numbers of day and month match it too."""
    return Token(f"‹{month:02}-{day:02}›", start, end, (Decimal(day), Decimal(month)))
