"""Tables of answers that are one of several options: shares, classes, confusions, players."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, Estimate, Table
from toolmark.scoring import classification
from toolmark.scoring.error_statistics import GradingRule
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns, ordered_levels, with_values
from toolmark.statistics.table_cells import mean_share_cell, none_if_nan
from toolmark.suites.multinet.tables import score_columns
from toolmark.suites.multinet.tables.class_tables import (
    TallyCounts,
    class_figures,
    class_table,
    confusion_chart,
    has_enough_rows,
    recall_chart,
    tally_answers,
)
from toolmark.suites.multinet.tables.row_links import link_filters, link_variants, select_episodes
from toolmark.suites.multinet.tables.score_columns import Variants

Measures: TypeAlias = Mapping[str, Any]

_MAIN_HEAD = (
    "", "n", "exact match", "exact of valid", "invalid", "micro F1", "macro P", "macro R",
    "macro F1", "clipped",
)  # fmt: skip
_MACRO_KEYS = ("macro_precision", "macro_recall", "macro_f1")
_MAIN_NOTE = (
    "Exact match counts what cannot be read as wrong; of valid leaves it out. Micro precision, "
    "recall and F1 are one number. Macro: the mean over all declared classes, 0 for a class that "
    "never came or was never said. Clipped: a whole number out of range counts as the nearest "
    "option; what has no number stays wrong."
)
_MORE_NOTE = (
    "Out of range: of the invalid ones those that are a whole number, which can be clipped. F1 "
    "without invalid joins the precision of what could be read with the recall of all rows, as the "
    "published code has it."
)
_PLAYERS_NOTES = {
    False: "A joint action is right where both are.",
    True: "Of probabilities a player's own action is the likeliest once they are summed over the "
    "other's: both may be right where the likeliest joint action is not, and the other way round.",
}
"""How a player's action relates to the joint one, by whether probabilities were asked."""
_OPTION_SETS_NOTE = " Options differ by {}: counts are sums over these, shares plain means."
_MEAN_NOTE = " Options differ by {}: micro, macro and clipped are the plain means over these."


def choice_tables(
    columns_by_rule: Mapping[str, Columns], category_name: str
) -> Iterator[Table | Chart]:
    """Yield the tables and charts of choices; `category_name` says what a category is."""
    variants = score_columns.split_variants(columns_by_rule)
    label, (rule, columns) = score_columns.most_valid_variant(variants)
    rows = score_columns.label_variants(variants)
    yield main_table(rows, category_name)
    yield rare_measures_table(rows, category_name)
    yield from _category_table(variants, category_name)
    yield from _player_table(rows)
    suffix = f" ({label})" if label else ""
    parts = dict(score_columns.option_sets(columns.where(columns.run)))
    if "" in parts:
        yield from class_figures(parts[""], rule, suffix, select_episodes(columns, variants))
    tallies = {name: (part, tally_answers(part, rule)) for name, part in parts.items()}
    for name, (part, table) in tallies.items():
        if name:  # several sets: only compact figures for each
            set_of = f" ({', '.join(filter(None, (name, label)))})"
            yield recall_chart(part, set_of)
            if has_enough_rows(table):
                yield confusion_chart(part, table, set_of)
    filters = {name: select_episodes(columns, variants, name) for name in parts}
    yield class_table(tallies, category_name, suffix, filters)


# --- shares -----------------------------------------------------------------------------


def main_table(variants: Variants, category_name: str) -> Table:
    """Return the run's rows and the baselines' rows, which answer the same items."""
    _, first = score_columns.first_variant(variants)
    every = list(_rows_with_baselines(variants))
    rows = [main_row(*each) for each in every]
    missing_notes = dict.fromkeys(filter(None, (lacks for *_, lacks in every)))
    has_shared_options = score_columns.has_shared_options(first)
    note = f"{_MAIN_NOTE}{'' if has_shared_options else _MEAN_NOTE.format(category_name)}"
    note += "".join(f" A dash there: {lacks}." for lacks in missing_notes)
    note += score_columns.interval_note(first)
    table = Table(
        title="Exact match and classes",
        head=_MAIN_HEAD,
        rows=score_columns.merge_equal_rows(rows),
        note=note,
    )
    return link_variants(table, variants)


def rare_measures_table(variants: Variants, category_name: str) -> Table:
    """Return less common measures of the same rows: counts, measures without invalid answers."""
    rows: list[tuple[Cell, ...]] = []
    for name, rule, columns, lacks in _rows_with_baselines(variants):
        ran = columns.where(columns.run)
        if not len(ran):
            rows.append((name,))
            continue
        tallies = _tallies_by_set(ran, rule)
        found, clipped = _measures_by_set(tallies)
        counts = [sum(each[key] for each in found) for key in ("tp", "valid_fp", "invalid_fp")]
        clippable = sum(
            int(classification.exact_match_rates(each)["clippable"]) for each in tallies
        )
        keys = "micro_precision_without_invalid", "micro_f1_without_invalid"
        shares = (_mean_share(found, key, lacks) for key in keys)
        cells = (
            *counts,
            clippable,
            *shares,
            *(_mean_share(clipped, key, lacks) for key in _MACRO_KEYS),
        )
        rows.append((name, *cells))
    head = ("", "right", "wrong", "invalid", "out of range", "precision without invalid",
            "F1 without invalid", *(f"{key}, clipped" for key in _MAIN_HEAD[6:9]))  # fmt: skip
    _, first = score_columns.first_variant(variants)
    has_shared_options = score_columns.has_shared_options(first)
    options_note = "" if has_shared_options else _OPTION_SETS_NOTE.format(category_name)
    note = f"{_MORE_NOTE}{options_note}{score_columns.history_caveat(first)}"
    table = Table(
        title="More measures: classes",
        head=head,
        rows=score_columns.merge_equal_rows(rows),
        note=note,
        is_collapsed=True,
    )
    return link_variants(table, variants)


def _rows_with_baselines(variants: Variants) -> Iterator[tuple[str, GradingRule, Columns, str]]:
    """Yield the run's rows, then the baselines' rows, which answer the same items.

    The last element says which sets did not run, if options differ by set.
    """
    _, first = score_columns.first_variant(variants)
    for name, rule, columns in score_columns.rows_with_baselines(variants):
        # a baseline's rows are only those that ran: the run's rows say what is missing
        _, asked = variants.get(name, (rule, first))
        has_one_set = score_columns.has_shared_options(asked)
        note = "" if has_one_set else score_columns.missing_categories_note(asked)
        yield name, rule, columns, note


def main_row(
    name: str, rule: GradingRule, columns: Columns, missing_note: str = ""
) -> tuple[Cell, ...]:
    """Return the cells under the head of the main table."""
    ran = columns.where(columns.run)
    if not len(ran):
        return (name, 0)
    found, clipped = _measures_by_set(_tallies_by_set(ran, rule))
    return (
        name,
        len(ran),
        mean_share_cell(columns),
        mean_share_cell(score_columns.valid_rows(ran)),
        score_columns.invalid_share(ran),
        *(_mean_share(found, key, missing_note) for key in ("micro_f1", *_MACRO_KEYS)),
        _mean_share(clipped, "exact_match", missing_note),
    )


def _tallies_by_set(columns: Columns, rule: GradingRule) -> list[TallyCounts]:
    return [tally_answers(part, rule) for _, part in score_columns.option_sets(columns)]


def _measures_by_set(tallies: Sequence[TallyCounts]) -> tuple[list[Measures], list[Measures]]:
    """Return the measures of each set of options, and those with clipped answers."""
    measure = classification.classification_measures
    return list(map(measure, tallies)), [measure(classification.clip_tally(x)) for x in tallies]


def _mean_share(found: Sequence[Measures], key: str, missing_note: str) -> str:
    """Return the mean over all sets; it is not shown if only some sets ran."""
    return (
        number_format.DASH
        if missing_note
        else number_format.format_percent(float(np.mean([each[key] for each in found])))
    )


def _category_table(variants: Variants, category_name: str) -> Iterator[Table]:
    """Yield the shares by category, the baselines' next to the run's."""
    label, (rule, first) = score_columns.most_valid_variant(variants)
    if len(ordered_levels(first.category)) < 2:
        return
    guesses = score_columns.baseline_names(first)
    rows: list[tuple[Cell, ...]] = []
    for level, part in score_columns.ran_by_category(first).items():
        found = classification.classification_measures(tally_answers(part, rule))
        rows.append(
            (
                level,
                len(part),
                score_columns.count_options(part),
                mean_share_cell(part),
                score_columns.invalid_share(part),
                number_format.format_percent(found["macro_f1"]),
                *(score_columns.baseline_share(part, name) for name in guesses),
            )
        )
    table = Table(
        title=f"Exact match by {category_name}{f' ({label})' if label else ''}",
        head=(
            category_name,
            "n",
            "options",
            "exact match",
            "invalid",
            "macro F1",
            *(score_columns.baseline_label(first, name) for name in guesses),
        ),
        rows=tuple(rows),
        note=(
            "Behind macro F1 the baselines' exact match on the same "
            f"rows.{score_columns.history_caveat(first)}"
        ),
    )
    yield link_filters(table, (select_episodes(first, variants, str(row[0])) for row in rows))


def _player_table(variants: Variants) -> Iterator[Table]:
    """Yield each player's own action, from the joint one, with the recall of each action."""
    _, first = score_columns.first_variant(variants)
    if not score_columns.has_number(first, "truth_0").any():
        return
    rows: list[tuple[Cell, ...]] = []
    for player in ("_0", "_1"):
        for name, read, columns, _ in _rows_with_baselines(variants):
            if not columns.run.any():
                rows.append((f"player {player[1]}", name))
                continue
            table = tally_answers(columns.where(columns.run), read, player)
            rows.append(
                (
                    f"player {player[1]}",
                    name,
                    number_format.format_share(player_exact_match(columns, player)),
                    number_format.format_percent(
                        classification.classification_measures(table)["macro_f1"]
                    ),
                    *map(none_if_nan, classification.class_measures(table).recall.tolist()),
                )
            )
    odds = bool(score_columns.has_number(first, "brier_0").any())
    made = Table(
        title="Each player's action",
        head=("", "", "exact match", "macro F1", *score_columns.ACTION_NAMES),
        rows=score_columns.merge_equal_rows(rows, 1),
        n_shaded_columns=len(score_columns.ACTION_NAMES),
        note=(
            "Behind macro F1 the recall of each action. "
            f"{_PLAYERS_NOTES[odds]}{score_columns.history_caveat(first)}"
        ),
    )
    yield link_variants(made, variants, name_at=1)


def player_exact_match(columns: Columns, player: str, name: str = "") -> Estimate:
    """Return the share of rows in which a player's own action is correct; `player` is _0 or _1."""
    truth, answers = columns.part(f"truth{player}"), columns.part(f"predicted{player}")
    correct = np.where(np.isnan(truth) | np.isnan(answers), np.nan, truth == answers)
    return estimate_mean(with_values(columns, correct), name)
