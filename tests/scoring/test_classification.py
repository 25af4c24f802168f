"""Classes and probabilities: laws of the measures, what is invalid, the two readings."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.parity import calculators

from toolmark.core.errors import UsageError
from toolmark.scoring import brier_errors, classification

MOST = 7
Rows = tuple[list[int], list[int | None], int]


@st.composite
def rows(draw: st.DrawFn, least: int = 1) -> Rows:
    """Draw truths in range, predictions of all kinds, and the number of classes."""
    n = draw(st.integers(1, MOST))
    kinds = st.none() | st.integers(-3, n + 3) | st.sampled_from([-(10**30), 10**30, 2**62])
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), kinds), min_size=least, max_size=30))
    return [t for t, _ in pairs], [p for _, p in pairs], n


def slow(truth: Sequence[int], said: Sequence[int | None], n: int) -> dict[str, float]:
    """Compute precision, recall and F1 by definition, class by class."""
    pairs = list(zip(truth, said, strict=True))
    found = {"precision": Fraction(0), "recall": Fraction(0), "f1": Fraction(0)}
    for c in range(n):
        tp = sum(t == p == c for t, p in pairs)
        fp = sum(p == c != t for t, p in pairs)
        fn = sum(t == c != p for t, p in pairs)
        found["precision"] += Fraction(tp, tp + fp or 1)
        found["recall"] += Fraction(tp, tp + fn or 1)
        found["f1"] += Fraction(2 * tp, 2 * tp + fp + fn or 1)
    return {f"macro_{name}": float(total / n) for name, total in found.items()}


@given(rows())
def test_micro_measures_are_the_exact_match_rate_and_macro_ones_the_definition(case: Rows) -> None:
    truth, said, n = case
    found = classification.measure_labels(truth, said, n)
    right = sum(t == p for t, p in zip(truth, said, strict=True))
    for name in ("exact_match", "micro_precision", "micro_recall", "micro_f1"):
        assert found[name] == pytest.approx(right / len(truth))
    for name, value in slow(truth, said, n).items():
        assert found[name] == pytest.approx(value)
    assert found["tp"] + found["valid_fp"] + found["invalid_fp"] == len(truth)
    assert found["tp"] + found["fn"] == len(truth)


@given(rows(), st.integers(0, 30), st.randoms())
def test_chunks_add_up_and_order_does_not_count(case: Rows, cut: int, random: Any) -> None:
    truth, said, n = case
    whole = classification.tally_predictions(truth, said, n)
    parts = classification.tally_predictions(
        truth[:cut], said[:cut], n
    ) + classification.tally_predictions(truth[cut:], said[cut:], n)
    assert np.array_equal(whole, parts)
    order = random.sample(range(len(truth)), len(truth))
    mixed = classification.tally_predictions([truth[i] for i in order], [said[i] for i in order], n)
    assert np.array_equal(whole, mixed)


@given(rows())
def test_arrays_and_sequences_are_read_alike(case: Rows) -> None:
    truth, said, n = case
    whole = classification.tally_predictions(truth, said, n)
    floats = np.array([nan if p is None else float(p) for p in said])
    assert np.array_equal(
        whole, classification.tally_predictions(np.array(truth, dtype=np.uint8), floats, n)
    )
    collected = classification.parse_predictions(said)
    assert np.array_equal(whole, classification.tally_predictions(np.array(truth), collected, n))
    assert np.array_equal(
        whole,
        classification.tally_predictions(truth, np.array([*said, None], dtype=object)[:-1], n),
    )
    rates = classification.exact_match_rates(whole)
    assert rates["valid"] == sum(p is not None and 0 <= p < n for p in said)
    assert rates["clippable"] == sum(p is not None and not 0 <= p < n for p in said)


@given(rows())
def test_clipping_moves_numbers_out_of_range_alone(case: Rows) -> None:
    truth, said, n = case
    table = classification.tally_predictions(truth, said, n)
    moved = [p if p is None else min(max(p, 0), n - 1) for p in said]
    assert np.array_equal(
        classification.clip_tally(table), classification.tally_predictions(truth, moved, n)
    )
    assert classification.exact_match_rates(classification.clip_tally(table))[
        "invalid"
    ] == said.count(None)
    assert np.array_equal(
        classification.clip_tally(classification.clip_tally(table)),
        classification.clip_tally(table),
    )


@given(rows())
def test_confusion_holds_every_row_once(case: Rows) -> None:
    truth, said, n = case
    found = classification.confusion_matrix(classification.tally_predictions(truth, said, n))
    assert found.shape == (n, n + 1)
    for t in range(n):
        for p in range(n):
            assert found[t, p] == sum(pair == (t, p) for pair in zip(truth, said, strict=True))
    assert found.sum() == len(truth)


def test_what_is_zero_by_zero_is_a_dash_of_its_class_and_0_in_the_mean() -> None:
    table = classification.tally_predictions([0, 0, 1], [0, None, 0], 4)
    found = classification.class_measures(table)
    measured = classification.classification_measures(table)
    assert found.precision.tolist()[0] == 0.5
    assert np.isnan(found.precision[1:]).all()  # never said
    assert found.recall.tolist()[:2] == [0.5, 0]
    assert np.isnan(found.recall[2:]).all()  # never there
    assert found.f1[1] == 0
    assert np.isnan(found.f1[2:]).all()
    assert measured["class_recalls"] == {"0": 0.5, "1": 0, "2": 0, "3": 0}
    assert measured["macro_recall"] == 0.125


@pytest.mark.parametrize("reading", ["paper", "reference"])
def test_of_nothing_shares_are_nan_and_counts_are_0(reading: Any) -> None:
    found = classification.measure_labels([], [], 3, rule=reading)
    assert found["tp"] == found["fp"] == found["fn"] == 0
    assert all(isnan(found[name]) for name in found if name.startswith(("micro", "macro", "exact")))
    assert isnan(
        classification.exact_match_rates(classification.tally_predictions([], [], 3))["emr_valid"]
    )


def test_what_is_no_whole_number_is_no_value() -> None:
    said = ["1", 1.0, None, [1], nan, inf, b"1", Fraction(1), np.float64(1), np.array([1])]
    assert all(
        classification.parse_prediction(value, reading) is None
        for value in said
        for reading in ("paper", "reference")
    )
    assert (
        classification.exact_match_rates(
            classification.tally_predictions([1] * len(said), said, 2)
        )["valid"]
        == 0
    )
    assert classification.parse_prediction(np.int8(1)) == 1
    column = np.array([1.0, 0.5, nan, inf, -inf, 1e300, -1e300])
    rates = classification.exact_match_rates(classification.tally_predictions([1] * 7, column, 2))
    assert (rates["valid"], rates["clippable"], rates["invalid"]) == (1, 2, 6)
    assert (
        classification.exact_match_rates(classification.tally_predictions([1], np.array(["1"]), 2))[
            "valid"
        ]
        == 0
    )
    assert (
        classification.exact_match_rates(
            classification.tally_predictions([1], np.array([2**64 - 1], dtype=np.uint64), 2)
        )["clippable"]
        == 1
    )


def test_a_bool_is_a_number_in_the_reference_alone() -> None:
    for said in ([True, False], np.array([True, False])):
        assert classification.measure_labels([1, 0], said, 2)["exact_match"] == 0
        assert classification.measure_labels([1, 0], said, 2, rule="reference")["exact_match"] == 1


def test_truths_out_of_range_are_refused_but_in_the_reference() -> None:
    truth, said = [0, 99, -1, 99, 1], [0, 99, 5, 1, -7]
    with pytest.raises(UsageError, match=r"3 of 5.*row 1: 99"):
        classification.measure_labels(truth, said, 2)
    found = classification.measure_labels(truth, said, 2, rule="reference")
    assert found["exact_match"] == 0.4  # equal numbers are exact, in range or not
    assert (found["tp"], found["valid_fp"], found["invalid_fp"], found["fn"]) == (1, 1, 3, 1)
    clipped = classification.classification_measures(
        classification.clip_tally(
            classification.tally_predictions(truth, said, 2, rule="reference")
        )
    )
    assert clipped["exact_match"] == 0.2
    assert clipped["invalid_fp"] == 0
    for lost in (None, nan):
        with pytest.raises(UsageError, match="row 0: none"):
            classification.measure_labels([lost], [1], 2, rule="reference")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([1], [1, 0], 2), "expected"),
        (([[1]], np.array([[1]]), 2), "expected"),
        (([], [], 0), "n_classes=0"),
    ],
)
def test_what_cannot_be_tallied_is_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        classification.tally_predictions(*given)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean: paper"):
        classification.measure_labels([0], [0], 1, rule="papper")  # type: ignore[arg-type]


@given(st.lists(st.integers(-2, 37), min_size=1))
def test_a_joint_action_is_two_actions(joint: list[int]) -> None:
    first, second = classification.split_joint_actions(joint)
    for k, a, b in zip(joint, first.tolist(), second.tolist(), strict=True):
        assert (6 * a + b == k) if 0 <= k < 36 else (a == b == classification.NO_VALUE)


# --- probabilities ----------------------------------------------------------------------


@st.composite
def odds(draw: st.DrawFn, n: int = 4) -> tuple[list[int], list[Any]]:
    """Draw truths, and distributions of which some are spoilt in some way."""
    spoilt = st.sampled_from([None, [], [1.0], "0.5", [0.5] * 5, [nan] * 4, [2.0, -1.0, 0, 0],
                              ["1", 0, 0, 0], [1, 0, 0, 10**400], [0.5] * 4, [inf, -inf, 1, 0],
                              [[1], 0, 0, 0], {0: 1}, 1.0, np.float64(1)])  # fmt: skip
    numbers = st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any)
    fine = numbers.map(lambda parts: [part / sum(parts) for part in parts])
    made = draw(
        st.lists(st.tuples(st.integers(0, n - 1), fine | fine | spoilt), min_size=1, max_size=20)
    )
    return [t for t, _ in made], [p for _, p in made]


@given(odds())
def test_rows_by_themselves_and_together_are_alike(case: tuple[list[int], list[Any]]) -> None:
    truth, given = case
    whole = brier_errors.score_rows(truth, given, 4)
    for at, (t, p) in enumerate(zip(truth, given, strict=True)):
        row = brier_errors.score_row(t, brier_errors.parse_distribution(p, 4))
        assert whole.valid[at] == (row.predicted_class >= 0)
        together = [column[at] for column in whole[:5]]
        assert together == pytest.approx(list(row), nan_ok=True)
        if row.predicted_class >= 0:
            assert row.brier == pytest.approx(2 * (1 - row.truth_probability))
            assert 0 <= row.brier_sq <= row.brier + 1e-12
        else:
            assert row[:3] == (2, 2, -1)


@given(odds(), st.integers(0, 20))
def test_chunks_of_probabilities_add_up(case: tuple[list[int], list[Any]], cut: int) -> None:
    truth, given = case
    parts = brier_errors.BrierAccumulator()
    for side in (slice(cut), slice(cut, None)):
        parts.feed(brier_errors.score_rows(truth[side], given[side], 4))
    whole = brier_errors.measure_probabilities(truth, given, 4)
    assert parts.measures() == pytest.approx(whole, nan_ok=True)
    order = slice(None, None, -1)
    assert brier_errors.measure_probabilities(truth[order], given[order], 4) == pytest.approx(
        whole, nan_ok=True
    )


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, -0.5, 1.5, nan]), min_size=4,
                         max_size=4), min_size=1), st.sampled_from(["strict", "lax"]))  # fmt: skip
def test_an_array_is_read_as_its_rows(table: list[list[float]], rule: Any) -> None:
    truth = [at % 4 for at in range(len(table))]
    one, other = (
        brier_errors.score_rows(truth, given, 4, rule) for given in (np.array(table), table)
    )
    for left, right in zip(one, other, strict=True):
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    for at, row in enumerate(table):
        found = brier_errors.score_row(truth[at], brier_errors.parse_distribution(row, 4, rule))
        assert found == pytest.approx([column[at] for column in one[:5]], nan_ok=True)


def test_the_lax_rule_lets_pass_what_the_first_code_did() -> None:
    odd = [[nan] * 4, [1.5, -0.5, 0, 0]]
    assert [brier_errors.parse_distribution(row, 4) for row in odd] == [None, None]
    assert all(brier_errors.parse_distribution(row, 4, "lax") for row in odd)
    assert brier_errors.parse_distribution((1.0, 0, 0, 0), 4, "lax") is None  # a list, it says
    assert brier_errors.parse_distribution((1.0, 0, 0, 0), 4) == (1, 0, 0, 0)
    assert brier_errors.parse_distribution(np.array([1.0, 0, 0, 0]), 4) == (1, 0, 0, 0)
    assert brier_errors.measure_probabilities([0], [[1.5, -0.5, 0, 0]], 4, validity="lax")[
        "mae"
    ] == pytest.approx(1)
    assert isnan(
        brier_errors.measure_probabilities([0, 0], [odd[0], [1.0, 0, 0, 0]], 4, validity="lax")[
            "mae"
        ]
    )


@pytest.mark.parametrize(("miss", "good"), [(0.9e-5, True), (1.1e-5, False), (-1.1e-5, False)])
def test_a_sum_may_miss_one_by_a_little(miss: float, good: bool) -> None:
    row = [0.5, 0.25, 0.25 - miss, 0]
    assert (brier_errors.parse_distribution(row, 4) is not None) == good
    assert brier_errors.score_rows([0], np.array([row]), 4).valid[0] == good


def test_the_linear_error_is_best_one_hot_and_the_quadratic_one_where_it_is_true() -> None:
    often = [0] * 7 + [1] * 3
    table = {
        q: brier_errors.measure_probabilities(often, [[q, 1 - q]] * 10, 2)
        for q in (0.5, 0.6, 0.7, 0.8, 1.0)
    }
    assert min(table, key=lambda q: table[q]["mae"]) == 1.0
    assert min(table, key=lambda q: table[q]["mse"]) == 0.7


@given(st.lists(st.integers(1, 9), min_size=36, max_size=36))
def test_a_players_odds_are_sums_over_the_other(parts: list[int]) -> None:
    joint = np.array([parts]) / sum(parts)
    first, second = brier_errors.player_marginals(joint)
    for player in range(6):
        assert first[0, player] == pytest.approx(joint[0, 6 * player : 6 * player + 6].sum())
        assert second[0, player] == pytest.approx(joint[0, player::6].sum())


def test_truths_of_probabilities_must_be_indices() -> None:
    for truth in ([4], [-1], [0.0], [0, 1], [None]):
        with pytest.raises(UsageError, match="expected"):
            brier_errors.measure_probabilities(truth, [[1.0, 0, 0, 0]], 4)
    with pytest.raises(UsageError, match="expected numbers"):
        brier_errors.measure_probabilities([0], np.zeros((1, 1, 4)), 4)
    assert brier_errors.measure_probabilities([0], np.ones((1, 3)) / 3, 4)["invalid"] == 1
    assert brier_errors.measure_probabilities([], np.zeros((0, 4)), 4)["n"] == 0
    assert isnan(brier_errors.measure_probabilities(np.zeros(0, dtype=int), [], 4)["mae"])


@settings(max_examples=20)
@given(st.integers(0, 40))
def test_the_calculator_of_overcooked_takes_one_row_and_truths_out_of_range(truth: int) -> None:
    found = calculators.overcooked([truth], [[1 / 36] * 36])
    assert found["num_timesteps"] == 1
    assert isnan(found["normalized_amae"])
    known = truth if truth < 36 else 28
    assert found["player0_results"]["ground_truth_actions"] == [known // 6]
    assert found["exact_match"] == (truth == 0)
