from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Score, Verdict
from toolmark.statistics.confidence_intervals import wilson
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.prediction_powered import powered_mean
from toolmark.statistics.score_columns import Columns, gather_columns

REFERENCE = Path(__file__).parents[1] / "data/ppi_reference.json"
CASES: list[dict[str, Any]] = json.loads(REFERENCE.read_text())["cases"]
N_DRAWS = 600


def _digits(text: str) -> NDArray[np.float64]:
    return np.array([float(digit) for digit in text])


def _rows(case: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    judged, labels = _digits(case["judge"]), _digits(case["labels"])
    return judged, np.append(labels, np.full(len(judged) - len(labels), np.nan))


@pytest.mark.parametrize("case", [case for case in CASES if case["weight"] is not None])
def test_estimate_and_variance_are_those_of_the_reference_package(case: dict[str, Any]) -> None:
    """Ours has n - 1 where the package has n, Student's t, and two rows of contradiction more."""
    judged, labels = _rows(case)
    n, weight = len(case["labels"]), case["weight"]
    found = powered_mean(judged, labels, np.arange(len(judged)), weight=weight)
    assert found.value == pytest.approx(case["value"], abs=1e-12)
    published = ((case["high"] - case["low"]) / 2 / float(ndtri(0.975))) ** 2
    ours = ((found.high - found.value) / float(stdtrit(n - 1, 0.975))) ** 2
    assert ours - (1 + weight**2) / n**2 == pytest.approx(published * n / (n - 1), rel=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if case["weight"] is None])
def test_the_weight_is_near_that_of_the_reference_package(case: dict[str, Any]) -> None:
    judged, labels = _rows(case)
    found = powered_mean(judged, labels, np.arange(len(judged)))
    assert found.value == pytest.approx(case["value"], abs=0.01)


def _draw(
    rng: np.random.Generator, share: float, sensitivity: float, specificity: float, group_size: int
) -> tuple[NDArray[np.float64], ...]:
    """Return judge, labels of a random tenth, and groups whose shares differ, of 1000 rows."""
    n, n_labels = 1000, 100
    n_groups = n // group_size
    shares = np.full(n_groups, share)
    if group_size > 1:
        shares = rng.beta(share * 7 / 3, (1 - share) * 7 / 3, n_groups)  # intra-group 0.3
    truth = rng.random(n) < np.repeat(shares, group_size)
    passed = np.where(truth, rng.random(n) < sensitivity, rng.random(n) >= specificity)
    labels = np.full(n, np.nan)
    chosen = rng.choice(n, n_labels, replace=False)
    labels[chosen] = truth[chosen]
    return passed.astype(float), labels, np.repeat(np.arange(n_groups), group_size)


@pytest.mark.parametrize(
    ("share", "sensitivity", "specificity", "group_size"),
    [(0.7, 0.9, 0.8, 1), (0.9, 0.95, 0.7, 1), (0.97, 0.98, 0.9, 1), (0.3, 0.9, 0.9, 1),
     (0.7, 0.9, 0.8, 5)],
)  # fmt: skip
def test_the_interval_covers_the_truth_and_the_judge_alone_does_not(
    share: float, sensitivity: float, specificity: float, group_size: int
) -> None:
    rng = np.random.default_rng(17)
    n_covered = n_naive = 0
    for _ in range(N_DRAWS):
        judged, labels, groups = _draw(rng, share, sensitivity, specificity, group_size)
        found = powered_mean(judged, labels, groups)
        n_covered += found.low <= share <= found.high
        low, high = wilson(int(judged.sum()), len(judged))
        n_naive += low <= share <= high
    standard_error = math.sqrt(0.95 * 0.05 / N_DRAWS)  # 0.009
    assert n_covered / N_DRAWS > 0.95 - 2.5 * standard_error
    assert n_naive / N_DRAWS < 0.95 - 4 * standard_error


def test_a_good_judge_narrows_the_interval_and_a_useless_one_hardly_widens_it() -> None:
    rng = np.random.default_rng(5)
    widths = []
    for sensitivity, specificity in ((0.97, 0.97), (0.5, 0.5)):
        judged, labels, groups = _draw(rng, 0.6, sensitivity, specificity, 1)
        found = powered_mean(judged, labels, groups)
        low, high = wilson(int(np.nansum(labels)), 100)
        widths.append((found.high - found.low) / (high - low))
    assert widths[0] < 0.7
    assert widths[1] < 1.25


def test_a_judge_without_an_error_on_the_labels_is_not_taken_as_free_of_error() -> None:
    judged = np.tile([1.0, 1.0, 1.0, 0.0], 10_000)
    labels = np.full(len(judged), np.nan)
    labels[:100] = judged[:100]
    found = powered_mean(judged, labels, np.arange(len(judged)))
    assert found.value == pytest.approx(0.75)
    assert found.high - found.low > 0.03  # no error in 100 excludes a rate of 3 % barely


def test_where_all_rows_are_labelled_the_judge_does_not_count() -> None:
    rng = np.random.default_rng(2)
    labels = (rng.random(150) < 0.6).astype(float)
    found = powered_mean(1 - labels, labels, np.arange(150))
    assert found.value == pytest.approx(labels.mean())
    assert found.weight == 0.0


def test_rows_of_one_group_count_as_one() -> None:
    rng = np.random.default_rng(3)
    judged, labels, groups = _draw(rng, 0.7, 0.9, 0.8, 5)
    alone = powered_mean(judged, labels, np.arange(len(judged)))
    grouped = powered_mean(judged, labels, groups)
    copied = powered_mean(np.repeat(judged, 4), np.repeat(labels, 4), np.repeat(np.arange(1000), 4))
    assert alone.value == pytest.approx(copied.value)
    assert grouped.high - grouped.low > alone.high - alone.low
    assert copied.high - copied.low > 0.9 * (alone.high - alone.low)


@pytest.mark.parametrize("groups", [[0, 1, 2, 3], [0, 0, 0, 1]])
def test_labels_of_fewer_than_two_groups_give_no_number(groups: list[int]) -> None:
    labels = [1.0, 0.0, math.nan, math.nan] if groups[1] == 0 else [1.0, *[math.nan] * 3]
    with pytest.raises(ValueError, match="two groups"):
        powered_mean([1.0, 0.0, 1.0, 0.0], labels, groups)


def _columns(n: int, n_labels: int, n_absent: int = 0) -> Columns:
    def verdict(i: int) -> Verdict:
        passed = i % 3 > 0
        parts = {"label": float(i % 4 > 0)} if i < n_labels else {}
        return Verdict(
            outcome="correct" if passed else "incorrect", value=float(passed), parts=parts
        )

    scores = [Score(task=f"t{i}", item=f"t{i}", verdicts={"r": verdict(i)}) for i in range(n)]
    scores += [Score(task=f"u{i}", item=f"u{i}", failure=NOT_REACHED) for i in range(n_absent)]
    return gather_columns(scores, "r")


def test_the_metric_is_the_judges_mean_below_the_fewest_labels() -> None:
    formula = PredictionPoweredMean(label_part="label")
    columns = _columns(300, 99)
    assert formula.measure(columns) == estimate_mean(columns, "")
    corrected = formula.measure(_columns(300, 100))
    assert corrected.value is not None
    assert corrected.value > estimate_mean(columns, "").value + 0.02  # type: ignore[operator]
    assert corrected.n == 300


def test_what_was_not_run_is_within_the_bounds() -> None:
    found = PredictionPoweredMean(label_part="label").measure(_columns(300, 150, n_absent=100))
    assert found.value is not None
    assert found.worst == pytest.approx(found.value * 0.75)
    assert found.best == pytest.approx(found.value * 0.75 + 0.25)
    assert PredictionPoweredMean(label_part="label").measure(_columns(0, 0, 5)).value is None
