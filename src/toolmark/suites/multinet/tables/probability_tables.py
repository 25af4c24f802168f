"""Tables of probabilities: their calibration and their accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import TypeAlias

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Estimate, Series, Table
from toolmark.scoring import brier_errors
from toolmark.scoring.error_statistics import GRADING_RULES
from toolmark.statistics.estimate_charts import estimate_series
from toolmark.statistics.estimates import estimate_mean, estimate_part_average
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet.tables import score_columns
from toolmark.suites.multinet.tables.row_links import link_filters, link_variants, select_episodes
from toolmark.suites.multinet.tables.score_columns import Variants

ReliabilityBins: TypeAlias = list[tuple[float, float, int, float, Estimate]]

N_BINS = 10
_BRIER_HEAD = ("", "n", "Brier, linear", "Brier, quadratic", "player 0, linear", "player 1, linear")
_BRIER_NOTE = (
    "Linear: the sum of |p - y| over the options, of a valid distribution 2 (1 - p of the truth); "
    "quadratic: of their squares. Of valid distributions both lie in 0 to 2; less is better, and "
    "an invalid answer costs 2. The linear one, which the paper uses, is improper: all probability "
    "on the likeliest option costs least of it, whatever one believes, so that only the quadratic "
    "one rewards honest probabilities."
)
_LAX_RULE_NOTE = (
    " The reference rule lets numbers below 0 and above 1 pass if they add up to 1: there "
    "neither error has an upper end."
)
_SPREAD_HEAD = (
    "", "", "n", "largest / median", "beyond 3 × median", "normalised",
    "normalised, filtered 5 to 95 %", "normalised, filtered 0.05 to 99.95 %", "total",
    "normalised, quadratic", "total, quadratic",
)  # fmt: skip
_SPREAD_NOTE = (
    "Of the linear Brier error by row, but for the last two columns; of a player there is no "
    "quadratic one. Normalised: its mean, from the least of the rows to the "
    "largest; filtered: of the rows between two percentiles, the paper's and the published code's. "
    "Total: the sum over rows. A dash: all rows alike, or filtered of fewer than "
    f"{score_columns.MIN_FILTERED_ROWS} rows. ∞: the median is 0."
)


def probability_tables(columns_by_rule: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Yield the tables and charts of probabilities."""
    variants = score_columns.split_variants(columns_by_rule)
    rows = score_columns.label_variants(variants)
    yield brier_table(rows)
    yield brier_spread_table(rows)
    forms = {
        form: columns
        for form, (_, columns) in score_columns.first_variant_by_form(variants).items()
    }
    bins_by_form = {form: reliability_bins(columns) for form, columns in forms.items()}
    if any(bins_by_form.values()):
        yield _reliability_chart(bins_by_form)
        filters = {form: select_episodes(columns, variants) for form, columns in forms.items()}
        yield _reliability_table(bins_by_form, forms, filters)


# --- Brier ------------------------------------------------------------------------------


def brier_table(variants: Variants) -> Table:
    """Return both Brier scores, for players too; most baselines are certain of one option."""
    _, first = score_columns.first_variant(variants)
    parts = ("brier", "brier_sq", *(f"brier{player}" for player in _player_suffixes(first)))
    rows: list[tuple[Cell, ...]] = [
        (name, int(columns.run.sum()), *(_mean_with_interval(columns, part) for part in parts))
        for name, _, columns in score_columns.rows_with_baselines(variants)
    ]
    ran = first.where(first.run)
    lax = any(read == "reference" for read, _ in variants.values())
    # equal shares are equal for a player too
    uniform_brier = number_format.format_decimal(2 * (1 - 1 / len(score_columns.ACTION_NAMES)))
    for name in score_columns.uniform_baselines(ran) if len(ran) else ():
        both = (
            ran.part(f"{score_columns.GUESS_PREFIX}{name}.{part}").mean().item()
            for part in parts[:2]
        )
        cells = (*map(number_format.format_decimal, both), *(uniform_brier for _ in parts[2:]))
        rows.append((f"{name}: even odds", len(ran), *cells))
    intervals = score_columns.interval_note(first, score_columns.FEW_GROUPS_NOTE)
    table = Table(
        title="Probabilities: Brier scores",
        head=_BRIER_HEAD[: 2 + len(parts)],
        rows=score_columns.merge_equal_rows(rows),
        note=f"{_BRIER_NOTE}{_LAX_RULE_NOTE * lax}{intervals}",
    )
    return link_variants(table, variants)


def brier_spread_table(variants: Variants) -> Table:
    """Return the distribution of linear errors, for the joint action and for both players."""
    _, first = score_columns.first_variant(variants)
    rows: list[tuple[Cell, ...]] = []
    for player in ("", *_player_suffixes(first)):
        part_label = f"player {player[1:]}" if player else "the whole"
        for name, _, columns in score_columns.rows_with_baselines(variants):
            rows.append((part_label, name, *_spread_cells(columns.where(columns.run), player)))
    table = Table(
        title="More measures: probabilities",
        head=_SPREAD_HEAD,
        rows=score_columns.merge_equal_rows(rows, 1),
        note=_SPREAD_NOTE + score_columns.history_caveat(first),
        is_collapsed=True,
    )
    return link_variants(table, variants, name_at=1)


def _spread_cells(columns: Columns, player: str) -> tuple[Cell, ...]:
    """Compute the cells with the metrics library; a player has no quadratic error."""
    errors = brier_errors.BrierAccumulator()
    linear, square = (columns.part(f"{part}{player}") for part in ("brier", "brier_sq"))
    errors.add_errors(linear, square, columns.part("valid") == 1)
    paper, reference = (errors.measures(rule) for rule in GRADING_RULES)
    if not paper["n"]:
        return (0,)
    both = (each["normalised_quantile_filtered_mae"] for each in (paper, reference))
    filtered = both if paper["n"] >= score_columns.MIN_FILTERED_ROWS else (nan, nan)
    measures = (paper["max_rel_mae"], paper["normalised_mae"], *filtered, paper["total_mae"],
             paper["normalised_mse"], paper["total_mse"])  # fmt: skip
    beyond = number_format.format_percent(paper["prop_beyond_3x_median"])
    return (
        len(columns),
        number_format.format_decimal(measures[0]),
        beyond,
        *map(number_format.format_decimal, measures[1:]),
    )


def _player_suffixes(columns: Columns) -> tuple[str, ...]:
    return ("_0", "_1") if score_columns.has_number(columns, "brier_0").any() else ()


def _mean_with_interval(columns: Columns, part: str) -> str | None:
    found = estimate_part_average(columns, part)
    return None if found.value is None else number_format.format_number(found)


# --- reliability ------------------------------------------------------------------------


def reliability_bins(columns: Columns) -> ReliabilityBins:
    """Return bins of the largest probability: ends, count, its mean, the share that was correct.

    Empty bins are left out, and so are invalid answers.
    """
    valid = score_columns.valid_rows(columns)
    valid = valid.where(score_columns.has_number(valid, "top"))
    top = valid.part("top")
    at = np.minimum((top * N_BINS).astype(np.int64), N_BINS - 1)
    bins = []
    for i in np.unique(at).tolist():
        part = valid.where(at == i)
        bins.append((i / N_BINS, (i + 1) / N_BINS, len(part), float(part.part("top").mean()),
                     estimate_mean(part, "")))  # fmt: skip
    return bins


def expected_calibration_error(bins: ReliabilityBins) -> float:
    """Return the expected calibration error: the bins' gaps, weighted by their counts."""
    total = sum(n for _, _, n, _, _ in bins)
    return (
        sum(n * abs(top - (share_correct.value or 0.0)) for _, _, n, top, share_correct in bins)
        / total
    )


def _reliability_chart(bins_by_form: Mapping[str, ReliabilityBins]) -> Chart:
    """Draw stated probability against observed share, a line for each form with valid answers."""
    series = [
        estimate_series(
            form or score_columns.OWN_RUN_LABEL,
            [share_correct for *_, share_correct in bins],
            [top for _, _, _, top, _ in bins],
        )
        for form, bins in bins_by_form.items()
        if bins
    ]
    steps = tuple(i / N_BINS for i in range(N_BINS + 1))
    series.append(Series(name="as promised", x=steps, y=steps))
    forms_without_answers = [form for form, bins in bins_by_form.items() if not bins]
    return Chart(
        title="Probabilities: predicted and observed",
        kind="line",
        series=tuple(series),
        x_label="largest probability, mean of its bin",
        y_label="share right",
        note="Below the straight line: surer than right. Whiskers are 95 % intervals."
        + (
            f" By {' and '.join(forms_without_answers)} no answer was valid."
            if forms_without_answers
            else ""
        ),
    )


def _reliability_table(
    bins_by_form: Mapping[str, ReliabilityBins],
    forms: Mapping[str, Columns],
    filters: Mapping[str, EpisodeFilter],
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    notes = []
    for form, bins in bins_by_form.items():
        rows += [
            (
                form,
                " to ".join(number_format.format_fixed(end, 1) for end in (low, high)),
                n,
                round(top, 3),
                number_format.format_share(share_correct),
            )
            for low, high, n, top, share_correct in bins
        ]
        n_invalid = int(forms[form].run.sum()) - sum(n for _, _, n, _, _ in bins)
        gap_text = (
            f"by answers: {number_format.format_fixed(expected_calibration_error(bins), 3)}"
            if bins
            else "is of nothing"
        )
        notes.append(
            f"{form + ': ' * bool(form)}mean gap between the last two columns, {gap_text}; invalid "
            f"answers, in no row: {n_invalid}."
        )
    table = Table(
        title="Probabilities by confidence",
        head=("form", "largest probability", "answers", "its mean", "right"),
        rows=tuple(rows),
        note=" ".join(note[0].upper() + note[1:] for note in notes),
    )
    return link_filters(table, (filters[str(row[0])] for row in rows), n_names=2)
