"""Laws of every formula: influences are derivatives, and a difference is that of the values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.statistics.class_formulas import MacroF1, MacroRecall
from toolmark.statistics.cluster_inference import measure_with_interval
from toolmark.statistics.error_formulas import FilteredRelativeError, RelativeError
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.level_formulas import LevelMean, LevelSpread
from toolmark.statistics.metric_formulas import (
    EqualShare,
    FilteredFormula,
    Formula,
    Mean,
    MeanOfFormulas,
    MeanOverCategories,
    PassRate,
    PooledRate,
    StratifiedMean,
    UnboundedMean,
)
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.paired_rows import match_runs
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, Names
from toolmark.statistics.weighted_means import EvenGroup, PooledGroup, WeightedGroup

WEIGHTED = WeightedGroup("w", (EvenGroup("e", ("a", "b")), PooledGroup("p", ("c", "d"))), (1, 3))
RATE = PooledRate(part="hits", total_part="calls")
FORMULAS: dict[str, Formula] = {
    "mean": Mean(),
    "mean in strata": Mean(strata=("category", "axes.level")),
    "part": Mean(part="part", failed_part="failed"),
    "unbounded": UnboundedMean(part="cost"),
    "equal": EqualShare(part="truth", other_part="predicted"),
    "rate": RATE,
    "weighted rate": PooledRate(part="part", total_part="calls", is_weighted=True),
    "mean of": MeanOfFormulas(formulas=(RATE, Mean(), Mean(part="part"))),
    "filtered": FilteredFormula(
        filters=(RowFilter(column="axes.level", values=("low", "mid")),), formula=Mean()
    ),
    "weighted categories": StratifiedMean(group=WEIGHTED),
    "levels": LevelMean(axis="level", levels_label="levels"),
    "range": LevelSpread(axis="level", statistic="range"),
    "deviation": LevelSpread(axis="level", statistic="deviation"),
    "relative error": RelativeError(part="cost"),
    "categories": MeanOverCategories(
        formula=RelativeError(part="cost"), categories_label="categories"
    ),
    "macro F1": MacroF1(default_n_classes=4),
    "macro F1 by category": MacroF1(default_n_classes=5, by_category=True),
    "macro recall": MacroRecall(default_n_classes=4),
    "macro recall by category": MacroRecall(default_n_classes=5, by_category=True),
    "filtered error": FilteredRelativeError(part="cost"),
    "passes": PassRate(k=1, all_attempts=True),
    "labels": PredictionPoweredMean(label_part="label", fewest_labels=10),
}
# the category sizes, or the weights of the judge, are fixed and not functions of the rows; a
# percentile of few rows moves in steps
NOT_DERIVATIVES = {"mean in strata", "weighted categories", "passes", "labels", "filtered error"}


def random_run(seed: int, n: int = 60, n_repeats: int = 1, missing: float = 0.0) -> Columns:
    """Return rows of n tasks in groups of about three, with all parts that the formulas use."""
    layout = np.random.default_rng(n)  # the same tasks whatever the seed
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n), n_repeats)
    rows = len(task)

    def names(prefix: str, codes: np.ndarray) -> Names:
        return np.array([f"{prefix}{code}" for code in codes], dtype=object)

    run = rng.random(rows) >= missing
    value = np.where(run, (rng.random(rows) < 0.6).astype(float), np.nan)
    level = np.array(["low", "mid", "high"], dtype=object)[layout.integers(0, 3, n)][task]
    category = np.array(list("abcd"), dtype=object)[np.arange(n) % 4][task]
    calls = rng.integers(0, 4, rows).astype(float)
    cost = rng.exponential(2.0, rows)
    parts = {
        "part": rng.random(rows),
        "failed": (rng.random(rows) < 0.1).astype(float),
        "cost": cost,
        "base_cost": layout.exponential(3.0, n)[task],
        "calls": calls,
        "hits": np.floor(rng.random(rows) * (calls + 1)),
        "truth": layout.integers(0, 4, n)[task].astype(float),
        "predicted": rng.integers(-1, 4, rows).astype(float),
        "raw": np.full(rows, -1.0),
        "label": np.where(layout.random(n)[task] < 0.6, (rng.random(rows) < 0.5), np.nan),
    }
    return Columns(
        task=names("t", task),
        item=names("i", task),
        category=category,
        repeat=np.tile(np.arange(n_repeats), n),
        run=run,
        correct=value == 1,
        value=value,
        cause=names("", np.full(rows, 0)),
        suite_cause=names("", np.full(rows, 0)),
        axes={"level": level, "group": names("g", layout.integers(0, max(1, n // 3), n)[task])},
        parts={name: np.where(run, numbers, np.nan) for name, numbers in parts.items()},
    )


@pytest.mark.parametrize("name", FORMULAS)
def test_influences_sum_to_zero_and_weights_to_one(name: str) -> None:
    found = FORMULAS[name].linearise(random_run(1, missing=0.1))
    assert abs(found.influence.sum()) < 1e-12
    assert found.weight.sum() == pytest.approx(1)
    outside = ~found.counted
    assert not found.influence[outside].any() and not found.weight[outside].any()


@pytest.mark.parametrize("name", sorted(FORMULAS.keys() - NOT_DERIVATIVES))
def test_an_influence_is_the_derivative_by_the_weight_of_its_row(name: str) -> None:
    columns, step = random_run(2), 1e-6
    formula = FORMULAS[name]
    found = formula.linearise(columns)
    for row in range(0, len(columns), 7):
        values = []
        for sign in (1, -1):
            weight = np.ones(len(columns))
            weight[row] += sign * step
            values.append(formula.linearise(replace(columns, weight=weight)).value or 0.0)
        assert (values[0] - values[1]) / (2 * step) == pytest.approx(found.influence[row], abs=1e-7)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(("n_repeats", "missing"), [(1, 0.0), (3, 0.0), (1, 0.2)])
def test_the_difference_is_the_one_value_minus_the_other_on_equal_items(
    name: str, n_repeats: int, missing: float
) -> None:
    formula = FORMULAS[name]
    for seed in range(4):
        a = random_run(seed, n_repeats=n_repeats, missing=missing)
        b = random_run(seed + 100, n_repeats=n_repeats, missing=missing)
        found = compare_paired(a, b, formula)
        if missing:
            both = set(match_runs(a, b, formula).a.rows.task)
            a, b = (each.where(np.isin(each.task, list(both))) for each in (a, b))
        values = [formula.measure(each).value for each in (a, b)]
        assert values[0] is not None and values[1] is not None
        assert found.difference.value == pytest.approx(values[0] - values[1], abs=1e-12)
        assert found.value_a == pytest.approx(values[0], abs=1e-12)
        turned = compare_paired(b, a, formula)
        assert turned.difference.value == pytest.approx(-(found.difference.value or 0), abs=1e-12)
        assert turned.p == pytest.approx(found.p)
        assert_test_and_interval_agree(found)


def assert_test_and_interval_agree(found: PairedComparison) -> None:
    assert found.p is not None
    low, high = found.difference.low, found.difference.high
    if low is None or high is None:
        assert found.p == 1.0
    else:
        assert (found.p < 0.05) == (low > 0 or high < 0)


def test_influences_of_a_filtered_error_have_its_spread_over_samples() -> None:
    """The percentiles' own error counts: without it the spread would be a fifth off."""
    rng = np.random.default_rng(8)
    values, spreads = [], []
    blank = random_run(1, n=400)
    for _ in range(300):
        size = rng.lognormal(0, 1.0, 400)
        own, base = size * rng.lognormal(0, 1.5, 400), size * rng.lognormal(0, 0.3, 400)
        found = FilteredRelativeError(part="cost").linearise(
            replace(blank, parts={"cost": own, "base_cost": base})
        )
        values.append(found.value or 0.0)
        spreads.append(float(np.square(found.influence).sum()))
    assert np.sqrt(np.mean(spreads)) == pytest.approx(float(np.std(values)), rel=0.12)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 100))
def test_interval_and_test_of_single_pairs_never_part(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same
    if n == 0:
        return
    a, b = random_run(1, n=n), random_run(1, n=n)
    right_a = np.arange(n) < only_a + same // 2
    right_b = (np.arange(n) >= only_a) & (np.arange(n) < only_a + same // 2 + only_b)
    a, b = (
        replace(each, value=right.astype(float), correct=right, axes={})
        for each, right in ((a, right_a), (b, right_b))
    )
    found = compare_paired(a, b)
    assert found.method == "McNemar mid-p"
    assert (len(found.only_a), len(found.only_b)) == (only_a, only_b)
    assert found.difference.low is not None and found.difference.high is not None
    assert found.difference.low <= (only_a - only_b) / n <= found.difference.high
    assert_test_and_interval_agree(found)


@given(st.integers(0, 10_000), st.integers(2, 40), st.booleans())
def test_interval_and_test_over_clusters_never_part(seed: int, n: int, is_shifted: bool) -> None:
    a, b = random_run(seed, n=n, n_repeats=2), random_run(seed + 1, n=n, n_repeats=2)
    a = replace(a, value=np.clip(a.value + 0.3 * is_shifted, 0, 1))
    assert_test_and_interval_agree(compare_paired(a, b))


def test_copies_of_rows_in_a_group_change_no_interval() -> None:
    columns = random_run(3)
    twice = columns.where(np.repeat(np.arange(len(columns)), 2))
    for name in ("mean", "weighted categories", "levels", "macro F1"):
        formula = FORMULAS[name]
        one, two = (formula.linearise(each) for each in (columns, twice))
        assert one.value == pytest.approx(two.value)
        ends = [measure_with_interval(*pair) for pair in ((one, columns), (two, twice))]
        assert ends[0].low == pytest.approx(ends[1].low, abs=0.01)


def test_a_category_that_shares_its_groups_with_another_gives_a_wider_interval() -> None:
    rng = np.random.default_rng(5)
    n = 100
    columns = random_run(1, n=4 * n)
    scenario = np.arange(4 * n) // 4
    easy = np.repeat(rng.random(n), 4)
    value = (rng.random(4 * n) < easy).astype(float)
    shared = np.array([f"s{each}" for each in scenario], dtype=object)
    group = EvenGroup("all", tuple("abcd"))
    alone = replace(columns, value=value, axes={})
    joined = replace(columns, value=value, axes={"group": shared})
    narrow, wide = (StratifiedMean(group=group).measure(each) for each in (alone, joined))
    assert narrow.value == wide.value
    assert None not in (narrow.low, narrow.high, wide.low, wide.high)
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)  # type: ignore[operator]


def test_settings_of_a_designed_grid_are_no_error_of_the_mean() -> None:
    rng = np.random.default_rng(6)
    columns = replace(random_run(1, n=400), axes={})
    share = np.array([{"a": 0.95, "b": 0.7, "c": 0.3, "d": 0.05}[x] for x in columns.category])
    columns = replace(columns, value=(rng.random(400) < share).astype(float))
    plain, strata = (Mean(strata=x).measure(columns) for x in ((), ("category",)))
    assert plain.value == strata.value
    assert None not in (plain.low, plain.high, strata.low, strata.high)
    assert strata.high - strata.low < 0.8 * (plain.high - plain.low)  # type: ignore[operator]


def test_infinite_errors_that_the_filter_leaves_out_change_no_ratio() -> None:
    """Where errors are infinite within the filter there is no test, not an interval of shares."""
    a, b = random_run(1, n=200), random_run(2, n=200)
    formula = FilteredRelativeError(part="cost")
    largest = np.argsort(a.part("cost"))[-3:]
    cost = a.part("cost").copy()
    cost[largest] = np.inf
    wild = replace(a, parts={**a.parts, "cost": cost})
    assert formula.linearise(wild).value == pytest.approx(formula.linearise(a).value)
    cost[np.argsort(a.part("cost"))[-40:]] = np.inf
    lost = compare_paired(replace(a, parts={**a.parts, "cost": cost}), b, formula)
    assert (lost.p, lost.difference.low, lost.detectable) == (None, None, None)
