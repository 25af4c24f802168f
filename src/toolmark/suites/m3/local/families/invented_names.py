"""Invented names for tasks: shops, people, goods. None is meant to be real."""

from __future__ import annotations

import random
from decimal import Decimal

from toolmark.suites.m3.local.families.family_words import family_words


def random_people(rng: random.Random, n: int) -> list[str]:
    """Return full names; no first or last name is used twice."""
    return [
        f"{first} {last}"
        for first, last in zip(
            rng.sample(family_words().first_names, n),
            rng.sample(family_words().last_names, n),
            strict=True,
        )
    ]


def random_first_names(rng: random.Random, n: int) -> list[str]:
    """Return different first names."""
    return rng.sample(family_words().first_names, n)


def random_shops(rng: random.Random, n: int) -> list[str]:
    """Return different names of shops."""
    return [
        f"{name} {rng.choice(family_words().shop_kinds)}"
        for name in rng.sample(family_words().shop_names, n)
    ]


def random_goods(rng: random.Random, n: int) -> list[str]:
    """Return different goods."""
    return rng.sample(family_words().goods, n)


def random_towns(rng: random.Random, n: int) -> list[str]:
    """Return different towns."""
    return rng.sample(family_words().towns, n)


def random_code(rng: random.Random, shape: str) -> str:
    """Return a code: `9` stands for a digit, `A` for a letter that does not look like a digit."""
    kinds = {"9": "0123456789", "A": "ACEFHJKLMNPRTUVWXY"}
    return "".join(rng.choice(kinds.get(mark, mark)) for mark in shape)


def random_price(rng: random.Random, low: int, high: int) -> Decimal:
    """Return an amount with two decimals, between the whole numbers `low` and `high`."""
    return Decimal(rng.randrange(low * 20, high * 20)) / 20 + Decimal("0.00")
