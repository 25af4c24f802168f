"""The paper's figures for vision beside one's own (Table 2 of the MFCL paper).

Its items are not published, and a generated set is another set: the rows are for orientation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.stats.columns import Columns
from toolmark.stats.summary import mean
from toolmark.suites import beside
from toolmark.suites.mfcl.vision import report, varied
from toolmark.types import Chart, Table

FIGURES: dict[str, tuple[float, float, float]] = {
    "GPT-5": (0.293, 0.347, 0.171),
    "Gemini 2.5 Pro": (0.266, 0.299, 0.143),
    "Claude Opus 4.1": (0.159, 0.167, 0.116),
    "GPT-4o": (0.117, 0.119, 0.048),
}
"""Overall, base, edges."""

_TITLE = "Beside the paper's models"
_NOTE = (
    "The paper's models were asked other pictures, with the live web: read its rows as "
    "orientation, not as a comparison. Overall is the mean over eight variations."
)
_LACKS = "The paper's models stand beside a run that has the base, or edges, or all of Table 2."


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, its figures among the paper's after the first."""
    made = report.tables(readings)
    found = _beside({beside.OWN: next(iter(readings.values()))}) if made else []
    return beside.placed(made, found, _LACKS)


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, the paper's figures after the first table."""
    made = report.across(readings)
    found = _beside(next(iter(readings.values()))) if made else []
    return beside.placed(made, found, _LACKS)


def _beside(runs: Mapping[str, Columns]) -> list[Table]:
    own = {name: _figures(columns) for name, columns in runs.items()}
    return beside.table(_TITLE, ("overall", *report.SHOWN), own, FIGURES, _NOTE)


def _figures(columns: Columns) -> list[float | None]:
    parts = [mean(varied.asked(columns, name), name).value for name in report.SHOWN]
    whole = varied.overall(columns)
    return [None if whole.partial else whole.value, *parts]
