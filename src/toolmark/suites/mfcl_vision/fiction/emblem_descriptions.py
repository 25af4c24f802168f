"""Descriptions of symbols, for example "a yellow star on a blue shield".

`toolmark.generation.drawing.emblem` draws them. The two colours contrast. No two symbols of a world
have the same words in any order, because a search compares words only.
"""

from __future__ import annotations

import random

from toolmark.core import seeds

SHAPES = ("shield", "circle", "square", "diamond", "hexagon", "triangle")
CHARGES = (
    "star", "crescent", "anchor", "tree", "wave", "mountain", "arrow", "sun", "key", "leaf",
    "fish", "crown", "bolt", "wheel", "tower", "drop",
)  # fmt: skip
LIGHT = ("yellow", "white", "orange")
DARK = ("blue", "green", "black", "purple", "red")
_SIMILAR_COLOURS = {("orange", "red")}
_COLOUR_PAIRS = tuple(
    (light, dark) for light in LIGHT for dark in DARK if (light, dark) not in _SIMILAR_COLOURS
)


def draw_description(rng: random.Random, charge: str, taken: set[frozenset[str]]) -> str:
    """Return a description of a symbol with this charge, and add its words to `taken`.

    Raises ValueError if all descriptions with the charge are taken.
    """
    available = [
        (shape, pair)
        for shape in SHAPES
        for pair in _COLOUR_PAIRS
        if frozenset((charge, shape, *pair)) not in taken
    ]
    if not available:
        raise ValueError(f"no symbol with the charge {charge!r} is left: draw a smaller world")
    shape, pair = seeds.draw_one(rng, available)
    taken.add(frozenset((charge, shape, *pair)))
    ink, field = pair if seeds.draw_below(rng, 2) else pair[::-1]
    return f"{_with_article(ink)} {charge} on {_with_article(field)} {shape}"


def _with_article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
