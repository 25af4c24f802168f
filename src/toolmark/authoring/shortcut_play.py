"""Shortcut agents on the tasks of a suite: what each scores above the floor of every run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from toolmark.authoring.shortcut_checks import (
    MIN_TASKS_FOR_SHORTCUTS,
    SHORTCUT_MARGIN,
    CheckedTasks,
    Played,
)
from toolmark.core import number_format
from toolmark.core.errors import ToolmarkError
from toolmark.core.records import Check, Estimate, Score
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.statistics.floor_comparison import compare_with_floor, find_best_floor
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns, gather_columns

NAME = "shortcuts"
DEFAULT_TIME_S = 10.0
NO_TIME = "no time was left"

PlayShortcut = Callable[[Run, str, float], Sequence[Score]]
"""Plays an agent, by its name, on the tasks of a run, in so many seconds; raises ToolmarkError."""


class ShortcutTrial(NamedTuple):
    """The agents that a suite is tried with, by name, each with what it does.

    `play` plays them, all together for at most `time_s` seconds.
    """

    agents: Mapping[str, str]
    play: PlayShortcut
    time_s: float = DEFAULT_TIME_S


class _Attempts(NamedTuple):
    """The columns of the agents that played, and why others did not."""

    columns: dict[str, Columns]
    reasons: dict[str, str]


def check_shortcuts(
    suite: Suite,
    null: Played,
    trial: ShortcutTrial,
    scope: CheckedTasks,
    *,
    read_clock: Callable[[], float] = time.monotonic,
) -> Iterator[Check]:
    """Yield what the shortcut agents score on the tasks of `null`.

    An agent is named where it scores more than a fifth above the highest floor that the suite
    declares, and the lower end of the paired 95 % interval is above it too. Of fewer than ten tasks
    nothing is said.
    """
    agents, play, time_s = trial
    if time_s <= 0 or len(null.scores) < MIN_TASKS_FOR_SHORTCUTS:
        return
    rule = suite.scorer.rules[0]
    nothing = gather_columns(null.scores, rule)
    found = _play_agents(agents, null.run, rule, nothing, play, read_clock() + time_s, read_clock)
    metric = suite.scorer.metrics(nothing)[0]
    floors = [name for name in ("control/null", *suite.defaults.floors) if name in found.columns]
    floor = find_best_floor(
        (
            (name, compare_with_floor(nothing, found.columns[name], metric))
            for name in dict.fromkeys(floors)
        ),
        lower_is_better=metric.lower_is_better,
    )
    columns = found.columns[floor or "control/null"]
    compared = {
        name: compare_with_floor(each, columns, metric) for name, each in found.columns.items()
    }
    values = {name: each.value_a for name, each in compared.items() if each.value_a is not None}
    yield _summary_check(agents, found, values, floor, metric, nothing, scope, time_s)
    weak: dict[tuple[float | None, ...], list[str]] = {}
    for name, each in compared.items():
        above = each.difference
        if name not in floors and _is_weakness(above, lower_is_better=metric.lower_is_better):
            weak.setdefault((above.value, above.low, above.high), []).append(name)
    for names in weak.values():
        above = compared[names[0]].difference
        yield Check(
            name=NAME,
            status="warn",
            detail=f"{', '.join(names)}: {_difference_text(above)} above {floor}; the first "
            f"{agents[names[0]]}{scope.text}",
            next_step="vary where the right answer stands, or what the requests and tools say",
        )


def _play_agents(
    agents: Mapping[str, str],
    run: Run,
    rule: str,
    nothing: Columns,
    play: PlayShortcut,
    deadline_s: float,
    read_clock: Callable[[], float],
) -> _Attempts:
    found = _Attempts({"control/null": nothing}, {})
    for name in agents:
        if name in found.columns:
            continue
        left_s = deadline_s - read_clock()
        if left_s <= 0:
            found.reasons[name] = NO_TIME
            continue
        try:
            found.columns[name] = gather_columns(play(run, name, left_s), rule)
        except ToolmarkError as error:
            found.reasons[name] = NO_TIME if read_clock() >= deadline_s else str(error)
    return found


def _summary_check(
    agents: Mapping[str, str],
    found: _Attempts,
    values: Mapping[str, float],
    floor: str,
    metric: Metric,
    nothing: Columns,
    scope: CheckedTasks,
    time_s: float,
) -> Check:
    """Return how many agents played, the range of what they score, and who did not play."""
    is_share = metric.measure(nothing).is_share
    shown = {name: _value_text(value, is_share=is_share) for name, value in values.items()}
    ordered = sorted(values, key=lambda name: values[name])
    ends = f"{shown[ordered[0]]} to {shown[ordered[-1]]} ({ordered[-1]})" if ordered else "nothing"
    detail = (
        f"{number_format.pluralize(len(found.columns), 'agent')} without any knowledge of the task "
        f"score {ends}; the floor of a run is "
        f"{shown.get(floor, number_format.DASH)} ({floor}){scope.text}"
    )
    late = [name for name in found.reasons if found.reasons[name] == NO_TIME]
    other = [f"{name}: {why}" for name, why in found.reasons.items() if name not in late]
    if other:
        detail += f"; not played: {'; '.join(other)}"
    step = ""
    if late:
        seconds = number_format.format_count(round(time_s))
        detail += f"; not played in {seconds} s: {', '.join(late)}"
        step = "--shortcut-time gives them longer"
    return Check(name=NAME, status="ok", detail=detail, next_step=step)


def _is_weakness(above: Estimate, *, lower_is_better: bool) -> bool:
    if above.value is None or above.low is None or above.high is None:
        return False
    if lower_is_better:
        return above.high < 0
    return above.low > 0 and (not above.is_share or above.value > SHORTCUT_MARGIN)


def _value_text(value: float, *, is_share: bool) -> str:
    shown = number_format.format_estimate(Estimate(name="", value=value, is_share=is_share))
    return number_format.replace_special_spaces(shown)


def _difference_text(above: Estimate) -> str:
    unit = " points" if above.is_share else ""
    return number_format.replace_special_spaces(number_format.format_difference(above)) + unit
