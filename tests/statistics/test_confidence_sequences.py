from __future__ import annotations

import numpy as np
import pytest

from toolmark.statistics.confidence_intervals import ratio_interval, wilson
from toolmark.statistics.confidence_sequences import betting_sequence, order_clusters


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("kind", ["single", "clusters", "unequal"])
def test_the_sequence_covers_the_truth_at_all_times_at_once(share: float, kind: str) -> None:
    # 300 streams: the standard error of a rate of 0.05 is 0.013
    rng = np.random.default_rng(4)
    n, n_missed, n_naive = 150, 0, 0
    for _ in range(300):
        sizes = {"single": np.ones(n), "clusters": np.full(n, 5.0),
                 "unequal": rng.choice([1.0, 2.0, 8.0], n)}[kind]  # fmt: skip
        own = rng.beta(share * 2, (1 - share) * 2, n) if kind != "single" else np.full(n, share)
        totals = rng.binomial(sizes.astype(int), own).astype(float)
        found = betting_sequence(totals, sizes)
        n_missed += bool(((found.low > share) | (found.high < share)).any())
        looks = [ratio_interval(totals[:k], sizes[:k], range(k)) for k in range(10, n, 10)]
        n_naive += any(low > share or high < share for low, high in looks)
    assert n_missed / 300 <= 0.05 + 3 * 0.013
    assert n_naive / 300 > 0.12  # what watching does to an interval of one look


def test_the_sequence_narrows_and_never_widens() -> None:
    rng = np.random.default_rng(1)
    values = (rng.random(800) < 0.7).astype(float)
    found = betting_sequence(values)
    assert (np.diff(found.low) >= 0).all() and (np.diff(found.high) <= 0).all()
    low, high = wilson(int(values.sum()), 800)
    assert high - low < found.high[-1] - found.low[-1] < 2.2 * (high - low)


def test_the_first_clusters_say_nothing_of_later_ones() -> None:
    rng = np.random.default_rng(2)
    values = (rng.random(60) < 0.4).astype(float)
    long, short = betting_sequence(values), betting_sequence(values[:25])
    assert (long.low[:25] == short.low).all() and (long.high[:25] == short.high).all()


@pytest.mark.parametrize(
    ("totals", "sizes"), [([2.0], [1.0]), ([-0.1], [1.0]), ([0.0], [0.0]), ([0.0], [1.0, 1.0])]
)
def test_impossible_totals_are_refused(totals: list[float], sizes: list[float]) -> None:
    with pytest.raises(ValueError, match="between"):
        betting_sequence(totals, sizes)


def test_no_clusters_have_no_sequence() -> None:
    assert len(betting_sequence([]).low) == 0


def test_the_order_depends_on_seed_and_names_alone() -> None:
    names = [f"g{k}" for k in range(50)]
    order = order_clusters(names, 3)
    assert order == order_clusters(reversed([*names, "g7"]), 3)
    assert sorted(order) == sorted(names) and order != order_clusters(names, 4)
    assert order != sorted(names)
