"""Money, measures, ratios and numbers as they are read aloud."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from toolmark.language import number_words, ratio_words, text_lexer
from toolmark.language.spoken_dates import year_or_number
from toolmark.language.spoken_pieces import SpokenPiece, is_glued, piece_kind, text_at
from toolmark.language.text_lexer import Lexeme
from toolmark.language.value_words import value_words

_VERSION_WORDS = frozenset({"version", "release", "v"})
_COINS = frozenset({"dollar", "euro", "pound"})
_LABEL_WORD = re.compile(r"(?i)^(id|number|code|zip|zipcode|pin|account|card|phone)$")


class Amount(NamedTuple):
    """Money as written: how many pieces, the number in words, the currency in words."""

    n: int
    number: str
    money: str


def read_money(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read $5, 5€, -$5, $1.2M, $5.20 and the range $20-$30."""
    negative = (
        text_at(pieces, i) in "-−–" and piece_kind(pieces, i) == "sign" and is_glued(pieces, i + 1)
    )
    first = _parse_amount(pieces, i + negative)
    if first is None or (negative and text_at(pieces, i + 1) not in value_words().currencies):
        return None
    n, number, money = first.n + negative, "minus " * negative + first.number, first.money
    if text_lexer.is_range_sign(pieces, i + n):
        last = _parse_amount(pieces, i + n + 1)
        if last and last.money.split()[0].rstrip("s") == money.split()[0].rstrip("s"):
            number = f"{number} to {last.number}" if " " not in money else f"{number} {money} to"
            number += f" {last.number}" * (" " in money)
            n, money = n + 1 + last.n, last.money
    if text_at(pieces, i + n) in value_words().priced_nouns:  # a five hundred dollar trip
        money = {"dollars": "dollar", "euros": "euro", "pounds": "pound"}.get(money, money)
    return SpokenPiece(n, f"{number} {money}", "money")


def _parse_amount(pieces: Sequence[Lexeme], i: int) -> Amount | None:
    names = value_words().currencies.get(text_at(pieces, i))
    negative = bool(names) and text_at(pieces, i + 1) in {"-", "−"} and is_glued(pieces, i + 2)
    at = i + 1 + negative
    if (
        names is None
        and piece_kind(pieces, i) == "number"
        and text_lexer.is_trailing_currency(pieces, i + 1)
    ):
        currency = value_words().currencies[pieces[i + 1].text]
        return Amount(2, *_amount_words(pieces[i].text, currency))
    if names is None or piece_kind(pieces, at) != "number":
        return None
    digits, scale = pieces[at].text.replace(",", ""), text_at(pieces, at + 1)
    if text_lexer.is_magnitude_letter(pieces, at + 1) or scale.lower() in number_words.SCALES:
        magnitude = value_words().magnitudes.get(scale, scale)
        return Amount(at + 2 - i, f"{number_words.cardinal_words(digits)} {magnitude}", names[1])
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


def read_ratio(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read 3/4 as a share, a rating or a time signature."""
    found = ratio_words.read_ratio(pieces, i)
    return SpokenPiece(*found, "number") if found else None


def read_unit(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a number with its unit: 25°C, 100 m, 5 m/s^2."""
    if piece_kind(pieces, i) != "number" or _is_in_code(pieces, i):
        return None
    number, j = _number_words(pieces, i), i + 1
    if text_at(pieces, j) == "°":
        scale = {"C": " Celsius", "F": " Fahrenheit", "K": " Kelvin"}.get(
            text_at(pieces, j + 1), ""
        )
        return SpokenPiece(2 + bool(scale), f"{number} degrees{scale}", "unit")
    units = value_words().units
    names = None if text_lexer.is_compass_letter(pieces, j) else units.get(text_at(pieces, j))
    loose = (
        len(text_at(pieces, j)) == 1 and text_at(pieces, j) in "ACTKLVNJW" and is_glued(pieces, j)
    )
    if (
        names is None
        or loose
        or text_lexer.is_letter_label(pieces, j)
        or text_lexer.is_abbreviation_start(pieces, j)
        or (
            is_glued(pieces, j + 1)
            and text_at(pieces, j + 1) not in {"/", ".", ",", "?", ")", "^", "²", "'", ";"}
        )
    ):
        return None
    words, j = f"{number} {names[pieces[i].text not in {'1', '-1'}]}", j + 1
    under = units.get(text_at(pieces, j + 1)) if text_at(pieces, j) == "/" else None
    if under:
        words, j = f"{words} per {under[0]}", j + 2
    power = {"^": text_at(pieces, j + 1), "²": "2", "³": "3"}.get(text_at(pieces, j), "")
    if power in {"2", "3"}:
        j += 2 if text_at(pieces, j) == "^" else 1
        words += " squared" if power == "2" else " cubed"
    return SpokenPiece(j - i, words, "unit")


def read_unit_rate(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a unit without a number: km/h, kg/m³."""
    units = value_words().units
    over, under = units.get(text_at(pieces, i)), units.get(text_at(pieces, i + 2))
    if not over or not under or text_at(pieces, i + 1) != "/":
        return None
    if not is_glued(pieces, i + 1) or not is_glued(pieces, i + 2):
        return None
    return SpokenPiece(3, f"{over[1]} per {under[0]}", "unit")


def _is_in_code(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether a number is part of a code: letters or spoken signs touch it."""
    before = is_glued(pieces, i) and (
        piece_kind(pieces, i - 1) == "word"
        or ((piece_kind(pieces, i - 1) == "sign" and text_at(pieces, i - 1) in "@_#.:\\&-")
        and is_glued(pieces, i - 1) and piece_kind(pieces, i - 2) in {"word", "sign", "number"}
        and text_at(pieces, i - 2) not in {"^", "="})
    )  # fmt: skip
    after = is_glued(pieces, i + 1) and (
        (text_at(pieces, i + 1) in "@_\\." and piece_kind(pieces, i + 1) == "sign")
        or (text_at(pieces, i + 1) == "-" and piece_kind(pieces, i + 1) == "sign"
            and not text_lexer.is_range_sign(pieces, i + 1))
    )  # fmt: skip
    mixed = is_glued(pieces, i + 1) and piece_kind(pieces, i + 1) == "word" and (
        is_glued(pieces, i + 2) and piece_kind(pieces, i + 2) in {"number", "sign"}
        and pieces[i + 1].text not in value_words().units and len(pieces[i].text) > 2
    )  # fmt: skip
    return bool(before or after or mixed)


def read_number(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a number, an ordinal or a percentage, with the sign before it."""
    kind = piece_kind(pieces, i)
    if kind == "ordinal":
        n = int(pieces[i].text[:-2])
        return SpokenPiece(1, number_words.ordinal_words(n), "number") if n % 100 else None
    if kind == "sign" and pieces[i].text in "-−–" and piece_kind(pieces, i + 1) == "number":
        before = piece_kind(pieces, i - 1) == "mark" or text_at(pieces, i - 1) in {"^", "="}
        free = before or not is_glued(pieces, i)
        if free and is_glued(pieces, i + 1) and not _is_in_code(pieces, i + 1):
            unit = read_unit(pieces, i + 1)
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
    if re.fullmatch(r"\d+\.00", digits) and text_at(pieces, i - 1).lower() not in _VERSION_WORDS:
        return number_words.cardinal_words(digits[:-3])  # 12.00 as in a list of prices
    if not digits.isdigit() or "," in text:
        return number_words.cardinal_words(digits)
    back = 2 if text_at(pieces, i - 1) in {"#", ":", "=", "is"} else 1
    has_label = len(digits) > 3 and bool(_LABEL_WORD.match(text_at(pieces, i - back)))
    postal = len(digits) == 5 and bool(re.fullmatch(r"[A-Z]{2}", text_at(pieces, i - 1)))
    long = len(digits) > 6 and len(digits.rstrip("0")) > 3
    if (len(digits) > 1 and digits[0] == "0") or has_label or postal or long:
        return number_words.spell_digits(digits)
    if len(digits) == 4 and (1900 <= int(digits) < 2050 or _is_year(pieces, i)):
        return year_or_number(digits)
    return number_words.cardinal_words(digits)


def _is_year(pieces: Sequence[Lexeme], i: int) -> bool:
    year = 1100 <= int(pieces[i].text) < 2100 and int(pieces[i].text) % 100
    return bool(year) and text_at(pieces, i - 1).lower() in {"year", "since", "circa"}


def _code_digit_words(digits: str) -> str:
    """Return the digits of a code in words: short as a number, years as years, else one by one."""
    if not digits.replace(",", "").isdigit():
        return number_words.cardinal_words(digits)
    digits = digits.replace(",", "")
    if len(digits) <= 2 and digits[0] != "0":
        return number_words.cardinal_words(digits)
    if len(digits) == 4 and 1950 <= int(digits) < 2050:
        return year_or_number(digits)
    return number_words.spell_digits(digits)
