"""Tables of a run: alignment by reading, by kind of task, call outcomes, tokens and steps.

Alignment is pooled over calls, as published: matched calls over all calls of the truths, every
other measure weighted by the calls of its truth. Rows that were not run are in no number here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from toolmark.runs.suite import Metric
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.interval import Vector
from toolmark.stats.summary import mean, share
from toolmark.suites.m3.outcome import OUTCOMES
from toolmark.types import Chart, Estimate, Series, Table

MEASURES = {
    "recall": "recall",
    "precision": "precision",
    "avg_sim_all_cov": "argument similarity",
    "step_coherence_cov": "step coherence",
    "order_consistency_cov": "order consistency",
    "merge_purity_cov": "merge purity",
}
JUDGED = {"task_completion": "task completion", "information_grounding": "information grounding"}
AVERAGES = {"avg6": "average of 6", "avg7": "average of 7", "avg8": "average of 8"}
AVERAGED = {"avg7": ("information_grounding",), "avg8": tuple(JUDGED)}
AXES = {"hops": "hops", "threads": "calls at once"}
_WEIGHTED = (
    "Pooled over calls, with 95 % intervals over tasks. Average of 6: of these six; of 7: with "
    "information grounding, as the paper's leaderboard; of 8: with task completion too."
)


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the headline, success where tasks have a final state or an answer, then the parts."""
    names = [*MEASURES, *(name for name in (*JUDGED, *AVERAGES) if _has(columns, name))]
    parts = [Metric(name, partial(pooled, name=name)) for name in names]
    if _has(columns, "success"):
        return [Metric("success", lambda rows: mean(rows, "success")), *parts]
    return [Metric("alignment", lambda rows: mean(rows, "alignment")), *parts]


def _has(columns: Columns, part: str) -> bool:
    return bool((~np.isnan(columns.part(part))).any())


def pooled(columns: Columns, name: str) -> Estimate:
    """Return a measure over the rows: a share of calls, a weighted mean, or a mean over tasks."""
    truth, made = columns.part("n_truth"), columns.part("n_made")
    if name == "recall":
        return share(name, columns.part("n_matched"), truth, columns.item)
    if name == "precision":
        return share(name, columns.part("n_matched"), made, columns.item)
    if name in MEASURES:
        return share(name, columns.part(name) * truth, truth, columns.item)
    if name in AVERAGES:
        return Estimate(name=name, value=_average(columns, name), n=int(columns.run.sum()))
    value = columns.part(name)  # of an episode without enough judges there is none
    return mean(replace(columns, value=value, run=columns.run & ~np.isnan(value)), name)


def _average(columns: Columns, name: str) -> float | None:
    """Return the mean of the pooled measures, as the reference code takes it."""
    more = AVERAGED.get(name, ())
    values = [pooled(columns, part).value for part in (*MEASURES, *more)]
    known = [value for value in values if value is not None]
    return sum(known) / len(values) if len(known) == len(values) else None


# --- one run ----------------------------------------------------------------------------


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, then the chart of its call outcomes."""
    first = next(iter(readings.values()))
    if not first.run.any():
        return ()
    made: list[Table | Chart] = [_alignment(readings), *_kinds(first), *_slices(first)]
    return [*made, _outcomes({"": first}), _work({"": first}), _stack({"calls": first})]


def _alignment(readings: Mapping[str, Columns]) -> Table:
    names = _names(next(iter(readings.values())))
    return Table(
        title="Alignment with the reference trajectories",
        head=("reading", *names.values()),
        rows=tuple(
            (reading, *(figures.share(pooled(rows, name)) for name in names))
            for reading, rows in readings.items()
        ),
        note=_WEIGHTED,
    )


def _names(columns: Columns) -> dict[str, str]:
    more = {**JUDGED, **AVERAGES}
    return MEASURES | {name: told for name, told in more.items() if _has(columns, name)}


def _kinds(columns: Columns) -> Iterator[Table]:
    yield from _by("Alignment by kind of task", "kind", columns, columns.category)


def _slices(columns: Columns) -> Iterator[Table]:
    for axis, told in AXES.items():
        yield from _by(f"Alignment by {told}", told, columns, columns.axis(axis))


def _by(title: str, head: str, columns: Columns, groups: Vector) -> Iterator[Table]:
    """Return a row per group; nothing where there is one group only."""
    found = list(dict.fromkeys(group for group in groups if group))
    if len(found) < 2:
        return
    names = _names(columns)
    rows: list[tuple[str | int | None, ...]] = []
    for group in found:
        part = columns.where(np.asarray(groups) == group)
        cells = (figures.share(pooled(part, name)) for name in names)
        rows.append((str(group), int(part.run.sum()), *cells))
    yield Table(title=title, head=(head, "n", *names.values()), rows=tuple(rows))


# --- calls and tokens -------------------------------------------------------------------


def _counted(columns: Columns, outcome: str) -> float:
    return float(np.nansum(columns.part(f"outcome:{outcome}")))


def _outcomes(runs: Mapping[str, Columns]) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for outcome, told in OUTCOMES.items():
        cells: list[str | float | None] = []
        for columns in runs.values():
            total = sum(_counted(columns, name) for name in OUTCOMES)
            n = _counted(columns, outcome)
            cells += [int(n), figures.percent(n / total) if total else None]
        rows.append((told, *cells))
    heads = [word for name in runs for word in (f"{name} calls".strip(), f"{name} share".strip())]
    return Table(
        title="What became of calls",
        head=("outcome", *heads),
        rows=tuple(rows),
        note="Decided by rule from what happened. A reply whose calls could not be read counts as "
        "one call of illegal format.",
    )


_WORK: dict[str, str] = {
    "tokens_in": "input tokens",
    "tokens_out": "output tokens",
    "n_steps": "steps with calls",
    "n_made": "calls",
    "n_replies": "replies",
    "latency_s": "seconds of replies",
}


def _work(runs: Mapping[str, Columns]) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for part, told in _WORK.items():
        means = [float(np.nanmean(c.part(part))) if _has(c, part) else None for c in runs.values()]
        rows.append((told, *means))
    heads = tuple(name or "mean" for name in runs)
    return Table(title="Tokens, steps and calls per task", head=("per task", *heads),
                 rows=tuple(rows))  # fmt: skip


def _stack(runs: Mapping[str, Columns]) -> Chart:
    shares: Callable[[Columns], list[float]] = _shares
    found = [shares(columns) for columns in runs.values()]
    x = tuple(float(row) for row in range(len(runs)))
    return Chart(
        title="What became of calls, by share",
        kind="stack",
        series=tuple(
            Series(name=told, x=x, y=tuple(row[at] for row in found))
            for at, told in enumerate(OUTCOMES.values())
        ),
        ticks=tuple(runs),
        y_label="share of calls",
    )


def _shares(columns: Columns) -> list[float]:
    counts = [_counted(columns, outcome) for outcome in OUTCOMES]
    total = sum(counts)
    return [n / total if total else 0.0 for n in counts]


# --- several runs -----------------------------------------------------------------------


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return the leaderboard of each reading, then outcomes and work of the runs side by side."""
    made: list[Table | Chart] = []
    for reading, runs in readings.items():
        ran = {name: columns for name, columns in runs.items() if columns.run.any()}
        if len(ran) > 1:
            made.append(board(reading, ran))
    if not made:
        return ()
    runs = next(iter(readings.values()))
    ran = {name: columns for name, columns in runs.items() if columns.run.any()}
    return [*made, _outcomes(ran), _work(ran), _stack(ran)]


def leaderboard(reading: str) -> str:
    """Return the title of a leaderboard."""
    return f"Leaderboard ({reading})"


def board(reading: str, runs: Mapping[str, Columns]) -> Table:
    """Return a row per run with every measure that any of them has."""
    names = dict(pair for columns in runs.values() for pair in _names(columns).items())
    rows: list[tuple[str | float | None, ...]] = []
    for run, columns in runs.items():
        rows.append((run, int(columns.run.sum()), *(pooled(columns, n).value for n in names)))
    return Table(
        title=leaderboard(reading),
        head=("run", "n", *names.values()),
        rows=tuple(rows),
        note=_WEIGHTED.replace(", with 95 % intervals over tasks", ""),
        heat=len(names),
    )
