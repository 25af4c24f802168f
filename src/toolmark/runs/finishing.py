"""How a run is finished: what is stored is scored, then summarised. No model is asked.

Scores that the same scorer made are kept. `scorer.json` says who made those in `scores.jsonl`; it
is removed before they are replaced and written after, so scores are never taken for another
scorer's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from toolmark.errors import DataError, UsageError
from toolmark.failure import NEVER_FITS, Failure
from toolmark.runs import identity, scoring
from toolmark.runs.damage import check_files
from toolmark.runs.episodes import Episodes, Key
from toolmark.runs.identity import ScorerId
from toolmark.runs.jsonl import locked, remove, write
from toolmark.runs.lifecycle import STATE, Heart
from toolmark.runs.store import FILES, SCORER, Run, absent_score
from toolmark.runs.suite import Scorer
from toolmark.types import Record, Score


class _Brief(Record, frozen=True, kw_only=True):
    """What is needed of a score to see whether it can stay."""

    task: str
    repeat: int = 0
    failure: Failure | None = None


def keep_scores(run: Run, episodes: Episodes, judged: ScorerId, done: Collection[Key]) -> set[Key]:
    """Keep the scores that this scorer made of stored episodes, and return of which.

    All others are removed, so that what is missing can be appended; `scorer.json` says from then on
    that it was this scorer. One that judges the run as a whole keeps none: its scores change with
    every episode.
    """
    kept: set[Key] = set()
    n_lines = 0
    if judged.sha256 and not judged.whole and run.scorer().sha256 == judged.sha256:
        try:
            for brief in run.episodes.records("scores", _Brief):
                n_lines += 1
                if brief.failure is None and (brief.task, brief.repeat) in done:
                    kept.add((brief.task, brief.repeat))
        except DataError:  # they are derived
            kept.clear()
    if not kept:
        remove(run.path / SCORER)
        episodes.drop_scores()
        write(run.path / SCORER, judged, durable=False)
    elif len(kept) < n_lines:
        episodes.replace_scores(_once(run, kept))
    return kept


def _once(run: Run, wanted: Collection[Key]) -> Iterator[Score]:
    seen: set[Key] = set()
    for score in run.episodes.records("scores", Score):
        key = score.task, score.repeat
        if score.failure is None and key in wanted and key not in seen:
            seen.add(key)
            yield score


def finish(
    run: Run,
    episodes: Episodes,
    scorer: Scorer,
    heart: Heart,
    *,
    judged: ScorerId,
) -> dict[str, Any]:
    """Add what was not run to the scores, write the summary, and return it: the run is finished.

    Every stored episode has its score by the scorer that `judged` tells (`keep_scores`), unless
    that one judges the run as a whole: then all of it is scored here. The caller has locked the
    folder.
    """
    done = run.done()
    heart.enter("scoring", len(done))
    episodes.flush()
    if judged.whole or scoring.never_fits(run):
        return _replace(run, episodes, scorer, heart, _all_scores(run, scorer))
    for score in _absent(run, scorer, done):
        episodes.append(score)
    episodes.flush()
    episodes.sync()
    return _summarise(run, scorer, heart, len(done))


def rescore(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Score all of a stored run anew, and finish it; return the summary.

    Raises UsageError while the run is being written, and for a scorer that fails on every episode,
    as that of another suite does; DataError for a damaged folder. The old scores stay until the
    new ones are complete.
    """
    with locked(run.path):
        run.verify()
        check_files(run.path, FILES)
        _check_answers(run)
        scores = _unless_all_fail(run, _all_scores(run, scorer))
        return _replace(run, Episodes(run.path), scorer, Heart(run.path), scores)


def _check_answers(run: Run) -> None:
    """Raise DataError where answers are gone: scores of the rest would pass for those of all."""
    n_done, n_stored = len(run.done()), run.sign().n_stored
    if n_done < n_stored:
        raise DataError(
            f"{run.episodes.path('trajectories')}: holds {n_done:,} of {n_stored:,} answers that "
            "were stored; nothing was changed; next: put the file back, or give the command of the "
            f"run again, which asks for the others; to score what is left, delete {STATE}"
        )


def score_locked(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Score all of a run anew, and finish it, in a folder that the caller has locked."""
    scores = _all_scores(run, scorer)
    return _replace(run, Episodes(run.path), scorer, Heart(run.path), scores)


def _replace(
    run: Run, episodes: Episodes, scorer: Scorer, heart: Heart, scores: Iterator[Score]
) -> dict[str, Any]:
    """Put other scores in the place of all and finish the run; nothing changes where they fail."""
    n_done = len(run.done())

    def ready() -> None:
        heart.enter("scoring", n_done)
        remove(run.path / SCORER)

    episodes.replace_scores(scores, ready)
    write(run.path / SCORER, identity.scorer_id(scorer), durable=False)
    return _summarise(run, scorer, heart, n_done)


def _summarise(run: Run, scorer: Scorer, heart: Heart, n_done: int) -> dict[str, Any]:
    heart.enter("finished", n_done)  # which holds once there is a summary: that comes last
    return scoring.summarise(run, scorer)


def _all_scores(run: Run, scorer: Scorer) -> Iterator[Score]:
    """Judge every stored episode; those that were not run come last."""
    known = replace(scorer, score=scorer.gather(run)) if scorer.gather else scorer
    lost = scoring.never_fits(run)
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.kind == "scored":
            failure = NEVER_FITS if lost and scoring.too_long(trajectory) else None
            yield scoring.judge(known, task, trajectory, failure)
    yield from _absent(run, scorer, run.done())


def _absent(run: Run, scorer: Scorer, done: Collection[Key]) -> Iterator[Score]:
    """Go through the scored episodes that were not run, each with why.

    They have no verdict, but for those that the scorer gives of what a file of others lacks.
    """
    if len(done) == run.info.n_episodes:
        return
    for task, repeat, last in run.absent(done):
        found = scorer.missed(task, last) if last is not None else {}
        readings = {name: scoring.sound(verdict) for name, verdict in found.items()}
        yield absent_score(task, repeat, last.failure if last else None, readings)


def _unless_all_fail(run: Run, scores: Iterator[Score]) -> Iterator[Score]:
    """Hand scores on. Raises UsageError in the end where the scorer failed on every episode."""
    first: Failure | None = None
    passed = False
    for score in scores:
        if scoring.unscored(score):
            first = first or score.failure
        elif score.failure is None:
            passed = True
        yield score
    if first is not None and not passed:
        raise UsageError(
            f"{run.path}: the scorer fails on every episode, and what was there stays: {first.line}"
        )
