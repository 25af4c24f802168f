"""Tables of MultiNet's suites: what was correct, what was close, and what could not be parsed.

The tables read these columns of the scores, in addition to the parts that a verdict has by kind of
answer (Choice and Distribution, ActionVector, FreeText, FunctionCalls):

axes   `form` text or tool; `source` synthetic, real or published; `group`, only if rows of a group
       depend on each other (`Rows.clustered`): then intervals go by group; `class`, the index of
       the correct option and, after a space, its name, if the options are the same in every row of
       the category; `history`, if the model sees earlier answers; the slices
parts  `classes`, the number of options; for calls `match.1` and so on, whether a turn is exact,
       `invalid_turns`, `calls` and `calls_truth`, the numbers of calls made and wanted
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypedDict

from msgspec.structs import replace

from toolmark.core.records import Chart, Table
from toolmark.statistics.class_formulas import MacroF1, MacroRecall
from toolmark.statistics.error_formulas import FilteredRelativeError, RelativeError
from toolmark.statistics.metric_formulas import (
    EqualShare,
    Formula,
    Mean,
    MeanOverCategories,
    Metric,
    UnboundedMean,
)
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet.tables import (
    choice_tables,
    form_comparison,
    probability_tables,
    score_columns,
    text_and_call_tables,
    vector_tables,
)
from toolmark.suites.multinet.tables.score_columns import FORMS, AnswerKind

SYNTHETIC_CAUTION = (
    "SYNTHETIC: the rows are generated stand-ins of the published data. They show that the path "
    "works and compare models on these rows; they are not scores on the published data."
)


_VALID_ONLY = RowFilter(column="parts.valid", values=(1.0,))


def synthetic_caution(columns: Columns) -> str:
    """Return a caution that rows are synthetic, "" if they are not."""
    return SYNTHETIC_CAUTION if score_columns.is_synthetic(columns) else ""


def build_metrics(columns: Columns) -> Sequence[Metric]:
    """Return the metrics of a suite: the headline first, which is a share, then what it depends on.

    If nothing ran, the family determines the metrics. If rows were asked in both forms, the
    headline is over both, and every other metric is given by form.
    """
    asked_forms = present_forms(columns)
    if len(asked_forms) < 2:
        form = next(iter(asked_forms), "")
        return [
            replace(each, title_in_whole=_label_with_form(each, form))
            for each in _metrics_over(columns, columns)
        ]
    headline = _metrics_over(columns, columns)[0]
    found = {
        form: _metrics_over(columns, columns.where(columns.axis("form") == form))
        for form in asked_forms
    }
    each = zip(*found.values(), strict=True)
    parts = [
        _restrict_to_form(form, metric)
        for row in each
        for form, metric in zip(found, row, strict=True)
    ]
    return [replace(headline, title=f"{headline.title}, both forms"), *parts]


def _metrics_over(columns: Columns, part: Columns) -> list[Metric]:
    """Return the metrics of all these rows, measured over a part of them."""
    kind = score_columns.answer_kind(columns) or score_columns.intended_kind(columns)
    found = [*_METRICS_BY_KIND.get(kind, (_EXACT_METRIC, *_VALIDITY_METRICS))]
    if kind in ("choice", "odds"):
        found[1:1] = [macro_recall_metric(part)]
        found[4:4] = [macro_f1_metric(part)]
    if kind == "motion":
        found += _vector_error_metrics(part)
    if score_columns.has_number(columns, "truth_0").any():
        found += _PLAYER_METRICS
    if score_columns.has_number(columns, "similarity").any():
        found.append(_SIMILARITY_METRIC)
    return found


def _restrict_to_form(form: str, metric: Metric) -> Metric:
    rows = (RowFilter(column="axes.form", values=(form,)), *metric.filters)
    return replace(
        metric, name=f"{metric.name}_{form}", title=_label_with_form(metric, form), filters=rows
    )


def present_forms(columns: Columns) -> list[str]:
    """Return the forms in which rows were asked."""
    return [form for form in FORMS if (columns.axis("form") == form).any()]


def _label_with_form(metric: Metric, form: str) -> str:
    return f"{metric.title}, by {form}" if form else metric.title


def macro_recall_metric(columns: Columns) -> Metric:
    """Return the macro recall of these rows, the paper's first measure over classes.

    It is the plain mean over sets of options if these differ. The displayed name says how many
    classes have no row: even an agent that answers all rows correctly has a recall of 0 there.
    """
    formula = MacroRecall(**_class_settings(columns))
    n_absent, n = formula.count_absent_classes(columns)
    absent = f", {n_absent} of {n} classes without rows count 0" if n_absent else ""
    return Metric("macro_recall", formula, f"macro recall{absent}", "answers")


def macro_f1_metric(columns: Columns) -> Metric:
    """Return the macro F1 of these rows, the plain mean over sets of options if these differ."""
    return Metric("macro_f1", MacroF1(**_class_settings(columns)), "macro F1", "answers")


class _ClassSettings(TypedDict):
    """The fields of a formula over classes (`MacroMeasure`)."""

    default_n_classes: int
    by_category: bool
    categories_label: str


def _class_settings(columns: Columns) -> _ClassSettings:
    by_category = not score_columns.has_shared_options(columns.where(columns.run))
    category_word = (
        "" if score_columns.has_shared_options(columns) else score_columns.category_plural(columns)
    )
    is_joint = score_columns.has_number(columns, "truth_0").any()
    return _ClassSettings(
        default_n_classes=len(score_columns.ACTION_NAMES) ** 2 if is_joint else 2,
        by_category=by_category,
        categories_label=category_word,
    )


def _vector_error_metrics(columns: Columns) -> Iterator[Metric]:
    """Yield the errors of vectors by category, because categories have no common unit."""
    errors: tuple[tuple[str, str, Formula], ...] = (
        ("mae", "MAE", UnboundedMean(part="mae")),
        ("rel_mae", "RelMAE", RelativeError(part="mae")),
        ("rel_mse", "RelMSE", RelativeError(part="mse")),
        ("rel_mae_filtered", "RelMAE, filtered", FilteredRelativeError(part="mae")),
    )
    for name, label, formula in errors:
        mean = MeanOverCategories(
            formula=formula, categories_label=score_columns.category_plural(columns)
        )
        yield Metric(name, mean, label, "answers", lower_is_better=True)


def _average_metric(name: str, label: str) -> Metric:
    return Metric(name, UnboundedMean(part=name), label, "answers")


_EXACT_METRIC = Metric("exact", Mean(), "exact match", "answers")
_VALID_METRIC = Metric("valid", Mean(part="valid"), "valid answers", "answers")
_VALIDITY_METRICS = (
    _VALID_METRIC,
    Metric("exact_of_valid", Mean(), "exact match of valid answers", "answers", (_VALID_ONLY,)),
)
_PLAYER_METRICS = tuple(
    Metric(
        f"player_{i}",
        EqualShare(part=f"truth_{i}", other_part=f"predicted_{i}"),
        f"action of player {i}",
        "answers",
    )
    for i in (0, 1)
)
_SIMILARITY_METRIC = _average_metric("similarity", "similarity (cosine)")
_CLOSER_METRIC = Metric(
    "closer", Mean(), f"closer than the training mean ({score_columns.EVEN_NOTE})", "answers"
)
_BRIER_METRICS = (
    replace(_average_metric("brier", "Brier, linear"), lower_is_better=True),
    replace(_average_metric("brier_sq", "Brier, quadratic"), lower_is_better=True),
)
_STRUCTURE_METRIC = Metric("ast", Mean(part="ast"), "equal by structure", "answers")
_METRICS_BY_KIND: Mapping[AnswerKind, tuple[Metric, ...]] = {
    "odds": (_EXACT_METRIC, *_VALIDITY_METRICS, *_BRIER_METRICS),
    "calls": (_EXACT_METRIC, *_VALIDITY_METRICS, _STRUCTURE_METRIC),
    "motion": (_CLOSER_METRIC, _VALID_METRIC),
}
_CORRECT_LABELS: Mapping[AnswerKind, str] = {"motion": "closer than the mean"}


def run_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables and charts of a run, by the kind of its answers; none if nothing ran."""
    columns = next(iter(columns_by_rule.values()))
    if not columns.run.any():
        return ()
    kind, level = score_columns.answer_kind(columns), score_columns.category_name(columns)
    result: list[Table | Chart] = []
    if kind == "motion":
        result += vector_tables.vector_tables(columns_by_rule, level)
    elif kind == "words":
        result += text_and_call_tables.text_tables(columns_by_rule, level)
    elif kind == "calls":
        result += text_and_call_tables.call_tables(columns_by_rule, level)
    else:
        result += choice_tables.choice_tables(columns_by_rule, level)
    form_tables = list(
        form_comparison.form_comparison_tables(
            columns_by_rule, _CORRECT_LABELS.get(kind, "exact match")
        )
    )
    result[1:1] = form_tables
    result += probability_tables.probability_tables(columns_by_rule) if kind == "odds" else ()
    return result


def cross_run_tables(runs_by_rule: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return the first tables of several runs as one, with their rows below each other.

    The baselines' rows are for the first run's items. Runs of other kinds are not included.
    """
    runs = variants_by_run(runs_by_rule)
    kinds = {
        run: score_columns.answer_kind(score_columns.first_variant(found)[1])
        for run, found in runs.items()
    }
    result: list[Table | Chart] = []
    for each in _comparable_kinds(kinds.values()):
        rows: score_columns.Variants = {}
        for run, found in runs.items():
            if each == _BROADER_KIND.get(kinds[run], kinds[run]) or each == kinds[run]:
                rows |= found
        if len(rows) > 1:
            result += _overview_tables(each, rows)
    return result


def variants_by_run(
    runs_by_rule: Mapping[str, Mapping[str, Columns]],
) -> dict[str, score_columns.Variants]:
    """Return the rows of each run that ran, under the names that tables of several runs use.

    A table row has one form, and names it if the runs have both.
    """
    runs = {
        run: {name: found[run] for name, found in runs_by_rule.items()}
        for run, columns in next(iter(runs_by_rule.values())).items()
        if columns.run.any()
    }
    forms_by_run = {run: present_forms(next(iter(found.values()))) for run, found in runs.items()}
    several = len({form for found in forms_by_run.values() for form in found}) > 1
    result: dict[str, score_columns.Variants] = {}
    for run, found in runs.items():
        variants = score_columns.split_variants(found)
        if several and len(forms_by_run[run]) == 1:  # else the variant's name has the form
            variants = {
                ", ".join(filter(None, (forms_by_run[run][0], x))): y for x, y in variants.items()
            }
        result[run] = score_columns.label_variants(variants, run)
    return result


_BROADER_KIND: Mapping[AnswerKind, AnswerKind] = {"odds": "choice"}
"""Which kind of answer can also be scored as another: the most probable option is a choice."""


def _comparable_kinds(kinds: Iterable[AnswerKind]) -> list[AnswerKind]:
    found = dict.fromkeys(kinds)
    return list(dict.fromkeys([*(_BROADER_KIND.get(kind, kind) for kind in found), *found]))


def _overview_tables(kind: AnswerKind, rows: score_columns.Variants) -> Iterator[Table | Chart]:
    level = score_columns.category_name(score_columns.first_variant(rows)[1])
    match kind:
        case "motion":
            yield vector_tables.main_table(rows, level)
        case "words":
            yield text_and_call_tables.answer_table(rows)
        case "calls":
            yield from text_and_call_tables.conversation_tables(rows)
        case "odds":
            yield probability_tables.brier_table(rows)
        case _:
            yield choice_tables.main_table(rows, level)
