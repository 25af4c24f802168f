"""Amounts that round to the same value by every usual method."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction


def round_half_up(value: Fraction, places: int = 2) -> Decimal:
    """Return the value with this number of decimals; halves are rounded away from zero."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def rounds_uniquely(value: Fraction, places: int = 2) -> bool:
    """Tell whether binary arithmetic and rounding half to even give the same result.

    True for a value that needs no rounding, and for one that is not close to half way.
    """
    remainder = value * 10**places % 1
    return not remainder or not Fraction(24, 50) <= remainder <= Fraction(26, 50)


def to_number(value: Decimal) -> int | float:
    """Return an amount as the number stored in a spreadsheet or JSON."""
    return int(value) if value == value.to_integral_value() else float(value)
