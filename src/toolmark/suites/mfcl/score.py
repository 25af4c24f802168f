"""Scoring speech episodes: BFCL's own graders, then the failure mode of what went wrong (A6, A7).

Clarification turns never score by themselves: replies that the simulated user answered are taken
out of a single-turn episode before it is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from toolmark.runs.suite import Scoring
from toolmark.suites.bfcl import score as bfcl
from toolmark.suites.mfcl import modes, speech_report
from toolmark.suites.mfcl.items import TEXT, plain
from toolmark.types import Label, Task, Trajectory, Verdict

if TYPE_CHECKING:
    from toolmark.runs.store import Run

READINGS = bfcl.READINGS
Controls = Mapping[tuple[str, int, str], frozenset[str]]
_MEANS = ("wer", "entity_wer", "stoi", "snr_db")


def score(
    task: Task, trajectory: Trajectory, controls: Controls | None = None
) -> dict[str, Verdict]:
    """Judge one episode; `controls` holds the errors made on the paired written text."""
    verdicts = bfcl.score(plain(task), acted(task, trajectory))
    parts = _parts(task, trajectory)
    found: dict[str, Verdict] = {}
    for reading, verdict in verdicts.items():
        labels = verdict.labels
        if verdict.outcome == "incorrect":
            same = (controls or {}).get((task.item, trajectory.repeat, reading), frozenset())
            labels = _labels(task, trajectory, verdict, same)
        found[reading] = replace(verdict, parts={**verdict.parts, **parts}, labels=labels)
    return found


def acted(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return the episode without the replies that were questions the user answered."""
    kept = [step for step in trajectory.steps if not (step.ruling and step.ruling.allowed)]
    if len(task.turns) > 1 or len(kept) == len(trajectory.steps) or not kept:
        return trajectory
    return replace(trajectory, steps=tuple(kept))


def _labels(
    task: Task, trajectory: Trajectory, verdict: Verdict, same: frozenset[str]
) -> tuple[Label, ...]:
    """Put the failure mode first; the graders' own labels stand behind it."""
    own = tuple(replace(label, primary=False) for label in verdict.labels)
    first = next((label for label in verdict.labels if label.primary), None)
    if task.axes["condition"] == TEXT or first is None:
        return verdict.labels
    if signature(first) in same:
        told = f"the same error on the written text: {first.evidence}"
        return Label(cause=first.cause, native=modes.OTHER, evidence=told, primary=True), *own
    found = modes.found(task, trajectory)
    if not found:
        return replace(first, native=modes.OTHER), *own
    primary, *others = found
    return replace(primary, primary=True), *others, *own


def signature(label: Label) -> str:
    """Return what makes two errors the same: their cause and the official error type."""
    return f"{label.cause} {label.native}"


def _parts(task: Task, trajectory: Trajectory) -> dict[str, float]:
    turns: list[Mapping[str, Any]] = task.reference.get("speech", {}).get("turns", [])
    parts = {
        name: fmean(values)
        for name in _MEANS
        if (values := [turn[name] for turn in turns if turn.get(name) is not None])
    }
    rulings = [step.ruling for step in trajectory.steps if step.ruling]
    allowed = sum(ruling.allowed for ruling in rulings)
    engines = {turn["voice"]["engine"] for turn in turns if turn.get("voice")}
    parts |= {f"{speech_report.ENGINE}{name}": 1.0 for name in engines}
    return parts | {"asked": float(len(rulings)), "answered": float(allowed)}


def gather(run: Run) -> Scoring:
    """Return the scoring that knows which errors the same model makes on the written text."""
    controls: dict[tuple[str, int, str], set[str]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.axes["condition"] != TEXT:
            continue
        for reading, verdict in score(task, trajectory).items():
            key = task.item, trajectory.repeat, reading
            controls.setdefault(key, set()).update(_errors(verdict.labels))
    return partial(score, controls={key: frozenset(held) for key, held in controls.items()})


def _errors(labels: Iterable[Label]) -> Iterable[str]:
    return (signature(label) for label in labels)
