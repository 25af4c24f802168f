"""Scores of runs as a matrix, ranked by their means as `rank` and `audit` rank runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolmark.statistics.linearisation import linearise_mean
from toolmark.statistics.run_ranking import NumberRanking, rank_numbers
from toolmark.statistics.score_columns import Columns


def rank_scores(
    scores: NDArray[np.float64], clusters: Sequence[Any] | NDArray[Any], *, draws: int = 10_000
) -> NumberRanking:
    """Rank the columns of a matrix with a row per item; nan is not run."""
    items = np.array([f"item-{i}" for i in range(len(scores))], dtype=object)
    groups = np.array([f"group-{name}" for name in clusters], dtype=object)
    nothing = np.full(len(items), "", dtype=object)
    rows = [
        Columns(
            task=items,
            item=items,
            category=nothing,
            repeat=np.zeros(len(items), dtype=np.int64),
            run=~np.isnan(values),
            correct=values == 1,
            value=values,
            cause=nothing,
            suite_cause=nothing,
            axes={"group": groups},
            parts={},
        )
        for values in scores.T
    ]
    return rank_numbers([linearise_mean(each) for each in rows], rows, draws=draws)
