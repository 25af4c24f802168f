"""Runs ranked by a weighted mean of item scores: ranks, what they hang on, and their noise.

A run is a column of item scores. The weights of items are those of the headline, or others: the
ranks under other weights say how much the order hangs on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolmark.core import number_format
from toolmark.statistics.cluster_inference import measure_blocks, sum_clusters
from toolmark.statistics.interval_warnings import ranking_warning
from toolmark.statistics.linearisation import Linearisation
from toolmark.statistics.paired_tests import ClusterDifferences, difference_variance
from toolmark.statistics.rank_sets import (
    SET_DRAWS,
    Matrix,
    RankSets,
    competition_ranks,
    rank_confidence_sets,
)
from toolmark.statistics.score_columns import Columns, Names

RANDOM_WEIGHTS = 2_000  # draws of weights of categories
RANK_DRAWS = 10_000  # draws of the estimates, for shares of ranks
MAX_RUNS_LISTED = 5  # runs that warnings name
_TIE = 1e-7  # values that differ by less are equal


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of runs on common items: a row per item, a column per run, nan where it was not run.

    `category` and `cluster` have a cell per item. `weights` are the weights of the categories; the
    items of a category have equal parts of its weight.
    """

    runs: tuple[str, ...]
    items: Names
    category: Names
    cluster: Names
    scores: Matrix
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class WeightSensitivity:
    """Ranks under other weights of categories, with one cell per run.

    `lowest` and `highest` hold 95 % of the ranks under random weights, uniform over all weightings.
    """

    items_equal: NDArray[np.int64]
    categories_equal: NDArray[np.int64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    n_categories: int


@dataclass(frozen=True, slots=True)
class NumberRanking:
    """Numbers of several runs in order; arrays have a cell per run.

    `values` are the numbers as they are, `higher` and `influence` those of which the higher is
    better (`join_numbers`). `sets` are the ranks with their joint 95 % confidence sets. `warning`
    says why the sets may be too narrow, "" where nothing is known against them.
    """

    values: NDArray[np.float64]
    higher: NDArray[np.float64]
    influence: Matrix
    sets: RankSets
    warning: str


@dataclass(frozen=True, slots=True)
class JoinedNumbers:
    """A number of several runs: values, influences by cluster (a column per run), and freedom.

    The influences have the corrections of a comparison of two runs: those of a block of g clusters
    are enlarged by the root of g / (g - 1) * (1 + 1 / g) (`paired_tests.compare_clusters`).
    `freedom` is the degrees of freedom of the differences, on average over the pairs. `weight` is
    that of each cluster.
    """

    values: NDArray[np.float64]
    influence: Matrix
    freedom: float
    weight: NDArray[np.float64]


def rank_numbers(
    numbers: Sequence[Linearisation],
    rows: Sequence[Columns],
    *,
    lower_is_better: bool = False,
    draws: int = SET_DRAWS,
) -> NumberRanking:
    """Return the ranks of runs by their numbers, each over its rows, with their confidence sets.

    Every number must have a value, and there must be two clusters at least. `draws` are those of
    the critical value.
    """
    joined = join_numbers(numbers, [each.cluster for each in rows])
    sign = -1.0 if lower_is_better else 1.0
    higher, influence = sign * joined.values, sign * joined.influence
    sets = rank_confidence_sets(higher, influence, freedom=joined.freedom, draws=draws)
    items = {
        item
        for number, each in zip(numbers, rows, strict=True)
        for item in each.item[number.counted].tolist()
    }
    warning = ranking_warning(joined.weight, len(items))
    return NumberRanking(joined.values, higher, influence, sets, warning)


def missing_items_warnings(
    runs: Sequence[str], n_missing: Sequence[int], unit: str = "common item", plural: str = "",
    fault: str = "not run",
) -> list[str]:  # fmt: skip
    """Return warnings about runs whose value is not over all common items, the worst first.

    `unit`, its `plural` and `fault` say of what a run lacks how many, and why.
    """
    lacking = sorted((-n, at) for at, n in enumerate(n_missing) if n)
    listed = [
        f"{runs[at]}: {number_format.pluralize(-n, unit, plural)} {fault}; its value is over the "
        "others"
        for n, at in lacking[:MAX_RUNS_LISTED]
    ]
    if n_more := len(lacking) - len(listed):
        listed.append(f"the same holds for {number_format.pluralize(n_more, 'more run')}")
    return listed


def join_numbers(numbers: Sequence[Linearisation], clusters: Sequence[Names]) -> JoinedNumbers:
    """Return the numbers of runs over common clusters; each has the clusters of its rows.

    Few clusters with much weight, such as five conversations with a fifth of it, leave few degrees
    of freedom, however many clusters there are in all. Every number must have a value.
    """
    sums, block = sum_clusters(numbers, clusters)
    influence = np.column_stack([each.influence for each in sums])
    weight = np.mean([each.weight for each in sums], axis=0)
    n_clusters = len(influence)
    g = measure_blocks(block, weight).n_effective
    safe = np.maximum(g, 2.0)
    enlarged = np.where(g >= 2, safe / (safe - 1) * (1 + 1 / safe), 1.0)
    scale = np.sqrt(enlarged[block] * max(n_clusters - 1, 1) / max(n_clusters, 1))
    typical = np.sqrt(2 * influence.var(axis=1, ddof=1))  # of a difference of two runs
    own = np.divide(typical, weight, out=np.zeros_like(weight), where=weight > 0)
    found = ClusterDifferences(typical, weight, own, block)
    _, freedom = difference_variance(found, is_share=True)
    values = np.array([each.value for each in numbers], dtype=np.float64)
    return JoinedNumbers(values, influence * scale[:, None], freedom, weight)


def category_means(matrix: ScoreMatrix) -> tuple[list[str], Matrix, NDArray[np.int64]]:
    """Return the categories, the mean of each in each run, and its number of items.

    Raises ValueError where a run has no item of a category.
    """
    names = list(dict.fromkeys(map(str, matrix.category)))
    means, counts = [], []
    for name in names:
        rows = matrix.scores[matrix.category == name]
        n = (~np.isnan(rows)).sum(axis=0)
        if not n.all():
            run = matrix.runs[int(np.argmin(n))]
            raise ValueError(f"{run}: no common item of the category {name!r} was run")
        means.append(np.nansum(rows, axis=0) / n)
        counts.append(len(rows))
    return names, np.array(means), np.array(counts, dtype=np.int64)


def rank_shares(values: NDArray[np.float64], influence: Matrix, *, seed: int = 0) -> Matrix:
    """Return how often each run (row) has each rank (column) when items are drawn again.

    Estimates are drawn from their joint normal distribution, the limit of the bootstrap over
    clusters. These shares are no probabilities of ranks: two runs that are equally good get half of
    the draws each. Runs that are equal in a draw, such as two with the same answers, share it.
    """
    n_clusters, n = influence.shape
    covariance = influence.T @ influence * (n_clusters / max(n_clusters - 1, 1))
    strengths, directions = np.linalg.eigh(covariance)
    root = directions * np.sqrt(np.maximum(strengths, 0.0))
    rng = np.random.default_rng(seed)
    drawn = values + rng.standard_normal((RANK_DRAWS, n)) @ root.T
    # runs that are equal in a draw differ by a rounding: chance decides, not their order
    drawn += _TIE * rng.random(drawn.shape)
    ranks = np.argsort(np.argsort(-drawn, axis=1, kind="stable"), axis=1, kind="stable")
    return np.stack([np.bincount(column, minlength=n) for column in ranks.T]) / RANK_DRAWS


def weigh_otherwise(matrix: ScoreMatrix, *, seed: int = 0) -> WeightSensitivity:
    """Return the ranks under other weights of the categories."""
    names, means, counts = category_means(matrix)
    rng = np.random.default_rng(seed)
    random_weights = rng.dirichlet(np.ones(len(names)), RANDOM_WEIGHTS)
    drawn = competition_ranks(random_weights @ means)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf")
    return WeightSensitivity(
        items_equal=competition_ranks(counts / counts.sum() @ means),
        categories_equal=competition_ranks(means.mean(axis=0)),
        lowest=low.astype(np.int64),
        highest=high.astype(np.int64),
        n_categories=len(names),
    )
