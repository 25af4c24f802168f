"""The effect of a variation: the headline as asked minus the headline varied, in pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import structs

from toolmark.core import number_format
from toolmark.core.records import VARIATION_AXIS, Cell, EpisodeFilter, Estimate, Record, Table
from toolmark.statistics.interval_warnings import warned_numbers_note
from toolmark.statistics.metric_formulas import FilteredFormula, Metric
from toolmark.statistics.paired_comparison import (
    PairedComparison,
    adjust_together,
    compare_paired,
)
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.table_cells import p_value_cell

TITLE = "Effect of variations"
NOTE = (
    "The headline over the tasks that were asked both ways: as the suite asks them, and varied. "
    "The difference is the first minus the second, in pairs, with its 95 % interval and the "
    "p-value of the same test. Varied tasks count nowhere else."
)


ADJUSTED_NOTE = (
    "With several kinds the last p-value is adjusted for all of them together (Holm). Intervals "
    "are those of each kind alone."
)


class VariationEffect(Record, frozen=True, kw_only=True):
    """The paired comparison of the tasks as asked (A) with those of one kind of variation (B).

    `p_adjusted` is its p-value adjusted for all kinds of the run together, None for a single one.
    """

    kind: str
    comparison: PairedComparison
    p_adjusted: float | None = None


def measure_effects(
    columns: Columns, varied: Mapping[str, Columns], metric: Metric
) -> list[VariationEffect]:
    """Return the effect of each kind of variation on a metric; their tests are read together."""
    found = [compare_variation(columns, rows, kind, metric) for kind, rows in varied.items()]
    adjusted = adjust_together([each.p for each in found])
    return [
        VariationEffect(kind=kind, comparison=each, p_adjusted=p)
        for kind, each, p in zip(varied, found, adjusted, strict=True)
    ]


def compare_variation(
    columns: Columns, varied: Columns, kind: str, metric: Metric
) -> PairedComparison:
    """Compare the tasks as asked (A) with their variations (B), each task with its own.

    Only tasks that have a variation are compared. A variation's id is that of its task, `@` and the
    kind.
    """
    own = np.array([str(name).removesuffix(f"@{kind}") for name in varied.task], dtype=object)
    formula = metric.formula
    if metric.filters:
        formula = FilteredFormula(filters=metric.filters, formula=metric.formula)
    found = compare_paired(columns.where_task(own), replace(varied, task=own), formula, name=kind)
    return structs.replace(found, only_a=(), only_b=())


def effect_table(effects: Sequence[VariationEffect], rule: str) -> Table:
    """Return a row for each kind: number of tasks, both values, the difference, its p-value.

    Several kinds have a column of p-values that are adjusted together.
    """
    has_several = any(effect.p_adjusted is not None for effect in effects)
    rows: list[tuple[Cell, ...]] = []
    for effect in effects:
        found = effect.comparison
        p = p_value_cell(found.p)
        difference = number_format.format_difference(found.difference)
        is_share = found.difference.is_share
        values = [
            number_format.format_estimate(Estimate(name="", value=value, is_share=is_share))
            for value in (found.value_a, found.value_b)
        ]
        detectable = Estimate(name="", value=found.detectable, is_share=is_share)
        size = number_format.format_difference(detectable)
        adjusted = [p_value_cell(effect.p_adjusted)] if has_several else []
        rows.append((effect.kind, found.n_pairs, *values, difference, p, *adjusted, size))
    head = (
        *("variation", "tasks", "as asked", "varied", "difference", "p"),
        *(("p, all kinds",) if has_several else ()),
        "detectable",
    )
    return Table(
        title=f"{TITLE} ({rule})" if rule else TITLE,
        head=head,
        rows=tuple(rows),
        note=" ".join(
            filter(
                None,
                (
                    NOTE,
                    ADJUSTED_NOTE if has_several else "",
                    warned_numbers_note(effect.comparison.difference for effect in effects),
                ),
            )
        ),
        row_episodes=tuple(
            EpisodeFilter(outcome="run", axes={VARIATION_AXIS: effect.kind}) for effect in effects
        ),
        column_episodes=(None, *(EpisodeFilter() for _ in head[1:])),
    )


def summary_fields(effects: Sequence[VariationEffect]) -> list[dict[str, Any]]:
    """Return the effects as a summary stores them."""
    return [
        {
            "kind": effect.kind,
            "as_asked": effect.comparison.value_a,
            "varied": effect.comparison.value_b,
            "difference": effect.comparison.difference.value,
            "low": effect.comparison.difference.low,
            "high": effect.comparison.difference.high,
            "p": effect.comparison.p,
            **({} if effect.p_adjusted is None else {"p_adjusted": effect.p_adjusted}),
            "method": effect.comparison.method,
            "n": effect.comparison.n_pairs,
            **({"n_groups": effect.comparison.n_groups} if effect.comparison.n_groups else {}),
            **({} if effect.comparison.difference.is_share else {"is_share": False}),
            **({"warning": warning} if (warning := effect.comparison.difference.warning) else {}),
        }
        for effect in effects
    ]
