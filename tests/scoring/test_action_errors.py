"""Vectors of actions: laws of the errors, what is invalid, the two readings, streams."""

from __future__ import annotations

from math import inf, isfinite, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.errors import UsageError
from toolmark.scoring import action_errors, error_statistics

D = 3
MEAN, LOW, HIGH = [0.5, 0.0, -0.5], [-4.0, -4.0, -4.0], [4.0, 5.0, 6.0]
LOADED: dict[str, Any] = {"baseline": MEAN, "low": LOW, "high": HIGH}
NUMBERS = st.integers(-16, 16).map(lambda x: x / 4)
VECTORS = st.lists(NUMBERS, min_size=D, max_size=D)
SPOILT: list[Any] = [
    None, [], [1.0], [1.0] * 4, [nan, 0, 0], [0, inf, 0], ["1", 0, 0], [[1], [2], [3]], "1, 2, 3",
    [None] * D, [10**400, 0, 0], 1.0, np.float64(1), np.array(1.0), {0: 1}, [1j, 0, 0],
]  # fmt: skip
PAIRS = st.lists(st.tuples(VECTORS, VECTORS | st.sampled_from(SPOILT)), min_size=1, max_size=20)
Pairs = list[tuple[list[float], Any]]


def sides(pairs: Pairs) -> tuple[Any, Any]:
    return [truth for truth, _ in pairs], [made for _, made in pairs]


@given(PAIRS, st.sampled_from(error_statistics.GRADING_RULES))
def test_rows_by_themselves_and_together_are_alike(pairs: Pairs, reading: Any) -> None:
    slices = {"hand": (1, 3)}
    found = action_errors.score_rows(*sides(pairs), **LOADED, rule=reading, slices=slices)
    for name, part in {"": None, **slices}.items():
        for at, (truth, made) in enumerate(pairs):
            read = action_errors.parse_vector(made, D)
            row = action_errors.score_row(truth, read, **LOADED, rule=reading, part=part)
            assert [column[at] for column in found[name] if column is not None] == pytest.approx(
                list(row)
            )


@given(PAIRS, st.sampled_from(error_statistics.GRADING_RULES), st.integers(0, 20))
def test_chunks_add_up_and_order_does_not_count(pairs: Pairs, reading: Any, cut: int) -> None:
    whole = action_errors.measure_actions(*sides(pairs), **LOADED, rule=reading)
    stream = action_errors.ErrorStream(**LOADED, rule=reading)
    for part in (pairs[:cut], pairs[cut:]):
        if part:
            stream.feed(*sides(part))
            stream.measures()  # which does not end it
    assert stream.measures() == pytest.approx(whole, nan_ok=True)
    turned = action_errors.measure_actions(*sides(pairs[::-1]), **LOADED, rule=reading)
    assert turned == pytest.approx(whole, nan_ok=True)


@given(PAIRS)
def test_measures_are_their_definitions(pairs: Pairs) -> None:
    truth = np.array([truth for truth, _ in pairs])
    base = np.abs(truth - MEAN).mean(axis=1), ((truth - MEAN) ** 2).mean(axis=1)
    made = [action_errors.parse_vector(made, D) for _, made in pairs]
    mae = [
        b if p is None else np.abs(t - p).mean()
        for t, p, b in zip(truth, made, base[0], strict=True)
    ]
    found = action_errors.measure_actions(*sides(pairs), **LOADED)
    assert found["mae"] == pytest.approx(np.mean(mae))
    assert found["total_mae"] == pytest.approx(np.sum(mae))
    assert found["invalid"] == made.count(None)
    assert found["mse_sum_over_dims"] == pytest.approx(D * found["mse_mean_over_dims"])
    assert found["baseline_mse"] == pytest.approx(base[1].mean())
    if base[0].sum():
        assert found["approx_rel_mae"] == pytest.approx(np.sum(mae) / base[0].sum())
    if found["mae"]:
        shifted = action_errors.measure_actions(
            truth + 1, [None if p is None else np.add(p, 1) for p in made], baseline=np.add(MEAN, 1)
        )
        assert shifted["mae"] == pytest.approx(found["mae"])


@given(st.lists(VECTORS, min_size=1, max_size=9))
def test_who_always_fails_is_the_baseline_in_the_paper_and_the_range_in_the_reference(
    truth: list[list[float]],
) -> None:
    made = [None] * len(truth)
    paper = action_errors.measure_actions(truth, made, **LOADED)
    assert paper["mae"] == paper["baseline_mae"]
    assert paper["approx_rel_mae"] == 1 or paper["baseline_mae"] == 0
    reference = action_errors.measure_actions(truth, made, **LOADED, rule="reference")
    assert reference["mae"] == pytest.approx(np.mean(np.subtract(HIGH, LOW)))
    assert reference["avg_baseline_relative_mae"] == inf
    assert reference["invalid_percentage"] == 100
    assert isnan(reference["normalized_amae"])


@given(st.lists(VECTORS, min_size=1, max_size=9))
def test_who_says_the_baseline_has_one_and_who_is_right_has_nothing(truth: Any) -> None:
    same = action_errors.measure_actions(truth, [MEAN] * len(truth), **LOADED)
    assert same["approx_rel_mae"] == 1 or same["baseline_mae"] == 0
    right = action_errors.measure_actions(truth, truth, **LOADED)
    assert right["mae"] == right["mse_mean_over_dims"] == 0
    assert right["exact"] == 1
    assert right["prop_beyond_3x_median"] == 0
    assert isnan(right["max_rel_mae"])
    guard = action_errors.measure_actions(truth, truth, **LOADED, rule="reference")
    assert guard["max_relative_mae"] == 0 or len(truth) == 1


def test_an_array_is_read_as_its_rows() -> None:
    rng = np.random.default_rng(5)
    truth, made = rng.normal(size=(2, 50, D))
    made[[3, 7], [0, 2]] = nan, inf
    for reading in error_statistics.GRADING_RULES:
        one = action_errors.measure_actions(truth, made, **LOADED, rule=reading)
        other = action_errors.measure_actions(truth.tolist(), made.tolist(), **LOADED, rule=reading)
        assert one == pytest.approx(other, nan_ok=True)
        assert one["invalid"] == 2
    assert action_errors.measure_actions(truth, made[:, :2], **LOADED)["invalid"] == 50
    assert action_errors.measure_actions(truth, made[..., None], **LOADED)["invalid"] == 50
    assert action_errors.measure_actions(truth, np.full((50, D), "1"), **LOADED)["invalid"] == 50
    small = action_errors.measure_actions(
        truth.astype(np.float32), truth.astype(np.float32), **LOADED
    )
    assert small["exact"] == 1


def test_slices_are_scored_by_themselves() -> None:
    truth, made = np.zeros((4, D)), np.tile([1.0, 2.0, 4.0], (4, 1))
    found = action_errors.measure_actions(
        truth, made, baseline=[1, 1, 1], slices={"arm": (0, 2), "hand": (2, 3)}
    )
    assert found["slices"]["arm"]["mae"] == 1.5
    assert found["slices"]["hand"]["mae"] == 4
    assert found["slices"]["hand"]["mse_sum_over_dims"] == 16
    for part in ((2, 2), (-1, 2), (0, 4)):
        with pytest.raises(UsageError, match="expected 0 to 3"):
            action_errors.measure_actions(truth, made, slices={"odd": part})


def test_a_baseline_may_be_a_guess_per_row() -> None:
    truth = np.arange(12.0).reshape(4, D)
    found = action_errors.measure_actions(truth, truth, baseline=truth + 2)
    assert found["baseline_mae"] == 2
    assert found["approx_rel_mae"] == 0


def test_huge_numbers_end_in_numbers() -> None:
    truth: list[list[float]] = [[1e308, 0, 0], [0, 0, 0], [1, 2, 3]]
    made: list[list[float]] = [[-1e308, 0, 0], [1e200, 0, 0], [1, 2, 3]]
    for said in (made, np.array(made)):
        for part in action_errors.score_rows(truth, said, **LOADED)[""]:
            assert part is not None and np.isfinite(part).all()
        found = action_errors.measure_actions(truth, said, **LOADED)
        assert found["invalid"] == 0
        assert found["mae"] > 1e300
    assert all(map(isfinite, action_errors.score_row(truth[0], tuple(made[0]), **LOADED)))


def test_one_row_and_no_row() -> None:
    one = action_errors.measure_actions([[1, 2, 3]], [[2, 2, 3]], **LOADED)
    assert (one["n"], one["max_rel_mae"], one["prop_beyond_3x_median"]) == (1, 1, 0)
    assert isnan(one["normalised_mae"])
    assert isnan(
        action_errors.measure_actions([[1, 2, 3]], [[2, 2, 3]], **LOADED, rule="reference")[
            "max_relative_mae"
        ]
    )
    none = action_errors.measure_actions(np.zeros((0, D)), [], **LOADED)
    assert none["n"] == none["invalid"] == none["n_inside"] == 0
    assert isnan(none["mae"]) and isnan(none["approx_rel_mae"])


def test_missing_statistics_are_asked_for() -> None:
    truth = [[1, 2, 3]]
    assert action_errors.measure_actions(truth, truth)["mae"] == 0
    assert isnan(action_errors.measure_actions(truth, truth)["approx_rel_mae"])
    with pytest.raises(UsageError, match="'paper' needs baseline="):
        action_errors.measure_actions(truth, [None])
    with pytest.raises(UsageError, match=r"low=.*high="):
        action_errors.measure_actions(truth, [None], baseline=MEAN, rule="reference")
    with pytest.raises(UsageError, match="needs baseline="):
        action_errors.score_row(truth[0], None)
    stream = action_errors.ErrorAccumulator()
    stream.feed(action_errors.score_rows(truth, truth)[""])
    with pytest.raises(UsageError, match="others without"):
        stream.feed(action_errors.score_rows(truth, truth, baseline=MEAN)[""])


@pytest.mark.parametrize(
    ("truth", "made", "collected", "said"),
    [
        ([[1, nan, 3]], [[1, 2, 3]], {}, "1 truths are not finite, first in row 0"),
        ([1, 2, 3], [[1, 2, 3]], {}, "expected numbers"),
        ([["a", "b"]], [[1, 2]], {}, "expected numbers"),
        ([[1, 2]], [], {}, "1 truths and 0 predictions"),
        ([[1, 2]], [[1, 2]], {"baseline": [1, 2, 3]}, "baseline"),
        ([[1, 2]], [[1, 2]], {"baseline": [1, nan]}, "baseline"),
        ([[1, 2]], [[1, 2]], {"low": [1], "high": [2]}, "low, high"),
    ],
)
def test_what_cannot_be_scored_is_refused(truth: Any, made: Any, collected: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        action_errors.measure_actions(truth, made, **collected)


@given(PAIRS, st.sampled_from(error_statistics.GRADING_RULES))
def test_measures_are_plain_numbers(pairs: Pairs, reading: Any) -> None:
    found = action_errors.measure_actions(*sides(pairs), **LOADED, rule=reading)
    assert {type(value) for value in found.values()} <= {int, float}
    row = action_errors.score_row([*np.array(pairs[0][0])], (0.0, 1.0, 2.0), **LOADED, rule=reading)
    assert {type(value) for value in row} == {float, bool}


# --- spread -----------------------------------------------------------------------------

ERRORS = st.lists(st.integers(0, 40).map(lambda x: x / 8), min_size=1, max_size=60)


@given(ERRORS, st.sampled_from(error_statistics.GRADING_RULES))
def test_outliers_are_their_definitions(
    values: list[float], reading: error_statistics.GradingRule
) -> None:
    errors = np.array(values)
    low, high = np.percentile(
        errors,
        [
            error_statistics.FILTER_PERCENTILES[reading],
            100 - error_statistics.FILTER_PERCENTILES[reading],
        ],
    )
    saved = [x for x in values if low <= x <= high]
    found = error_statistics.error_quantiles(errors, reading, errors * 2)
    assert found.n_inside == len(saved)
    assert found.total == pytest.approx(sum(saved))
    assert found.base_total == pytest.approx(2 * sum(saved))
    assert found.outlier_share == sum(x > 3 * np.median(values) for x in values) / len(values)
    if np.median(values):
        assert found.max_relative == pytest.approx(max(values) / np.median(values))


@given(ERRORS, ERRORS)
def test_moments_of_chunks_are_those_of_the_whole(one: list[float], other: list[float]) -> None:
    moments = error_statistics.Moments()
    for part in (one, [], other):
        moments.feed(np.array(part, dtype=float))
    whole = np.array(one + other)
    assert (moments.n, moments.low, moments.high) == (len(whole), whole.min(), whole.max())
    assert (moments.mean, moments.std) == pytest.approx((whole.mean(), whole.std()))
    width = whole.max() - whole.min()
    if width:
        assert moments.normalised == pytest.approx(((whole - whole.min()) / width).mean())


def test_many_numbers_are_taken_in_blocks() -> None:
    values = np.random.default_rng(2).random(200_001)
    moments = error_statistics.Moments()
    moments.feed(values)
    assert (moments.mean, moments.std) == pytest.approx((values.mean(), values.std()))
    rack = error_statistics.NumberBuffer()
    rack.feed(values[:7])
    rack.feed(values[7:])
    assert np.array_equal(rack.view(), values)


def test_a_median_of_nothing_makes_endless_outliers_but_in_the_reference() -> None:
    errors = np.array([0.0, 0.0, 0.0, 1.0])
    assert error_statistics.error_quantiles(errors).max_relative == inf
    assert error_statistics.error_quantiles(errors, "reference").max_relative == pytest.approx(1e10)
    assert isnan(error_statistics.error_quantiles(np.array([nan, 1.0])).outlier_share)
