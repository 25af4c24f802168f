"""An answer is found in every usual form; a wrong one, or a list of guesses, is not an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.m3.local.made_items import make_item

from toolmark.suites.m3.local import answer_checking
from toolmark.suites.m3.local.families import FAMILIES
from toolmark.suites.m3.local.task_item import TaskItem, Template

TEMPLATES = [template for templates in FAMILIES.values() for template in templates]
NAMES = ("Ilka", "Ulric", "Dorvan")


def right(said: str, *wanted: str, rivals: tuple[str, ...] = ()) -> bool:
    return not answer_checking.check_answer(said, wanted, rivals)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Answer: 06:55-09:25", ("06:55", "09:25")),
        ("Answer: 06:55 to 09:25", ("06:55", "09:25")),
        ("Answer: 6:55 – 9:25", ("06:55", "09:25")),
        ("Answer: from 6:55 am until 9:25 am", ("06:55", "09:25")),
        ("Answer: 2:25", ("2:25",)),
        ("Answer: 02:25", ("2:25",)),
        ("The flight takes 2 h 25 min.", ("2:25",)),
        ("The flight takes 2 hours and 25 minutes (145 minutes).", ("2:25",)),
        ("2h25", ("2:25",)),
        ("3 hours", ("3:00",)),
        ("Ilka, at 3:10", ("Ilka", "03:10")),
        ("Ilka's clock shows 3:10 AM", ("Ilka", "03:10")),
        ("Answer: Ilka, 3:10 p.m.", ("Ilka", "15:10")),
        ("Answer: two", ("2",)),
        ("Answer: 2 prices", ("2",)),
        ("Answer: twenty-one packs", ("21",)),
        ("Answer: v4.1.5", ("4.1.5",)),
        ("**Answer:** `4.1.5`", ("4.1.5",)),
        ("Answer: the third slide, 1,253 crowns", ("3", "1253")),
        ("Answer: slide 3, 1253 crowns", ("3", "1253")),
        ("Answer: 3rd, 1 253", ("3", "1253")),
        ("Answer: 3,1253", ("3", "1253")),
        ("Answer: 1.145,20 €", ("1145.20",)),
        ("Answer: $1,145.2", ("1145.20",)),
        ("Answer: +37.4 %", ("+37.4",)),
        ("Answer: +37,4 %", ("+37.4",)),
        ("Answer: 37.4 %", ("+37.4",)),
        ("Answer: \u221237.4 %", ("-37.4",)),
        ("It fell by 37.4 %.", ("-37.4",)),
        ("Answer: 717x343", ("717", "343")),
        ("Answer: 717 × 343 px", ("717", "343")),
        ("Answer: 717, 343", ("717", "343")),
        ("Answer: R 462", ("R-462",)),
        ("Answer: the loan of Seven Quiet Bridges is 460", ("Seven Quiet Bridges", "460")),
        ("Answer:\n- Winter Ferries\n- 460 (2026-01-14)", ("Winter Ferries", "460")),
        ("I set 3 sites.\nFinal answer: WINTER  FERRIES, 460", ("Winter Ferries", "460")),
        ("Checked 12 prices, A to D.\n\nTwo of them changed.", ("2",)),
        ("Answer: box D", ("D",)),
    ],
)
def test_usual_forms_are_right(said: str, wanted: tuple[str, ...]) -> None:
    assert answer_checking.check_answer(said, wanted) == []


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Answer: 1 2 3 4", ("2",)),
        ("Answer: two, three or four", ("2",)),
        ("2, 3 or 4", ("3",)),
        ("Answer: -37.4 %", ("+37.4",)),
        ("Answer: a rise of 37.4 %", ("-37.4",)),
        ("Answer: a fall of 37.4 %", ("+37.4",)),
        ("Answer: 37.4 %", ("-37.4",)),
        ("Answer: +37.4 % or -37.4 %", ("-37.4",)),
        ("It rose or fell by 37.4 %", ("-37.4",)),
        ("Answer: -41.32", ("41.32",)),
        ("Answer: 4132", ("41.32",)),
        ("Answer: 0:25", ("2:25",)),
        ("Answer: 12:25", ("2:25",)),
        ("Answer: 3:10 pm", ("03:10",)),
        ("Answer: 06:55-09:25, 07:55-10:25", ("06:55", "09:25")),
        ("Answer: 4.1.5, 4.2.0 or 5.0.0", ("4.1.5",)),
        ("Answer: 14.1.5", ("4.1.5",)),
        ("Answer: 4.1.5.2", ("4.1.5",)),
        ("Answer: R-462, R-654", ("R-462",)),
        ("Answer: A, B, C, D", ("D",)),
        ("Answer: a box", ("A",)),
        ("It is 2.\nAnswer: 3", ("2",)),
        ("It is 142 or 4.42.", ("42",)),
        ("Answer: ST-40", ("40",)),
        ("", ("2",)),
        ("Answer:", ("Ilka",)),
    ],
)
def test_wrong_values_and_lists_of_guesses_are_not(said: str, wanted: tuple[str, ...]) -> None:
    assert answer_checking.check_answer(said, wanted)


def test_a_name_among_its_rivals_is_a_guess() -> None:
    assert right("Answer: Ilka, 3:10", "Ilka", "03:10", rivals=NAMES)
    assert not right("Answer: Ilka or Ulric, 3:10", "Ilka", "03:10", rivals=NAMES)
    assert not right("Answer: Ulric, 3:10", "Ilka", "03:10", rivals=NAMES)
    assert right("Ilka is earlier than Ulric.\nAnswer: Ilka, 3:10", "Ilka", "03:10", rivals=NAMES)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_of_every_task_is_right_and_that_of_another_is_not(
    template: Template, seed: int
) -> None:
    item, other = make_item(template, seed), make_item(template, seed + 1)
    assert _faults(item, item) == []
    assert set(item.answer_parts) == set(other.answer_parts) or _faults(item, other)
    both = f"Answer: {', '.join((*item.answer_parts, *item.wrong_values, *other.answer_parts))}"
    assert set(item.answer_parts) >= set(other.answer_parts) or answer_checking.check_answer(
        both, item.answer_parts, item.wrong_values
    )


def _faults(item: TaskItem, said: TaskItem) -> list[str]:
    return answer_checking.check_answer(
        f"Answer: {', '.join(said.answer_parts)}", item.answer_parts, item.wrong_values
    )


@given(st.integers(0, 99_999), st.integers(0, 99_999))
def test_a_number_is_right_where_it_is_the_same(wanted: int, said: int) -> None:
    assert right(f"Answer: {said} crowns", str(wanted)) == (wanted == said)
    assert right(f"Answer: {said:,} crowns", str(wanted)) == (wanted == said)


@given(st.text(max_size=60))
def test_no_text_breaks_it(said: str) -> None:
    for item in (make_item(template, 1) for template in TEMPLATES):
        answer_checking.check_answer(said, item.answer_parts, item.wrong_values)


def test_long_replies_are_not_read_as_answers() -> None:
    assert answer_checking.check_answer("Answer: " + "2 h " * 100_000, ["2:00"]) == [
        "the answer has 399999 characters; at most 1000 are read"
    ]
    assert right("x\n" * 100_000 + "*" * 100_000 + "\nAnswer: 2", "2")
