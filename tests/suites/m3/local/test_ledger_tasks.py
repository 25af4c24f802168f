"""Amounts of the family `ledger`: whichever way they are worked out, they come to the same."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolmark.suites.m3.local.families import ledger_tasks
from toolmark.suites.m3.local.families.exact_rounding import (
    round_half_up,
    rounds_uniquely,
    to_number,
)

CENTS = st.integers(1, 10**6)


@given(CENTS, st.integers(1, 30), st.integers(1, 2))
def test_a_clear_amount_is_rounded_alike_in_binary(cents: int, rate: int, places: int) -> None:
    exact = Fraction(cents, 100 + rate)
    assume(rounds_uniquely(exact, places))
    assert to_number(round_half_up(exact, places)) == round(cents / (100 + rate), places)


def test_what_lies_half_way_is_not_clear() -> None:
    assert not rounds_uniquely(Fraction("0.125"))
    assert not rounds_uniquely(Fraction("0.1251"))
    assert rounds_uniquely(Fraction("0.12"))
    assert rounds_uniquely(Fraction("0.129"))
    assert round_half_up(Fraction("0.125")) == Decimal("0.13")


@pytest.mark.parametrize("seed", range(30))
def test_net_and_tax_are_those_of_the_receipt(seed: int) -> None:
    item = ledger_tasks.claim_item(random.Random(seed))
    (_, sums), (_, write) = item.steps[1][0], item.steps[2][0]
    gross, rate = sums["expression"].removesuffix(")").split("*100/(100+")
    (row,) = write["rows"]
    assert row[3] == float(gross)
    assert abs(row[4] * (1 + int(rate) / 100) - row[3]) < 0.01
    assert item.answer_parts[1] == f"{row[4]:.2f}"


@pytest.mark.parametrize("seed", range(30))
def test_parts_make_up_the_bill_and_its_tip(seed: int) -> None:
    item = ledger_tasks.share_item(random.Random(seed))
    rows = item.steps[2][0][1]["rows"][1:]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert max(rows, key=lambda row: row[1])[0] == item.answer_parts[0]
    assert len({row[1] for row in rows}) == 3
