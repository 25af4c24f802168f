"""Commands on runs that are stored: score, report, compare, show. No model is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from toolmark import api, suites
from toolmark.cli import options as o
from toolmark.cli import terminal
from toolmark.errors import UsageError, near
from toolmark.report.tables import visible
from toolmark.runs.store import Run
from toolmark.types import Score

out = Console()


def score(path: o.RunPath, suite: o.UserSuite = None, as_json: o.AsJson = False) -> None:
    """Score a stored run anew; no model is asked."""
    scorer = suites.scorer(suite) if suite else None
    done = api.rescore(path, scorer)
    found = done.summary()
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
        return
    terminal.summary(out, found)
    terminal.failures(out, done, (scorer or api.scorer_of(found["suite"])).natives)
    terminal.stale(out, path)


def report(
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    output: o.Page = None,
    suite: o.UserSuite = None,
) -> None:
    """Write one self-contained HTML page about one or more runs."""
    scorer = suites.scorer(suite) if suite else None
    page = api.write_report(*map(api.open_run, paths), path=output, scorer=scorer)
    out.print(str(page), highlight=False, soft_wrap=True)


def compare(
    a: Annotated[Path, typer.Argument(help="A run folder.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another one.", metavar="B")],
    suite: o.UserSuite = None,
    differing: Annotated[
        bool, o.flag("--differing", help="Test also tasks that differ in content under one id.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Compare two runs item by item: difference, interval, exact test, items that flipped."""
    scorer = suites.scorer(suite) if suite else None
    found = api.compare(api.open_run(a), api.open_run(b), scorer, differing=differing)
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
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


def _natives(run: Run, suite: str | None) -> Mapping[str, str]:
    """Return what a suite calls its failures; none where its scorer is not here, as for a list."""
    name = suite or run.info.plan.suite
    known = suite or (name in suites.SUITES and not suites.needs(name))
    return suites.scorer(name).natives if known else {}


def show(
    path: o.RunPath,
    item: Annotated[str | None, typer.Argument(help="A task or item id; none: list them.")] = None,
    suite: o.UserSuite = None,
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
    every: Annotated[bool, o.flag("--all", help="List all of them, not the first 50.")] = False,
) -> None:
    """Print what happened in one task, step by step; without an id, list the tasks."""
    opened = api.open_run(path)
    if item is None:
        fits = _fitting(opened, outcome, axis or [])
        terminal.outcomes(out, opened, fits, whole=every, natives=_natives(opened, suite))
        return
    scores = {(s.task, s.repeat): s for s in opened.scores() if item in (s.task, s.item)}
    scorer = suites.scorer(suite) if suite else api.scorer_of(opened.info.plan.suite)
    found = False
    for trajectory in opened.trajectories():
        task = opened.task(trajectory.task)
        if item not in (task.id, task.item):
            continue
        found = True
        judged = scores.get((trajectory.task, trajectory.repeat))
        terminal.episode(out, task, trajectory, judged, scorer.views(task, trajectory),
                         scorer.natives)  # fmt: skip
    for attempt in terminal.pending(opened):
        if item in (attempt.task, opened.task(attempt.task).item):
            found = True
            told = f"not run, {attempt.task}, repeat {attempt.repeat}: {attempt.stage}"
            out.print(visible(f"{told}: {attempt.reason}"), markup=False, highlight=False,
                      soft_wrap=True)  # fmt: skip
    if not found:
        known = {name for task in opened.tasks() for name in (task.id, task.item) if name}
        close = near(item, known).partition("; known")[0]  # all of them would fill the screen
        raise UsageError(f"{path}: no episode of {item!r}{close}; next: toolmark show {path}")
