"""Numbers with a tolerance and a unit, and amounts of money."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias

from msgspec import Meta

from toolmark.core.errors import UsageError, suggest_names
from toolmark.language.form_matching import FormTable
from toolmark.language.value_tokens import cut_values, plain_text
from toolmark.language.written_amounts import WrittenAmount, find_amounts
from toolmark.language.written_tables import (
    MAIN_CODES,
    convert_unit,
    currencies,
    currency_forms,
    unit_forms,
    units,
)
from toolmark.scoring.comparators.answer_statements import judge_answer, judge_whole, trim_signs
from toolmark.scoring.comparators.comparison import (
    Comparator,
    Comparison,
    show_value,
    visible_text,
)
from toolmark.scoring.comparators.stated_numbers import countable_amounts, zero_amounts
from toolmark.scoring.comparators.statement_guards import AnswerText, Candidate

Tolerance: TypeAlias = Annotated[float, Meta(ge=0)]
_ROUNDING = Fraction(1, 10**12)  # of binary fractions such as 0.1 + 0.2, relative
_PERCENT = "%"


class _Target(NamedTuple):
    """The expected amount."""

    values: tuple[Fraction, ...]
    units: tuple[str, ...] = ()
    currencies: tuple[str, ...] = ()
    is_percent: bool = False


class _AmountComparator(Comparator, frozen=True, kw_only=True):
    """What numbers and money have in common."""

    tolerance: Tolerance = 0.0
    relative: Tolerance = 0.0

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a number, or a text that consists of one amount."""
        target, shown = self._target(expected), show_value(expected)
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            return Comparison(False, f"the value is of type {type(given).__name__}, no number")
        if not isinstance(given, str):
            number = _exact(given)
            same = number is not None and self._matches(WrittenAmount((number,), 0, 1), target)
            return Comparison(same, f"the value is {'' if same else 'not '}{shown}")
        tokens = cut_values(plain_text(given))
        candidates = [
            Candidate(amount.first, amount.last, self._matches(amount, target))
            for amount in find_amounts(tokens)
        ]
        return judge_whole(tokens, AnswerText(tokens, candidates), shown)

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the amounts that an answer states; those of dates and labels do not count."""
        target, text = self._target(expected), visible_text(text)
        tokens = cut_values(text)
        candidates = [
            Candidate(amount.first, amount.last, self._matches(amount, target))
            for amount in countable_amounts(tokens)
            if self._counts(amount)
        ]
        if not any(target.values):
            zeros = zero_amounts(tokens, is_money=self.kind == "money")
            candidates += [Candidate(zero.first, zero.last, True) for zero in zeros]
            candidates.sort()
        return judge_answer(text, AnswerText(tokens, candidates), show_value(expected))

    def _target(self, expected: Any) -> _Target:
        raise NotImplementedError

    def _matches(self, amount: WrittenAmount, target: _Target) -> bool:
        raise NotImplementedError

    def _counts(self, amount: WrittenAmount) -> bool:
        return not amount.is_ordinal

    def _is_near(self, value: Fraction, target: Fraction) -> bool:
        if value == target:
            return True
        if not (self.tolerance or self.relative) and value.denominator == target.denominator == 1:
            return False
        margin = max(Fraction(self.tolerance), Fraction(self.relative) * abs(target))
        if value.denominator > 1 or target.denominator > 1 or margin:
            margin += _ROUNDING * abs(target)
        return abs(value - target) <= margin


class Number(_AmountComparator, frozen=True, kw_only=True):
    """A number, with or without a unit.

    - `tolerance`: how far a value may be from the expected one, in the expected unit.
    - `relative`: the same as a share of the expected value.
    - `unit`: what the expected number counts, by any written form; `%` for per cent.
    - `unit_required`: whether a number without a unit is refused.
    - `ordinals`: whether 15th and fifteenth count as 15 in prose.
    """

    kind: ClassVar[str] = "number"

    unit: str = ""
    unit_required: bool = False
    ordinals: bool = False

    def __post_init__(self) -> None:
        if self.unit and self.unit != _PERCENT and not _unit_names(self.unit):
            near = suggest_names(self.unit, [*units(), _PERCENT])
            raise UsageError(f"no unit {self.unit!r}{near}")

    def _target(self, expected: Any) -> _Target:
        found = _read_expected(expected, "number")
        if self.unit == _PERCENT:
            return found._replace(is_percent=True)
        return found._replace(units=_unit_names(self.unit)) if self.unit else found

    def _counts(self, amount: WrittenAmount) -> bool:
        return self.ordinals or not amount.is_ordinal

    def _matches(self, amount: WrittenAmount, target: _Target) -> bool:
        goal = target.values[0]
        if target.is_percent:
            bare = not (amount.units or amount.currencies or self.unit_required)
            return (amount.is_percent or bare) and self._any_near(amount.values, goal)
        if amount.is_percent:
            shares = tuple(value / 100 for value in amount.values)
            return not target.units and self._any_near(shares, goal)
        if not target.units:
            return self._any_near(amount.values, goal)
        if not amount.units:
            bare = not (amount.currencies or self.unit_required)
            return bare and self._any_near(amount.values, goal)
        return not amount.is_rate and self._any_near(_converted_amount(amount, target.units), goal)

    def _any_near(self, values: Sequence[Fraction], goal: Fraction) -> bool:
        return any(self._is_near(value, goal) for value in values)


class Money(_AmountComparator, frozen=True, kw_only=True):
    """An amount of money.

    - `tolerance`, `relative`: as of a number, in the expected currency.
    - `currency`: the currency of an expected number, by code, sign or word.
    - `currency_optional`: whether a number without a currency matches one with a currency.
    """

    kind: ClassVar[str] = "money"

    currency: str = ""
    currency_optional: bool = False

    def __post_init__(self) -> None:
        if self.currency and not _currency_codes(self.currency):
            near = suggest_names(self.currency, currencies())
            raise UsageError(f"no currency {self.currency!r}{near}")

    def _target(self, expected: Any) -> _Target:
        if isinstance(expected, dict):
            code, expected = str(expected.get("currency", "")), expected.get("amount")
            codes = _currency_codes(code)
        else:
            codes = ()
        found = _read_expected(expected, "money")
        own = _currency_codes(self.currency) if self.currency else ()
        stated = [code for code in found.currencies if code in MAIN_CODES] or found.currencies
        return found._replace(currencies=codes or own or tuple(stated))

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare as a number is compared; (15) is -15, and an object has amount and currency."""
        if isinstance(given, Mapping):
            code = given.get("currency", "")
            given = f"{given.get('amount')} {code if isinstance(code, str) else ''}"
        if isinstance(given, str) and re.fullmatch(r"\s*\([^()]*\)\s*", given):
            given = f"-{given.strip()[1:-1]}"
        return super().compare_value(given, expected)

    def _matches(self, amount: WrittenAmount, target: _Target) -> bool:
        if amount.is_percent or (amount.units and not amount.currencies):
            return False
        if target.currencies and amount.currencies:
            same = bool({*target.currencies} & {*amount.currencies})
        else:
            same = bool(amount.currencies) or not target.currencies or self.currency_optional
        goals = target.values
        return same and any(self._is_near(v, goal) for v in amount.values for goal in goals)


def _converted_amount(amount: WrittenAmount, names: Sequence[str]) -> list[Fraction]:
    """Return what an amount is in the expected units, empty where it measures something else."""
    return [
        found
        for value in amount.values
        for unit in amount.units
        for name in names
        if (found := convert_unit(value, unit, name)) is not None
    ]


@cache
def _unit_table() -> FormTable[tuple[str, ...]]:
    return FormTable(unit_forms())


@cache
def _currency_table() -> FormTable[tuple[str, ...]]:
    return FormTable(currency_forms())


def _unit_names(form: str) -> tuple[str, ...]:
    tokens = cut_values(form)
    found = _unit_table().find_at(tokens, 0) if tokens else None
    return found.meaning if found is not None and found.last == len(tokens) else ()


def _currency_codes(form: str) -> tuple[str, ...]:
    tokens = cut_values(form)
    found = _currency_table().find_at(tokens, 0) if tokens else None
    return found.meaning if found is not None and found.last == len(tokens) else ()


def _exact(value: int | float) -> Fraction | None:
    """Return a number as it is written in decimals, None for one that is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _read_expected(expected: Any, kind: str) -> _Target:
    """Return an expected number or a text that consists of one amount; raises UsageError."""
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        number = _exact(expected)
        if number is not None:
            return _Target((number,))
    if isinstance(expected, str):
        tokens = cut_values(expected)
        start, end = trim_signs(tokens)
        for amount in find_amounts(tokens):
            if amount.first <= start and amount.last >= end:
                return _Target(amount.values, amount.units, amount.currencies, amount.is_percent)
    raise UsageError(
        f"the comparator {kind} needs an expected {kind}, got {show_value(expected)!r}; "
        f"next: write it as digits, or name another comparator"
    )
