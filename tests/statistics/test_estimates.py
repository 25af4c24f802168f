from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.conftest import build_columns
from tests.statistics.test_formula_laws import random_run

from toolmark.statistics.confidence_intervals import wilson
from toolmark.statistics.estimates import (
    estimate_mean,
    estimate_pass_rate,
    estimate_pooled_share,
    estimate_repeat_error,
    estimate_repeat_noise,
)
from toolmark.statistics.metric_formulas import Formula, Mean, StratifiedMean
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.weighted_means import EvenGroup

Builder = Callable[..., Columns]
WEIGHTED_MEAN = StratifiedMean(group=EvenGroup("all", ("a", "b")))


def test_independent_right_and_wrong_get_wilson(table: Builder) -> None:
    found = estimate_mean(table([[1.0]] * 7 + [[0.0]] * 13), "success")
    assert (found.name, found.n, found.value) == ("success", 20, 0.35)
    assert (found.low, found.high) == wilson(7, 20)
    assert found.worst == found.best == 0.35


def test_repeats_widen_the_interval(table: Builder) -> None:
    once = estimate_mean(table([[1.0]] * 20 + [[0.0]] * 20), "x")
    same = estimate_mean(table([[1.0] * 5] * 20 + [[0.0] * 5] * 20), "x")
    rows = wilson(100, 200)
    assert once.low is not None and once.high is not None
    assert same.low is not None and same.high is not None
    assert same.high - same.low >= once.high - once.low > rows[1] - rows[0]


def test_what_was_not_run_is_outside_the_mean_and_inside_the_bounds(table: Builder) -> None:
    found = estimate_mean(table([[1.0], [1.0], [0.0], [None]]), "x")
    assert found.value == pytest.approx(2 / 3)
    assert (found.n, found.worst, found.best) == (3, 0.5, 0.75)


def test_nothing_ran_has_no_number(table: Builder) -> None:
    found = estimate_mean(table([[None], [None]]), "x")
    assert (found.value, found.low, found.high, found.worst, found.best) == (None,) * 5
    assert found.n == 0


def test_fractions_have_an_interval_that_shrinks(table: Builder) -> None:
    rng = np.random.default_rng(0)
    few = estimate_mean(table([[float(v)] for v in rng.random(10)]), "x")
    many = estimate_mean(table([[float(v)] for v in rng.random(1000)]), "x")
    assert few.low is not None and few.high is not None
    assert many.low is not None and many.high is not None
    assert many.high - many.low < 0.05 < few.high - few.low


def test_share_pools_calls_and_leaves_out_what_was_not_run() -> None:
    hits, totals = [2.0, 0.0, math.nan, 0.0], [10.0, 10.0, math.nan, 0.0]
    found = estimate_pooled_share("rate", hits, totals, ["a", "b", "c", "d"])
    assert (found.value, found.n) == (0.1, 20)
    assert found.low is not None and found.high is not None
    assert found.low < 0.1 < found.high


def test_share_of_no_calls_has_no_number() -> None:
    assert estimate_pooled_share("rate", [0.0], [0.0], ["a"]).value is None


def test_noise_is_the_scatter_between_repeats(table: Builder) -> None:
    rng = np.random.default_rng(5)
    values = rng.random((300, 1)) * 0.6 + rng.normal(0.2, 0.05, (300, 4))
    found = estimate_repeat_noise(table(values.tolist()))
    assert found.value == pytest.approx(0.05, rel=0.1)
    assert found.low is not None and found.high is not None
    assert found.low < 0.05 < found.high
    assert found.n == 300


@pytest.mark.parametrize("formula", [Mean(), WEIGHTED_MEAN])
def test_the_error_of_asking_again_is_the_spread_of_runs_on_the_same_items(
    formula: Formula,
) -> None:
    """One run of three repeats knows by how much runs of its model differ, with the weights."""
    rng = np.random.default_rng(2)
    blank = random_run(1, n=200, n_repeats=3)
    # the fewer rows a category has, the more its weight: the plain mean varies far less
    category = np.where(np.arange(200) < 20, "a", "b").astype(object)[np.repeat(np.arange(200), 3)]
    chance = np.repeat(rng.random(200), 3)

    def draw() -> Columns:
        value = (rng.random(600) < chance).astype(float)
        return replace(blank, category=category, value=value, correct=value == 1)

    runs = [draw() for _ in range(400)]
    spread = float(np.std([formula.linearise(run).value or 0.0 for run in runs]))
    errors = [estimate_repeat_error(formula.linearise(run), run) for run in runs[:20]]
    assert np.mean([error or 0.0 for error in errors]) == pytest.approx(spread, rel=0.12)
    once = runs[0].where(runs[0].repeat == 0)
    assert estimate_repeat_error(formula.linearise(once), once) is None


def test_no_repeats_have_no_noise_floor(table: Builder) -> None:
    assert estimate_repeat_noise(table([[1.0], [0.0]])).value is None


def test_repeats_that_agree_have_no_noise_and_claim_no_interval(table: Builder) -> None:
    found = estimate_repeat_noise(table([[1.0, 1.0], [0.0, 0.0]]))
    assert (found.value, found.low, found.high) == (0.0, None, None)


@given(
    st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=6),
    st.integers(1, 5),
)
def test_passes_are_shares_of_all_choices_of_k_answers(rows: list[list[bool]], k: int) -> None:
    table = build_columns([[float(hit) for hit in row] for row in rows])
    chosen = [[[row[i] for i in c] for c in combinations(range(5), k)] for row in rows]
    for every, rule in ((True, all), (False, any)):
        expected = np.mean([np.mean([rule(each) for each in sets]) for sets in chosen])
        found = estimate_pass_rate(table, k, "x", every=every)
        assert found.value == pytest.approx(expected)
        assert found.n == len(rows)
        assert found.low is not None and found.high is not None
        assert 0 <= found.low <= expected + 1e-9 and expected - 1e-9 <= found.high <= 1


def test_one_answer_passes_as_often_as_it_is_right(table: Builder) -> None:
    columns = table([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    for every in (True, False):
        assert estimate_pass_rate(columns, 1, "x", every=every).value == pytest.approx(
            estimate_mean(columns, "x").value
        )


def test_tasks_that_ran_too_seldom_are_left_out_and_bounded(table: Builder) -> None:
    found = estimate_pass_rate(table([[1.0, 1.0], [1.0, None], [None, None]]), 2, "x", every=True)
    assert (found.value, found.n) == (1.0, 1)
    assert found.worst == pytest.approx(1 / 3)
    assert found.best == 1
    assert estimate_pass_rate(table([[1.0], [0.0]]), 2, "x", every=True).value is None
