"""Tables of a speech run: Table 1 of the paper, costs of conditions, failures, recognition.

An item is asked in several conditions and by several recognisers; its answers are correlated, so
every interval counts items, and conditions are compared item by item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Table
from toolmark.statistics.episode_filters import FilterFinder, link_rows
from toolmark.statistics.group_tables import count_run
from toolmark.statistics.metric_formulas import (
    FilteredFormula,
    Mean,
    Metric,
    UnboundedMean,
)
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, merge_equal_rules, runs_with_answers
from toolmark.statistics.weighted_means import Group, group_categories
from toolmark.suites.mfcl_speech import (
    condition_costs,
    condition_labels,
    recognition_tables,
)
from toolmark.suites.mfcl_speech.category_columns import (
    COLUMN_LABELS,
    GROUPS,
    OVERALL,
    column_filter,
    column_mean,
    column_rows,
    find_whole_group,
    group_formula,
    is_complete,
    measure_group,
)

_TABLE_NOTE = (
    "In per cent, with the half-width of the 95 % interval where its ends lie within a point of "
    "that, else with its ends; n counts answers, intervals count "
    "items. Overall is the mean of expert, community (weighted by items), multi-turn and "
    "hallucination (relevance and irrelevance); where a column is missing there is none. The paper "
    "does not define its own."
)
_format_wide = number_format.format_plus_minus


def speech_metrics(columns: Columns) -> Sequence[Metric]:
    """Return the score of the leading condition, of the others, then its parts and error rates.

    Conditions are never pooled: the headline is of noisy sound, else of clean, else of the first
    other one, of the written text only where nothing else was asked. Each has Table 1's overall;
    where categories are missing, the group that was asked, or the mean over all answers.
    """
    first, *others = condition_labels.ranked_conditions(columns) or [""]
    group = find_whole_group(columns)
    found = [_score_metric(group, condition, columns) for condition in (first, *others)]
    found += _part_metrics(first, group, columns)
    for part, label in (("wer", "word error rate"), ("entity_wer", "entity error rate")):
        if not np.isnan(columns.part(part)).all():
            rate = UnboundedMean(part=part, is_share=True)
            title = condition_labels.mark_title(label, columns)
            found.append(Metric(part, rate, title, "transcripts", lower_is_better=True))
    return found


def _score_metric(group: Group | None, condition: str, columns: Columns) -> Metric:
    group_name = group.name if group else "accuracy"
    label = ", ".join(
        filter(
            None,
            (group_name.replace("_", "-"), condition_labels.condition_label(condition, columns)),
        )
    )
    name = f"{group_name}/{condition}".rstrip("/")
    return Metric(
        name,
        group_formula(group) if group else Mean(),
        label,
        "answers",
        (_condition_filter(condition),),
    )


def _condition_filter(condition: str) -> RowFilter:
    return RowFilter(column="axes.condition", values=(condition,))


def _part_metrics(condition: str, whole_group: Group | None, columns: Columns) -> Iterator[Metric]:
    """Yield the groups and columns of the leading condition that add to its score."""
    mark = condition_labels.condition_label(condition, columns)
    for group in GROUPS:
        if (
            group is not whole_group
            and is_complete(group, columns)
            and len(group_categories(group)) > 1
        ):
            label, name = f"{group.name.replace('_', '-')}, {mark}", f"{group.name}/{condition}"
            yield Metric(
                name,
                FilteredFormula(
                    filters=(_condition_filter(condition),), formula=group_formula(group)
                ),
                label,
                "answers",
            )
    names = [name for name in COLUMN_LABELS if len(column_rows(columns, name))]
    for name in names if len(names) > 1 else ():
        share = FilteredFormula(
            filters=(_condition_filter(condition), column_filter(name)), formula=Mean()
        )
        yield Metric(name, share, f"{COLUMN_LABELS[name]}, {mark}", "answers")


# --- one run ----------------------------------------------------------------------------


def run_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return Table 1 of each grading rule; then costs of conditions, failures and recognition.

    Rules that judge every answer alike are shown together; those after the first have Table 1 only.
    """
    results: list[Table | Chart] = []
    for index, (rule, columns) in enumerate(merge_equal_rules(columns_by_rule).items()):
        if columns.run.any():
            results.append(main_table(rule, columns))
            if index == 0:
                results += [*condition_costs.comparison_tables(rule, columns)]
                results += condition_costs.condition_cost_tables(rule, columns)
    first = next(iter(columns_by_rule.values()))
    table_makers = (
        recognition_tables.failure_tables,
        recognition_tables.question_tables,
        recognition_tables.recognition_tables_and_charts,
        recognition_tables.voice_tables,
    )
    return (
        [*results, *(each for make_tables in table_makers for each in make_tables(first))]
        if results
        else ()
    )


def main_table(rule: str, columns: Columns) -> Table:
    """Return Table 1, transposed: a row per column of the paper's, a column per condition."""
    by_condition = condition_table(rule, columns)
    names = [f"{name} ({mark})" if mark else name for name, mark, *_ in by_condition.rows]
    transposed = zip(by_condition.head[2:], *(row[2:] for row in by_condition.rows), strict=True)
    by_column = zip(transposed, by_condition.column_episodes[2:], strict=True)
    with_numbers = [
        (row, episodes) for row, episodes in by_column if any(cell is not None for cell in row[1:])
    ]
    return replace(
        by_condition,
        head=("", *names),
        rows=tuple(row for row, _ in with_numbers),
        row_episodes=tuple(episodes for _, episodes in with_numbers),
        column_episodes=(None, *by_condition.row_episodes),
    )


def condition_table(rule: str, columns: Columns) -> Table:
    """Return Table 1: a row per condition, every column with its interval."""
    used_columns = [name for name in COLUMN_LABELS if len(column_rows(columns, name))]
    rows: list[tuple[Cell, ...]] = []
    by_condition = condition_labels.rows_by_condition(columns)
    for condition, answers in by_condition.items():
        cells = [
            _format_wide(measure_group(OVERALL, answers)),
            *(_format_wide(column_mean(answers, name)) for name in used_columns),
        ]
        mark = condition_labels.condition_marks(condition, columns)
        rows.append((condition, mark, count_run(answers), *cells))
    table = Table(
        title=table_title(rule),
        head=(
            "condition",
            "recognisers",
            "n",
            "overall",
            *(COLUMN_LABELS[name] for name in used_columns),
        ),
        rows=tuple(rows),
        note=_TABLE_NOTE + condition_labels.marks_note(columns),
    )
    finder = FilterFinder(columns)
    by_column = [finder.find_filter(column_rows(columns, name)) for name in used_columns]
    return link_rows(
        table,
        columns,
        by_condition.values(),
        rule=rule.partition(" and ")[0],
        n_names=2,
        columns=[EpisodeFilter(), EpisodeFilter(), *by_column],
    )


def table_title(rule: str) -> str:
    """Return the title of Table 1 under a grading rule."""
    return f"Accuracy by condition and category ({rule})"


# --- several runs -----------------------------------------------------------------------


def tables_across_runs(
    columns_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return Table 1 of each grading rule over several runs: a row per run and condition."""
    results: list[Table | Chart] = []
    for rule, runs in columns_by_rule.items():
        with_results = runs_with_answers(runs)
        if len(with_results) < 2:
            continue
        own_tables = {
            name: condition_table(rule, columns) for name, columns in with_results.items()
        }
        head = tuple(
            dict.fromkeys(column for table in own_tables.values() for column in table.head)
        )
        rows = [
            (name, *(dict(zip(table.head, row, strict=True)).get(column) for column in head))
            for name, table in own_tables.items()
            for row in table.rows
        ]
        notes = dict.fromkeys(table.note for table in own_tables.values())
        results.append(Table(title=table_title(rule), head=("run", *head), rows=tuple(rows),
                          note=max(notes, key=len)))  # fmt: skip
    return results
