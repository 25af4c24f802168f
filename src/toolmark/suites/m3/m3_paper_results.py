"""The paper's leaderboard next to runs of the published tasks (arXiv 2511.17729).

Of the paper's fourteen models only the average is known: the other columns of its Table 2 are not
in the published files. The averages are over seven measures, as `average of 7` here, so a run
without judges has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.records import Chart, Table
from toolmark.statistics import published_figures
from toolmark.statistics.score_columns import Columns
from toolmark.suites.m3 import m3_tables

RULE = "official"


class PaperAverage(DataRecord, frozen=True):
    """A row of the paper's Table 2, last column.

    That of Gemini 2.5 Flash Lite agrees with a mean of eight measures.
    """

    model: str
    average: float


def published_averages() -> tuple[PaperAverage, ...]:
    """Return the averages of the paper's models."""
    return read_table(__file__, "paper_averages.csv", tuple[PaperAverage, ...])


_COMPARISON = published_figures.PublishedComparison(
    title="Next to the paper's models",
    head=(m3_tables.AVERAGE_LABELS["avg7"],),
    measure_run=lambda columns: (m3_tables.pooled_measure(columns, "avg7").value,),
    read_published=lambda: {row.model: (row.average,) for row in published_averages()},
    note="Official rule. The paper's models were asked over its own servers, live, and rated by "
    "four judges.",
    missing_note="The paper's models stand next to a run once it is judged: toolmark judge RUN.",
    ranked=True,
)


def make_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run; the comparison with the paper comes after the first one."""
    return published_figures.insert_comparison(
        _COMPARISON,
        m3_tables.make_tables(columns_by_rule),
        {published_figures.THIS_RUN: columns_by_rule[RULE]},
    )


def tables_across_runs(
    runs_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return the tables over several runs.

    The comparison with the paper comes after the leaderboard of the grading rule that the paper
    uses.
    """
    return published_figures.insert_comparison(
        _COMPARISON,
        m3_tables.tables_across_runs(runs_by_rule),
        runs_by_rule[RULE],
        m3_tables.leaderboard_title(RULE),
    )
