"""The paper's leaderboard beside one's own runs of the published tasks (arXiv 2511.17729).

Only the average is known to us for its fourteen models: the other columns of its Table 2 are not
in the published files. Averages are of seven measures, as `average of 7` here: a run without
judges has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolmark.stats.columns import Columns
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
    first, *rest = report.tables(readings) or (None,)
    if not isinstance(first, Table):
        return ()
    found = _beside({"this run": readings[READING]})
    return [*([first, *found] if found else [_noted(first)]), *rest]


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, the paper's averages after the reading that they use."""
    made: list[Table | Chart] = []
    for each in report.across(readings):
        if not isinstance(each, Table) or each.title != report.leaderboard(READING):
            made.append(each)
            continue
        found = _beside(readings[READING])
        made += [each, *found] if found else [_noted(each)]
    return made


def _noted(table: Table) -> Table:
    return replace(table, note=f"{table.note} {_UNJUDGED}")


def _beside(runs: Mapping[str, Columns]) -> list[Table]:
    """Return the averages of runs and of the paper's models, the best first; none unjudged."""
    own = {name: report.pooled(rows, "avg7").value for name, rows in runs.items()}
    known = {name: value for name, value in own.items() if value is not None}
    if not known:
        return []
    every: dict[str, float] = known | {
        f"{model} (paper)": value for model, value in AVERAGE.items()
    }
    return [
        Table(
            title=_TITLE,
            head=("run", report.AVERAGES["avg7"]),
            rows=tuple((name, every[name]) for name in sorted(every, key=every.__getitem__)[::-1]),
            note=_NOTE,
            heat=1,
        )
    ]
