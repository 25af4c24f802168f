"""The paper's overall figures for speech beside one's own (Table 1 of the MFCL paper).

Only the overall column stands here. How it was formed is not published, so that it and ours differ
by more than the models do; columns of single categories compare better. Gemini 2.5 Flash is left
out: its row for noisy audio is printed twice, with different values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.stats.columns import Columns
from toolmark.suites import beside
from toolmark.suites.mfcl import speech_columns
from toolmark.suites.mfcl import speech_marks as marks
from toolmark.suites.mfcl import speech_report as report
from toolmark.types import Chart, Table

CONDITIONS = {marks.TEXT: "text", marks.CLEAN: "clean audio", marks.NOISY: "noisy audio"}
OVERALL: dict[str, tuple[float, float, float]] = {
    "GPT-4o-audio": (0.589, 0.604, 0.509),
    "Qwen3-Omni-Flash": (0.551, 0.558, 0.501),
    "Gemini 2.5 Pro": (0.515, 0.511, 0.454),
}
"""Text, clean audio, noisy audio."""

_TITLE = "Beside the paper's models (overall)"
_NOTE = (
    "The paper's overall is not defined there and its items are not published: read its rows as "
    "orientation, not as a comparison."
)
_LACKS = "The paper's models stand beside a run that has every column."


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, its overall score among the paper's after the first."""
    made = report.tables(readings)
    found = _beside({beside.OWN: next(iter(readings.values()))}) if made else []
    return beside.placed(made, found, _LACKS)


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, then their overall scores among the paper's."""
    made = report.across(readings)
    return [*made, *_beside(next(iter(readings.values())))] if made else ()


def _beside(runs: Mapping[str, Columns]) -> list[Table]:
    """Return overall scores by condition, one's own first; nothing where no run has one."""
    own = {_named(name, rows): [_overall(rows, c) for c in CONDITIONS]
           for name, rows in runs.items()}  # fmt: skip
    return beside.table(_TITLE, list(CONDITIONS.values()), own, OVERALL, _NOTE)


def _overall(columns: Columns, condition: str) -> float | None:
    found = speech_columns.measure(speech_columns.OVERALL, marks.asked(columns, condition))
    return None if found.partial else found.value


def _named(name: str, columns: Columns) -> str:
    marked = any(map(marks.is_simulated, map(str, columns.axis("recogniser"))))
    return f"{name} (simulated recognisers)" if marked else name
