"""Proof of a suite: its controls are played, and what they score must be what it promises."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

import msgspec

from toolmark.authoring.oracle import has_solution, make_oracle
from toolmark.authoring.shortcut_checks import (
    MAX_SHOWN_IDS,
    CheckedTasks,
    Played,
    check_floor,
    check_guesses,
    estimate_cost,
    is_right,
)
from toolmark.authoring.shortcut_play import ShortcutTrial, check_shortcuts
from toolmark.core.errors import ToolmarkError
from toolmark.core.number_format import format_count, pluralize
from toolmark.core.records import Check, Score, Task, Trajectory
from toolmark.runs.presentation_writer import NOT_MADE
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import read_presentation
from toolmark.runs.suite import Suite

PlayControl = Callable[[str, Sequence[Task] | None], Run]
"""Plays a control, by its name, on these tasks, None for all that are checked; returns its run."""


def check_suite(
    suite: Suite,
    play: PlayControl,
    shortcuts: ShortcutTrial,
    *,
    limit: int,
    has_judge: bool = False,
) -> list[Check]:
    """Return what is found in a suite over its first `limit` tasks.

    The oracle must be right everywhere, an empty reply only where the row says so. Both are played
    twice where that costs nothing, to see that the suite says the same each time. `has_judge` says
    that a judge is named; without one, a suite that a judge scores is not played. No shortcut agent
    is played where a judge or another model would be asked.
    """
    tasks = [task for task in islice(suite, limit) if task.kind == "scored"]
    scope = CheckedTasks(min(limit, len(suite)), len(suite))
    checks = [
        Check(name="tasks", status="ok", detail=f"{format_count(len(suite))}: {suite.name}"),
        _check_tasks_repeat(suite, limit, scope),
    ]
    solved = [task for task in tasks if has_solution(task)]
    checks += _missing_solutions(suite, tasks, solved)
    judging = suite.scorer.judging
    if judging is not None and judging.is_required and not (has_judge or judging.default_model):
        step = "name a judge with --judge-model, a Python function for example, to play the suite"
        detail = "a judge model scores this suite, and none is named: no control is played"
        return [*checks, Check(name="judge", status="warn", detail=detail, next_step=step)]
    oracle = _play_oracle(suite, play, tasks, solved)
    if oracle is not None:
        playing_again = partial(_play_oracle, suite, play, tasks, solved)
        n_solved = len(solved) if _reads_solutions(suite) else len(tasks)
        whole = n_solved == len(tasks) and scope.are_all
        part = f"{format_count(n_solved)} of {format_count(len(suite))} tasks: all that it played"
        checks += _check_oracle(oracle, playing_again, "every task" if whole else part)
        checks += [] if isinstance(oracle, Check) else _check_presentation(oracle)
    null, always = _play_tasks(play, "control/null"), _play_tasks(play, "control/always-call")
    checks += check_floor(tasks, null, always, scope)
    checks += check_guesses(tasks, scope)
    is_alone = (judging is None or not judging.is_required) and not suite.environment.asked_model
    if isinstance(null, Played) and is_alone:
        checks += check_shortcuts(suite, null, shortcuts, scope)
    for played, who in ((oracle, "the oracle"), (null, "a model that only replies")):
        if isinstance(played, Played):
            return [*checks, estimate_cost(suite, tasks, played, who)]
    return checks


def _reads_solutions(suite: Suite) -> bool:
    """Return whether the oracle is the one that rows give, and not of the suite's author."""
    return suite.controls.get("oracle") is make_oracle


def _play_oracle(
    suite: Suite, play: PlayControl, tasks: Sequence[Task], solved: Sequence[Task]
) -> Played | Check | None:
    """Return the run of the oracle, over the tasks that have one; None where none has."""
    if "oracle" not in suite.controls or (_reads_solutions(suite) and not solved):
        return None
    is_partial = _reads_solutions(suite) and len(solved) < len(tasks)
    return _play_tasks(play, "control/oracle", solved if is_partial else None)


def _missing_solutions(
    suite: Suite, tasks: Sequence[Task], solved: Sequence[Task]
) -> Iterator[Check]:
    step = "add `solution` to the rows, or give the suite a control named oracle"
    if "oracle" not in suite.controls or (_reads_solutions(suite) and not solved):
        detail = "no oracle: no row has a solution, so nothing proves that the suite can be solved"
    elif _reads_solutions(suite) and len(solved) < len(tasks):
        known = {task.id for task in solved}
        first = next(task.id for task in tasks if task.id not in known)
        n_without = pluralize(len(tasks) - len(solved), "task")
        detail = f"no oracle: {n_without} of {format_count(len(tasks))} without a solution: {first}"
        detail += ", ..." if len(tasks) - len(solved) > 1 else ""
    else:
        return
    yield Check(name="oracle", status="warn", detail=detail, next_step=step)


def _play_tasks(
    play: PlayControl, name: str, tasks: Sequence[Task] | None = None
) -> Played | Check:
    try:
        run = play(name, tasks)
    except ToolmarkError as error:
        return Check(name=name.partition("/")[2], status="fail", detail=str(error))
    failures = [score.failure for score in run.scores() if score.failure is not None]
    if failures and len(failures) == run.info.n_planned:
        reason = failures[0].summary
        return Check(name=name.partition("/")[2], status="fail", detail=f"not tried: {reason}")
    scores = sorted(run.scores(), key=lambda score: (score.task, score.repeat))
    value = run.summary()["score"]["value"]
    trajectories = sorted(run.trajectories(), key=lambda each: each.task)
    presentation = read_presentation(run)
    shown = presentation.tables if presentation is not None else ()
    return Played(scores, trajectories, value, shown, run)


def _check_presentation(played: Played) -> Iterator[Check]:
    """Yield a fault for tables that could not be made."""
    for shown in played.shown:
        if shown.note.startswith(NOT_MADE):
            reason = shown.note.removeprefix(NOT_MADE).partition("\n")[0].strip()
            yield Check(name="tables", status="fail", detail=reason)


def _check_tasks_repeat(suite: Suite, limit: int, scope: CheckedTasks) -> Check:
    """Return whether reading the tasks twice gives the same."""
    first, second = (_digest_tasks(islice(suite, limit)) for _ in range(2))
    if first == second:
        detail = f"reading them twice gives the same{scope.text}"
        return Check(name="tasks repeat", status="ok", detail=detail)
    step = "seed what is drawn by a parameter of the suite"
    detail = "reading them twice gives different tasks"
    return Check(name="tasks repeat", status="fail", detail=detail, next_step=step)


def _digest_tasks(tasks: Iterator[Task]) -> str:
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(msgspec.json.encode(task, order="sorted"))
    return digest.hexdigest()


def _check_oracle(
    oracle: Played | Check, play_again: Callable[[], Played | Check | None], where: str
) -> Iterator[Check]:
    """Yield where the oracle is wrong; `where` says in words which tasks it played."""
    if isinstance(oracle, Check):
        yield oracle
        return
    wrong = [score for score in oracle.scores if not is_right(score)]
    if not wrong:
        yield Check(name="oracle", status="ok", detail=f"right in {where}")
    refusals = {each.task: _first_refusal(each) for each in oracle.trajectories}
    for score in wrong[:MAX_SHOWN_IDS]:
        why = "; ".join(filter(None, (_why_wrong(score), refusals.get(score.task))))
        yield Check(name="oracle", status="fail", detail=f"{score.task}: {why}")
    if len(wrong) > MAX_SHOWN_IDS:
        more = format_count(len(wrong) - MAX_SHOWN_IDS)
        yield Check(name="oracle", status="fail", detail=f"{more} more tasks")
    again = play_again()
    if not isinstance(again, Played):
        yield from [again] if again is not None else []
        return
    differing = [
        one.task
        for one, other in zip(oracle.trajectories, again.trajectories, strict=False)
        if _behaviour(one) != _behaviour(other)
    ]
    if differing or [x.verdicts for x in oracle.scores] != [x.verdicts for x in again.scores]:
        which = ", ".join(differing[:MAX_SHOWN_IDS]) or "the verdicts"
        step = "the environment or the scorer draws, reads the time, or shares state"
        yield Check(name="determinism", status="fail", detail=f"differs: {which}", next_step=step)
    else:
        detail = "playing the oracle twice gives the same results, states and verdicts"
        yield Check(name="determinism", status="ok", detail=detail)


def _first_refusal(trajectory: Trajectory) -> str:
    """Return what a tool said to the first call that it refused, "" where none was."""
    for step in trajectory.steps:
        for call, result in zip(step.calls, step.results, strict=False):
            if result.is_error:
                return f"{call.name} was refused: {result.text}"
    return ""


def _behaviour(trajectory: Trajectory) -> bytes:
    """Return what an environment did in an episode; times are left out."""
    results = [step.results for step in trajectory.steps]
    return msgspec.json.encode((results, trajectory.state, trajectory.tools), order="sorted")


def _why_wrong(score: Score) -> str:
    if score.failure is not None:
        return score.failure.summary
    verdict = next(iter(score.verdicts.values()))
    label = next((each for each in verdict.labels if each.primary), None)
    return f"{label.cause}: {label.evidence}" if label is not None else "incorrect"
