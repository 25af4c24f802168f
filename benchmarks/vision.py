"""How long a set of pictures takes: MFCL Vision as generated, in all eight variations.

    python benchmarks/vision.py [ITEMS]

Prints the CPU time of drawing the world, of plans and pictures, and of each variation, encoded; on
one core, with one thread. Exits 1 when 250 items in eight variations would take 3 minutes or more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from toolmark.perturb.image import picture_variations
from toolmark.suites.mfcl_vision import item_generator
from toolmark.suites.mfcl_vision.generation_parameters import GenerationParameters

ITEMS, BOUND_S = 250, 180.0
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what the work made, and the CPU time that it took in seconds."""
    start = time.process_time()
    made = work()
    return made, time.process_time() - start


def run(n: int) -> float:
    """Make n items, print what they took, and return what ITEMS would take in seconds."""
    parameters, n_bytes = GenerationParameters(), 0
    spent: dict[str, float] = dict.fromkeys(("drawn", *picture_variations.TABLE_2_VARIATIONS), 0.0)
    _, world_s = timed(partial(item_generator.world_setup, 0, parameters.distractors))
    for number in range(n):
        item, spent_s = timed(partial(item_generator.generate_item, 0, number, parameters))
        spent["drawn"] += spent_s
        for name in picture_variations.TABLE_2_VARIATIONS:
            shown, spent_s = timed(partial(item_generator.render_item, item, name))
            spent[name] += spent_s
            n_bytes += len(shown.data)
    print(f"the world, indexed: {world_s:.1f} s of CPU")
    for name, spent_s in spent.items():
        print(f"{name:12} {1000 * spent_s / n:6.0f} ms an item")
    n_variations = len(picture_variations.TABLE_2_VARIATIONS)
    print(f"{n_bytes / n / 1e6:.2f} MB an item in {n_variations} variations")
    return world_s + sum(spent.values()) / n * ITEMS


if __name__ == "__main__":
    whole_s = run(int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS)
    print(
        f"{ITEMS} items in {len(picture_variations.TABLE_2_VARIATIONS)} variations: "
        f"{whole_s:.0f} s (bar: {BOUND_S:g})"
    )
    sys.exit(whole_s >= BOUND_S)
