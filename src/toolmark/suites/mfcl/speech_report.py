"""Tables of a speech run: the paper's Table 1, what each condition costs, failures, what was heard.

An item is asked in several conditions and by several recognisers; its answers are alike, so every
interval counts items, and conditions are compared item by item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.stats import figures
from toolmark.stats.columns import Columns, distinct
from toolmark.stats.formulas import Average, Filter, Mean, Metric, Of
from toolmark.stats.strata import Group, leaves
from toolmark.suites.mfcl import speech_costs, speech_heard, speech_views
from toolmark.suites.mfcl import speech_marks as marks
from toolmark.suites.mfcl.speech_columns import (
    GROUPS,
    OVERALL,
    TOLD,
    column,
    complete,
    formula,
    leaf,
    measure,
    only,
    whole,
)
from toolmark.types import Audio, Chart, Drawing, Table, Task, Trajectory

Cell: TypeAlias = str | float | int | None

_NAMED = (
    "In per cent, with the half-width of the 95 % interval where its ends lie within a point of "
    "that, else with its ends; n counts answers, intervals count "
    "items. Overall is the mean of expert, community (weighted by items), multi-turn and "
    "hallucination (relevance and irrelevance); where a column is missing there is none. The paper "
    "does not define its own."
)
_wide = figures.wide


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the score of the leading condition, of the others, then its parts and error rates.

    Conditions are never pooled: the headline is of noisy sound, else of clean, else of the first
    other one, of the written text only where nothing else was asked. Each has Table 1's overall;
    where categories lack, the group that was asked, or the mean over all answers.
    """
    first, *others = marks.ranked(columns) or [""]
    group = whole(columns)
    found = [_scored(group, condition, columns) for condition in (first, *others)]
    found += _parts(first, group, columns)
    for part, told in (("wer", "word error rate"), ("entity_wer", "entity error rate")):
        if not np.isnan(columns.part(part)).all():
            rate = Average(part=part, share=True)
            found.append(Metric(part, rate, marks.mark(told, columns), "transcripts"))
    return found


def _scored(group: Group | None, condition: str, columns: Columns) -> Metric:
    plain = group.name if group else "accuracy"
    told = ", ".join(filter(None, (plain.replace("_", "-"), marks.named(condition, columns))))
    name = f"{plain}/{condition}".rstrip("/")
    return Metric(name, formula(group) if group else Mean(), told, "answers", (_in(condition),))


def _in(condition: str) -> Filter:
    return Filter(column="axes.condition", values=(condition,))


def _parts(condition: str, whole: Group | None, columns: Columns) -> Iterator[Metric]:
    """Go through the groups and columns of the leading condition that say more than its score."""
    mark = marks.named(condition, columns)
    for group in GROUPS:
        if group is not whole and complete(group, columns) and len(leaves(group)) > 1:
            told, name = f"{group.name.replace('_', '-')}, {mark}", f"{group.name}/{condition}"
            yield Metric(name, Of(rows=(_in(condition),), formula=formula(group)), told, "answers")
    names = [name for name in TOLD if len(column(columns, name))]
    for name in names if len(names) > 1 else ():
        share = Of(rows=(_in(condition), only(name)), formula=Mean())
        yield Metric(name, share, f"{TOLD[name]}, {mark}", "answers")


# --- one run ----------------------------------------------------------------------------


def views(task: Task, trajectory: Trajectory) -> Sequence[Table | Drawing | Audio]:
    """Return one episode to look at."""
    return speech_views.views(task, trajectory)


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return Table 1 of each reading; then what conditions cost, failures and what was heard.

    Readings that judge every answer alike stand together; those after the first have Table 1 only.
    """
    made: list[Table | Chart] = []
    for at, (reading, columns) in enumerate(distinct(readings).items()):
        if columns.run.any():
            made.append(main(reading, columns))
            if at == 0:
                made += [*speech_costs.compared(reading, columns)]
                made += speech_costs.effects(reading, columns)
    first = next(iter(readings.values()))
    views = (speech_heard.failures, speech_heard.questions, speech_heard.recognised,
             speech_heard.voices)  # fmt: skip
    return [*made, *(each for view in views for each in view(first))] if made else ()


def main(reading: str, columns: Columns) -> Table:
    """Return Table 1, on its side: a row per column of the paper's, a column per condition."""
    made = conditions(reading, columns)
    names = [f"{name} ({mark})" if mark else name for name, mark, *_ in made.rows]
    turned = zip(made.head[2:], *(row[2:] for row in made.rows), strict=True)
    rows = tuple(row for row in turned if any(cell is not None for cell in row[1:]))
    return replace(made, head=("", *names), rows=rows)


def conditions(reading: str, columns: Columns) -> Table:
    """Return Table 1: a row per condition, every column with its interval."""
    shown = [name for name in TOLD if len(column(columns, name))]
    rows: list[tuple[Cell, ...]] = []
    for condition in marks.conditions(columns):
        asked = marks.asked(columns, condition)
        cells = [_wide(measure(OVERALL, asked)), *(_wide(leaf(asked, name)) for name in shown)]
        mark = marks.marked(condition, columns)
        rows.append((condition, mark, int(asked.run.sum()), *cells))
    return Table(
        title=title(reading),
        head=("condition", "recognisers", "n", "overall", *(TOLD[name] for name in shown)),
        rows=tuple(rows),
        note=_NAMED + marks.note(columns),
    )


def title(reading: str) -> str:
    """Return the title of Table 1 in a reading."""
    return f"Accuracy by condition and category ({reading})"


# --- several runs -----------------------------------------------------------------------


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return Table 1 of each reading over several runs: a row per run and condition."""
    made: list[Table | Chart] = []
    for reading, runs in readings.items():
        ran = {name: columns for name, columns in runs.items() if columns.run.any()}
        if len(ran) < 2:
            continue
        own = {name: conditions(reading, columns) for name, columns in ran.items()}
        head = tuple(dict.fromkeys(column for table in own.values() for column in table.head))
        rows = [
            (name, *(dict(zip(table.head, row, strict=True)).get(column) for column in head))
            for name, table in own.items()
            for row in table.rows
        ]
        notes = dict.fromkeys(table.note for table in own.values())
        made.append(Table(title=title(reading), head=("run", *head), rows=tuple(rows),
                          note=max(notes, key=len)))  # fmt: skip
    return made
