"""Which similarity means "the same"? Every threshold held against pairs that people labelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import DataError, UsageError
from toolmark.report.tables import plural
from toolmark.runs.jsonl import records
from toolmark.score import align
from toolmark.types import Chart, Estimate, Record, Series, Table

Numbers: TypeAlias = NDArray[np.float64]
Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

THRESHOLDS = tuple(round(0.40 + 0.01 * i, 2) for i in range(56))  # 0.40 to 0.95
SURE = 0.95  # the precision from which a match is called strong
DRAWS = 2000
FEW = 20  # pairs of a kind below which a reader is warned
_COARSE = 5  # every fifth threshold is told and drawn
_CELLS = 2**21  # of one block of bootstrap draws: bounds memory


class Pair(Record, frozen=True, kw_only=True):
    """A line of the file: two texts or two objects of call arguments, or their similarity."""

    same: bool
    a: Any = None
    b: Any = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """What one threshold does to the pairs; nan where nothing is called the same."""

    threshold: float
    precision: float
    recall: float
    f1: float
    youden: float


@dataclass(frozen=True, slots=True)
class Best:
    """A chosen threshold with its bootstrap interval, and what it reaches with its own.

    A threshold fits that reaches more than nothing; `threshold` has no value where none does, and
    none at all in some draws: `found` is the share of draws in which one does.
    """

    name: str
    threshold: Estimate
    reached: Estimate
    found: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """All thresholds, and the best by each rule."""

    n: int
    n_same: int
    levels: tuple[Level, ...]
    best: tuple[Best, ...]


def read(path: Path) -> list[Pair]:
    """Read labelled pairs. Raises UsageError for no file, DataError with file and line for none."""
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    found = list(records(path, Pair, whole=True))
    for number, pair in enumerate(found, 1):
        if pair.similarity is not None and not -1 <= pair.similarity <= 1:
            raise DataError(f"{path}, line {number}: similarity must be within [-1, 1]")
        if pair.similarity is None and (pair.a is None or pair.b is None):
            raise DataError(f"{path}, line {number}: expected a and b, or similarity")
    n_same = sum(pair.same for pair in found)
    if n_same in (0, len(found)):
        raise UsageError(
            f"{path}: {plural(len(found), 'pair')}, {n_same} of them the same; "
            "a threshold can only be found between pairs of both kinds"
        )
    return found


def similarities(pairs: Sequence[Pair], encoder: Encoder | None) -> Numbers:
    """Return the similarity of every pair: as given, or by the encoder as the metric has it.

    An encoder, where there is one, is asked about every pair that has texts, all at once; call
    arguments are written as the metric writes them. Raises UsageError when a pair has neither.
    """
    known = np.array([np.nan if p.similarity is None else p.similarity for p in pairs])
    if encoder is not None:
        worded = [i for i, p in enumerate(pairs) if p.a is not None and p.b is not None]
        texts = [_words(side) for i in worded for side in (pairs[i].a, pairs[i].b)]
        rows = encoder(texts) if texts else np.zeros((0, 1), dtype=np.float32)
        for at, i in enumerate(worded):
            known[i] = align.cosine(rows[2 * at : 2 * at + 1], rows[2 * at + 1 : 2 * at + 2])[0, 0]
    if np.isnan(known).any():
        raise UsageError("pairs without similarity need an encoder: name one with --encoder")
    return known


def _words(side: Any) -> str:
    return side if isinstance(side, str) else align.text(side)


def sweep(similarity: Numbers, same: NDArray[np.bool_], *, seed: int = 0) -> Sweep:
    """Hold every threshold against the labels; bootstrap intervals draw whole pairs.

    A pair is called the same from the threshold on. Weak is the threshold of greatest F1, strong
    the lowest one not below it that is right for 95 % of what it calls the same.
    """
    called = similarity[None, :] >= np.array(THRESHOLDS)[:, None]
    weights = np.ones((1, len(same)))
    levels = _levels(*_counts(called, same, weights))
    drawn = _draw(called, same, seed)
    return Sweep(
        n=len(same),
        n_same=int(same.sum()),
        levels=tuple(
            Level(t, *(float(column[0, i]) for column in levels)) for i, t in enumerate(THRESHOLDS)
        ),
        best=tuple(_best(name, rule, levels, drawn) for name, rule in _RULES.items()),
    )


_Levels: TypeAlias = tuple[Numbers, Numbers, Numbers, Numbers]


def _counts(
    called: NDArray[np.bool_], same: NDArray[np.bool_], weights: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Return hits and false alarms per (draw, threshold), and the pairs that are the same."""
    hits = weights @ (called & same).T.astype(float)
    alarms = weights @ (called & ~same).T.astype(float)
    return hits, alarms, np.stack([weights @ same, weights @ ~same], axis=1)


def _levels(hits: Numbers, alarms: Numbers, totals: Numbers) -> _Levels:
    """Return precision, recall, F1 and Youden's J, each per (draw, threshold)."""
    n_same, n_other = totals[:, :1], totals[:, 1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = hits / (hits + alarms)
        recall = hits / n_same
        f1 = 2 * hits / (hits + alarms + n_same)
        youden = recall - alarms / n_other
    return precision, recall, f1, youden


def _draw(called: NDArray[np.bool_], same: NDArray[np.bool_], seed: int) -> _Levels:
    """Return the levels of resampled pairs; draws without pairs of both kinds are drawn over."""
    rng = np.random.default_rng(seed)
    n = len(same)
    made: list[_Levels] = []
    left = DRAWS
    while left:
        rows = min(left, max(1, _CELLS // n))
        weights = rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(float)
        both = (weights @ same > 0) & (weights @ ~same > 0)
        made.append(_levels(*_counts(called, same, weights[both])))
        left -= int(both.sum())
    precision, recall, f1, youden = (np.concatenate(parts) for parts in zip(*made, strict=True))
    return precision, recall, f1, youden


def _top(values: Numbers) -> NDArray[np.int64]:
    """Return the threshold of the greatest value per draw; of several, the middle one."""
    best = values >= np.nanmax(values, axis=1, keepdims=True) - 1e-12
    middle = (best.sum(axis=1) + 1) // 2
    at: NDArray[np.int64] = np.argmax(np.cumsum(best, axis=1) == middle[:, None], axis=1)
    return at


def _weak(levels: _Levels) -> tuple[NDArray[np.int64], Numbers]:
    return _best_of(levels[2])


def _youden(levels: _Levels) -> tuple[NDArray[np.int64], Numbers]:
    return _best_of(levels[3])


def _best_of(values: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """Return -1 where the greatest value is none above that of calling nothing the same."""
    at = _top(values)
    reached = _picked(values, at)
    fits = reached > 1e-12
    return np.where(fits, at, -1), np.where(fits, reached, np.nan)


def _strong(levels: _Levels) -> tuple[NDArray[np.int64], Numbers]:
    """Return -1 where no threshold is precise enough."""
    precision = levels[0]
    late = np.arange(precision.shape[1])[None, :] >= _top(levels[2])[:, None]
    sure = late & (np.nan_to_num(precision) >= SURE)
    at = np.where(sure.any(axis=1), np.argmax(sure, axis=1), -1)
    return at, np.where(at < 0, np.nan, _picked(precision, at))


def _picked(values: Numbers, at: NDArray[np.int64]) -> Numbers:
    return values[np.arange(len(values)), at]


_Rule: TypeAlias = Callable[[_Levels], tuple[NDArray[np.int64], Numbers]]
_RULES: dict[str, _Rule] = {
    "weak: greatest F1": _weak,
    "greatest Youden’s J": _youden,
    f"strong: precision from {SURE:.2f}": _strong,
}


def _best(name: str, rule: _Rule, levels: _Levels, drawn: _Levels) -> Best:
    (at,), (reached,) = rule(levels)
    ats, values = rule(drawn)
    found = ats >= 0
    if at < 0:
        missing = Estimate(name=name)
        return Best(name, missing, missing, float(found.mean()))
    low, high = np.quantile(np.array(THRESHOLDS)[ats[found]], (0.025, 0.975))
    ends = np.quantile(values[found], (0.025, 0.975))
    threshold = Estimate(
        name=name, value=THRESHOLDS[at], low=float(low), high=float(high), n=len(found)
    )
    worth = Estimate(
        name=name, value=float(reached), low=float(ends[0]), high=float(ends[1]), n=len(found)
    )
    return Best(name, threshold, worth, float(found.mean()))


# --- what is told -----------------------------------------------------------------------


def chosen(found: Sweep) -> Table:
    """Return the table of the best thresholds."""
    return Table(
        title="Best thresholds [95 % interval]",
        head=("rule", "threshold", "it reaches"),
        rows=tuple((best.name, _told(best.threshold), _told(best.reached)) for best in found.best),
        note=(
            f"{plural(found.n, 'pair')}, {found.n_same} of them the same. Intervals are of the "
            f"bootstrap over pairs, {DRAWS} draws; of equally good thresholds the middle one. "
            + " ".join(_doubts(found))
        ),
    )


def _doubts(found: Sweep) -> Iterator[str]:
    if min(found.n_same, found.n - found.n_same) < FEW:
        yield f"Few pairs: below {FEW} of each kind a threshold is hardly more than a guess."
    for made in found.best:
        if made.threshold.value is None:
            yield f"No threshold meets “{made.name}”: none is recommended."
        elif made.found < 1:
            n = round(DRAWS * (1 - made.found))
            yield f"In {n} of the draws no threshold met “{made.name}”."
    for made in found.best[:2]:  # of the strong one the lowest is wanted, wherever it lies
        if made.threshold.value in (THRESHOLDS[0], THRESHOLDS[-1]):
            yield (
                f"“{made.name}” lies at the end of the range, {made.threshold.value:.2f}: "
                "a better one may lie outside."
            )


def _told(estimate: Estimate) -> str | None:
    if estimate.value is None:
        return None
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def table(found: Sweep, *, every: int = _COARSE) -> Table:
    """Return the table of every so many thresholds."""
    return Table(
        title="By threshold",
        head=("threshold", "precision", "recall", "F1", "Youden’s J"),
        rows=tuple(
            (
                f"{made.threshold:.2f}",
                *map(_two, (made.precision, made.recall, made.f1, made.youden)),
            )
            for made in found.levels[::every]
        ),
    )


def _two(value: float) -> str | None:
    return None if np.isnan(value) else f"{value:.3f}"


def chart(found: Sweep) -> Chart:
    """Return the four curves over the threshold."""
    levels = found.levels[::_COARSE]
    x = tuple(made.threshold for made in levels)
    curves = {
        "precision": tuple(made.precision for made in levels),
        "recall": tuple(made.recall for made in levels),
        "F1": tuple(made.f1 for made in levels),
        "Youden’s J": tuple(made.youden for made in levels),
    }
    return Chart(
        title="What a threshold does",
        kind="line",
        series=tuple(Series(name=name, x=x, y=y) for name, y in curves.items()),
        x_label="called the same from this similarity on",
        y_label="share",
    )


def spread(similarity: Numbers, same: NDArray[np.bool_]) -> Chart:
    """Return how many pairs of each kind there are by similarity, in steps of 0.05."""
    low = min(0.4, float(np.floor(similarity.min() * 20)) / 20)
    edges = np.round(np.arange(low, 1.0 + 1e-9, 0.05), 2)
    ticks = tuple(f"{edge:.2f}" for edge in edges[:-1])
    x = tuple(float(i) for i in range(len(ticks)))
    kinds = (("the same", same), ("different", ~same))
    return Chart(
        title="Pairs by similarity",
        kind="bar",
        series=tuple(
            Series(name=name, x=x, y=tuple(map(float, _tally(similarity[mask], edges))))
            for name, mask in kinds
        ),
        ticks=ticks,
        y_label="pairs, from this similarity on",
    )


def _tally(values: Numbers, edges: Numbers) -> NDArray[np.int64]:
    # a similarity on an edge belongs above it, whatever its last bit
    at = np.clip(np.floor((values - edges[0]) * 20 + 1e-6).astype(int), 0, len(edges) - 2)
    return np.bincount(at, minlength=len(edges) - 1)
