"""What an attempt came to, and what a panel makes of a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from toolmark.suites.mfcl.vision import score
from toolmark.suites.mfcl.vision.score import Case, truth_of
from toolmark.suites.mfcl.vision.track import follow
from toolmark.suites.mfcl.vision.tune.records import Outcome, Trial
from toolmark.types import Label, Task, Trajectory

READING = "fair"
"""An answer that is right but for its spelling is no failure."""
WORDY = 30
"""More words than this, outside of the object that is asked for, are no answer."""

Ruling: TypeAlias = Literal["hard", "easy", "open"]

_FORCED = ("length", "steps", "calls", "over_long")


class Came(NamedTuple):
    """What an attempt came to; the label is that of the failure, as runs are scored."""

    outcome: Outcome
    answer: str
    label: Label | None


def outcome(task: Task, trajectory: Trajectory) -> Came:
    """Judge one attempt."""
    case = Case(task, trajectory, truth_of(task), follow(trajectory))
    said = case.track.final.answer or trajectory.answer
    if score.right(case, READING):
        return Came("solved", said, None)
    labels = score.score(task, trajectory)[READING].labels
    primary = next((label for label in labels if label.primary), None)
    return Came(_failure(case), said, primary)


def _failure(case: Case) -> Outcome:
    final, ending = case.track.final, case.trajectory.ending
    if ending == "refused" or final.kind in ("unknown", "unanswerable"):
        return "refused"
    if ending in _FORCED:
        return "over_long"
    if final.kind == "none":  # silence is as good as a refusal
        return "refused"
    wordy = final.form == "text" and len(final.answer.split()) > WORDY
    return "verbose" if wordy or final.kind == "asks" else "wrong"


def failed(trials: Sequence[Trial], n_attempts: int) -> bool | None:
    """Tell whether a model fails a version: none of all its attempts solved it; None if unknown."""
    outcomes = [trial.outcome for trial in trials]
    if "solved" in outcomes:
        return False
    ran = sum(outcome != "not_run" for outcome in outcomes)
    return True if ran >= n_attempts else None


def ruling(verdicts: Iterable[bool | None]) -> Ruling:
    """Return what most of a panel says; open while those that are missing could turn it."""
    given = list(verdicts)
    half = len(given) / 2
    if given.count(True) > half:
        return "hard"
    return "easy" if given.count(False) >= half else "open"
