"""Stores what readers of a run need besides its scores; `runs.stored_presentation` reads it."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.errors import DataError, describe_error
from toolmark.core.files import atomic_file
from toolmark.core.records import Cell, Chart, Table, Task
from toolmark.runs.record_files import RecordAppender, remove_file, write_document
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    MAX_PRESENTATION_BYTES,
    MAX_VIEWS_BYTES,
    PRESENTATION_FILE,
    VIEWS_FILE,
    EpisodeViews,
    StoredPresentation,
    View,
    omitted_table,
)
from toolmark.runs.suite import Scorer
from toolmark.runs.variations.own_names import restore_task, restore_trajectory
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns

NOT_MADE = "Not made:"  # begins the note of a table that a suite could not make
BUFFER_BYTES = 2**16  # views are derived: they may be written in blocks
X = TypeVar("X", View, Table | Chart)
ViewFunction: TypeAlias = Callable[[Episode], Sequence[View]]


def write_presentation(
    run: Run,
    scorer: Scorer,
    by_rule: Mapping[str, Columns],
    metrics: Mapping[str, Sequence[Metric]],
    caution: str,
    effects: Sequence[Table] = (),
) -> StoredPresentation:
    """Store how readers see the scores, and return it. Raises DataError for a full disk.

    `effects` are the tables on variations, which come before those of the suite.
    """
    headline = by_rule[scorer.rules[0]]
    tables = _call_or_show_fault(
        "Tables", lambda: (*scorer.presentation.tables(by_rule), *scorer.presentation.evidence(run))
    )
    made = StoredPresentation(
        rules=scorer.rules,
        metrics={name: tuple(found) for name, found in metrics.items()},
        tables=(*effects, *tables),
        level_names=_level_names(run, scorer, headline),
        failure_names=dict(scorer.presentation.failure_names),
        overview=scorer.presentation.overview,
        profile=scorer.presentation.profile,
        caution=caution,
    )
    if (
        size := len(json_codec.encode_record(made))
    ) > MAX_PRESENTATION_BYTES // 2:  # the file is indented, which makes it larger
        made = replace(made, tables=(omitted_table("Tables", size),))
    write_document(run.path / PRESENTATION_FILE, made)
    return made


def write_views(run: Run, scorer: Scorer) -> None:
    """Store the views of each episode. Raises DataError for a full disk."""
    path = run.path / VIEWS_FILE
    if scorer.presentation.views is None:
        remove_file(path)
        return
    try:
        with atomic_file(path) as draft:
            lines = RecordAppender(draft, buffer_bytes=BUFFER_BYTES)
            try:
                for made in _episode_views(run, scorer.presentation.views):
                    lines.append(made)
            finally:
                lines.close()
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def _episode_views(run: Run, show: ViewFunction) -> Iterator[EpisodeViews]:
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.kind != "scored":
            continue
        own = Episode(restore_task(task), restore_trajectory(task, trajectory))
        views = _call_or_show_fault("Views", partial(show, own))
        if views:
            yield _bounded_views(task, trajectory.repeat, views)


def _call_or_show_fault(title: str, make: Callable[[], Sequence[X]]) -> list[X]:
    """Return what a suite shows. An error in the suite's function is shown instead of raised."""
    try:
        return [_to_builtin_item(each) for each in make()]
    except (Exception, SystemExit) as error:
        note = f"{NOT_MADE} {describe_error(error)}\n{traceback.format_exc()}"
        return [Table(title=title, head=(), rows=(), note=note)]


def _bounded_views(task: Task, repeat: int, views: Sequence[View]) -> EpisodeViews:
    made = EpisodeViews(task=task.id, repeat=repeat, views=tuple(views))
    if (size := len(json_codec.encode_record(made))) > MAX_VIEWS_BYTES:
        return replace(made, views=(omitted_table("Views", size),))
    return made


def _level_names(run: Run, scorer: Scorer, table: Columns) -> dict[str, dict[str, str]]:
    """Return the names of levels in the order of the tasks; scores have another order."""
    if not scorer.presentation.level_names:
        return {}
    levels_by_axis: dict[str, dict[str, None]] = {
        axis: {} for axis in scorer.presentation.level_names
    }
    for task in run.tasks():
        for axis, levels in levels_by_axis.items():
            levels.setdefault(task.axes.get(axis, ""))
    for axis, levels in levels_by_axis.items():
        levels.update(dict.fromkeys(table.axis(axis).tolist()))
    return {
        axis: {level: name_level(level, table) for level in levels_by_axis[axis] if level}
        for axis, name_level in scorer.presentation.level_names.items()
    }


def _to_builtin_item(item: X) -> X:
    """Return a table, chart or drawing of plain texts and numbers, which JSON can represent.

    A number in a table that is not finite becomes None, which prints as a dash.
    """
    if isinstance(item, Table):
        rows = tuple(
            tuple(_finite_or_none(_to_builtin_value(cell)) for cell in row) for row in item.rows
        )
        texts = {"title": str(item.title), "head": tuple(map(str, item.head))}
        return replace(item, **texts, note=str(item.note), rows=rows)
    found = msgspec.to_builtins(item, enc_hook=_to_builtin_value)
    made: X = msgspec.convert(found, type(item))
    return made


def _to_builtin_value(value: Any) -> Cell:
    """Return a text or number of another library as a built-in type."""
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


def _finite_or_none(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
