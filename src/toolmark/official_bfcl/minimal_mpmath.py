"""Logarithms to a chosen precision, as one official simulator expects them of a library.

It uses three things of `mpmath`: the precision `mp.dps`, `log`, and the quotient of two logs with
its repr. These follow mpmath's rules for bits, rounding and digits, on the standard `decimal`, so
that no dependency is needed; a test compares them with the library itself.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from types import ModuleType
from typing import Any

BITS_PER_DIGIT = 3.3219280948873626
MAX_DIGITS = 10_000  # one logarithm of so many digits takes a fraction of a second


class Precision:
    """The working precision; `dps` is in decimal digits."""

    def __init__(self) -> None:
        self.bits = 53

    @property
    def dps(self) -> int:
        """The precision in digits, as mpmath derives it from the bits."""
        return max(1, int(round(self.bits / BITS_PER_DIGIT) - 1))

    @dps.setter
    def dps(self, digits: Any) -> None:
        n = int(digits)
        if n > MAX_DIGITS:
            raise ValueError(f"a precision of {n} digits is beyond the limit of {MAX_DIGITS}")
        self.bits = max(1, round((n + 1) * BITS_PER_DIGIT))


class Real:
    """A number of limited precision in bits; it can be divided and shown."""

    def __init__(self, value: Fraction, precision: Precision) -> None:
        self.value = round_to_bits(value, precision.bits)
        self.precision = precision

    def __truediv__(self, other: Real) -> Real:
        return Real(self.value / other.value, self.precision)

    def __repr__(self) -> str:
        digits = self.precision.dps
        return f"mpf('{format_decimal(self.value, 17 if digits == 15 else digits + 3)}')"


def make_mpmath_module() -> ModuleType:
    """Return a new module with the members that the simulator uses, and its own precision."""
    precision = Precision()

    def log(x: Any) -> Real:
        return Real(_natural_log(_to_fraction(x, precision.bits), precision.bits), precision)

    fake_module = ModuleType("mpmath")
    vars(fake_module).update(mp=precision, log=log)
    return fake_module


def _to_fraction(x: Any, bits: int) -> Fraction:
    """Return a number. Raises TypeError, in the words of the library, for what is none."""
    if isinstance(x, int | float):
        return Fraction(x)
    if isinstance(x, str):
        with suppress(InvalidOperation):
            number = Decimal(x.strip())
            if not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS:
                raise ValueError("the number is too large")
            return round_to_bits(Fraction(number), bits)
    raise TypeError(f"cannot create mpf from {x!r}")


def _natural_log(x: Fraction, bits: int) -> Fraction:
    """Return the natural logarithm with far more digits than the bits need."""
    if x <= 0:
        raise ValueError("the logarithm of a number that is not positive is not real")
    digits = int(bits / BITS_PER_DIGIT) + 40
    context = Context(prec=digits + len(str(x.numerator)) + len(str(x.denominator)))
    top, bottom = Decimal(x.numerator), Decimal(x.denominator)
    found = context.subtract(context.ln(top), context.ln(bottom))
    return Fraction(found)


def round_to_bits(value: Fraction, bits: int) -> Fraction:
    """Round to so many significant bits, halves to even."""
    if not value:
        return value
    top, bottom = abs(value.numerator), value.denominator
    shift = bits - (top.bit_length() - bottom.bit_length())
    scaled = abs(value) * Fraction(2) ** shift
    if scaled >= 2**bits:
        shift -= 1
        scaled /= 2
    return (1 if value > 0 else -1) * round(scaled) / Fraction(2) ** shift


def format_decimal(value: Fraction, digits: int) -> str:
    """Write in decimal: cut three digits after the requested ones, then round, halves up."""
    if not value:
        return "0.0"
    sign = "-" if value < 0 else ""
    exponent = _decimal_exponent(abs(value))
    truncated = int(abs(value) * Fraction(10) ** (digits + 2 - exponent))
    rounded_digits = (truncated + 500) // 1000
    if rounded_digits == 10**digits:
        rounded_digits //= 10
        exponent += 1
    text = str(rounded_digits)
    if min(-(digits // 3), -5) < exponent < digits:
        if exponent < 0:
            text = "0" * -exponent + text
            point = 1
        else:
            point = exponent + 1
        tail = ""
    else:
        point = 1
        tail = f"e{exponent:+d}" if exponent else ""
    body = f"{text[:point]}.{text[point:]}".rstrip("0")
    return f"{sign}{body}{'0' if body.endswith('.') else ''}{tail}"


def _decimal_exponent(value: Fraction) -> int:
    """Return the power of ten of the leading digit of a positive number."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= Fraction(10) ** guess else guess - 1
