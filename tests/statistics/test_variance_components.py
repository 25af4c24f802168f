"""The components of a nested model are found, and their upper bound is above the truth."""

from __future__ import annotations

import numpy as np
import pytest
from tests.statistics.nested_scores import draw_shares, make_columns

from toolmark.statistics.cluster_inference import sum_clusters
from toolmark.statistics.linearisation import linearise_mean
from toolmark.statistics.metric_formulas import Mean, StratifiedMean
from toolmark.statistics.planned_precision import measure_design, plan_variance
from toolmark.statistics.variance_components import (
    ASSURANCE,
    VarianceComponents,
    bound_factor,
    estimate_components,
)
from toolmark.statistics.weighted_means import WeightedGroup


def _components(columns: object, formula: Mean | StratifiedMean) -> VarianceComponents:
    return estimate_components(formula.linearise(columns), columns)  # type: ignore[arg-type]


def test_components_of_a_nested_model_are_unbiased() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(150):
        n_groups, size, tasks, repeats = 20, 4, 2, 3
        group = rng.normal(0, 0.5, n_groups).repeat(size)[:, None, None]
        item = rng.normal(0, 1.0, n_groups * size)[:, None, None]
        variant = rng.normal(0, 0.7, (n_groups * size, tasks, 1))
        values = group + item + variant + rng.normal(0, 0.9, (n_groups * size, tasks, repeats))
        names = [f"g{g}" for g in range(n_groups) for _ in range(size)]
        one = _components(make_columns(values, groups=names), Mean())
        found.append((one.group, one.item, one.variant, one.repeat))
        assert one.separated == ("repeat", "variant", "item")
    assert np.mean(found, axis=0) == pytest.approx([0.25, 1.0, 0.49, 0.81], rel=0.12)


def test_what_cannot_be_separated_is_in_the_coarser_component() -> None:
    values = np.random.default_rng(2).normal(size=(50, 1, 1))
    found = _components(make_columns(values), Mean())
    assert found.separated == () and found.item == pytest.approx(found.total)
    assert found.total == pytest.approx(float(values.var(ddof=1)))


def test_the_sum_of_the_components_is_the_variance_of_the_headline() -> None:
    """By the components the pilot's own design has the variance that its interval has."""
    rng = np.random.default_rng(3)
    values, groups = draw_shares(rng, 60, 4, 0.7, 0.3)
    categories = ["a" if int(name[1:]) < 20 else "b" for name in groups]
    columns = make_columns(values, groups=groups, categories=categories)
    overall = WeightedGroup("overall", ("a", "b"), (0.8, 0.2))
    for formula in (Mean(), StratifiedMean(group=overall)):
        found = formula.linearise(columns)
        planned = plan_variance(measure_design(columns, formula), 1, _components(columns, formula))
        (sums,), _ = sum_clusters([found], [columns.cluster])
        assert planned == pytest.approx(float(np.square(sums.influence).sum()), rel=0.08)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_upper_bound_is_above_the_true_variance_as_often_as_it_says(share: float) -> None:
    rng = np.random.default_rng(4)
    n_above = n_pilots = 0
    for _ in range(400):
        values = (rng.random((60, 1, 1)) < share).astype(float)
        if values.min() == values.max():
            continue
        found = _components(make_columns(values), Mean())
        n_pilots += 1
        n_above += min(0.25, found.total * bound_factor(found)) >= share * (1 - share) - 1e-9
    assert n_above / n_pilots >= ASSURANCE - 0.03


def test_the_upper_bound_of_normal_scores_is_above_the_truth_in_four_of_five() -> None:
    rng = np.random.default_rng(5)
    above = 0
    for _ in range(1000):
        found = _components(make_columns(rng.normal(size=(40, 1, 1))), Mean())
        above += found.total * bound_factor(found) >= 1
    assert abs(above / 1000 - ASSURANCE) < 0.05


def test_rows_that_are_all_alike_have_no_components() -> None:
    columns = make_columns(np.ones((10, 1, 2)))
    assert estimate_components(linearise_mean(columns), columns).total == 0
