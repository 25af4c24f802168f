"""Rows of scores are selected by the names of their tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from tests.statistics.conftest import build_columns


class _CountedName(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    n_compared: ClassVar[int] = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _CountedName.n_compared += 1
        return str.__eq__(self, other)


def test_rows_are_selected_by_task_in_their_order() -> None:
    columns = build_columns([[0.0, 1.0], [1.0, None], [0.5, 0.25]])
    found = columns.where_task(["t2", "t0", "not there"])
    assert found.task.tolist() == ["t0", "t0", "t2", "t2"]
    assert found.value.tolist() == [0.0, 1.0, 0.5, 0.25]
    assert len(columns.where_task([])) == 0


def test_selecting_n_of_n_tasks_compares_each_name_a_few_times() -> None:
    n = 500
    columns = build_columns([[1.0]] * n)
    names = np.array([_CountedName(name) for name in columns.task], dtype=object)
    columns = replace(columns, task=names)
    _CountedName.n_compared = 0
    assert len(columns.where_task([_CountedName(name) for name in names])) == n
    assert _CountedName.n_compared <= 10 * n
