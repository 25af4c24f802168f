"""Answers that withdraw, leave open or exclude a value, and those that only look so."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark.scoring.comparators import from_row

CASES: list[tuple[Any, Any, list[str], list[str]]] = [
    # comparator, expected, answers that state it, answers that do not
    (
        "number",
        12,
        [
            "I first counted 13, but that's wrong: it is 12.",
            "Initially, we had 14. It is 12.",
            "I considered 13, but the count is 12.",
            "It is 12, which is right.",
            "It's 12. I know that is not what you hoped for.",
            "It is 12, though I could not verify it.",
            "I checked whether all were there, and found 12.",
            "First I add them up: 12.",
            "I would say 12, but check it.",
            "12 (corrected from 13)",
            "Of 20 requests, 12 were rejected.",
            "9 passed and 12 failed.",
            "Stir for 12 minutes before 3 eggs are added.",
        ],
        [
            "I initially counted 12 boxes, yet it is 13.",
            "At first we found 12; it is 13.",
            "My count gave 12 crates, which turned out to be wrong.",
            "12. That is incorrect.",
            "It's 12. Wait, 12 is wrong, it's 13.",
            "I was going to say 12, but it is 13.",
            "Originally, I read 12 there, but the figure is 13.",
            "Rumour has it that it is 12.",
            "Whether it is 12, I am unable to confirm.",
            "One would say 12, however it is 13.",
            "The question is whether there are 12.",
            "The first reading was 12, but the corrected one is 13.",
            "Instead of 12 it is 13.",
            "There are said to be 12, which I can't verify.",
        ],
    ),
    (
        "date",
        "2022-06-14",
        [
            "I originally put 13 June 2022, but it was 14 June 2022.",
            "On 14 June 2022 or thereabouts.",
            "See point 3:\n- 14 June 2022",
            "Point 3\n- 14 June 2022",
        ],
        [
            "I initially dated it 14 June 2022, but that was an error; it was 15 June 2022.",
            "I considered 14 June 2022, but the letter says 15 June 2022.",
            "It was the 13th or the 14th of June 2022.",
            "On 13 or 14 June 2022.",
            "It was either the 13th or maybe the 14th of June 2022.",
            "13–14 June 2022",
            "Between the 12th and the 14th of June 2022.",
            "It was first announced for 14 June 2022 and held on 16 June 2022.",
            "Rumour says 14 June 2022, but nobody can confirm it.",
        ],
    ),
    (
        {"date": {"year_optional": True}},
        "2022-06-14",
        ["On June 14."],
        ["June 14 or 15", "June 14-15"],
    ),
    (
        "time",
        "09:20",
        ["I first read 9:50 am, but it is 9:20 am."],
        [
            "At first, I took it for 9:20 am, but it is 9:50 am.",
            "It starts at 8 or at 9:20 am, I am not sure which.",
            "I thought of 9:20 am, but the board says 9:50 am.",
            "Originally we had 9:20 am, however the board says 9:50 am.",
        ],
    ),
    (
        "time",
        "16:00",
        ["At 4 pm or so.", "It was moved from 3 to 4 pm."],
        ["At 3 or 4 pm.", "From 3 to 4 pm.", "4 pm or 5"],
    ),
    (
        "money",
        "$80",
        ["I had first written $70, but it is $80."],
        [
            "I initially wrote $80, but the total is $90.",
            "I got $80, but that's a mistake; it is $90.",
            "I can neither confirm nor deny that it cost $80.",
            "It might seem that $80 is owed, but the total is $90.",
        ],
    ),
    (
        "name",
        "Lise Meitner",
        [
            "I considered Otto Hahn, but it was Lise Meitner.",
            "Lise Meitner, but not alone.",
            "It was Lise Meitner. I cannot confirm that this was the only prize.",
        ],
        [
            "I considered Lise Meitner, but it was Otto Hahn.",
            "Many would say Lise Meitner led it, yet the leader was Otto Hahn.",
            "Initially I named Lise Meitner, but the leader was Otto Hahn.",
            "Most people would guess Lise Meitner; however, it was Otto Hahn.",
            "I can't tell whether Lise Meitner led it.",
            "Lise Meitner was rejected.",
        ],
    ),
    (
        "place",
        "Lima",
        [
            "I thought of Quito, but it took place in Lima.",
            "It is all but certain that it was Lima.",
        ],
        [
            "I thought of Lima, since it is large, but it took place in Quito.",
            "Whether it was Lima is unknown.",
            "Lima had been considered, but it took place in Quito.",
            "Lima was on the list but was dropped.",
            "Lima? I can neither confirm nor deny that.",
            "Some would say Lima, yet it took place in Quito.",
        ],
    ),
    (
        "set",
        ("oak", "ash"),
        ["oak and ash", "Oak and ash pass. Elm has to be ruled out."],
        [
            "- Oak: passes\n- Ash: fails\n\nSo ash must be ruled out and oak remains.",
            "Oak and ash were tried. Ash does not qualify.",
            "All of oak and elm, but ash drops out.",
            "I looked at oak and ash. Ash had to be excluded.",
            "Oak fits, with the exception of ash.",
            "Oak: ✔\nAsh: ✘",
            "Oak and ash are candidates, but ash needs to be left out.",
        ],
    ),
    (
        "set",
        (3, 5),
        ["3 and 5", "First, we have 3; then there is 5."],
        ["3 and 5 were tried, and 5 has to be ruled out."],
    ),
    (
        "json",
        {"n": 2},
        [
            'I wrote {"n": 1} at first. Corrected: {"n": 2}',
            'Not {"n": 1} but {"n": 2}.',
            'Request: {"n": 1}, that was wrong. It should be {"n": 2}.',
        ],
        [
            'My draft was {"n": 2}, which is wrong. Use {"n": 1} instead.',
            '{"n": 2}. Correction: {"n": 1}',
            'It is not {"n": 2}.',
            'Instead of {"n": 2} send {"n": 1}.',
            '```json\n{"n": 2}\n```\nActually, that is wrong. It is:\n```json\n{"n": 1}\n```',
        ],
    ),
]


def _finds(comparator: Any, expected: Any, text: str) -> bool:
    value = list(expected) if isinstance(expected, tuple) else expected
    return from_row(comparator).find_in_answer(text, value).matches


@pytest.mark.parametrize(
    ("comparator", "expected", "text", "stated"),
    [
        pytest.param(comparator, expected, text, stated, id=f"{expected}: {text}")
        for comparator, expected, right, wrong in CASES
        for texts, stated in ((right, True), (wrong, False))
        for text in texts
    ],
)
def test_what_is_withdrawn_open_or_excluded_is_not_stated(
    comparator: Any, expected: Any, text: str, stated: bool
) -> None:
    assert _finds(comparator, expected, text) is stated
