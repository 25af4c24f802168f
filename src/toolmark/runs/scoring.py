"""Scores and summary of a run, from its tasks and trajectories alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from msgspec import structs

from toolmark.errors import failure_of, near
from toolmark.failure import NEVER_FITS, Failure
from toolmark.runs import presenting, spent
from toolmark.runs.jsonl import write
from toolmark.runs.store import Run
from toolmark.runs.suite import Scorer
from toolmark.stats.columns import Columns, columns
from toolmark.stats.formulas import Metric, Passes
from toolmark.stats.summary import groups
from toolmark.types import Cause, Score, Task, Trajectory, Verdict
from toolmark.worlds.mcp import sandbox

CAUSES = get_args(Cause)


def judge(
    scorer: Scorer, task: Task, trajectory: Trajectory, failure: Failure | None = None
) -> Score:
    """Score one episode in every reading. A fault of the scorer itself is a `failure`.

    A reading beside the headline may be left out: the episode does not count in it. Where a
    failure is given the episode counts as not run, and the scorer is not asked.
    """
    if failure is not None:
        return _unrun(task, trajectory.repeat, failure)
    readings: dict[str, Verdict] = {}
    try:
        found = scorer.score(task, trajectory)
        _named(found, scorer.readings)
        readings = {name: sound(found[name]) for name in scorer.readings if name in found}
    except Exception as error:  # a fault of ours must not end a long run, nor pass for the model's
        failure = failure_of(error, "scorer")
    return structs.replace(_unrun(task, trajectory.repeat, failure), readings=readings)


def _unrun(task: Task, repeat: int, failure: Failure | None) -> Score:
    return Score(
        task=task.id,
        item=task.item or task.id,
        repeat=repeat,
        category=task.category,
        axes=task.axes,
        failure=failure,
    )


def never_fits(run: Run) -> bool:
    """Tell whether the first request of every single-turn episode was too long for the model.

    Such a run says nothing of the model: a list of tools that no request fits with would be
    scored as if the model had called none. It is decided over all completed episodes of scored
    tasks with one turn, each time that the run is scored; one that fits is enough against it.
    """
    if not any(_single(task) for task in run.tasks()):
        return False
    n = 0
    for trajectory in run.trajectories():
        if _single(run.task(trajectory.task)):
            if not too_long(trajectory):
                return False
            n += 1
    return n > 0


def _single(task: Task) -> bool:
    return task.kind == "scored" and len(task.turns) == 1


def too_long(trajectory: Trajectory) -> bool:
    """Tell whether the first request of an episode was too long for the model."""
    return bool(trajectory.steps) and trajectory.steps[0].reply.stop == "over_long"


def failed(run: Run) -> bool:
    """Tell whether an episode that was played could not be scored."""
    return any(unscored(score) for score in run.stored_scores())


def unscored(score: Score) -> bool:
    """Tell whether the episode was played and its scorer failed."""
    return score.failure is not None and score.failure.kind == "scorer"


def _named(found: Mapping[str, Verdict], readings: Sequence[str]) -> None:
    """Raise ValueError unless the verdicts are of these readings, the headline among them."""
    for name in found:
        if name not in readings:
            raise ValueError(f"no reading {name!r}{near(name, readings)}")
    if readings[0] not in found:
        raise ValueError(f"no verdict in the headline reading {readings[0]!r}")


def sound(verdict: Verdict) -> Verdict:
    """Return a verdict if it may be stored. Raises ValueError naming what it may not say."""
    for label in verdict.labels:
        if label.cause not in CAUSES:
            raise ValueError(f"no cause {label.cause!r}{near(label.cause, CAUSES)}")
    if sum(label.primary for label in verdict.labels) != (verdict.outcome == "incorrect"):
        raise ValueError("a failed verdict has exactly one primary label, a correct one none")
    return verdict


def summarise(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Store what readers need of complete scores, then the summary, and return that."""
    causes: Counter[Failure] = Counter()
    first, *others = scorer.readings
    by_reading = {first: columns(_counted(run.stored_scores(), causes), first)}
    by_reading |= {name: columns(run.stored_scores(), name) for name in others}
    metrics = {name: numbers(scorer, table) for name, table in by_reading.items()}
    table = by_reading[scorer.readings[0]]
    caution = _caution(run, scorer, table, causes)
    presenting.write_views(run, scorer)
    presenting.write_presentation(run, scorer, by_reading, metrics, caution)
    head, *parts = [_fields(metric, table) for metric in metrics[scorer.readings[0]]]
    n_run = int(table.run.sum())
    plan = run.info.plan
    summary = {
        "suite": plan.suite,
        "model": plan.model,
        "dialect": plan.dialect,
        **({"sample": plan.sample} if plan.sample and plan.limit is None else {}),
        **({"caution": caution} if caution else {}),
        "n_planned": run.info.n_planned,
        "n_run": n_run,
        "n_not_run": run.info.n_planned - n_run,
        "failures": _by_kind(causes),
        "score": head,
        "parts": {part["name"]: part for part in parts},
        "reading": scorer.readings[0],
        "readings": scorer.readings,
        "spent": spent.fields(spent.of(run)),
        "run_dir": str(run.path),
    }
    write(Path(run.path) / "summary.json", summary)
    return summary


def _caution(run: Run, scorer: Scorer, table: Columns, causes: Container[Failure]) -> str:
    """Return what a reader must know first, "" where there is nothing.

    That is what the scorer says, that no sandbox held the servers, and that no request fitted.
    """
    off = sandbox.OFF if run.info.plan.world.get(sandbox.NAME) == "off" else ""
    lost = NEVER_FITS.cause in causes
    told = f"{NEVER_FITS.message}: they are not run, and say nothing of it" if lost else ""
    return " ".join(filter(None, (off, "; ".join(filter(None, (scorer.caution(table), told))))))


def _counted(scores: Iterable[Score], causes: Counter[Failure]) -> Iterator[Score]:
    """Go through scores, and count why episodes were not run."""
    for score in scores:
        if score.failure is not None:
            causes[score.failure.cause] += 1
        yield score


def _by_kind(causes: Mapping[Failure, int]) -> dict[str, int]:
    """Return how many episodes were not run by kind, the most first."""
    kinds: Counter[str] = Counter()
    for cause, n in causes.items():
        kinds[cause.kind] += n
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def numbers(scorer: Scorer, table: Columns) -> list[Metric]:
    """Return a suite's numbers, and those that repeats add where its headline is right or wrong.

    Of k of a task's repeats all are right (pass^k), and any (pass@k), for k = 2, 4, 8 ... and all
    of them; tasks count alike here, whatever the headline weighs by.
    """
    head, *parts = scorer.metrics(table)
    rows = head.among(table)
    n_repeats = int(table.repeat.max(initial=0)) + 1
    binary = np.isin(rows.value[rows.run], (0.0, 1.0)).all()
    if n_repeats < 2 or not binary or not head.measure(table).share:
        return [head, *parts]
    ks = [2**n for n in range(1, n_repeats.bit_length()) if 2**n < n_repeats] + [n_repeats]
    return [head, *parts, *(_passing(head, k, every) for every in (True, False) for k in ks)]


def _passing(head: Metric, k: int, every: bool) -> Metric:
    name = f"pass^{k}" if every else f"pass@{k}"
    told = f"{'all' if every else 'any'} of {k} right ({name})"
    return Metric(name, Passes(k=k, every=every), told, "tasks", head.rows)


def _fields(metric: Metric, table: Columns) -> dict[str, Any]:
    estimate = metric.measure(table)
    rows = metric.among(table)
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
