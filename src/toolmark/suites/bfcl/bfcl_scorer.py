"""The scorer of BFCL: a stored error text in the place of a reply is judged as such."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.core.records import Label, Trajectory, Verdict
from toolmark.official_bfcl import bfcl_scoring
from toolmark.official_bfcl.handler_views import TrajectoryView
from toolmark.runs.suite import ScoreFunction
from toolmark.scoring.episode import Episode

INFERENCE_ERROR = "Error during inference"

NESTED_PREFIXES = ("multi_turn_", "memory_", "web_search_")


# --- errors in the place of a reply -----------------------------------------------------


def is_error_row(trajectory: Trajectory) -> bool:
    """Return whether an imported row has the text of an error in the place of a reply."""
    steps = trajectory.steps
    return len(steps) == 1 and steps[0].fault.startswith(INFERENCE_ERROR)


def score_episode(episode: Episode) -> Mapping[str, Verdict]:
    """Judge one episode. Only the official rule takes an error's text as the model's."""
    task, trajectory = episode.task, episode.trajectory
    if not is_error_row(trajectory):
        return bfcl_scoring.score_episode(task, trajectory)
    for prefix, family in (("multi_turn_", "multi_turn"), (NESTED_PREFIXES, "agentic")):
        if task.category.startswith(prefix):
            label = Label(
                cause="no_answer",
                suite_cause=f"{family}:inference_error",
                evidence=trajectory.answer[:400],
                primary=True,
            )
            return {"official": Verdict(outcome="incorrect", value=0.0, labels=(label,))}
    return {"official": bfcl_scoring.score_episode(task, trajectory)["official"]}


def score_view(view: TrajectoryView, episode: Episode) -> Mapping[str, Verdict]:
    """Judge one episode as the handler of an entry reads it."""
    return score_episode(Episode(episode.task, view(episode.task, episode.trajectory)))


def score_fairly(score: ScoreFunction, episode: Episode) -> Mapping[str, Verdict]:
    """Judge one episode by the fair rule alone."""
    return {name: each for name, each in score(episode).items() if name == "fair"}
