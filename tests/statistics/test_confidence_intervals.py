from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from toolmark.statistics.confidence_intervals import (
    bootstrap_interval,
    ratio_interval,
    wilson,
)
from toolmark.statistics.interval_limits import FEWEST_GROUPS, NORMAL_QUANTILE


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(pair: tuple[int, int]) -> None:
    k, n = pair
    theirs = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_of_nothing_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_wilson_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="within"):
        wilson(3, 2)


def test_a_wider_level_gives_a_wider_interval() -> None:
    inner, outer = wilson(7, 20, level=0.8), wilson(7, 20, level=0.99)
    assert outer[0] < inner[0] < inner[1] < outer[1]


@pytest.mark.parametrize(
    ("n_groups", "size", "alike", "share"),
    [
        (10, 3, 0.5, 0.5),
        (10, 5, 0.8, 0.9),
        (30, 1, 0.01, 0.9),
        (30, 3, 0.3, 0.5),
        (60, 10, 0.3, 0.9),
    ],
)
def test_ratio_covers_the_truth_whatever_repeats_share(
    n_groups: int, size: int, alike: float, share: float
) -> None:
    # 500 draws: the standard error of a coverage of 0.95 is 0.01; 0.91 is four of them away
    rng = np.random.default_rng(2)
    own = rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), (500, n_groups, 1))
    draws = (rng.random((500, n_groups, size)) < own).astype(float).reshape(500, -1)
    groups = np.repeat(np.arange(n_groups), size)
    ends = [ratio_interval(draw, np.ones(len(draw)), groups) for draw in draws]
    assert np.mean([low <= share <= high for low, high in ends]) >= 0.91


@pytest.mark.parametrize("n_groups", [10, 20, 40])
@pytest.mark.parametrize(("alike", "share"), [(0.05, 0.1), (0.3, 0.3), (0.3, 0.5), (0.6, 0.5)])
def test_ratio_covers_the_truth_where_groups_differ_in_size(
    n_groups: int, alike: float, share: float
) -> None:
    # a fifth of the groups holds 40 rows, the others 5; 600 draws, bound as above
    rng = np.random.default_rng(8)
    size = np.where(np.arange(n_groups) < n_groups // 5, 40, 5)
    rate = rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), (600, n_groups))
    ends = [ratio_interval(hits, size, range(n_groups)) for hits in rng.binomial(size, rate)]
    assert np.mean([low <= share <= high for low, high in ends]) >= 0.91


def test_one_group_that_outweighs_all_others_leaves_nearly_everything_open() -> None:
    size = np.array([10_000.0] + [1.0] * 50)
    low, high = ratio_interval(size * 0.3, size, range(len(size)))
    assert high - low > 0.8
    assert ratio_interval([1.0, 0.0], [5.0, 0.0], ["a", "b"])[1] > 0.8


def test_treating_repeats_as_independent_would_not_cover() -> None:
    # the reason for `ratio`: the same draws, judged by Wilson over rows
    rng = np.random.default_rng(3)
    own = rng.beta(0.25, 0.25, (300, 20, 1))
    draws = (rng.random((300, 20, 10)) < own).reshape(300, -1)
    ends = [wilson(int(draw.sum()), 200) for draw in draws]
    assert np.mean([low <= 0.5 <= high for low, high in ends]) < 0.7


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 6))
def test_ratio_stays_within_bounds_and_holds_the_mean(values: list[float], n: int) -> None:
    groups = np.arange(len(values)) % n
    low, high = ratio_interval(values, np.ones(len(values)), groups)
    assert 0 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 1
    assert high > low


def test_ratio_of_single_rows_is_close_to_wilson() -> None:
    values = np.arange(200) < 60
    ours = ratio_interval(values.astype(float), np.ones(200), np.arange(200))
    assert ours == pytest.approx(wilson(60, 200), abs=0.003)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_alike_values_leave_room_for_doubt(value: float) -> None:
    few = ratio_interval(np.full(12, value), np.ones(12), np.repeat(np.arange(4), 3))
    many = ratio_interval(np.full(1200, value), np.ones(1200), np.repeat(np.arange(400), 3))
    assert few[1] - few[0] > 0.05
    assert 0 < many[1] - many[0] < few[1] - few[0]


def test_repeats_of_one_item_count_as_one_item() -> None:
    assert ratio_interval(np.ones(50), np.ones(50), ["a"] * 50) == pytest.approx(wilson(1, 1))


@pytest.mark.parametrize("value", [0.9, 0.99, 0.9999, 1 - 1e-7, 1 - 1e-15])
def test_next_to_the_ends_no_more_is_open_than_at_them(value: float) -> None:
    low, high = ratio_interval([value] + [1.0] * 49, [1.0] * 50, range(50))
    assert 0.88 < low < high <= 1
    least, most = ratio_interval([1 - value] + [0.0] * 49, [1.0] * 50, range(50))
    # a share that rounds to 1 has another quantile
    assert least == pytest.approx(1 - high, abs=0.01)
    assert most == pytest.approx(1 - low, abs=0.01)


def test_ratio_pools_by_size() -> None:
    low, high = ratio_interval([9.0, 0.0, 5.0] * 4, [10.0, 90.0, 50.0] * 4, range(12))
    assert low < 14 / 150 < high < 14 / 30


def test_bootstrap_is_deterministic_and_moves_with_the_seed() -> None:
    values, groups = np.arange(120) % 7, np.arange(120) // 4
    assert bootstrap_interval(values, groups) == bootstrap_interval(values, groups)
    assert bootstrap_interval(values, groups) != bootstrap_interval(values, groups, seed=1)


def test_bootstrap_covers_a_skewed_mean() -> None:
    rng = np.random.default_rng(4)
    draws = rng.exponential(size=(200, 60))
    ends = [bootstrap_interval(draw, np.arange(60), draws=800) for draw in draws]
    assert np.mean([low <= 1 <= high for low, high in ends]) >= 0.88


def test_bootstrap_resamples_groups_not_rows() -> None:
    values = np.repeat([0.0, 1.0] * 10, 50)
    rows = bootstrap_interval(values, np.arange(1000))
    groups = bootstrap_interval(values, np.repeat(np.arange(20), 50))
    assert groups[1] - groups[0] > 3 * (rows[1] - rows[0])


@pytest.mark.parametrize("n", [1, 2, 5, FEWEST_GROUPS - 1])
def test_few_groups_know_nothing_however_many_rows_they_have(n: int) -> None:
    values = np.random.default_rng(n).lognormal(size=40 * n)
    assert all(math.isnan(end) for end in bootstrap_interval(values, np.arange(40 * n) % n))
    more = np.random.default_rng(n).lognormal(size=40 * FEWEST_GROUPS)
    low, high = bootstrap_interval(more, np.arange(len(more)) % FEWEST_GROUPS)
    assert low < more.mean() < high


@pytest.mark.parametrize("value", [0.0, 2.0, 0.1, -3.3])
def test_values_that_are_all_alike_give_no_interval_rather_than_one_of_no_width(
    value: float,
) -> None:
    assert all(map(math.isnan, bootstrap_interval([value] * 60, range(60))))
    over = np.random.default_rng(1).lognormal(size=60)
    assert all(map(math.isnan, bootstrap_interval(value * over, range(60), denominators=over)))


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="lengths differ"):
        bootstrap_interval([1.0, 2.0], ["a"])


def test_bootstrap_of_a_ratio_weighs_rows_by_their_denominators() -> None:
    values, over = [1.0, 2.0, 3.0, 4.0] * 5, [2.0, 1.0, 5.0, 4.0] * 5
    groups = range(20)
    low, high = bootstrap_interval(values, groups, denominators=over)
    assert low < sum(values) / sum(over) < high
    assert bootstrap_interval(values, groups, denominators=np.ones(20)) == bootstrap_interval(
        values, groups
    )


def test_bootstrap_of_a_ratio_that_may_divide_by_nothing_has_no_interval() -> None:
    over = [0.0] * 39 + [1.0]
    assert all(map(math.isnan, bootstrap_interval([1.0] * 40, range(40), denominators=over)))


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_the_bootstrap_has_no_unit(scale: float) -> None:
    values = np.random.default_rng(4).lognormal(size=30)
    low, high = bootstrap_interval(values, range(30))
    assert bootstrap_interval(values * scale, range(30)) == pytest.approx(
        (low * scale, high * scale)
    )


def test_bootstrap_of_huge_numbers_is_that_of_small_ones_or_nothing() -> None:
    values = [1.0, 2.0, 5.0, 9.0, 4.0, 7.0] * 4
    small = bootstrap_interval(values, range(24))
    assert bootstrap_interval([1e200 * x for x in values], range(24)) == pytest.approx(
        [1e200 * end for end in small]
    )
    assert all(
        map(math.isnan, bootstrap_interval([1e308 * x for x in (1.0, 1.5, 1.7)] * 8, range(24)))
    )


def test_the_normal_quantile_is_that_of_the_library() -> None:
    assert float(ndtri(0.975)) == NORMAL_QUANTILE
