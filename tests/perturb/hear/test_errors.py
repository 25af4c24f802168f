from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.perturb.hear import errors

TEXTS = st.lists(
    st.sampled_from(["play", "some", "music", "in", "boston", "austin", "fifteen"]), max_size=8
)


def test_kinds_are_told_apart() -> None:
    pieces = errors.align("Play fifteen songs in Austin.", "play fifty songs Boston now")
    assert [(p.op, p.said, p.heard) for p in pieces if p.op != "equal"] == [
        ("substitute", ("fifteen",), ("fifty",)),
        ("substitute", ("in", "austin"), ("boston", "now")),
    ]
    assert errors.kinds(errors.align("a b c d", "a c d e")) == (3, 0, 1, 1)


def test_casing_punctuation_digits_and_fillers_are_no_errors() -> None:
    said = "um, set an alarm for ten thirty, and pay fifty five point two dollars"
    assert errors.wer(said, "Set an alarm for 10:30 and pay $55.2.") == 0


@given(TEXTS, TEXTS)
def test_alignment_holds_all_words_of_both_in_order(a: list[str], b: list[str]) -> None:
    pieces = errors.align(" ".join(a), " ".join(b))
    assert [w for p in pieces for w in p.said] == a
    assert [w for p in pieces for w in p.heard] == b
    assert all((p.op == "equal") == (p.said == p.heard) for p in pieces)


@given(TEXTS, TEXTS)
def test_the_rate_is_the_edit_distance_over_the_words(a: list[str], b: list[str]) -> None:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
    expected = row[-1] / len(a) if a else float(bool(b))
    assert errors.wer(" ".join(a), " ".join(b)) == pytest.approx(expected)


def test_entity_words_are_counted_where_they_stand() -> None:
    said = "fly from Austin to New York, not to york"
    assert errors.entity(said, "fly from boston to new york not to york", ["Austin"]) == (1, 1)
    assert errors.entity(said, "fly from austin to new pork", ["New York"]) == (1, 2)
    assert errors.entity(said, "", ["Austin", "Paris", ""]) == (1, 1)


def test_shape_of_known_errors() -> None:
    found = errors.shape([("a b c d", "a b c d"), ("play a book now", "play a look"), ("x", "x")])
    assert found.wer == pytest.approx(2 / 9)
    assert found.kinds == (0.5, 0.5, 0.0)
    assert found.run == 2.0
    assert found.exact == pytest.approx(2 / 3)
    assert 0 < found.distance < 0.5
