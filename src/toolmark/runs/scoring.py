"""Scores and summary of a run, from its tasks and trajectories alone."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from msgspec import structs

from toolmark.errors import UsageError, near, traced
from toolmark.runs import spent
from toolmark.runs.jsonl import Lines, locked, write
from toolmark.runs.store import Run
from toolmark.runs.suite import Metric, Scorer
from toolmark.stats.columns import Columns, columns
from toolmark.stats.summary import groups, passes
from toolmark.types import Cause, Score, Task, Trajectory, Verdict

CAUSES = get_args(Cause)
FAULT = "score: "  # how the reason begins why an episode that was played has no verdict
HELD_BYTES = 2**16  # scores are derived: they may be written in blocks


def judge(scorer: Scorer, task: Task, trajectory: Trajectory) -> Score:
    """Score one episode in every reading. A fault of the scorer itself is `not_run`.

    A reading beside the headline may be left out: the episode does not count in it.
    """
    readings: dict[str, Verdict] = {}
    fault = ""
    try:
        found = scorer.score(task, trajectory)
        _named(found, scorer.readings)
        readings = {name: _sound(found[name]) for name in scorer.readings if name in found}
    except Exception as error:  # a fault of ours must not end a long run, nor pass for the model's
        fault = f"{FAULT}{traced(error)}\n{traceback.format_exc()}"
    return Score(
        task=task.id,
        item=task.item or task.id,
        repeat=trajectory.repeat,
        category=task.category,
        axes=task.axes,
        readings=readings,
        not_run=fault,
    )


def failed(run: Run) -> bool:
    """Tell whether an episode that was played could not be scored."""
    return any(score.not_run.startswith(FAULT) for score in run.scores())


def _named(found: Mapping[str, Verdict], readings: Sequence[str]) -> None:
    """Raise ValueError unless the verdicts are of these readings, the headline among them."""
    for name in found:
        if name not in readings:
            raise ValueError(f"no reading {name!r}{near(name, readings)}")
    if readings[0] not in found:
        raise ValueError(f"no verdict in the headline reading {readings[0]!r}")


def _sound(verdict: Verdict) -> Verdict:
    """Return the verdict if it may be stored. Raises ValueError naming what it may not say."""
    for label in verdict.labels:
        if label.cause not in CAUSES:
            raise ValueError(f"no cause {label.cause!r}{near(label.cause, CAUSES)}")
    if sum(label.primary for label in verdict.labels) != (verdict.outcome == "incorrect"):
        raise ValueError("a failed verdict has exactly one primary label, a correct one none")
    return verdict


def rescore(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Write `scores.jsonl` and `summary.json` anew and return the summary.

    Raises UsageError while the run is being written, and for a scorer that fails on every episode,
    as that of another suite does; DataError for a damaged folder. The old scores stay until the
    new ones are complete.
    """
    with locked(run.path):
        run.verify()
        draft, fault = _draft(run, scorer)
        if fault:
            draft.unlink()
            raise UsageError(
                f"{run.path}: the scorer fails on every episode, and what was there stays: {fault}"
            )
        draft.replace(run.path / "scores.jsonl")
        return summarise(run, scorer)


def anew(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Score all of a run, in a folder that the caller has locked and verified."""
    draft, _ = _draft(run, scorer)
    draft.replace(run.path / "scores.jsonl")
    return summarise(run, scorer)


def _draft(run: Run, scorer: Scorer) -> tuple[Path, str]:
    """Write new scores beside the old; return the file, and the fault if there is no verdict."""
    known = replace(scorer, score=scorer.gather(run)) if scorer.gather else scorer
    draft = run.path / ".scores.jsonl"
    draft.unlink(missing_ok=True)
    faults: list[str] = []
    scores = Lines(draft, hold_bytes=HELD_BYTES)
    try:
        for trajectory in run.trajectories():
            task = run.task(trajectory.task)
            if task.kind == "scored":
                score = judge(known, task, trajectory)
                scores.append(score)
                faults.append(score.not_run.partition("\n")[0])
        fill(run, scores, scorer)
    finally:
        scores.close()
    return draft, faults[0] if faults and all(faults) else ""


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
    head, *parts = [_fields(metric, table) for metric in numbers(scorer, table)]
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
        "spent": spent.fields(spent.of(run)),
        "run_dir": str(run.path),
    }
    write(Path(run.path) / "summary.json", summary)
    return summary


def numbers(scorer: Scorer, table: Columns) -> list[Metric]:
    """Return a suite's numbers, and those that repeats add where its headline is right or wrong.

    Of k of a task's repeats all are right (pass^k), and any (pass@k), for k = 2, 4, 8 ... and all
    of them; tasks count alike here, whatever the headline weighs by.
    """
    head, *parts = scorer.metrics(table)
    rows = head.rows(table) if head.rows else table
    n_repeats = int(table.repeat.max(initial=0)) + 1
    binary = np.isin(rows.value[rows.run], (0.0, 1.0)).all()
    if n_repeats < 2 or not binary or not head.measure(table).share:
        return [head, *parts]
    ks = [2**n for n in range(1, n_repeats.bit_length()) if 2**n < n_repeats] + [n_repeats]
    return [head, *parts, *(_passing(head, k, every) for every in (True, False) for k in ks)]


def _passing(head: Metric, k: int, every: bool) -> Metric:
    name = f"pass^{k}" if every else f"pass@{k}"
    return Metric(
        name=name,
        measure=lambda table: passes(
            head.rows(table) if head.rows else table, k, name, every=every
        ),
        told=f"{'all' if every else 'any'} of {k} right ({name})",
        unit="tasks",
        rows=head.rows,
    )


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
