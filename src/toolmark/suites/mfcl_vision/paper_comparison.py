"""The paper's vision figures, in a table of their own (Table 2 of the MFCL paper).

The paper's items are not published, and a generated set differs from them: no row of a run stands
next to the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.records import Chart, Table
from toolmark.statistics import published_figures
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns
from toolmark.suites.mfcl_vision import accuracy_across_runs, accuracy_tables, variation_statistics


class PaperRow(DataRecord, frozen=True):
    """The accuracy of one of the paper's models."""

    model: str
    overall: float
    base: float
    edges: float


def published_figures_by_model() -> dict[str, tuple[float, float, float]]:
    """Return the paper's figures by model: overall, base, edges."""
    rows = read_table(__file__, "paper_results.csv", tuple[PaperRow, ...])
    return {row.model: (row.overall, row.base, row.edges) for row in rows}


def _run_figures(columns: Columns) -> list[float | None]:
    parts = [
        estimate_mean(variation_statistics.answers_in_variation(columns, name), name).value
        for name in accuracy_tables.PUBLISHED_VARIATIONS
    ]
    mean_score = variation_statistics.overall_score(columns)
    return [None if mean_score.partial else mean_score.value, *parts]


_COMPARISON = published_figures.PublishedComparison(
    title="The paper's models, asked other pictures",
    stands_apart=True,
    head=("overall", *accuracy_tables.PUBLISHED_VARIATIONS),
    measure_run=_run_figures,
    read_published=published_figures_by_model,
    note="The paper's models were asked other pictures, with the live web: read its rows as "
    "orientation, not as a comparison. Overall is the mean over eight variations.",
    missing_note="The paper's models are listed where a run has the base, or edges, or all of "
    "Table 2.",
)


def build_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run; the comparison with the paper comes after the first one."""
    return published_figures.insert_comparison(
        _COMPARISON,
        accuracy_tables.build_tables(columns_by_rule),
        {published_figures.THIS_RUN: next(iter(columns_by_rule.values()))},
    )


def build_comparison_tables(
    runs_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return the tables over several runs; the paper comparison comes after the first one."""
    return published_figures.insert_comparison(
        _COMPARISON,
        accuracy_across_runs.build_comparison_tables(runs_by_rule),
        next(iter(runs_by_rule.values())),
    )
