"""Accuracy tables of a vision run: the paper's Table 2, domains by query types, and factors.

An item is asked in several variations of its picture. Its answers are correlated, so every interval
counts items, and variations are compared item by item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Table
from toolmark.statistics import paired_costs
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.group_tables import count_run
from toolmark.statistics.metric_formulas import Mean, Metric
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import (
    Columns,
    Names,
    merge_equal_rules,
    ordered_levels,
)
from toolmark.statistics.table_cells import mean_share_cell
from toolmark.suites.mfcl_vision import behaviour_tables, episode_scoring, variation_statistics
from toolmark.suites.mfcl_vision.generation_parameters import CLUE_KINDS
from toolmark.suites.mfcl_vision.item_records import (
    BASE_VARIATION,
    DOMAINS,
    QUERY_KINDS,
    SELECT_KIND,
)
from toolmark.suites.mfcl_vision.variation_statistics import EDGES_VARIATION

LOOKALIKES_PART = "lookalikes"
"""A part of a verdict: the number of signs of the clue's kind that lead to other answers."""
_FACTOR_LABELS = {
    "hops": "hops",
    "clue": "clue",
    LOOKALIKES_PART: "look-alikes",
    "context": "context",
    "hint": "hint",
    "form": "form of the answer",
    "template": "template",
}
# A factor with more levels has a table of its own.
_MAX_SHARED_LEVELS = 8


def build_metrics(columns: Columns) -> Sequence[Metric]:
    """Return the score over the variations, then the score of each variation.

    With all of Table 2's variations the score is called overall; otherwise its label names the
    variations. Variations beyond Table 2 are never in a mean with those of Table 2.
    """
    names = variation_statistics.scored_variations(columns)
    name = "overall" if variation_statistics.has_all_variations(columns) else "accuracy"
    mark = (
        "" if name == "overall" else f", {'mean of ' * (len(names) > 1)}{_list_variations(names)}"
    )
    found = [
        Metric(
            name,
            variation_statistics.VARIATION_MEAN,
            f"{name}{mark}",
            "answers",
            (variation_statistics.SCORED_FILTER,),
        )
    ]
    others = variation_statistics.present_variations(columns)
    for variation in others if len(others) > 1 else ():
        rows = RowFilter(column="axes.variation", values=(variation,))
        label = f"accuracy, {variation_statistics.variation_label(variation)}"
        found.append(Metric(f"accuracy/{variation}", Mean(), label, "answers", (rows,)))
    return found


def _list_variations(names: Sequence[str]) -> str:
    return (
        " and ".join(map(variation_statistics.variation_label, names))
        if len(names) < 3
        else f"{len(names)} variations"
    )


# --- one run ----------------------------------------------------------------------------


def build_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return Table 2 of each grading rule, then factors and behaviour under the first rule.

    Rules that judge every answer alike share one table.
    """
    found: list[Table | Chart] = []
    for i, (rule, columns) in enumerate(merge_equal_rules(columns_by_rule).items()):
        if columns.run.any():
            found.append(accuracy_table(rule, columns))
            found += [*_cost_chart(rule, columns), *domain_tables(rule, columns)] if i == 0 else []
    first_columns = next(iter(columns_by_rule.values()))
    return (
        [
            *found,
            *factor_tables(first_columns),
            *clue_table(first_columns),
            *behaviour_tables.build_tables(first_columns),
        ]
        if found
        else ()
    )


def accuracy_title(rule: str) -> str:
    """Return the title of Table 2 under a grading rule."""
    return f"Accuracy by variation ({rule})"


def accuracy_table(rule: str, columns: Columns) -> Table:
    """Return Table 2 transposed: a row per variation, with its cost against the base."""
    parts = variation_statistics.answers_by_variation(columns)
    rows: list[tuple[Cell, ...]] = []
    row_parts = [*parts.values()]
    if len(parts) > 1:
        row_parts.insert(0, variation_statistics.scored_answers(columns))
        mean_score = variation_statistics.mean_over_variations(columns, "")
        mark = "overall" if variation_statistics.has_all_variations(columns) else "mean of these"
        rows.append((mark, mean_score.n, number_format.format_plus_minus(mean_score)))
    for name, part in parts.items():
        found = variation_statistics.compare_with_base(columns, name)
        cost = paired_costs.cost_cells(found) if name != BASE_VARIATION and found.n_items else ()
        rows.append(
            (
                variation_statistics.variation_label(name),
                count_run(part),
                number_format.format_plus_minus(estimate_mean(part, name)),
                *cost,
            )
        )
    several = len(parts) > 1 and BASE_VARIATION in parts
    table = Table(
        title=accuracy_title(rule),
        head=("variation", "n", "accuracy", *(paired_costs.COST_COLUMNS if several else ())),
        rows=tuple(rows),
        note=ACCURACY_NOTE
        + (f" Points: against the base. {paired_costs.COST_NOTE}" if several else "")
        + _bars_note(columns),
    )
    return link_rows(table, columns, row_parts, rule=rule.partition(" and ")[0])


def _bars_note(columns: Columns) -> str:
    """Return a note on how many items were padded with bars in a crop; "" if none were."""
    counts = []
    for name, part in variation_statistics.answers_by_variation(columns).items():
        barred = len(set(part.item[part.part(episode_scoring.BARS_PART) > 0]))
        if barred:
            counts.append(
                f"{variation_statistics.variation_label(name)} {barred} of "
                f"{len(set(part.item[part.run]))} items"
            )
    note = f" Filled up with bars, so that what must stay visible does: {', '.join(counts)}."
    return note if counts else ""


ACCURACY_NOTE = (
    "Accuracy in per cent, with the half-width of the 95 % interval where its ends lie within a "
    "point of that, else with its ends; n counts answers, intervals count items. Overall is the "
    "mean over Table 2's eight variations."
)


def _cost_chart(rule: str, columns: Columns) -> Iterator[Chart]:
    """Yield a chart of the cost of each variation, if there are several."""
    found = {
        name: variation_statistics.compare_with_base(columns, name)
        for name in variation_statistics.present_variations(columns)
    }
    compared = {name: x for name, x in found.items() if name != BASE_VARIATION and x.n_items}
    if len(compared) > 1:
        labels = variation_statistics.VARIATION_LABELS
        yield paired_costs.cost_bars(
            f"What each variation costs ({rule})",
            {labels.get(name, name): x for name, x in compared.items()},
            "accuracy against base, points",
        )


def domain_tables(rule: str, columns: Columns) -> Iterator[Table]:
    """Yield accuracy by domain and query type, over the variations and for the base alone.

    Published items may have neither, and then there is no table.
    """
    if not all(ordered_levels(columns.axis(axis)) for axis in ("domain", "kind")):
        return
    parts = {"": variation_statistics.scored_answers(columns)}
    if len(variation_statistics.scored_variations(columns)) > 1:
        parts = {
            f", mean of {_list_variations(variation_statistics.scored_variations(columns))}": parts[
                ""
            ]
        }
        parts[", base alone"] = variation_statistics.answers_in_variation(columns, BASE_VARIATION)
    for suffix, part in parts.items():
        if part.run.any():
            title = f"Accuracy by domain and query type ({rule}){suffix}"
            yield _domain_table(title, part, columns)


def _domain_table(name: str, columns: Columns, whole: Columns) -> Table:
    """Return the grid with totals; unknown domains and query types come after the known ones.

    `whole` has all rows of the run.
    """
    domains = ordered_levels(columns.axis("domain"), DOMAINS)
    kinds = ordered_levels(columns.axis("kind"), QUERY_KINDS)
    counts: list[int] = []
    rows: list[tuple[Cell, ...]] = []
    parts: list[Columns] = []
    for domain in (*domains, ""):
        selected = columns.where(columns.axis("domain") == domain) if domain else columns
        cells = [selected.where(selected.axis("kind") == kind) for kind in kinds]
        counts += [int(cell.run.sum()) for cell in cells] if domain else []
        shares = [estimate_mean(cell, "").value for cell in (*cells, selected)]
        rows.append((domain or "all", *shares))
        parts.append(selected)
    spread = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(counts[0])
    table = Table(
        title=name,
        head=("domain", *kinds, "all"),
        rows=tuple(rows),
        n_shaded_columns=len(kinds) + 1,
        note=f"Each cell of {spread} answers.",
    )
    by_kind = [EpisodeFilter(axes={"kind": kind}) for kind in kinds]
    return link_rows(table, whole, parts, columns=[*by_kind, EpisodeFilter()])


def factor_tables(columns: Columns) -> Iterator[Table]:
    """Yield accuracy by factor: a shared table, and one for each factor with many levels."""
    rows: list[tuple[Cell, ...]] = []
    parts: list[Columns] = []
    for factor, label in _FACTOR_LABELS.items():
        levels = _factor_levels(columns, factor)
        found = sorted({str(level) for level in levels if level}, key=_level_order)
        if len(found) < 2:
            continue
        level_parts = [columns.where(levels == level) for level in found]
        level_rows = [
            (level, *_accuracy_cells(part)) for level, part in zip(found, level_parts, strict=True)
        ]
        if len(found) > _MAX_SHARED_LEVELS:
            table = Table(
                title=f"Accuracy by {label}",
                head=(label, *_FACTOR_HEADINGS),
                rows=tuple(level_rows),
                note=_FACTOR_NOTE,
            )
            yield link_rows(table, columns, level_parts, columns=_FACTOR_EPISODES)
        else:
            rows += [(label, *row) for row in level_rows]
            parts += level_parts
    if rows:
        factors = list(dict.fromkeys(str(row[0]) for row in rows))
        factor_list = " and ".join(filter(None, (", ".join(factors[:-1]), factors[-1])))
        head = ("factor", "level", *_FACTOR_HEADINGS)
        note = _FACTOR_NOTE + _SELECT_NOTE * any(row[1] == SELECT_KIND for row in rows)
        table = Table(title=f"Accuracy by {factor_list}", head=head, rows=tuple(rows), note=note)
        yield link_rows(table, columns, parts, n_names=2, columns=_FACTOR_EPISODES)


_FACTOR_HEADINGS = ("items", "all variations", "base")
_FACTOR_EPISODES = (
    EpisodeFilter(),
    EpisodeFilter(),
    EpisodeFilter(axes={"variation": BASE_VARIATION}),
)
_FACTOR_NOTE = (
    "In brackets 95 % intervals over items. All variations: the mean of those of Table 2."
)
_SELECT_NOTE = " Hops, select: the page of every candidate is needed, however long the way."


def clue_table(columns: Columns) -> Iterator[Table]:
    """Yield accuracy by variation and kind of clue, if there are text and symbol clues.

    Some symbols differ by colour only: a variation without colours removes such a clue.
    """
    clues = ordered_levels(columns.axis("clue"), CLUE_KINDS)
    parts = variation_statistics.answers_by_variation(columns)
    if len(clues) < 2 or len(parts) < 2:
        return
    rows: list[tuple[Cell, ...]] = []
    for name, part in parts.items():
        by_clue = (part.where(part.axis("clue") == clue) for clue in clues)
        cells = (cell for each in by_clue for cell in (count_run(each), mean_share_cell(each)))
        rows.append((variation_statistics.variation_label(name), *cells))
    table = Table(
        title="Accuracy by variation and clue",
        head=("variation", *(heading for clue in clues for heading in (f"{clue}: n", clue))),
        rows=tuple(rows),
        note="In brackets 95 % intervals over items. Some symbols differ by their colour "
        "alone: what takes colours away may take the clue with them, for a person too.",
    )
    by_clue_twice = [EpisodeFilter(axes={"clue": clue}) for clue in clues for _ in range(2)]
    yield link_rows(table, columns, parts.values(), columns=by_clue_twice)


def _factor_levels(columns: Columns, factor: str) -> Names:
    """Return an axis, or a part whose numbers are levels; "" for unknown levels.

    A `select` question needs the pages of all candidates, so its level of `hops` is `select`.
    """
    part = columns.part(factor)
    if factor == "hops":
        chosen = (columns.axis("kind") == SELECT_KIND) & (columns.axis(factor) != "")
        return np.where(chosen, SELECT_KIND, columns.axis(factor))
    if np.isnan(part).all():
        return columns.axis(factor)
    return np.array(["" if np.isnan(x) else f"{x:g}" for x in part], dtype=object)


def _level_order(level: str) -> tuple[bool, float, str]:
    return (False, float(level), "") if level.isdecimal() else (True, 0.0, level)


def _accuracy_cells(columns: Columns) -> tuple[Cell, ...]:
    items = len({str(item) for item in columns.item[columns.run]})
    return (
        items,
        variation_statistics.mean_share_cell(columns),
        mean_share_cell(variation_statistics.answers_in_variation(columns, BASE_VARIATION)),
    )


# --- several runs -----------------------------------------------------------------------


PUBLISHED_VARIATIONS = (BASE_VARIATION, EDGES_VARIATION)
"""The variations whose published figures are known, next to the overall score."""
