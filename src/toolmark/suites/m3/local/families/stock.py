"""A labelled shelf or a printed table: goods in a database, and a workbook about them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from toolmark.suites.m3.local import files, scenes
from toolmark.suites.m3.local.families import calls, words
from toolmark.suites.m3.local.item import Item, Template
from toolmark.suites.m3.local.servers import DATABASE

Rows: TypeAlias = Sequence[Sequence[Any]]

_WINGS = ("east", "north", "south", "west", "upper", "lower")
_SUPPLIERS = ("Brandt", "Corley", "Dorn", "Ekman", "Fabre", "Grote")

_PRICES = f"""The price tags in the picture are right; our list of goods may be behind. Correct \
the prices of those goods in the database `{DATABASE}` where they differ, and nothing else. Leave \
a workbook `changes.xlsx` whose only sheet is called `Changes`, with `name`, `old` and `new` in \
the first row from A1 on, and below it a row for each of the goods whose price you had to change, \
in alphabetical order: the name, the price in the list before, and the price now, both as numbers. \
How many prices did you change?"""

_DELIVERY = f"""What the delivery note in the picture lists has come in; it counts packs. The \
table `articles` of the database `{DATABASE}` tells for each code how many pieces a pack holds, \
how many pieces we have in stock, and the price of a piece. Add what has come to the stock. Leave \
a workbook `delivery.xlsx` whose only sheet is called `Delivery`, with `code`, `name`, `pieces` \
and `value` in the first row from A1 on, below it a row for each article of the note by code in \
ascending order (pieces that came, and what they are worth), and last a row with `total` under the \
codes, nothing under the names, and the sums of pieces and of values. All numbers as numbers, not \
as formulas. What is the delivery worth, with two decimals?"""

_REORDER = f"""The picture shows what was counted in the store today. The table `articles` of the \
database `{DATABASE}` gives for each code the supplier, the least number of pieces that we want to \
have, and how many pieces a pack holds. Of each article counted that is below its least number, \
order as many whole packs as are needed to reach it. Write the orders into a new workbook \
`orders.xlsx`: a sheet for each supplier we order from, named as in the table, in alphabetical \
order, and no other sheets; on each `code` and `packs` in the first row from A1 on, and below it a \
row for each article by code in ascending order, packs as numbers. How many packs do we order in \
all?"""


def prices(rng: random.Random) -> Item:
    """Some price tags of a shelf differ from the table of goods, whose name is not told."""
    table = f"goods_{rng.choice(_WINGS)}"
    names = sorted(words.goods(rng, 9))
    old = {name: words.price(rng, 1, 20) for name in names}
    shown = rng.sample(names, 6)
    changed = sorted(rng.sample(shown, rng.randint(2, 4)))
    now = old | {name: old[name] + rng.choice((1, 2, 3)) * Decimal("0.35") for name in changed}
    rows = [(name, float(old[name]), rng.randint(2, 60)) for name in names]
    book: Rows = [["name", "old", "new"], *([n, float(old[n]), float(now[n])] for n in changed)]
    orders = [
        calls.update(f"UPDATE {table} SET price = {now[name]} WHERE name = '{name}'")
        for name in changed
    ]
    staff = ("name TEXT, since INTEGER", [(who, 2019) for who in words.people(rng, 3)])
    goods = ("name TEXT PRIMARY KEY, price REAL, stock INTEGER", rows)
    return Item(
        template="prices",
        question=_PRICES,
        picture=scenes.shelf(rng, goods=[(name, f"{now[name]:.2f}") for name in shown]),
        name="shelf.png",
        steps=[
            [("sqlite/list_tables", {}), calls.workbook("changes.xlsx", ["Changes"])],
            [calls.select(f"SELECT * FROM {table}")],
            [*orders, calls.fill("changes.xlsx", "Changes", book)],
        ],
        expects={
            DATABASE: _table(table, [[name, float(now[name]), n] for name, _, n in rows]),
            "changes.xlsx": _book({"Changes": book}),
        },
        form="number of prices",
        answer=(str(len(changed)),),
        files={DATABASE: files.database({"staff": staff, table: goods})},
    )


def delivery(rng: random.Random) -> Item:
    """A delivery note counts packs; how much a pack holds and costs is in the database."""
    rows = _articles(rng, 7)
    packs = {row[0]: rng.randint(2, 15) for row in rng.sample(rows, 3)}
    came = [(row, row[2] * packs[row[0]]) for row in rows if row[0] in packs]
    worth = [Decimal(str(row[4])) * n for row, n in came]
    pieces = {row[0]: n for row, n in came}
    book: Rows = [
        ["code", "name", "pieces", "value"],
        *([row[0], row[1], n, float(v)] for (row, n), v in zip(came, worth, strict=True)),
        ["total", None, sum(pieces.values()), float(sum(worth))],
    ]
    orders = [
        calls.update(f"UPDATE articles SET stock = stock + {n} WHERE code = '{code}'")
        for code, n in pieces.items()
    ]
    columns = "code TEXT PRIMARY KEY, name TEXT, pack INTEGER, stock INTEGER, price REAL"
    after = [[*row[:3], row[3] + pieces.get(row[0], 0), row[4]] for row in rows]
    lines = [[code, str(n)] for code, n in packs.items()]
    return Item(
        template="delivery",
        question=_DELIVERY,
        picture=scenes.table(rng, title="Delivery note", head=["Article", "Packs"], rows=lines),
        name="delivery.png",
        steps=[
            [
                calls.select(f"SELECT * FROM articles WHERE code IN ({_quoted(pieces)})"),
                calls.workbook("delivery.xlsx", ["Delivery"]),
            ],
            [*orders, calls.fill("delivery.xlsx", "Delivery", book)],
        ],
        expects={
            DATABASE: _table("articles", after),
            "delivery.xlsx": _book({"Delivery": book}),
        },
        form="value",
        answer=(f"{sum(worth):.2f}",),
        files={DATABASE: files.database({"articles": (columns, rows)})},
    )


def reorder(rng: random.Random) -> Item:
    """What was counted is below the least number here and there: an order for each supplier."""
    suppliers = rng.sample(_SUPPLIERS, 3)
    kinds = [*suppliers[:2] * 2, suppliers[2], *(rng.choice(suppliers) for _ in range(3))]
    rows = [
        (code, kind, rng.randint(20, 80), rng.choice((5, 6, 10, 12)))
        for code, kind in zip(_codes(rng, 8), kinds, strict=True)
    ]
    short = {row[0]: row[2] - rng.randint(4, 19) for row in rows[:4]}
    counted = short | {row[0]: row[2] + rng.randint(1, 30) for row in rows[4:6]}
    books: dict[str, Rows] = {}
    for kind in sorted(suppliers[:2]):
        needed = [
            [row[0], -((short[row[0]] - row[2]) // row[3])] for row in rows[:4] if row[1] == kind
        ]
        books[kind] = [["code", "packs"], *needed]
    lines = [[code, str(n)] for code, n in rng.sample(list(counted.items()), len(counted))]
    columns = "code TEXT PRIMARY KEY, supplier TEXT, least INTEGER, pack INTEGER"
    return Item(
        template="reorder",
        question=_REORDER,
        picture=scenes.table(rng, title="Stock count", head=["Code", "Counted"], rows=lines),
        name="count.png",
        steps=[
            [calls.select(f"SELECT * FROM articles WHERE code IN ({_quoted(counted)})")],
            [calls.workbook("orders.xlsx", list(books))],
            [calls.fill("orders.xlsx", kind, book) for kind, book in books.items()],
        ],
        expects={"orders.xlsx": _book(books)},
        form="number of packs",
        answer=(str(sum(row[1] for book in books.values() for row in book[1:])),),
        files={DATABASE: files.database({"articles": (columns, rng.sample(rows, len(rows)))})},
    )


TEMPLATES: tuple[Template, ...] = (prices, delivery, reorder)


# --- goods ------------------------------------------------------------------------------


def _codes(rng: random.Random, n: int) -> list[str]:
    """Draw n codes, in ascending order, none twice."""
    found: set[str] = set()
    while len(found) < n:
        found.add(words.code(rng, "AA9999"))
    return sorted(found)


def _articles(rng: random.Random, n: int) -> list[tuple[str, str, int, int, float]]:
    """Draw n articles: code, name, pieces in a pack, pieces in stock, price of a piece."""
    return [
        (code, name, rng.choice((4, 6, 8, 12)), rng.randint(3, 90), float(words.price(rng, 1, 9)))
        for code, name in zip(_codes(rng, n), words.goods(rng, n), strict=True)
    ]


# --- state ------------------------------------------------------------------------------


def _table(name: str, rows: Rows) -> Mapping[str, Any]:
    return {"tables": {name: {"rows": rows}}}


def _book(sheets: Mapping[str, Rows]) -> Mapping[str, Any]:
    """Return the workbook as it must be: these cells, and nothing in the row below them."""
    found = {}
    for name, rows in sheets.items():
        cells = {
            f"{'ABCDEFGH'[column]}{row}": value
            for row, values in enumerate(rows, 1)
            for column, value in enumerate(values)
            if value is not None
        }
        found[name] = cells | {f"A{len(rows) + 1}": {"absent": True}}
    return {"sheets": found}


def _quoted(texts: Mapping[str, Any]) -> str:
    return ", ".join(f"'{text}'" for text in sorted(texts))
