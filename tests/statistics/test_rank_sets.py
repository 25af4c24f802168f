"""Laws of confidence sets for ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from tests.statistics.ranked_scores import rank_scores

from toolmark.statistics.rank_sets import rank_confidence_sets


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
    for _ in range(300):
        scores, clusters = _draw_scores(rng, shares, 120, 2)
        found = rank_scores(scores, clusters, draws=1500).sets
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
    few = rank_scores(scores[:100], clusters[:100]).sets
    many = rank_scores(scores, clusters).sets
    for found in (few, many):
        assert (found.low <= found.rank).all()
        assert (found.rank <= found.high).all()
    assert (many.high - many.low).sum() <= (few.high - few.low).sum()
    assert list(many.rank) == [1, 2, 3, 4]


def test_equal_runs_share_all_their_places() -> None:
    """Runs with the same scores cannot be told apart, and have one rank."""
    column = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 1, 0])
    found = rank_scores(np.column_stack([column] * 3), np.arange(10)).sets
    assert list(found.rank) == [1, 1, 1]
    assert list(found.low) == [1, 1, 1]
    assert list(found.high) == [3, 3, 3]
    assert list(found.wins) == [0, 0, 0]


def test_a_difference_without_variance_counts_from_ten_clusters_on() -> None:
    """Right on all items against wrong on all: certain with ten clusters, not with three."""
    for n_clusters, is_certain in ((3, False), (10, True)):
        scores = np.column_stack([np.ones(n_clusters), np.zeros(n_clusters)])
        found = rank_scores(scores, np.arange(n_clusters)).sets
        assert list(found.high) == ([1, 2] if is_certain else [2, 2])


def test_clustered_items_widen_the_sets() -> None:
    """Items of one cluster that all agree carry the information of one item."""
    rng = np.random.default_rng(3)
    single, _ = _draw_scores(rng, [0.7, 0.55], 60, 1)
    repeated = np.repeat(single, 10, axis=0)
    honest = rank_scores(repeated, np.repeat(np.arange(60), 10)).sets
    alone = rank_scores(single, np.arange(60)).sets
    assert honest.critical_value == pytest.approx(alone.critical_value)
    assert list(honest.low) == list(alone.low)
    assert list(honest.high) == list(alone.high)


def test_an_item_that_was_not_run_counts_for_no_one() -> None:
    """The mean is over what ran, and the influence of the rest is 0."""
    scores = np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    found = rank_scores(scores, ["a", "b", "c", "d"])
    assert found.values == pytest.approx([0.75, 2 / 3])
    assert found.influence[0, 1] == 0
    assert found.influence.sum(axis=0) == pytest.approx([0, 0])


def test_runs_that_are_equal_but_for_a_rounding_are_tied_and_none_wins() -> None:
    """Sums of the same tenths in another order differ in the last digit, in every group alike."""
    tenths = np.array([0.1, 0.2, 0.3])
    one, other = np.tile(tenths, 12), np.tile(tenths[::-1], 12)
    assert one[:3].sum() != other[:3].sum()
    worse = np.concatenate([tenths * 0.5] * 11 + [np.zeros(3)])
    found = rank_scores(np.column_stack([one, other, worse]), np.repeat(np.arange(12), 3)).sets
    assert list(found.rank) == [1, 1, 3]
    assert list(found.wins) == [1, 1, 0]
    assert (found.low[0], found.high[0]) == (found.low[1], found.high[1]) == (1, 2)


@pytest.mark.parametrize(
    ("n_groups", "size", "warned"),
    [(19, 5, "19 groups"), (20, 5, ""), (19, 1, "19 items"), (20, 1, "")],
)
def test_few_groups_are_warned_of(n_groups: int, size: int, warned: str) -> None:
    """Below twenty groups, or single items, a ranking has a warning that counts them."""
    scores = (np.random.default_rng(2).random((n_groups * size, 3)) < 0.5).astype(float)
    found = rank_scores(scores, np.repeat(np.arange(n_groups), size), draws=100)
    assert bool(found.warning) == bool(warned)
    assert warned in found.warning


def test_what_has_no_rank_is_refused() -> None:
    """One cluster, numbers that are none, shapes that differ: each is an error."""
    with pytest.raises(ValueError, match="clusters"):
        rank_confidence_sets([0.5, 0.6], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="finite"):
        rank_confidence_sets([0.5, np.nan], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="influences"):
        rank_confidence_sets([0.5, 0.6], np.zeros((3, 3)))
