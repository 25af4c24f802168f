"""What conditions cost: paired item by item, by group, by module and by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from toolmark.core.records import Cell, Chart, Table
from toolmark.statistics import paired_costs
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.weighted_means import group_categories
from toolmark.suites.mfcl_speech import condition_labels
from toolmark.suites.mfcl_speech.category_columns import GROUPS, HALLUCINATION
from toolmark.suites.mfcl_speech.condition_labels import CLEAN, NOISY, SAID, TEXT

_COMPARED_CONDITIONS = ((SAID, TEXT), (CLEAN, SAID), (CLEAN, TEXT), (NOISY, TEXT), (NOISY, CLEAN))


def condition_difference(columns: Columns, condition: str, base: str) -> PairedComparison:
    """Compare two conditions item by item; the recognisers' answers to an item are averaged."""
    return compare_paired(
        condition_labels.condition_rows(columns, condition),
        condition_labels.condition_rows(columns, base),
    )


def comparison_tables(rule: str, columns: Columns) -> Iterator[Table]:
    """Return the spoken words, clean and noisy against what is before them; then by group."""
    present = set(condition_labels.present_conditions(columns))
    rows: list[tuple[Cell, ...]] = []
    parts: list[Columns] = []
    for condition, base in _COMPARED_CONDITIONS:
        if not {condition, base} <= present:
            continue
        for name, part in _group_rows(columns):
            found = condition_difference(part, condition, base)
            if found.n_items:
                labels = (
                    condition_labels.condition_label(condition, columns),
                    condition_labels.condition_label(base, columns),
                )
                rows.append((name, *labels, *paired_costs.cost_cells(found)))
                parts.append(_select_conditions(part, condition, base))
    if rows:
        table = Table(
            title=f"Text, clean and noisy audio, item by item ({rule})",
            head=("items of", "condition", "against", *paired_costs.COST_COLUMNS),
            rows=tuple(rows),
            note=paired_costs.COST_NOTE + condition_labels.marks_note(columns),
        )
        yield link_rows(table, columns, parts, n_names=3)


def _select_conditions(columns: Columns, *conditions: str) -> Columns:
    return columns.where(np.isin(columns.axis("condition"), conditions))


def _group_rows(columns: Columns) -> Iterator[tuple[str, Columns]]:
    yield "all", columns
    found = []
    for group in GROUPS:
        names = [
            *group_categories(group),
            *(["live_irrelevance"] if group is HALLUCINATION else []),
        ]
        part = columns.where(np.isin(columns.category, names))
        if len(part):
            found.append((group.name.replace("_", "-"), part))
    yield from found if len(found) > 1 else ()


# --- what each module and level costs ---------------------------------------------------


def condition_cost_tables(rule: str, columns: Columns) -> Iterator[Table | Chart]:
    """Return every condition against clean sound: a table, bars of modules, lines over levels."""
    present = condition_labels.present_conditions(columns)
    base = CLEAN if CLEAN in present else TEXT
    others = [name for name in present if name not in (TEXT, SAID, CLEAN)]
    if base not in present or not others:
        return
    found = {name: condition_difference(columns, name, base) for name in others}
    rows = [
        (condition_labels.condition_label(name, columns), *paired_costs.cost_cells(x))
        for name, x in found.items()
        if x.n_items
    ]
    if not rows:
        return
    note = (
        f"Against {condition_labels.condition_label(base, columns)}. "
        f"{paired_costs.COST_NOTE}{condition_labels.marks_note(columns)}"
    )
    table = Table(
        title=f"What each condition costs ({rule})",
        head=("condition", *paired_costs.COST_COLUMNS),
        rows=tuple(rows),
        note=note,
    )
    parts = [_select_conditions(columns, name, base) for name, x in found.items() if x.n_items]
    yield link_rows(table, columns, parts)
    yield from _cost_charts(rule, columns, found, base)


def _cost_charts(
    rule: str, columns: Columns, found: Mapping[str, PairedComparison], base: str
) -> Iterator[Chart]:
    levels = [known for known in map(condition_labels.split_level, found) if known]
    several = {family for family, _ in levels if sum(family == each for each, _ in levels) > 1}
    families: dict[str, dict[float, PairedComparison]] = {}
    plain: dict[str, PairedComparison] = {}
    for condition, x in found.items():
        family, level = condition_labels.split_level(condition) or ("", 0.0)
        if family in several:
            families.setdefault(family, {})[level] = x
        else:
            plain[condition_labels.tick_label(condition, columns)] = x
    label = f"accuracy against {base}, points"
    if len(plain) > 1:
        title = condition_labels.mark_title(f"What each condition costs, drawn ({rule})", columns)
        yield paired_costs.cost_bars(title, plain, label)
    for family, levelled in families.items():
        noise = family.partition(":")[2]
        is_snr = condition_labels.is_ratio(family)
        name = f"Signal-to-noise ratio{noise and f', {noise}'}" if is_snr else family
        yield Chart(
            title=condition_labels.mark_title(f"{name}: what each level costs ({rule})", columns),
            kind="line",
            series=(paired_costs.cost_series(list(levelled.values()), list(levelled)),),
            x_label="dB" if is_snr else "severity",
            y_label=label,
            note="Paired by item; bars are 95 % intervals.",
        )
