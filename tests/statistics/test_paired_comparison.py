from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.statistics.conftest import build_columns

from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.metric_formulas import Mean, MeanOverCategories, UnboundedMean
from toolmark.statistics.paired_comparison import (
    PairedComparison,
    compare_paired,
    holm_adjusted,
)
from toolmark.statistics.paired_tests import mcnemar
from toolmark.statistics.score_columns import Columns

Builder = Callable[..., Columns]
Values = NDArray[np.float64]
BY_CATEGORY = MeanOverCategories(formula=UnboundedMean(part="cost"), categories_label="categories")


@pytest.mark.parametrize(("b", "c"), [(0, 0), (0, 6), (5, 5), (3, 12), (40, 61), (1, 0)])
def test_mcnemar_is_the_mid_p_of_the_binomial_test(b: int, c: int) -> None:
    exact = stats.binomtest(b, b + c).pvalue if b + c else 1.0
    expected = exact - stats.binom.pmf(b, b + c, 0.5) if b != c else 1.0
    assert mcnemar(b, c) == pytest.approx(expected)


def test_difference_is_a_minus_b_with_items_that_flipped(table: Builder) -> None:
    a, b = table([[1.0], [1.0], [0.0], [1.0]]), table([[1.0], [0.0], [1.0], [0.0]])
    found = compare_paired(a, b)
    assert found.difference.value == 0.25
    assert (found.only_a, found.only_b) == (("i1", "i3"), ("i2",))
    assert (found.method, found.n_pairs, found.n_items) == ("McNemar mid-p", 4, 4)


def test_swapping_the_runs_turns_the_sign(table: Builder) -> None:
    rng = np.random.default_rng(1)
    a, b = table(rng.random((12, 2)).tolist()), table(rng.random((12, 2)).tolist())
    one, two = compare_paired(a, b), compare_paired(b, a)
    assert one.difference.value == pytest.approx(-(two.difference.value or 0))
    assert one.difference.low == pytest.approx(-(two.difference.high or 0))
    assert one.p == pytest.approx(two.p)


def test_rows_without_partner_and_rows_not_run_are_counted(table: Builder) -> None:
    found = compare_paired(table([[1.0], [None], [1.0], [0.0]]), table([[0.0], [1.0], [None]]))
    counts = (found.unpaired_a, found.unpaired_b, found.not_run_a, found.not_run_b, found.n_pairs)
    assert counts == (1, 0, 1, 1, 1)
    assert found.difference.worst == pytest.approx((1 - 1 + 0) / 3)
    assert found.difference.best == pytest.approx((1 + 0 + 1) / 3)


def test_runs_with_other_task_ids_pair_on_items(table: Builder) -> None:
    found = compare_paired(table([[1.0], [0.0]]), table([[0.0], [0.0]], prefix="other-"))
    assert (found.n_pairs, found.difference.value) == (2, 0.5)


def test_a_constant_difference_without_a_scale_is_tested_or_has_no_p(table: Builder) -> None:
    """P is 1 only for no difference: one sample has a test, several that never vary have none."""
    one, other = table([[1.0]] * 12), table([[1.0]] * 12)
    category = np.array(["a", "b"], dtype=object)[np.arange(12) % 2]
    cost = np.arange(12.0)
    for shift, formula, is_tested in (
        (0.5, UnboundedMean(part="cost"), True),
        (0.5, BY_CATEGORY, False),
        (0.0, BY_CATEGORY, True),
    ):
        a = replace(one, category=category, parts={"cost": cost + shift})
        b = replace(other, category=category, parts={"cost": cost})
        found = compare_paired(a, b, formula)
        assert found.difference.value == pytest.approx(shift)
        assert (found.p is not None) == is_tested
        assert (found.p == 1.0) == (shift == 0.0)


def test_no_common_row_gives_no_number(table: Builder) -> None:
    found = compare_paired(table([[None]]), table([[1.0]]))
    assert (found.difference.value, found.p, found.detectable) == (None, None, None)


def test_the_t_test_of_many_items_is_scipys_but_for_one_more_item(table: Builder) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((25, 1)), rng.random((25, 1))
    found = compare_paired(table(a.tolist()), table(b.tolist()))
    theirs = stats.ttest_rel(a.ravel(), b.ravel()).statistic / np.sqrt(1 + 1 / 25)
    assert found.method == "t over clusters"
    assert found.p == pytest.approx(2 * stats.t.sf(abs(theirs), 24))


def test_identical_runs_differ_by_nothing_but_not_for_certain(table: Builder) -> None:
    same = table([[1.0, 0.0, 1.0]] * 20)
    found = compare_paired(same, same)
    assert (found.difference.value, found.p) == (0.0, 1.0)
    assert found.difference.low is not None and found.difference.high is not None
    assert found.difference.low < 0 < found.difference.high


def _draw(rng: np.random.Generator, kind: str, own: Values, size: int) -> Values:
    """Draw repeats of items whose own success rates, or values, are given."""
    shape = (len(own), size)
    if kind == "binary":
        return (rng.random(shape) < own).astype(float)
    return np.clip(own + rng.normal(0, 0.05, shape), 0, 1)


@pytest.mark.parametrize(
    ("kind", "shape"), [("binary", (40, 1)), ("binary", (20, 3)), ("fraction", (12, 1))]
)
def test_null_p_values_are_uniform_and_intervals_cover_zero(
    table: Builder, kind: str, shape: tuple[int, int]
) -> None:
    # 250 draws: standard errors 0.014 at 0.05 and 0.014 at 0.95; bounds three of them away
    rng = np.random.default_rng(6)
    ps, covers = [], []
    for _ in range(250):
        own = rng.random((shape[0], 1))
        a, b = _draw(rng, kind, own, shape[1]), _draw(rng, kind, own, shape[1])
        found = compare_paired(table(a.tolist()), table(b.tolist()))
        assert found.p is not None
        assert found.difference.low is not None and found.difference.high is not None
        ps.append(found.p)
        covers.append(found.difference.low <= 0 <= found.difference.high)
    assert np.mean(np.array(ps) <= 0.05) <= 0.09
    assert np.mean(np.array(ps) <= 0.5) <= 0.6
    assert np.mean(covers) >= 0.91


def test_a_difference_of_the_detectable_size_is_found_about_four_times_in_five(
    table: Builder,
) -> None:
    rng = np.random.default_rng(7)
    base = 0.3 + rng.random((60, 1)) * 0.3  # far from the ends: nothing is clipped

    def difference(shift: float) -> PairedComparison:
        a, b = (base + each + rng.normal(0, 0.08, (60, 2)) for each in (shift, 0.0))
        return compare_paired(table(a.tolist()), table(b.tolist()))

    sizes = [difference(0.0).detectable for _ in range(20)]
    size = float(np.mean([each for each in sizes if each is not None]))
    found = [(difference(size).p or 1.0) <= 0.05 for _ in range(150)]
    assert 0.7 <= np.mean(found) <= 0.9  # 0.8 give or take three standard errors


def test_rows_that_hang_together_count_as_one_item_would(table: Builder) -> None:
    rng = np.random.default_rng(3)
    a, b = (table((rng.random((24, 1)) > 0.5).astype(float).tolist()) for _ in "ab")
    group = np.array([f"g{row // 6}" for row in range(24)], dtype=object)
    named = [replace(each, axes={"group": group}) for each in (a, b)]
    merged = [replace(each, item=group) for each in (a, b)]
    found, expected = compare_paired(named[0], named[1]), compare_paired(merged[0], merged[1])
    assert (found.difference, found.p) == (expected.difference, expected.p)
    assert (found.n_items, found.n_groups, expected.n_items, expected.n_groups) == (24, 4, 4, 0)
    assert set(found.only_a) <= set(a.item) and found.method != compare_paired(a, b).method
    one = [estimate_mean(each, "x") for each in (named[0], merged[0])]
    assert one[0] == one[1] != estimate_mean(a, "x")


def test_repeats_need_no_partner(table: Builder) -> None:
    five, one = [[1.0, 1.0, 0.0, 1.0, 1.0], [0.0] * 5, [1.0] * 5], [[0.0], [0.0], [1.0]]
    found = compare_paired(table(five), table(one))
    assert (found.n_pairs, found.unpaired_a, found.unpaired_b) == (3, 0, 0)
    assert found.difference.value == pytest.approx(0.8 / 3)
    assert (found.only_a, found.only_b) == (("i0",), ())


def test_the_order_of_repeats_tells_nothing(table: Builder) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.random((20, 4)) < 0.5 for _ in "ab")
    mixed = rng.permuted(a, axis=1)
    found, other = (compare_paired(table(each.tolist()), table(b.tolist())) for each in (a, mixed))
    assert found.difference.value == pytest.approx(other.difference.value)
    assert found.difference.low == pytest.approx(other.difference.low)
    assert found.p == pytest.approx(other.p)


def test_a_repeat_that_was_not_run_leaves_its_task_in(table: Builder) -> None:
    found = compare_paired(table([[1.0, None], [None, None]]), table([[0.0, 0.0], [1.0, 1.0]]))
    assert (found.n_pairs, found.not_run_a, found.difference.value) == (1, 3, 1.0)
    assert found.difference.worst == pytest.approx((0.5 - 1) / 2)
    assert found.difference.best == pytest.approx((1 + 0) / 2)


def test_an_item_lacking_one_of_its_tasks_is_not_run(table: Builder) -> None:
    # matched by item: what is left of it may be its easy half
    a, b = table([[1.0], [None], [1.0], [0.0]]), table([[0.0]] * 4, prefix="other-")
    halves = [replace(each, item=np.array(["x", "x", "y", "y"], dtype=object)) for each in (a, b)]
    found = compare_paired(halves[0], halves[1])
    assert (found.n_pairs, found.difference.value, found.not_run_a) == (1, 0.5, 1)


@pytest.mark.parametrize("hard", [0.5, 0.1])
def test_runs_of_unequal_repeats_are_tested_at_their_level(table: Builder, hard: float) -> None:
    rng = np.random.default_rng(9)
    ps = []
    for _ in range(200):
        own = rng.beta(2 * hard, 2 * (1 - hard), (30, 1))
        a, b = _draw(rng, "binary", own, 5), _draw(rng, "binary", own, 1)
        ps.append(compare_paired(table(a.tolist()), table(b.tolist())).p or 0.0)
    assert np.mean(np.array(ps) <= 0.05) <= 0.10  # three standard errors
    assert np.mean(np.array(ps) <= 0.5) <= 0.61


def test_the_interval_covers_where_groups_differ_in_size(table: Builder) -> None:
    # four groups of 40 and sixteen of 5, alike within; 300 draws
    rng = np.random.default_rng(10)
    size = np.where(np.arange(20) < 4, 40, 5)
    group = np.repeat(np.array([f"g{i}" for i in range(20)], dtype=object), size)
    covers = []
    for _ in range(300):
        a, b = (rng.random((len(group), 1)) < np.repeat(rng.random(20), size)[:, None]
                for _ in "ab")  # fmt: skip
        named = [replace(table(each.astype(float).tolist()), axes={"group": group})
                 for each in (a, b)]  # fmt: skip
        found = compare_paired(named[0], named[1]).difference
        assert found.low is not None and found.high is not None
        covers.append(found.low <= 0 <= found.high)
    assert np.mean(covers) >= 0.92


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_rejects_what_closed_testing_with_bonferroni_does(ps: list[float]) -> None:
    every = range(len(ps))
    sets = [c for n in every for c in combinations(every, n + 1)]
    closed = [max(min(1.0, len(c) * min(ps[j] for j in c)) for c in sets if i in c) for i in every]
    assert holm_adjusted(ps) == pytest.approx(closed)


def test_holm_of_one_test_is_that_test_and_of_none_nothing() -> None:
    assert holm_adjusted([0.03]) == [0.03]
    assert holm_adjusted([]) == []


def parted(columns: Columns, values: Values) -> Columns:
    return replace(columns, parts={"x": values})


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=30))
def test_a_part_that_is_the_value_is_compared_as_the_value(pairs: list[tuple[bool, bool]]) -> None:
    a, b = (build_columns([[float(pair[k])] for pair in pairs]) for k in (0, 1))
    whole = compare_paired(a, b)
    part = compare_paired(parted(a, a.value), parted(b, b.value), Mean(part="x"))
    assert part.difference.low is not None and part.difference.high is not None
    assert -1 <= part.difference.low <= part.difference.high <= 1
    assert (part.difference.value, part.p, part.n_pairs) == (
        whole.difference.value, whole.p, whole.n_pairs,
    )  # fmt: skip
    assert part.difference == whole.difference


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_both_sides_make_the_difference_and_its_size_goes_with_the_unit(
    seed: int, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    a, b = build_columns([[1.0]] * 12), build_columns([[0.0]] * 9)
    one, two = rng.normal(size=12), rng.normal(size=9)
    one[3] = np.nan
    found = compare_paired(parted(a, unit * one), parted(b, unit * two), UnboundedMean(part="x"))
    assert found.value_a is not None and found.value_b is not None
    assert found.difference.value == pytest.approx(found.value_a - found.value_b)
    assert found.n_pairs == 8
    saved = [k for k in range(9) if k != 3]
    assert found.value_a == pytest.approx(unit * one[saved].mean())
    plain = compare_paired(parted(a, one), parted(b, two), UnboundedMean(part="x"))
    assert plain.difference.low is not None
    assert found.difference.low == pytest.approx(unit * plain.difference.low)
    assert found.p == pytest.approx(plain.p)


def test_what_was_paired_is_said(table: Builder) -> None:
    a, b = table([[1.0], [0.0]]), table([[0.0], [0.0]])
    assert compare_paired(a, b).pairing == "task"
    assert compare_paired(a, table([[0.0], [0.0]], prefix="other-")).pairing == "item"
