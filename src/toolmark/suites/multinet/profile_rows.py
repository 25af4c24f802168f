"""The rows of the profile: which runs it shows, and what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from toolmark.runs.suite import ComparedRun
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet import paper_comparison, report_tables
from toolmark.suites.multinet.multinet_families import (
    FAMILIES_BY_BASELINE,
    default_setting,
)

ColumnsByRow: TypeAlias = Mapping[str, Mapping[str, Columns]]
"""Columns by the name of a row, then by family."""
_BASELINE_MODELS = tuple(f"baseline/{name}" for name in FAMILIES_BY_BASELINE)
_SIZE_SETTINGS = ("seed", "items", "form", "repeats", "limit", "sample", "tasks")
"""Settings that change a run's size or sample, but not its kind; forms are separate rows."""


class _ProfileRow(NamedTuple):
    """The key of a row: the model, the form, and how its settings differ from the defaults."""

    model: str
    form: str
    distinguishing_settings: str = ""


def select_runs(runs: Sequence[ComparedRun]) -> tuple[ColumnsByRow, list[str]]:
    """Return the rows, with the newest of runs that have equal settings, and notes about this.

    A run whose settings differ from the defaults has its own row, labelled with the difference.
    Baselines are reference values, not rows, unless there are only baselines.
    """
    model_runs = [run for run in runs if run.model not in _BASELINE_MODELS]
    omitted_models = {run.model for run in runs if model_runs} - {run.model for run in model_runs}
    describe_distinction = _distinction_describers(model_runs or runs)
    columns_by_row: dict[_ProfileRow, dict[str, Columns]] = {}
    count: Counter[tuple[_ProfileRow, str]] = Counter()
    for run in sorted(model_runs or runs, key=lambda run: run.created, reverse=True):
        columns = next(iter(run.columns_by_rule.values()))
        family = paper_comparison.family_of_rows(columns)
        if not family or not columns.run.any():
            continue
        for form in report_tables.present_forms(columns) or [""]:
            row = _ProfileRow(run.model, form, describe_distinction[run.model, family](run))
            count[row, family] += 1
            columns_by_row.setdefault(row, {}).setdefault(family, _rows_of_form(columns, form))
    notes = dict.fromkeys(
        _newest_run_note(row, family, n) for (row, family), n in count.items() if n > 1
    )
    floors = f"Not among the models: {', '.join(sorted(omitted_models))}." if omitted_models else ""
    models = list(dict.fromkeys(run.model for run in runs))
    return _label_rows(columns_by_row, models), [*notes, *filter(None, [floors])]


def _distinction_describers(
    runs: Sequence[ComparedRun],
) -> Mapping[tuple[str, str], Callable[[ComparedRun], str]]:
    """Return functions that describe how runs of a model and family differ, "" for usual settings.

    A setting that is equal in all runs is not described: it counts as usual.
    """
    grouped: dict[tuple[str, str], list[ComparedRun]] = {}
    for run in runs:
        grouped.setdefault(
            (run.model, paper_comparison.family_of_rows(next(iter(run.columns_by_rule.values())))),
            [],
        ).append(run)
    return {
        model_family: partial(_unusual_settings, model_family[1], _differing_settings(group_runs))
        for model_family, group_runs in grouped.items()
    }


def _differing_settings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the settings in which runs differ; one that is unset in only some runs differs too."""
    names = dict.fromkeys(
        name for run in runs for name in run.distinguishing_settings if name not in _SIZE_SETTINGS
    )
    return [
        name for name in names if len({run.distinguishing_settings.get(name) for run in runs}) > 1
    ]


def _unusual_settings(family: str, names: Sequence[str], run: ComparedRun) -> str:
    """Return a text about those settings that are not usual."""
    values = {name: run.distinguishing_settings.get(name) for name in names}
    return ", ".join(
        f"{name} unset" if value is None else f"{name}={value}"
        for name, value in values.items()
        if value != default_setting(family, name)
    )


def _rows_of_form(columns: Columns, form: str) -> Columns:
    return columns.where(columns.axis("form") == form) if form else columns


def _newest_run_note(row: _ProfileRow, family: str, n: int) -> str:
    name = (
        f"{row.model} ({row.distinguishing_settings})" if row.distinguishing_settings else row.model
    )
    return f"{name} on {family}: the newest of {n} runs."


def _label_rows(
    columns_by_row: Mapping[_ProfileRow, dict[str, Columns]], models: Sequence[str]
) -> ColumnsByRow:
    """Label rows with the model, the form if both were asked, and what else makes them different.

    Models are in the order of their runs, each with its default settings first.
    """
    several_forms = len({row.form for row in columns_by_row}) > 1
    rows = sorted(
        columns_by_row,
        key=lambda row: (models.index(row.model), row.distinguishing_settings, row.form),
    )
    labelled: dict[str, dict[str, Columns]] = {}
    for row in rows:
        form_note = f", by {row.form}" if several_forms else ""
        apart_note = f" ({row.distinguishing_settings})" if row.distinguishing_settings else ""
        labelled[f"{row.model}{form_note}{apart_note}"] = columns_by_row[row]
    return labelled
