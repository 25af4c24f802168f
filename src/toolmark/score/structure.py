"""How the steps of matched calls lie to each other: spread, mixed, inverted (section 2.3).

All of it from the matches themselves, sorted by steps: the work does not grow with the square of
their number, nor with the product of the numbers of steps.
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
    """Matched pairs: call and step on both sides, numbered from 0, and similarity."""

    truth: Ints
    made: Ints
    g: Ints
    p: Ints
    alike: NDArray[np.float64]


class Joint:
    """How matches spread over the pairs of a truth's and a made step.

    `spread` is the number of made steps in which a truth's step is found, `undivided` one over
    it, `matched` and `merged` the matches per truth's and per made step. Of pairs of steps only
    those that hold a match are kept, in order: `g` and `p`, their number of matches `sizes` and
    likeness `mass`.
    """

    def __init__(self, matches: Matches, n_truth: int, n_made: int) -> None:
        key = matches.g * n_made + matches.p
        order = key.argsort(kind="stable")
        key = key.take(order)
        new = np.ones(len(key), dtype=np.bool_)
        np.not_equal(key[1:], key[:-1], out=new[1:])
        starts = new.nonzero()[0]
        self.g, self.p = np.divmod(key.take(starts), n_made)
        self.sizes = np.bincount(new.cumsum() - 1)
        self.mass = (
            np.add.reduceat(matches.alike.take(order), starts) if len(key) else matches.alike
        )
        self.spread = np.bincount(self.g, minlength=n_truth)
        self.undivided = 1 / np.maximum(self.spread, 1)
        self.matched = np.bincount(matches.g, minlength=n_truth)
        self.merged = np.bincount(matches.p, minlength=n_made)
        self.made = matches.p.take(order)

    def coherence(self) -> float:
        """Return the matches, each over the number of made steps its step is spread over."""
        return float(self.matched @ self.undivided)

    def purity(self) -> float:
        """Return 1 - H(truth's step | made step) / ln(steps), by mass; 1 with fewer than two."""
        mass, columns = self.mass, np.bincount(self.p, self.mass)
        total = float(mass.sum())
        plain = total > 0 and float(mass.min()) > 0  # thresholds at or below 0 let others in
        active = np.count_nonzero(self.spread if plain else np.bincount(self.g, mass) > 0)
        if active <= 1 or total <= 0:
            return 1.0
        if not plain:
            live = (mass > 0) & (columns[self.p] > 0)
            mass, share = mass[live], mass[live] / columns[self.p[live]]
        else:
            share = mass / columns.take(self.p)
        entropy = -float(mass @ np.log(share + 1e-12)) / total
        return min(max(1 - entropy / log(active), 0.0), 1.0)

    def order(self) -> float:
        """Return 1 - inverted / comparable pairs of matches, in steps that differ on both sides.

        1 where no pair is comparable. Pairs within a step are counted, not gone through.
        """
        k = len(self.made)
        equal = self.matched @ self.matched + self.merged @ self.merged - self.sizes @ self.sizes
        comparable = (k * k - int(equal)) // 2
        return 1 - inversions(self.made.tolist()) / comparable if comparable else 1.0

    def primary(self) -> list[int | None]:
        """Return the made step with most of each truth's step's mass, the first of equals."""
        best: list[int | None] = [None] * len(self.spread)
        most = [0.0] * len(best)
        for g, p, mass in zip(self.g.tolist(), self.p.tolist(), self.mass.tolist(), strict=True):
            if mass > most[g]:
                best[g], most[g] = p, mass
        return best


def inversions(values: Iterable[int]) -> int:
    """Return the number of pairs in which the earlier value is the larger.

    A binary search per value; putting it in its place moves memory, which no number of calls
    that can be matched makes felt (10,000 take 3 ms).
    """
    seen: list[int] = []
    found = 0
    for before, value in enumerate(values):
        at = bisect_right(seen, value)
        found += before - at
        seen.insert(at, value)
    return found
