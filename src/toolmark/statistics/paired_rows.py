"""Which rows of two runs are compared: matched by task or item, each pair counted once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from toolmark.statistics.confidence_intervals import group_codes
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.linearisation import Codes, sum_by_code
from toolmark.statistics.score_columns import Columns, Mask, Names, Numbers

Pairing: TypeAlias = Literal["task", "item"]


@dataclass(frozen=True, slots=True)
class RunSide:
    """One run's rows of the pairs.

    `rows` are those that count, of the pairs that count in both runs. Their weights sum to 1 for
    each pair. `key` has the index of the pair of each row. `all_rows` are all rows with a partner,
    whether they ran or not. `is_correct` is the share of correct rows of each pair.
    """

    rows: Columns
    key: Codes
    all_rows: Columns
    is_correct: Numbers
    n_not_run: int
    n_unpaired: int


@dataclass(frozen=True, slots=True)
class RunPairs:
    """The pairs that count in both runs; `item` and `cluster` have a cell per pair."""

    a: RunSide
    b: RunSide
    item: Names
    cluster: Names
    pairing: Pairing


def match_runs(a: Columns, b: Columns, formula: LinearisedFormula) -> RunPairs:
    """Match the rows that a formula uses by task, or by item where no task is common.

    Pairs are in the order of their first appearance in A's rows. A pair has the cluster of A's
    rows, or that of B's where only B has groups.
    """
    a, b = formula.select_rows(a), formula.select_rows(b)
    by: Pairing = "item" if set(a.task).isdisjoint(b.task) else "task"
    code = group_codes(np.concatenate((a.task, b.task) if by == "task" else (a.item, b.item)))
    codes = code[: len(a)], code[len(a) :]
    n = 1 + int(code.max(initial=-1))
    common = _occurring_codes(codes[0], n) & _occurring_codes(codes[1], n)
    paired = [
        _PairedRows.select_rows(*side, common, formula) for side in zip((a, b), codes, strict=True)
    ]
    counts_in_both = paired[0].complete_keys(n) & paired[1].complete_keys(n)
    number = np.cumsum(counts_in_both) - 1
    sides = [each.run_side(counts_in_both, number) for each in paired]
    first = np.unique(sides[0].key, return_index=True)[1]
    rows = sides[0].rows.where(first)
    cluster = rows.cluster
    if not (rows.axis("group") != "").any():
        other = sides[1].rows.where(np.unique(sides[1].key, return_index=True)[1])
        cluster = other.cluster if (other.axis("group") != "").any() else cluster
    return RunPairs(sides[0], sides[1], rows.item, cluster, by)


def _occurring_codes(code: Codes, n: int) -> Mask:
    found = np.zeros(n, dtype=bool)
    found[code] = True
    return found


@dataclass(frozen=True, slots=True)
class _PairedRows:
    """The rows of a run that have a partner; `task` has the code of each row's task.

    `owner` is the key of each task.
    """

    columns: Columns
    code: Codes
    counted: Mask
    task: Codes
    owner: Codes
    n_unpaired: int

    @classmethod
    def select_rows(
        cls, columns: Columns, code: Codes, common: Mask, formula: LinearisedFormula
    ) -> _PairedRows:
        """Return the rows whose key both runs have."""
        at = np.flatnonzero(common[code])
        rows, own = (columns if len(at) == len(columns) else columns.where(at)), code[at]
        task = group_codes(rows.task)
        owner = np.zeros(1 + int(task.max(initial=-1)), dtype=np.int64)
        owner[task] = own
        counted = formula.linearise(rows).counted
        return cls(rows, own, counted, task, owner, len(columns) - len(at))

    def complete_keys(self, n: int) -> Mask:
        """Return the keys of which every task has a row that counts."""
        has_row = _occurring_codes(self.task[self.counted], len(self.owner))
        found = _occurring_codes(self.code, n)
        found[self.owner[~has_row]] = False
        return found

    def run_side(self, counts_in_both: Mask, number: Codes) -> RunSide:
        """Return the side of the comparison; `number` maps keys to indices of pairs."""
        columns = self.columns
        at = np.flatnonzero(self.counted & counts_in_both[self.code])
        key = number[self.code[at]]
        weight = self._row_weights(np.arange(len(columns)), only_run=True)[at]
        n_pairs = int(counts_in_both.sum())
        every = np.arange(len(columns))
        return RunSide(
            rows=_with_weights(columns.where(at), weight),
            key=key,
            all_rows=_with_weights(columns, self._row_weights(every, only_run=False)),
            is_correct=sum_by_code(key, weight * columns.correct[at], n_pairs),
            n_not_run=int((~self.counted).sum()),
            n_unpaired=self.n_unpaired,
        )

    def _row_weights(self, at: Codes, *, only_run: bool) -> Numbers:
        """Return weights of these rows: tasks of a key count alike, and rows of a task.

        With `only_run` the rows of a task that ran count once together, else all its rows.
        """
        ran = at[self.columns.run[at]] if only_run else at
        n_rows = np.maximum(np.bincount(self.task[ran], minlength=len(self.owner)), 1)
        n_tasks = np.bincount(self.owner)
        return 1 / (n_rows[self.task[at]] * n_tasks[self.code[at]]).astype(np.float64)


def _with_weights(columns: Columns, weight: Numbers) -> Columns:
    """Return the rows with weights, without any where all are equal."""
    equal = not len(weight) or bool((weight == weight[0]).all())
    return replace(columns, weight=None if equal else weight)
