"""BFCL's numbers: accuracy per category, the leaderboard's aggregates, error types, calls."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Cell, Chart, EpisodeFilter, Table
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import agentic_scoring, official_data, reply_decoding
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.official_bfcl.handler_views import TrajectoryView
from toolmark.official_bfcl.official_data import CATEGORIES
from toolmark.scoring.episode import Episode
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.failure_mode_tables import failed_answers
from toolmark.statistics.score_columns import Columns, ordered_levels
from toolmark.suites.bfcl import (
    format_sensitivity_tables,
    leaderboard,
    multi_turn_tables,
    rule_differences,
)

WEIGHTED_NOTE = " Groups are weighted as on the leaderboard."
MAX_NAMED_CATEGORIES = 6  # at most this many categories without a result are named


def present_categories(columns: Columns) -> list[str]:
    """Return the categories present, in the published order, unknown ones last."""
    return ordered_levels(columns.category, tuple(CATEGORIES))


def report_tables(columns_by_rule: Mapping[str, Columns]) -> list[Table | Chart]:
    """Return, per grading rule, accuracy by category and official error types by category."""
    results: list[Table | Chart] = []
    for rule, columns in columns_by_rule.items():
        results += [_accuracy_table(rule, columns), *_error_table(rule, columns)]
        results += multi_turn_tables.credit_tables(rule, columns)
    results += rule_differences.difference_tables(columns_by_rule)
    results += format_sensitivity_tables.format_tables(columns_by_rule)
    return results


def _accuracy_table(rule: str, columns: Columns) -> Table:
    metrics = leaderboard.leaderboard_metrics(columns)
    found = [metric.measure(columns) for metric in metrics]
    used = [x.value is not None and not x.partial for x in found]
    complete = list(itertools.compress(found, used))
    rows = [(x.name, x.value, x.low, x.high, x.n) for x in complete]
    groups = {group.name for group in leaderboard.GROUPS}
    note = WEIGHTED_NOTE if any(x.name in groups for x in complete) else ""
    note += _missing_note(columns) if any(x.partial for x in found) else ""
    table = Table(
        title=f"Accuracy by category ({rule})",
        head=("category", "accuracy", "low", "high", "n"),
        rows=tuple(rows),
        note=f"95 % intervals.{note}",
    )
    parts = (metric.rows_behind(columns) for metric in itertools.compress(metrics, used))
    return link_rows(table, columns, parts, rule=rule)


def _missing_note(columns: Columns) -> str:
    """Return a note on the categories whose absence leaves their groups without a number."""
    absent = leaderboard.missing_categories(columns)
    is_few = len(absent) <= MAX_NAMED_CATEGORIES
    listed = (
        ", ".join(absent)
        if is_few
        else f"{len(absent)} of {len(official_data.category_sizes())} categories"
    )
    return (
        " A group that lacks a category has no number here; --json and the CSV files count what "
        f"is missing as 0, as the leaderboard does. No result: {listed}."
    )


def _error_table(rule: str, columns: Columns) -> list[Table]:
    failed = failed_answers(columns)
    if not len(failed):
        return []
    present = present_categories(columns)
    parts = {
        (str(cause), str(native)): failed.where(
            (failed.cause == cause) & (failed.suite_cause == native)
        )
        for cause, native in sorted(set(zip(failed.cause, failed.suite_cause, strict=True)))
    }
    ordered = sorted(parts.items(), key=lambda each: -len(each[1]))
    table = Table(
        title=f"Failures by cause and official error type ({rule})",
        head=("cause", "error type", *present, "all"),
        rows=tuple(
            (*names, *(int((part.category == name).sum()) for name in present), len(part))
            for names, part in ordered
        ),
    )
    by_category = (*(EpisodeFilter(category=name) for name in present), EpisodeFilter())
    parts_in_order = (part for _, part in ordered)
    return [link_rows(table, columns, parts_in_order, rule=rule, n_names=2, columns=by_category)]


def episode_tables(episode: Episode) -> list[Table]:
    """Return the calls made next to what the truth accepts, parameter by parameter."""
    task, trajectory = episode.task, episode.trajectory
    if task.category.startswith("multi_turn_"):
        return multi_turn_tables.episode_tables(task, trajectory)
    if task.category in agentic_scoring.CATEGORIES:
        return [agentic_scoring.episode_table(task, trajectory)]
    decoded = reply_decoding.decode_reply(task, trajectory)
    truth = [] if task.data is None else read_task_data(task, BfclTaskData).truth
    rows: list[tuple[Cell, ...]] = []
    unmatched = list(decoded.calls)
    for number, expected in enumerate(truth, 1):
        name, accepted = next(iter(expected.items()))
        index = next((i for i, call in enumerate(unmatched) if call[0] == name), None)
        arguments = None if index is None else unmatched.pop(index)[1]
        rows += _call_rows(number, name, arguments, accepted)
    for number, (name, arguments) in enumerate(unmatched, len(truth) + 1):
        rows += _call_rows(number, name, arguments, {})
    note = decoded.reason or ("" if truth or decoded.calls else "nothing was called")
    return [
        Table(
            title="Calls and truth",
            head=("call", "tool", "parameter", "made", "accepted"),
            rows=tuple(rows),
            note=json_codec.escape_surrogates(note),
        )
    ]


def tables_of_view(view: TrajectoryView, episode: Episode) -> list[Table]:
    """Return the tables of an episode as the handler of an entry reads it."""
    return episode_tables(Episode(episode.task, view(episode.task, episode.trajectory)))


def _call_rows(
    number: int,
    name: str,
    arguments: Mapping[Any, Any] | None,
    accepted: Mapping[str, Sequence[Any]],
) -> list[tuple[Cell, ...]]:
    """Return a row per parameter; one row for a call without any."""
    name = json_codec.escape_surrogates(name)
    parameters = [*accepted, *(key for key in arguments or {} if key not in accepted)]
    if not parameters:
        return [(number, name, None, "called" if arguments is not None else None, None)]
    return [
        (
            number,
            name,
            json_codec.escape_surrogates(str(key)),
            _format_value(arguments[key]) if arguments is not None and key in arguments else None,
            " | ".join("(left out)" if x == "" else _format_value(x) for x in accepted[key])
            if key in accepted
            else None,
        )
        for key in parameters
    ]


def _format_value(value: Any) -> str:
    return json.dumps(json_codec.to_plain_json(value), ensure_ascii=False)
