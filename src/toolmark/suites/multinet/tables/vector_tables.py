"""Tables of vectors: errors against the training mean, their tails, parts of the vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, nan
from typing import NamedTuple

import numpy as np

from toolmark.core import number_format
from toolmark.core.number_format import format_decimal
from toolmark.core.records import Cell, Chart, EpisodeFilter, Series, Table
from toolmark.scoring import action_errors
from toolmark.scoring.error_statistics import GRADING_RULES, GradingRule
from toolmark.statistics.score_columns import Columns, Numbers, split_rows
from toolmark.statistics.table_cells import mean_share_cell
from toolmark.suites.multinet.tables import score_columns
from toolmark.suites.multinet.tables.row_links import link_filters, link_variants, select_episodes
from toolmark.suites.multinet.tables.score_columns import Variants

_MAIN_HEAD = (
    "", "", "n", "invalid", "MAE", "MSE", "RelMAE", "RelMSE", "RelMAE, filtered",
    "normalised, filtered", "largest / median", "beyond 3 × median", "closer than the mean",
)  # fmt: skip
_MORE_HEAD = (
    "", "", "n", "exact vector", "normalised MAE", "normalised MSE", "mean ratio, MAE",
    "mean ratio, MSE", "filtered MAE / MAE of the mean", "normalised, filtered 5 to 95 %",
    "normalised ratio, MAE", "normalised ratio, MSE", "total MAE", "total MSE",
)  # fmt: skip
_INFINITY_NOTE = (
    "∞: larger than numbers go, as where a model answered huge ones, or divided by nothing. "
)
_MAIN_NOTE = (
    "MAE and MSE: means over a row's dimensions, then over rows. RelMAE, RelMSE: their sum over "
    "the sum of a baseline that always answers the mean of the training rows; less than 1 is "
    "better than that. Closer than the mean: the share of rows with a smaller MAE than that "
    "baseline's; 50 % is no better than it. Filtered: the RelMAE of rows between the 5th and 95th "
    "percentile of the errors, as the paper defines it; the published code has instead the mean "
    "error of rows between the 0.05th and 99.95th, normalised from the least of them to the "
    "largest, shown for "
    f"{score_columns.MIN_FILTERED_ROWS} rows or more: for a few it is the same whatever they are. "
    "A "
    f"dash: nothing to divide, or to normalise. {_INFINITY_NOTE}In brackets 95 % intervals over "
    "{}."
)
_RULES_NOTE = (
    " Paper rule: an invalid row has the baseline's error. Reference rule, as the published "
    "code has it: the error of the whole range of the actions."
)
_MORE_NOTE = (
    "Exact vector: every number equal, which the published code calls success. Normalised: the "
    "mean from the least error to the largest. Mean ratio: of each row's error to the baseline's, "
    "as the published harness has it next to its ratio of sums; a row that the baseline has right "
    "and the model has wrong, or an invalid one, makes it endless. Filtered MAE / MAE of the mean: "
    "as RelMAE, filtered, over the baseline's errors of all rows. Normalised ratio: of the ratios "
    "that are finite, from the least to the largest. Total: the sum over rows. MSE as a sum over "
    "dimensions, which the paper's formula has, is MSE times their number, and RelMSE the same. "
    f"{_INFINITY_NOTE}"
)
_BIN_EDGES = np.array([*np.arange(0, 3.01, 0.25), np.inf])  # in medians
_N_WORST_ROWS = 10


def vector_tables(
    columns_by_rule: Mapping[str, Columns], category_name: str
) -> Iterator[Table | Chart]:
    """Yield the tables and charts of vectors; `category_name` says what a category is."""
    variants = score_columns.split_variants(columns_by_rule)
    rows = score_columns.label_variants(variants)
    yield main_table(rows, category_name)
    yield rare_measures_table(rows, category_name)
    yield from _slice_table(rows, category_name)
    label, (_, first) = score_columns.most_valid_variant(variants)
    figures_made = [
        each
        for level, part in score_columns.ran_by_category(first).items()
        for each in _error_distribution(
            part,
            f" ({', '.join(filter(None, (level, label)))})",
            select_episodes(first, variants, level),
        )
    ]
    yield from (each for each in figures_made if isinstance(each, Chart))  # side by side
    yield from (each for each in figures_made if isinstance(each, Table))


class VectorErrors(NamedTuple):
    """The measures of rows together; a relative error is the rows' sum over the baseline's sum.

    `filtered` is the relative error between the paper's quantiles, `scaled` is the normalised mean
    between the quantiles of the published code.
    """

    mae: float
    mse: float
    rel_mae: float
    rel_mse: float
    filtered: float
    scaled: float
    largest: float
    outlier_share: float


class RareVectorMeasures(NamedTuple):
    """Less common measures of the same rows.

    `ratios` are means of the rows' own ratios. `filtered_full_baseline` is `filtered` over the
    baseline's sum of all rows. `spread` is the normalised mean of the ratios by row.
    """

    exact: float
    normalised: float
    normalised_sq: float
    ratios: float
    ratios_sq: float
    filtered_full_baseline: float
    scaled: float
    spread: float
    spread_sq: float
    total: float
    total_sq: float


def vector_errors(columns: Columns, part: str = "") -> VectorErrors:
    """Return the measures of rows that ran, or of a part of their vectors, ".arm1"."""
    paper, reference = (_library_measures(columns, rule, part) for rule in GRADING_RULES)
    return VectorErrors(
        mae=paper["mae"],
        mse=paper["mse_mean_over_dims"],
        rel_mae=paper["approx_rel_mae"],
        rel_mse=paper["approx_rel_mse"],
        filtered=paper["quantile_filtered_rel_mae_pairwise"],
        scaled=reference["normalised_quantile_filtered_mae"],
        largest=paper["max_rel_mae"],
        outlier_share=paper["prop_beyond_3x_median"],
    )


def rare_measures(columns: Columns) -> RareVectorMeasures:
    """Return the less common measures of rows that ran."""
    paper, reference = (_library_measures(columns, rule) for rule in GRADING_RULES)
    return RareVectorMeasures(
        exact=paper["exact"],
        normalised=paper["normalised_mae"],
        normalised_sq=paper["normalised_mse"],
        ratios=reference["avg_baseline_relative_mae"],
        ratios_sq=reference["avg_baseline_relative_mse"],
        filtered_full_baseline=paper["quantile_filtered_rel_mae_full_baseline"],
        scaled=paper["normalised_quantile_filtered_mae"],
        spread=reference["normalized_baseline_relative_mae"],
        spread_sq=reference["normalized_baseline_relative_mse"],
        total=paper["total_mae"],
        total_sq=paper["total_mse"],
    )


def _library_measures(columns: Columns, rule: GradingRule, part: str = "") -> dict[str, float]:
    """Compute the measures with the metrics library; the rule affects only the quantile filter."""
    measured = columns.where(columns.run & score_columns.has_number(columns, f"mae{part}"))
    names = ("mae", "mse", "base_mae", "base_mse")
    mae, mse, base, base_sq = (measured.part(f"{name}{part}") for name in names)
    accumulator = action_errors.ErrorAccumulator(rule)
    accumulator.feed(action_errors.RowErrors(mae, mse, base, base_sq, measured.part("valid") == 1))
    return accumulator.measures()


# --- numbers ----------------------------------------------------------------------------


def main_table(variants: Variants, category_name: str) -> Table:
    """Return the errors by category, the baselines' below the run's."""
    rows = [(*names, *main_row(found)) for names, found in _rows_by_category(variants)]
    several = len({read for read, _ in variants.values()}) > 1
    _, first = score_columns.first_variant(variants)
    note = (
        _MAIN_NOTE.format(score_columns.interval_unit(first))
        + _RULES_NOTE * several
        + score_columns.history_caveat(first)
    )
    table = Table(
        title="Errors of the vectors",
        head=(category_name, *_MAIN_HEAD[1:]),
        rows=score_columns.merge_equal_rows(rows, 1),
        note=note,
    )
    return link_variants(table, variants, name_at=1, category_at=0)


def rare_measures_table(variants: Variants, category_name: str) -> Table:
    """Return the less common measures of the same rows."""
    rows: list[tuple[Cell, ...]] = []
    for names, columns in _rows_by_category(variants):
        ran = columns.where(columns.run)
        found = rare_measures(ran)
        if len(ran) < score_columns.MIN_FILTERED_ROWS:
            found = found._replace(scaled=nan)
        exact, *other_measures = found
        cells = (
            (number_format.format_percent(exact), *map(format_decimal, other_measures))
            if len(ran)
            else ()
        )
        rows.append((*names, len(ran), *cells))
    note = _MORE_NOTE + score_columns.history_caveat(score_columns.first_variant(variants)[1])
    table = Table(
        title="More measures: vectors",
        head=(category_name, *_MORE_HEAD[1:]),
        rows=score_columns.merge_equal_rows(rows, 1),
        note=note,
        is_collapsed=True,
    )
    return link_variants(table, variants, name_at=1, category_at=0)


def _rows_by_category(variants: Variants) -> Iterator[tuple[tuple[str, str], Columns]]:
    """Yield for each category the run's rows and the baselines' rows."""
    _, first = score_columns.first_variant(variants)
    for level, part in split_rows(first, first.category).items():
        for name, (_, columns) in variants.items():
            yield (level, name), columns.where(columns.category == level)
        for name in score_columns.baseline_names(first):
            yield (
                (level, score_columns.baseline_label(first, name)),
                score_columns.baseline_vector_rows(part, name),
            )


def main_row(columns: Columns) -> tuple[Cell, ...]:
    """Return the cells of the main table, after the names."""
    ran = columns.where(columns.run)
    if not len(ran):
        return (0,)
    found = vector_errors(ran)
    if len(ran) < score_columns.MIN_FILTERED_ROWS:
        found = found._replace(scaled=nan)
    return (
        len(ran),
        score_columns.invalid_share(ran),
        *map(format_decimal, found[:-1]),
        number_format.format_percent(found.outlier_share),
        mean_share_cell(columns),
    )


def _slice_table(variants: Variants, category_name: str) -> Iterator[Table]:
    """Yield the errors of the named parts of the vectors, by category."""
    rows: list[tuple[Cell, ...]] = []
    for run, (_, columns) in variants.items():
        for level, part in split_rows(columns, columns.category).items():
            for name in _slice_names(part):
                found = vector_errors(part, f".{name}")
                rows.append((level, name, run, *map(format_decimal, found[:4])))
    if rows:
        table = Table(
            title="Errors by part of the vector",
            rows=score_columns.merge_equal_rows(rows, 2),
            head=(category_name, "part", "", "MAE", "MSE", "RelMAE", "RelMSE"),
        )
        yield link_variants(table, variants, name_at=2, category_at=0)


def _slice_names(columns: Columns) -> list[str]:
    return [
        part.removeprefix("mae.")
        for part in columns.parts
        if part.startswith("mae.") and score_columns.has_number(columns, part).any()
    ]


# --- distribution -----------------------------------------------------------------------

# errors can be as large as floats can be
_ignore_overflow = np.errstate(over="ignore", invalid="ignore")


def _error_distribution(
    columns: Columns, suffix: str, episodes: EpisodeFilter
) -> Iterator[Table | Chart]:
    """Draw how errors spread, in medians of the run; then their quantiles and the worst rows.

    `episodes` selects the rows.
    """
    own_errors, mean_errors = columns.part("mae"), columns.part("base_mae")
    median = _ignore_overflow(np.median)(own_errors).item()
    if 0 < median < inf:
        names = [
            f"{number_format.format_fixed(low, 2)} to {number_format.format_fixed(low + 0.25, 2)}"
            for low in _BIN_EDGES[:-2]
        ]
        yield Chart(
            title=f"Errors: how they spread{suffix}",
            kind="bar",
            series=(
                _error_histogram(score_columns.OWN_RUN_LABEL, own_errors, median),
                _error_histogram("training mean", mean_errors, median),
            ),
            ticks=(*names, "beyond 3"),
            y_label="share of rows",
            note=(
                f"By MAE in medians of this run's, {format_decimal(median)}; beyond 3 are outliers."
            ),
        )
    points = (0, 5, 25, 50, 75, 95, 99, 100)
    rows = [
        (name, *map(format_decimal, _ignore_overflow(np.percentile)(part, points).tolist()))
        for name, part in (
            (score_columns.OWN_RUN_LABEL, own_errors),
            ("training mean", mean_errors),
        )
    ]
    head = ("", "least", *(f"{p} %" for p in points[1:-1]), "largest")
    quantiles = Table(title=f"Errors: quantiles of MAE{suffix}", head=head, rows=tuple(rows))
    yield link_filters(quantiles, (episodes, None))
    yield _worst_rows_table(columns, median, suffix)


@_ignore_overflow
def _error_histogram(name: str, errors: Numbers, median: float) -> Series:
    counts = np.histogram(errors / median, _BIN_EDGES)[0]
    return Series(name=name, x=tuple(map(float, range(len(counts)))),
                  y=tuple((counts / len(errors)).tolist()))  # fmt: skip


def _worst_rows_table(columns: Columns, median: float, suffix: str) -> Table:
    own_errors, mean_errors = columns.part("mae").tolist(), columns.part("base_mae").tolist()
    order = np.argsort(-columns.part("mae"), kind="stable")[:_N_WORST_ROWS]
    rows = tuple(
        (
            str(columns.task[i]),
            format_decimal(own_errors[i]),
            format_decimal(own_errors[i] / median) if median else None,
            format_decimal(mean_errors[i]),
            bool(columns.part("valid")[i]),
        )
        for i in order.tolist()
    )
    table = Table(
        title=f"Errors: the largest{suffix}",
        rows=rows,
        head=("row", "MAE", "in medians", "training mean's", "valid"),
    )
    return link_filters(table, (EpisodeFilter(task=name) for name, *_ in rows), n_names=0)
