"""Less usual ways to write a value, and near ones that are another value."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark.scoring.comparators import from_row

USD_CENTS = {"amount": 0.45, "currency": "USD"}
POUNDS = {"amount": 200, "currency": "GBP"}
VALUES: list[tuple[Any, Any, list[Any], list[Any]]] = [
    # comparator, expected, values that match, values that do not
    (
        "number",
        3.2e-7,
        [r"3.2 \times 10^{-7}", r"3.2\cdot10^{-7}", r"$3.2 \times 10^{-7}$", "3.2 × 10⁻⁷"],
        [r"3.2 \times 10^{7}", r"3.2 \times 10^{-8}"],
    ),
    (
        "number",
        4_000_000,
        [r"4 \times 10^6", "4 times 10 to the power of 6", "four times ten to the sixth"],
        [],
    ),
    (
        "number",
        -12,
        ["twelve below zero", "12 degrees below zero", "12 °C below zero"],
        ["twelve above zero", "12 degrees"],
    ),
    (
        {"number": {"unit": "°C"}},
        -12,
        ["12 °C below zero", "12 degrees Celsius below zero"],
        ["12 °C"],
    ),
    (
        "number",
        750_000,
        ["three quarters of a million", "3/4 of a million", "three-quarters of a million"],
        ["a quarter of a million"],
    ),
    ("number", 500_000_000, ["half of a billion", "half a billion"], []),
    ("number", 250, ["a quarter of a thousand", "a quarter thousand"], ["a quarter"]),
    (
        "time",
        "18:50",
        ["ten to seven, p.m.", "ten to seven, in the evening", "ten to seven, PM"],
        ["ten to seven, a.m."],
    ),
    (
        "time",
        "11:50",
        ["ten to noon", "ten minutes before noon", "10 minutes to noon"],
        ["ten past noon"],
    ),
    (
        "time",
        "00:15",
        ["quarter past midnight", "a quarter after midnight"],
        ["quarter to midnight"],
    ),
    ("time", "23:45", ["a quarter to midnight"], []),
    (
        "money",
        USD_CENTS,
        ["45 cents (US)", "45 US cents", "45 cents (American)", "45 cents (USD)"],
        ["45 cents (Canadian)", "45 euro cents"],
    ),
    (
        "money",
        "$7",
        ["7 dollars (US)", "$7 (US)", "$7 (USD)"],
        ["7 dollars (Canadian)", "$7 (AUD)"],
    ),
    ("place", "Ghana", ["Republic of Ghana", "the Republic of Ghana"], ["Republic of Guinea"]),
    ("place", "Brazil", ["Federative Republic of Brazil"], []),
    ("place", "Norway", ["Kingdom of Norway"], ["Kingdom of Sweden"]),
    ("place", "South Korea", ["Republic of Korea"], ["Democratic People's Republic of Korea"]),
    ("place", "Congo", ["Republic of the Congo"], ["Democratic Republic of the Congo"]),
    ("place", "China", ["People's Republic of China"], ["Republic of China"]),
    ("place", "Taiwan", ["Republic of China"], ["China"]),
    (
        "place",
        "Springfield, Illinois",
        ["Springfield, IL"],
        ["Springfield, Oregon", "Springfield, Massachusetts"],
    ),
    (
        "place",
        "Portsmouth, New Hampshire",
        ["Portsmouth, NH"],
        ["Portsmouth, Virginia", "Portsmouth, England"],
    ),
    (
        "place",
        "Cambridge, Massachusetts",
        ["Cambridge, Mass., USA", "Cambridge, MA"],
        ["Cambridge, Maine"],
    ),
    ("place", "Columbus, Ohio", [], ["Columbus, Georgia"]),
    ("set", ("Tue", "Thu"), [["Tuesday", "Thursday"], "Thursday, Tues."], [["Tuesday", "Friday"]]),
    ("set", ("Monday", "Sunday"), [["Mon", "Sun"]], [["Mon", "Sat"]]),
    ("set", ("Jan", "September"), [["January", "Sept"]], [["June", "September"]]),
]
ANSWERS: list[tuple[Any, Any, list[str], list[str]]] = [
    (
        "money",
        POUNDS,
        ["It costs 200 pounds.", "The fee is two hundred pounds.", "£200 for 200 pounds of coal"],
        [
            "The crate weighs 200 pounds.",
            "Its weight is 200 pounds.",
            "It is 200 pounds heavy.",
            "The dog is heavy: he weighed two hundred pounds last year.",
        ],
    ),
    (
        {"number": {"unit": "lb"}},
        200,
        ["It weighs 200 pounds.", "200 pounds of coal"],
        ["It costs 200 pounds.", "The price is 200 pounds."],
    ),
    (
        "set",
        ("Tue", "Thu"),
        ["Open on Thursday and Tuesday.", "On Tuesdays and Thursdays."],
        [
            "Open on Thursday and Friday.",
            "Open on Tuesday, Thursday and Friday.",
            "Open on Thursday, not on Tuesday.",
        ],
    ),
    ("place", "Norway", ["It lies in the Kingdom of Norway."], []),
    ("place", "China", [], ["It was made in the Republic of China."]),
    (
        "place",
        "Portsmouth, Virginia",
        ["It is in Portsmouth, Virginia."],
        ["It is in Portsmouth, Ohio."],
    ),
    ("time", "12:00", [], ["Ten to noon.", "It ran from five to noon."]),
    (
        "number",
        -12,
        ["It fell to twelve degrees below zero."],
        ["It is below zero.", "It is 12 degrees."],
    ),
    ("number", 6_000, [r"It is $6 \times 10^{3}$ in all."], [r"It is $6 \times 10^{4}$ in all."]),
]


def _params(cases: list[tuple[Any, Any, list[Any], list[Any]]]) -> list[Any]:
    return [
        pytest.param(comparator, expected, each, same, id=f"{comparator} {expected}: {each}")
        for comparator, expected, right, wrong in cases
        for values, same in ((right, True), (wrong, False))
        for each in values
    ]


def _value(expected: Any) -> Any:
    return list(expected) if isinstance(expected, tuple) else expected


@pytest.mark.parametrize(("comparator", "expected", "given", "same"), _params(VALUES))
def test_a_value_in_an_unusual_form(comparator: Any, expected: Any, given: Any, same: bool) -> None:
    found = from_row(comparator).compare_value(given, _value(expected))
    assert found.matches is same


@pytest.mark.parametrize(("comparator", "expected", "text", "stated"), _params(ANSWERS))
def test_an_answer_with_a_value_in_an_unusual_form(
    comparator: Any, expected: Any, text: str, stated: bool
) -> None:
    found = from_row(comparator).find_in_answer(text, _value(expected))
    assert found.matches is stated
