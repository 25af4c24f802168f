"""The only source of randomness for tasks.

The generator is the Mersenne Twister of `random.Random`. Its seed is an integer: the SHA-256 of
what is drawn for. Draws use only `random()` and `getrandbits()`, whose results are the same on
every machine and in every Python version. The functions below make the draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import MutableSequence, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def make_rng(seed: int, item: str, repeat: int, purpose: str) -> Random:
    """Return the generator for one purpose within one (item, repeat) of a seed."""
    key = f"{seed}\x1f{item}\x1f{repeat}\x1f{purpose}".encode()
    return Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))


def draw_below(rng: Random, n: int) -> int:
    """Draw uniformly from 0..n-1 by rejection; n must be positive."""
    if n <= 0:
        raise ValueError(f"nothing to draw from: n = {n}")
    bits = n.bit_length()
    while (k := rng.getrandbits(bits)) >= n:
        pass
    return k


def draw_between(rng: Random, low: int, high: int) -> int:
    """Draw uniformly from low..high, both included."""
    return low + draw_below(rng, high - low + 1)


def draw_one(rng: Random, options: Sequence[T]) -> T:
    """Draw one of the options."""
    return options[draw_below(rng, len(options))]


def shuffle_items(rng: Random, items: MutableSequence[T]) -> None:
    """Shuffle in place (Fisher-Yates, from the end)."""
    for i in range(len(items) - 1, 0, -1):
        j = draw_below(rng, i + 1)
        items[i], items[j] = items[j], items[i]


def sample_indices(rng: Random, n: int, k: int) -> list[int]:
    """Draw k distinct numbers of 0..n-1 in random order (Floyd's method, then shuffled)."""
    if not 0 <= k <= n:
        raise ValueError(f"cannot draw {k} of {n}")
    chosen: dict[int, None] = {}
    for j in range(n - k, n):
        i = draw_below(rng, j + 1)
        chosen[j if i in chosen else i] = None
    picked = list(chosen)
    shuffle_items(rng, picked)
    return picked
