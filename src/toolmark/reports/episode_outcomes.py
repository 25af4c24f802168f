"""What became of each episode of a scored run, in its headline rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolmark.core.errors import UsageError
from toolmark.core.failure import NO_VERDICT, Failure
from toolmark.core.records import Label, Score
from toolmark.reports import run_names
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    finishing_command_of,
    missing_files_message,
    read_presentation,
)


class EpisodeOutcome(NamedTuple):
    """One episode: correct, incorrect with its labels, or not run with its failure."""

    score: Score
    labels: tuple[Label, ...] = ()
    failure: Failure | None = None

    @property
    def primary_label(self) -> Label | None:
        """Why the answer is incorrect; None for any other outcome."""
        return next((label for label in self.labels if label.primary), None)


class ScoredRun(NamedTuple):
    """A run with the summary of its scores, and words for the suite's own causes of failure."""

    run: Run
    summary: Mapping[str, Any]
    failure_names: Mapping[str, str]

    def iterate_outcomes(self) -> Iterator[EpisodeOutcome]:
        """Yield what became of each planned episode, in the order of the scores."""
        for score in self.run.scores():
            verdict = score.verdicts.get(self.summary["rule"])
            if score.failure is not None or verdict is None:
                yield EpisodeOutcome(score, failure=score.failure or NO_VERDICT)
            elif verdict.outcome == "correct":
                yield EpisodeOutcome(score)
            else:
                yield EpisodeOutcome(score, labels=verdict.labels)

    def cause_text(self, label: Label) -> str:
        """Return a cause for readers: the common one, and the suite's own where it has one."""
        own = run_names.suite_cause_label(label.suite_cause, self.failure_names)
        return f"{label.cause}: {own}" if own else label.cause


def read_scored_run(run: Run) -> ScoredRun:
    """Return a run with what its scores say. Raises UsageError for a run that is not scored."""
    presentation = read_presentation(run)
    if presentation is None:
        raise UsageError(
            f"{run.path}: {missing_files_message(run)}; next: {finishing_command_of(run)}"
        )
    return ScoredRun(run, run.summary(), presentation.failure_names)
