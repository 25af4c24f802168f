"""Tables of a run: alignment by kind of task, call outcomes, tools, tokens and steps.

Alignment is pooled over calls, as in the paper: recall is matched calls over all calls of the
references, precision is matched calls over all calls made, and every other measure is weighted by
the calls of its reference. Episodes that were not run are in no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import Chart, EpisodeFilter, Estimate, Table
from toolmark.statistics.confidence_intervals import Vector
from toolmark.statistics.estimate_charts import stacked_bars
from toolmark.statistics.group_tables import CellFunction, count_run, group_table, part_mean
from toolmark.statistics.metric_formulas import (
    FilteredFormula,
    Formula,
    Mean,
    MeanOfFormulas,
    Metric,
    PooledRate,
)
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, runs_with_answers
from toolmark.statistics.table_cells import mean_share_cell
from toolmark.suites.m3.call_outcomes import OUTCOME_DESCRIPTIONS, Outcome

ALIGNMENT_MEASURES = {
    "recall": "recall",
    "precision": "precision",
    "avg_sim_all_cov": "argument similarity",
    "step_coherence_cov": "step coherence",
    "order_consistency_cov": "order consistency",
    "merge_purity_cov": "merge purity",
}
JUDGED_MEASURES = {
    "task_completion": "task completion",
    "information_grounding": "information grounding",
}
AVERAGE_LABELS = {"avg6": "average of 6", "avg7": "average of 7", "avg8": "average of 8"}
AVERAGE_PARTS = {"avg7": ("information_grounding",), "avg8": tuple(JUDGED_MEASURES)}
AXIS_LABELS = {"hops": "hops", "threads": "calls at once"}
# Parts of a verdict: tool:OUTCOME:NAME is the number of calls of a tool with that outcome.
TOOL_PREFIX = "tool:"
UNKNOWN_TOOL_LABEL = "(no such tool)"
# A part of a verdict: 1 if an imported file has no prediction for the task.
MISSING_PART = "missed"
_POOLING_NOTE = (
    "Recall to merge purity are pooled over calls, with 95 % intervals over tasks. Average of 6: "
    "of these six; of 7: with information grounding, as the paper's leaderboard; of 8: with task "
    "completion too."
)


def list_metrics(columns: Columns) -> Sequence[Metric]:
    """Return the metrics: success if tasks have a final state or an answer, then the measures.

    Without success, alignment is the headline.
    """
    parts = [
        Metric(name, measure_formula(name), label, _measure_unit(name))
        for name, label in _measure_names(columns).items()
    ]
    if not _has_values(columns, "success"):
        return [Metric("alignment", Mean(), unit="episodes"), *parts]
    success = Metric("success", Mean(), unit="episodes")
    return [success, *_success_by_kind(columns), *parts]


def _measure_unit(name: str) -> str:
    """Return what the n of a measure counts."""
    if name == "precision":
        return "calls made"
    return "reference calls" if name in ALIGNMENT_MEASURES else "episodes"


def _success_by_kind(columns: Columns) -> Iterator[Metric]:
    """Yield success by kind of task, if there are several kinds."""
    kinds = _distinct_groups(columns.category)
    for kind in kinds if len(kinds) > 1 else ():
        share = FilteredFormula(
            filters=(RowFilter(column="category", values=(kind,)),), formula=Mean()
        )
        yield Metric(f"success/{kind}", share, f"success, {kind}", "episodes")


def _distinct_groups(groups: Vector) -> list[str]:
    return [str(group) for group in dict.fromkeys(groups) if group]


def _has_values(columns: Columns, part: str) -> bool:
    return bool((~np.isnan(columns.part(part))).any())


def measure_formula(name: str) -> Formula:
    """Return the formula of a measure: a share of calls, a weighted mean, or a mean over tasks."""
    if name == "recall":
        return PooledRate(part="n_matched", total_part="n_truth")
    if name == "precision":
        # Where calls were expected and none were made precision is 0, as in `aggregate_alignments`.
        return PooledRate(part="n_matched", total_part="n_made", attempts_part="n_truth")
    if name in ALIGNMENT_MEASURES:
        return PooledRate(part=name, total_part="n_truth", is_weighted=True)
    # The mean of the pooled measures, as in the reference code.
    if name in AVERAGE_LABELS:
        return MeanOfFormulas(
            formulas=tuple(
                map(measure_formula, (*ALIGNMENT_MEASURES, *AVERAGE_PARTS.get(name, ())))
            )
        )
    # An episode without enough judges has no value; a missing prediction has the value 0.
    return Mean(part=name, failed_part=MISSING_PART)


def pooled_measure(columns: Columns, name: str) -> Estimate:
    """Return the estimate of a measure over the rows."""
    return replace(measure_formula(name).measure(columns), name=name)


# --- one run ----------------------------------------------------------------------------


def make_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, then the chart of its call outcomes."""
    first = next(iter(columns_by_rule.values()))
    if not first.run.any():
        return ()
    made: list[Table | Chart] = [
        _alignment_table(first),
        *_kind_tables(first),
        *_axis_tables(first),
    ]
    return [*made, _outcome_table({"": first}), *_tool_tables(first), _work_table({"": first}),
            _outcome_chart({"calls": first})]  # fmt: skip


def _alignment_table(columns: Columns) -> Table:
    """Return the table of alignment measures.

    A page that already shows these measures prints only its note.
    """
    found = {
        label: pooled_measure(columns, name) for name, label in _measure_names(columns).items()
    }
    return Table(
        title="Alignment with the reference trajectories",
        head=("measure", "value", "low", "high", "n"),
        rows=tuple((label, x.value, x.low, x.high, x.n) for label, x in found.items()),
        note=_POOLING_NOTE,
    )


def _measure_names(columns: Columns) -> dict[str, str]:
    more = {**JUDGED_MEASURES, **AVERAGE_LABELS}
    return ALIGNMENT_MEASURES | {
        name: label for name, label in more.items() if _has_values(columns, name)
    }


def _kind_tables(columns: Columns) -> Iterator[Table]:
    yield from _group_tables("kind of task", columns, columns.category)


def _axis_tables(columns: Columns) -> Iterator[Table]:
    for axis, label in AXIS_LABELS.items():
        yield from _group_tables(label, columns, columns.axis(axis))


def _group_tables(label: str, columns: Columns, groups: Vector) -> Iterator[Table]:
    """Yield a table with a row per group; nothing if there is only one group."""
    found = _distinct_groups(groups)
    if len(found) < 2:
        return
    names = _measure_names(columns)
    averages = [name for name in AVERAGE_LABELS if name in names]
    # Only the average with the most measures is shown.
    names = {name: title for name, title in names.items() if name not in averages[:-1]}
    headline = "success" if _has_values(columns, "success") else "alignment"
    yield group_table(
        f"{headline.capitalize()} by {label}",
        (label,),
        (((group,), columns.where(np.asarray(groups) == group)) for group in found),
        {
            "episodes": count_run,
            f"{headline} [95 % interval]": mean_share_cell,
            **_measure_cells(names),
        },
        n_shaded_columns=len(names),
        whole=columns,
    )


def _measure_cells(labels: Mapping[str, str]) -> dict[str, CellFunction]:
    """Return a function for the value of each measure, by its label."""

    def value_of(name: str) -> CellFunction:
        return lambda columns: pooled_measure(columns, name).value

    return {label: value_of(name) for name, label in labels.items()}


# --- calls and tokens -------------------------------------------------------------------


def _outcome_count(columns: Columns, outcome: str) -> float:
    return float(np.nansum(columns.part(f"outcome:{outcome}")))


def _outcome_table(runs: Mapping[str, Columns]) -> Table:
    rows: list[tuple[str | None, ...]] = []
    for outcome, label in OUTCOME_DESCRIPTIONS.items():
        cells: list[str | None] = []
        for columns in runs.values():
            total = sum(_outcome_count(columns, name) for name in OUTCOME_DESCRIPTIONS)
            n = _outcome_count(columns, outcome)
            cells.append(f"{int(n)} ({number_format.format_percent(n / total)})" if total else None)
        rows.append((label, *cells))
    return Table(
        title="What became of calls",
        head=("outcome", *(name or "calls" for name in runs)),
        rows=tuple(rows),
        note="Decided by rule from what happened. A reply whose calls could not be read counts as "
        "one call of illegal format.",
        row_episodes=(EpisodeFilter(outcome="run"),) * len(rows),
        column_episodes=(None, *(EpisodeFilter() for _ in runs)),
    )


def _tool_tables(columns: Columns) -> Iterator[Table]:
    """Yield the table of calls by server and tool; nothing if no call was executed."""
    counts: dict[str, Counter[str]] = {}
    for part in columns.parts:
        if part.startswith(TOOL_PREFIX):
            call_outcome, _, tool = part.removeprefix(TOOL_PREFIX).partition(":")
            counts.setdefault(tool, Counter())[call_outcome] += int(np.nansum(columns.part(part)))
    if not counts:
        return
    seen_outcomes = [
        name for name in OUTCOME_DESCRIPTIONS if any(found[name] for found in counts.values())
    ]
    rows: list[tuple[str | int, ...]] = []
    for tool, found in sorted(counts.items()):
        server, _, name = tool.rpartition("/")
        rows.append((server, name, found.total(), *(found[each] for each in seen_outcomes)))
    yield Table(
        title="Calls by server and tool",
        head=("server", "tool", "calls", *(name.replace("_", " ") for name in seen_outcomes)),
        rows=tuple(rows),
        row_episodes=(EpisodeFilter(outcome="run"),) * len(rows),
        column_episodes=(None, None, *(EpisodeFilter() for _ in range(len(seen_outcomes) + 1))),
    )


_WORK_LABELS: dict[str, str] = {
    "tokens_in": "input tokens",
    "tokens_out": "output tokens",
    "n_steps": "steps with calls",
    "n_made": "calls",
    "n_replies": "replies",
    "latency_s": "seconds of replies",
}


def _work_table(runs: Mapping[str, Columns]) -> Table:
    rows = tuple(
        (label, *map(part_mean(part), runs.values())) for part, label in _WORK_LABELS.items()
    )
    heads = tuple(name or "mean" for name in runs)
    return Table(
        title="Tokens, steps and calls per task",
        head=("per task", *heads),
        rows=rows,
        row_episodes=(EpisodeFilter(outcome="run"),) * len(rows),
        column_episodes=(None, *(EpisodeFilter() for _ in heads)),
    )


def _outcome_chart(runs: Mapping[str, Columns]) -> Chart:
    return stacked_bars(
        "What became of calls, by share",
        OUTCOME_DESCRIPTIONS,
        {name: _outcome_shares(columns) for name, columns in runs.items()},
        "share of calls",
    )


def _outcome_shares(columns: Columns) -> dict[Outcome, float]:
    counts = {outcome: _outcome_count(columns, outcome) for outcome in OUTCOME_DESCRIPTIONS}
    total = sum(counts.values())
    return {outcome: n / total if total else 0.0 for outcome, n in counts.items()}


# --- several runs -----------------------------------------------------------------------


def tables_across_runs(
    runs_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return a leaderboard per grading rule, then outcomes and work of the runs side by side."""
    made: list[Table | Chart] = []
    for rule, runs in runs_by_rule.items():
        finished_runs = runs_with_answers(runs)
        if len(finished_runs) > 1:
            made.append(leaderboard_table(rule, finished_runs))
    if not made:
        return ()
    finished_runs = runs_with_answers(next(iter(runs_by_rule.values())))
    return [
        *made,
        _outcome_table(finished_runs),
        _work_table(finished_runs),
        _outcome_chart(finished_runs),
    ]


def leaderboard_title(rule: str) -> str:
    """Return the title of the leaderboard of a grading rule."""
    return f"Leaderboard ({rule})"


def leaderboard_table(rule: str, runs: Mapping[str, Columns]) -> Table:
    """Return a row per run with every measure that any of the runs has."""
    names = dict(pair for columns in runs.values() for pair in _measure_names(columns).items())
    return group_table(
        leaderboard_title(rule),
        ("run",),
        (((run,), columns) for run, columns in runs.items()),
        {"n": count_run, **_measure_cells(names)},
        note=_POOLING_NOTE.replace(", with 95 % intervals over tasks", ""),
        n_shaded_columns=len(names),
    )
