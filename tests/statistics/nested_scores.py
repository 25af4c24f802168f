"""Columns of simulated scores: items with repeats, in groups, in categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolmark.statistics.score_columns import Columns, Numbers


def make_columns(
    values: NDArray[np.float64],
    *,
    groups: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
) -> Columns:
    """Return rows of values of shape (items, tasks, repeats); groups and categories are by item."""
    n_items = len(values)
    item, task, repeat = (each.ravel() for each in np.indices(values.shape))
    empty = np.full(values.size, "", dtype=object)
    flat: Numbers = values.ravel().astype(float)
    names = np.array([f"i{i}" for i in range(n_items)], dtype=object)

    def by_item(words: Sequence[str] | None) -> NDArray[np.object_]:
        return empty if words is None else np.array(words, dtype=object)[item]

    return Columns(
        task=np.array([f"i{i}-{t}" for i, t in zip(item, task, strict=True)], dtype=object),
        item=names[item],
        category=by_item(categories),
        repeat=repeat.astype(np.int64),
        run=np.ones(len(flat), dtype=bool),
        correct=flat == 1,
        value=flat,
        cause=empty,
        suite_cause=empty,
        axes={} if groups is None else {"group": by_item(groups)},
        parts={},
    )


def draw_shares(
    rng: np.random.Generator, n_groups: int, size: int, share: float, alike: float
) -> tuple[NDArray[np.float64], list[str]]:
    """Return right and wrong answers of groups with beta rates, and the group of each item."""
    a, b = share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike
    rates = rng.beta(a, b, n_groups)
    values = (rng.random((n_groups, size)) < rates[:, None]).astype(float)
    groups = [f"g{g}" for g in range(n_groups) for _ in range(size)]
    return values.reshape(-1, 1, 1), groups
