"""Invented names for tasks: shops, people, goods. None is meant to be real."""

from __future__ import annotations

import random
from decimal import Decimal

_FIRST_NAMES = (
    "Abelie", "Brannoc", "Cosima", "Dorvan", "Elowen", "Fenja", "Gustav", "Hollis", "Ilka",
    "Jorun", "Katlin", "Lorcan", "Maris", "Nevin", "Ottilie", "Pascoe", "Ronja", "Sefton",
    "Tamsin", "Ulric", "Vesna", "Wendel", "Yorick", "Zelda",
)  # fmt: skip
_LAST_NAMES = (
    "Amberley", "Brandvold", "Castelow", "Drummle", "Eskerby", "Farrowitz", "Greltham", "Holm",
    "Ivesdale", "Jankovar", "Kestleby", "Lindqvorn", "Marchbane", "Northwold", "Oxmoor", "Pellam",
    "Quillfeather", "Rookwood", "Stavely", "Thornbeck", "Underhay", "Vantongel",
)  # fmt: skip
_SHOP_NAMES = (
    "Copper Kettle", "Blue Lantern", "Harbour Nook", "Old Mill", "Green Parrot", "Tin Whistle",
    "Silver Acorn", "Paper Moon", "Red Barn", "Quiet Pond", "Lucky Anchor", "North Gate",
)  # fmt: skip
_SHOP_KINDS = ("Stores", "Market", "Supplies", "Corner Shop", "Trading", "Deli")
_GOODS = (
    "Oat biscuits", "Rye bread", "Plum jam", "Lamp oil", "Tea candles", "Notebook", "Pencil case",
    "Garden twine", "Apple juice", "Goat cheese", "Barley soup", "Wool socks", "Soap bar",
    "Masking tape", "Paint brush", "Hemp rope", "Door hook", "Seed mix", "Herb salt", "Pear cider",
    "Cork board", "Tin mug", "Jam jar", "Clay pot", "Linen towel", "Beeswax", "Flour sack",
)  # fmt: skip
_TOWNS = (
    "Averdale", "Brackmoor", "Calderwick", "Dunmarsh", "Eskfell", "Farholt", "Gillstead",
    "Harnwick", "Inverby", "Kettlesea", "Lowmere", "Marrowby", "Nettlecross", "Oakhithe",
    "Pennsworth", "Quarrybank", "Ravensea", "Stonehollow", "Tarnside", "Wexcombe",
)  # fmt: skip


def random_people(rng: random.Random, n: int) -> list[str]:
    """Return full names; no first or last name is used twice."""
    return [
        f"{first} {last}"
        for first, last in zip(rng.sample(_FIRST_NAMES, n), rng.sample(_LAST_NAMES, n), strict=True)
    ]


def random_first_names(rng: random.Random, n: int) -> list[str]:
    """Return different first names."""
    return rng.sample(_FIRST_NAMES, n)


def random_shops(rng: random.Random, n: int) -> list[str]:
    """Return different names of shops."""
    return [f"{name} {rng.choice(_SHOP_KINDS)}" for name in rng.sample(_SHOP_NAMES, n)]


def random_goods(rng: random.Random, n: int) -> list[str]:
    """Return different goods."""
    return rng.sample(_GOODS, n)


def random_towns(rng: random.Random, n: int) -> list[str]:
    """Return different towns."""
    return rng.sample(_TOWNS, n)


def random_code(rng: random.Random, shape: str) -> str:
    """Return a code: `9` stands for a digit, `A` for a letter that does not look like a digit."""
    kinds = {"9": "0123456789", "A": "ACEFHJKLMNPRTUVWXY"}
    return "".join(rng.choice(kinds.get(mark, mark)) for mark in shape)


def random_price(rng: random.Random, low: int, high: int) -> Decimal:
    """Return an amount with two decimals, between the whole numbers `low` and `high`."""
    return Decimal(rng.randrange(low * 20, high * 20)) / 20 + Decimal("0.00")
