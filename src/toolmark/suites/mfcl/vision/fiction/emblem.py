"""Symbols in words: "a yellow star on a blue shield", as `toolmark.draw.emblem` draws them.

The two colours contrast. No two symbols of a world hold the same words, in whatever order: a search
knows words only.
"""

from __future__ import annotations

import random

from toolmark import seeds

SHAPES = ("shield", "circle", "square", "diamond", "hexagon", "triangle")
CHARGES = (
    "star", "crescent", "anchor", "tree", "wave", "mountain", "arrow", "sun", "key", "leaf",
    "fish", "crown", "bolt", "wheel", "tower", "drop",
)  # fmt: skip
LIGHT = ("yellow", "white", "orange")
DARK = ("blue", "green", "black", "purple", "red")
_ALIKE = {("orange", "red")}
_PAIRS = tuple((light, dark) for light in LIGHT for dark in DARK if (light, dark) not in _ALIKE)


def draw(rng: random.Random, charge: str, taken: set[frozenset[str]]) -> str:
    """Draw a symbol with a charge and mark its words as taken.

    Raises ValueError where all with the charge are taken.
    """
    free = [
        (shape, pair)
        for shape in SHAPES
        for pair in _PAIRS
        if frozenset((charge, shape, *pair)) not in taken
    ]
    if not free:
        raise ValueError(f"no symbol with the charge {charge!r} is left: draw a smaller world")
    shape, pair = seeds.choice(rng, free)
    taken.add(frozenset((charge, shape, *pair)))
    ink, field = pair if seeds.below(rng, 2) else pair[::-1]
    return f"{_a(ink)} {charge} on {_a(field)} {shape}"


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
