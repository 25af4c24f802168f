"""Invented names for tasks: shops, people, goods. None is meant to be a real one."""

from __future__ import annotations

import random
from decimal import Decimal

_FIRST = (
    "Abelie", "Brannoc", "Cosima", "Dorvan", "Elowen", "Fenja", "Gustav", "Hollis", "Ilka",
    "Jorun", "Katlin", "Lorcan", "Maris", "Nevin", "Ottilie", "Pascoe", "Ronja", "Sefton",
    "Tamsin", "Ulric", "Vesna", "Wendel", "Yorick", "Zelda",
)  # fmt: skip
_LAST = (
    "Amberley", "Brandvold", "Castelow", "Drummle", "Eskerby", "Farrowitz", "Greltham", "Holm",
    "Ivesdale", "Jankovar", "Kestleby", "Lindqvorn", "Marchbane", "Northwold", "Oxmoor", "Pellam",
    "Quillfeather", "Rookwood", "Stavely", "Thornbeck", "Underhay", "Vantongel",
)  # fmt: skip
_SHOP = (
    "Copper Kettle", "Blue Lantern", "Harbour Nook", "Old Mill", "Green Parrot", "Tin Whistle",
    "Silver Acorn", "Paper Moon", "Red Barn", "Quiet Pond", "Lucky Anchor", "North Gate",
)  # fmt: skip
_TRADE = ("Stores", "Market", "Supplies", "Corner Shop", "Trading", "Deli")
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


def people(rng: random.Random, n: int) -> list[str]:
    """Return full names, no first or last name twice."""
    return [
        f"{first} {last}"
        for first, last in zip(rng.sample(_FIRST, n), rng.sample(_LAST, n), strict=True)
    ]


def first(rng: random.Random, n: int) -> list[str]:
    """Return first names, none twice."""
    return rng.sample(_FIRST, n)


def shops(rng: random.Random, n: int) -> list[str]:
    """Return names of shops, none alike."""
    return [f"{name} {rng.choice(_TRADE)}" for name in rng.sample(_SHOP, n)]


def goods(rng: random.Random, n: int) -> list[str]:
    """Return goods, none twice."""
    return rng.sample(_GOODS, n)


def towns(rng: random.Random, n: int) -> list[str]:
    """Return towns, none twice."""
    return rng.sample(_TOWNS, n)


def code(rng: random.Random, shape: str) -> str:
    """Return a code: `9` stands for a digit, `A` for a letter that looks like no digit."""
    kinds = {"9": "0123456789", "A": "ACEFHJKLMNPRTUVWXY"}
    return "".join(rng.choice(kinds.get(mark, mark)) for mark in shape)


def price(rng: random.Random, low: int, high: int) -> Decimal:
    """Return an amount with two decimals, between whole `low` and `high`."""
    return Decimal(rng.randrange(low * 20, high * 20)) / 20 + Decimal("0.00")
