"""Laws of ranked runs: weights, shares of draws, and the noise of asking again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.statistics.ranked_scores import rank_scores
from tests.statistics.test_formula_laws import random_run

from toolmark.statistics import run_ranking
from toolmark.statistics.metric_formulas import StratifiedMean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.run_ranking import ScoreMatrix
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.weighted_means import EvenGroup


def _make_matrix(
    scores: np.ndarray, category: list[str], weights: dict[str, float] | None = None
) -> ScoreMatrix:
    n = len(scores)
    items = np.array([f"item-{i}" for i in range(n)], dtype=object)
    return ScoreMatrix(
        runs=tuple(f"run-{i}" for i in range(scores.shape[1])),
        items=items,
        category=np.array(category, dtype=object),
        cluster=items,
        scores=scores,
        weights=weights or dict.fromkeys(category, 1.0),
    )


def _draw_matrix(seed: int = 0) -> ScoreMatrix:
    """Return four runs: the first is best in "a", the last in "b"."""
    rng = np.random.default_rng(seed)
    shares = np.where(np.arange(400)[:, None] < 300, [[0.9, 0.7, 0.6, 0.3]], [[0.2, 0.5, 0.6, 0.9]])
    scores = (rng.random((400, 4)) < shares).astype(float)
    return _make_matrix(scores, ["a"] * 300 + ["b"] * 100, {"a": 3.0, "b": 1.0})


def _draw_shares(matrix: ScoreMatrix) -> np.ndarray:
    """Return how often each run has each rank."""
    found = rank_scores(matrix.scores, matrix.cluster)
    return run_ranking.rank_shares(found.higher, found.influence)


def test_other_weights_turn_the_order_of_runs_that_differ_by_category() -> None:
    """The last run is last with items equal, and first where "b" has nearly all the weight."""
    found = run_ranking.weigh_otherwise(_draw_matrix())
    assert found.items_equal[3] == 4
    assert found.lowest[3] == 1
    assert found.highest[3] == 4
    assert found.n_categories == 2


def test_one_category_has_no_other_weights() -> None:
    """All weightings give the same ranks."""
    matrix = _draw_matrix()
    single = _make_matrix(matrix.scores[:300], ["a"] * 300)
    found = run_ranking.weigh_otherwise(single)
    assert list(found.lowest) == list(found.highest) == list(found.items_equal)


def test_shares_of_ranks_sum_to_one_and_equal_runs_share() -> None:
    """Each run has some rank in each draw; a copy of a run halves its shares."""
    matrix = _draw_matrix()
    shares = _draw_shares(matrix)
    assert shares.sum(axis=0) == pytest.approx(np.ones(4))
    assert shares.sum(axis=1) == pytest.approx(np.ones(4))
    rng = np.random.default_rng(4)
    twins = _make_matrix((rng.random((500, 2)) < 0.6).astype(float), ["a"] * 500)
    assert 0.02 < _draw_shares(twins)[0, 0] < 0.98


def test_runs_with_the_same_answers_share_their_ranks() -> None:
    """Their order on the command line decides nothing."""
    scores = (np.random.default_rng(5).random((300, 1)) < 0.6).astype(float)
    matrix = _make_matrix(np.hstack([scores, scores, 1 - scores]), ["a"] * 300)
    shares = _draw_shares(matrix)
    assert shares[0, 0] == pytest.approx(0.5, abs=0.03)
    assert shares[1, 0] == pytest.approx(0.5, abs=0.03)


def test_a_run_without_items_of_a_category_is_refused() -> None:
    """Its weighted mean is not known."""
    matrix = _draw_matrix()
    matrix.scores[300:, 2] = np.nan
    with pytest.raises(ValueError, match="run-2"):
        run_ranking.category_means(matrix)


HEAVY = StratifiedMean(group=EvenGroup("all", ("a", "b")))


def _draw_runs(rng: np.random.Generator, n_runs: int, size: int) -> list[Columns]:
    """Return equal runs: 200 items of "a", and five groups of "b" with half of the weight."""
    n = 200 + 5 * size
    blank = random_run(1, n=n)
    group = np.array([""] * 200 + [f"g{i}" for i in range(5) for _ in range(size)], dtype=object)
    category = np.array(["a"] * 200 + ["b"] * (5 * size), dtype=object)
    blank = replace(blank, category=category, axes={"group": group})

    def draw() -> Columns:
        share = np.repeat(rng.random(5), size)  # each run is good at other groups
        value = (rng.random(n) < np.concatenate([np.full(200, 0.5), share])).astype(float)
        return replace(blank, value=value)

    return [draw() for _ in range(n_runs)]


def test_few_groups_with_much_weight_leave_few_degrees_of_freedom() -> None:
    """Equal runs are told apart in at most 5 % of draws, although there are 205 clusters."""
    rng = np.random.default_rng(9)
    n_draws, n_false = 200, 0
    for _ in range(n_draws):
        runs = _draw_runs(rng, 3, size=20)
        numbers = [HEAVY.linearise(run) for run in runs]
        joined = run_ranking.join_numbers(numbers, [run.cluster for run in runs])
        assert joined.freedom < 10
        assert len(joined.influence) == 205
        n_false += bool(run_ranking.rank_numbers(numbers, runs, draws=500).sets.wins.any())
    assert n_false <= 0.05 * n_draws + 2 * (0.05 * 0.95 * n_draws) ** 0.5


def test_two_runs_have_the_variance_of_their_comparison() -> None:
    """A ranking of two runs and their comparison tell the same difference with the same error."""
    a, b = _draw_runs(np.random.default_rng(2), 2, size=20)
    found = run_ranking.join_numbers([HEAVY.linearise(x) for x in (a, b)], [a.cluster, b.cluster])
    compared = compare_paired(a, b, HEAVY).difference
    assert found.values[0] - found.values[1] == pytest.approx(compared.value)
    influence = found.influence[:, 0] - found.influence[:, 1]
    n = len(influence)
    error = float(np.sqrt(np.square(influence).sum() * n / (n - 1)))
    assert compared.high is not None and compared.value is not None
    reach = float(stdtrit(found.freedom, 0.975)) * error
    assert reach == pytest.approx(compared.high - compared.value, rel=0.02)
