"""How a run is finished: what is stored is scored, then summarised. No model is asked.

Scores that the same scorer made are used again. `scorer.json` says who made the scores in
`scores.jsonl`. It is removed before the scores are replaced and written after, so scores are never
attributed to the wrong scorer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from toolmark.core.errors import DataError, UsageError
from toolmark.core.failure import NEVER_FITS, Failure
from toolmark.core.number_format import format_count
from toolmark.core.records import Record, Score
from toolmark.runs import code_hashes, run_scoring
from toolmark.runs.damaged_files import check_files
from toolmark.runs.episode_records import EpisodeKey, EpisodeRecords
from toolmark.runs.record_files import lock_folder, remove_file, write_document
from toolmark.runs.run_lifecycle import STATE_FILE, StateWriter
from toolmark.runs.run_store import RUN_FILES, SCORER_FILE, Run, absent_score
from toolmark.runs.scorer_id import ScorerId
from toolmark.runs.suite import Scorer
from toolmark.runs.variations.own_names import restore_task


class _ScoreStatus(Record, frozen=True, kw_only=True):
    """The fields of a score that decide whether it can stay."""

    task: str
    repeat: int = 0
    failure: Failure | None = None


def keep_valid_scores(
    run: Run, episodes: EpisodeRecords, scorer_id: ScorerId, completed: Collection[EpisodeKey]
) -> set[EpisodeKey]:
    """Retain the scores that this scorer made of stored episodes, and return their episodes.

    All others are removed, so that what is missing can be appended; `scorer.json` then names this
    scorer. A scorer that judges the complete run together retains none: its scores change with
    every episode.
    """
    stored_keys: set[EpisodeKey] = set()
    n_lines = 0
    if (
        scorer_id.sha256
        and not scorer_id.judges_whole_run
        and run.scorer().sha256 == scorer_id.sha256
    ):
        try:
            for status in run.episodes.records("scores", _ScoreStatus):
                n_lines += 1
                if status.failure is None and (status.task, status.repeat) in completed:
                    stored_keys.add((status.task, status.repeat))
        except DataError:  # scores are derived: damaged ones are made again
            stored_keys.clear()
    if not stored_keys:
        remove_file(run.path / SCORER_FILE)
        episodes.drop_scores()
        write_document(run.path / SCORER_FILE, scorer_id, durable=False)
    elif len(stored_keys) < n_lines:
        episodes.replace_scores(_unique_scores(run, stored_keys))
    return stored_keys


def _unique_scores(run: Run, wanted: Collection[EpisodeKey]) -> Iterator[Score]:
    seen: set[EpisodeKey] = set()
    for score in run.episodes.records("scores", Score):
        key = score.task, score.repeat
        if score.failure is None and key in wanted and key not in seen:
            seen.add(key)
            yield score


def finalize_run(
    run: Run,
    episodes: EpisodeRecords,
    scorer: Scorer,
    state_writer: StateWriter,
    *,
    scorer_id: ScorerId,
    completed: Collection[EpisodeKey],
) -> dict[str, Any]:
    """Add the episodes not run to the scores, write the summary and return it: the run is finished.

    `completed` are all stored episodes. Each already has its score by this scorer
    (`keep_valid_scores`), unless the scorer judges the complete run together: then all of it
    is scored here. The caller has locked the folder.
    """
    state_writer.write_state("scoring", len(completed))
    episodes.flush()
    if scorer_id.judges_whole_run or run_scoring.first_request_never_fits(run):
        return _replace_scores(run, episodes, scorer, state_writer, _score_all(run, scorer))
    for score in _score_absent(run, scorer, completed):
        episodes.append(score)
    episodes.flush()
    episodes.sync()
    return _write_summary(run, scorer, state_writer, len(completed))


def rescore_run(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Score all of a stored run again, finish it, and return the summary.

    Raises UsageError while the run is being written, and for a scorer that fails on every episode,
    as that of another suite does; DataError for a damaged folder. The old scores stay until the new
    scores are complete.
    """
    with lock_for_scoring(run):
        scores = _require_any_success(run, _score_all(run, scorer))
        return _replace_scores(run, EpisodeRecords(run.path), scorer, StateWriter(run.path), scores)


@contextmanager
def lock_for_scoring(run: Run) -> Iterator[None]:
    """Lock the folder of a run whose episodes are scored or played against floors, and check it.

    Raises UsageError while the run is being written, DataError for a damaged folder.
    """
    with lock_folder(run.path):
        run.verify_tasks()
        check_files(run.path, RUN_FILES)
        _check_answers(run)
        yield


def _check_answers(run: Run) -> None:
    """Raise DataError where answers are gone: the other scores would pass for all of them."""
    n_done, n_stored = len(run.completed_episodes()), run.heartbeat().n_stored
    if n_done < n_stored:
        raise DataError(
            f"{run.episodes.path('trajectories')}: holds {format_count(n_done)} of "
            f"{format_count(n_stored)} answers that were stored; nothing was changed; next: put "
            "the file back, or give the command of the "
            f"run again, which asks for the others; to score what is left, delete {STATE_FILE}"
        )


def rescore_locked_run(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Score all of a run again, and finish it, in a folder that the caller has locked."""
    scores = _score_all(run, scorer)
    return _replace_scores(run, EpisodeRecords(run.path), scorer, StateWriter(run.path), scores)


def _replace_scores(
    run: Run,
    episodes: EpisodeRecords,
    scorer: Scorer,
    state_writer: StateWriter,
    scores: Iterator[Score],
) -> dict[str, Any]:
    """Replace all scores and finish the run; nothing changes where making them fails."""
    n_done = len(run.completed_episodes())

    def prepare() -> None:
        state_writer.write_state("scoring", n_done)
        remove_file(run.path / SCORER_FILE)

    episodes.replace_scores(scores, prepare)
    write_document(run.path / SCORER_FILE, code_hashes.scorer_id(scorer), durable=False)
    return _write_summary(run, scorer, state_writer, n_done)


def _write_summary(
    run: Run, scorer: Scorer, state_writer: StateWriter, n_done: int
) -> dict[str, Any]:
    # this becomes true once there is a summary, which comes last
    state_writer.write_state("finished", n_done)
    return run_scoring.write_summary(run, scorer)


def _score_all(run: Run, scorer: Scorer) -> Iterator[Score]:
    """Yield a score of every stored episode; those that were not run come last."""
    prepared_scorer = replace(scorer, score=scorer.prepare(run)) if scorer.prepare else scorer
    never_fits = run_scoring.first_request_never_fits(run)
    price = run.info.prices.get("model")
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.kind == "scored":
            failure = (
                NEVER_FITS
                if never_fits and run_scoring.is_first_request_too_long(trajectory)
                else None
            )
            yield run_scoring.score_episode(prepared_scorer, task, trajectory, failure, price)
    yield from _score_absent(run, scorer, run.completed_episodes())


def _score_absent(run: Run, scorer: Scorer, done: Collection[EpisodeKey]) -> Iterator[Score]:
    """Yield the scored episodes that were not run, each with the reason.

    They have no verdict, except those that the scorer gives where a file of other people's answers
    lacks a prediction.
    """
    if len(done) == run.info.n_episodes:
        return
    for task, repeat, last in run.absent_episodes(done):
        found = scorer.score_absent(restore_task(task), last) if last is not None else {}
        verdicts = {name: run_scoring.check_verdict(verdict) for name, verdict in found.items()}
        yield absent_score(task, repeat, last.failure if last else None, verdicts)


def _require_any_success(run: Run, scores: Iterator[Score]) -> Iterator[Score]:
    """Yield the scores. Raises UsageError at the end where the scorer failed on every episode."""
    first: Failure | None = None
    has_success = False
    for score in scores:
        if run_scoring.is_unscored(score):
            first = first or score.failure
        elif score.failure is None:
            has_success = True
        yield score
    if first is not None and not has_success:
        raise UsageError(
            f"{run.path}: the scorer fails on every episode, and what was there stays: "
            f"{first.summary}"
        )
