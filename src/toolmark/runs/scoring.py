"""Scores and summary of a run, from its tasks and trajectories alone."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from msgspec import structs

from toolmark.errors import near
from toolmark.runs.jsonl import Lines, locked, write
from toolmark.runs.store import Run
from toolmark.runs.suite import Metric, Scorer
from toolmark.stats.columns import Columns, columns
from toolmark.stats.summary import groups
from toolmark.types import Cause, Score, Task, Trajectory, Verdict

CAUSES = get_args(Cause)
HELD_BYTES = 2**16  # scores are derived: they may be written in blocks


def judge(scorer: Scorer, task: Task, trajectory: Trajectory) -> Score:
    """Score one episode in every reading. A fault of the scorer itself is `not_run`."""
    readings: dict[str, Verdict] = {}
    fault = ""
    try:
        found = scorer.score(task, trajectory)
        readings = {name: _sound(found[name]) for name in ordered(found, scorer.readings)}
    except Exception as error:  # a fault of ours must not end a long run, nor pass for the model's
        fault = f"score: {blame(error)}\n{traceback.format_exc()}"
    return Score(
        task=task.id,
        item=task.item or task.id,
        repeat=trajectory.repeat,
        category=task.category,
        axes=task.axes,
        readings=readings,
        not_run=fault,
    )


def ordered(found: Iterable[str], readings: Sequence[str]) -> list[str]:
    """Return the readings that were found, the headline first."""
    known = [*readings, *(name for name in found if name not in readings)]
    return [name for name in known if name in set(found)]


def _sound(verdict: Verdict) -> Verdict:
    """Return the verdict if it may be stored. Raises ValueError naming what it may not say."""
    for label in verdict.labels:
        if label.cause not in CAUSES:
            raise ValueError(f"no cause {label.cause!r}{near(label.cause, CAUSES)}")
    if sum(label.primary for label in verdict.labels) != (verdict.outcome == "incorrect"):
        raise ValueError("a failed verdict has exactly one primary label, a correct one none")
    return verdict


def blame(error: Exception) -> str:
    """Say in one line what went wrong and where, for a fault that is not the model's."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"


def rescore(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Write `scores.jsonl` and `summary.json` anew and return the summary.

    Raises UsageError while the run is being written, DataError for a damaged folder; the old
    scores stay until the new ones are complete.
    """
    with locked(run.path):
        run.verify()
        return anew(run, scorer)


def anew(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Do what `rescore` does, in a folder that the caller has locked and verified."""
    known = replace(scorer, score=scorer.gather(run)) if scorer.gather else scorer
    path = run.path / "scores.jsonl"
    draft = run.path / ".scores.jsonl"
    draft.unlink(missing_ok=True)
    scores = Lines(draft, hold_bytes=HELD_BYTES)
    try:
        for trajectory in run.trajectories():
            task = run.task(trajectory.task)
            if task.kind == "scored":
                scores.append(judge(known, task, trajectory))
        fill(run, scores, scorer)
    finally:
        scores.close()
    draft.replace(path)
    return summarise(run, scorer)


def fill(run: Run, scores: Lines, scorer: Scorer | None = None) -> None:
    """Append a Score for every scored episode that was not run, and the reason.

    It has no verdict, but for those that the scorer gives of what a file of others lacks.
    """
    done = run.done()
    if len(done) == run.info.n_episodes:
        return
    attempts = {(a.task, a.repeat): structs.replace(a, steps=()) for a in run.attempts()}
    for task, repeat in missing(run, done):
        if task.kind == "setup":
            continue
        last = attempts.get((task.id, repeat))
        found = scorer.missed(task, last) if scorer and last else {}
        scores.append(
            Score(
                task=task.id,
                item=task.item or task.id,
                repeat=repeat,
                category=task.category,
                axes=task.axes,
                readings={name: _sound(verdict) for name, verdict in found.items()},
                not_run=f"{last.stage}: {last.reason}" if last else "not reached",
            )
        )


def missing(run: Run, done: set[tuple[str, int]]) -> Iterator[tuple[Task, int]]:
    """Go through the episodes that are not complete, all tasks of one repeat before the next."""
    for repeat in range(run.info.plan.repeats):
        for task in run.tasks():
            if (task.id, repeat) not in done:
                yield task, repeat


def summarise(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Compute the summary from the scores, write and return it; `run.json` gets its caution."""
    table = columns(run.scores(), scorer.readings[0])
    head, *parts = [_fields(metric, table) for metric in scorer.metrics(table)]
    n_run = int(table.run.sum())
    plan = run.info.plan
    caution = scorer.caution(table)
    if caution != run.info.caution:
        run.info = structs.replace(run.info, caution=caution)
        write(Path(run.path) / "run.json", run.info)
    summary = {
        "suite": plan.suite,
        "model": plan.model,
        "dialect": plan.dialect,
        **({"sample": plan.sample} if plan.sample and plan.limit is None else {}),
        **({"caution": caution} if caution else {}),
        "n_planned": run.info.n_planned,
        "n_run": n_run,
        "n_not_run": run.info.n_planned - n_run,
        "score": head,
        "parts": {part["name"]: part for part in parts},
        "reading": scorer.readings[0],
        "readings": scorer.readings,
        "run_dir": str(run.path),
    }
    write(Path(run.path) / "summary.json", summary)
    return summary


def _fields(metric: Metric, table: Columns) -> dict[str, Any]:
    estimate = metric.measure(table)
    rows = metric.rows(table) if metric.rows else table
    n_items, n_groups = len(set(rows.item[rows.run])), groups(rows)
    whole = estimate.n == rows.run.sum()
    told = {
        "partial": estimate.partial,
        "told": metric.told,
        "unit": metric.unit,
        # the interval is as wide as the items or groups make it: told where answers share them
        "n_items": n_items if n_items < estimate.n and whole else 0,
        "n_groups": n_groups if n_groups < estimate.n and whole else 0,
    }
    return {
        "name": estimate.name,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "worst": estimate.worst,
        "best": estimate.best,
        **{name: value for name, value in told.items() if value},
        **({} if estimate.share else {"share": False}),
    }
