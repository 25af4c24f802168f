"""QR codes and barcodes on objects in a database: barcode, sqlite, filesystem."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import invented_names, reference_calls
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.office_files import Row, Tables, make_database
from toolmark.suites.m3.local.server_configuration import DATABASE_FILE
from toolmark.suites.m3.local.task_item import Arguments, TaskItem, Template


def lend_item(rng: random.Random) -> TaskItem:
    """Lend the object with this code to a reader: add a loan, and update the object's state."""
    n = rng.randint(6, 9)
    names = invented_names.random_people(rng, 5)
    day = f"2026-01-{rng.randint(12, 28)}"
    tags, cards = _random_codes(rng, "AA-9999-A", n), _random_codes(rng, "R-999", 5)
    at, who, last = rng.randrange(n), rng.randrange(5), rng.randint(310, 890)
    states = ["in" if index == at else rng.choice(("in", "lent")) for index in range(n)]
    shelves = [invented_names.random_code(rng, "A9") for _ in tags]
    things = list(zip(tags, rng.sample(family_words().titles, n), shelves, states, strict=True))
    lent = [tag for tag, state in zip(tags, states, strict=True) if state == "lent"] or tags[at:]
    days = [f"2026-01-{11 - back:02}" for back in range(len(lent))]
    loans = [(last - back, tag, rng.choice(cards), days[back]) for back, tag in enumerate(lent)]
    loans.reverse()
    tag, loan = tags[at], (last + 1, tags[at], cards[who], day)
    after = [(*row[:3], "lent") if row[0] == tag else row for row in things]
    tables: Tables = {
        "things": ("tag TEXT PRIMARY KEY, title TEXT, shelf TEXT, state TEXT", things),
        "readers": ("card TEXT PRIMARY KEY, name TEXT", list(zip(cards, names, strict=True))),
        "loans": ("number INTEGER PRIMARY KEY, tag TEXT, card TEXT, day TEXT", loans),
    }
    return TaskItem(
        template="lend",
        question=write_question("label", "lend", reader=names[who], day=day),
        picture=pictures.draw_qr_code(
            rng, text=tag, caption=rng.choice(("Reading room", "Town library", ""))
        ),
        picture_name="label.png",
        files={DATABASE_FILE: make_database(tables)},
        steps=(
            (
                _scan_code("label.png"),
                reference_calls.query_database(
                    f"SELECT card FROM readers WHERE name = '{names[who]}'"
                ),
                reference_calls.query_database("SELECT MAX(number) AS highest FROM loans"),
            ),
            (
                reference_calls.query_database(f"SELECT title FROM things WHERE tag = '{tag}'"),
                reference_calls.update_database(
                    f"INSERT INTO loans (number, tag, card, day) VALUES {loan}"
                ),
                reference_calls.update_database(
                    f"UPDATE things SET state = 'lent' WHERE tag = '{tag}'"
                ),
            ),
        ),
        expected_state=_expect_tables(things=after, loans=[*loans, loan]),
        answer_form="title, number of the loan",
        answer_parts=(things[at][1], str(loan[0])),
        wrong_values=tuple(row[1] for row in things),
    )


def recall_item(rng: random.Random) -> TaskItem:
    """Withdraw an article from sale, and record how many pieces go back to its supplier."""
    n, at, batch = 8, rng.randrange(8), invented_names.random_code(rng, "A999-99")
    firms = dict(
        zip(sorted(rng.sample(range(11, 99), 4)), invented_names.random_shops(rng, 4), strict=True)
    )
    stock = rng.sample(range(12, 96), n)
    articles = [
        (_random_ean(rng), name, rng.choice(list(firms)), pieces)
        for name, pieces in zip(invented_names.random_goods(rng, n), stock, strict=True)
    ]
    ean, _, key, pieces = articles[at]
    record = (ean, firms[key], pieces, batch)
    tables: Tables = {
        "articles": ("ean TEXT PRIMARY KEY, name TEXT, supplier INTEGER, stock INTEGER", articles),
        "suppliers": ("key INTEGER PRIMARY KEY, name TEXT", list(firms.items())),
    }
    after = [(*row[:3], 0) if row[0] == ean else row for row in articles]
    columns = ["ean", "supplier", "pieces", "batch"]
    create_statement = "CREATE TABLE recalls (ean TEXT, supplier TEXT, pieces INTEGER, batch TEXT)"
    find = (
        "SELECT articles.stock, suppliers.name AS supplier FROM articles JOIN suppliers "
        f"ON suppliers.key = articles.supplier WHERE articles.ean = '{ean}'"
    )
    return TaskItem(
        template="recall",
        question=write_question("label", "recall", batch=batch),
        picture=pictures.draw_barcode(rng, digits=ean, caption=rng.choice(("", "Shelf copy"))),
        picture_name="article.png",
        files={DATABASE_FILE: make_database(tables)},
        steps=(
            (_scan_code("article.png"), ("sqlite/create_table", {"query": create_statement})),
            (reference_calls.query_database(find),),
            (
                reference_calls.update_database(
                    f"INSERT INTO recalls (ean, supplier, pieces, batch) VALUES {record}"
                ),
                reference_calls.update_database(
                    f"UPDATE articles SET stock = 0 WHERE ean = '{ean}'"
                ),
            ),
        ),
        expected_state=_expect_tables(
            articles=after, recalls=[record], columns={"recalls": columns}
        ),
        answer_form="supplier, pieces",
        answer_parts=(firms[key], str(pieces)),
        wrong_values=tuple(firms.values()),
    )


def parcel_item(rng: random.Random) -> TaskItem:
    """Forward a parcel to the depot that serves its town, with a note for the driver."""
    depots = dict(
        zip(_random_codes(rng, "D9A", 3), invented_names.random_first_names(rng, 3), strict=True)
    )
    serves = {town: rng.choice(list(depots)) for town in invented_names.random_towns(rng, 6)}
    parcels = [
        (number, rng.choice(list(serves)), rng.randint(0, 23) + rng.randint(1, 9) / 10, None)
        for number in _random_codes(rng, "9A-99999", rng.randint(5, 8))
    ]
    number, town, weight, _ = rng.choice(parcels)
    depot, driver = serves[town], depots[serves[town]]
    line, path = f"{number} | {town} | {weight} kg | {depot}", f"notes/{driver.lower()}.txt"
    tables: Tables = {
        "parcels": ("number TEXT PRIMARY KEY, town TEXT, kg REAL, depot TEXT", parcels),
        "routes": ("town TEXT PRIMARY KEY, depot TEXT", list(serves.items())),
        "depots": ("depot TEXT PRIMARY KEY, driver TEXT", list(depots.items())),
    }
    depot_query = (
        "SELECT depots.depot, depots.driver FROM routes JOIN depots ON depots.depot = routes.depot "
        f"WHERE routes.town = '{town}'"
    )
    after = [(*row[:3], depot) if row[0] == number else row for row in parcels]
    return TaskItem(
        template="parcel",
        question=write_question("label", "parcel"),
        picture=pictures.draw_qr_code(
            rng, text=number, caption=rng.choice(("Parcel post", "With care"))
        ),
        picture_name="parcel.png",
        files={"notes/README.txt": b"One file per driver.\n", DATABASE_FILE: make_database(tables)},
        steps=(
            (_scan_code("parcel.png"),),
            (
                reference_calls.query_database(
                    f"SELECT town, kg FROM parcels WHERE number = '{number}'"
                ),
            ),
            (reference_calls.query_database(depot_query),),
            (
                reference_calls.update_database(
                    f"UPDATE parcels SET depot = '{depot}' WHERE number = '{number}'"
                ),
                reference_calls.write_file(path, f"{line}\n"),
            ),
        ),
        expected_state={**_expect_tables(parcels=after), path: {"text": {"contains": [line]}}},
        answer_form="depot, driver",
        answer_parts=(depot, driver),
        wrong_values=tuple(depots.values()),
    )


def _random_codes(rng: random.Random, shape: str, n: int) -> list[str]:
    """Return different codes of a shape."""
    found: dict[str, None] = {}
    while len(found) < n:
        found[invented_names.random_code(rng, shape)] = None
    return list(found)


def _random_ean(rng: random.Random) -> str:
    """Return thirteen digits with a correct check digit; the first is not zero."""
    digits = [rng.randint(2, 9), *(rng.randint(0, 9) for _ in range(11))]
    check = -sum(digit * (3 if at % 2 else 1) for at, digit in enumerate(digits)) % 10
    return "".join(map(str, [*digits, check]))


def _scan_code(name: str) -> tuple[str, Arguments]:
    return "barcode/decode_qrcode_full", {"image_path": f"/workspace/images/{name}"}


def _expect_tables(
    columns: Mapping[str, Sequence[str]] | None = None, **rows: Sequence[Row]
) -> Arguments:
    """Return the expectation for tables with exactly these rows, and these columns if given."""
    tables: dict[str, Any] = {
        name: {"rows": [list(row) for row in table_rows]} for name, table_rows in rows.items()
    }
    for name, heads in (columns or {}).items():
        tables[name]["columns"] = list(heads)
    return {DATABASE_FILE: {"tables": tables}}


TEMPLATES: tuple[Template, ...] = (lend_item, recall_item, parcel_item)
