"""Scoring vision episodes: is the answer an accepted one, and if not, what went wrong (B3, B4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark import codec
from toolmark.dialects.native import Native
from toolmark.runs.suite import Scoring
from toolmark.suites.mfcl.vision import answer, modes, words
from toolmark.suites.mfcl.vision.item import Truth
from toolmark.suites.mfcl.vision.track import Track, follow
from toolmark.types import Cause, Ending, Label, Task, Trajectory, Verdict

if TYPE_CHECKING:
    from toolmark.runs.store import Run

READINGS = ("paper", "fair")
BASE = "base"
MODE = "mode:"
"""Before the name of a part: 1 for the mode that an error shows, whatever its cause is."""

Controls = Mapping[tuple[str, int, str], str]
"""By item, repeat and reading what went wrong on the undamaged picture, as `signature`."""

_EQUAL = {"paper": answer.paper, "fair": answer.fair}
_ENDINGS: dict[Ending, Cause] = {
    "steps": "over_limit",
    "calls": "over_limit",
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}


class Case(NamedTuple):
    """An episode with all that it is judged by."""

    task: Task
    trajectory: Trajectory
    truth: Truth
    track: Track


def truth_of(task: Task) -> Truth:
    """Return what is known of a task's item."""
    return msgspec.convert(task.reference, Truth)


def score(
    task: Task, trajectory: Trajectory, controls: Controls | None = None
) -> dict[str, Verdict]:
    """Judge one episode; `controls` holds what went wrong on the paired undamaged picture."""
    case = Case(task, trajectory, truth_of(task), follow(trajectory))
    parts = _parts(case)
    found: dict[str, Verdict] = {}
    for reading in READINGS:
        if right(case, reading):
            found[reading] = Verdict(outcome="correct", value=1.0, parts=parts)
            continue
        own = _labels(case)
        shown = parts | {f"{MODE}{own[0].native}": 1.0}
        control = (controls or {}).get((task.item, trajectory.repeat, reading), "")
        labels = _beside(own, control if case.truth.variation != BASE else "")
        found[reading] = Verdict(outcome="incorrect", value=0.0, parts=shown, labels=labels)
    return found


def right(case: Case, reading: str) -> bool:
    """Tell whether the answer is an accepted one in a reading; that there is none is never."""
    final = case.track.final
    if final.kind not in ("answer", "asks"):  # an accepted answer may end in a question mark
        return False
    return _EQUAL[reading](final.answer, case.truth.answers)


def _labels(case: Case) -> tuple[Label, ...]:
    """Return what went wrong, the first label primary; the way it ended stands behind a mode."""
    ending = _ended(case)
    found = modes.found(case.truth, case.track)
    if not found or found[0].native == modes.SEES:
        return replace(ending, primary=True), *found
    return replace(found[0], primary=True), *found[1:], ending


def _ended(case: Case) -> Label:
    """Return the label of an error that no mode explains."""
    final, ending = case.track.final, case.trajectory.ending
    if ending in _ENDINGS:
        return _label(_ENDINGS[ending], f"the episode ended by force: {ending}")
    fault = case.trajectory.steps[-1].fault if case.trajectory.steps else ""
    if fault:
        return _label("format", f"the last reply could not be read: {fault[:200]}")
    match final.kind:
        case "answer":
            return _label("wrong_answer", f"answered {final.answer[:200]!r}")
        case "asks":
            return _label("clarification", f"asked again: {final.answer[:200]!r}")
        case "none":
            return _label("no_answer", "the last reply holds no answer")
        case _:
            return _label("no_answer", f"said {final.answer[:200]!r}")


def _label(cause: Cause, evidence: str) -> Label:
    return Label(cause=cause, native=modes.UNEXPLAINED, evidence=codec.escape(evidence))


def _beside(own: tuple[Label, ...], control: str) -> tuple[Label, ...]:
    """Put `other` first where the same went wrong on the undamaged picture."""
    first, *rest = own
    if not control or signature(first) != control:
        return own
    name = modes.MODES.get(first.native, first.native)
    told = f"the same error on the undamaged picture: {name}, {first.evidence}"
    other = Label(cause=first.cause, native=modes.OTHER, evidence=told, primary=True)
    return other, replace(first, primary=False), *rest


def signature(label: Label) -> str:
    """Return the kind of an error: its mode, and of what no mode explains its cause too."""
    return f"{label.native} {label.cause}" if label.native == modes.UNEXPLAINED else label.native


def _parts(case: Case) -> dict[str, float]:
    """Return what the episode did, in numbers; shares of words only where there were queries."""
    track = case.track
    refused = track.final.kind in ("unknown", "unanswerable") or case.trajectory.ending == "refused"
    parts = {
        "searched": float(bool(track.queries)),
        "queries": float(len(track.queries)),
        "fetched": float(len(track.opened)),
        "steps": float(track.n_steps),
        "refused": float(refused),
        "asked_back": float(track.asked_back),
        "lookalikes": float(sum(mark.role == "lookalike" for mark in case.truth.marks)),
        "prompted": float(case.trajectory.dialect != Native.name),
    }
    counts = [Counter(source for _, source in told) for _, told in modes.origins(case.truth, track)]
    return parts | {f"from_{name}": share for name, share in words.shares(counts).items()}


def gather(run: Run) -> Scoring:
    """Return the scoring that knows which errors the same model makes on undamaged pictures."""
    controls: dict[tuple[str, int, str], str] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.axes.get("variation") == BASE:
            for reading, verdict in score(task, trajectory).items():
                if verdict.labels:
                    key = task.item, trajectory.repeat, reading
                    controls[key] = signature(verdict.labels[0])
    return partial(score, controls=controls)
