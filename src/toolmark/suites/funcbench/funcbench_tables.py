"""Tables and charts like the paper's; `paper_tables` has its own figures.

Only what the run has data for is shown. Rows that were not run are in no number here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Table
from toolmark.statistics.episode_filters import FilterFinder
from toolmark.statistics.estimates import estimate_pooled_share
from toolmark.statistics.group_tables import count_run, group_table, part_mean
from toolmark.statistics.metric_formulas import FilteredFormula, Mean, Metric
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, part_as_value
from toolmark.statistics.table_cells import mean_share_cell, p_value_cell
from toolmark.suites.funcbench import (
    cause_tables,
    difficulty_tables,
    paper_tables,
    success_charts,
    workflow_alignment,
)
from toolmark.suites.funcbench.call_classes import BRANCH_LABEL, CLASS_LABELS
from toolmark.suites.funcbench.column_slices import core_sizes, rows_by_variant, select_rows

# each setting has as many graphs as was asked for
SETTINGS = ("axes.core", "axes.depth", "axes.irrelevant", "axes.kind")
_OUTCOMES: tuple[Literal["correct", "incorrect"], ...] = ("correct", "incorrect")
_RATE_CLASSES = (*CLASS_LABELS.items(), ("ill_typed", "2 wrong inputs: ill-typed"))


def list_metrics(columns: Columns) -> Sequence[Metric]:
    """Return success and `derived`; with several core sizes also the success of each."""
    found = [
        Metric("success", Mean(strata=SETTINGS)),
        Metric("derived", Mean(part="derived", strata=SETTINGS)),
    ]
    sizes = core_sizes(columns)
    if len(sizes) > 1:
        found += [_core_success_metric(core) for core in sizes]
    return found


def _core_success_metric(core: int) -> Metric:
    rows = RowFilter(column="axes.core", values=(str(core),))
    return Metric(
        f"success, core {core}", FilteredFormula(filters=(rows,), formula=Mean(strata=SETTINGS))
    )


def make_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables, then the charts."""
    columns = columns_by_rule["official"]
    if not columns.run.any():
        return ()
    made = [
        _success_table("Success by number of core functions (paper: Table 2)", columns, columns),
        _calls_table(columns),
        _failure_table(columns),
        *_rate_tables(columns),
    ]
    made += [
        *_tables_without_irrelevant(columns),
        *_paired_tables(columns),
        _work_table(columns),
        *_alignment_tables(columns),
    ]
    made.append(_settings_table(columns))
    made += difficulty_tables.make_difficulty_tables(columns)
    made += cause_tables.make_cause_tables(columns)
    made += paper_tables.make_reference_tables(columns)
    return (*made, *success_charts.make_charts(columns))


def _success_table(title: str, columns: Columns, whole: Columns) -> Table:
    """Return success by core size, a row per way of asking; `whole` has all rows of the run."""
    sizes = core_sizes(columns)
    rows = tuple(
        (label, *(mean_share_cell(select_rows(part, core=core)) for core in sizes))
        for label, part in rows_by_variant(columns)
    )
    return Table(
        title=title,
        head=("model", *(f"core {core}" for core in sizes)),
        rows=rows,
        row_episodes=_variant_filters(columns, whole),
        column_episodes=(None, *map(_core_filter, sizes)),
    )


def _variant_filters(columns: Columns, whole: Columns) -> tuple[EpisodeFilter | None, ...]:
    """Return the episodes of each way of asking, as `rows_by_variant` has them."""
    finder = FilterFinder(whole)
    return tuple(finder.find_cover(part.where(part.run)) for _, part in rows_by_variant(columns))


def _core_filter(core: int) -> EpisodeFilter:
    return EpisodeFilter(axes={"core": str(core)})


def _calls_table(columns: Columns) -> Table:
    sizes = core_sizes(columns)
    rows: list[tuple[str | float | None, ...]] = []
    for label, part in rows_by_variant(columns):
        cells = [_mean_calls(select_rows(part, core=core)) for core in sizes]
        rows.append((label, *(x for pair in cells for x in pair)))
    return Table(
        title="Calls per trial, in successful and in failed trials (paper: Table 2)",
        head=(
            "model",
            *(f"core {core}, {end}" for core in sizes for end in ("success", "failure")),
        ),
        rows=tuple(rows),
        note="A dash: no such trial. Every executed call counts, ill-formed ones too.",
        row_episodes=_variant_filters(columns, columns),
        column_episodes=(
            None,
            *(
                EpisodeFilter(axes={"core": str(core)}, outcome=outcome)
                for core in sizes
                for outcome in _OUTCOMES
            ),
        ),
    )


def _mean_calls(columns: Columns) -> tuple[float | None, float | None]:
    calls = columns.part("calls")
    ends = (columns.run & columns.correct, columns.run & ~columns.correct)
    # one decimal, as the paper prints
    good, bad = (round(float(calls[end].mean()), 1) if end.any() else None for end in ends)
    return good, bad


def _failure_table(columns: Columns) -> Table:
    labels: dict[str, str] = {str(name): label for name, label in CLASS_LABELS.items()}
    if not np.isnan(columns.part("wrong_branch")).all():
        labels["wrong_branch"] = BRANCH_LABEL
    rows: list[tuple[str | int, ...]] = []
    for label, part in rows_by_variant(columns):
        total = _part_sum(part, "errors")
        shares = (
            number_format.format_percent(_part_sum(part, name) / total) if total else "-"
            for name in labels
        )
        rows.append((label, round(total), *shares))
    return Table(
        title="Bad calls by class (paper: Table 3)",
        head=("model", "errors", *labels.values()),
        rows=tuple(rows),
        note="Counted over all trials, successful and failed. A call is in the first class whose"
        " condition it fails. Ill-typed arguments are wrong inputs.",
        row_episodes=_variant_filters(columns, columns),
        column_episodes=(None, *(EpisodeFilter() for _ in range(len(labels) + 1))),
    )


def _rate_tables(columns: Columns) -> Iterator[Table]:
    """Return bad calls per call made, per class: of those where the class was possible."""
    for label, part in rows_by_variant(columns):
        rows = []
        for name, shown in _RATE_CLASSES:
            possible = part.part("calls_with_unknowns" if name == "not_known" else "calls")
            rate = estimate_pooled_share(name, part.part(name), possible, part.item)
            rows.append(
                (shown, rate.n, round(_part_sum(part, name)), number_format.format_share(rate))
            )
        yield Table(
            title=f"Rate of bad calls, {label}",
            head=("class", "calls where possible", "bad calls", "rate"),
            rows=tuple(rows),
            note="Class 3 is possible as long as the value of some parameter is still unknown.",
            row_episodes=(FilterFinder(columns).find_cover(part.where(part.run)),) * len(rows),
            column_episodes=(None, *(EpisodeFilter() for _ in range(3))),
        )


def _tables_without_irrelevant(columns: Columns) -> Iterator[Table]:
    rows_without_irrelevant = select_rows(columns, irrelevant=0)
    if not rows_without_irrelevant.run.any():
        return
    yield _success_table(
        "Success without irrelevant functions (paper: Table 5)",
        rows_without_irrelevant,
        columns,
    )


def _paired_tables(columns: Columns) -> Iterator[Table]:
    """Return a comparison of every two ways in which the same items were asked."""
    rows: list[tuple[str | int | None, ...]] = []
    filters: list[EpisodeFilter] = []
    for core in core_sizes(columns):
        parts = [
            (_variant_name(label), select_rows(part, core=core))
            for label, part in rows_by_variant(columns)
        ]
        for (first, a), (second, b) in combinations(parts, 2):
            pair = compare_paired(b, a, name=f"{second} - {first}")
            if pair.n_pairs == 0:
                continue
            variant_pair = f"{first} → {second}"
            rates = mean_share_cell(a), mean_share_cell(b)
            change = number_format.format_points(pair.difference)
            chance = p_value_cell(pair.p) or number_format.DASH
            rows.append(
                (f"this run, core {core}", variant_pair, pair.n_pairs, *rates, change, chance)
            )
            filters.append(_core_filter(core))
    if rows:
        yield Table(
            title="The same items asked in two ways, in pairs (paper: Figs. 7, 8)",
            head=("model", "ways", "pairs", "first", "second", "difference (points)", "p"),
            rows=tuple(rows),
            note="p-values are per row, not corrected for the number of rows.",
            row_episodes=tuple(filters),
            column_episodes=(None, None, *(EpisodeFilter() for _ in range(5))),
        )


def _variant_name(label: str) -> str:
    return label.removeprefix("this run, ")


def _rows_by_variant_and_size(columns: Columns) -> Iterator[tuple[tuple[str, int], Columns]]:
    """Yield the rows of each way of asking and each core size, with both."""
    for label, part in rows_by_variant(columns):
        for core in core_sizes(part):
            yield (label, core), select_rows(part, core=core)


def _work_table(columns: Columns) -> Table:
    """Return the mean numbers of calls of a trial, by kind."""
    parts = {
        "right, core": "correct_core",
        "right, irrelevant": "correct_irrelevant",
        "bad": "errors",
        "repeated": "redundant",
        "steps with calls": "steps_with_calls",
        "steps at best": "levels",
    }
    return group_table(
        "What a trial was made of (means)",
        ("model", "core"),
        _rows_by_variant_and_size(columns),
        {"trials": count_run, **{head: part_mean(part) for head, part in parts.items()}},
        whole=columns,
    )


def _alignment_tables(columns: Columns) -> Iterator[Table]:
    """Return how near the calls came to the ideal schedule, where tasks were run over MCP."""
    played = select_rows(columns, transport=workflow_alignment.MCP_TRANSPORT)
    if not played.run.any():
        return
    groups = (
        ((label, core, threads), rows)
        for (label, core), size in _rows_by_variant_and_size(played)
        for threads in ("single", "multi")
        if (rows := select_rows(size, threads=threads)).run.any()
    )
    measures = {
        name: lambda rows, part=f"align_{name}": mean_share_cell(part_as_value(rows, part))
        for name in workflow_alignment.ALIGNMENT_MEASURES
    }
    yield group_table(
        "Alignment with the ideal schedule",
        ("model", "core", "calls at once"),
        groups,
        {"trials": count_run, **measures},
        note="Means over trials, fair rule. The schedule makes every needed call as early as"
        " its inputs are known. Coherence falls where calls that could be made at once are made"
        " one after the other.",
        whole=columns,
    )


def _settings_table(columns: Columns) -> Table:
    """Return success for each core, number and kind of irrelevant functions, and effort."""
    groups: list[tuple[tuple[Cell, ...], Columns]] = []
    for label, part in rows_by_variant(columns):
        levels = (part.axis(name).tolist() for name in ("core", "irrelevant", "kind"))
        for core, n, kind in sorted({(int(c), int(n), k) for c, n, k in zip(*levels, strict=True)}):
            rows = select_rows(part, core=core, irrelevant=n, kind=kind)
            groups.append(((label, core, n, kind), rows))
    return group_table(
        "Success by setting",
        ("model", "core", "irrelevant", "kind"),
        groups,
        {"trials": count_run, "success": mean_share_cell},
        whole=columns,
    )


def _part_sum(columns: Columns, part: str) -> float:
    return float(np.nansum(columns.part(part)))
