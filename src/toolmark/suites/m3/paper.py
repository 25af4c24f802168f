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
_COLUMN = report.AVERAGES["avg7"]
_NOTE = (
    " The paper's rows give its average of 7 only, over its own servers, live, and four judges. "
    "A run has that average once it is judged: toolmark judge."
)


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, its row of the leaderboard above the paper's after the first."""
    first, *rest = report.tables(readings) or (None,)
    if first is None:
        return ()
    return [first, _beside(report.board(READING, {"this run": readings[READING]})), *rest]


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, the paper's rows below the reading that it uses."""
    title = report.leaderboard(READING)
    return [
        _beside(made) if isinstance(made, Table) and made.title == title else made
        for made in report.across(readings)
    ]


def _beside(board: Table) -> Table:
    head, own = board.head, board.rows
    if _COLUMN not in head:
        head, own = (*head, _COLUMN), tuple((*row, None) for row in own)
    at = head.index(_COLUMN)
    blank = (None,) * (len(head) - 2)
    printed = (
        (f"{model} (paper)", *blank[: at - 1], value, *blank[at - 1 :])
        for model, value in AVERAGE.items()
    )
    return replace(board, head=head, rows=(*own, *printed), note=board.note + _NOTE,
                   heat=len(head) - 2)  # fmt: skip
