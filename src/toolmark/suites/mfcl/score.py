"""Scoring speech episodes: BFCL's own graders, then the failure mode of what went wrong (A6, A7).

Clarification turns never score by themselves: replies that the simulated user answered are taken
out of a single-turn episode before it is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from toolmark.runs.suite import Scoring
from toolmark.suites.bfcl import score as bfcl
from toolmark.suites.mfcl import faults, modes, speech_heard
from toolmark.suites.mfcl.items import TEXT, plain, turned
from toolmark.suites.mfcl.speech_heard import ANSWERED, ASKED
from toolmark.types import Label, Task, Trajectory, Verdict

if TYPE_CHECKING:
    from toolmark.runs.store import Run

READINGS = bfcl.READINGS
Controls = Mapping[tuple[str, int, str], "Control"]
_MEANS = ("wer", "entity_wer", "stoi", "snr_db")


class Control(NamedTuple):
    """What is wrong with an answer to the written text: kinds of error, and where they are."""

    errors: frozenset[str]
    places: frozenset[faults.Place]


_NONE = Control(frozenset(), frozenset())


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
            control = (controls or {}).get((task.item, trajectory.repeat, reading), _NONE)
            labels = _labels(task, trajectory, verdict, control)
        found[reading] = replace(verdict, parts={**verdict.parts, **parts}, labels=labels)
    return found


def acted(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return the episode without the replies that were questions the user answered."""
    kept = [step for step in trajectory.steps if not (step.ruling and step.ruling.allowed)]
    if turned(task) or len(kept) == len(trajectory.steps) or not kept:
        return trajectory
    return replace(trajectory, steps=tuple(kept))


def _labels(
    task: Task, trajectory: Trajectory, verdict: Verdict, control: Control
) -> tuple[Label, ...]:
    """Put the failure mode first; the graders' own labels stand behind it."""
    own = tuple(replace(label, primary=False) for label in verdict.labels)
    first = next((label for label in verdict.labels if label.primary), None)
    if task.axes["condition"] == TEXT or first is None:
        return verdict.labels
    played = acted(task, trajectory)
    places = faults.places(task, played)
    if places <= control.places if places else signature(first) in control.errors:
        told = f"the same error on the written text: {first.evidence}"
        return Label(cause=first.cause, native=modes.OTHER, evidence=told, primary=True), *own
    found = modes.found(task, trajectory, control.places)
    if not found:
        return replace(first, native=modes.UNEXPLAINED), *own
    primary, *others = found
    return replace(primary, primary=True), *others, *own


def control(task: Task, trajectory: Trajectory, verdict: Verdict) -> Control:
    """Return what is wrong with an answer to the written text; nothing where it is right."""
    if verdict.outcome != "incorrect":
        return _NONE
    errors = frozenset(signature(label) for label in verdict.labels)
    return Control(errors, faults.places(task, acted(task, trajectory)))


def signature(label: Label) -> str:
    """Return the kind of an error: its cause and the official error type."""
    return f"{label.cause} {label.native}"


def _parts(task: Task, trajectory: Trajectory) -> dict[str, float]:
    turns: list[Mapping[str, Any]] = task.reference.get("speech", {}).get("turns", [])
    parts = {
        name: fmean(values)
        for name in _MEANS
        if (values := [turn[name] for turn in turns if turn.get(name) is not None])
    }
    rulings = [(step, step.ruling) for step in trajectory.steps if step.ruling]
    allowed = sum(ruling.allowed for _, ruling in rulings)
    asked = sum(ruling.allowed or modes.asks(step, ruling) for step, ruling in rulings)
    for voice in [turn["voice"] for turn in turns if turn.get("voice")]:
        named = voice["name"].partition("+")[0]  # en-us+f3 is en-us, spoken by another
        parts[f"{speech_heard.ENGINE}{voice['engine']}"] = 1.0
        parts[f"{speech_heard.VOICE}{voice['engine']} {named}"] = 1.0
    return parts | {ASKED: float(asked), ANSWERED: float(allowed)}


def gather(run: Run) -> Scoring:
    """Return the scoring that knows which errors the same model makes on the written text."""
    controls: dict[tuple[str, int, str], Control] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.axes["condition"] == TEXT:
            for reading, verdict in score(task, trajectory).items():
                found = control(task, trajectory, verdict)
                controls[task.item, trajectory.repeat, reading] = found
    return partial(score, controls=controls)
