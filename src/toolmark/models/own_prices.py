"""Prices that the user gives: `[WHO=]INPUT,OUTPUT[,CACHED[,CACHE_WRITTEN]]`, US$ per million."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_short
from toolmark.models.token_prices import ModelPrice, Rates

ROLES = ("model", "user", "judge")
"""Whose price it is: of the model under test, of the simulated user, of every judge."""
SOURCE = "--price"
_FORM = "[model=|user=|judge=]INPUT,OUTPUT[,CACHED[,CACHE_WRITTEN]] in US$ per million tokens"
_MAX_PRICE = 10_000  # US$ per million tokens; the highest list prices are below 1,000
_MIN_PRICE = 0.001  # but 0; the lowest list prices are ten times that


def price_texts(value: object) -> tuple[str, ...]:
    """Return prices in the form of the command line.

    `value` is one text, numbers of one price, several texts, or prices by role. Raises UsageError.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(f"{role}={_price_text(each)}" for role, each in value.items())
    if isinstance(value, Sequence):
        if value and all(isinstance(each, str) for each in value):
            return tuple(value)
        return (_price_text(value),) if value else ()
    raise _wrong_form(repr(value))


def parse_prices(texts: Sequence[str], on: date) -> dict[str, ModelPrice]:
    """Return the prices by role, dated `on`. Raises UsageError."""
    found: dict[str, ModelPrice] = {}
    for text in texts:
        role, equals, numbers = text.rpartition("=")
        role = role.strip() if equals else "model"
        if role not in ROLES:
            raise _wrong_form(text)
        if role in found:
            raise UsageError(f"--price gives the {role}'s price twice: leave out one")
        found[role] = ModelPrice(
            source=SOURCE, date=on.isoformat(), rates=(_parse_rates(numbers, text),)
        )
    return found


def _price_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(each, int | float) for each in value):
        return ",".join(repr(float(each)) for each in value)
    raise _wrong_form(repr(value))


def _parse_rates(numbers: str, text: str) -> Rates:
    try:
        values = [float(each) for each in numbers.split(",")]
    except ValueError:
        raise _wrong_form(text) from None
    if not 2 <= len(values) <= 4:
        raise _wrong_form(text)
    for value in values:
        _check_price(value, text)
    cached, written = (*values[2:], None, None)[:2]
    if cached is not None and cached > values[0]:
        raise UsageError(
            f"--price {text[:80]}: a token that is read from the cache costs "
            f"{format_short(cached)}, more than a new one ({format_short(values[0])}); "
            "the order is INPUT,OUTPUT,CACHED,CACHE_WRITTEN"
        )
    return Rates(input=values[0], output=values[1], cached=cached, cache_written=written)


def _check_price(value: float, text: str) -> None:
    """Raise UsageError for what is no price of a million tokens."""
    if not math.isfinite(value):
        raise UsageError(f"--price {text[:80]}: a price is a finite number of US$")
    if value < 0:
        raise UsageError(f"--price {text[:80]}: a price is not negative")
    if value > _MAX_PRICE:
        raise UsageError(
            f"--price {text[:80]}: {format_short(value)} is over {format_short(_MAX_PRICE)}; "
            "prices are in US$ per million tokens"
        )
    if 0 < value < _MIN_PRICE:
        raise UsageError(
            f"--price {text[:80]}: {format_short(value)} is under {format_short(_MIN_PRICE)}; "
            "prices are in US$ per million tokens: if it is that of one token, "
            f"{format_short(value * 1e6)} is meant"
        )


def _wrong_form(text: str) -> UsageError:
    return UsageError(f"--price {text[:80]}: expected {_FORM}, such as 3,15 or 3,15,0.3,3.75")
