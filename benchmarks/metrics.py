"""MultiNet's measures against one bare numpy pass over the same arrays, and their memory.

    python benchmarks/metrics.py [--rows 100000] [--rounds 20] [--many 10000000]

The bare pass is the plain formula of the family and nothing else: a confusion matrix by `bincount`;
errors of vectors of 7 numbers, and the linear and quadratic errors of 36 probabilities, by row;
texts and conversations compared by `==`, with `lower` and `split` of each text. The whole is
everything that is told of them: validity, all measures, quantiles, the baseline, the joint
table and both players'. One prediction in ten is invalid. Then each numeric family is fed --many
predictions, in chunks made on the fly, in a process of its own, whose peak of memory is told.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolmark.scoring import (
    action_errors,
    brier_errors,
    classification,
    conversation_matching,
    text_similarity,
)
from toolmark.scoring.error_statistics import GRADING_RULES

CLASSES, WIDTH = 36, 7
CHUNK = 100_000
RATIO_BAR, MEMORY_BAR_MB = 5.0, 400.0
Work = Callable[[], Any]
Numbers = NDArray[Any]


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20, help="the best of this many")
    parser.add_argument("--many", type=int, default=10_000_000)
    parser.add_argument("--child", choices=sorted(CHILDREN), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # read when numpy is loaded: start anew
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    if asked.child:
        child(asked.child, asked.many)
        return
    met = [speed(name, made, asked.rounds) for name, made in cases(asked.rows).items()]
    met += [memory(name, asked.many) for name in CHILDREN]
    sys.exit(0 if all(met) else 1)


# --- speed ------------------------------------------------------------------------------


def cases(n: int) -> dict[str, tuple[Work, Work]]:
    """Return the bare pass and the whole of each family, n predictions each."""
    rng = np.random.default_rng(n)
    truth, said = chosen(rng, n)
    wanted, moved, mean = vectors(rng, n)
    low, high = wanted.min(axis=0), wanted.max(axis=0)
    table = odds(rng, n)
    words = [f"a {number} Words, of {number % 7}." for number in range(5000)]
    words += [f"word{number}" for number in range(5000)]
    at = rng.integers(0, len(words), n)
    near = np.where(rng.random(n) < 0.3, at, rng.integers(0, len(words), n))
    texts = [words[i] for i in at], [words[i].upper() for i in near]
    talks = [[[f"f(x={i % 3})", "g()"], ["h()"]] for i in rng.integers(0, 50, n)]
    other = [talks[i] for i in rng.integers(0, n, n)]
    inside = np.where(said < 0, 0, np.minimum(said, CLASSES - 1))
    made: dict[str, tuple[Work, Work]] = {
        "classes": (
            lambda: np.bincount(truth * CLASSES + inside, minlength=CLASSES**2),
            lambda: classes(truth, said),
        ),
        "odds": (lambda: odds_bare(truth, table), lambda: odds_whole(truth, table)),
    }
    for rule in GRADING_RULES:
        made[f"vectors, {rule}"] = (
            lambda: vectors_bare(wanted, moved),
            partial(
                action_errors.measure_actions,
                wanted,
                moved,
                baseline=mean,
                low=low,
                high=high,
                rule=rule,
            ),
        )
    made["texts"] = lambda: texts_bare(*texts), lambda: text_similarity.measure_texts(*texts)
    made["calls"] = (
        lambda: calls_bare(talks, other),
        lambda: conversation_matching.measure_conversations(talks, other),
    )
    return made


def classes(truth: Numbers, said: Numbers) -> Any:
    """Tell everything of classes: as said, and clipped."""
    table = classification.tally_predictions(truth, said, CLASSES)
    whole = (
        classification.exact_match_rates(table),
        classification.class_measures(table),
        classification.confusion_matrix(table),
    )
    return (
        whole,
        classification.classification_measures(table),
        classification.classification_measures(classification.clip_tally(table)),
    )


def odds_bare(truth: Numbers, table: Numbers) -> Any:
    """Compute both errors by row."""
    apart = table.copy()
    apart[np.arange(len(truth)), truth] -= 1
    return np.abs(apart).sum(axis=1), (apart * apart).sum(axis=1)


def odds_whole(truth: Numbers, table: Numbers) -> Any:
    """Tell everything of the joint action, and of both players."""
    made, valid = brier_errors.parse_table(table, CLASSES)
    found = []
    parts = zip(
        classification.split_joint_actions(truth), brier_errors.player_marginals(made), strict=True
    )
    for own, part in ((truth, made), *parts):
        rows = brier_errors.score_table(own, part, valid)
        errors = brier_errors.BrierAccumulator()
        errors.feed(rows)
        found.append(
            (
                errors.measures(),
                classification.measure_labels(own, rows.predicted_classes, part.shape[1]),
            )
        )
    return found


def vectors_bare(wanted: Numbers, moved: Numbers) -> Any:
    """Compute both errors by row, and their means."""
    apart = wanted - moved
    rows = np.abs(apart).mean(axis=1), (apart * apart).mean(axis=1)
    return rows, [each.mean() for each in rows]


def texts_bare(truth: list[str], said: list[str]) -> int:
    """Compare texts in lower case, blanks made one."""
    pairs = zip(truth, said, strict=True)
    return sum(" ".join(a.lower().split()) == " ".join(b.lower().split()) for a, b in pairs)


def calls_bare(truth: Any, said: Any) -> int:
    """Compare each turn."""
    pairs = zip(truth, said, strict=True)
    return sum(sum(a == b for a, b in zip(one, two, strict=True)) for one, two in pairs)


def speed(name: str, works: tuple[Work, Work], rounds: int) -> bool:
    """Print both times and their ratio, the best of many turn about."""
    best = [float("inf")] * 2
    for _ in range(rounds):
        for at, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[at] = min(best[at], time.perf_counter() - start)
    bare, whole = best
    print(
        f"{name:20} bare {bare * 1e3:8.2f} ms, whole {whole * 1e3:8.2f} ms, ratio "
        f"{whole / bare:5.2f}; bar {RATIO_BAR:g}",
        flush=True,
    )
    return whole / bare <= RATIO_BAR


# --- predictions ------------------------------------------------------------------------


def chosen(rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers]:
    """Return truths and what was said, one in ten out of range."""
    truth = rng.integers(0, CLASSES, n)
    said = np.where(rng.random(n) < 0.3, truth, rng.integers(0, CLASSES, n))
    wild = rng.random(n) < 0.1
    said[wild] = rng.integers(-50, 0, np.count_nonzero(wild))
    return truth, said


def vectors(rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return truths, predictions, one in ten of them with a nan, and the mean."""
    wanted = rng.standard_normal((n, WIDTH))
    moved = wanted + rng.standard_normal((n, WIDTH)) * 0.3
    moved[rng.random(n) < 0.1, 0] = np.nan
    return wanted, moved, np.zeros(WIDTH)


def odds(rng: np.random.Generator, n: int) -> Numbers:
    """Return probabilities, one row in ten of another sum."""
    table = rng.random((n, CLASSES))
    table /= table.sum(axis=1, keepdims=True)
    table[rng.random(n) < 0.1] *= 1.5
    return table


# --- memory -----------------------------------------------------------------------------


def many_classes(rng: np.random.Generator, sizes: list[int]) -> Any:
    """Feed classes."""
    table = classification.tally_predictions([], [], CLASSES)
    for n in sizes:
        table += classification.tally_predictions(*chosen(rng, n), CLASSES)
    return classification.classification_measures(table)["micro_f1"]


def many_vectors(rng: np.random.Generator, sizes: list[int]) -> Any:
    """Feed vectors, with a baseline."""
    stream = action_errors.ErrorStream(baseline=np.zeros(WIDTH))
    for n in sizes:
        stream.feed(*vectors(rng, n)[:2])
    return stream.measures()["quantile_filtered_rel_mae_pairwise"]


def many_odds(rng: np.random.Generator, sizes: list[int]) -> Any:
    """Feed probabilities."""
    errors = brier_errors.BrierAccumulator()
    for n in sizes:
        errors.feed(brier_errors.score_rows(rng.integers(0, CLASSES, n), odds(rng, n), CLASSES))
    return errors.measures()["mae"]


CHILDREN: dict[str, Callable[[np.random.Generator, list[int]], Any]] = {
    "classes": many_classes,
    "vectors": many_vectors,
    "odds": many_odds,
}


def child(name: str, many: int) -> None:
    """Feed chunks of growing size, and print the peak of memory."""
    sizes: list[int] = []
    at = 1000
    while sum(sizes) < many:
        sizes.append(min(at, many - sum(sizes)))
        at = min(at * 2, CHUNK)
    start = time.perf_counter()
    value = CHILDREN[name](np.random.default_rng(1), sizes)
    print(
        json.dumps({"peak_mb": peak_mb(), "seconds": time.perf_counter() - start, "value": value})
    )


def peak_mb() -> float:
    """Return this process's peak; the usage that is counted for it includes its parent's."""
    status = Path("/proc/self/status")
    if status.is_file():
        lines = (line.split() for line in status.read_text().splitlines())
        return next(int(line[1]) for line in lines if line[0] == "VmHWM:") / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(name: str, many: int) -> bool:
    """Run a child and print its peak."""
    command = [sys.executable, __file__, "--child", name, "--many", str(many)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    print(
        f"{name:20} {many:,} predictions: peak {found['peak_mb']:.0f} MB in "
        f"{found['seconds']:.1f} s, making them included; bar {MEMORY_BAR_MB:g} MB",
        flush=True,
    )
    return bool(found["peak_mb"] < MEMORY_BAR_MB)


if __name__ == "__main__":
    main()
