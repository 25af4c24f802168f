"""The paper's vision figures beside runs of this suite (Table 2 of the MFCL paper).

The paper's items are not published, and a generated set differs from them: the rows are for
orientation only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.records import Chart, Table
from toolmark.statistics import published_figures
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns
from toolmark.suites.mfcl_vision import accuracy_across_runs, accuracy_tables, variation_statistics

PUBLISHED_FIGURES: dict[str, tuple[float, float, float]] = {
    "GPT-5": (0.293, 0.347, 0.171),
    "Gemini 2.5 Pro": (0.266, 0.299, 0.143),
    "Claude Opus 4.1": (0.159, 0.167, 0.116),
    "GPT-4o": (0.117, 0.119, 0.048),
}
"""By model: overall, base, edges."""

_TITLE = "Beside the paper's models"
_NOTE = (
    "The paper's models were asked other pictures, with the live web: read its rows as "
    "orientation, not as a comparison. Overall is the mean over eight variations."
)
_MISSING_NOTE = (
    "The paper's models stand beside a run that has the base, or edges, or all of Table 2."
)


def build_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run; the comparison with the paper comes after the first one."""
    found = accuracy_tables.build_tables(columns_by_rule)
    comparison = (
        _comparison_table({published_figures.THIS_RUN: next(iter(columns_by_rule.values()))})
        if found
        else []
    )
    return published_figures.insert_after_table(found, comparison, _MISSING_NOTE)


def build_comparison_tables(
    runs_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return the tables over several runs; the paper comparison comes after the first one."""
    found = accuracy_across_runs.build_comparison_tables(runs_by_rule)
    comparison = _comparison_table(next(iter(runs_by_rule.values()))) if found else []
    return published_figures.insert_after_table(found, comparison, _MISSING_NOTE)


def _comparison_table(runs: Mapping[str, Columns]) -> list[Table]:
    figures = {name: _run_figures(columns) for name, columns in runs.items()}
    return published_figures.comparison_table(
        _TITLE,
        ("overall", *accuracy_tables.PUBLISHED_VARIATIONS),
        figures,
        PUBLISHED_FIGURES,
        _NOTE,
    )


def _run_figures(columns: Columns) -> list[float | None]:
    parts = [
        estimate_mean(variation_statistics.answers_in_variation(columns, name), name).value
        for name in accuracy_tables.PUBLISHED_VARIATIONS
    ]
    mean_score = variation_statistics.overall_score(columns)
    return [None if mean_score.partial else mean_score.value, *parts]
