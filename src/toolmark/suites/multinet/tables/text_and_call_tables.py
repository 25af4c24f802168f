"""Tables of free answers: short texts, and function calls turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Series, Table
from toolmark.scoring import text_similarity
from toolmark.scoring.conversation_matching import ConversationAccumulator, ConversationResult
from toolmark.scoring.error_statistics import GradingRule
from toolmark.statistics.estimates import estimate_part_average
from toolmark.statistics.score_columns import Columns, ordered_levels
from toolmark.statistics.table_cells import mean_share_cell
from toolmark.suites.multinet.tables import score_columns
from toolmark.suites.multinet.tables.row_links import link_filters, link_variants, select_episodes
from toolmark.suites.multinet.tables.score_columns import Variants

_TEXT_HEAD = (
    "",
    "n",
    "exact",
    "exact of valid",
    "invalid",
    "similarity",
    f"≥ {text_similarity.SIMILARITY_THRESHOLD}",
)
_TEXT_NOTE = (
    "Exact: the same words once case, punctuation and spaces are set aside. Similarity: the cosine "
    "of the answers' embeddings, 0 where invalid; a dash where no encoder is installed (the extra "
    "`embed`)."
)
_SPREAD_NOTE = "Standard deviation of the rows themselves. An invalid answer is like nothing: 0."
_CALLS_NOTE = (
    "Exact by strings: the calls of every turn letter by letter, as the paper has it; in the "
    "reference rule those of all turns in one list, wherever a turn ends: a conversation can be "
    "right there though a turn of it is invalid. Equal calls may "
    "differ there by a space or by the order of arguments. By structure: names and values "
    "compared. A "
    "tool call has no spelling, so in that form both columns are by structure. Invalid: "
    "conversations with a turn that is empty where calls were wanted; invalid turns: the share of "
    "such turns. First failure: the turn, one past the last where there is none."
)
_TURNS_NOTE = (
    "All calls: the share of conversations that have every call of that turn right and no other. "
    "Recall: the share of the turn's calls that stand in their place before the first wrong one of "
    "that turn; each turn is counted by itself, whatever went wrong before it."
)


# --- texts ------------------------------------------------------------------------------


def text_tables(
    columns_by_rule: Mapping[str, Columns], category_name: str
) -> Iterator[Table | Chart]:
    """Yield the tables and charts of short texts, by category too."""
    variants = score_columns.split_variants(columns_by_rule)
    labelled = score_columns.label_variants(variants)
    yield answer_table(labelled)
    yield from similarity_spread_table(labelled)
    _, first = score_columns.first_variant(labelled)
    names = ordered_levels(first.category)
    if len(names) > 1:
        yield _category_table(score_columns.first_variant_by_form(variants), names, category_name)


def _category_table(forms: Variants, names: Sequence[str], category_name: str) -> Table:
    """Return the shares by category in each form, the baselines' next to the run's."""
    _, first = score_columns.first_variant(forms)
    guesses = score_columns.baseline_names(first)
    rows: list[tuple[Cell, ...]] = []
    filters: list[EpisodeFilter] = []
    parts_by_form = {
        form: (rule, score_columns.ran_by_category(columns))
        for form, (rule, columns) in forms.items()
    }
    for name in names:
        for form, (rule, parts) in parts_by_form.items():
            if part := parts.get(name):
                filters.append(select_episodes(forms[form][1], forms, name))
                baseline_shares = (score_columns.baseline_share(part, each) for each in guesses)
                rows.append((name, *_text_row(form, rule, part), *baseline_shares))
    note = "Last the baselines' exact match on the same rows." if guesses else ""
    names_of = (score_columns.baseline_label(first, each) for each in guesses)
    table = Table(
        title=f"Texts by {category_name}",
        head=(category_name, "form", *_TEXT_HEAD[1:], *names_of),
        rows=tuple(rows),
        note=note + score_columns.history_caveat(first),
    )
    return link_filters(table, filters, n_names=2)


def answer_table(variants: Variants) -> Table:
    """Return the run's rows and the baselines' rows, which answer the same items."""
    _, first = score_columns.first_variant(variants)
    rows = [_text_row(*each) for each in score_columns.rows_with_baselines(variants)]
    intervals = score_columns.interval_note(first, score_columns.FEW_GROUPS_NOTE)
    table = Table(
        title="Texts",
        head=_TEXT_HEAD,
        rows=score_columns.merge_equal_rows(rows),
        note=_TEXT_NOTE + intervals,
    )
    return link_variants(table, variants)


def similarity_spread_table(variants: Variants) -> Iterator[Table]:
    """Yield the distribution of the similarities of the run's rows, if there are any."""
    found = {name: _text_measures(columns, rule) for name, (rule, columns) in variants.items()}
    keys = ("similarity", "similarity_min", "similarity_max", "similarity_std")
    rows: list[tuple[Cell, ...]] = [
        (name, int(measures["n"]), *(number_format.format_decimal(measures[key]) for key in keys))
        for name, measures in found.items() if "similarity" in measures
    ]  # fmt: skip
    if rows:
        head = ("", "n", "similarity", "least", "largest", "standard deviation")
        table = Table(
            title="More measures: texts",
            head=head,
            rows=score_columns.merge_equal_rows(rows),
            note=_SPREAD_NOTE,
            is_collapsed=True,
        )
        yield link_variants(table, variants)


def _text_measures(columns: Columns, rule: GradingRule) -> dict[str, float]:
    """Compute the measures with the metrics library."""
    ran = columns.where(columns.run)
    similarities = ran.part("similarity")
    accumulator = text_similarity.TextAccumulator(rule)
    accumulator.add_comparisons((ran.value == 1).tolist(), (ran.part("valid") == 1).tolist())
    accumulator.add_cosines(similarities[~np.isnan(similarities)])
    return accumulator.measures()


def _text_row(name: str, rule: GradingRule, columns: Columns) -> tuple[Cell, ...]:
    found = _text_measures(columns, rule)
    if not found["n"]:
        return (name, 0)
    has_similarity = "similarity" in found
    return (
        name,
        int(found["n"]),
        mean_share_cell(columns),
        mean_share_cell(score_columns.valid_rows(columns)),
        number_format.format_percent(found["invalid_rate"]),
        number_format.format_number(estimate_part_average(columns, "similarity"))
        if has_similarity
        else None,
        number_format.format_percent(found["similar"]) if has_similarity else None,
    )


# --- calls ------------------------------------------------------------------------------


def call_tables(
    columns_by_rule: Mapping[str, Columns], category_name: str
) -> Iterator[Table | Chart]:
    """Yield the tables and charts of function calls, turn by turn."""
    yield from conversation_tables(
        score_columns.label_variants(score_columns.split_variants(columns_by_rule))
    )


def conversation_tables(variants: Variants) -> Iterator[Table | Chart]:
    """Yield the run's rows and the baselines' rows, then how many turns each gets right."""
    _, first = score_columns.first_variant(variants)
    conversations_by_name = {
        name: _rebuild_conversations(columns, rule) for name, (rule, columns) in variants.items()
    }
    rows = [
        _conversation_row(name, columns, conversations_by_name[name])
        for name, (_, columns) in variants.items()
    ]
    rows += [_baseline_row(name, first) for name in score_columns.baseline_names(first)]
    head = ("", "conversations", "exact by strings", "exact by structure", "of valid", "invalid",
            "invalid turns", "first failure", "turns", "calls", "calls wanted")  # fmt: skip
    table = Table(
        title="Conversations",
        head=head,
        rows=score_columns.merge_equal_rows(rows),
        note=_CALLS_NOTE + score_columns.interval_note(first),
    )
    yield link_variants(table, variants)
    if any(each.turn_recalls() for each in conversations_by_name.values()):
        yield link_variants(_turn_table(conversations_by_name), variants)
        yield Chart(
            title="Recall of calls by turn", kind="line",
            series=tuple(
                Series(name=name, x=tuple(map(float, each.turn_recalls())),
                       y=tuple(each.turn_recalls().values()))
                for name, each in conversations_by_name.items()
            ),
            x_label="turn", y_label="recall", note=_TURNS_NOTE[_TURNS_NOTE.index("Recall:") :],
        )  # fmt: skip


def _turn_table(conversations_by_name: Mapping[str, ConversationAccumulator]) -> Table:
    """Return what was correct turn by turn."""
    n = max(len(each.turn_accuracies()) for each in conversations_by_name.values())
    rows: list[tuple[Cell, ...]] = []
    for name, each in conversations_by_name.items():
        for what, found in (("all calls", each.turn_accuracies()), ("recall", each.turn_recalls())):
            rows.append((name, what, *(found.get(at) for at in range(1, n + 1))))
    return Table(
        title="Calls by turn",
        head=("", "", *(f"turn {at}" for at in range(1, n + 1))),
        rows=score_columns.merge_equal_rows(rows),
        n_shaded_columns=n,
        note=_TURNS_NOTE,
    )


def _rebuild_conversations(columns: Columns, rule: GradingRule) -> ConversationAccumulator:
    """Rebuild conversations from the columns, for the metrics library."""
    ran = columns.where(columns.run)
    parts = {name: column.tolist() for name, column in ran.parts.items()}
    n = sum(name.startswith("match.") for name in parts)
    accumulator = ConversationAccumulator(rule)
    for row, value in enumerate(ran.value.tolist()):
        values = {name: column[row] for name, column in parts.items()}
        turns = [at for at in range(1, n + 1) if not isnan(values[f"match.{at}"])]
        recalls = (values.get(f"recall.{at}", nan) for at in turns)
        counts = (_integer_or_zero(values.get(name, nan)) for name in _COUNT_PARTS)
        accumulator.add_result(
            ConversationResult(
                value == 1,
                tuple(values[f"match.{at}"] == 1 for at in turns),
                tuple(None if isnan(x) else x for x in recalls),
                *counts,
            ),
            _integer_or_zero(values["turns"]),
        )
    return accumulator


_COUNT_PARTS = ("first_failure", "invalid_turns", "calls", "calls_truth")


def _integer_or_zero(number: float) -> int:
    return 0 if isnan(number) else int(number)


def _conversation_row(
    name: str, columns: Columns, talks: ConversationAccumulator
) -> tuple[Cell, ...]:
    ran = columns.where(columns.run)
    if not len(ran):
        return (name, 0)
    found = talks.measures()
    return (
        name,
        talks.n,
        mean_share_cell(columns),
        number_format.format_share(score_columns.mean_share(ran, "ast")),
        mean_share_cell(score_columns.valid_rows(ran)),
        number_format.format_percent(found["invalid_conversation_percentage"] / 100),
        number_format.format_percent(found["invalid_turn_percentage"] / 100),
        *(
            number_format.format_fixed(mean, 2)
            for mean in (
                found["avg_turn_of_first_failure"],
                talks.turns / talks.n,
                found["avg_predicted_functions_per_sample"],
                found["avg_ground_truth_functions_per_sample"],
            )
        ),
    )


def _baseline_row(name: str, columns: Columns) -> tuple[Cell, ...]:
    """Return the cells of a baseline, for which only exactness is known."""
    found = score_columns.baseline_rows(columns, name)
    return (
        score_columns.baseline_label(columns, name),
        len(found),
        mean_share_cell(found),
    )
