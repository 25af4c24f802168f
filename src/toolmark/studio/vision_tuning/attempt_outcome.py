"""The outcome of an attempt, and the ruling of a panel on a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from toolmark.core.records import Label, Task, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.scoring.episode import Episode
from toolmark.studio.vision_tuning.tuning_records import Trial, TrialOutcome
from toolmark.suites.mfcl_vision import episode_scoring
from toolmark.suites.mfcl_vision.episode_actions import extract_actions
from toolmark.suites.mfcl_vision.episode_scoring import EpisodeCase
from toolmark.suites.mfcl_vision.item_records import ItemTruth

GRADING_RULE = "fair"
"""Under this rule an answer with only a spelling error is correct."""
MAX_PLAIN_WORDS = 30
"""A longer text outside of the requested object counts as no answer."""

PanelRuling: TypeAlias = Literal["hard", "easy", "open"]

_FORCED_ENDINGS = ("length", "steps", "calls", "over_long")


class AttemptOutcome(NamedTuple):
    """The outcome of an attempt; the label is that of the failure, as in scored runs."""

    outcome: TrialOutcome
    answer: str
    label: Label | None


def judge_attempt(task: Task, trajectory: Trajectory) -> AttemptOutcome:
    """Judge one attempt."""
    case = EpisodeCase(
        task, trajectory, read_task_data(task, ItemTruth), extract_actions(trajectory)
    )
    answer_text = case.actions.final_message.answer or trajectory.answer
    if episode_scoring.is_right(case, GRADING_RULE):
        return AttemptOutcome("solved", answer_text, None)
    labels = episode_scoring.score_episode(Episode(task, trajectory))[GRADING_RULE].labels
    primary = next((label for label in labels if label.primary), None)
    return AttemptOutcome(_failure_outcome(case), answer_text, primary)


def _failure_outcome(case: EpisodeCase) -> TrialOutcome:
    final, ending = case.actions.final_message, case.trajectory.ending
    if ending == "refused" or final.kind in ("unknown", "unanswerable"):
        return "refused"
    if ending in _FORCED_ENDINGS:
        return "over_long"
    if final.kind == "none":  # silence counts as a refusal
        return "refused"
    wordy = final.form == "text" and len(final.answer.split()) > MAX_PLAIN_WORDS
    return "verbose" if wordy or final.kind == "asks" else "wrong"


def fails_version(trials: Sequence[Trial], n_attempts: int) -> bool | None:
    """Return whether a model fails a version: no attempt solved it; None if some did not run."""
    outcomes = [trial.outcome for trial in trials]
    if "solved" in outcomes:
        return False
    n_ran = sum(outcome != "not_run" for outcome in outcomes)
    return True if n_ran >= n_attempts else None


def panel_ruling(verdicts: Iterable[bool | None]) -> PanelRuling:
    """Return the majority of a panel; open while missing verdicts could change it."""
    known_verdicts = list(verdicts)
    majority = len(known_verdicts) / 2
    if known_verdicts.count(True) > majority:
        return "hard"
    return "easy" if known_verdicts.count(False) >= majority else "open"
