"""BFCL's numbers: accuracy per category, the leaderboard's aggregates, error types, calls."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from toolmark import codec
from toolmark.runs.suite import Metric
from toolmark.stats.columns import Columns
from toolmark.stats.summary import mean
from toolmark.suites.bfcl import decode, turn_tables
from toolmark.suites.bfcl.data import CATEGORIES
from toolmark.types import Chart, Estimate, Table, Task, Trajectory

Cell: TypeAlias = str | float | int | None


@dataclass(frozen=True, slots=True)
class Even:
    """A mean in which every member counts alike, however many entries it has."""

    name: str
    members: tuple[Even | Pooled | str, ...]


@dataclass(frozen=True, slots=True)
class Pooled:
    """A mean over the entries of all members."""

    name: str
    members: tuple[str, ...]


# the leaderboard's aggregates (specification section 7)
AGGREGATES: tuple[Even | Pooled, ...] = (
    Even("non_live", ("simple_python", "multiple", "parallel", "parallel_multiple")),
    Pooled("live", ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")),
    Even("irrelevance_detection", ("irrelevance", "live_irrelevance")),
)


def metrics(columns: Columns) -> list[Metric]:
    """Return accuracy, then each category and aggregate of which there are entries.

    An aggregate is taken over the categories present.
    """
    present = categories(columns)
    wanted: list[Even | Pooled | str] = [*present]
    wanted += [node for node in AGGREGATES if len(set(_leaves(node)) & set(present)) > 1]
    return [
        Metric("accuracy", partial(mean, name="accuracy")),
        *(Metric(_name(node), partial(_measure, node)) for node in wanted),
    ]


def categories(columns: Columns) -> list[str]:
    """Return the categories present, in the published order, unknown ones last."""
    order = {name: place for place, name in enumerate(CATEGORIES)}
    return sorted(set(columns.category), key=lambda name: (order.get(name, len(order)), name))


def _name(node: Even | Pooled | str) -> str:
    return node if isinstance(node, str) else node.name


def _leaves(node: Even | Pooled | str) -> list[str]:
    if isinstance(node, str):
        return [node]
    return [leaf for member in node.members for leaf in _leaves(member)]


def _measure(node: Even | Pooled | str, columns: Columns) -> Estimate:
    match node:
        case str():
            return mean(columns.where(columns.category == node), node)
        case Pooled(name, members):
            return mean(columns.where(np.isin(columns.category, members)), name)
        case Even(name, members):
            parts = [_measure(member, columns) for member in members]
            return even(name, [part for part in parts if part.value is not None])


def even(name: str, parts: Sequence[Estimate]) -> Estimate:
    """Average independent estimates; the interval is recovered from theirs.

    Method of variance estimates recovery (Zou and Donner 2008, doi 10.1002/sim.3095). No parts,
    no value.
    """
    k = len(parts)
    if not k:
        return Estimate(name=name)
    value = sum(part.value or 0.0 for part in parts) / k
    below = math.hypot(*((part.value or 0.0) - (part.low or 0.0) for part in parts)) / k
    above = math.hypot(*((part.high or 0.0) - (part.value or 0.0) for part in parts)) / k
    return Estimate(
        name=name,
        value=value,
        low=max(0.0, value - below),
        high=min(1.0, value + above),
        n=sum(part.n for part in parts),
        worst=sum(part.worst or 0.0 for part in parts) / k,
        best=sum(part.best or 0.0 for part in parts) / k,
    )


def tables(readings: Mapping[str, Columns]) -> list[Table | Chart]:
    """Return, per reading, accuracy by category and official error types by category."""
    made: list[Table | Chart] = []
    for reading, columns in readings.items():
        made += [_accuracy(reading, columns), *_errors(reading, columns)]
        made += turn_tables.tables(reading, columns)
    return made


def _accuracy(reading: str, columns: Columns) -> Table:
    found = [metric.measure(columns) for metric in metrics(columns)]
    rows = [(part.name, part.value, part.low, part.high, part.n) for part in found]
    return Table(
        title=f"Accuracy by category ({reading})",
        head=("category", "accuracy", "low", "high", "n"),
        rows=tuple(rows),
        note="95 % intervals. non_live and irrelevance_detection count their categories alike, "
        "live counts entries, as the leaderboard does; over the categories that ran.",
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
