"""Commands on runs that are stored: score, report, compare, show. No model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from toolmark import api, suites
from toolmark.cli import codes, episode, screen, terminal
from toolmark.cli import options as o
from toolmark.errors import UsageError, near
from toolmark.report.tables import visible
from toolmark.runs.presentation import Views, read_presentation, unfinished
from toolmark.runs.store import Run
from toolmark.types import Attempt, Record, Score, Task, Trajectory

out, err = screen.out(), screen.err()


def score(path: o.RunPath, suite: o.UserSuite = None, as_json: o.AsJson = False) -> None:
    """Score a stored run anew; no model is asked. Exit code 3 if the scorer fails on some."""
    scorer = suites.scorer(suite) if suite else None
    done = api.rescore(path, scorer)
    found = done.summary()
    if as_json:
        o.dump(found)
    else:
        terminal.summary(out, found)
        terminal.failures(out, done, _natives(done))
        terminal.unscored(out, done)
        terminal.stale(out, path)
    raise typer.Exit(codes.NOT_RUN if found["failures"].get("scorer") else 0)


def report(
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    output: o.Page = None,
) -> None:
    """Write one self-contained HTML page about one or more runs."""
    runs = [*map(api.open_run, paths)]
    page = api.write_report(*runs, path=output)
    out.print(visible(str(page)), markup=False, highlight=False, soft_wrap=True)
    for run in runs:
        _unfinished(run)


def compare(
    a: Annotated[Path, typer.Argument(help="A run folder.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another one.", metavar="B")],
    differing: Annotated[
        bool, o.flag("--differing", help="Test also tasks that differ in content under one id.")
    ] = False,
    reading: Annotated[
        str | None, o.flag("--reading", help="Which one; by default the headline's.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Compare two runs item by item: difference, interval, exact test, items that flipped."""
    found = api.compare(api.open_run(a), api.open_run(b), reading=reading, differing=differing)
    if as_json:
        o.dump(found)
        return
    out.print(str(found), highlight=False, markup=False, soft_wrap=True)


def _fitting(run: Run, outcome: str | None, axes: Sequence[str]) -> Callable[[Score], bool]:
    """Return what tells whether an episode is listed. Raises UsageError for what no run has."""
    known = ("correct", "incorrect", terminal.NOT_RUN)
    if outcome is not None and outcome not in known:
        raise UsageError(f"--outcome {outcome!r}{near(outcome, known)}")
    wanted = dict(each.partition("=")[::2] for each in axes)
    levels: dict[str, set[str]] = {}
    for score in run.scores() if wanted else ():
        for name, level in score.axes.items():
            levels.setdefault(name, set()).add(level)
    for name, level in wanted.items():
        if name not in levels:
            raise UsageError(f"--axis {name!r}: {run.path} has no such axis{near(name, levels)}")
        if level not in levels[name]:
            raise UsageError(f"--axis {name}={level!r}: no such level{near(level, levels[name])}")

    def fits(score: Score) -> bool:
        if outcome is not None and terminal.outcome(score) != outcome:
            return False
        return all(score.axes.get(name) == level for name, level in wanted.items())

    return fits


def _natives(run: Run) -> Mapping[str, str]:
    """Return readers' words for the suite's failures; none of a run that is not scored."""
    shown = read_presentation(run)
    return shown.natives if shown else {}


def _unfinished(run: Run) -> None:
    """Say that a run is not scored, and the command that does it."""
    if read_presentation(run) is None:
        told = visible(f"{run.path}: {unfinished(run)}")
        err.print(told, markup=False, highlight=False, soft_wrap=True)


class Found(Record, frozen=True, kw_only=True):
    """An episode that `show` is asked for: what happened and its worth, or why it was not run."""

    task: Task
    repeat: int
    trajectory: Trajectory | None = None
    score: Score | None = None
    attempt: Attempt | None = None


def show(
    path: o.RunPath,
    item: Annotated[str | None, typer.Argument(help="A task or item id; none: list them.")] = None,
    outcome: Annotated[
        str | None, o.flag("--outcome", help="List only: correct, incorrect or not run.")
    ] = None,
    axis: Annotated[
        list[str] | None,
        o.flag(
            "--axis",
            metavar="NAME=LEVEL",
            help="List only these, such as condition=noisy. May be repeated.",
        ),
    ] = None,
    every: Annotated[
        bool, o.flag("--all", help="List all, not the first 50; tell a task's texts whole.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Print what happened in one task, step by step; without an id, list the tasks."""
    opened = api.open_run(path)
    plan = opened.info.plan
    head = {"run_dir": str(path), "suite": plan.suite, "model": plan.model}
    if item is None:
        fits = _fitting(opened, outcome, axis or [])
        if as_json:
            o.dump(head | {"episodes": list(map(_row, filter(fits, opened.scores())))})
            return
        terminal.outcomes(out, opened, fits, whole=every, natives=_natives(opened))
        _unfinished(opened)
        return
    found = list(_episodes(opened, item))
    if not found:
        known = {name for task in opened.tasks() for name in (task.id, task.item) if name}
        if item in known:
            raise UsageError(f"{path}: {item!r} was asked for, but nothing of it is stored in "
                             "trajectories.jsonl: it has not been run")  # fmt: skip
        close = near(item, known).partition("; known")[0]  # all of them would fill the screen
        step = screen.command("show", path)
        raise UsageError(f"{path}: no episode of {item!r}{close}; next: {step}")
    if as_json:
        o.dump(head | {"episodes": found})
        return
    _tell(opened, found, whole=every)
    _unfinished(opened)


def _row(score: Score) -> dict[str, Any]:
    """Return a line of the list: the outcome and primary cause in the headline reading."""
    verdict = None if score.failure else next(iter(score.readings.values()), None)
    label = next((each for each in verdict.labels if each.primary), None) if verdict else None
    return {
        "task": score.task, "repeat": score.repeat, "outcome": terminal.outcome(score),
        "cause": label.cause if label else "", "native": label.native if label else "",
        "failure": score.failure, "axes": score.axes,
    }  # fmt: skip


def _episodes(run: Run, item: str) -> Iterator[Found]:
    """Go through the episodes of a task or an item: those that ran, then those that did not."""
    scores = {(s.task, s.repeat): s for s in run.scores() if item in (s.task, s.item)}
    for made in run.trajectories():
        task = run.task(made.task)
        if item in (task.id, task.item):
            score = scores.get((made.task, made.repeat))
            yield Found(task=task, repeat=made.repeat, trajectory=made, score=score)
    for attempt in terminal.pending(run):
        task = run.task(attempt.task)
        if item in (task.id, task.item):
            score = scores.get((attempt.task, attempt.repeat))
            yield Found(task=task, repeat=attempt.repeat, score=score, attempt=attempt)


def _tell(run: Run, found: Sequence[Found], *, whole: bool) -> None:
    views, words = Views(run), _natives(run)
    for each in found:
        if each.trajectory is not None:
            own = views[each.task.id, each.repeat]
            episode.show(out, each.task, each.trajectory, each.score, own, words, whole=whole)
        elif each.attempt is not None:
            why = each.attempt.failure.text
            told = f"not run, {each.task.id}, repeat {each.repeat}: {why}"
            out.print(visible(told), markup=False, highlight=False, soft_wrap=True)
