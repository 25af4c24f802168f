"""Pairing of calls of the same tool: first the most pairs, then the greatest similarity.

Each tool is an assignment problem over its calls on both sides. Cells below the weak threshold cost
more than any set of other cells (specification section 2.2). Only cells of two calls of one tool
are computed, so the cost does not grow with the full matrix.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from toolmark.scoring.step_structure import Ints, Matches, StepContingency

Floats: TypeAlias = NDArray[np.float64]

_EXCLUDED_COST = 1e6
_SIMILARITY_UNITS = 2.0**24  # 1 - similarity of float32 numbers is a multiple of 2^-24
_LARGEST_EXACT_COST = 2.0**51  # the solver adds four numbers of this size without rounding


class CandidateCells(NamedTuple):
    """The pairs of calls that may match, block by block (one per tool), row by row.

    `truth` and `predicted` are the positions of the calls, and `similarity` (float32) is theirs.
    `blocks` has a row (first cell, rows, columns) for each block.
    """

    truth: Ints
    predicted: Ints
    similarity: NDArray[np.float32]
    blocks: Ints


def candidate_cells(
    truth: Sequence[str],
    predicted: Sequence[str],
    similarity: NDArray[np.float32],
    excluded: Collection[int] = (),
) -> CandidateCells:
    """Return the cells of calls of the same name, in order of first appearance in the truth.

    `similarity` has a row per call of the truth and a column per predicted call. Predicted calls in
    `excluded` match nothing.
    """
    rows = defaultdict(list)
    for at, name in enumerate(truth):
        rows[name].append(at)
    columns: dict[str, list[int]] = {name: [] for name in rows}
    for at, name in enumerate(predicted):
        if name in columns and at not in excluded:
            columns[name].append(at)
    shared = [name for name, across in columns.items() if across]
    down = np.array([len(rows[name]) for name in shared], dtype=np.intp)
    across = np.array([len(columns[name]) for name in shared], dtype=np.intp)
    area = down * across
    left = np.array([*chain.from_iterable([rows[name] for name in shared])], dtype=np.intp)
    right = np.array([*chain.from_iterable([columns[name] for name in shared])], dtype=np.intp)
    # the cells of each row of a block are its columns, in order
    wide = across.repeat(down)
    first = (across.cumsum() - across).repeat(down) - (wide.cumsum() - wide)
    at_row = left.repeat(wide)
    at_column = right[np.arange(len(at_row)) + first.repeat(wide)]
    blocks = np.array((area.cumsum() - area, down, across)).T
    cell_similarity = similarity.ravel().take(at_row * similarity.shape[1] + at_column)
    return CandidateCells(at_row, at_column, cell_similarity, blocks)


def reference_assignment(found: CandidateCells, weak: float) -> Ints:
    """Return the cells of the reference's matches; the solver decides ties.

    A cell may pass `weak` as float32 and be below it in double precision; such a match is dropped,
    as in the reference.
    """
    cost = (1 - found.similarity).astype(np.float64)
    cost[found.similarity < np.float32(weak)] = _EXCLUDED_COST
    return _drop_weak_cells(found, _solve_blocks(found, cost), weak)


def tie_breaking_assignment(found: CandidateCells, weak: float, penalty: NDArray[Any]) -> Ints:
    """Return the cells of the least penalty among the best matches.

    They are as many and as similar as those of `reference_assignment`. `penalty` is an integer >= 0
    per cell. Costs are integers: similarity in units of 2^-24, each larger than all penalties
    together, so that a penalty decides only between equal similarities. Where these numbers are too
    large for exact arithmetic (hundreds of calls of one tool), penalties are rounded to fewer
    levels.
    """
    if not len(found.similarity):
        return found.truth
    allowed = found.similarity >= np.float32(weak)
    n = int(found.blocks[:, 1:].min(1).max())
    least, best = max(float(found.similarity.min()), weak), float(found.similarity.max())
    # by rounding a cell may be below `weak`
    most = max(1 - least, best - 1, 0) * _SIMILARITY_UNITS + 2
    levels = np.floor((_LARGEST_EXACT_COST / (2 * n * most) - 1) / n)
    peak = float(penalty.max())
    fine = np.floor(penalty * (levels / peak)) if peak > levels else penalty
    unit = n * min(levels, peak) + 1
    cost = (1 - found.similarity).astype(np.float64)
    cost *= _SIMILARITY_UNITS * unit
    cost += fine
    cost[~allowed] = 2 * n * most * unit
    return _drop_weak_cells(found, _solve_blocks(found, cost), weak)


def _solve_blocks(found: CandidateCells, cost: Floats) -> Ints:
    if not len(found.blocks):
        return np.zeros(0, dtype=np.intp)
    rows, columns = [], []
    for start, down, across in found.blocks.tolist():
        block = cost[start : start + down * across].reshape(down, across)
        row, column = linear_sum_assignment(block)
        rows.append(row)
        columns.append(column)
    starts, down, across = found.blocks.repeat(found.blocks[:, 1:].min(1), axis=0).T
    picked: Ints = starts + np.concatenate(rows) * across + np.concatenate(columns)
    return picked


def _drop_weak_cells(found: CandidateCells, picked: Ints, weak: float) -> Ints:
    return picked[found.similarity[picked].astype(np.float64) >= weak]


# --- ties -------------------------------------------------------------------------------


class CallSteps(NamedTuple):
    """The step of each call on both sides, from 0, and the numbers of steps."""

    truth: Ints
    predicted: Ints
    n_truth: int
    n_predicted: int


def build_matches(found: CandidateCells, picked: Ints, steps: CallSteps) -> Matches:
    """Return the picked cells as matches."""
    left, right = found.truth.take(picked), found.predicted.take(picked)
    similarity = found.similarity.take(picked).astype(np.float64)
    return Matches(left, right, steps.truth.take(left), steps.predicted.take(right), similarity)


def structural_assignment(found: CandidateCells, weak: float, steps: CallSteps) -> Matches:
    """Return the matches whose steps agree best among the best matches.

    They are as many and as similar as those of `reference_assignment`. The first candidate pairs
    steps at the same relative position. If it has ties, the solver's assignment is a second one,
    and a third one, if there are unambiguous matches, splits, mixes and inverts their steps least.
    The candidate with the best structure agreement is returned.
    """
    g, p = steps.truth.take(found.truth), steps.predicted.take(found.predicted)
    distance = np.square(g * (steps.n_predicted - 1.0) - p * (steps.n_truth - 1.0))
    nearest = tie_breaking_assignment(found, weak, distance)
    ambiguous = _ambiguous_cells(found, nearest)
    if not ambiguous.any():
        return build_matches(found, nearest, steps)
    choices = [nearest, reference_assignment(found, weak)]
    unambiguous = nearest[~ambiguous]
    if len(unambiguous):
        conflicts = _structure_conflicts(g, p, unambiguous, steps)
        choices.insert(
            0, tie_breaking_assignment(found, weak, conflicts * (distance.max() + 1) + distance)
        )
    candidates = [build_matches(found, picked, steps) for picked in choices]
    return max(candidates, key=lambda matches: _structure_agreement(matches, steps))


def _structure_agreement(matches: Matches, steps: CallSteps) -> float:
    """Return the sum of coherence, purity and order, each in [0, 1], rounded to 9 decimals."""
    joint = StepContingency(matches, steps.n_truth, steps.n_predicted)
    coherence = joint.coherence() / max(len(matches.truth_step), 1)
    return round(coherence + joint.purity() + joint.order(), 9)


def _ambiguous_cells(found: CandidateCells, picked: Ints) -> NDArray[np.bool_]:
    """Return for each picked cell whether its row or column has another one as similar."""
    left, right = found.truth.take(picked), found.predicted.take(picked)
    chosen, taken = np.full((2, max(found.truth.max(), found.predicted.max()) + 1), np.inf)
    chosen[left] = taken[right] = found.similarity[picked]
    across = found.similarity == chosen.take(found.truth)
    down = found.similarity == taken.take(found.predicted)
    if np.count_nonzero(across) == np.count_nonzero(down) == len(picked):
        return np.zeros(len(picked), dtype=np.bool_)
    rows = np.bincount(found.truth[across], minlength=len(chosen))
    columns = np.bincount(found.predicted[down], minlength=len(taken))
    return (rows[left] > 1) | (columns[right] > 1)


def _structure_conflicts(g: Ints, p: Ints, unambiguous: Ints, steps: CallSteps) -> Floats:
    """Return for each cell how many unambiguous matches it would split, mix or invert."""
    count = np.zeros((steps.n_truth, steps.n_predicted))
    np.add.at(count, (g[unambiguous], p[unambiguous]), 1)
    here = count[g, p]
    before = np.zeros((steps.n_truth + 1, steps.n_predicted + 1))  # [a, b]: steps < a and steps < b
    before[1:, 1:] = count.cumsum(0).cumsum(1)
    late = before[g, -1] - before[g, p + 1]  # earlier in the truth, later predicted
    early = before[-1, p] - before[g + 1, p]
    parted, mixed = count.sum(1)[g] - here, count.sum(0)[p] - here
    total: Floats = late + early + parted + mixed
    return total
