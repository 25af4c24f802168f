"""Laws of the analysis of items by many runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from toolmark.statistics.item_analysis import FEWEST_VECTORS, analyse_items


def _draw_scores(n_items: int, n_runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 0/1 scores by the two-parameter model, and the difficulty of each item."""
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0, 1, n_runs), rng.normal(0, 1, n_items)
    chance = expit(1.5 * (ability[None, :] - difficulty[:, None]))
    return (rng.random((n_items, n_runs)) < chance).astype(float), difficulty


def test_a_flipped_reference_is_found() -> None:
    """Items whose scores are inverted discriminate the wrong way, and hardly any other does."""
    scores, _ = _draw_scores(300, 70, 1)
    scores[:6] = 1 - scores[:6]
    found = analyse_items(scores)
    assert found.discriminates_wrongly[:6].sum() >= 5
    assert found.discriminates_wrongly[6:].mean() <= 0.01
    assert (found.slope[:6] < 0).all()


def test_difficulty_and_location_follow_the_planted_difficulty() -> None:
    """Both rise with it; the slope is fitted only from fifty runs on."""
    scores, difficulty = _draw_scores(200, 80, 2)
    found = analyse_items(scores)
    assert np.corrcoef(found.difficulty, difficulty)[0, 1] > 0.9
    inner = np.abs(difficulty) < 1.5
    assert np.corrcoef(found.location[inner], difficulty[inner])[0, 1] > 0.85
    few = analyse_items(scores[:, : FEWEST_VECTORS - 1])
    assert np.isnan(few.slope).all()
    assert np.isfinite(few.discrimination).any()


def test_discrimination_is_the_correlation_with_all_other_items() -> None:
    """The item itself is not part of the rest."""
    scores, _ = _draw_scores(20, 30, 3)
    found = analyse_items(scores)
    rest = np.delete(scores, 4, axis=0).mean(axis=0)
    assert found.discrimination[4] == pytest.approx(np.corrcoef(scores[4], rest)[0, 1])


def test_items_that_all_runs_answer_alike_have_no_discrimination() -> None:
    """Nothing is claimed about them."""
    scores, _ = _draw_scores(20, 30, 4)
    scores[0], scores[1] = 1.0, 0.0
    found = analyse_items(scores)
    assert np.isnan(found.discrimination[:2]).all()
    assert not found.discriminates_wrongly[:2].any()
    assert list(found.difficulty[:2]) == [0.0, 1.0]


def test_scores_that_are_none_are_refused() -> None:
    """An item without a score, and scores out of range."""
    with pytest.raises(ValueError, match="without any score"):
        analyse_items(np.array([[np.nan, np.nan], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="within"):
        analyse_items(np.array([[0.0, 2.0]]))
