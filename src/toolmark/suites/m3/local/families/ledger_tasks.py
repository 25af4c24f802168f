"""Receipts to book, to divide, or to check against a price list: excel, calculator."""

from __future__ import annotations

import random
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import invented_names
from toolmark.suites.m3.local.families.exact_rounding import (
    round_half_up,
    rounds_uniquely,
    to_number,
)
from toolmark.suites.m3.local.families.family_words import write_question
from toolmark.suites.m3.local.office_files import Cell, Sheets, make_workbook
from toolmark.suites.m3.local.task_item import Arguments, TaskItem, Template

Lines = list[tuple[str, int, Decimal]]
Rows = list[list[Cell]]


def claim_item(rng: random.Random) -> TaskItem:
    """Book a receipt as the next claim, with the account and tax rate of its shop."""
    shop, *others = invented_names.random_shops(rng, 5)
    accounts = {
        name: (invented_names.random_code(rng, "99-AA"), rng.choice((6, 7, 9, 12, 17, 19, 21)))
        for name in (shop, *others)
    }
    account, rate = accounts[shop]
    lines, net = _lines_with_net(rng, rate)
    total, first, n = _lines_total(lines), rng.randint(120, 870), rng.randint(2, 6)
    booked: Rows = [["No", "Shop", "Account", "Gross", "Net"]]
    for index in range(n):
        name = rng.choice(others)
        gross = invented_names.random_price(rng, 4, 90)
        cut = round_half_up(Fraction(gross) * 100 / (100 + accounts[name][1]))
        booked.append([first + index, name, accounts[name][0], to_number(gross), to_number(cut)])
    known: Rows = [[name, *accounts[name]] for name in _shuffle_names(rng, accounts)]
    row: list[Cell] = [first + n, shop, account, to_number(total), to_number(net)]
    sheets: Sheets = {"Claims": booked, "Accounts": [["Shop", "Account", "VAT %"], *known]}
    return TaskItem(
        template="claim",
        question=write_question("ledger", "claim"),
        picture=_draw_receipt(rng, shop, lines),
        picture_name="receipt.png",
        files={"claims.xlsx": make_workbook(sheets)},
        steps=(
            (_read_sheet("claims.xlsx", "Claims"), _read_sheet("claims.xlsx", "Accounts")),
            (_calculator_call(f"{total}*100/(100+{rate})"),),
            (_write_sheet("claims.xlsx", "Claims", f"A{n + 2}", [row]),),
        ),
        expected_state=_expect_sheet("claims.xlsx", "Claims", [*booked, row]),
        answer_form="No, Net",
        answer_parts=(str(first + n), str(net)),
    )


def share_item(rng: random.Random) -> TaskItem:
    """Divide a bill between three people: each pays for their own lines, and the agreed tip."""
    names, tip = sorted(invented_names.random_first_names(rng, 3)), rng.choice((5, 8, 10, 12, 15))
    parts, due = _divide_lines(rng, tip)
    lines = [line for part in parts for line in part]
    eaten_by: Rows = [[line[0], names[at // 2]] for at, line in enumerate(lines)]
    rows: Rows = [["Guest", "Owes"]]
    rows += [[name, to_number(value)] for name, value in zip(names, due, strict=True)]
    agreed: Rows = [["What", "Value"], ["Tip in per cent", tip], ["Paid by", "me"]]
    sheets: Sheets = {"Had": [["Item", "Guest"], *rng.sample(eaten_by, 6)], "Agreed": agreed}
    largest = max(range(3), key=lambda at: due[at])
    return TaskItem(
        template="share",
        question=write_question("ledger", "share"),
        picture=_draw_receipt(rng, invented_names.random_shops(rng, 1)[0], rng.sample(lines, 6)),
        picture_name="bill.png",
        files={"evening.xlsx": make_workbook(sheets)},
        steps=(
            (
                _read_sheet("evening.xlsx", "Had"),
                _read_sheet("evening.xlsx", "Agreed"),
                _add_sheet("evening.xlsx", "Owed"),
            ),
            tuple(
                _calculator_call(f"({_lines_expression(part)})*(100+{tip})/100") for part in parts
            ),
            (_write_sheet("evening.xlsx", "Owed", "A1", rows),),
        ),
        expected_state=_expect_sheet("evening.xlsx", "Owed", rows),
        answer_form="guest, amount",
        answer_parts=(names[largest], str(due[largest])),
        wrong_values=tuple(names),
    )


def refund_item(rng: random.Random) -> TaskItem:
    """Find the lines of a receipt that cost more than in the price list; claim the difference."""
    lines = _random_lines(rng, rng.randint(4, 6))
    listed = {name: price for name, _, price in lines}
    wrong = [lines[at] for at in sorted(rng.sample(range(len(lines)), 2))]
    for name, _, price in wrong:
        listed[name] = price - Decimal(rng.randrange(4, 20)) / 20
    unsold = [name for name in invented_names.random_goods(rng, 12) if name not in listed]
    listed |= {name: invented_names.random_price(rng, 2, 15) for name in unsold[:4]}
    back = [n * (price - listed[name]) for name, n, price in wrong]
    rows: Rows = [["Item", "Quantity", "Refund"]]
    rows += [[name, n, to_number(more)] for (name, n, _), more in zip(wrong, back, strict=True)]
    known: Rows = [[name, to_number(listed[name])] for name in _shuffle_names(rng, listed)]
    return TaskItem(
        template="refund",
        question=write_question("ledger", "refund"),
        picture=_draw_receipt(rng, invented_names.random_shops(rng, 1)[0], lines),
        picture_name="receipt.png",
        files={"prices.xlsx": make_workbook({"Prices": [["Item", "Price"], *known]})},
        steps=(
            (_read_sheet("prices.xlsx", "Prices"), _add_sheet("prices.xlsx", "Refund")),
            tuple(_calculator_call(f"{n}*({price}-{listed[name]})") for name, n, price in wrong),
            (
                _write_sheet("prices.xlsx", "Refund", "A1", rows),
                _calculator_call("+".join(f"{more:.2f}" for more in back)),
            ),
        ),
        expected_state=_expect_sheet("prices.xlsx", "Refund", rows),
        answer_form="amount",
        answer_parts=(f"{sum(back):.2f}",),
    )


def _random_lines(rng: random.Random, n: int) -> Lines:
    return [
        (name, rng.randint(1, 4), invented_names.random_price(rng, 2, 15))
        for name in invented_names.random_goods(rng, n)
    ]


def _lines_with_net(rng: random.Random, rate: int) -> tuple[Lines, Decimal]:
    """Return lines, and their sum without VAT, which rounds in one way only."""
    while True:
        lines = _random_lines(rng, rng.randint(3, 5))
        exact = Fraction(_lines_total(lines)) * 100 / (100 + rate)
        if rounds_uniquely(exact):
            return lines, round_half_up(exact)


def _divide_lines(rng: random.Random, tip: int) -> tuple[list[Lines], list[Decimal]]:
    """Return the lines of each of three people, and their different payments."""
    while True:
        lines = _random_lines(rng, 6)
        parts = [lines[at : at + 2] for at in (0, 2, 4)]
        exact_shares = [Fraction(_lines_total(part)) * (100 + tip) / 100 for part in parts]
        if len(set(exact_shares)) == 3 and all(map(rounds_uniquely, exact_shares)):
            return parts, [round_half_up(value) for value in exact_shares]


def _lines_total(lines: Lines) -> Decimal:
    return sum((n * price for _, n, price in lines), Decimal("0.00"))


def _lines_expression(lines: Lines) -> str:
    return "+".join(f"{n}*{price}" for _, n, price in lines)


def _draw_receipt(rng: random.Random, shop: str, lines: Lines) -> bytes:
    date = f"2026-01-{rng.randint(2, 28):02}"
    return pictures.draw_receipt(rng, shop=shop, lines=lines, total=_lines_total(lines), date=date)


def _shuffle_names(rng: random.Random, known: Iterable[str]) -> list[str]:
    return rng.sample(sorted(known), len(set(known)))


def _calculator_call(expression: str) -> tuple[str, Arguments]:
    return "calculator/calculate", {"expression": expression}


def _read_sheet(path: str, sheet: str) -> tuple[str, Arguments]:
    return "excel/read_range", {"path": f"/workspace/{path}", "sheet": sheet}


def _add_sheet(path: str, sheet: str) -> tuple[str, Arguments]:
    return "excel/create_sheet", {"path": f"/workspace/{path}", "new_name": sheet}


def _write_sheet(path: str, sheet: str, at: str, rows: Rows) -> tuple[str, Arguments]:
    where = {"path": f"/workspace/{path}", "sheet": sheet, "at": at}
    return "excel/write_range", {**where, "rows": rows}


def _expect_sheet(path: str, name: str, rows: Rows) -> dict[str, Any]:
    """Return the expectation for a sheet with these rows from A1 on, and nothing below them."""
    cells: dict[str, Any] = {
        f"{chr(ord('A') + column)}{at}": value
        for at, row in enumerate(rows, 1)
        for column, value in enumerate(row)
    }
    cells[f"A{len(rows) + 1}"] = {"absent": True}
    return {path: {"sheets": {name: cells}}}


TEMPLATES: tuple[Template, ...] = (claim_item, share_item, refund_item)
