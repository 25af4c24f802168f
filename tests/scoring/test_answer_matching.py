"""An answer is found where it stands on its own, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.scoring import answer_matching

# İ is left out: its small letter is two characters, the second of them no letter
letters = st.characters(categories=("Lu", "Ll", "Nd"), max_codepoint=0x2FF, exclude_characters="İ")
words = st.text(letters, min_size=1)


@pytest.mark.parametrize(
    ("text", "wanted", "official", "fair"),
    [
        ("It costs $50.", "$50", False, True),
        ("US$50", "$50", True, True),
        ("about 50% of it", "50%", False, True),
        ("about 50%", "50", True, True),
        ("$500", "$50", False, False),
        ("$50.75", "$50", False, False),
        ("$1,050", "50", False, False),
        ("1.2", "12", True, False),
        ("12.5", "12", False, False),
        ("5.12", "12", False, False),
        ("It is 12.", "12", True, True),
        ("April 1, 2024", "april 1 2024", True, True),
        ("ZhangYiming", "Zhang Yiming", False, False),
        ("The Zhang-Yiming", "ZhangYiming", True, True),
        ("o'neil", 'O"Neil', True, True),
        ("Joseph Polisena Jr", "Joseph Polisena Jr.", True, True),
        ("annual", "ann", False, False),
        ("", "x", False, False),
    ],
)
def test_boundaries(text: str, wanted: str, official: bool, fair: bool) -> None:
    assert (answer_matching.find_answer_official(text, [wanted]) is not None) is official
    assert (answer_matching.find_answer_fair(text, [wanted]) is not None) is fair


@given(words, words)
def test_an_answer_between_spaces_is_found_by_both_rules(before: str, wanted: str) -> None:
    text = f"{before} {wanted} {before}"
    assert answer_matching.find_answer_official(text, ["absent answer", wanted]) == wanted
    assert answer_matching.find_answer_fair(text, ["absent answer", wanted]) == wanted


@given(words, words)
def test_an_answer_inside_a_word_is_not_found_by_the_fair_rule(before: str, wanted: str) -> None:
    assert answer_matching.find_answer_fair(f"{before}{wanted}{before}", [wanted]) is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{'answer': 'Ann', 'context': 'You said so'}", "Ann"),
        ('{"answer": "Ann", "context": "You said so"}', "Ann"),
        ("{'answer': Ann, 'context': none}", "Ann"),
        ("{'answer': 'Ann's', 'context': 'You're Ann'}", "Ann's"),
        ('```json\n{"answer": 42}\n```', "42"),
        ("{'context': 'You said so', 'answer': 'Ann'}", "Ann"),
        ("First {'answer': 'Bo', 'context': ''} then {'answer': 'Ann', 'context': ''}", "Ann"),
        ("{'answer': ''}", ""),
        ("{'answer': 'cut off", "cut off"),
        ("The answer: Ann", None),
        ("", None),
    ],
)
def test_the_answer_field_is_read_leniently(text: str, field: str | None) -> None:
    assert answer_matching.extract_answer_field(text) == field


def test_matching_is_linear_in_hostile_text() -> None:
    hostile = "'answer':" * 20_000 + "'answer'" + " " * 100_000
    assert answer_matching.extract_answer_field(hostile) == "answer"
    assert answer_matching.find_answer_fair(hostile + "(" * 100_000, ["Ann"]) is None


@pytest.mark.parametrize("text", ["", "I do not know", "I don't know.", '"I cannot answer this"'])
def test_not_knowing_is_recognised(text: str) -> None:
    assert answer_matching.is_unknown_answer(text)
    assert not answer_matching.is_unknown_answer(f"Ann. {text}")
