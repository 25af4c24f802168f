"""Amounts that can be rounded in one way only, whichever way they are worked out."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction


def rounded(value: Fraction, places: int = 2) -> Decimal:
    """Return the value with so many decimals, halves away from zero."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def clear(value: Fraction, places: int = 2) -> bool:
    """Say whether binary arithmetic and rounding half to even come to the same.

    True for a value that needs no rounding, and for one that is not close to half way.
    """
    rest = value * 10**places % 1
    return not rest or not Fraction(24, 50) <= rest <= Fraction(26, 50)


def number(value: Decimal) -> int | float:
    """Return an amount as the number that a spreadsheet or JSON holds."""
    return int(value) if value == value.to_integral_value() else float(value)
