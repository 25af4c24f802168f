"""Scoring speech episodes: BFCL's own graders, then the failure mode of what went wrong (A6, A7).

Clarification turns never score by themselves: replies that the simulated user answered are removed
from a single-turn episode before it is judged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from toolmark.core.records import Label, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import bfcl_scoring
from toolmark.runs.suite import ScoreFunction
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_speech import call_differences, recognition_tables, speech_failure_modes
from toolmark.suites.mfcl_speech.recognition_tables import ANSWERED_PART, ASKED_PART
from toolmark.suites.mfcl_speech.speech_items import (
    CONDITIONS_IN_WRITING,
    SAID,
    is_multi_turn,
    original_task,
)
from toolmark.suites.mfcl_speech.speech_task_data import SpeechTaskData

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run

GRADING_RULES = bfcl_scoring.GRADING_RULES
EpisodeRule = tuple[str, int, str]
"""An item, a repeat and a grading rule."""
_AVERAGED_PARTS = ("wer", "entity_wer", "stoi", "snr_db")


class TextErrors(NamedTuple):
    """What is wrong with an answer in writing: kinds of error, and where they are."""

    errors: frozenset[str]
    places: frozenset[call_differences.DifferencePlace]


_NO_ERRORS = TextErrors(frozenset(), frozenset())


class ControlAnswers(NamedTuple):
    """What the same model made of the same items in writing.

    `errors` has those made on the written text or on the spoken words, `said_right` where the exact
    spoken words were answered right.
    """

    errors: Mapping[EpisodeRule, TextErrors] = {}
    said_right: Collection[EpisodeRule] = ()


_NO_CONTROLS = ControlAnswers()


def score_episode(episode: Episode, controls: ControlAnswers = _NO_CONTROLS) -> dict[str, Verdict]:
    """Judge one episode; `controls` are the answers to the same item in writing."""
    task, trajectory = episode.task, episode.trajectory
    verdicts = bfcl_scoring.score_episode(
        original_task(task), without_clarifications(task, trajectory)
    )
    parts = _speech_parts(task, trajectory)
    found: dict[str, Verdict] = {}
    for rule, verdict in verdicts.items():
        labels = verdict.labels
        if verdict.outcome == "incorrect":
            labels = _failure_labels(
                task, trajectory, verdict, controls, (task.item, trajectory.repeat, rule)
            )
        found[rule] = replace(verdict, parts={**verdict.parts, **parts}, labels=labels)
    return found


def without_clarifications(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return the episode without the replies that were questions the user answered."""
    scored_steps = [step for step in trajectory.steps if not (step.ruling and step.ruling.allowed)]
    if is_multi_turn(task) or len(scored_steps) == len(trajectory.steps) or not scored_steps:
        return trajectory
    return replace(trajectory, steps=tuple(scored_steps))


def _failure_labels(
    task: Task,
    trajectory: Trajectory,
    verdict: Verdict,
    controls: ControlAnswers,
    key: EpisodeRule,
) -> tuple[Label, ...]:
    """Return the labels with the failure mode first; the graders' own labels follow."""
    grader_labels = tuple(replace(label, primary=False) for label in verdict.labels)
    first = next((label for label in verdict.labels if label.primary), None)
    if task.axes["condition"] in CONDITIONS_IN_WRITING or first is None:
        return verdict.labels
    text_errors = controls.errors.get(key, _NO_ERRORS)
    scored = without_clarifications(task, trajectory)
    places = call_differences.difference_places(task, scored)
    if places <= text_errors.places if places else error_signature(first) in text_errors.errors:
        evidence = f"the same error in writing: {first.evidence}"
        return Label(
            cause=first.cause,
            suite_cause=speech_failure_modes.SAME_ON_TEXT,
            evidence=evidence,
            primary=True,
        ), *grader_labels
    found = speech_failure_modes.find_failure_modes(
        task, trajectory, text_errors.places, may_be_perception=key in controls.said_right
    )
    if not found:
        return replace(first, suite_cause=speech_failure_modes.UNEXPLAINED), *grader_labels
    primary, *others = found
    return replace(primary, primary=True), *others, *grader_labels


def find_text_errors(task: Task, trajectory: Trajectory, verdict: Verdict) -> TextErrors:
    """Return what is wrong with an answer in writing; nothing where it is right."""
    if verdict.outcome != "incorrect":
        return _NO_ERRORS
    errors = frozenset(error_signature(label) for label in verdict.labels)
    return TextErrors(
        errors, call_differences.difference_places(task, without_clarifications(task, trajectory))
    )


def error_signature(label: Label) -> str:
    """Return the kind of an error: its cause and the official error type."""
    return f"{label.cause} {label.suite_cause}"


def _speech_parts(task: Task, trajectory: Trajectory) -> dict[str, float]:
    turns = read_task_data(task, SpeechTaskData).turns
    parts = {
        name: fmean(values)
        for name in _AVERAGED_PARTS
        if (values := [value for turn in turns if (value := getattr(turn, name)) is not None])
    }
    rulings = [(step, step.ruling) for step in trajectory.steps if step.ruling]
    n_allowed = sum(ruling.allowed for _, ruling in rulings)
    n_asked = sum(
        ruling.allowed or speech_failure_modes.asks_for_something(step, ruling)
        for step, ruling in rulings
    )
    for voice in filter(None, (turn.voice for turn in turns)):
        voice_name = voice.name.partition("+")[0]  # en-us+f3 is en-us with another speaker
        parts[f"{recognition_tables.ENGINE_PREFIX}{voice.engine}"] = 1.0
        parts[f"{recognition_tables.VOICE_PREFIX}{voice.engine} {voice_name}"] = 1.0
    return parts | {ASKED_PART: float(n_asked), ANSWERED_PART: float(n_allowed)}


def make_scoring(run: Run) -> ScoreFunction:
    """Return the scoring that knows how the same model answers the same items in writing."""
    errors: dict[EpisodeRule, TextErrors] = {}
    said_right: set[EpisodeRule] = set()
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        condition = task.axes["condition"]
        # a variation is another request: what it was answered says nothing of the item's own
        if task.variation is not None or condition not in CONDITIONS_IN_WRITING:
            continue
        for rule, verdict in score_episode(Episode(task, trajectory)).items():
            key = task.item, trajectory.repeat, rule
            found, known = find_text_errors(task, trajectory, verdict), errors.get(key, _NO_ERRORS)
            errors[key] = TextErrors(found.errors | known.errors, found.places | known.places)
            if condition == SAID and verdict.outcome == "correct":
                said_right.add(key)
    return partial(score_episode, controls=ControlAnswers(errors, said_right))
