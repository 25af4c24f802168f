"""Receipts that must be booked, shared out, or checked against a price list: excel, calculator."""

from __future__ import annotations

import random
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from toolmark.suites.m3.local import scenes
from toolmark.suites.m3.local.families import words
from toolmark.suites.m3.local.families.numbers import clear, number, rounded
from toolmark.suites.m3.local.files import Cell, Sheets, workbook
from toolmark.suites.m3.local.item import Arguments, Item, Template

Lines = list[tuple[str, int, Decimal]]
Rows = list[list[Cell]]

_CLAIM = (
    "Please book this receipt in claims.xlsx: one more row directly below the last one of the "
    "sheet Claims, going on with the numbering. The sheet Accounts says which account and which "
    "rate of VAT belong to a shop. Gross is what was paid in all, net is that without the VAT it "
    "includes; both as plain numbers, rounded to two decimals. Tell me the number of the claim and "
    "its net amount with two decimals."
)
_SHARE = (
    "I paid for the three of us, here is the receipt. In evening.xlsx the sheet Had says who had "
    "what, and the sheet Agreed what tip we gave on top; everybody pays it on their own part. "
    "Please make a new sheet Owed in it: the head Guest and Owes in row 1, below it one row per "
    "guest in alphabetical order, each with what that guest's part comes to, tip included, as a "
    "plain number rounded to two decimals. Who owes the most, and how much, with two decimals?"
)
_REFUND = (
    "Some things on this receipt cost more than they should. The agreed prices for one piece are "
    "in the sheet Prices of prices.xlsx. Please add a sheet Refund to that file: the head Item, "
    "Quantity and Refund in row 1, then one row for each thing charged above its agreed price, in "
    "the order of the receipt, with the pieces bought and what we get back for them together, as "
    "plain numbers rounded to two decimals. Tell me the whole refund with two decimals."
)


def claim(rng: random.Random) -> Item:
    """Book a receipt as the next claim, with the account and tax rate of its shop."""
    shop, *others = words.shops(rng, 5)
    accounts = {
        name: (words.code(rng, "99-AA"), rng.choice((6, 7, 9, 12, 17, 19, 21)))
        for name in (shop, *others)
    }
    account, rate = accounts[shop]
    lines, net = _netted(rng, rate)
    total, first, n = _sum(lines), rng.randint(120, 870), rng.randint(2, 6)
    booked: Rows = [["No", "Shop", "Account", "Gross", "Net"]]
    for index in range(n):
        name = rng.choice(others)
        gross = words.price(rng, 4, 90)
        cut = rounded(Fraction(gross) * 100 / (100 + accounts[name][1]))
        booked.append([first + index, name, accounts[name][0], number(gross), number(cut)])
    known: Rows = [[name, *accounts[name]] for name in _mixed(rng, accounts)]
    row: list[Cell] = [first + n, shop, account, number(total), number(net)]
    sheets: Sheets = {"Claims": booked, "Accounts": [["Shop", "Account", "VAT %"], *known]}
    return Item(
        template="claim",
        question=_CLAIM,
        picture=_receipt(rng, shop, lines),
        name="receipt.png",
        files={"claims.xlsx": workbook(sheets)},
        steps=(
            (_read("claims.xlsx", "Claims"), _read("claims.xlsx", "Accounts")),
            (_sums(f"{total}*100/(100+{rate})"),),
            (_write("claims.xlsx", "Claims", f"A{n + 2}", [row]),),
        ),
        expects=_sheet("claims.xlsx", "Claims", [*booked, row]),
        form="No, Net",
        answer=(str(first + n), str(net)),
    )


def share(rng: random.Random) -> Item:
    """Share a bill among three: each pays what they had, and the tip that was agreed on."""
    names, tip = sorted(words.first(rng, 3)), rng.choice((5, 8, 10, 12, 15))
    parts, due = _dealt(rng, tip)
    lines = [line for part in parts for line in part]
    had: Rows = [[line[0], names[at // 2]] for at, line in enumerate(lines)]
    rows: Rows = [["Guest", "Owes"]]
    rows += [[name, number(value)] for name, value in zip(names, due, strict=True)]
    agreed: Rows = [["What", "Value"], ["Tip in per cent", tip], ["Paid by", "me"]]
    sheets: Sheets = {"Had": [["Item", "Guest"], *rng.sample(had, 6)], "Agreed": agreed}
    most = max(range(3), key=lambda at: due[at])
    return Item(
        template="share",
        question=_SHARE,
        picture=_receipt(rng, words.shops(rng, 1)[0], rng.sample(lines, 6)),
        name="bill.png",
        files={"evening.xlsx": workbook(sheets)},
        steps=(
            (
                _read("evening.xlsx", "Had"),
                _read("evening.xlsx", "Agreed"),
                _add("evening.xlsx", "Owed"),
            ),
            tuple(_sums(f"({_typed(part)})*(100+{tip})/100") for part in parts),
            (_write("evening.xlsx", "Owed", "A1", rows),),
        ),
        expects=_sheet("evening.xlsx", "Owed", rows),
        form="guest, amount",
        answer=(names[most], str(due[most])),
        rivals=tuple(names),
    )


def refund(rng: random.Random) -> Item:
    """Find the lines of a receipt that were charged above the price list, and claim the rest."""
    lines = _bought(rng, rng.randint(4, 6))
    listed = {name: price for name, _, price in lines}
    wrong = [lines[at] for at in sorted(rng.sample(range(len(lines)), 2))]
    for name, _, price in wrong:
        listed[name] = price - Decimal(rng.randrange(4, 20)) / 20
    spare = [name for name in words.goods(rng, 12) if name not in listed]
    listed |= {name: words.price(rng, 2, 15) for name in spare[:4]}
    back = [n * (price - listed[name]) for name, n, price in wrong]
    rows: Rows = [["Item", "Quantity", "Refund"]]
    rows += [[name, n, number(more)] for (name, n, _), more in zip(wrong, back, strict=True)]
    known: Rows = [[name, number(listed[name])] for name in _mixed(rng, listed)]
    return Item(
        template="refund",
        question=_REFUND,
        picture=_receipt(rng, words.shops(rng, 1)[0], lines),
        name="receipt.png",
        files={"prices.xlsx": workbook({"Prices": [["Item", "Price"], *known]})},
        steps=(
            (_read("prices.xlsx", "Prices"), _add("prices.xlsx", "Refund")),
            tuple(_sums(f"{n}*({price}-{listed[name]})") for name, n, price in wrong),
            (
                _write("prices.xlsx", "Refund", "A1", rows),
                _sums("+".join(f"{more:.2f}" for more in back)),
            ),
        ),
        expects=_sheet("prices.xlsx", "Refund", rows),
        form="amount",
        answer=(f"{sum(back):.2f}",),
    )


def _bought(rng: random.Random, n: int) -> Lines:
    return [(name, rng.randint(1, 4), words.price(rng, 2, 15)) for name in words.goods(rng, n)]


def _netted(rng: random.Random, rate: int) -> tuple[Lines, Decimal]:
    """Return lines, and what they come to without VAT, which can be rounded in one way only."""
    while True:
        lines = _bought(rng, rng.randint(3, 5))
        exact = Fraction(_sum(lines)) * 100 / (100 + rate)
        if clear(exact):
            return lines, rounded(exact)


def _dealt(rng: random.Random, tip: int) -> tuple[list[Lines], list[Decimal]]:
    """Return the lines of each of three, and what they pay: no two the same."""
    while True:
        lines = _bought(rng, 6)
        parts = [lines[at : at + 2] for at in (0, 2, 4)]
        owed = [Fraction(_sum(part)) * (100 + tip) / 100 for part in parts]
        if len(set(owed)) == 3 and all(map(clear, owed)):
            return parts, [rounded(value) for value in owed]


def _sum(lines: Lines) -> Decimal:
    return sum((n * price for _, n, price in lines), Decimal("0.00"))


def _typed(lines: Lines) -> str:
    return "+".join(f"{n}*{price}" for _, n, price in lines)


def _receipt(rng: random.Random, shop: str, lines: Lines) -> bytes:
    date = f"2026-01-{rng.randint(2, 28):02}"
    return scenes.receipt(rng, shop=shop, lines=lines, total=_sum(lines), date=date)


def _mixed(rng: random.Random, known: Iterable[str]) -> list[str]:
    return rng.sample(sorted(known), len(set(known)))


def _sums(expression: str) -> tuple[str, Arguments]:
    return "calculator/calculate", {"expression": expression}


def _read(path: str, sheet: str) -> tuple[str, Arguments]:
    return "excel/read_range", {"path": f"/workspace/{path}", "sheet": sheet}


def _add(path: str, sheet: str) -> tuple[str, Arguments]:
    return "excel/create_sheet", {"path": f"/workspace/{path}", "new_name": sheet}


def _write(path: str, sheet: str, at: str, rows: Rows) -> tuple[str, Arguments]:
    where = {"path": f"/workspace/{path}", "sheet": sheet, "at": at}
    return "excel/write_range", {**where, "rows": rows}


def _sheet(path: str, name: str, rows: Rows) -> dict[str, Any]:
    """Expect a sheet to hold these rows from A1 on, and nothing below them."""
    cells: dict[str, Any] = {
        f"{chr(ord('A') + column)}{at}": value
        for at, row in enumerate(rows, 1)
        for column, value in enumerate(row)
    }
    cells[f"A{len(rows) + 1}"] = {"absent": True}
    return {path: {"sheets": {name: cells}}}


TEMPLATES: tuple[Template, ...] = (claim, share, refund)
