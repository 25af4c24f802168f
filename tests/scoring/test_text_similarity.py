"""Short texts and conversations of calls: laws, the two readings, an encoder that is passed in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.scoring import conversation_matching, text_similarity

TEXTS = st.text("aB9 ._-é\n", max_size=6)
ANSWERS = TEXTS | st.none() | st.sampled_from([3, ["a"], b"a"])
PAIRS = st.lists(st.tuples(TEXTS, ANSWERS), min_size=1, max_size=12)


def counts(texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode a text as how often each letter is in it."""
    return np.array([[text.count(letter) for letter in "aB9é"] for text in texts], dtype=np.float32)


@given(TEXTS)
def test_a_text_brought_to_its_form_stays_as_it_is(text: str) -> None:
    plain = text_similarity.normalise_text(text)
    assert text_similarity.normalise_text(plain) == plain
    assert text_similarity.normalise_text(f"  {text.upper()}!\t") == plain
    assert not set(plain) & set("B.-\n")


@given(TEXTS, ANSWERS)
def test_what_is_equal_in_the_reference_is_equal_in_the_paper(truth: str, said: Any) -> None:
    if text_similarity.is_exact_match(truth, said, "reference"):
        assert text_similarity.is_exact_match(truth, said)
    if text_similarity.is_valid_text(said):
        assert text_similarity.is_exact_match(truth, said) == text_similarity.is_exact_match(
            truth, text_similarity.normalise_text(said) or ".", "reference"
        ) or not text_similarity.normalise_text(said)
        assert text_similarity.is_exact_match(said, said)
    else:
        assert not text_similarity.is_exact_match(truth, said)


def test_the_paper_brings_both_sides_to_their_form_the_reference_the_truth_alone() -> None:
    assert text_similarity.is_exact_match("Two, chairs!", "TWO chairs.")
    assert not text_similarity.is_exact_match("Two, chairs!", "TWO chairs.", "reference")
    assert text_similarity.is_exact_match("Two, chairs!", "two chairs", "reference")


@given(PAIRS, st.integers(0, 12), st.sampled_from(["paper", "reference"]))
def test_chunks_of_texts_add_up(pairs: Any, cut: int, reading: Any) -> None:
    truths, said = [t for t, _ in pairs], [s for _, s in pairs]
    whole = text_similarity.measure_texts(truths, said, encode=counts, rule=reading)
    parts = text_similarity.TextAccumulator(reading, counts)
    parts.feed(truths[:cut], said[:cut])
    parts.feed(truths[cut:], said[cut:])
    assert parts.measures() == pytest.approx(whole, nan_ok=True, abs=1e-9)
    turned = text_similarity.measure_texts(truths[::-1], said[::-1], encode=counts, rule=reading)
    assert turned == pytest.approx(whole, nan_ok=True, abs=1e-9)
    found = text_similarity.text_cosines(truths, said, counts)
    assert whole["similarity"] == pytest.approx(found.mean(), abs=1e-9)
    assert whole["similarity_std"] == pytest.approx(found.std(), abs=1e-9)
    assert whole["similar"] == np.mean(found >= 0.8)


def test_each_text_is_encoded_once_and_what_is_invalid_is_like_nothing() -> None:
    asked: list[list[str]] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.append(list(texts))
        return counts(texts)

    found = text_similarity.text_cosines(["a", "a", "B", "a"], ["a", None, "a", "..."], encode)
    assert found.tolist() == [1, 0, 0, 0]  # a row of length 0 is like nothing too
    assert asked == [["a", "B", "..."]]
    assert text_similarity.text_cosines(["a"], [" "], encode).tolist() == [0]
    assert len(asked) == 1


def test_shares_of_texts_and_their_names_in_the_reference() -> None:
    found = text_similarity.measure_texts(
        ["a", "B", "9"], ["a", None, "B"], encode=counts, rule="reference"
    )
    assert found["exact_valid"] == 0.5
    assert found["high_similarity_percentage"] == pytest.approx(100 / 3)
    assert found["invalid_percentage"] == pytest.approx(100 / 3)
    assert "similarity" not in text_similarity.measure_texts(["a"], ["a"])
    assert isnan(text_similarity.measure_texts([], [])["exact"])
    with pytest.raises(UsageError, match="2 truths and 1 predictions"):
        text_similarity.measure_texts(["a", "b"], ["a"])


# --- conversations ----------------------------------------------------------------------

CALLS = st.lists(st.lists(st.sampled_from(["f()", "g(x=1)"]), max_size=3), max_size=4)


@given(CALLS, CALLS)
def test_a_conversation_is_exact_if_it_never_fails(truth: Any, made: Any) -> None:
    found = conversation_matching.compare_conversation(truth, made)
    n = max(len(truth), len(made))
    assert len(found.matches) == len(found.recalls) == n
    assert found.exact == (found.first_failure == n + 1) == all(found.matches)
    for at, (match, recall) in enumerate(zip(found.matches, found.recalls, strict=True)):
        want = truth[at] if at < len(truth) else []
        assert (recall is None) == (not want)
        assert not match or recall in (1, None)
        if recall is not None and recall < 1:
            assert not match
    reference = conversation_matching.compare_conversation(truth, made, "reference")
    assert reference.exact == (list(chain(*truth)) == list(chain(*made)))
    assert reference.matches == found.matches
    assert reference.recalls == tuple(1 if recall is None else recall for recall in found.recalls)
    assert (
        conversation_matching.compare_conversation(
            tuple(map(tuple, truth)), tuple(map(tuple, made))
        )
        == found
    )


@given(st.lists(st.tuples(CALLS, CALLS), min_size=1, max_size=6))
def test_measures_of_conversations_hang_not_on_their_order(pairs: Any) -> None:
    for reading in ("paper", "reference"):
        one = conversation_matching.measure_conversations(
            [t for t, _ in pairs], [p for _, p in pairs], rule=reading
        )
        back = pairs[::-1]
        other = conversation_matching.measure_conversations(
            [t for t, _ in back], [p for _, p in back], rule=reading
        )
        for name, value in one.items():
            assert other[name] == pytest.approx(value, nan_ok=True)


def test_recall_counts_up_to_the_first_wrong_call() -> None:
    found = conversation_matching.compare_conversation(
        [["a", "b", "c", "d"], ["a"]], [["a", "b", "x", "d"], ["a"]]
    )
    assert list(found.recalls) == [0.5, 1]
    assert (found.first_failure, found.invalid) == (1, 0)


@pytest.mark.parametrize("made", [None, "f()", [None], [["f()"], "g()"], [[1, None]], {}, []])
def test_what_are_no_calls_are_none(made: Any) -> None:
    found = conversation_matching.compare_conversation([["g()"], ["g()"]], made)
    assert not found.exact
    assert list(found.recalls) == [0, 0]
    assert found.invalid >= 1


def test_a_turn_that_asks_for_nothing_counts_as_recalled_in_the_reference_alone() -> None:
    given = [[["f()"], []]], [[["f()"], ["g()"]]]
    paper = conversation_matching.measure_conversations(*given)["turn_level_recalls_until_failure"]
    assert paper == {"turn_1_recall_until_failure": 1}
    reference = conversation_matching.measure_conversations(*given, rule="reference")[
        "turn_level_recalls_until_failure"
    ]
    assert reference == {"turn_1_recall_until_failure": 1, "turn_2_recall_until_failure": 1}
    assert isnan(conversation_matching.measure_conversations([], [])["exact_match_accuracy"])
    with pytest.raises(UsageError, match="1 truths and 0 predictions"):
        conversation_matching.measure_conversations([[]], [])
