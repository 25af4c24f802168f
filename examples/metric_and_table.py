"""A metric and a table of your own, over the calendar: calls per episode, success by weekday."""

from collections.abc import Sequence
from typing import get_args

from calendar_suite import Calendar, Day

import toolmark as tm
from toolmark.scoring.score_rows import Row


def count_calls(episode: tm.Episode) -> int:
    """Return how many calls an episode needed."""
    return len(episode.calls)


def success_by_weekday(rows: Sequence[Row]) -> tm.Table:
    """Return a line for each weekday; the rows of the file have the weekday as their category."""
    lines = []
    for day in get_args(Day):
        of_day = [row for row in rows if row.category == day]
        right = sum(row.correct for row in of_day)
        lines.append({"weekday": day, "episodes": len(of_day), "right": right})
    return tm.table("Success by weekday", lines)


@tm.suite
def measured_calendar(path: str = "examples/calendar_rows.jsonl") -> tm.Suite:
    """Appointments by request, with a metric and a table."""
    return tm.Suite(
        tasks=tm.read_tasks(path),
        environment=Calendar,
        scorer=tm.state_equals("expected"),
        metrics=[tm.mean("calls", count_calls)],
        tables=[success_by_weekday],
    )
