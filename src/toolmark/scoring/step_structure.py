"""Structure of the steps of matched calls: coherence, purity and order (section 2.3).

All measures are computed from the matches, sorted by steps. The cost does not grow with the square
of their number, nor with the product of the numbers of steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from math import log
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.intp]


class Matches(NamedTuple):
    """Matched pairs: indices of calls and of steps, from 0, and the pair's similarity."""

    truth: Ints
    predicted: Ints
    truth_step: Ints
    predicted_step: Ints
    similarity: NDArray[np.float64]


class StepContingency:
    """The distribution of matches over pairs of a truth step and a predicted step.

    By truth step, `spread` is the number of predicted steps that match it, `undivided` its
    reciprocal and `matched` the number of matches; by predicted step, `merged` is the number of
    matches. Only pairs of steps with a match are stored, in order: `truth_steps` and
    `predicted_steps_of_pairs` are the steps, `sizes` the numbers of matches and `mass` the sums of
    similarities.
    """

    def __init__(self, matches: Matches, n_truth: int, n_predicted: int) -> None:
        key = matches.truth_step * n_predicted + matches.predicted_step
        order = key.argsort(kind="stable")
        key = key.take(order)
        new = np.ones(len(key), dtype=np.bool_)
        np.not_equal(key[1:], key[:-1], out=new[1:])
        starts = new.nonzero()[0]
        self.truth_steps, self.predicted_steps_of_pairs = np.divmod(key.take(starts), n_predicted)
        self.sizes = np.bincount(new.cumsum() - 1)
        self.mass = (
            np.add.reduceat(matches.similarity.take(order), starts)
            if len(key)
            else matches.similarity
        )
        self.spread = np.bincount(self.truth_steps, minlength=n_truth)
        self.undivided = 1 / np.maximum(self.spread, 1)
        self.matched = np.bincount(matches.truth_step, minlength=n_truth)
        self.merged = np.bincount(matches.predicted_step, minlength=n_predicted)
        self.predicted_steps = matches.predicted_step.take(order)

    def coherence(self) -> float:
        """Return the sum over matches of 1 / (predicted steps that match their truth step)."""
        return float(self.matched @ self.undivided)

    def purity(self) -> float:
        """Return 1 - H(truth step | predicted step) / ln(steps), by mass; 1 for fewer than two."""
        mass, columns = self.mass, np.bincount(self.predicted_steps_of_pairs, self.mass)
        total = float(mass.sum())
        plain = total > 0 and float(mass.min()) > 0  # thresholds <= 0 allow others
        active = np.count_nonzero(self.spread if plain else np.bincount(self.truth_steps, mass) > 0)
        if active <= 1 or total <= 0:
            return 1.0
        if not plain:
            live = (mass > 0) & (columns[self.predicted_steps_of_pairs] > 0)
            mass, share = mass[live], mass[live] / columns[self.predicted_steps_of_pairs[live]]
        else:
            share = mass / columns.take(self.predicted_steps_of_pairs)
        entropy = -float(mass @ np.log(share + 1e-12)) / total
        return min(max(1 - entropy / log(active), 0.0), 1.0)

    def order(self) -> float:
        """Return 1 - inverted / comparable pairs of matches, 1 where no pair is comparable.

        A pair is comparable if its steps differ on both sides. Pairs are counted, not enumerated.
        """
        k = len(self.predicted_steps)
        equal = self.matched @ self.matched + self.merged @ self.merged - self.sizes @ self.sizes
        comparable = (k * k - int(equal)) // 2
        return (
            1 - count_inversions(self.predicted_steps.tolist()) / comparable if comparable else 1.0
        )

    def primary_steps(self) -> list[int | None]:
        """Return for each truth step the predicted step with most mass, the first of equals."""
        best: list[int | None] = [None] * len(self.spread)
        largest_mass = [0.0] * len(best)
        for g, p, mass in zip(
            self.truth_steps.tolist(),
            self.predicted_steps_of_pairs.tolist(),
            self.mass.tolist(),
            strict=True,
        ):
            if mass > largest_mass[g]:
                best[g], largest_mass[g] = p, mass
        return best


def count_inversions(values: Iterable[int]) -> int:
    """Return the number of pairs in which the earlier value is larger.

    Each value costs a binary search and an insertion, which moves memory; for realistic numbers of
    calls this does not matter (10,000 take 3 ms).
    """
    seen: list[int] = []
    found = 0
    for before, value in enumerate(values):
        at = bisect_right(seen, value)
        found += before - at
        seen.insert(at, value)
    return found
