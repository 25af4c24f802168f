"""Answers whose value depends on a condition, is past or replaced, or names a thing."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark.scoring.comparators import from_row

CASES: list[tuple[Any, Any, list[str], list[str]]] = [
    # comparator, expected, answers that state it, answers that do not
    (
        "number",
        14,
        [
            "If you add the 8 guests of one table and the 6 of the other, you get 14.",
            "If I had to guess, I would say 14.",
            "You would have 14 if you bought 2 more.",
            "There are 14 seats left, so book soon: only 2 days remain.",
            "14 guests. If you want a change, write to me. Otherwise, nothing is to be done.",
            "It was 15 before, now it is 14.",
            "8 and 6 adds up to 14.",
            "Seat 14 is yours.",
            "It is in hall 14.",
            "Hall 3 has 14 chairs.",
            "It looks like it is 14, but let me know.",
        ],
        [
            "If it rains, 14; otherwise 9.",
            "If it snows, it is 9. Otherwise, it is 14.",
            "In case of snow it is 14, and if not, 9.",
            "If you had bought 3, you would have paid 14.",
            "I'd owe you 14 if I had lost, but I never did.",
            "The count was 14 until last week.",
            "They were 14 until May. Since then they have been 15.",
            "It was 14 before, now it is 15.",
            "It is not 14, because 14 is too small.",
            "Hall 14 has 3 chairs.",
            "Bus no. 14 has 30 seats.",
            "~~14~~ 15",
        ],
    ),
    (
        "number",
        0,
        [
            "There are none left.",
            "None of the 12 lamps works.",
            "I found no errors.",
            "There were no trains.",
            "No messages.",
        ],
        [
            "There are no trains, 12 were cancelled.",
            "None of the above.",
            "I have no information on that.",
            "There is no need to worry: it is 5.",
        ],
    ),
    (
        "money",
        "$120",
        [
            "You save $80, so you pay $120.",
            "With a $5 coupon you pay $120.",
            "You save $120.",
            "The price was reduced from $150 to $120.",
        ],
        [
            "You save $120, so you pay $80.",
            "With a $120 coupon you pay $30.",
            "Last month it was $120, but now it is $130.",
            "It is $120-$140.",
        ],
    ),
    ("money", "$0", ["Parking is free.", "Free of charge."], ["It is free of gluten."]),
    ("money", "$1200000", ["They raised $1.2m."], ["They raised $1.2bn."]),
    ({"number": {"unit": "h"}}, 1.5, ["It takes an hour and a half."], ["It takes an hour."]),
    (
        "date",
        "2024-05-12",
        [
            "The train was cancelled on 12 May 2024.",
            "On 12 May 2024 the train was cancelled.",
            "The visit was to be on 3 May 2024, but it has been moved to 12 May 2024.",
            "The order placed on 12 May 2024 has been sent.",
        ],
        [
            "The visit on 12 May 2024 was cancelled; it is on the 15th.",
            "The visit planned for 12 May 2024 has been postponed to 15 May 2024.",
            "Unless it snows, we go on 12 May 2024.",
        ],
    ),
    (
        "text",
        "approved",
        [
            "It was approved. If you have questions, ask.",
            "It was approved until 6 pm by Ann.",
            "It will be approved.",
        ],
        [
            "Unless you object, it is approved.",
            "It will be approved as soon as you pay.",
            "It is not yet approved.",
            "It is yet to be approved.",
            "It was approved until last week.",
            "It was approved before it was stopped.",
            "It is on its way; once it is approved, you get a letter.",
            "It is approved if it is signed.",
            "It was approved before; it is refused now.",
        ],
    ),
    ("text", "b.txt", ["It is `b.txt`.", "See b.txt."], ["It is in b.txt.bak.", "See b.txt~old."]),
    (
        "name",
        "Ada King",
        [
            "Ada King succeeded Tom Baker.",
            "Ada King was moved to Paris.",
            "Ada King was born in Oslo and moved to Paris.",
        ],
        [
            "It is Tom Baker, who replaced Ada King.",
            "Ada King was succeeded by Tom Baker.",
            "Had Ada King stayed, she would have won.",
            "It was refused by Ada King and passed to Tom Baker.",
        ],
    ),
    (
        "set",
        ["red", "blue"],
        ["Red and blue, no green.", "Red and blue, but not green.", "- red\n- blue\n- ~~green~~"],
        ["Red, but no blue.", "- red\n- ~~blue~~"],
    ),
    (
        "bool",
        True,
        [
            "No doubt about it: yes.",
            "No problem! Yes, it is open.",
            "The number no. 5 bus stops there, so yes.",
            "No other way is shorter, so yes.",
            "Absolutely.",
            "It does.",
            "I think so.",
            "Of course! It is open.",
            "It is true that it rains.",
            "Yes, if you have a ticket.",
        ],
        [
            "Absolutely not.",
            "Not at all.",
            "I'm afraid not.",
            "It is not true that it rains.",
            "Yes and no.",
            "If you have a ticket, yes; if you have none, no.",
            "Exactly 15 people came.",
            "No idea.",
            "It doesn't.",
            "I don't think so.",
        ],
    ),
    (
        "bool",
        False,
        [
            "Certainly not.",
            "No dogs are allowed.",
            "It is not true that it rains.",
            "That's not so: no.",
        ],
        ["No doubt about it: yes.", "No worries.", "Yes and no."],
    ),
]


@pytest.mark.parametrize(
    ("spec", "expected", "text", "is_stated"),
    [
        (spec, expected, text, is_stated)
        for spec, expected, stated, others in CASES
        for is_stated, texts in ((True, stated), (False, others))
        for text in texts
    ],
)
def test_a_value_counts_only_where_the_answer_settles_on_it(
    spec: Any, expected: Any, text: str, is_stated: bool
) -> None:
    found = from_row(spec).find_in_answer(text, expected)
    assert found.matches is is_stated, found.reason


@pytest.mark.parametrize(
    ("text", "matches"),
    [("31/1/2025", True), ("1/31/2025", True), ("31.1.2025", True), ("3/1/2025", False)],
)
def test_a_date_of_numbers_counts_where_it_has_one_reading(text: str, matches: bool) -> None:
    expected = "2025-01-03" if text.startswith("3/") else "2025-01-31"
    assert from_row("date").compare_value(text, expected).matches is matches
