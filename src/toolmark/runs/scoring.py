"""Scores and summary of a run, from its tasks and trajectories alone."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from toolmark.errors import near
from toolmark.runs.jsonl import Lines, locked, write
from toolmark.runs.store import Run
from toolmark.runs.suite import Scorer
from toolmark.stats.columns import columns
from toolmark.types import Cause, Estimate, Score, Task, Trajectory, Verdict

CAUSES = get_args(Cause)
HELD_BYTES = 2**16  # scores are derived: they may be written in blocks


def judge(scorer: Scorer, task: Task, trajectory: Trajectory) -> Score:
    """Score one episode in every reading. A fault of the scorer itself is `not_run`."""
    readings: dict[str, Verdict] = {}
    fault = ""
    try:
        readings = {name: _sound(v) for name, v in scorer.score(task, trajectory).items()}
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
        fill(run, scores)
    finally:
        scores.close()
    draft.replace(path)
    return summarise(run, scorer)


def fill(run: Run, scores: Lines) -> None:
    """Append a Score without a verdict for every scored episode that was not run."""
    done = run.done()
    if len(done) == run.info.n_episodes:
        return
    reasons = {(a.task, a.repeat): f"{a.stage}: {a.reason}" for a in run.attempts()}
    for task, repeat in missing(run, done):
        if task.kind == "setup":
            continue
        scores.append(
            Score(
                task=task.id,
                item=task.item or task.id,
                repeat=repeat,
                category=task.category,
                axes=task.axes,
                not_run=reasons.get((task.id, repeat), "not reached"),
            )
        )


def missing(run: Run, done: set[tuple[str, int]]) -> Iterator[tuple[Task, int]]:
    """Go through the episodes that are not complete, all tasks of one repeat before the next."""
    for repeat in range(run.info.plan.repeats):
        for task in run.tasks():
            if (task.id, repeat) not in done:
                yield task, repeat


def summarise(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Compute the summary from the scores, write and return it."""
    table = columns(run.scores(), scorer.readings[0])
    head, *parts = [metric.measure(table) for metric in scorer.metrics(table)]
    n_run = int(table.run.sum())
    plan = run.info.plan
    summary = {
        "suite": plan.suite,
        "model": plan.model,
        "dialect": plan.dialect,
        **({"sample": plan.sample} if plan.sample and plan.limit is None else {}),
        "n_planned": run.info.n_planned,
        "n_run": n_run,
        "n_not_run": run.info.n_planned - n_run,
        "score": _fields(head),
        "parts": {part.name: _fields(part) for part in parts},
        "reading": scorer.readings[0],
        "run_dir": str(run.path),
    }
    write(Path(run.path) / "summary.json", summary)
    return summary


def _fields(estimate: Estimate) -> dict[str, Any]:
    told = {"partial": estimate.partial} if estimate.partial else {}
    return {
        "name": estimate.name,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "worst": estimate.worst,
        "best": estimate.best,
        **told,
    }
