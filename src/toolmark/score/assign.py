"""Pairing calls of the same tool: as many pairs as can be, then as alike as can be.

Per tool an assignment problem over its calls on both sides; cells below the weak threshold cost
more than any set of others (specification section 2.2). Only cells of two calls of one tool are
ever looked at: the work is that of the buckets, not of the full matrix.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from toolmark.score.structure import Ints, Joint, Matches

Floats: TypeAlias = NDArray[np.float64]

_BARRED = 1e6
_UNITS = 2.0**24  # 1 - similarity of float32 numbers is a whole number of these parts
_EXACT = 2.0**51  # the solver adds up four numbers of this size without rounding


class Cells(NamedTuple):
    """The pairs that might match, bucket after bucket, row by row.

    `truth` and `made` number the calls; `alike` is their similarity, float32; `blocks` holds
    a row (first cell, rows, columns) for each bucket.
    """

    truth: Ints
    made: Ints
    alike: NDArray[np.float32]
    blocks: Ints


def cells(
    truth: Sequence[str],
    made: Sequence[str],
    similarity: NDArray[np.float32],
    barred: Collection[int] = (),
) -> Cells:
    """Return the cells of calls of the same name, in order of first appearance in the truth.

    `similarity` has a row per truth's call, a column per made one; `barred` columns match nothing.
    """
    rows = defaultdict(list)
    for at, name in enumerate(truth):
        rows[name].append(at)
    columns: dict[str, list[int]] = {name: [] for name in rows}
    for at, name in enumerate(made):
        if name in columns and at not in barred:
            columns[name].append(at)
    shared = [name for name, across in columns.items() if across]
    down = np.array([len(rows[name]) for name in shared], dtype=np.intp)
    across = np.array([len(columns[name]) for name in shared], dtype=np.intp)
    area = down * across
    left = np.array([*chain.from_iterable([rows[name] for name in shared])], dtype=np.intp)
    right = np.array([*chain.from_iterable([columns[name] for name in shared])], dtype=np.intp)
    # the cells of a row of a block go through the block's columns
    wide = across.repeat(down)
    first = (across.cumsum() - across).repeat(down) - (wide.cumsum() - wide)
    at_row = left.repeat(wide)
    at_column = right[np.arange(len(at_row)) + first.repeat(wide)]
    blocks = np.array((area.cumsum() - area, down, across)).T
    alike = similarity.ravel().take(at_row * similarity.shape[1] + at_column)
    return Cells(at_row, at_column, alike, blocks)


def plain(found: Cells, weak: float) -> Ints:
    """Return the cells of the matches as the reference picks them, ties as the solver leaves them.

    A cell may pass as float32 and still fall short of `weak` in double precision; such a match
    is dropped, as in the reference.
    """
    cost = (1 - found.alike).astype(np.float64)
    cost[found.alike < np.float32(weak)] = _BARRED
    return _kept(found, _solved(found, cost), weak)


def tied(found: Cells, weak: float, dislike: NDArray[Any]) -> Ints:
    """Return the matches that are as many and as alike as `plain`'s, and least disliked of those.

    `dislike` is a whole number >= 0 per cell. Costs are whole numbers: likeness in parts of 2^-24,
    each worth more than all dislikes together, so that a dislike decides between equals and
    never against likeness. Where these numbers would be too large for exact arithmetic (hundreds
    of calls of one tool), the dislikes are told apart less finely.
    """
    if not len(found.alike):
        return found.truth
    may = found.alike >= np.float32(weak)
    n = int(found.blocks[:, 1:].min(1).max())
    least, best = max(float(found.alike.min()), weak), float(found.alike.max())
    most = max(1 - least, best - 1, 0) * _UNITS + 2  # a cell may fall short of `weak` by rounding
    levels = np.floor((_EXACT / (2 * n * most) - 1) / n)
    peak = float(dislike.max())
    fine = np.floor(dislike * (levels / peak)) if peak > levels else dislike
    unit = n * min(levels, peak) + 1
    cost = (1 - found.alike).astype(np.float64)
    cost *= _UNITS * unit
    cost += fine
    cost[~may] = 2 * n * most * unit
    return _kept(found, _solved(found, cost), weak)


def _solved(found: Cells, cost: Floats) -> Ints:
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


def _kept(found: Cells, picked: Ints, weak: float) -> Ints:
    return picked[found.alike[picked].astype(np.float64) >= weak]


# --- ties -------------------------------------------------------------------------------


class Steps(NamedTuple):
    """The step of each call on both sides, from 0, and how many steps there are."""

    truth: Ints
    made: Ints
    n_truth: int
    n_made: int


def taken(found: Cells, picked: Ints, steps: Steps) -> Matches:
    """Return the picked cells as matches."""
    left, right = found.truth.take(picked), found.made.take(picked)
    alike = found.alike.take(picked).astype(np.float64)
    return Matches(left, right, steps.truth.take(left), steps.made.take(right), alike)


def structured(found: Cells, weak: float, steps: Steps) -> Matches:
    """Return matches as many and as alike as `plain`'s, their steps in the best agreement.

    First the one that pairs steps at the same relative position. Where a match of it could be
    another as well, the solver's own too, and the one that goes by the matches that no tie leaves
    open: it joins their steps, keeps others apart and inverts the least.
    """
    g, p = steps.truth.take(found.truth), steps.made.take(found.made)
    apart = np.square(g * (steps.n_made - 1.0) - p * (steps.n_truth - 1.0))
    near = tied(found, weak, apart)
    loose = _open(found, near)
    if not loose.any():
        return taken(found, near, steps)
    choices = [near, plain(found, weak)]
    sure = near[~loose]
    if len(sure):
        against = _against(g, p, sure, steps)
        choices.insert(0, tied(found, weak, against * (apart.max() + 1) + apart))
    made = [taken(found, picked, steps) for picked in choices]
    return max(made, key=lambda matches: _agreement(matches, steps))


def _agreement(matches: Matches, steps: Steps) -> float:
    """Return coherence, purity and order together, each in [0, 1]; rounded: equal is equal."""
    joint = Joint(matches, steps.n_truth, steps.n_made)
    coherence = joint.coherence() / max(len(matches.g), 1)
    return round(coherence + joint.purity() + joint.order(), 9)


def _open(found: Cells, picked: Ints) -> NDArray[np.bool_]:
    """Tell of each picked cell whether another of its row or column is as good."""
    left, right = found.truth.take(picked), found.made.take(picked)
    chosen, taken = np.full((2, max(found.truth.max(), found.made.max()) + 1), np.inf)
    chosen[left] = taken[right] = found.alike[picked]
    across = found.alike == chosen.take(found.truth)
    down = found.alike == taken.take(found.made)
    if np.count_nonzero(across) == np.count_nonzero(down) == len(picked):
        return np.zeros(len(picked), dtype=np.bool_)
    rows = np.bincount(found.truth[across], minlength=len(chosen))
    columns = np.bincount(found.made[down], minlength=len(taken))
    return (rows[left] > 1) | (columns[right] > 1)


def _against(g: Ints, p: Ints, sure: Ints, steps: Steps) -> Floats:
    """Return per cell how many sure matches it would part from, mix with, or invert."""
    count = np.zeros((steps.n_truth, steps.n_made))
    np.add.at(count, (g[sure], p[sure]), 1)
    here = count[g, p]
    before = np.zeros((steps.n_truth + 1, steps.n_made + 1))  # [a, b]: steps < a and steps < b
    before[1:, 1:] = count.cumsum(0).cumsum(1)
    late = before[g, -1] - before[g, p + 1]  # earlier in the truth, later made
    early = before[-1, p] - before[g + 1, p]
    parted, mixed = count.sum(1)[g] - here, count.sum(0)[p] - here
    total: Floats = late + early + parted + mixed
    return total
