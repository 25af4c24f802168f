"""Which similarity means "the same"? Compares every threshold with pairs that people labelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core import number_format
from toolmark.core.errors import DataError, UsageError
from toolmark.core.number_format import pluralize
from toolmark.core.records import Chart, Estimate, Record, Series, Table
from toolmark.runs.record_files import read_records
from toolmark.scoring import alignment

Numbers: TypeAlias = NDArray[np.float64]
Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

THRESHOLDS = tuple(round(0.40 + 0.01 * i, 2) for i in range(56))  # 0.40 to 0.95
STRONG_PRECISION = 0.95  # the precision from which a match is called strong
N_BOOTSTRAP_DRAWS = 2000
FEW_PAIRS = 20  # pairs of a kind below which a warning is shown
_COARSE_STEP = 5  # every fifth threshold is listed and drawn
_MAX_BLOCK_CELLS = 2**21  # of one block of bootstrap draws: bounds memory


class LabelledPair(Record, frozen=True, kw_only=True):
    """A line of the file: two texts or two objects of call arguments, or their similarity."""

    same: bool
    a: Any = None
    b: Any = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class ThresholdQuality:
    """Quality of one threshold on the pairs; precision is nan where no pair is called the same."""

    threshold: float
    precision: float
    recall: float
    f1: float
    youden: float


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """A chosen threshold with its bootstrap interval, and its quality with an interval.

    A rule may have no threshold that meets it; then `threshold` has no value. `share_found` is the
    share of bootstrap draws in which a threshold meets the rule.
    """

    name: str
    threshold: Estimate
    quality: Estimate
    share_found: float


@dataclass(frozen=True, slots=True)
class ThresholdSweep:
    """All thresholds, and the best by each rule."""

    n: int
    n_same: int
    levels: tuple[ThresholdQuality, ...]
    best: tuple[BestThreshold, ...]


def read_pairs(path: Path) -> list[LabelledPair]:
    """Read labelled pairs.

    Raises UsageError for a missing file and for pairs of only one kind, DataError with file and
    line for an invalid pair.
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    found = list(read_records(path, LabelledPair, strict=True))
    for number, pair in enumerate(found, 1):
        if pair.similarity is not None and not -1 <= pair.similarity <= 1:
            raise DataError(f"{path}, line {number}: similarity must be within [-1, 1]")
        if pair.similarity is None and (pair.a is None or pair.b is None):
            raise DataError(f"{path}, line {number}: expected a and b, or similarity")
    n_same = sum(pair.same for pair in found)
    if n_same in (0, len(found)):
        raise UsageError(
            f"{path}: {pluralize(len(found), 'pair')}, {number_format.format_count(n_same)} of "
            "them the same; "
            "a threshold can only be found between pairs of both kinds"
        )
    return found


def pair_similarities(pairs: Sequence[LabelledPair], encoder: Encoder | None) -> Numbers:
    """Return the similarity of every pair: as given, or from the encoder as in the metric.

    An encoder, if given, encodes the texts of all pairs that have them in one call. Call
    arguments are written as in the metric. Raises UsageError for a pair without a similarity if
    there is no encoder.
    """
    similarity = np.array([np.nan if p.similarity is None else p.similarity for p in pairs])
    if encoder is not None:
        with_texts = [i for i, p in enumerate(pairs) if p.a is not None and p.b is not None]
        texts = [_side_text(side) for i in with_texts for side in (pairs[i].a, pairs[i].b)]
        rows = encoder(texts) if texts else np.zeros((0, 1), dtype=np.float32)
        for position, i in enumerate(with_texts):
            similarity[i] = alignment.cosine_matrix(
                rows[2 * position : 2 * position + 1], rows[2 * position + 1 : 2 * position + 2]
            )[0, 0]
    if np.isnan(similarity).any():
        raise UsageError("pairs without similarity need an encoder: name one with --encoder")
    return similarity


def _side_text(side: Any) -> str:
    return side if isinstance(side, str) else alignment.arguments_text(side)


def sweep_thresholds(
    similarity: Numbers, same: NDArray[np.bool_], *, seed: int = 0
) -> ThresholdSweep:
    """Compare every threshold with the labels; the bootstrap resamples pairs.

    A pair is called the same if its similarity reaches the threshold. The weak threshold has the
    greatest F1. The strong one is the lowest not below the weak one with a precision of 95 %.
    """
    is_called_same = similarity[None, :] >= np.array(THRESHOLDS)[:, None]
    weights = np.ones((1, len(same)))
    levels = _quality_arrays(*_count_hits(is_called_same, same, weights))
    bootstrap_levels = _bootstrap_quality(is_called_same, same, seed)
    return ThresholdSweep(
        n=len(same),
        n_same=int(same.sum()),
        levels=tuple(
            ThresholdQuality(t, *(float(column[0, i]) for column in levels))
            for i, t in enumerate(THRESHOLDS)
        ),
        best=tuple(
            _best_threshold(name, rule, levels, bootstrap_levels) for name, rule in _RULES.items()
        ),
    )


_QualityArrays: TypeAlias = tuple[Numbers, Numbers, Numbers, Numbers]


def _count_hits(
    is_called_same: NDArray[np.bool_], same: NDArray[np.bool_], weights: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Return hits and false alarms per (draw, threshold), and the numbers of pairs per kind."""
    hits = weights @ (is_called_same & same).T.astype(float)
    alarms = weights @ (is_called_same & ~same).T.astype(float)
    return hits, alarms, np.stack([weights @ same, weights @ ~same], axis=1)


def _quality_arrays(hits: Numbers, alarms: Numbers, totals: Numbers) -> _QualityArrays:
    """Return precision, recall, F1 and Youden's J, each per (draw, threshold)."""
    n_same, n_other = totals[:, :1], totals[:, 1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = hits / (hits + alarms)
        recall = hits / n_same
        f1 = 2 * hits / (hits + alarms + n_same)
        youden = recall - alarms / n_other
    return precision, recall, f1, youden


def _bootstrap_quality(
    is_called_same: NDArray[np.bool_], same: NDArray[np.bool_], seed: int
) -> _QualityArrays:
    """Return the quality on resampled pairs; draws without pairs of both kinds are drawn again."""
    rng = np.random.default_rng(seed)
    n = len(same)
    blocks: list[_QualityArrays] = []
    n_left = N_BOOTSTRAP_DRAWS
    while n_left:
        rows = min(n_left, max(1, _MAX_BLOCK_CELLS // n))
        weights = rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(float)
        has_both_kinds = (weights @ same > 0) & (weights @ ~same > 0)
        blocks.append(_quality_arrays(*_count_hits(is_called_same, same, weights[has_both_kinds])))
        n_left -= int(has_both_kinds.sum())
    precision, recall, f1, youden = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return precision, recall, f1, youden


def _middle_argmax(values: Numbers) -> NDArray[np.int64]:
    """Return the index of the greatest value per draw; of several equal ones, the middle one."""
    best = values >= np.nanmax(values, axis=1, keepdims=True) - 1e-12
    middle = (best.sum(axis=1) + 1) // 2
    indices: NDArray[np.int64] = np.argmax(np.cumsum(best, axis=1) == middle[:, None], axis=1)
    return indices


def _greatest_f1(levels: _QualityArrays) -> tuple[NDArray[np.int64], Numbers]:
    return _best_positive(levels[2])


def _greatest_youden(levels: _QualityArrays) -> tuple[NDArray[np.int64], Numbers]:
    return _best_positive(levels[3])


def _best_positive(values: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """Return the best thresholds; -1 where none is better than calling no pair the same."""
    indices = _middle_argmax(values)
    best_values = _values_at(values, indices)
    fits = best_values > 1e-12
    return np.where(fits, indices, -1), np.where(fits, best_values, np.nan)


def _lowest_precise(levels: _QualityArrays) -> tuple[NDArray[np.int64], Numbers]:
    """Return the lowest precise thresholds; -1 where no threshold is precise enough."""
    precision = levels[0]
    is_above_weak = np.arange(precision.shape[1])[None, :] >= _middle_argmax(levels[2])[:, None]
    is_precise = is_above_weak & (np.nan_to_num(precision) >= STRONG_PRECISION)
    indices = np.where(is_precise.any(axis=1), np.argmax(is_precise, axis=1), -1)
    return indices, np.where(indices < 0, np.nan, _values_at(precision, indices))


def _values_at(values: Numbers, indices: NDArray[np.int64]) -> Numbers:
    return values[np.arange(len(values)), indices]


_Rule: TypeAlias = Callable[[_QualityArrays], tuple[NDArray[np.int64], Numbers]]
_RULES: dict[str, _Rule] = {
    "weak: greatest F1": _greatest_f1,
    "greatest Youden’s J": _greatest_youden,
    f"strong: precision from {number_format.format_fixed(STRONG_PRECISION, 2)}": _lowest_precise,
}


def _best_threshold(
    name: str, rule: _Rule, levels: _QualityArrays, bootstrap_levels: _QualityArrays
) -> BestThreshold:
    (index,), (best_value,) = rule(levels)
    indices, values = rule(bootstrap_levels)
    is_found = indices >= 0
    if index < 0:
        missing = Estimate(name=name)
        return BestThreshold(name, missing, missing, float(is_found.mean()))
    low, high = np.quantile(np.array(THRESHOLDS)[indices[is_found]], (0.025, 0.975))
    ends = np.quantile(values[is_found], (0.025, 0.975))
    threshold = Estimate(
        name=name, value=THRESHOLDS[index], low=float(low), high=float(high), n=len(is_found)
    )
    quality = Estimate(
        name=name, value=float(best_value), low=float(ends[0]), high=float(ends[1]), n=len(is_found)
    )
    return BestThreshold(name, threshold, quality, float(is_found.mean()))


# --- tables and charts ------------------------------------------------------------------


def best_thresholds_table(found: ThresholdSweep) -> Table:
    """Return the table of the best thresholds."""
    return Table(
        title="Best thresholds [95 % interval]",
        head=("rule", "threshold", "it reaches"),
        rows=tuple(
            (best.name, _interval_text(best.threshold), _interval_text(best.quality))
            for best in found.best
        ),
        note=(
            f"{pluralize(found.n, 'pair')}, {number_format.format_count(found.n_same)} of them the "
            "same. Intervals are of the "
            f"bootstrap over pairs, {number_format.format_count(N_BOOTSTRAP_DRAWS)} draws; of "
            "equally good thresholds the "
            "middle one. " + " ".join(_calibration_warnings(found))
        ),
    )


def _calibration_warnings(found: ThresholdSweep) -> Iterator[str]:
    if min(found.n_same, found.n - found.n_same) < FEW_PAIRS:
        yield f"Few pairs: below {FEW_PAIRS} of each kind a threshold is hardly more than a guess."
    for best in found.best:
        if best.threshold.value is None:
            yield f"No threshold meets “{best.name}”: none is recommended."
        elif best.share_found < 1:
            n = round(N_BOOTSTRAP_DRAWS * (1 - best.share_found))
            yield f"In {number_format.format_count(n)} of the draws no threshold met “{best.name}”."
    for best in found.best[:2]:  # the strong rule may be at the end
        if best.threshold.value in (THRESHOLDS[0], THRESHOLDS[-1]):
            threshold = number_format.format_fixed(best.threshold.value, 2)
            yield (
                f"“{best.name}” lies at the end of the range, {threshold}: "
                "a better one may lie outside."
            )


def _interval_text(estimate: Estimate) -> str | None:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    return number_format.format_fixed_interval(estimate.value, estimate.low, estimate.high, 2)


def thresholds_table(found: ThresholdSweep, *, every: int = _COARSE_STEP) -> Table:
    """Return the table with every `every`-th threshold."""
    return Table(
        title="By threshold",
        head=("threshold", "precision", "recall", "F1", "Youden’s J"),
        rows=tuple(
            (
                number_format.format_fixed(level.threshold, 2),
                *map(_rounded_text, (level.precision, level.recall, level.f1, level.youden)),
            )
            for level in found.levels[::every]
        ),
    )


def _rounded_text(value: float) -> str | None:
    return None if np.isnan(value) else number_format.format_fixed(value, 3)


def thresholds_chart(found: ThresholdSweep) -> Chart:
    """Return the chart of the four quality curves over the threshold."""
    levels = found.levels[::_COARSE_STEP]
    x = tuple(level.threshold for level in levels)
    curves = {
        "precision": tuple(level.precision for level in levels),
        "recall": tuple(level.recall for level in levels),
        "F1": tuple(level.f1 for level in levels),
        "Youden’s J": tuple(level.youden for level in levels),
    }
    return Chart(
        title="What a threshold does",
        kind="line",
        series=tuple(Series(name=name, x=x, y=y) for name, y in curves.items()),
        x_label="called the same from this similarity on",
        y_label="share",
    )


def similarity_chart(similarity: Numbers, same: NDArray[np.bool_]) -> Chart:
    """Return the number of pairs of each kind by similarity, in steps of 0.05."""
    low = min(0.4, float(np.floor(similarity.min() * 20)) / 20)
    edges = np.round(np.arange(low, 1.0 + 1e-9, 0.05), 2)
    ticks = tuple(number_format.format_fixed(edge, 2) for edge in edges[:-1])
    x = tuple(float(i) for i in range(len(ticks)))
    kinds = (("the same", same), ("different", ~same))
    return Chart(
        title="Pairs by similarity",
        kind="bar",
        series=tuple(
            Series(name=name, x=x, y=tuple(map(float, _histogram(similarity[mask], edges))))
            for name, mask in kinds
        ),
        ticks=ticks,
        y_label="pairs, from this similarity on",
    )


def _histogram(values: Numbers, edges: Numbers) -> NDArray[np.int64]:
    # a similarity on an edge belongs above it, despite rounding errors
    bins = np.clip(np.floor((values - edges[0]) * 20 + 1e-6).astype(int), 0, len(edges) - 2)
    return np.bincount(bins, minlength=len(edges) - 1)
