"""The generator and its draws are the same everywhere and fair."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import seeds


def test_draws_are_what_they_always_were() -> None:
    rng = seeds.make_rng(7, "item", 0, "purpose")
    deck = list(range(8))
    seeds.shuffle_items(rng, deck)
    drawn = (
        deck,
        [seeds.draw_below(rng, 1000) for _ in range(3)],
        seeds.draw_between(rng, 100, 999),
        seeds.sample_indices(rng, 20, 4),
        seeds.draw_one(rng, "abcdef"),
        rng.random(),
    )
    assert drawn == GOLDEN


GOLDEN = ([5, 4, 6, 7, 2, 3, 0, 1], [361, 610, 152], 715, [4, 18, 6, 10], "d", 0.5926574793729038)


def test_seed_item_repeat_and_purpose_all_matter() -> None:
    keys = [
        (1, "a", 0, "x"),
        (2, "a", 0, "x"),
        (1, "b", 0, "x"),
        (1, "a", 1, "x"),
        (1, "a", 0, "y"),
    ]
    assert len({seeds.make_rng(*key).random() for key in keys}) == len(keys)


@given(st.integers(1, 10**12), st.integers(0, 2**32))
def test_below_stays_below(n: int, seed: int) -> None:
    assert 0 <= seeds.draw_below(seeds.make_rng(seed, "", 0, ""), n) < n


def test_below_is_uniform() -> None:
    rng = seeds.make_rng(0, "", 0, "")
    counts = Counter(seeds.draw_below(rng, 6) for _ in range(60_000))
    chi2 = sum((counts[k] - 10_000) ** 2 / 10_000 for k in range(6))
    assert chi2 < 20.5  # 0.999 quantile, 5 degrees of freedom


@given(st.integers(0, 50), st.integers(0, 50), st.integers())
def test_sample_is_distinct_and_in_range(n: int, k: int, seed: int) -> None:
    rng = seeds.make_rng(seed, "", 0, "")
    if k > n:
        with pytest.raises(ValueError, match="cannot draw"):
            seeds.sample_indices(rng, n, k)
        return
    drawn = seeds.sample_indices(rng, n, k)
    assert len(set(drawn)) == k
    assert all(0 <= i < n for i in drawn)


def test_every_subset_and_order_is_equally_likely() -> None:
    rng = seeds.make_rng(3, "", 0, "")
    counts = Counter(tuple(seeds.sample_indices(rng, 4, 2)) for _ in range(24_000))
    assert len(counts) == 12
    assert sum((c - 2_000) ** 2 / 2_000 for c in counts.values()) < 31.3  # 0.999, 11 degrees
