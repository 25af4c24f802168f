"""BFCL's numbers: accuracy per category, the leaderboard's aggregates, error types, calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from toolmark import codec
from toolmark.stats.columns import Columns
from toolmark.suites.bfcl import agentic_score, decode, format_report, leaderboard, turn_tables
from toolmark.suites.bfcl import readings as differ
from toolmark.suites.bfcl.data import CATEGORIES
from toolmark.types import Chart, Table, Task, Trajectory

Cell: TypeAlias = str | float | int | None

WEIGHTED = " Groups are weighted as on the leaderboard."
NAMED = 6  # categories without a result that are named


def categories(columns: Columns) -> list[str]:
    """Return the categories present, in the published order, unknown ones last."""
    order = {name: place for place, name in enumerate(CATEGORIES)}
    return sorted(set(columns.category), key=lambda name: (order.get(name, len(order)), name))


def tables(readings: Mapping[str, Columns]) -> list[Table | Chart]:
    """Return, per reading, accuracy by category and official error types by category."""
    made: list[Table | Chart] = []
    for reading, columns in readings.items():
        made += [_accuracy(reading, columns), *_errors(reading, columns)]
        made += turn_tables.tables(reading, columns)
    made += differ.tables(readings)
    made += format_report.tables(readings)
    return made


def _accuracy(reading: str, columns: Columns) -> Table:
    found = [metric.measure(columns) for metric in leaderboard.metrics(columns)]
    told = [x for x in found if x.value is not None and not x.partial]
    rows = [(x.name, x.value, x.low, x.high, x.n) for x in told]
    groups = {group.name for group in leaderboard.GROUPS}
    note = WEIGHTED if any(x.name in groups for x in told) else ""
    note += _absent(columns) if any(x.partial for x in found) else ""
    return Table(
        title=f"Accuracy by category ({reading})",
        head=("category", "accuracy", "low", "high", "n"),
        rows=tuple(rows),
        note=f"95 % intervals.{note}",
    )


def _absent(columns: Columns) -> str:
    """Say which categories leave their groups without a number here."""
    absent = leaderboard.missing(columns)
    few = len(absent) <= NAMED
    told = ", ".join(absent) if few else f"{len(absent)} of {len(leaderboard.ENTRIES)} categories"
    return (
        " A group that lacks a category has no number here; --json and the CSV files count what "
        f"is missing as 0, as the leaderboard does. No result: {told}."
    )


def _errors(reading: str, columns: Columns) -> list[Table]:
    failed = columns.where(columns.run & ~columns.correct)
    if not len(failed):
        return []
    present = categories(columns)
    rows: list[tuple[Cell, ...]] = []
    for cause, native in sorted(set(zip(failed.cause, failed.native, strict=True))):
        chosen = failed.where((failed.cause == cause) & (failed.native == native))
        counts = [int((chosen.category == name).sum()) for name in present]
        rows.append((cause, native, *counts, len(chosen)))
    rows.sort(key=lambda row: -int(row[-1] or 0))
    title = f"Failures by cause and official error type ({reading})"
    return [Table(title=title, head=("cause", "error type", *present, "all"), rows=tuple(rows))]


def views(task: Task, trajectory: Trajectory) -> list[Table]:
    """Return the calls made beside what the truth accepts, parameter by parameter."""
    if task.category.startswith("multi_turn_"):
        return turn_tables.views(task, trajectory)
    if task.category in agentic_score.CATEGORIES:
        return [agentic_score.view(task, trajectory)]
    made = decode.made(task, trajectory)
    truth = [] if task.reference is None else task.reference["truth"]
    rows: list[tuple[Cell, ...]] = []
    left = list(made.calls)
    for number, expected in enumerate(truth, 1):
        name, wanted = next(iter(expected.items()))
        index = next((i for i, call in enumerate(left) if call[0] == name), None)
        given = None if index is None else left.pop(index)[1]
        rows += _rows(number, name, given, wanted)
    for number, (name, given) in enumerate(left, len(truth) + 1):
        rows += _rows(number, name, given, {})
    note = made.why or ("" if truth or made.calls else "nothing was called")
    return [
        Table(
            title="Calls and truth",
            head=("call", "tool", "parameter", "made", "accepted"),
            rows=tuple(rows),
            note=codec.escape(note),
        )
    ]


def _rows(
    number: int, name: str, given: Mapping[Any, Any] | None, wanted: Mapping[str, Sequence[Any]]
) -> list[tuple[Cell, ...]]:
    """Return a row per parameter; one row for a call without any."""
    name = codec.escape(name)
    parameters = [*wanted, *(key for key in given or {} if key not in wanted)]
    if not parameters:
        return [(number, name, None, "called" if given is not None else None, None)]
    return [
        (
            number,
            name,
            codec.escape(str(key)),
            _shown(given[key]) if given is not None and key in given else None,
            " | ".join("(left out)" if x == "" else _shown(x) for x in wanted[key])
            if key in wanted
            else None,
        )
        for key in parameters
    ]


def _shown(value: Any) -> str:
    return json.dumps(codec.plain(value), ensure_ascii=False)
