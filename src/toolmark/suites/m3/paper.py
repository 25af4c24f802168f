"""The paper's leaderboard beside one's own runs of the published tasks (arXiv 2511.17729).

Only the average is known to us for its fourteen models: the other columns of its Table 2 are not
in the published files. Averages are of seven measures, as `average of 7` here: a run without
judges has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.stats.columns import Columns
from toolmark.suites import beside
from toolmark.suites.m3 import report
from toolmark.types import Chart, Table

AVERAGE = {
    "GPT-5": 0.482,
    "Gemini 2.5 Pro": 0.423,
    "Grok 4 (0709)": 0.411,
    "GPT-5 Mini": 0.395,
    "Gemini 2.5 Flash": 0.388,
    "Claude 4.5 Sonnet": 0.333,
    "Grok-4 Fast": 0.298,
    "Llama-4-Scout-17B-16E": 0.264,
    "GPT-5 Nano": 0.247,
    "Claude 4.5 Haiku": 0.205,
    "Gemini 2.5 Flash Lite": 0.180,
    "InternVL 3.5": 0.179,
    "Qwen2.5-VL-72B": 0.141,
    "GLM 4.5v": 0.029,
}
"""Table 2, last column; the row of Gemini 2.5 Flash Lite agrees with a mean of eight."""

READING = "official"
_TITLE = "Beside the paper's models"
_NOTE = (
    "Official reading. The paper's models were asked over its own servers, live, and rated by four "
    "judges."
)
_UNJUDGED = "The paper's models stand beside a run once it is judged: toolmark judge RUN."


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, its average among the paper's after the first."""
    made = report.tables(readings)
    found = _beside({beside.OWN: readings[READING]}) if made else []
    return beside.placed(made, found, _UNJUDGED)


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, the paper's averages after the reading that they use."""
    made = report.across(readings)
    found = _beside(readings[READING]) if made else []
    return beside.placed(made, found, _UNJUDGED, after=report.leaderboard(READING))


def _beside(runs: Mapping[str, Columns]) -> list[Table]:
    """Return the averages of runs and of the paper's models, the best first; none unjudged."""
    own = {name: (report.pooled(rows, "avg7").value,) for name, rows in runs.items()}
    paper = {model: (value,) for model, value in AVERAGE.items()}
    return beside.table(_TITLE, [report.AVERAGES["avg7"]], own, paper, _NOTE, ranked=True)
