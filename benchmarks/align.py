"""Alignment metrics against their bare core, in one run: ratios, on one core.

    python benchmarks/align.py [--tools 10] [--rounds 200]

The core is what no implementation can do without: one matrix product of the calls' vectors (384
numbers each), and per tool its block of the product and one `linear_sum_assignment` of it. The
whole is that product and `trajectory` on it, with every measure. Predictions are the truth's calls
a few places out of order, one in ten of them lost, vectors disturbed. Texts are left out on both
sides, and told apart: `texts` is the writing of them. Published truths are scored against
themselves in all readings, once their texts are encoded (by a hash here: what is measured is what
comes after); a second scoring is counted to encode nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from toolmark.core.sentence_encoder import CachingEncoder, VectorStore
from toolmark.scoring import alignment

READINGS: tuple[alignment.GradingRule, ...] = get_args(alignment.GradingRule)
TRUTHS = Path(__file__).parents[1] / "tests/data/m3/test_mcp_GT.json.gz"
WIDTH = 384
CORE_BAR, GROWTH_BAR, TRUTHS_BAR_S = 3.0, 20.0, 1.0


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=10, help="among which the calls are spread")
    parser.add_argument("--rounds", type=int, default=200, help="the best of this many")
    asked = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # read when numpy is loaded: start anew
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    met = [sizes(reading, asked.tools, asked.rounds) for reading in READINGS]
    met.append(published())
    sys.exit(0 if all(met) else 1)


def sizes(reading: alignment.GradingRule, tools: int, rounds: int) -> bool:
    """Print cost and ratio at 100 and 1,000 calls."""
    times, ratios = [], []
    for n in (100, 1000):
        truth, made, left, right = case(n, tools)
        table = alignment.cosine_matrix(left, right)
        blocks = buckets(truth, made)

        def core(
            left: Any = left, right: Any = right, blocks: Any = blocks
        ) -> list[tuple[Any, Any]]:
            product = left @ right.T
            return [linear_sum_assignment(1 - product[rows, columns]) for rows, columns in blocks]

        def metrics(truth: Any = truth, made: Any = made, table: Any = table) -> Any:
            return alignment.align_trajectory(truth, made, table, rule=reading)

        def texts(sides: Any = (truth, made)) -> list[str]:
            return [
                text for side in sides for step in side for text in alignment.step_call_texts(step)
            ]

        def multiplied(left: Any = left, right: Any = right) -> Any:
            return left @ right.T

        times_over = max(rounds * 100 // n, 5)
        bare, product, own = best((core, multiplied, metrics), times_over)
        (written,) = best((texts,), times_over)
        times.append(own)
        ratios.append((product + own) / bare)
        print(
            f"{reading:9}{n:6} calls: core {bare * 1e3:7.3f} ms (product {product * 1e3:.3f}), "
            f"metrics {own * 1e3:7.3f} ms; (product + metrics) / core {ratios[-1]:5.2f}; "
            f"texts {written * 1e3:.2f} ms"
        )
    growth = times[1] / times[0]
    print(f"{reading:9} t(1000)/t(100) {growth:.1f}; bars {CORE_BAR:g} and {GROWTH_BAR:g}")
    return max(ratios) <= CORE_BAR and growth < GROWTH_BAR


def case(n: int, tools: int) -> tuple[Any, Any, NDArray[np.float32], NDArray[np.float32]]:
    """Return truth, prediction and the vectors of both sides' calls."""
    rng = np.random.default_rng(n)
    names = [f"server/tool{tool}" for tool in rng.integers(0, tools, n)]
    order = np.argsort(np.arange(n) + rng.normal(0, 3, n))[rng.random(n) > 0.1]
    left = rng.standard_normal((n, WIDTH), dtype=np.float32)
    right = left[order] + rng.standard_normal((len(order), WIDTH), dtype=np.float32) * 0.5
    made = [names[at] for at in order]
    return stepped(names, rng), stepped(made, rng), unit(left), unit(right)


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows at length 1."""
    scaled: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def stepped(names: Sequence[str], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the calls in steps of one to four."""
    steps, at = [], 0
    while at < len(names):
        wide = int(rng.integers(1, 5))
        calls = [{"name": name, "arguments": {"query": name}} for name in names[at : at + wide]]
        steps.append({"calls": calls})
        at += wide
    return steps


def buckets(truth: Any, made: Any) -> list[Any]:
    """Return rows and columns of the block of each tool."""
    sides = [[call["name"] for step in side for call in step["calls"]] for side in (truth, made)]
    names = dict.fromkeys(name for name in sides[0] if name in set(sides[1]))
    return [
        np.ix_(*([at for at, own in enumerate(side) if own == name] for side in sides))
        for name in names
    ]


def best(works: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the best seconds of each, taken turn about."""
    found = [float("inf")] * len(works)
    for _ in range(rounds):
        for at, work in enumerate(works):
            start = time.perf_counter()
            work()
            found[at] = min(found[at], time.perf_counter() - start)
    return found


def published() -> bool:
    """Print the seconds of scoring all published truths, and what a second scoring encodes."""
    truths = {
        entry["id"]: entry["steps"] for entry in json.loads(gzip.decompress(TRUTHS.read_bytes()))
    }
    every = [
        text
        for steps in truths.values()
        for step in steps
        for text in alignment.step_call_texts(step)
    ]
    encoded: list[str] = []

    def hashed(texts: Sequence[str]) -> NDArray[np.float32]:
        encoded.extend(texts)
        seeds = [int.from_bytes(text.encode()[:8].ljust(8), "big") for text in texts]
        return np.stack([np.random.default_rng(seed).random(WIDTH, np.float32) for seed in seeds])

    with tempfile.TemporaryDirectory() as folder:
        rack = VectorStore(Path(folder, "rows.sqlite"))
        CachingEncoder(hashed, rack)(every)
        first = len(encoded)
        start = time.perf_counter()
        encode = CachingEncoder(hashed, rack)  # as another process has it
        encode(every)
        read = time.perf_counter() - start

        def similar(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
            return alignment.cosine_matrix(encode(one), encode(other))

        start = time.perf_counter()
        for reading in READINGS:
            alignment.aggregate_alignments(
                alignment.align_trajectory(steps, steps, similar, rule=reading)
                for steps in truths.values()
            )
        took = time.perf_counter() - start
    print(
        f"{len(truths)} published truths, {len(READINGS)} readings: {took:.2f} s (bar "
        f"{TRUTHS_BAR_S:g}), and {read:.2f} s to read {first} kept vectors; the second scoring "
        f"encoded {len(encoded) - first}"
    )
    return took < TRUTHS_BAR_S and len(encoded) == first


if __name__ == "__main__":
    main()
