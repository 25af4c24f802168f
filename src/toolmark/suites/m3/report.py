"""Tables of a run: alignment by kind of task, call outcomes, tools, tokens and steps.

Alignment is pooled over calls, as published: matched calls over all calls of the truths, every
other measure weighted by the calls of its truth. Rows that were not run are in no number here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Filter, Formula, Mean, MeanOf, Metric, Of, Rate
from toolmark.stats.interval import Vector
from toolmark.stats.summary import mean
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
TOOL = "tool:"  # parts of a verdict: tool:OUTCOME:NAME, how many calls of a tool came to what
NO_TOOL = "(no such tool)"
MISSED = "missed"  # a part: 1 of a prediction that a file of others lacks
_POOLED = (
    "Recall to merge purity are pooled over calls, with 95 % intervals over tasks. Average of 6: "
    "of these six; of 7: with information grounding, as the paper's leaderboard; of 8: with task "
    "completion too."
)


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the headline, success where tasks have a final state or an answer, then the parts."""
    parts = [
        Metric(name, formula(name), told, _unit(name)) for name, told in _names(columns).items()
    ]
    if not _has(columns, "success"):
        return [Metric("alignment", Mean(), unit="episodes"), *parts]
    success = Metric("success", Mean(), unit="episodes")
    return [success, *_successes(columns), *parts]


def _unit(name: str) -> str:
    """Return what the n of a measure counts."""
    if name == "precision":
        return "calls made"
    return "reference calls" if name in MEASURES else "episodes"


def _successes(columns: Columns) -> Iterator[Metric]:
    """Go through success by kind of task, where there are several."""
    kinds = _found(columns.category)
    for kind in kinds if len(kinds) > 1 else ():
        share = Of(rows=(Filter(column="category", values=(kind,)),), formula=Mean())
        yield Metric(f"success/{kind}", share, f"success, {kind}", "episodes")


def _found(groups: Vector) -> list[str]:
    return [str(group) for group in dict.fromkeys(groups) if group]


def _has(columns: Columns, part: str) -> bool:
    return bool((~np.isnan(columns.part(part))).any())


def formula(name: str) -> Formula:
    """Return a measure as a formula: a share of calls, a weighted mean, or a mean over tasks."""
    if name == "recall":
        return Rate(part="n_matched", of="n_truth")
    if name == "precision":
        # calls were asked for and none were made: 0, as in align.aggregate, not unknown
        return Rate(part="n_matched", of="n_made", zero="n_truth")
    if name in MEASURES:
        return Rate(part=name, of="n_truth", weighted=True)
    if name in AVERAGES:  # the mean of the pooled measures, as the reference code takes it
        return MeanOf(formulas=tuple(map(formula, (*MEASURES, *AVERAGED.get(name, ())))))
    # of an episode without enough judges there is none; what was never done is worth nothing
    return Mean(part=name, zero=MISSED)


def pooled(columns: Columns, name: str) -> Estimate:
    """Return a measure over the rows."""
    return replace(formula(name).measure(columns), name=name)


# --- one run ----------------------------------------------------------------------------


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, then the chart of its call outcomes."""
    first = next(iter(readings.values()))
    if not first.run.any():
        return ()
    made: list[Table | Chart] = [_alignment(first), *_kinds(first), *_slices(first)]
    return [*made, _outcomes({"": first}), *_tools(first), _work({"": first}),
            _stack({"calls": first})]  # fmt: skip


def _alignment(columns: Columns) -> Table:
    """Return the measures of the headline; a page that has them already keeps the note only."""
    found = {told: pooled(columns, name) for name, told in _names(columns).items()}
    return Table(
        title="Alignment with the reference trajectories",
        head=("measure", "value", "low", "high", "n"),
        rows=tuple((told, x.value, x.low, x.high, x.n) for told, x in found.items()),
        note=_POOLED,
    )


def _names(columns: Columns) -> dict[str, str]:
    more = {**JUDGED, **AVERAGES}
    return MEASURES | {name: told for name, told in more.items() if _has(columns, name)}


def _kinds(columns: Columns) -> Iterator[Table]:
    yield from _by("kind of task", columns, columns.category)


def _slices(columns: Columns) -> Iterator[Table]:
    for axis, told in AXES.items():
        yield from _by(told, columns, columns.axis(axis))


def _by(told: str, columns: Columns, groups: Vector) -> Iterator[Table]:
    """Return a row per group; nothing where there is one group only."""
    found = _found(groups)
    if len(found) < 2:
        return
    names = _names(columns)
    averages = [name for name in AVERAGES if name in names]
    names = {name: told for name, told in names.items() if name not in averages[:-1]}  # the fullest
    headline = "success" if _has(columns, "success") else "alignment"
    rows: list[tuple[str | int | float | None, ...]] = []
    for group in found:
        part = columns.where(np.asarray(groups) == group)
        cells = (pooled(part, name).value for name in names)
        rows.append((group, int(part.run.sum()), figures.share(mean(part, headline)), *cells))
    yield Table(
        title=f"{headline.capitalize()} by {told}",
        head=(told, "episodes", f"{headline} [95 % interval]", *names.values()),
        rows=tuple(rows),
        heat=len(names),
    )


# --- calls and tokens -------------------------------------------------------------------


def _counted(columns: Columns, outcome: str) -> float:
    return float(np.nansum(columns.part(f"outcome:{outcome}")))


def _outcomes(runs: Mapping[str, Columns]) -> Table:
    rows: list[tuple[str | None, ...]] = []
    for outcome, told in OUTCOMES.items():
        cells: list[str | None] = []
        for columns in runs.values():
            total = sum(_counted(columns, name) for name in OUTCOMES)
            n = _counted(columns, outcome)
            cells.append(f"{int(n)} ({figures.percent(n / total)})" if total else None)
        rows.append((told, *cells))
    return Table(
        title="What became of calls",
        head=("outcome", *(name or "calls" for name in runs)),
        rows=tuple(rows),
        note="Decided by rule from what happened. A reply whose calls could not be read counts as "
        "one call of illegal format.",
    )


def _tools(columns: Columns) -> Iterator[Table]:
    """Return the calls by server and tool; nothing where no call was executed."""
    counts: dict[str, Counter[str]] = {}
    for part in columns.parts:
        if part.startswith(TOOL):
            came_to, _, tool = part.removeprefix(TOOL).partition(":")
            counts.setdefault(tool, Counter())[came_to] += int(np.nansum(columns.part(part)))
    if not counts:
        return
    met = [name for name in OUTCOMES if any(found[name] for found in counts.values())]
    rows: list[tuple[str | int, ...]] = []
    for tool, found in sorted(counts.items()):
        server, _, name = tool.rpartition("/")
        rows.append((server, name, found.total(), *(found[each] for each in met)))
    yield Table(
        title="Calls by server and tool",
        head=("server", "tool", "calls", *(name.replace("_", " ") for name in met)),
        rows=tuple(rows),
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
        note=_POOLED.replace(", with 95 % intervals over tasks", ""),
        heat=len(names),
    )
