"""Scoring vision episodes: is the answer an accepted one, and if not, what went wrong (B3, B4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark import codec
from toolmark.dialects.native import Native
from toolmark.perturb.image import shape
from toolmark.runs.suite import Scoring
from toolmark.suites.mfcl.vision import answer, modes, words
from toolmark.suites.mfcl.vision.item import BASE, Truth
from toolmark.suites.mfcl.vision.track import Track, follow
from toolmark.types import Cause, Ending, Label, Task, Trajectory, Verdict

if TYPE_CHECKING:
    from toolmark.runs.store import Run

READINGS = ("paper", "fair")
MODE = "mode:"
"""Before the name of a part: 1 for the mode that an error shows, whatever its cause is."""

BARS = "bars"
"""A part: 1 where the picture was filled up with bars, as a crop would have lost a sign."""

_CUT = 200

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
_SAID: dict[answer.Kind, tuple[Cause, str]] = {
    "answer": ("wrong_answer", "answered"),
    "asks": ("clarification", "asked again:"),
}
_FIRST = ("length", "refused", "malformed", "over_long")
"""Endings that say nothing of what was searched for; a limit that is reached does."""


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
        own = _labels(case, reading)
        shown = parts | {f"{MODE}{own[0].native}": 1.0}
        control = (controls or {}).get((task.item, trajectory.repeat, reading), "")
        labels = _beside(own, control if case.truth.variation != BASE else "")
        found[reading] = Verdict(outcome="incorrect", value=0.0, parts=shown, labels=labels)
    return found


def right(case: Case, reading: str) -> bool:
    """Tell whether the answer is an accepted one in a reading, whatever else it may look like."""
    return _EQUAL[reading](case.track.final.answer, case.truth.answers)


def _labels(case: Case, reading: str) -> tuple[Label, ...]:
    """Return what went wrong, the first label primary.

    That an episode was ended, or could not be read, comes before a mode; what was answered stands
    behind it. An answer that is right but for its form shows no mode.
    """
    if _formless(case, reading):
        told = f"right but for its form: {case.track.final.answer[:_CUT]!r}"
        return (_label("format", modes.FORM, told, primary=True),)
    found = modes.found(case.truth, case.track)
    lost, ended = [*_lost(case)], _ended(case)
    if case.trajectory.ending in _FIRST or _fault(case):
        first, *rest = ended, *found, *lost
    elif lost and not case.track.queries:
        first, *rest = *lost, *found, ended
    elif found:
        behind = replace(ended, native="") if ended.native == modes.UNEXPLAINED else ended
        first, *rest = *found, *lost, behind
    else:
        first, *rest = ended, *lost
    return replace(first, primary=True), *rest


def _formless(case: Case, reading: str) -> bool:
    """Tell whether an answer is right but for how it is written, or for words around it."""
    final = case.track.final
    if final.kind != "answer" or case.trajectory.ending != "answered" or _fault(case):
        return False
    others = [mark.answer for mark in case.truth.marks if mark.answer not in case.truth.answers]
    if reading == "paper" and right(case, "fair"):
        return True
    accepted = case.truth.answers
    return answer.holds(final.answer, accepted) and not answer.holds(final.answer, others)


def _fault(case: Case) -> str:
    return case.trajectory.steps[-1].fault if case.trajectory.steps else ""


def _lost(case: Case) -> Iterator[Label]:
    """Return that searches were tried and not made, if any were."""
    if lost := case.track.lost:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield _label("format", modes.FORM, f"a call that could not be made: {lost[0]}{more}")


def _ended(case: Case) -> Label:
    """Return how the episode ended, and with what."""
    final, ending = case.track.final, case.trajectory.ending
    if ending in _ENDINGS:
        told = f"the episode ended by force: {ending}"
        return _label(_ENDINGS[ending], modes.FORCED, told)
    if fault := _fault(case):
        return _label("format", modes.FORM, f"the last reply could not be read: {fault[:_CUT]}")
    cause, told = _SAID.get(final.kind, ("no_answer", "said"))
    said = f"{told} {final.answer[:_CUT]!r}" if final.answer else "the last reply holds no answer"
    return _label(cause, modes.UNEXPLAINED, said)


def _label(cause: Cause, native: str, evidence: str, *, primary: bool = False) -> Label:
    return Label(cause=cause, native=native, evidence=codec.escape(evidence), primary=primary)


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
    """Return the kind of an error: its mode, and of what is none of them its cause too."""
    return label.native if label.native in modes.MODES else f"{label.native} {label.cause}"


def _parts(case: Case) -> dict[str, float]:
    """Return what the episode did, in numbers; shares of words only where there were queries."""
    track = case.track
    declined = track.final.kind in ("unknown", "unanswerable")
    refused = case.trajectory.ending == "refused" or (declined and not right(case, "fair"))
    parts = {
        "searched": float(bool(track.queries)),
        "queries": float(len(track.queries)),
        "fetched": float(len(track.opened)),
        "steps": float(track.n_steps),
        "refused": float(refused),
        "asked_back": float(track.asked_back),
        "lookalikes": float(sum(mark.role == "lookalike" for mark in case.truth.marks)),
        BARS: float(shape.BARRED in str(case.truth.settings.get("note", ""))),
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
