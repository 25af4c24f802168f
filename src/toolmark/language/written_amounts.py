"""Amounts as they are written: a number with its unit, its currency or its per cent.

`find_amounts` reads them from a text; `quantity_forms` and `money_forms` write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from toolmark.language.form_matching import FormTable, FoundForm
from toolmark.language.number_phrases import WrittenNumber, scale_sizes
from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.value_words import value_words
from toolmark.language.written_numbers import number_forms, read_number
from toolmark.language.written_tables import (
    convert_unit,
    counting_words,
    currencies,
    currency_forms,
    forms_of_currency,
    forms_of_unit,
    unit_forms,
)

_DASHES = frozenset("-−–")
_RATE_WORDS = frozenset({"per", "/", "each"})


class WrittenAmount(NamedTuple):
    """A number of a text with what it counts.

    - `values`: what the number may be; more than one where the writing is ambiguous.
    - `units`, `currencies`: what it may count, by the names of the tables; empty where none.
    - `is_percent`: whether it counts hundredths. `is_rate`: per something that is not a unit.
    - `first`, `last`: its tokens, `last` exclusive.
    - `is_ordinal`, `is_plain`: as in `WrittenNumber`.
    """

    values: tuple[Fraction, ...]
    first: int
    last: int
    units: tuple[str, ...] = ()
    currencies: tuple[str, ...] = ()
    is_percent: bool = False
    is_rate: bool = False
    is_ordinal: bool = False
    is_plain: bool = False


def find_amounts(tokens: Sequence[ValueToken]) -> Iterator[WrittenAmount]:
    """Yield the amounts of a text in order, numbers without a unit included."""
    at = 0
    while at < len(tokens):
        found = _read_amount(tokens, at)
        if found is not None:
            found = _read_below_zero(tokens, _choose_pounds(tokens, found))
            yield found
        at = found.last if found is not None else at + 1


@cache
def _unit_table() -> FormTable[tuple[str, ...]]:
    return FormTable(unit_forms())


@cache
def _currency_table() -> FormTable[tuple[str, ...]]:
    return FormTable(currency_forms())


@cache
def _hundredth_table() -> FormTable[tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for code, currency in currencies().items():
        for form in currency.hundredths:
            found.setdefault(form, []).append(code)
    return FormTable({form: tuple(codes) for form, codes in found.items()})


@cache
def _percent_table() -> FormTable[int]:
    return FormTable(counting_words().percent_forms)


def _read_amount(tokens: Sequence[ValueToken], at: int) -> WrittenAmount | None:
    sign = text_at(tokens, at) in _DASHES and is_glued(tokens, at + 1)
    sign = sign and not (is_glued(tokens, at) and tokens[at - 1].kind != "sign")  # $75-$120
    start = at + sign
    money = _currency_table().find_at(tokens, start)
    if money is not None and (number := read_number(tokens, money.last)) is not None:
        values = tuple(-value for value in number.values) if sign else number.values
        return _finish_money(tokens, number._replace(values=values, first=at), money.meaning)
    number = read_number(tokens, at)
    if number is None:
        return _read_single_unit(tokens, at)
    return _finish_amount(tokens, number)


def _read_below_zero(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Read eight degrees below zero."""
    at = amount.last
    if text_at(tokens, at) not in _BELOW or text_at(tokens, at + 1) not in {"zero", "0"}:
        return amount
    if is_glued(tokens, at + 2) and tokens[at + 2].kind != "sign":
        return amount
    values = tuple(-abs(value) for value in amount.values)
    return amount._replace(values=values, last=at + 2, is_plain=False)


_BELOW = frozenset({"below", "beneath", "under"})


def _choose_pounds(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Return an amount whose word is a weight and a currency as what the words around it say."""
    if not (amount.units and amount.currencies):
        return amount
    weights, prices = counting_words().weight_words, counting_words().price_words
    for at in range(amount.last, min(amount.last + _PRICE_WORDS_AFTER, len(tokens))):
        if tokens[at].folded in weights:
            return amount._replace(currencies=())
        if tokens[at].kind == "sign":
            break
    for at in range(amount.first - 1, max(amount.first - 1 - _PRICE_WORDS_BEFORE, -1), -1):
        if tokens[at].text in ".;!?" and not is_glued(tokens, at + 1):
            break
        if tokens[at].folded in weights:
            return amount._replace(currencies=())
        if tokens[at].folded in prices:
            return amount._replace(units=())
    return amount


_PRICE_WORDS_BEFORE, _PRICE_WORDS_AFTER = 8, 2  # tokens from an amount


def _finish_amount(tokens: Sequence[ValueToken], number: WrittenNumber) -> WrittenAmount:
    """Return the amount of a number, by what stands after it."""
    at = number.last
    at += text_at(tokens, at) == "-" and is_glued(tokens, at) and is_glued(tokens, at + 1)
    amount = _as_amount(number)
    if percent := _percent_table().find_at(tokens, at):
        return amount._replace(is_percent=True, last=percent.last)
    money = _currency_table().find_at(tokens, at)
    coins = _read_coins(tokens, at)
    unit = _unit_table().find_at(tokens, at)
    if coins is not None and money is not None and coins.last > money.last:
        money = None  # euro cents
    if money is not None and (unit is None or money.last >= unit.last):
        found = _finish_money(tokens, number, money.meaning, end=money.last)
        return found._replace(units=unit.meaning) if unit else found
    if coins is not None and (unit is None or coins.last > unit.last):
        cents = tuple(value / 100 for value in number.values)
        found = amount._replace(values=cents, currencies=coins.meaning, last=coins.last)
        return _read_country(tokens, found)
    if unit is None:
        return amount
    amount = amount._replace(units=unit.meaning, last=unit.last, is_plain=False)
    amount = _read_share(tokens, amount)
    return _read_smaller_units(tokens, _mark_rate(tokens, amount))


def _as_amount(number: WrittenNumber) -> WrittenAmount:
    return WrittenAmount(
        number.values,
        number.first,
        number.last,
        is_ordinal=number.is_ordinal,
        is_plain=number.is_plain,
    )


def _mark_rate(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Return the amount as a rate where "per" follows; 15 km per day are not 15 km."""
    return amount._replace(is_rate=text_at(tokens, amount.last) in _RATE_WORDS)


def _finish_money(
    tokens: Sequence[ValueToken], number: WrittenNumber, codes: tuple[str, ...], end: int = 0
) -> WrittenAmount:
    """Return an amount of money, with a magnitude and hundredths after it."""
    values, last = number.values, end or number.last
    ends = not is_glued(tokens, last + 1) or tokens[last + 1].kind == "sign"
    if not end and is_glued(tokens, last) and ends:
        size = value_words().magnitudes.get(tokens[last].text)
        if size and tokens[last].kind == "word":
            values = tuple(value * scale_sizes()[size] for value in values)
            last += 1
    written = tokens[number.last - 1].text
    if "." in written and len(written.partition(".")[2]) == 3 and written[0] != "0":
        values = (*values, values[0] * 1000)  # 1.500 €: no currency has thousandths
    if text_at(tokens, last) in {".", ","} and text_at(tokens, last + 1) in _DASHES:
        last += 2 if is_glued(tokens, last) and is_glued(tokens, last + 1) else 0  # 15.–
    later = _currency_table().find_at(tokens, last) if not end else None
    if later is not None and (both := tuple(c for c in later.meaning if c in codes)):
        codes, last = both, later.last
    amount = _as_amount(number)._replace(values=values, last=last, currencies=codes)
    return _read_country(tokens, _read_hundredths(tokens, amount._replace(is_plain=False)))


@cache
def _country_table() -> FormTable[tuple[str, ...]]:
    """Return the currencies by their codes and by the country words of their forms: US."""
    found: dict[str, set[str]] = {}
    for code in currencies():
        words = (form.rsplit(" ", 1)[0] for form in forms_of_currency(code) if " " in form)
        for form in (code, *words):
            if form.islower():  # pound sterling
                continue
            found.setdefault(form, set()).add(code)
    return FormTable({form: tuple(sorted(codes)) for form, codes in found.items()})


def _read_coins(tokens: Sequence[ValueToken], at: int) -> FoundForm[tuple[str, ...]] | None:
    """Read cents, US cents, euro cents."""
    coins = _hundredth_table().find_at(tokens, at)
    country = _country_table().find_at(tokens, at) or _currency_table().find_at(tokens, at)
    if coins is not None or country is None:
        return coins
    coins = _hundredth_table().find_at(tokens, country.last)
    codes = tuple(c for c in country.meaning if coins and c in coins.meaning)
    return coins._replace(meaning=codes) if coins and codes else None


def _read_country(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Read the country of a currency in brackets: 99 cents (US)."""
    at = amount.last
    country = _country_table().find_at(tokens, at + 1) if text_at(tokens, at) == "(" else None
    if country is None or text_at(tokens, country.last) != ")":
        return amount
    codes = tuple(c for c in amount.currencies if c in country.meaning)
    return amount._replace(currencies=codes, last=country.last + 1) if codes else amount


def _read_hundredths(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Read "and fifty cents" after an amount."""
    at = amount.last
    at += text_at(tokens, at) in {"and", ","}
    number = read_number(tokens, at)
    if number is None or not 0 < number.values[0] < 100:
        return amount
    coins = _hundredth_table().find_at(tokens, number.last)
    codes = tuple(c for c in amount.currencies if coins and c in coins.meaning)
    if coins is None or not codes:
        return amount
    values = tuple(value + number.values[0] / 100 for value in amount.values)
    return amount._replace(values=values, last=coins.last, currencies=codes)


def _read_smaller_units(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Read what follows in smaller units: 5 feet 11 inches, 2 hours and 30 minutes, 2h30m."""
    for _ in range(3):
        at = amount.last
        at += text_at(tokens, at) in {"and", ","}
        number = None if amount.is_rate else (read_number(tokens, at) or _glued_number(tokens, at))
        if number is None or number.is_ordinal or number.values[0] < 0:
            break
        unit = _unit_table().find_at(tokens, number.last)
        names = unit.meaning if unit else ()
        if "hour" in amount.units and text_at(tokens, number.last) == "m":
            names = ("minute",)
        smaller = _in_larger_unit(number, amount, names)
        if unit is None or smaller is None:
            break
        values = tuple(value + smaller[1] for value in amount.values)
        amount = amount._replace(values=values, last=unit.last, units=(smaller[0],))
    return amount


def _glued_number(tokens: Sequence[ValueToken], at: int) -> WrittenNumber | None:
    """Return digits that touch the unit before them: the 30 of 2h30m."""
    if not is_glued(tokens, at) or not tokens[at].text.isdecimal() or len(tokens[at].text) > 4:
        return None
    return WrittenNumber((Fraction(tokens[at].text),), at, at + 1)


def _in_larger_unit(
    number: WrittenNumber, amount: WrittenAmount, names: tuple[str, ...]
) -> tuple[str, Fraction] | None:
    """Return a number of a smaller unit in the unit of the amount before it, with that unit."""
    for larger in amount.units:
        for name in names:
            one = convert_unit(Fraction(1), name, larger)
            if one is not None and one < 1 and one * number.values[0] < 1:
                return larger, one * number.values[0]
    return None


def _read_single_unit(tokens: Sequence[ValueToken], at: int) -> WrittenAmount | None:
    """Read "an hour": one of a unit that is written in full."""
    if text_at(tokens, at) not in {"a", "an"}:
        return None
    before = text_at(tokens, at - 1)
    unit = _unit_table().find_at(tokens, at + 1)
    spelled = unit is not None and len(text_at(tokens, at + 1)) > 2
    if not spelled or unit is None or before[-1:].isdigit():
        return None
    amount = WrittenAmount((Fraction(1),), at, unit.last, units=unit.meaning)
    return _read_share(tokens, amount)


def _read_share(tokens: Sequence[ValueToken], amount: WrittenAmount) -> WrittenAmount:
    """Read "and a half" after a unit: an hour and a half."""
    at = amount.last
    share = _SHARES.get(text_at(tokens, at + 2))
    if share is None or text_at(tokens, at) != "and" or text_at(tokens, at + 1) != "a":
        return amount
    values = tuple(value + share for value in amount.values)
    return amount._replace(values=values, last=at + 3)


_SHARES = {"half": Fraction(1, 2), "quarter": Fraction(1, 4)}


# --- writing ----------------------------------------------------------------------------


def quantity_forms(value: Fraction, unit: str) -> list[str]:
    """Return the ways to write a number of a unit."""
    forms = []
    for number in number_forms(value):
        for form in forms_of_unit(unit):
            forms.append(f"{number} {form}")
            if number[-1].isdigit() and not form[0].isdigit() and form not in _NOT_GLUED:
                forms.append(f"{number}{form}")
    return forms


_NOT_GLUED = frozenset({"st", "K", "B", "M", "T", "tn"})
"""Units that touch no number: there they end an ordinal, or are a magnitude."""


def money_forms(value: Fraction, code: str) -> list[str]:
    """Return the ways to write an amount of a currency."""
    forms = []
    for number in number_forms(value):
        for form in forms_of_currency(code):
            forms.append(f"{number} {form}")
            if number[-1].isdigit() and not form[-1].isalpha():
                forms.append(f"{form}{number}" if number[0].isdigit() else f"-{form}{number[1:]}")
            if number[-1].isdigit() and form == code:
                forms.append(f"{code} {number}")
    return forms


def percent_forms(value: Fraction) -> list[str]:
    """Return the ways to write a share in per cent; `value` is 15 for 15 %."""
    return [
        f"{number}{'' if form == '%' else ' '}{form}"
        for number in number_forms(value)
        for form in counting_words().percent_forms
    ]
