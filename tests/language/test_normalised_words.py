from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.language import normalised_words


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("It's $55.20, um, at 10:30.", "it's fifty five dollars twenty cents at ten thirty"),
        ("john.smith@gmail.com", "john dot smith at gmail dot com"),
        ("L-I-A-M", "l i a m"),
        ("in 1995, 2005 and 1,250", "in nineteen ninety five two thousand five and "
         "one thousand two hundred fifty"),
        ("one hundred and five", "one hundred five"),
        ("the 21st of May", "the twenty first of may"),
        ("20%", "twenty percent"),
        ("90210", "nine zero two one zero"),
        ("Uh... hmm", ""),
    ],
)  # fmt: skip
def test_texts_have_one_plain_form(text: str, plain: str) -> None:
    assert normalised_words.normalise_words(text) == plain.split()


@given(st.integers(0, 10**12 - 1))
def test_numbers_written_with_commas_are_read_back(n: int) -> None:
    said = normalised_words.cardinal_words(n).split()
    assert normalised_words.normalise_words(f"{n:,}") == said or 4 <= len(str(n)) <= 10
    assert normalised_words.normalise_words(" ".join(normalised_words.write_digits(said))) == said


@given(
    st.lists(
        st.sampled_from([*sorted(normalised_words.NUMBER_WORDS), "cats", "first", "and"]),
        max_size=8,
    )
)
def test_digits_are_always_read_back_as_they_were_said(said: list[str]) -> None:
    plain = normalised_words.normalise_words(" ".join(said))
    assert normalised_words.normalise_words(" ".join(normalised_words.write_digits(plain))) == plain


@given(st.text(max_size=200))
def test_plain_words_are_their_own_plain_form(text: str) -> None:
    plain = normalised_words.normalise_words(text)
    assert normalised_words.normalise_words(" ".join(plain)) == plain


def test_long_and_strange_texts_end() -> None:
    for text in ("9" * 3_000, "1,111" * 600, "." * 3_000, "a.b" * 1_000, "\u0000\ud7ff" * 999):
        normalised_words.write_digits(normalised_words.normalise_words(text))


@pytest.mark.parametrize("piece", ["a", "1", "a.", "one dollars ", "a-b/", "$1,111", "aaab", "'em"])
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    plain = normalised_words.normalise_words(piece * 20_000, ["one"] * 100)
    assert len(plain) <= 20_000 * 12


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_text_is_read_as_another_says_it_whatever_they_are(one: str, two: str) -> None:
    said, heard = normalised_words.normalise_pair(one, two)
    assert (
        normalised_words.normalise_pair(one, one)[0] == normalised_words.normalise_pair(one, one)[1]
    )
    assert normalised_words.normalise_words(" ".join(said)) == said
    assert normalised_words.normalise_words(" ".join(heard)) == heard
