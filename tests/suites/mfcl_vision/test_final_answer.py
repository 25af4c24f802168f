"""Reading a last message, and the rule by which an answer is right: a table made by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.suites.mfcl_vision import answer_spellings, final_answer

YES, NO = True, False

# what is said, what is accepted, right by the paper's rule, right in the fair rule
CASES = [
    # case
    ("Tulden Park", "Tulden Park", YES, YES),
    ("tulden park", "Tulden Park", YES, YES),
    ("TULDEN PARK", "Tulden Park", YES, YES),
    ("ÉCOLE", "école", YES, YES),
    ("STRASSE", "Straße", NO, YES),
    # punctuation
    ("Tulden Park.", "Tulden Park", YES, YES),
    ("  Tulden   Park\n", "Tulden Park", YES, YES),
    ('"Tulden Park"', "Tulden Park", YES, YES),
    ("**Tulden Park**", "Tulden Park", YES, YES),
    ("“Tulden Park”", "Tulden Park", YES, YES),
    ("O’Hara's", "O'Hara’s", YES, YES),
    ("e-mail", "email", YES, YES),
    ("well-known", "well known", NO, YES),
    ("Rock & Roll", "Rock and Roll", NO, YES),
    ("U.S.", "US", YES, YES),
    ("Tulden, Ostavel", "Tulden Ostavel", YES, YES),
    ("Tulden (Ostavel)", "Tulden Ostavel", YES, YES),
    ("the Tulden Park", "Tulden Park", NO, YES),
    ("A Day Out", "Day Out", NO, YES),
    ("Tulden Park in Ostavel", "Tulden Park", NO, NO),
    ("Tulden", "Tulden Park", NO, NO),
    ("Park Tulden", "Tulden Park", NO, NO),
    # accents
    ("café", "café", YES, YES),
    ("cafe\u0301", "café", YES, YES),
    ("cafe", "café", NO, YES),
    ("Malmo", "Malmö", NO, YES),
    ("ﬁrst", "first", NO, YES),
    ("naïve", "naive", NO, YES),
    # numbers
    ("1250", "1250", YES, YES),
    ("1,250", "1250", YES, YES),
    ("1 250", "1250", NO, NO),
    ("1,234,567", "1234567", YES, YES),
    ("1.5", "1.5", YES, YES),
    ("1.5", "15", YES, NO),
    ("12.0", "12", NO, YES),
    ("12.50", "12.5", NO, YES),
    ("-5", "5", YES, NO),
    ("−5", "-5", YES, YES),
    ("−5", "5", YES, NO),
    ("$50", "€50", NO, NO),
    ("$50", "50 €", NO, NO),
    ("twenty-one", "21", NO, YES),
    ("Twenty One", "21", NO, YES),
    ("first", "1st", NO, YES),
    ("C++", "C#", YES, NO),
    ("C sharp", "C#", NO, YES),
    ("**C++**", "C++", YES, YES),
    ("$50", "50", YES, YES),
    ("50%", "50", YES, YES),
    ("50 percent", "50%", NO, YES),
    ("seven", "7", NO, YES),
    ("7", "seven", NO, YES),
    ("12 km", "12km", NO, YES),
    ("12 km", "12 miles", NO, NO),
    ("1250 visitors", "1250", NO, NO),
    ("2010-2015", "2010–2015", YES, YES),
    ("20102015", "2010-2015", YES, NO),
    ("14th March 1987", "14 March 1987", NO, YES),
    ("1987-03-14", "14 March 1987", NO, NO),
    ("19:30", "1930", YES, NO),
    # lists
    ("A, B", "A B", YES, YES),
    ("A, B and C", "A, B, and C", YES, YES),
    ("B, A", "A, B", NO, NO),
    ("1, 2", "1 2", YES, YES),
    ("1, 2", "12", NO, NO),
    # nothing
    ("", "Tulden", NO, NO),
    ("...", "Tulden", NO, NO),
    ("...", "!!!", NO, NO),
    ("Tulden", "", NO, NO),
    ("🙂", "🙂", YES, YES),
    ("東京", "東京", YES, YES),
    ("東京。", "東京", YES, YES),
]

ANSWER = [
    ('{"answer": "X", "context": "why"}', "X"),
    ('{"context": "why", "answer": "X"}', "X"),
    ('```json\n{"answer": "X"}\n```', "X"),
    ('```\n{"answer": "X"}\n```', "X"),
    ('Here it is: {"answer": "X", "context": "c"} Good luck!', "X"),
    ("{'answer': 'X', 'context': 'it is so'}", "X"),
    ("{'answer': \"O'Hara\", 'context': 'c'}", "O'Hara"),
    ('{"answer": "X", "context": "an "unescaped" quote"}', "X"),
    ('{"answer": "X", "context": "cut of', "X"),
    ('{"answer": "X"', "X"),
    ('{"answer": "X",}', "X"),
    ('{answer: "X"}', "X"),
    ('{answer: "X", source: "wiki"}', "X"),
    ("{'answer': '14 March 1987', 'reason': 'sign'}", "14 March 1987"),
    ("{'answer': 'It's X', 'reason': 'sign'}", "It's X"),
    ('{"final": {"answer": "X", "source": "wiki"}}', "X"),
    ('{"turns": [{"final": {"answer": "X"}}]}', "X"),
    ("{'final': {'answer': 'X'}}", "X"),
    ('{"answer": "X", "source": "a\nb"}', "X"),
    ("{“answer”: “X”, “context”: “why”}", "X"),
    ("```X```", "X"),
    ("```X\n```", "X"),
    ("```\nX\n```", "X"),
    ('{"Answer": "X"}', "X"),
    ('{"answer": 12}', "12"),
    ('{"answer": 1.5}', "1.5"),
    ('{"answer": true}', "true"),
    ('{"answer": ["A", "B"]}', "A, B"),
    ('{"answer": [["A"], "B"]}', "A, B"),
    ('{"answer": "A", "context": ' + "[" * 900 + "]" * 900 + "}", "A"),
    ("{'answer': ['A', 'B']}", "['A', 'B']"),
    ('{"answer": "A", "others": [{"answer": "B"}]}', "A"),
    ('{"answer": "A"}\n{"answer": "B"}', "B"),
    ('<think>{"answer": "no"}</think>{"answer": "X"}', "X"),
    ('{"answer": "Who Are You?"}', "Who Are You?"),
    ("X", "X"),
    ("The answer is X.", "The answer is X."),
    ("See here, answer: X", "See here, answer: X"),
    (
        "It is X. Let me know if you need anything else!",
        "It is X. Let me know if you need anything else!",
    ),
    ("It is X.\nWould you like to know more?", "It is X.\nWould you like to know more?"),
    ("{{{{" * 3_000 + '{"answer": "X"}', "X"),
]
NONE = [
    ("I do not know", "unknown"),
    ("I don't know.", "unknown"),
    ("I don’t know who that is.", "unknown"),
    ('{"answer": "I do not know", "context": ""}', "unknown"),
    ("{'answer': 'I do not know'}", "unknown"),
    ("Sorry, I do not know.", "unknown"),
    ("I cannot answer this question", "unanswerable"),
    ("I can't answer this question.", "unanswerable"),
    ('{"answer": "I cannot answer this question"}', "unanswerable"),
    ("I am unable to determine the place.", "unanswerable"),
    ("I'm sorry, but I don't know.", "unknown"),
    ("Based on my search, I do not know.", "unknown"),
    ("I am afraid that I have no idea.", "unknown"),
    ("I am sorry, I cannot answer this question", "unanswerable"),
    ("Unfortunately, I cannot answer this question.", "unanswerable"),
    ("I'm unable to answer this question", "unanswerable"),
    ("After several searches, I was not able to find it.", "unanswerable"),
    ("I cannot find it. Let me know if you need anything else!", "unanswerable"),
    ("I cannot identify the building. Could you tell me which city it is in?", "asks"),
    ("I do not know which team you mean - could you clarify?", "asks"),
    ("I can't tell which sign you mean. Which one do you want?", "asks"),
    ("I need more information. Let me know more about the building.", "asks"),
    ("Would you like me to look for more?", "asks"),
    ("Which of the two signs do you mean?", "asks"),
    ("Could you tell me more about the building", "asks"),
    ("Please provide a clearer picture.", "asks"),
    ("", "none"),
    ("   \n", "none"),
    ('{"answer": ""}', "none"),
    ('{"answer": null}', "none"),
    ("{}", "none"),
    *((f'{{"answer": {"[" * n}1{"]" * n}}}', "none") for n in (12, 300, 900)),
    *(('{"answer": ' + '{"a": ' * n + "1" + "}" * n + "}", "none") for n in (12, 300, 900)),
]


def test_the_table_is_as_long_as_it_must_be() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize(("said", "accepted", "paper", "fair"), CASES)
def test_an_answer_is_right_as_the_specification_says(
    said: str, accepted: str, paper: bool, fair: bool
) -> None:
    assert final_answer.is_right_by_paper_rule(said, ["another", accepted]) is paper
    assert final_answer.is_right_by_fair_rule(said, ["another", accepted]) is fair


@pytest.mark.parametrize(("said", "accepted"), ANSWER)
def test_the_answer_is_read_out_of_the_message(said: str, accepted: str) -> None:
    found = final_answer.parse_final_message(said)
    assert (found.kind, found.answer) == ("answer", accepted)


@pytest.mark.parametrize(("said", "kind"), NONE)
def test_a_missing_answer_is_reported_by_its_kind(said: str, kind: str) -> None:
    assert final_answer.parse_final_message(said).kind == kind


def test_reading_takes_no_longer_for_text_that_means_harm() -> None:
    for each in ("based on ", "sorry ", "i am so sorry but ", "{answer: ", "'answer': ", "```"):
        final_answer.parse_final_message(each * 5_000)
    for opening in ("[", '{"a": ', '{"answer": '):
        for n in (900, 2_000, 9_000):
            final_answer.parse_final_message('{"answer": ' + opening * n)
            final_answer.parse_final_message(
                '{"answer": ' + opening * n + "1" + ("]" if opening == "[" else "}") * n
            )


@pytest.mark.parametrize(
    ("said", "accepted", "collected"),
    [
        ("It opened on 14 March 1987.", "14 March 1987", True),
        ("14 March 1987 or 3 May 1990", "14 March 1987", False),
        ("7 July 1990", "7", False),
        ("Tulden Park in Ostavel", "Tulden Park", True),
        (f"Tulden Park {'and so on ' * 9}", "Tulden Park", False),
        ("Tuldenpark", "Tulden Park", False),
    ],
)
def test_an_answer_may_hold_an_accepted_one_and_little_else(
    said: str, accepted: str, collected: bool
) -> None:
    assert final_answer.contains_accepted_answer(said, ["another", accepted]) is collected


@given(st.text(max_size=300))
@example("C:\u0327")
def test_any_text_can_be_read_and_compared(text: str) -> None:
    found = final_answer.parse_final_message(text)
    if found.kind == "answer":
        assert (
            final_answer.is_right_by_paper_rule(found.answer, [found.answer])
            and final_answer.canonical_answer(found.answer) is not None
        )
    assert final_answer.normalise_text(
        final_answer.normalise_text(text)
    ) == final_answer.normalise_text(text)


@given(st.text(alphabet="abcXYZ 0123456789,.'-", min_size=1, max_size=40))
def test_written_as_asked_for_every_answer_comes_back(text: str) -> None:
    wrapped = json.dumps({"answer": text, "context": "because"})
    found = final_answer.parse_final_message(wrapped)
    assert (found.kind == "none") == (not final_answer.normalise_text(text))
    assert found.kind == "none" or found.answer == text.strip()


@given(st.integers(1000, 999_999), st.sampled_from(["", "visitors", "crowns"]))
def test_numbers_as_people_write_them_are_one_number(n: int, unit: str) -> None:
    for written in (f"{n}", f"{n:,}"):
        said = f"{written} {unit}".strip()
        assert final_answer.is_right_by_fair_rule(said, [f"{n} {unit}".strip()])
        assert not final_answer.is_right_by_fair_rule(said, [f"{n + 1} {unit}".strip()])


def test_accepted_forms_are_different_answers_to_nobody() -> None:
    dates = answer_spellings.accepted_spellings("14 March 1987")
    assert all(final_answer.is_right_by_paper_rule(each, dates) for each in dates)
    assert not final_answer.is_right_by_paper_rule("15 March 1987", dates)
