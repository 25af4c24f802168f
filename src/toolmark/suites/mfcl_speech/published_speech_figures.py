"""The paper's overall figures for speech, in a table of their own (Table 1 of the MFCL paper).

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


def _overall_scores(columns: Columns) -> list[float | None]:
    found = [
        category_columns.measure_group(
            category_columns.OVERALL, condition_labels.condition_rows(columns, condition)
        )
        for condition in CONDITIONS
    ]
    return [None if each.partial else each.value for each in found]


_COMPARISON = published_figures.PublishedComparison(
    title="The paper's models, asked other recordings (overall)",
    stands_apart=True,
    head=tuple(CONDITIONS.values()),
    measure_run=_overall_scores,
    read_published=published_overall,
    note="The paper's overall is not defined there and its items are not published: read its rows "
    "as orientation, not as a comparison.",
    missing_note="The paper's models are listed where a run has every column.",
)


def tables_with_published(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, with the paper's overall scores after the first table."""
    run = {published_figures.THIS_RUN: next(iter(columns_by_rule.values()))}
    return published_figures.insert_comparison(
        _COMPARISON, speech_tables.run_tables(columns_by_rule), _labelled_runs(run)
    )


def tables_across_runs(
    columns_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return the tables over several runs, then the paper's overall scores."""
    own_tables = speech_tables.tables_across_runs(columns_by_rule)
    runs = next(iter(columns_by_rule.values()))
    return (
        [*own_tables, *published_figures.compare_runs(_COMPARISON, _labelled_runs(runs))]
        if own_tables
        else ()
    )


def _labelled_runs(runs: Mapping[str, Columns]) -> dict[str, Columns]:
    """Return the runs by name, marked where recognisers are simulated."""
    return {
        f"{name} (simulated recognisers)"
        if any(map(condition_labels.is_simulated, map(str, columns.axis("recogniser"))))
        else name: columns
        for name, columns in runs.items()
    }
