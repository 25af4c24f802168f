"""Laws of the family `stock` alone; test_families.py holds those of all families."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from math import ceil
from typing import Any

import pytest

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import stock_tasks
from toolmark.suites.m3.local.server_configuration import DATABASE_FILE
from toolmark.suites.m3.local.task_item import TaskItem, Template

SEEDS = range(12)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Keep what a picture is drawn from: all that a reader of it can know."""
    saved: dict[str, Any] = {}

    def watched(draw: Callable[..., bytes]) -> Callable[..., bytes]:
        def drawn(rng: random.Random, **collected: Any) -> bytes:
            saved.update(collected)
            return draw(rng, **collected)

        return drawn

    for name in ("draw_shelf", "draw_table"):
        monkeypatch.setattr(pictures, name, watched(getattr(pictures, name)))
    return saved


def query(item: TaskItem, text: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(":memory:")) as link:
        link.deserialize(item.files[DATABASE_FILE])
        return link.execute(text).fetchall()


def written(item: TaskItem, path: str) -> dict[str, list[list[Any]]]:
    """Return the rows of a workbook as it must be, by sheet."""
    return {name: list(rows(cells)) for name, cells in item.expected_state[path]["sheets"].items()}


def rows(cells: dict[str, Any]) -> Iterator[list[Any]]:
    row = 1
    while cells[f"A{row}"] != {"absent": True}:
        yield [cells.get(f"{letter}{row}") for letter in "ABCD"]
        row += 1


@pytest.mark.parametrize("seed", SEEDS)
def test_prices_that_differ_from_the_tags_become_those_of_the_tags(
    seed: int, shown: dict[str, Any]
) -> None:
    item = stock_tasks.prices_item(random.Random(seed))
    ((table, collected),) = item.expected_state[DATABASE_FILE]["tables"].items()
    old = query(item, f"SELECT * FROM {table}")
    tags = {name: Decimal(price) for name, price in shown["goods"]}
    differ = sorted(n for n, price, _ in old if n in tags and tags[n] != Decimal(str(price)))
    assert item.answer_parts == (str(len(differ)),) and differ
    new = [[n, float(tags[n]) if n in differ else price, count] for n, price, count in old]
    assert collected["rows"] == new
    changed = [[n, price, float(tags[n]), None] for n, price, _ in old if n in differ]
    assert written(item, "changes.xlsx") == {"Changes": [["name", "old", "new", None], *changed]}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_delivery_adds_packs_times_pieces(seed: int, shown: dict[str, Any]) -> None:
    item = stock_tasks.delivery_item(random.Random(seed))
    packs = {code: int(n) for code, n in shown["rows"]}
    old = query(item, "SELECT * FROM articles")
    collected = item.expected_state[DATABASE_FILE]["tables"]["articles"]["rows"]
    came = {code: pack * packs.get(code, 0) for code, _, pack, *_ in old}
    assert collected == [[*row[:3], row[3] + came[row[0]], row[4]] for row in old]
    _, *lines, total = written(item, "delivery.xlsx")["Delivery"]
    assert [line[0] for line in lines] == sorted(packs)
    cents = {row[0]: came[row[0]] * Decimal(str(row[4])) for row in old}
    assert [line[2:] for line in lines] == [[came[c], float(cents[c])] for c in sorted(packs)]
    assert total == ["total", None, sum(came.values()), float(item.answer_parts[0])]
    assert Decimal(item.answer_parts[0]) == sum(cents.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_is_the_least_number_of_packs_that_suffices(
    seed: int, shown: dict[str, Any]
) -> None:
    item = stock_tasks.reorder_item(random.Random(seed))
    counted = {code: int(n) for code, n in shown["rows"]}
    wanted: dict[str, list[list[Any]]] = {}
    for code, supplier, least, pack in query(item, "SELECT * FROM articles ORDER BY code"):
        if code in counted and counted[code] < least:
            packs = ceil((least - counted[code]) / pack)
            wanted.setdefault(supplier, []).append([code, packs, None, None])
    found = written(item, "orders.xlsx")
    assert list(found) == sorted(wanted)
    assert {name: lines[1:] for name, lines in found.items()} == wanted
    assert item.answer_parts == (str(sum(line[1] for lines in wanted.values() for line in lines)),)


@pytest.mark.parametrize("template", stock_tasks.TEMPLATES)
def test_no_statement_is_broken_by_a_name(template: Template) -> None:
    for seed in SEEDS:
        item = template(random.Random(seed))
        with closing(sqlite3.connect(":memory:")) as link:
            link.deserialize(item.files[DATABASE_FILE])
            for text in [g["query"] for step in item.steps for _, g in step if "query" in g]:
                assert link.execute(text).rowcount in (-1, 1)
