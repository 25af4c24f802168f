"""What the report shows of multi-turn entries: credit per turn, and each turn's calls and truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from toolmark import codec
from toolmark.stats.columns import Columns
from toolmark.suites.bfcl import execution, replay
from toolmark.suites.bfcl.execution import Act
from toolmark.types import Table, Task, Trajectory

_SHOWN_CHARS = 400


def tables(reading: str, columns: Columns) -> list[Table]:
    """Return partial credit by category beside the all-or-nothing score; none without entries."""
    checked = columns.where(columns.run & ~np.isnan(columns.part("turns_checked")))
    if not len(checked):
        return []
    rows = [_row(name, checked.where(checked.category == name)) for name in _names(checked)]
    return [
        Table(
            title=f"Multi-turn: credit per turn ({reading})",
            head=("category", "n", "entries passed", "turns passed", "in turn 1", "2", "3", "4+"),
            rows=tuple(rows),
            note="Turns passed is the mean share of an entry's turns; turns in which nothing is "
            "expected do not count. The last columns count entries by the turn that failed first.",
        )
    ]


def _names(columns: Columns) -> list[str]:
    return list(dict.fromkeys(columns.category))


def _row(name: str, columns: Columns) -> tuple[str | float | int | None, ...]:
    first = columns.part("first_failed_turn")
    places = [int((first == turn).sum()) for turn in (1, 2, 3)]
    share = float(columns.part("turns").mean())
    passed = float(columns.correct.mean())
    return (name, len(columns), passed, share, *places, int((first >= 4).sum()))


def views(task: Task, trajectory: Trajectory) -> list[Table]:
    """Return, turn by turn, the calls made with their results, and the calls of the truth."""
    check = replay.check(task)
    _, made = execution.both(trajectory, check.rewriter("model"))
    rows: list[tuple[str | float | int | None, ...]] = []
    results = _results(trajectory)
    for turn, expected in enumerate(check.plain):
        acts = [act for step in made[turn] for act in step] if turn < len(made) else []
        said = results.get(turn, [])
        for at in range(max(len(acts), len(expected))):
            rows.append(
                (
                    turn + 1,
                    _call(acts[at]) if at < len(acts) else None,
                    said[at] if at < len(said) else None,
                    _call(expected[at]) if at < len(expected) else None,
                )
            )
    head = ("turn", "made", "result", "truth")
    return [Table(title="Calls and truth, turn by turn", head=head, rows=tuple(rows))]


def _results(trajectory: Trajectory) -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = {}
    for step in trajectory.steps:
        texts = [codec.escape(codec.restore(x.text)[:_SHOWN_CHARS]) for x in step.results]
        # a forced stop leaves calls without a result
        texts += [""] * (len(step.calls) - len(texts))
        found.setdefault(step.turn, []).extend(texts)
    return found


def _call(act: Act) -> str:
    return codec.escape(execution.told(act)[:_SHOWN_CHARS])
