"""Pilot runs: what they say of the variance of a headline, and of the cost of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from toolmark.core.errors import UsageError
from toolmark.core.number_format import pluralize
from toolmark.runs import run_preparation
from toolmark.runs.costs.run_usage import measure_run_usage
from toolmark.runs.planning.study_plan import PilotRecord, differing_parameters
from toolmark.runs.run_settings import Connection
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    finishing_command_of,
    missing_files_message,
    read_presentation,
)
from toolmark.runs.suite import Suite
from toolmark.statistics.linearisation import Linearisation
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.planned_precision import PlannedNumber
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.statistics.variance_components import estimate_components

FEWEST_ITEMS = 5  # that ran; with fewer a variance says nothing
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Pilot:
    """A stored run: its rows under the headline's grading rule, and all items that it asked.

    `headline` is the displayed name of its own headline.
    """

    run: Run
    record: PilotRecord
    columns: Columns
    items: frozenset[str]
    headline: str


def read_pilot(path: Path, suite: Suite) -> Pilot:
    """Return a stored run as the pilot of a suite. Raises UsageError, DataError."""
    run = Run(path)
    _check_same_suite(run, suite)
    presentation = read_presentation(run)
    if presentation is None:
        raise UsageError(f"{path}: {missing_files_message(run)}; next: {finishing_command_of(run)}")
    rule = presentation.rules[0]
    head = presentation.metrics[rule][0]
    columns = gather_columns(run.scores(), rule)
    rows = head.select_rows(columns)
    n_items = len(set(rows.item[rows.run]))
    if n_items < FEWEST_ITEMS:
        raise UsageError(
            f"{path}: {pluralize(n_items, 'item')} ran, and a variance needs at least "
            f"{FEWEST_ITEMS}; next: a pilot of 30 items or more"
        )
    found = head.formula.linearise(rows)
    if found.value is None or not np.square(found.influence).sum() > _ROUNDING**2:
        raise UsageError(
            f"{path}: all answers count the same, so the pilot shows no variance; next: a pilot of "
            "more items, or --expect 0.9 with a score that you expect"
        )
    record = PilotRecord(
        run=str(path),
        model=run.info.plan.model,
        base_url=run.info.plan.base_url,
        sampling=run.info.plan.sampling,
        tasks_sha256=run.info.tasks_sha256,
        settings_sha256=run.info.plan.sha256,
        n_items=n_items,
        value=_whole_value(found),
        agent=run.info.plan.agent,
    )
    items = (task.item or task.id for task in run.tasks() if task.kind == "scored")
    return Pilot(run, record, columns, frozenset(items), head.label)


def adapt_to_pilot(
    suite: Suite, paths: Sequence[Path], model: str | None, tool_format: str | None
) -> Suite:
    """Return the suite as it asks the model of the first pilot, else the named one.

    Some suites leave out what cannot be asked in a tool format. Raises UsageError for an unknown
    tool format.
    """
    if paths:
        request = Run(paths[0]).info.plan
        model, tool_format = request.model, tool_format or request.tool_format
    if tool_format not in (None, *suite.tool_formats):
        suite = run_preparation.add_installed_parts(suite, tool_format)
    try:
        return run_preparation.adapt_to_model(suite, model, tool_format, Connection())
    except UsageError:  # the name of a Python object, or an address that is not known here
        return run_preparation.adapt_to_model(suite, None, tool_format, Connection())


def _check_same_suite(run: Run, suite: Suite) -> None:
    plan, path = run.info.plan, run.path
    if plan.suite != suite.name:
        raise UsageError(
            f"{path}: a run of suite {plan.suite!r}, not of {suite.name!r}; next: toolmark plan "
            f"{plan.suite}, or another pilot"
        )
    if names := differing_parameters(plan.parameters, suite.parameters):
        wanted = ", ".join(f"{name} = {plan.parameters.get(name)!r:.60}" for name in names)
        raise UsageError(
            f"{path}: the pilot has other parameters ({wanted}); next: give the same by -T, or "
            "another pilot"
        )
    if run.info.seed != suite.provenance.seed:
        raise UsageError(
            f"{path}: the pilot asked the tasks of seed {run.info.seed}; next: --seed "
            f"{run.info.seed}, or another pilot"
        )


def _whole_value(found: Linearisation) -> float:
    """Return the value with weights that sum to 1, where categories of the headline are missing."""
    total = float(found.weight.sum())
    value = found.value or 0.0
    return value / total if 0 < total < 1 - _ROUNDING else value


def number_components(pilot: Pilot, head: Metric) -> PlannedNumber:
    """Return a headline over a pilot with its variance components.

    Raises UsageError where the pilot shows no variance of it.
    """
    rows = head.select_rows(pilot.columns)
    found = head.formula.linearise(rows)
    components = estimate_components(found, rows)
    if found.value is None or not components.total > 0:
        raise UsageError(
            f"{pilot.record.run}: the pilot shows no variance of {head.label}, which the planned "
            "run reports; next: a pilot of more items"
        )
    return PlannedNumber(
        value=_whole_value(found),
        components=components,
        is_share=found.scale == "share",
        is_binary=_is_binary(found),
    )


def _is_binary(found: Linearisation) -> bool:
    """Return whether each row counts as right or wrong."""
    rows = np.flatnonzero(found.counted & (found.weight > 0))
    own = found.influence[rows] / found.weight[rows] + found.centre[rows]
    return bool((np.minimum(np.abs(own), np.abs(own - 1)) < 1e-6).all())


def difference_components(a: Pilot, b: Pilot, head: Metric) -> PlannedNumber:
    """Return the difference of two pilots, on the episodes that both ran, with its components.

    Raises UsageError where they have fewer than FEWEST_ITEMS items in common, or never differ.
    """
    all_a, all_b = (head.select_rows(each.columns) for each in (a, b))
    key_a, key_b = ([*zip(each.task, each.repeat.tolist(), strict=True)] for each in (all_a, all_b))
    at_b = {key: at for at, key in enumerate(key_b) if all_b.run[at]}
    pairs = [(at, at_b[key]) for at, key in enumerate(key_a) if all_a.run[at] and key in at_b]
    rows_a = all_a.where(np.array([at for at, _ in pairs], dtype=np.int64))
    rows_b = all_b.where(np.array([at for _, at in pairs], dtype=np.int64))
    n_items = len(set(rows_a.item))
    if n_items < FEWEST_ITEMS:
        raise UsageError(
            f"{a.record.run} and {b.record.run} have {pluralize(n_items, 'item')} in common, and a "
            f"variance needs at least {FEWEST_ITEMS}; next: two pilots of the same tasks"
        )
    one, two = (head.formula.linearise(rows) for rows in (rows_a, rows_b))
    joint = replace(
        one,
        counted=one.counted | two.counted,
        influence=one.influence - two.influence,
        weight=(one.weight + two.weight) / 2,
    )
    components = estimate_components(joint, rows_a)
    if not components.total > 0:
        raise UsageError(
            f"{a.record.run} and {b.record.run} never differ, so they show no variance; next: one "
            "of them, and --correlation 0.5"
        )
    return PlannedNumber(
        value=a.record.value,
        components=components,
        is_share=one.scale == "share" and two.scale == "share",
        is_binary=_is_binary(one) and _is_binary(two),
    )


# --- costs ------------------------------------------------------------------------------


def _count_scored(pilot: Pilot) -> int:
    """Return how many episodes were scored, those of varied tasks too: they cost as much."""
    return sum(score.failure is None for score in pilot.run.scores())


def usd_of_episode(pilot: Pilot) -> float | None:
    """Return what a scored episode of the pilot cost on average, as if its replies were new.

    That is all that is known: the model, also in episodes that set others up, the simulated user
    and judges, by the prices of the run. None where the model's cost is not known.
    """
    usage = measure_run_usage(pilot.run)
    n_scored = _count_scored(pilot)
    if usage.cost is None or usage.cost.model.new_usd is None or not n_scored:
        return None
    parts = (usage.cost.model, usage.cost.user, usage.cost.judges)
    return sum(each.new_usd or 0.0 for each in parts) / n_scored


def tokens_of_episode(pilot: Pilot) -> tuple[float, float] | None:
    """Return the mean tokens of a scored episode, input and output; None where none are known."""
    usage = measure_run_usage(pilot.run)
    n_scored = _count_scored(pilot)
    if not n_scored or not (usage.tokens.input or usage.tokens.output):
        return None
    return usage.tokens.input / n_scored, usage.tokens.output / n_scored
