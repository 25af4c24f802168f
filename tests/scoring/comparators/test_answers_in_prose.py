"""What an answer states, by examples that are made to mislead."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark.scoring.comparators import COMPARATORS

STATED: dict[tuple[str, Any], list[str]] = {
    ("number", 15): [
        "There are 12 apples and 3 pears, so 15 fruits.", "Is it 15? Yes, it is.",
        "Answer: 15. (16 was my first guess)", "I first thought 16, but it is 15.", "16? No, 15.",
        "a total of fifteen", "15 or so", "about 15", "The total rose from 10 to 15.",
        "\\boxed{15}", "$7+8=15$", "15 or fifteen", "It is not only correct, it is 15.",
        "1. I add them.\n2. The sum is 15.", "no doubt it is 15",
    ],
    ("money", "$240"): ["It is $60 per person. So the total for four is $240."],
    ("place", "Seville"): ["Madrid offered a hall. In the end it was signed in Seville."],
    ("set", ()): ["None of them fits."],
    ("number", 2024): ["It happened on March 5, 2024."],
    ("date", "2024-03-05"): [
        "The shop does not open until March 5, 2024.", "It is on the 5th of March, 2024 at 3 pm.",
        "It was moved from March 4, 2024 to March 5, 2024.",
    ],
    ("time", "14:30"): ["The meeting was moved from 3 pm to 2:30 pm.", "at 2:30 p.m. sharp"],
    ("text", "Paris"): ["London? No, Paris.", "Paris, of course.", "It's **Paris**!"],
    ("bool", True): ["Yes, it is.", "That is right.", "No fault was found: the answer is yes."],
    ("bool", False): ["No, it is not.", "That is not correct.", "The answer is no."],
    ("set", ("red", "green", "blue")): [
        "The colours are blue, green and red.", "- red\n- green\n- blue", "Red; green; blue",
    ],
    ("set", (1, 2, 3)): ["The results are 1, 2 and 3."],
    ("json", '{"a": 1}'): ['Here:\n```json\n{"a": 1}\n```\nDone.', 'It is {"a": 1}.'],
    ("regex", "[a-z]+-[0-9]+"): ["the id is abc-12"],
    ("file", "a\nb"): ["Here:\n```\na\nb\n```\n", "a\r\nb\n"],
}  # fmt: skip
NOT_STATED: dict[tuple[str, Any], list[str]] = {
    ("number", 15): [
        "between 15 and 20", "15-20", "15 to 20 km", "at least 15", "15 or more", "more than 15",
        "15, no, 16", "15. Actually, it's 16.", "The answer is 16. 15 was a guess.", "May 15, 2024",
        "A15", "neither 15 nor 16", "15%", "1. foo\n15. bar", "15:30", "15, 16, 17",
        "possible values are 15 and 16", "It used to be 15, now it is 16", "15+", "question 15",
        "You asked whether it holds 15 litres.", "The sum is 15.\n\nCorrection: the sum is 25.",
        "I first thought it was 15, but it is 16.",
    ],
    ("money", "$60"): ["It is $60 per person. So the total for four is $240."],
    ("place", "Madrid"): ["Madrid offered a hall. In the end it was signed in Seville."],
    ("place", "Santiago, Chile"): ["It ends in Santiago de Compostela."],
    ("name", "Martin Luther"): ["It was Martin Luther King."],
    ("set", ("oak", "ash")): [
        "Oak, ash and elm grow there.", "oak and maybe ash",
        "The oak and the ash are not among them.", "You asked about oak and ash. It is ash.",
    ],
    ("number", 1): ["the one that you want"],
    ("date", "2024-03-05"): [
        "before March 5, 2024", "from March 5, 2024 to March 7, 2024", "March 5", "5/3/2024",
    ],
    ("time", "14:30"): ["14:30-15:00", "before 14:30", "half past two", "4:30 pm"],
    ("text", "Paris"): [
        "Parisian", "Paris — no, London", "The answer is London. Paris is in France.",
        "I first thought Paris, but it is London.",
    ],
    ("text", "toxic"): ["It is non-toxic."],
    ("name", "John Smith"): ["John Smithson", "Smith", "John Smith or Jane Doe"],
    ("place", "United States"): ["tell us more"],
    ("place", "Paris, France"): ["Paris, Texas", "France"],
    ("bool", True): ["I cannot say.", "No."],
    ("set", ("red", "green", "blue")): [
        "red and green", "red, green, blue and yellow",
        "The colours are yellow, red, green and blue.",
        "- red\n- green\n- blue\n- pink", "red, yellow, green, and blue", "red, green but not blue",
    ],
    ("json", '{"a": 1}'): ['{"a": 1, "b": 2}', '{"a": true}', "no value"],
    ("regex", "[a-z]+-[0-9]+"): ["the id is abc"],
    ("file", "a\nb"): ["a b"],
}  # fmt: skip


def _cases(table: dict[tuple[str, Any], list[str]]) -> list[Any]:
    return [
        pytest.param(kind, expected, text, id=f"{kind}: {text[:40]}")
        for (kind, expected), texts in table.items()
        for text in texts
    ]


def _find(kind: str, expected: Any, text: str) -> bool:
    if kind == "json":
        expected = {"a": 1}
    value = list(expected) if isinstance(expected, tuple) else expected
    return COMPARATORS[kind]().find_in_answer(text, value).matches


@pytest.mark.parametrize(("kind", "expected", "text"), _cases(STATED))
def test_a_value_is_stated(kind: str, expected: Any, text: str) -> None:
    assert _find(kind, expected, text)


@pytest.mark.parametrize(("kind", "expected", "text"), _cases(NOT_STATED))
def test_a_value_is_not_stated(kind: str, expected: Any, text: str) -> None:
    assert not _find(kind, expected, text)
