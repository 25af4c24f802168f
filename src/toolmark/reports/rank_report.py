"""Stored runs ranked: which ranks the data allow, what they hang on, and items that mislead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toolmark.core import number_format
from toolmark.core.errors import UsageError, suggest_names
from toolmark.reports import run_differences, run_names
from toolmark.reports.rank_tables import RankedItem, RankedRun, RunRanking
from toolmark.reports.table_format import visible_text
from toolmark.runs.floors.floor_numbers import measure_common_floor
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    finishing_command_of,
    missing_files_message,
    read_presentation,
)
from toolmark.statistics import run_ranking, weighted_means
from toolmark.statistics.estimates import estimate_repeat_error
from toolmark.statistics.item_analysis import FEWEST_VECTORS, analyse_items
from toolmark.statistics.level_formulas import LevelMean
from toolmark.statistics.linearisation import Linearisation
from toolmark.statistics.metric_formulas import (
    FilteredFormula,
    Formula,
    Mean,
    Metric,
    StratifiedMean,
)
from toolmark.statistics.rank_sets import competition_ranks
from toolmark.statistics.run_ranking import ScoreMatrix
from toolmark.statistics.score_columns import Columns, Names, gather_columns

_EVERYTHING = ""  # the one category where a number does not weigh categories


def rank_stored_runs(
    runs: Sequence[Run], rule: str | None = None, *, metric: str | None = None
) -> RunRanking:
    """Rank scored runs of one suite by the headline, or by the metric of this name.

    The grading rule is the headline's unless `rule` names another. Only the folders are needed.
    Raises UsageError for fewer than two runs, runs of different suites, runs that are not scored,
    have no item in common or no value over these, and an unknown metric.
    """
    if len(runs) < 2:
        raise UsageError("a ranking needs at least two runs; next: name their folders")
    suites = {run.info.plan.suite for run in runs}
    if len(suites) > 1:
        listed = ", ".join(sorted(suites))
        raise UsageError(f"runs of different suites: {listed}; next: rank those of one suite")
    presentation = read_presentation(runs[0])
    if presentation is None:
        raise _unscored_error(runs[0])
    chosen = rule or presentation.rules[0]
    if chosen not in presentation.rules:
        raise UsageError(f"no grading rule {chosen!r}{suggest_names(chosen, presentation.rules)}")
    names = run_names.distinct_run_names(runs)
    head = _find_metric(presentation.metrics[chosen], metric)
    tables = [_headline_rows(run, chosen, head) for run in runs]
    matrix = _common_matrix(names, tables, head)
    numbers, rows = _measure_runs(tables, matrix, head)
    ranking = run_ranking.rank_numbers(numbers, rows, lower_is_better=head.lower_is_better)
    values, sets = ranking.values, ranking.sets
    shares = run_ranking.rank_shares(ranking.higher, ranking.influence)
    other = run_ranking.weigh_otherwise(matrix) if _weighs_scores(head.formula) else None
    by_rule = {
        name: found
        for name in presentation.rules
        if name != chosen
        and (found := _ranks_under(runs, names, name, presentation.metrics[name], metric))
        is not None
    }
    common = [table.where_task(matrix.items) for table in tables]
    floor, above = measure_common_floor(runs, common, head, chosen)
    not_run = np.isnan(matrix.scores).sum(axis=0)
    order = np.lexsort((np.arange(len(values)), sets.rank))
    wrong, median = _find_wrong_items(matrix)
    return RunRanking(
        suite=runs[0].info.plan.suite,
        data_label=visible_text(runs[0].info.data_label),
        rule=chosen,
        metric=head.label,
        is_share=head.formula.is_share,
        lower_is_better=head.lower_is_better,
        n_items=len(matrix.items),
        n_clusters=sets.n_clusters,
        n_categories=0 if other is None else other.n_categories,
        critical_value=sets.critical_value,
        repeat_error=_mean_repeat_error(numbers, rows),
        runs=[
            RankedRun(
                run=names[at],
                value=float(values[at]),
                rank=int(sets.rank[at]),
                low=int(sets.low[at]),
                high=int(sets.high[at]),
                share_first=float(shares[at, 0]),
                items_equal=None if other is None else int(other.items_equal[at]),
                categories_equal=None if other is None else int(other.categories_equal[at]),
                lowest=None if other is None else int(other.lowest[at]),
                highest=None if other is None else int(other.highest[at]),
                rule_ranks={name: int(ranks[at]) for name, ranks in by_rule.items()},
                n_not_run=int(not_run[at]),
                above_floor=above[at].difference if above else None,
            )
            for at in map(int, order)
        ],
        wrong_items=wrong,
        median_discrimination=median,
        warnings=_ranking_warnings(runs, names, tables, matrix, ranking.warning),
        floor=floor,
        floor_value=above[0].value_b if above else None,
    )


def _find_metric(metrics: Sequence[Metric], name: str | None) -> Metric:
    """Return the metric of this name, the headline where None."""
    if name is None:
        return metrics[0]
    known = {metric.name: metric for metric in metrics}
    if name not in known:
        raise UsageError(f"no metric {name!r}{suggest_names(name, known)}")
    return known[name]


def _weighs_scores(formula: Formula) -> bool:
    """Tell whether a number is a weighted mean of the scores, by category, by level or at all."""
    formula = _innermost_formula(formula)
    return isinstance(formula, StratifiedMean | LevelMean) or (
        isinstance(formula, Mean) and not formula.part
    )


def _measure_runs(
    tables: Sequence[Columns], matrix: ScoreMatrix, head: Metric
) -> tuple[list[Linearisation], list[Columns]]:
    """Return the number of each run over the common tasks, and its rows there."""
    common = set(map(str, matrix.items))
    numbers, common_rows = [], []
    for run, table in zip(matrix.runs, tables, strict=True):
        rows = table.where_task(common)
        found = head.formula.linearise(rows)
        if found.value is None or not np.isfinite([found.value, *found.influence]).all():
            raise UsageError(
                f"{run}: no finite {head.label} over the common items, so it has no rank; next: "
                "leave the run out, or rank by another number with --metric"
            )
        numbers.append(found)
        common_rows.append(rows)
    return numbers, common_rows


def _innermost_formula(formula: Formula) -> Formula:
    """Return the formula within filters."""
    return _innermost_formula(formula.formula) if isinstance(formula, FilteredFormula) else formula


def _ranks_under(
    runs: Sequence[Run],
    names: Sequence[str],
    rule: str,
    metrics: Sequence[Metric],
    metric: str | None,
) -> NDArray[np.int64] | None:
    """Return the ranks under another grading rule, None where a run has no number of it."""
    head = next((each for each in metrics if metric in (None, each.name)), None)
    if head is None:
        return None
    tables = [_headline_rows(run, rule, head) for run in runs]
    if not all(table.run.any() for table in tables):
        return None
    try:
        numbers, _ = _measure_runs(tables, _common_matrix(names, tables, head), head)
    except UsageError:
        return None
    values = np.array([each.value for each in numbers], dtype=np.float64)
    return competition_ranks(-values if head.lower_is_better else values)


def _unscored_error(run: Run) -> UsageError:
    step = finishing_command_of(run)
    return UsageError(f"{run.path}: {missing_files_message(run)}; next: {step}")


def _headline_rows(run: Run, rule: str, metric: Metric) -> Columns:
    """Return the rows that the number counts."""
    if not (run.path / "scores.jsonl").exists():
        raise _unscored_error(run)
    rows = metric.select_rows(gather_columns(run.scores(), rule))
    return metric.formula.select_rows(rows)


def _common_matrix(names: Sequence[str], tables: Sequence[Columns], head: Metric) -> ScoreMatrix:
    """Return the scores of the tasks that all runs have, each the mean of its repeats."""
    formula = _innermost_formula(head.formula)
    group = formula.group if isinstance(formula, StratifiedMean) else None
    common = set(map(str, tables[0].task))
    for table in tables[1:]:
        common &= set(map(str, table.task))
    first = {str(task): at for at, task in reversed(list(enumerate(tables[0].task)))}
    tasks = [task for task in dict.fromkeys(map(str, tables[0].task)) if task in common]
    if not tasks:
        raise UsageError("the runs have no item in common; next: run them with equal settings")
    at_first = np.array([first[task] for task in tasks])
    place = {task: at for at, task in enumerate(tasks)}
    columns = []
    for table in tables:
        sums, counts = np.zeros(len(tasks)), np.zeros(len(tasks))
        for task, value, ran in zip(table.task, table.value, table.run, strict=True):
            if ran and (at := place.get(str(task))) is not None:
                sums[at] += value
                counts[at] += 1
        with np.errstate(invalid="ignore"):
            columns.append(np.where(counts > 0, sums / counts, np.nan))
    category = _weighed_names(formula, tables[0])[at_first]
    scores = np.column_stack(columns)
    weights: Mapping[str, float] = dict.fromkeys(map(str, category), 1.0)
    if group is not None:
        sizes = {str(name): int((category == name).sum()) for name in set(category)}
        leaves = weighted_means.group_categories(group)
        weights = weighted_means.category_weights(
            group, {leaf: sizes.get(leaf, 0) for leaf in leaves}
        )
        counted = np.array([weights.get(str(name), 0.0) > 0 for name in category])
        scores, category, at_first = scores[counted], category[counted], at_first[counted]
    return ScoreMatrix(
        runs=tuple(names),
        items=tables[0].task[at_first],
        category=category,
        cluster=tables[0].cluster[at_first],
        scores=scores,
        weights=weights,
    )


def _weighed_names(formula: Formula, table: Columns) -> Names:
    """Return for each row the name of what has a weight in a number: its category or level."""
    match _innermost_formula(formula):
        case StratifiedMean():
            return table.category
        case LevelMean(axis=axis):
            return table.axis(axis)
        case _:
            return np.full(len(table), _EVERYTHING, dtype=object)


def _mean_repeat_error(numbers: Sequence[Linearisation], rows: Sequence[Columns]) -> float | None:
    """Return the error of a run from asking again alone, the root of the mean square over runs."""
    errors = [estimate_repeat_error(*pair) for pair in zip(numbers, rows, strict=True)]
    known = [error for error in errors if error is not None]
    return float(np.sqrt(np.mean(np.square(known)))) if known else None


def _find_wrong_items(matrix: ScoreMatrix) -> tuple[list[RankedItem], float | None]:
    """Return the items that discriminate the wrong way, the worst first, and the median."""
    known = ~np.isnan(matrix.scores).all(axis=1)
    scores = matrix.scores[known]
    if (np.nanmin(scores) < 0) or (np.nanmax(scores) > 1):
        return [], None
    found = analyse_items(scores)
    items, category = matrix.items[known], matrix.category[known]
    wrong = np.flatnonzero(found.discriminates_wrongly)
    listed = sorted(wrong, key=lambda at: found.upper[at])
    defined = found.discrimination[~np.isnan(found.discrimination)]
    return [
        RankedItem(
            item=str(items[at]),
            category=str(category[at]),
            difficulty=float(found.difficulty[at]),
            discrimination=float(found.discrimination[at]),
            upper=float(found.upper[at]),
            slope=None if np.isnan(found.slope[at]) else float(found.slope[at]),
        )
        for at in listed
    ], float(np.median(defined)) if len(defined) else None


def _ranking_warnings(
    runs: Sequence[Run],
    names: Sequence[str],
    tables: Sequence[Columns],
    matrix: ScoreMatrix,
    sets_warning: str,
) -> list[str]:
    warnings = []
    if len({run.path.resolve() for run in runs}) < len(runs):
        warnings.append("a run is named twice")
    for run, name in zip(runs[1:], names[1:], strict=True):
        n_changed, example = run_differences.count_changed_tasks(runs[0], run)
        if n_changed:
            warnings.append(
                f"{name}: {number_format.pluralize(n_changed, 'task')} differ in content under one "
                f"id, such as {example}"
            )
    n_missing = np.isnan(matrix.scores).sum(axis=0).tolist()
    warnings += run_ranking.missing_items_warnings(names, n_missing)
    n_all = {len(set(map(str, table.task))) for table in tables}
    if n_all != {len(matrix.items)}:
        warnings.append(
            f"ranked over {number_format.format_count(len(matrix.items))} common items only"
        )
    warnings += [sets_warning] if sets_warning else []
    if len(runs) < FEWEST_VECTORS:
        warnings.append(
            f"{len(runs)} runs: discrimination of items is the plain item-rest correlation; curves "
            f"need {FEWEST_VECTORS}"
        )
    return warnings
