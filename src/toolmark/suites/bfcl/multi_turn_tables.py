"""Tables on multi-turn entries: credit per turn, and each turn's calls and truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from toolmark.core import json_codec
from toolmark.core.records import Table, Task, Trajectory
from toolmark.official_bfcl import executable_calls, truth_replay
from toolmark.official_bfcl.executable_calls import ExecutableCall
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.score_columns import Columns, split_rows

_MAX_CHARS = 400


def credit_tables(rule: str, columns: Columns) -> list[Table]:
    """Return partial credit by category next to the all-or-nothing score; none without entries."""
    checked = columns.where(columns.run & ~np.isnan(columns.part("turns_checked")))
    if not len(checked):
        return []
    by_category = split_rows(checked, checked.category, tuple(dict.fromkeys(checked.category)))
    rows = [_credit_row(name, part) for name, part in by_category.items()]
    table = Table(
        title=f"Multi-turn: credit per turn ({rule})",
        head=("category", "n", "entries passed", "turns passed", "in turn 1", "2", "3", "4+"),
        rows=tuple(rows),
        note="Turns passed is the mean share of an entry's turns; turns in which nothing is "
        "expected do not count. The last columns count entries by the turn that failed first.",
    )
    return [link_rows(table, columns, by_category.values(), rule=rule)]


def _credit_row(name: str, columns: Columns) -> tuple[str | float | int | None, ...]:
    first = columns.part("first_failed_turn")
    places = [int((first == turn).sum()) for turn in (1, 2, 3)]
    share = float(columns.part("turns").mean())
    share_passed = float(columns.correct.mean())
    return (name, len(columns), share_passed, share, *places, int((first >= 4).sum()))


def episode_tables(task: Task, trajectory: Trajectory) -> list[Table]:
    """Return, turn by turn, the calls made with their results, and the calls of the truth."""
    check = truth_replay.find_check(task)
    _, made_calls = executable_calls.decode_both_ways(trajectory, check.make_rewriter("model"))
    rows: list[tuple[str | float | int | None, ...]] = []
    results = _results_by_turn(trajectory)
    for turn, expected in enumerate(check.plain_truth):
        calls = (
            [call for step in made_calls[turn] for call in step] if turn < len(made_calls) else []
        )
        turn_results = results.get(turn, [])
        for index in range(max(len(calls), len(expected))):
            rows.append(
                (
                    turn + 1,
                    _format_call(calls[index]) if index < len(calls) else None,
                    turn_results[index] if index < len(turn_results) else None,
                    _format_call(expected[index]) if index < len(expected) else None,
                )
            )
    head = ("turn", "made", "result", "truth")
    return [Table(title="Calls and truth, turn by turn", head=head, rows=tuple(rows))]


def _results_by_turn(trajectory: Trajectory) -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = {}
    for step in trajectory.steps:
        texts = [
            json_codec.escape_surrogates(json_codec.restore_surrogates(x.text)[:_MAX_CHARS])
            for x in step.results
        ]
        # a forced stop leaves calls without a result
        texts += [""] * (len(step.calls) - len(texts))
        found.setdefault(step.turn, []).extend(texts)
    return found


def _format_call(call: ExecutableCall) -> str:
    return json_codec.escape_surrogates(executable_calls.format_call(call)[:_MAX_CHARS])
