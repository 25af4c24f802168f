"""Effects of prompt formats on accuracy: heat map, paired drops, spread, flips, failure modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Table
from toolmark.formats.prompt_format import PromptVariant
from toolmark.official_bfcl import format_failure_modes, prompt_formats
from toolmark.statistics import paired_costs
from toolmark.statistics.episode_filters import FilterFinder, link_rows
from toolmark.statistics.failure_mode_tables import failed_answers
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.score_columns import Columns
from toolmark.suites.bfcl import subset_agreement

Grid: TypeAlias = NDArray[np.float64]

MAX_DRAWS = 1000
_MAX_SHUFFLED_CELLS = 20_000_000  # most cells that are shuffled: larger grids get fewer draws
MAX_FLIPPING_ITEMS = 40  # at most this many flipping items are named in the table
CALL_FORMS = ("python", "json", "verbose_xml", "concise_xml")
HEAT_MAP_TITLE = "Accuracy by prompt format"
SPREAD_TITLE = "Spread over prompt formats"


def format_tables(columns_by_rule: Mapping[str, Columns]) -> list[Table | Chart]:
    """Return the tables on format sensitivity; none where the category was not run."""
    found = {name: prompt_formats.format_rows(columns) for name, columns in columns_by_rule.items()}
    found = {name: rows for name, rows in found.items() if len(rows)}
    if not found:
        return []
    results: list[Table | Chart] = [*_linked_overviews(columns_by_rule, found)]
    for rule, rows in found.items():
        results += _drop_table(rule, rows, columns_by_rule[rule])
    rule, rows = next(iter(found.items()))
    return [
        *results,
        *_flip_table(rule, rows),
        *_failure_mode_table(rule, rows, columns_by_rule[rule]),
        *subset_agreement.run_tables(rule, rows),
    ]


def _linked_overviews(
    columns_by_rule: Mapping[str, Columns], rows_by_rule: Mapping[str, Columns]
) -> Iterator[Table]:
    """Yield accuracy by format and the spread, a column and a row per grading rule."""
    rule, rows = next(iter(rows_by_rule.items()))
    names = dict.fromkeys(
        name for each in rows_by_rule.values() for name in prompt_formats.accuracy_by_format(each)
    )
    yield link_rows(
        heat_map(rows_by_rule, HEAT_MAP_TITLE),
        columns_by_rule[rule],
        (rows.where(rows.axis("format") == name) for name in names),
        columns=[EpisodeFilter(rule=name) for name in rows_by_rule],
    )
    finders = {name: FilterFinder(columns_by_rule[name], name) for name in rows_by_rule}
    yield link_rows(
        spread_table(rows_by_rule, SPREAD_TITLE),
        columns_by_rule[rule],
        (finders[name].find_cover(each.where(each.run)) for name, each in rows_by_rule.items()),
    )


def tables_across_runs(columns_by_rule: Mapping[str, Mapping[str, Columns]]) -> list[Table | Chart]:
    """Return heat map, spread and figure 1 over several runs; none unless two runs have formats."""
    results: list[Table | Chart] = []
    for rule, runs in columns_by_rule.items():
        found = {name: prompt_formats.format_rows(columns) for name, columns in runs.items()}
        with_rows = {name: rows for name, rows in found.items() if len(rows)}
        if len(with_rows) < 2:
            continue
        note = _coverage_note(with_rows, [name for name in runs if name not in with_rows])
        results.append(heat_map(with_rows, f"{HEAT_MAP_TITLE}, run by run ({rule})", note))
        results.append(spread_table(with_rows, f"{SPREAD_TITLE}, run by run ({rule})"))
        results += subset_agreement.tables_across_runs(rule, with_rows)
    return results


def _coverage_note(with_rows: Mapping[str, Columns], others: Sequence[str]) -> str:
    """Return a note on runs without a column, and on columns that do not use the same entries."""
    entries = {name: set(rows.item[rows.run]) for name, rows in with_rows.items()}
    notes = [f" Without results here: {', '.join(others)}."] if others else []
    if len(set(map(frozenset, entries.values()))) > 1:
        sizes = ", ".join(
            f"{name} {number_format.format_count(len(items))}" for name, items in entries.items()
        )
        notes.append(f" Not over the same entries, so columns differ for that reason too: {sizes}.")
    return "".join(notes)


# --- the heat map, and how far formats differ -------------------------------------------


def heat_map(rows: Mapping[str, Columns], title: str, note: str = "") -> Table:
    """Return accuracy by format: a row per format, a column per run or grading rule."""
    found = {name: prompt_formats.accuracy_by_format(columns) for name, columns in rows.items()}
    names = dict.fromkeys(name for row in found.values() for name in row)
    lines: list[tuple[Cell, ...]] = []
    for name in names:
        values = [row[name].value if name in row else None for row in found.values()]
        lines.append((prompt_formats.short_label(name), *values))
    return Table(
        title=title,
        head=("format", *found),
        rows=tuple(lines),
        note="How calls are written, whether inside a tag, and how functions are described; in "
        "plain text and classic style where nothing else is said." + note,
        n_shaded_columns=len(found),
    )


def spread_table(rows: Mapping[str, Columns], title: str) -> Table:
    """Return how far formats differ: largest difference, deviation, and what chance explains."""
    lines = [_spread_row(name, columns) for name, columns in rows.items()]
    return Table(
        title=title,
        head=("", "max delta", "std", "variance", "by chance, 95 %", "p", "best", "worst"),
        rows=tuple(lines),
        note="Max delta, sample standard deviation and variance of the formats' accuracies, in "
        "percentage points, as the leaderboard counts them. By chance: the max delta that 95 % of "
        "shuffles of each item's formats stay below; p: how often a shuffle reaches the one seen.",
    )


def _spread_row(name: str, columns: Columns) -> tuple[Cell, ...]:
    found = {
        key: x.value
        for key, x in prompt_formats.accuracy_by_format(columns).items()
        if x.value is not None
    }
    if len(found) < 2:
        return (name,)
    values = list(found.values())
    delta, std = prompt_formats.max_delta(values), prompt_formats.standard_deviation(values)
    limit, p = shuffle_test(item_format_grid(columns, list(found))[1], delta)
    best, worst = max(found, key=lambda key: found[key]), min(found, key=lambda key: found[key])
    ends = (prompt_formats.short_label(best), prompt_formats.short_label(worst))
    return (
        name,
        _to_points(delta),
        _to_points(std),
        round(1e4 * std**2, 2),
        _to_points(limit),
        number_format.format_p_value(p),
        *ends,
    )


def _to_points(share: float) -> float:
    return round(100 * share, 2)


def item_format_grid(columns: Columns, names: Sequence[str]) -> tuple[list[str], Grid]:
    """Return the items, and their mean value in each format; nan where it was not run."""
    items = list(dict.fromkeys(columns.item.tolist()))
    row_of = {item: index for index, item in enumerate(items)}
    column = {name: index for index, name in enumerate(names)}
    total, count = np.zeros((len(items), len(names))), np.zeros((len(items), len(names)))
    cells = zip(columns.item, columns.axis("format"), columns.value, columns.run, strict=True)
    for item, name, value, run in cells:
        if run and name in column:
            total[row_of[item], column[name]] += value
            count[row_of[item], column[name]] += 1
    with np.errstate(invalid="ignore"):
        return items, total / count


def shuffle_test(values: Grid, delta: float) -> tuple[float, float]:
    """Return the max delta that chance stays below in 95 of 100 cases, and the p of the real one.

    If formats made no difference, an item's values could belong to them in any order: each item's
    values are shuffled, with a seed. Items that were not run in all formats are left out.
    """
    complete = values[~np.isnan(values).any(axis=1)]
    if not len(complete):
        return float("nan"), 1.0
    rng = np.random.default_rng(0)
    draws = min(MAX_DRAWS, max(100, _MAX_SHUFFLED_CELLS // complete.size))
    deltas = np.empty(draws)
    for draw in range(draws):
        means = rng.permuted(complete, axis=1).mean(axis=0)
        deltas[draw] = means.max() - means.min()
    p = (1 + int((deltas >= delta - 1e-12).sum())) / (1 + draws)
    return float(np.quantile(deltas, 0.95)), p


# --- what one axis costs ----------------------------------------------------------------


def paired_drops(columns: Columns) -> Iterator[tuple[str, str, str, PairedComparison]]:
    """Yield each axis level against its usual level: axis, level, usual level, result.

    Only formats that have a counterpart with the usual level, equal on all other axes, are
    compared. An item's formats are averaged, so that the pairs are items.
    """
    present = {prompt_formats.all_variants()[name] for name in set(columns.axis("format"))}
    for axis in prompt_formats.AXES:
        default = getattr(PromptVariant(), axis)
        for level in dict.fromkeys(
            getattr(form, axis) for form in prompt_formats.all_variants().values()
        ):
            changed = {f for f in present if getattr(f, axis) == level}
            changed = {f for f in changed if replace(f, **{axis: default}) in present}
            if level == default or not changed:
                continue
            twins = {replace(form, **{axis: default}) for form in changed}
            result = compare_paired(
                _select_formats(columns, changed), _select_formats(columns, twins)
            )
            yield axis, str(level), str(default), result


def _select_formats(columns: Columns, forms: set[PromptVariant]) -> Columns:
    names = [prompt_formats.format_name(form) for form in forms]
    return columns.where(np.isin(columns.axis("format"), names))


def _drop_table(rule: str, columns: Columns, whole: Columns) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for axis, level, default, found in paired_drops(columns):
        rows.append((axis, level, default, *paired_costs.cost_cells(found)))
    if rows:
        head = ("axis", "level", "against", *paired_costs.COST_COLUMNS)
        table = Table(
            title=f"What each axis of the prompt changes ({rule})",
            head=head,
            rows=tuple(rows),
            note="Against the usual level, over the formats that are alike in all else. "
            + paired_costs.COST_NOTE,
        )
        yield link_rows(
            table,
            whole,
            (
                columns.where(np.isin(columns.axis(str(axis)), [str(level), str(default)]))
                for axis, level, default, *_ in rows
            ),
            rule=rule,
            n_names=3,
        )


# --- items that flip --------------------------------------------------------------------


def _flip_table(rule: str, columns: Columns) -> Iterator[Table]:
    names = list(prompt_formats.accuracy_by_format(columns))
    items, values = item_format_grid(columns, names)
    was_run = ~np.isnan(values)
    share = np.nansum(values, axis=1) / np.maximum(was_run.sum(axis=1), 1)
    flipping = [i for i in range(len(items)) if 0 < share[i] < 1]
    if not flipping:
        return
    flipping.sort(key=lambda i: (abs(share[i] - 0.5), items[i]))
    groups = _format_groups(names)
    rows = [
        (items[i], *(_format_count(values[i, chosen]) for chosen in groups.values()))
        for i in flipping[:MAX_FLIPPING_ITEMS]
    ]
    always, never = int((share == 1).sum()), int(((share == 0) & was_run.any(axis=1)).sum())
    omitted = (
        f" {len(flipping) - MAX_FLIPPING_ITEMS} more are not shown."
        if len(flipping) > MAX_FLIPPING_ITEMS
        else ""
    )
    yield Table(
        title=f"Items that flip with the prompt format ({rule})",
        head=("item", *groups),
        rows=tuple(rows),
        note=f"In how many of the formats each item is right. {len(flipping)} items are right in "
        f"some formats only, {always} in all, {never} in none; those nearest to half "
        f"first.{omitted}",
        row_episodes=tuple(
            EpisodeFilter(category=prompt_formats.CATEGORY, task=item) for item, *_ in rows
        ),
        column_episodes=(EpisodeFilter(),) * (1 + len(groups)),
    )


def _format_groups(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the column indices of the formats of each kind: all, by form of calls, by tag.

    A kind with all or none of the formats is left out.
    """
    shapes = [prompt_formats.all_variants()[name] for name in names]
    kinds = {"all": [*range(len(names))]}
    kinds |= {form: [i for i, x in enumerate(shapes) if x.call_form == form] for form in CALL_FORMS}
    kinds["tag"] = [i for i, x in enumerate(shapes) if x.has_tag]
    kinds["no tag"] = [i for i, x in enumerate(shapes) if not x.has_tag]
    return {k: places for k, places in kinds.items() if k == "all" or 0 < len(places) < len(names)}


def _format_count(values: NDArray[np.float64]) -> str:
    """Return text that says how many of those that ran are right."""
    n_right = number_format.format_short(np.nansum(values).item())
    return f"{n_right} of {number_format.format_count(int((~np.isnan(values)).sum()))}"


# --- how formats are missed -------------------------------------------------------------


def _failure_mode_table(rule: str, columns: Columns, whole: Columns) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for mode in format_failure_modes.MODES:
        hit = columns.part(f"format:{mode}") == 1
        counts = [int((hit & (columns.axis("call_form") == form)).sum()) for form in CALL_FORMS]
        if sum(counts):
            rows.append((mode, *counts, sum(counts)))
    if rows:
        table = Table(
            title=f"How replies missed their format ({rule})",
            head=("mode", *CALL_FORMS, "all"),
            rows=tuple(rows),
            note="Failed replies by the form asked for; a reply can miss it in several ways.",
        )
        by_form = [EpisodeFilter(axes={"call_form": form}) for form in CALL_FORMS]
        failed = [failed_answers(columns)] * len(rows)
        yield link_rows(table, whole, failed, rule=rule, columns=[*by_form, EpisodeFilter()])
