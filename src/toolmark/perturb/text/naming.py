"""From wording to tokens: each piece under the one name that all its spellings share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from toolmark.perturb.text import lexer, numerals
from toolmark.perturb.text.lexer import Lexeme
from toolmark.perturb.text.tables import COMPASS, CURRENCIES, MAGNITUDES, MONTHS, SYMBOLS, UNITS


class Token(NamedTuple):
    """What a stretch of text means: its canonical text, the numbers it may be, its span."""

    text: str
    start: int
    end: int
    values: tuple[Decimal, ...] = ()
    pause: bool = False  # a pause follows


_ALIKE = {"vs": "versus", "inches": "inch"}
_SCALE = {"C": "celsius", "F": "fahrenheit", "K": "kelvin"}


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")


def named(text: str) -> Iterator[Token]:
    """Yield the pieces under their names: signs as words, words folded, dates as dates."""
    pieces = lexer.lex(text)
    for n in range(len(pieces)):
        yield from _piece(pieces, n)


def _piece(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    start, end = piece.start, piece.end
    match piece.kind:
        case "word":
            yield from _words(pieces, n)
        case "date":
            year, month, day = lexer.calendar(piece.text)
            yield date(month, day, start, end)
            yield digits(str(year), start, end)
        case "month":
            first, last = piece.text.split("/")
            yield Token(MONTHS[int(first) - 1], start, end)
            yield digits(last, start, end)
        case "clock":
            yield from _timed(piece)
        case "decade":
            yield decade(re.sub(r"[^\ds]", "", piece.text), start, end)
        case "number":
            yield digits(piece.text.replace(",", ""), start, end)
        case "ordinal":
            yield ranked(int(piece.text[:-2]), start, end)
        case "sign":
            yield from _sign(pieces, n)
        case "mark":
            tall = piece.text in {"'", "’"} and lexer.tall(pieces, n)
            inch = "inch" * (piece.text == lexer.INCH)
            yield Token("foot" if tall else inch, start, end)
        case "silent":
            return


def _timed(piece: Lexeme) -> Iterator[Token]:
    """Yield a clock time; no seconds are as good as none said."""
    hours, minutes, *seconds = piece.text.split(":")
    yield digits(hours + minutes, piece.start, piece.end, hours, minutes)
    if any(map(int, seconds)):
        yield Token("and", piece.start, piece.end)
        yield digits(str(int(seconds[0])), piece.start, piece.end)
        yield Token("seconds", piece.start, piece.end)


def decade(text: str, start: int, end: int) -> Token:
    """Return the token of a decade, such as 1980s."""
    return Token(f"‹{text}›", start, end, (Decimal(text[:-1]),))


def _sign(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    after = pieces[n + 1] if n + 1 < len(pieces) else None
    owed = after is not None and (after.kind == "number" or after.text in CURRENCIES)
    minus = owed and piece.text in "-−–" and after is not None and after.glued
    if minus and not (piece.glued and n and _solid(pieces[n - 1])):
        yield Token("minus", piece.start, piece.end)
    elif piece.text == "/" and n + 1 < len(pieces) and n and _scale(pieces, n + 1):
        yield Token("per", piece.start, piece.end)
    elif lexer.ranged(pieces, n):
        yield Token("to", piece.start, piece.end)
    elif lexer.trailing(pieces, n):
        yield Token(CURRENCIES[piece.text][0], piece.start, piece.end)
    elif name := lexer.hashed(pieces, n):
        yield Token(name, piece.start, piece.end)
    elif piece.text in CURRENCIES:
        yield Token(piece.text, piece.start, piece.end)
    else:
        for word in SYMBOLS.get(piece.text, _plain(piece.text)).split():
            yield Token(word, piece.start, piece.end)


def _solid(piece: Lexeme) -> bool:
    return piece.kind not in {"mark", "silent"} and piece.text not in {"^", "=", *CURRENCIES}


def _words(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    text = re.sub(r"['’]s$", "", piece.text)
    if lexer.compass(pieces, n) or lexer.magnified(pieces, n):
        name = (MAGNITUDES if lexer.magnified(pieces, n) else COMPASS)[piece.text]
        yield Token(name, piece.start, piece.end)
    elif n and text in _SCALE and pieces[n - 1].text in {"°", "degrees", "degree"}:
        yield Token(_SCALE[text], piece.start, piece.end)
    elif (
        text in UNITS
        and _scale(pieces, n)
        and not (lexer.initial(pieces, n) or lexer.lettered(pieces, n))
    ):
        for word in UNITS[text][0].split():
            yield Token(word.casefold(), piece.start, piece.end)
    else:
        word = "by" if lexer.sized(pieces, n) else _ALIKE.get(text, _plain(text))
        yield Token(word, piece.start, piece.end)


def _scale(pieces: Sequence[Lexeme], n: int) -> bool:
    """Tell whether an abbreviation is a unit: after a number, in a fraction of units, or alone."""
    if len(pieces) == 1 or (n and pieces[n - 1].kind == "number"):
        return True
    upper = (
        n > 1
        and pieces[n - 1].text == "/"
        and pieces[n].glued
        and pieces[n - 1].glued
        and pieces[n - 2].text in UNITS
    )
    lower = n + 2 < len(pieces) and pieces[n + 1].text == "/" and pieces[n + 2].text in UNITS
    return upper or (lower and pieces[n + 1].glued and pieces[n + 2].glued)


def digits(shown: str, start: int, end: int, *others: str) -> Token:
    """Return the token of a number in digits, which may also be one of the others."""
    padded = len(shown) > 1 and shown[0] == "0" and "." not in shown
    text = shown if padded or len(shown) > 40 else numerals.plain(Decimal(shown))
    return Token(f"‹{text}›", start, end, tuple(map(Decimal, (shown, *others))))


def ranked(n: int, start: int, end: int) -> Token:
    """Return the token of an ordinal."""
    return Token(f"‹{numerals.suffixed(n)}›", start, end, (Decimal(n),))


def date(month: int, day: int, start: int, end: int) -> Token:
    """Return the token of a day of the year; it may be meant by its numbers too."""
    return Token(f"‹{month:02}-{day:02}›", start, end, (Decimal(day), Decimal(month)))
