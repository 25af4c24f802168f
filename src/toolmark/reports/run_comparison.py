"""Two runs compared: the numbers, and what differs between the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Estimate
from toolmark.reports import reply_tables, run_differences, run_names
from toolmark.reports.comparison_report import MAX_FLIPS_LISTED, Comparison
from toolmark.reports.table_format import visible_text
from toolmark.runs.costs import cost_estimates
from toolmark.runs.costs.run_usage import RunUsage, read_episode_costs, run_usage
from toolmark.runs.floors.floor_numbers import measure_common_floor
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    StoredPresentation,
    finishing_command_of,
    missing_files_message,
    read_presentation,
    report_mismatch_as_damage,
)
from toolmark.statistics.confidence_intervals import group_codes
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.metric_formulas import FilteredFormula, Formula, Mean, Metric
from toolmark.statistics.paired_comparison import PairedComparison, adjust_together, compare_paired
from toolmark.statistics.score_columns import Columns, Names, gather_columns

MAX_COMMON_LEVELS = 3  # levels of an axis that are named as common to both


def compare_runs(
    a: Run, b: Run, rule: str | None = None, *, allow_differing: bool = False
) -> Comparison:
    """Compare two scored runs item by item, under the headline rule unless `rule` names another.

    Only the folders are needed: the numbers use the metric formulas stored with A. Raises
    UsageError when the runs have no item in common, are of different suites or are not scored.
    `warnings` report tasks that differ under one id, and suite parameters that differ. Where tasks
    differ no test is made unless `allow_differing` is true.
    """
    suite_a, suite_b = a.info.plan.suite, b.info.plan.suite
    if suite_a != suite_b:
        raise UsageError(
            f"different suites: {a.path} is {suite_a!r}, {b.path} is {suite_b!r}; next: compare "
            "runs of one suite"
        )
    presentation = _stored_presentation(a)
    chosen_rule = _check_rule(a, presentation, rule)
    _check_rule(b, _stored_presentation(b), chosen_rule)
    table_a, table_b = _score_columns(a, chosen_rule), _score_columns(b, chosen_rule)
    settings = tuple(run_differences.differing_settings(a, b))
    if not _share_items(table_a, table_b):
        raise UsageError(
            f"{a.path} and {b.path} have no item in common; "
            f"{run_differences.same_tasks_advice(settings)}"
        )
    name_a, name_b = run_names.distinct_run_names([a, b])
    changed = run_differences.count_changed_tasks(a, b)
    test: Callable[[PairedComparison], PairedComparison] = (
        _without_test if changed[0] and not allow_differing else lambda found: found
    )
    with report_mismatch_as_damage(a, b):
        numbers = _comparison_fields(a, presentation, chosen_rule, table_a, table_b, test)
        head, rows_a, rows_b = _common_headline(presentation.metrics[chosen_rule], table_a, table_b)
        scores = (name_a, numbers["score_a"]), (name_b, numbers["score_b"])
        usage_a, usage_b = run_usage(a), run_usage(b)
        return Comparison(
            a=name_a,
            b=name_b,
            rule=chosen_rule,
            data_label=visible_text(a.info.data_label),
            **numbers,
            settings=settings,
            warnings=(
                *(["A and B are the same run"] if a.path.resolve() == b.path.resolve() else []),
                *_partial_warnings(scores, rows_a, rows_b),
                *_correction_warnings(head, rows_a, rows_b),
                *filter(None, [numbers["paired"].difference.warning]),
                *run_differences.difference_warnings(a, b, *changed),
                *reply_tables.difference_warnings(
                    usage_a.replies,
                    usage_b.replies,
                    is_same_model=a.info.plan.model == b.info.plan.model,
                ),
            ),
            n_changed=changed[0],
            usage_a=usage_a,
            usage_b=usage_b,
            **({} if changed[0] else _floor_numbers((a, b), chosen_rule, head, rows_a, rows_b)),
            costs=None if changed[0] else _compare_costs(a, b, rows_a, rows_b, usage_a, usage_b),
        )


def _floor_numbers(
    runs: Sequence[Run], rule: str, head: Metric, a: Columns, b: Columns
) -> dict[str, Any]:
    """Return the highest floor on the tasks of both, and each run minus it."""
    in_both = set(a.task[a.run]) & set(b.task[b.run])
    common = [table.where_task(in_both) for table in (a, b)]
    name, above = measure_common_floor(runs, common, head, rule)
    return {"floor": name, "above_a": above[0], "above_b": above[1]} if name else {}


def _compare_costs(
    a: Run, b: Run, rows_a: Columns, rows_b: Columns, usage_a: RunUsage, usage_b: RunUsage
) -> PairedComparison | None:
    """Return the difference of US$ per task; None where a run has no known cost."""
    if any(each.cost is None or each.cost.model.new_usd is None for each in (usage_a, usage_b)):
        return None
    return cost_estimates.compare_costs(
        rows_a, rows_b, read_episode_costs(a), read_episode_costs(b)
    )


def _comparison_fields(
    run: Run,
    presentation: StoredPresentation,
    rule: str,
    a: Columns,
    b: Columns,
    test: Callable[[PairedComparison], PairedComparison],
) -> dict[str, Any]:
    """Return the numbers of a comparison by field name; `run` is run A."""
    metrics = presentation.metrics[rule]
    head, rows_a, rows_b = _common_headline(metrics, a, b)
    return {
        "score_a": head.measure(a),
        "score_b": head.measure(b),
        "paired": test(compare_paired(rows_a, rows_b, _compared_formula(head, rows_a, rows_b))),
        "compared_rows": head.label if head.filters else "",
        "lower_is_better": head.lower_is_better,
        "common_levels": _common_levels(rows_a, rows_b),
        "measures": tuple(map(test, _paired_measures(metrics, a, b))),
        "levels": {
            axis: tuple(map(test, found))
            for axis, level_names in presentation.level_names.items()
            if len(found := list(_paired_levels(a, b, axis, level_names))) > 1
        },
        "categories": tuple(
            map(test, _paired_categories(rows_a, rows_b, _ordered_categories(run, a, metrics)))
        ),
    }


def adjust_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p-values of comparisons that are read together, with `adjust_together`.

    Without it ten equal models would nearly always show a winner among their 45 pairs.
    """
    ps = [comparison.paired.p for comparison in comparisons]
    n_tested = sum(p is not None for p in ps)
    return [
        comparison if p is None else replace(comparison, p_adjusted=p, n_compared=n_tested)
        for comparison, p in zip(comparisons, adjust_together(ps), strict=True)
    ]


def _common_headline(
    metrics: Sequence[Metric], a: Columns, b: Columns
) -> tuple[Metric, Columns, Columns]:
    """Return the first metric of A that uses items of both runs, and its rows in each."""
    for metric in metrics:
        rows_a, rows_b = (metric.select_rows(table) for table in (a, b))
        if _share_items(rows_a, rows_b):
            return metric, rows_a, rows_b
    return metrics[0], a, b


def _paired_levels(
    a: Columns, b: Columns, axis: str, level_names: Mapping[str, str]
) -> Iterator[PairedComparison]:
    """Yield a comparison for each level, in the order of A's tasks."""
    tables_a, tables_b = (_split_by_name(table, table.axis(axis)) for table in (a, b))
    for level, name in level_names.items():
        if (
            level
            and level in tables_a
            and level in tables_b
            and _share_items(tables_a[level], tables_b[level])
        ):
            yield compare_paired(tables_a[level], tables_b[level], name=name)


def _split_by_name(table: Columns, names: Names) -> dict[str, Columns]:
    """Return the rows of each name, in their order; names are in order of first appearance."""
    code = group_codes(names)
    order = np.argsort(code, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if len(code) else []
    return {names[rows[0]]: table.where(rows) for rows in parts}


def _share_items(a: Columns, b: Columns) -> bool:
    """Return whether two tables have an item in common."""
    return not set(a.item).isdisjoint(b.item)


def _common_levels(a: Columns, b: Columns) -> str:
    """Return the common levels of the axes whose levels differ, such as "form text"."""
    labels = []
    for axis in a.axes.keys() & b.axes.keys():
        levels_a, levels_b = ({*each.axis(axis).tolist()} - {""} for each in (a, b))
        if levels_a != levels_b and 0 < len(levels_a & levels_b) <= MAX_COMMON_LEVELS:
            labels.append(f"{axis} {', '.join(sorted(levels_a & levels_b))}")
    return "; ".join(sorted(labels))


def _partial_warnings(
    shown_runs: Sequence[tuple[str, Estimate]], a: Columns, b: Columns
) -> Iterator[str]:
    """Yield a warning that says which headlines are partial, and what is compared instead."""
    lacking = [f"{name} ({score.partial})" for name, score in shown_runs if score.partial]
    if not lacking:
        return
    categories_run = [dict.fromkeys(each.category[each.run].tolist()) for each in (a, b)]
    both = [name for name in categories_run[0] if name and name in categories_run[1]]
    common_names = f": {', '.join(both)}" if 0 < len(both) <= MAX_FLIPS_LISTED else ""
    yield (
        f"the headline is partial of {' and of '.join(lacking)}; the difference is over what both "
        f"runs have{common_names}"
    )


def _compared_formula(head: Metric, a: Columns, b: Columns) -> Formula:
    """Return the headline's formula; the judge's mean unless labels correct it in both runs."""
    formula = head.formula
    if isinstance(formula, PredictionPoweredMean):
        return formula if formula.is_corrected(a) and formula.is_corrected(b) else Mean()
    return formula


def _correction_warnings(head: Metric, a: Columns, b: Columns) -> Iterator[str]:
    """Yield a warning where labels correct the headline of one run alone."""
    formula = head.formula
    if not isinstance(formula, PredictionPoweredMean):
        return
    if formula.is_corrected(a) != formula.is_corrected(b):
        yield (
            "labels of people correct the score of one run alone; they do not correct the "
            "difference, which is between the judge's verdicts"
        )


def _paired_measures(
    metrics: Sequence[Metric], a: Columns, b: Columns
) -> Iterator[PairedComparison]:
    """Yield a comparison for each further metric that measures something else.

    That is any but the mean value over some of the rows: the levels and the categories show these.
    """
    for metric in metrics[1:]:
        formula = _unfiltered(metric.formula)
        if isinstance(formula, Mean) and not formula.part:
            continue
        rows_a, rows_b = (metric.select_rows(table) for table in (a, b))
        found = compare_paired(rows_a, rows_b, metric.formula, name=metric.label)
        if found.n_pairs:
            yield found


def _unfiltered(formula: Formula) -> Formula:
    return _unfiltered(formula.formula) if isinstance(formula, FilteredFormula) else formula


def _without_test(found: PairedComparison) -> PairedComparison:
    difference = replace(found.difference, warning="")
    return replace(found, difference=difference, p=None, method="none", detectable=None)


def _stored_presentation(run: Run) -> StoredPresentation:
    found = read_presentation(run)
    if found is None:
        raise UsageError(
            f"{run.path}: {missing_files_message(run)}; next: {finishing_command_of(run)}"
        )
    return found


def _check_rule(run: Run, presentation: StoredPresentation, rule: str | None) -> str:
    if rule is None:
        return presentation.rules[0]
    if rule not in presentation.rules:
        raise UsageError(f"{run.path}: no rule {rule!r}{suggest_names(rule, presentation.rules)}")
    return rule


def _score_columns(run: Run, rule: str) -> Columns:
    table = gather_columns(run.scores(), rule)
    if not len(table):
        raise UsageError(f"{run.path}: no scores; next: {finishing_command_of(run)}")
    return table


def _ordered_categories(run: Run, table: Columns, metrics: Sequence[Metric]) -> list[str]:
    """Return the categories of a run in the order of the suite's metrics, else of the tasks."""
    present = set(table.category)
    measured = [metric.name for metric in metrics if metric.name in present]
    if present - set(measured):
        measured += [task.category for task in run.tasks() if task.category in present]
    return list(dict.fromkeys(measured))


def _paired_categories(a: Columns, b: Columns, order: Sequence[str]) -> Iterator[PairedComparison]:
    tables_a, tables_b = (_split_by_name(table, table.category) for table in (a, b))
    for name in order:
        if name in tables_a and name in tables_b and _share_items(tables_a[name], tables_b[name]):
            yield compare_paired(tables_a[name], tables_b[name], name=str(name))
