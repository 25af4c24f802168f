"""Stores what readers of a run need besides its scores: the writing half of `runs.presentation`."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark import codec
from toolmark.errors import DataError, traced
from toolmark.files import atomic_file
from toolmark.runs.jsonl import Lines, remove, write
from toolmark.runs.presentation import (
    FILE,
    LARGEST,
    LARGEST_VIEWS,
    VIEWS,
    EpisodeViews,
    Presentation,
    View,
    left_out,
)
from toolmark.runs.store import Run
from toolmark.runs.suite import Scorer
from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Metric
from toolmark.types import Cell, Chart, Table, Task, Trajectory

WRITTEN_BYTES = 2**16  # views are derived: they may be written in blocks
X = TypeVar("X", View, Table | Chart)
Showing: TypeAlias = Callable[[Task, Trajectory], Sequence[View]]


def write_presentation(
    run: Run,
    scorer: Scorer,
    by_reading: Mapping[str, Columns],
    metrics: Mapping[str, Sequence[Metric]],
    caution: str,
) -> Presentation:
    """Store how readers see the scores, and return it. Raises DataError for a full disk."""
    headline = by_reading[scorer.readings[0]]
    tables = _guarded("Tables", lambda: (*scorer.tables(by_reading), *scorer.evidence(run)))
    made = Presentation(
        readings=scorer.readings,
        metrics={name: tuple(found) for name, found in metrics.items()},
        tables=tuple(tables),
        levels=_levels(run, scorer, headline),
        natives=dict(scorer.natives),
        across=scorer.across,
        profile=scorer.profile,
        caution=caution,
    )
    if (size := len(codec.encode(made))) > LARGEST // 2:  # it is indented in the file
        made = replace(made, tables=(left_out("Tables", size),))
    write(run.path / FILE, made)
    return made


def write_views(run: Run, scorer: Scorer) -> None:
    """Store what there is to look at of each episode. Raises DataError for a full disk."""
    path = run.path / VIEWS
    if scorer.views is None:
        remove(path)
        return
    try:
        with atomic_file(path) as draft:
            lines = Lines(draft, hold_bytes=WRITTEN_BYTES)
            try:
                for made in _views(run, scorer.views):
                    lines.append(made)
            finally:
                lines.close()
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def _views(run: Run, show: Showing) -> Iterator[EpisodeViews]:
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.kind != "scored":
            continue
        views = _guarded("Views", partial(show, task, trajectory))
        if views:
            yield _episode(task, trajectory.repeat, views)


def _guarded(title: str, make: Callable[[], Sequence[X]]) -> list[X]:
    """Return what a suite shows; a fault in that ends no run, and is shown instead."""
    try:
        return [_plain(each) for each in make()]
    except Exception as error:
        note = f"Not made: {traced(error)}\n{traceback.format_exc()}"
        return [Table(title=title, head=(), rows=(), note=note)]


def _episode(task: Task, repeat: int, views: Sequence[View]) -> EpisodeViews:
    made = EpisodeViews(task=task.id, repeat=repeat, views=tuple(views))
    if (size := len(codec.encode(made))) > LARGEST_VIEWS:
        return replace(made, views=(left_out("Views", size),))
    return made


def _levels(run: Run, scorer: Scorer, table: Columns) -> dict[str, dict[str, str]]:
    """Return the names of levels in the order of the tasks: scores come as episodes end."""
    if not scorer.axes:
        return {}
    asked: dict[str, dict[str, None]] = {axis: {} for axis in scorer.axes}
    for task in run.tasks():
        for axis, levels in asked.items():
            levels.setdefault(task.axes.get(axis, ""))
    for axis, levels in asked.items():
        levels.update(dict.fromkeys(table.axis(axis).tolist()))
    return {
        axis: {level: naming(level, table) for level in asked[axis] if level}
        for axis, naming in scorer.axes.items()
    }


def _plain(item: X) -> X:
    """Return a table, chart or drawing of plain texts and numbers, which JSON can hold.

    A number in a table that is not finite is none: it prints as a dash.
    """
    if isinstance(item, Table):
        rows = tuple(tuple(_finite(_builtin(cell)) for cell in row) for row in item.rows)
        texts = {"title": str(item.title), "head": tuple(map(str, item.head))}
        return replace(item, **texts, note=str(item.note), rows=rows)
    found = msgspec.to_builtins(item, enc_hook=_builtin)
    made: X = msgspec.convert(found, type(item))
    return made


def _builtin(value: Any) -> Cell:
    """Return a text or number of another library as Python's own."""
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case _:
            return str(value)


def _finite(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
