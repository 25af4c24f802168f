"""A shelf with price tags or a printed table: goods in a database, and a workbook."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from toolmark.suites.m3.local import office_files, pictures
from toolmark.suites.m3.local.families import invented_names, reference_calls
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.server_configuration import DATABASE_FILE
from toolmark.suites.m3.local.task_item import TaskItem, Template

Rows: TypeAlias = Sequence[Sequence[Any]]


def prices_item(rng: random.Random) -> TaskItem:
    """Correct prices: some tags of a shelf differ from the table of goods, which is not named."""
    table = f"goods_{rng.choice(family_words().wings)}"
    names = sorted(invented_names.random_goods(rng, 9))
    old = {name: invented_names.random_price(rng, 1, 20) for name in names}
    tagged = rng.sample(names, 6)
    changed = sorted(rng.sample(tagged, rng.randint(2, 4)))
    new_prices = old | {
        name: old[name] + rng.choice((1, 2, 3)) * Decimal("0.35") for name in changed
    }
    rows = [(name, float(old[name]), rng.randint(2, 60)) for name in names]
    book: Rows = [
        ["name", "old", "new"],
        *([n, float(old[n]), float(new_prices[n])] for n in changed),
    ]
    orders = [
        reference_calls.update_database(
            f"UPDATE {table} SET price = {new_prices[name]} WHERE name = '{name}'"
        )
        for name in changed
    ]
    staff = (
        "name TEXT, since INTEGER",
        [(who, 2019) for who in invented_names.random_people(rng, 3)],
    )
    goods = ("name TEXT PRIMARY KEY, price REAL, stock INTEGER", rows)
    return TaskItem(
        template="prices",
        question=write_question("stock", "prices", database=DATABASE_FILE),
        picture=pictures.draw_shelf(
            rng, goods=[(name, f"{new_prices[name]:.2f}") for name in tagged]
        ),
        picture_name="shelf.png",
        steps=[
            [
                ("sqlite/list_tables", {}),
                reference_calls.create_workbook("changes.xlsx", ["Changes"]),
            ],
            [reference_calls.query_database(f"SELECT * FROM {table}")],
            [*orders, reference_calls.write_rows("changes.xlsx", "Changes", book)],
        ],
        expected_state={
            DATABASE_FILE: _expect_table(
                table, [[name, float(new_prices[name]), n] for name, _, n in rows]
            ),
            "changes.xlsx": _expect_workbook({"Changes": book}),
        },
        answer_form="number of prices",
        answer_parts=(str(len(changed)),),
        files={DATABASE_FILE: office_files.make_database({"staff": staff, table: goods})},
    )


def delivery_item(rng: random.Random) -> TaskItem:
    """Book a delivery: the note counts packs; the database has the pieces and price of a pack."""
    rows = _random_articles(rng, 7)
    packs = {row[0]: rng.randint(2, 15) for row in rng.sample(rows, 3)}
    delivered = [(row, row[2] * packs[row[0]]) for row in rows if row[0] in packs]
    worth = [Decimal(str(row[4])) * n for row, n in delivered]
    pieces = {row[0]: n for row, n in delivered}
    book: Rows = [
        ["code", "name", "pieces", "value"],
        *([row[0], row[1], n, float(v)] for (row, n), v in zip(delivered, worth, strict=True)),
        ["total", None, sum(pieces.values()), float(sum(worth))],
    ]
    orders = [
        reference_calls.update_database(
            f"UPDATE articles SET stock = stock + {n} WHERE code = '{code}'"
        )
        for code, n in pieces.items()
    ]
    columns = "code TEXT PRIMARY KEY, name TEXT, pack INTEGER, stock INTEGER, price REAL"
    after = [[*row[:3], row[3] + pieces.get(row[0], 0), row[4]] for row in rows]
    lines = [[code, str(n)] for code, n in packs.items()]
    return TaskItem(
        template="delivery",
        question=write_question("stock", "delivery", database=DATABASE_FILE),
        picture=pictures.draw_table(
            rng, title="Delivery note", head=["Article", "Packs"], rows=lines
        ),
        picture_name="delivery.png",
        steps=[
            [
                reference_calls.query_database(
                    f"SELECT * FROM articles WHERE code IN ({_quote_texts(pieces)})"
                ),
                reference_calls.create_workbook("delivery.xlsx", ["Delivery"]),
            ],
            [*orders, reference_calls.write_rows("delivery.xlsx", "Delivery", book)],
        ],
        expected_state={
            DATABASE_FILE: _expect_table("articles", after),
            "delivery.xlsx": _expect_workbook({"Delivery": book}),
        },
        answer_form="value",
        answer_parts=(f"{sum(worth):.2f}",),
        files={DATABASE_FILE: office_files.make_database({"articles": (columns, rows)})},
    )


def reorder_item(rng: random.Random) -> TaskItem:
    """Make an order per supplier for the articles that were counted below their minimum."""
    suppliers = rng.sample(family_words().suppliers, 3)
    kinds = [*suppliers[:2] * 2, suppliers[2], *(rng.choice(suppliers) for _ in range(3))]
    rows = [
        (code, kind, rng.randint(20, 80), rng.choice((5, 6, 10, 12)))
        for code, kind in zip(_random_codes(rng, 8), kinds, strict=True)
    ]
    below_least = {row[0]: row[2] - rng.randint(4, 19) for row in rows[:4]}
    counted = below_least | {row[0]: row[2] + rng.randint(1, 30) for row in rows[4:6]}
    books: dict[str, Rows] = {}
    for kind in sorted(suppliers[:2]):
        needed = [
            [row[0], -((below_least[row[0]] - row[2]) // row[3])]
            for row in rows[:4]
            if row[1] == kind
        ]
        books[kind] = [["code", "packs"], *needed]
    lines = [[code, str(n)] for code, n in rng.sample(list(counted.items()), len(counted))]
    columns = "code TEXT PRIMARY KEY, supplier TEXT, least INTEGER, pack INTEGER"
    return TaskItem(
        template="reorder",
        question=write_question("stock", "reorder", database=DATABASE_FILE),
        picture=pictures.draw_table(rng, title="Stock count", head=["Code", "Counted"], rows=lines),
        picture_name="count.png",
        steps=[
            [
                reference_calls.query_database(
                    f"SELECT * FROM articles WHERE code IN ({_quote_texts(counted)})"
                )
            ],
            [reference_calls.create_workbook("orders.xlsx", list(books))],
            [reference_calls.write_rows("orders.xlsx", kind, book) for kind, book in books.items()],
        ],
        expected_state={"orders.xlsx": _expect_workbook(books)},
        answer_form="number of packs",
        answer_parts=(str(sum(row[1] for book in books.values() for row in book[1:])),),
        files={
            DATABASE_FILE: office_files.make_database(
                {"articles": (columns, rng.sample(rows, len(rows)))}
            )
        },
    )


TEMPLATES: tuple[Template, ...] = (prices_item, delivery_item, reorder_item)


# --- goods ------------------------------------------------------------------------------


def _random_codes(rng: random.Random, n: int) -> list[str]:
    """Return n different codes in ascending order."""
    found: set[str] = set()
    while len(found) < n:
        found.add(invented_names.random_code(rng, "AA9999"))
    return sorted(found)


def _random_articles(rng: random.Random, n: int) -> list[tuple[str, str, int, int, float]]:
    """Return n articles: code, name, pieces in a pack, pieces in stock, price of a piece."""
    return [
        (
            code,
            name,
            rng.choice((4, 6, 8, 12)),
            rng.randint(3, 90),
            float(invented_names.random_price(rng, 1, 9)),
        )
        for code, name in zip(
            _random_codes(rng, n), invented_names.random_goods(rng, n), strict=True
        )
    ]


# --- state ------------------------------------------------------------------------------


def _expect_table(name: str, rows: Rows) -> Mapping[str, Any]:
    return {"tables": {name: {"rows": rows}}}


def _expect_workbook(sheets: Mapping[str, Rows]) -> Mapping[str, Any]:
    """Return the expected workbook: these cells, and nothing in the row below them."""
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


def _quote_texts(texts: Mapping[str, Any]) -> str:
    return ", ".join(f"'{text}'" for text in sorted(texts))
