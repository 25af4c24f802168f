"""The paper's overall figures for speech next to yours (Table 1 of the MFCL paper).

Only the overall column is included. Its formula is not published, so the paper's figure and ours
differ by more than the models do; columns of single categories compare better. Gemini 2.5 Flash is
left out: its row for noisy audio is printed twice, with different values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.records import Chart, Table
from toolmark.statistics import published_figures
from toolmark.statistics.score_columns import Columns
from toolmark.suites.mfcl_speech import category_columns, condition_labels, speech_tables

CONDITIONS = {
    condition_labels.TEXT: "text",
    condition_labels.CLEAN: "clean audio",
    condition_labels.NOISY: "noisy audio",
}
_TITLE = "Next to the paper's models (overall)"
_NOTE = (
    "The paper's overall is not defined there and its items are not published: read its rows as "
    "orientation, not as a comparison."
)
_INCOMPLETE_NOTE = "The paper's models stand next to a run that has every column."


class PaperRow(DataRecord, frozen=True):
    """The overall accuracy of one of the paper's models."""

    model: str
    text: float
    clean: float
    noisy: float


def published_overall() -> dict[str, tuple[float, float, float]]:
    """Return the paper's figures by model: text, clean audio, noisy audio."""
    rows = read_table(__file__, "published_overall.csv", tuple[PaperRow, ...])
    return {row.model: (row.text, row.clean, row.noisy) for row in rows}


def tables_with_published(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, with the paper's overall scores after the first table."""
    own_tables = speech_tables.run_tables(columns_by_rule)
    found = (
        _published_comparison({published_figures.THIS_RUN: next(iter(columns_by_rule.values()))})
        if own_tables
        else []
    )
    return published_figures.insert_after_table(own_tables, found, _INCOMPLETE_NOTE)


def tables_across_runs(
    columns_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return the tables over several runs, then their overall scores next to the paper's."""
    own_tables = speech_tables.tables_across_runs(columns_by_rule)
    return (
        [*own_tables, *_published_comparison(next(iter(columns_by_rule.values())))]
        if own_tables
        else ()
    )


def _published_comparison(runs: Mapping[str, Columns]) -> list[Table]:
    """Return overall scores by condition, your own first; nothing where no run has one."""
    own_scores = {_run_label(name, rows): [_overall_score(rows, c) for c in CONDITIONS]
           for name, rows in runs.items()}  # fmt: skip
    return published_figures.comparison_table(
        _TITLE, list(CONDITIONS.values()), own_scores, published_overall(), _NOTE
    )


def _overall_score(columns: Columns, condition: str) -> float | None:
    found = category_columns.measure_group(
        category_columns.OVERALL, condition_labels.condition_rows(columns, condition)
    )
    return None if found.partial else found.value


def _run_label(name: str, columns: Columns) -> str:
    is_simulated = any(map(condition_labels.is_simulated, map(str, columns.axis("recogniser"))))
    return f"{name} (simulated recognisers)" if is_simulated else name
