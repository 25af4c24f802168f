from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.perturb.hearing import transcript_errors
from toolmark.perturb.text import disfluency_words

TEXTS = st.lists(
    st.sampled_from(["play", "some", "music", "in", "boston", "austin", "fifteen"]), max_size=8
)


def test_kinds_are_distinguished() -> None:
    pieces = transcript_errors.align_texts(
        "Play fifteen songs in Austin.", "play fifty songs Boston now"
    )
    assert [(p.op, p.reference, p.heard) for p in pieces if p.op != "equal"] == [
        ("substitute", ("fifteen",), ("fifty",)),
        ("substitute", ("in", "austin"), ("boston", "now")),
    ]
    assert transcript_errors.count_errors(transcript_errors.align_texts("a b c d", "a c d e")) == (
        3,
        0,
        1,
        1,
    )


def test_casing_punctuation_digits_and_fillers_are_no_errors() -> None:
    said = "um, set an alarm for ten thirty, and pay fifty five point two dollars"
    assert transcript_errors.word_error_rate(said, "Set an alarm for 10:30 and pay $55.2.") == 0


@given(TEXTS, TEXTS)
def test_alignment_holds_all_words_of_both_in_order(a: list[str], b: list[str]) -> None:
    pieces = transcript_errors.align_texts(" ".join(a), " ".join(b))
    assert [w for p in pieces for w in p.reference] == a
    assert [w for p in pieces for w in p.heard] == b
    assert all((p.op == "equal") == (p.reference == p.heard) for p in pieces)


@given(TEXTS, TEXTS)
def test_the_rate_is_the_edit_distance_over_the_words(a: list[str], b: list[str]) -> None:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
    expected = row[-1] / len(a) if a else float(bool(b))
    assert transcript_errors.word_error_rate(" ".join(a), " ".join(b)) == pytest.approx(expected)


def test_entity_words_are_counted_where_they_stand() -> None:
    said = "fly from Austin to New York, not to york"
    assert transcript_errors.entity_errors(
        said, "fly from boston to new york not to york", ["Austin"]
    ) == (1, 1)
    assert transcript_errors.entity_errors(said, "fly from austin to new pork", ["New York"]) == (
        1,
        2,
    )
    assert transcript_errors.entity_errors(said, "", ["Austin", "Paris", ""]) == (1, 1)


def test_shape_of_known_errors() -> None:
    found = transcript_errors.error_profile(
        [("a b c d", "a b c d"), ("play a book now", "play a look"), ("x", "x")]
    )
    assert found.wer == pytest.approx(2 / 9)
    assert found.error_shares == (0.5, 0.5, 0.0)
    assert found.mean_run_length == 2.0
    assert found.exact_share == pytest.approx(2 / 3)
    assert 0 < found.median_distance < 0.5


SAME = [
    ("the U S A", "the USA"), ("the U S A", "the U.S.A."), ("in the U S", "in the U.S."),
    ("USA", "U S A"), ("a T V show", "a TV show"), ("a t v show", "a tv show"),
    ("an F B I file", "an fbi file"), ("id DNA one two three", "ID DNA123"),
    ("the code is A B one two", "The code is AB12."), ("B two B sales", "B2B sales"),
    ("seven thirty P M", "7:30 PM"), ("seven thirty P M", "7:30 p.m."), ("seven P M", "7pm"),
    ("seven thirty pm", "7:30 P.M."), ("nine oh five A M", "9:05am"),
    ("at half past six", "at 6:30"), ("at quarter to seven", "at 6:45"),
    ("seven o'clock", "7:00"), ("five dollars and twenty cents", "$5.20"),
    ("five point two zero dollars", "$5.20"), ("fifty cents", "$0.50"), ("one dollar", "$1"),
    ("five million dollars", "$5 million"), ("one point five million dollars", "$1.5M"),
    ("five thousand dollars", "$5k"), ("a hundred dollars", "$100"),
    ("twelve hundred dollars", "$1,200"), ("minus one hundred dollars", "-$100"),
    ("one hundred dollars", "100$"), ("minus five", "-5"), ("negative five", "-5"),
    ("minus zero point five", "-0.5"), ("point five", ".5"), ("five kilometers", "5 km"),
    ("five kilometres", "5km"), ("one kilogram", "1 kg"), ("sixty miles per hour", "60 mph"),
    ("ten kilometers per hour", "10 km/h"), ("five meters", "5 m"), ("two millimeters", "2 mm"),
    ("twenty degrees celsius", "20\u00b0C"), ("ten percent", "10%"), ("ten per cent", "10 %"),
    ("theee weather", "the weather"), ("I neeed it", "I need it"), ("sooo nice", "so nice"),
    ("couldja tell me", "could you tell me"), ("gimme ya info", "give me you info"),
    ("tell 'em", "tell them"), ("I'm gonna go", "I'm going to go"), ("yer id", "your ID"),
    ("may third", "May 3"), ("october first", "October 1st"),
    ("october first twenty twenty three", "2023-10-01"),
    ("october first two thousand twenty three", "10/1/2023"),
    ("nineteen eighties", "1980s"), ("the eighties", "the 80s"), ("nineteen oh five", "1905"),
    ("two thousand and twenty three", "2023"), ("one twenty three", "123"),
    ("five five five one two three four", "555-1234"), ("nine oh two one oh", "90210"),
    ("ten thousand", "10000"), ("ten thousand", "10k"), ("twenty five hundred", "2500"),
    ("three quarters", "3/4"), ("a half", "1/2"), ("doctor Smith", "Dr. Smith"),
    ("mister Jones", "Mr. Jones"), ("ten main street", "10 Main St."),
    ("my dash bot dash id", "my-bot-id"), ("a dot b at gmail dot com", "a.b@gmail.com"),
    ("john dot smith at gmail dot com", "john.smith@gmail.com"),
]  # fmt: skip
"""What is said, and what a good recogniser writes of it."""

WRONG = [
    ("the U S A", "the USB"), ("the U S A", "the US"), ("meet it now", "meet I T now"),
    ("meet A T the gate", "meet at the gate"), ("id DNA one two three", "ID DNA124"),
    ("id DNA one two three", "ID DNS123"), ("B two B", "B2C"), ("seven thirty P M", "7:30 AM"),
    ("seven thirty P M", "7:13 PM"), ("seven thirty", "7:30 PM"), ("half past six", "6:45"),
    ("quarter to seven", "7:45"), ("five dollars and twenty cents", "$5.12"),
    ("five dollars and twenty cents", "$20.05"), ("five dollars and two cents", "$5.20"),
    ("fifty cents", "$50"), ("one dollar", "$1 million"), ("five dollars", "5 euros"),
    ("five million dollars", "$5 billion"), ("a hundred dollars", "$1,000"),
    ("minus five", "5"), ("minus five", "-9"), ("five", "-5"), ("fifteen", "50"),
    ("thirteen", "30"), ("point five", "5"), ("five kilometers", "5 miles"),
    ("five kilometers", "5 kg"), ("five meters", "5 mm"), ("twenty degrees celsius", "20\u00b0F"),
    ("ten percent", "10"), ("theee weather", "they weather"), ("I neeed it", "I knead it"),
    ("couldja tell me", "would you tell me"), ("gimme ya info", "give me the info"),
    ("tell 'em", "tell him"), ("I'm gonna go", "I'm going go"), ("may third", "May 13"),
    ("may third", "May 4"), ("october first", "October 31st"), ("third option", "3 option"),
    ("october first twenty twenty three", "2023-10-02"),
    ("october first twenty twenty three", "2023-01-10"), ("nineteen eighties", "1990s"),
    ("nineteen oh five", "1950"), ("one twenty three", "132"), ("one two three", "12"),
    ("one two three", "1 2 4"), ("five five five one two three four", "555-1243"),
    ("ten thousand", "1000"), ("twenty five hundred", "250"), ("three quarters", "4/3"),
    ("doctor Smith", "Mr. Smith"), ("mister Jones", "Mrs. Jones"), ("main street", "Main Dr."),
    ("my dash bot dash id", "my-pot-id"), ("john dot smith", "john smith"),
    ("maybe every day", "may be everyday"), ("two", "too"), ("it is", "its"),
]  # fmt: skip
"""What is said, and something else that a recogniser may write."""


@pytest.mark.parametrize(("said", "written"), SAME)
def test_what_is_written_as_people_write_it_is_no_error(said: str, written: str) -> None:
    assert transcript_errors.word_error_rate(said, written) == 0
    assert transcript_errors.word_error_rate(written, said) == 0
    assert (
        transcript_errors.word_error_rate(
            f"please find {said} for me", f"Please find {written} for me."
        )
        == 0
    )


@pytest.mark.parametrize(("said", "written"), WRONG)
def test_what_sounds_different_stays_an_error(said: str, written: str) -> None:
    assert transcript_errors.word_error_rate(said, written) > 0
    assert transcript_errors.word_error_rate(written, said) > 0
    assert (
        transcript_errors.word_error_rate(
            f"please find {said} for me", f"Please find {written} for me."
        )
        > 0
    )


def test_every_casual_form_of_the_disfluencies_is_read_in_full() -> None:
    casual = [(" ".join(full), short) for full, short in disfluency_words.contractions()]
    casual += list(disfluency_words.disfluency_words().casual_pronouns.items())
    for full, short in casual:
        assert transcript_errors.word_error_rate(f"so {short} now", f"so {full} now") == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_figures_are_equal_only_if_they_are(a: int, b: int) -> None:
    assert (transcript_errors.word_error_rate(f"take {a} now", f"take {b} now") == 0) == (a == b)


def test_entities_in_figures_are_found_however_they_are_written() -> None:
    said = "pay $5.20 to flight BA 123"
    heard = "pay five dollars and twenty cents to flight B A one two three"
    assert transcript_errors.entity_errors(said, heard, ["$5.20", "BA 123"]) == (0, 9)
    assert transcript_errors.entity_errors(heard, said, ["$5.20", "BA 123"]) == (0, 9)
    assert transcript_errors.entity_errors(said, heard.replace("twenty", "twelve"), ["$5.20"]) == (
        1,
        4,
    )
