"""Laws of confidence sets for ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from toolmark.statistics.rank_sets import mean_influence, rank_confidence_sets


def _draw_scores(
    rng: np.random.Generator, shares: list[float], n_clusters: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return 0/1 scores of runs that share the difficulty of items, and their clusters."""
    clusters = np.repeat(np.arange(n_clusters), size)
    easy = rng.normal(0, 0.6, n_clusters)[clusters] + rng.normal(0, 0.6, len(clusters))
    # the probit link: the mean over easiness is the share that is asked for
    shift = ndtri(np.array(shares)) * np.sqrt(1 + 0.72)
    noise = rng.normal(0, 1, (len(clusters), len(shares)))
    return (shift[None, :] + easy[:, None] + noise > 0).astype(float), clusters


def test_all_true_ranks_are_in_their_sets_with_the_stated_probability() -> None:
    """Joint coverage of 300 draws is at least 92 %, also where runs are equal."""
    rng = np.random.default_rng(5)
    shares = [0.8, 0.75, 0.75, 0.7, 0.6, 0.6]
    # the true rank of tied runs is any of their places
    best, worst = [1, 2, 2, 4, 5, 5], [1, 3, 3, 4, 6, 6]
    n_covered = 0
    for draw in range(300):
        scores, clusters = _draw_scores(rng, shares, 120, 2)
        found = rank_confidence_sets(*mean_influence(scores, clusters), draws=1500, seed=draw)
        n_covered += bool(
            all(
                low <= first and high >= last
                for low, high, first, last in zip(found.low, found.high, best, worst, strict=True)
            )
        )
    assert n_covered / 300 >= 0.92


def test_a_set_has_the_rank_and_shrinks_with_more_items() -> None:
    """The point rank is in its set; four times the items give sets that are not wider."""
    rng = np.random.default_rng(1)
    scores, clusters = _draw_scores(rng, [0.9, 0.7, 0.5, 0.3], 400, 1)
    few = rank_confidence_sets(*mean_influence(scores[:100], clusters[:100]))
    many = rank_confidence_sets(*mean_influence(scores, clusters))
    for found in (few, many):
        assert (found.low <= found.rank).all()
        assert (found.rank <= found.high).all()
    assert (many.high - many.low).sum() <= (few.high - few.low).sum()
    assert list(many.rank) == [1, 2, 3, 4]


def test_equal_runs_share_all_their_places() -> None:
    """Runs with the same scores cannot be told apart, and have one rank."""
    column = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 1, 0])
    values, influence = mean_influence(np.column_stack([column] * 3), np.arange(10))
    found = rank_confidence_sets(values, influence)
    assert list(found.rank) == [1, 1, 1]
    assert list(found.low) == [1, 1, 1]
    assert list(found.high) == [3, 3, 3]
    assert list(found.wins) == [0, 0, 0]


def test_a_difference_without_variance_counts_from_ten_clusters_on() -> None:
    """Right on all items against wrong on all: certain with ten clusters, not with three."""
    for n_clusters, is_certain in ((3, False), (10, True)):
        scores = np.column_stack([np.ones(n_clusters), np.zeros(n_clusters)])
        found = rank_confidence_sets(*mean_influence(scores, np.arange(n_clusters)))
        assert list(found.high) == ([1, 2] if is_certain else [2, 2])


def test_clustered_items_widen_the_sets() -> None:
    """Items of one cluster that all agree carry the information of one item."""
    rng = np.random.default_rng(3)
    single, _ = _draw_scores(rng, [0.7, 0.55], 60, 1)
    repeated = np.repeat(single, 10, axis=0)
    honest = rank_confidence_sets(*mean_influence(repeated, np.repeat(np.arange(60), 10)))
    alone = rank_confidence_sets(*mean_influence(single, np.arange(60)))
    assert honest.critical_value == pytest.approx(alone.critical_value)
    assert list(honest.low) == list(alone.low)
    assert list(honest.high) == list(alone.high)


def test_an_item_that_was_not_run_counts_for_no_one() -> None:
    """The mean is over what ran, and the influence of the rest is 0."""
    scores = np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    means, influence = mean_influence(scores, ["a", "b", "c", "d"])
    assert means == pytest.approx([0.75, 2 / 3])
    assert influence[0, 1] == 0
    assert influence.sum(axis=0) == pytest.approx([0, 0])


def test_what_has_no_rank_is_refused() -> None:
    """No items, one cluster, numbers that are none, shapes that differ: each is an error."""
    with pytest.raises(ValueError, match="no rank"):
        mean_influence(np.array([[1.0, np.nan], [0.0, np.nan]]), [0, 1])
    with pytest.raises(ValueError, match="clusters"):
        rank_confidence_sets([0.5, 0.6], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="finite"):
        rank_confidence_sets([0.5, np.nan], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="influences"):
        rank_confidence_sets([0.5, 0.6], np.zeros((3, 3)))
