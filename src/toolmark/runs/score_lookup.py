"""The scores of a run, read by location: a page of many episodes does not load them all."""

from __future__ import annotations

from toolmark.core.errors import DataError
from toolmark.core.records import Score
from toolmark.runs.run_store import NOT_SCORED, Run, absent_score


class ScoreLookup:
    """The scores of a run by (task, repeat), each read when it is asked for."""

    def __init__(self, run: Run) -> None:
        """Read the file once, for locations. Raises DataError naming a broken line."""
        self._run = run
        self._locations = run.episodes.locations("scores")

    def __contains__(self, key: tuple[str, int]) -> bool:
        """Return whether that episode has a score."""
        return key in self._locations

    def __getitem__(self, key: tuple[str, int]) -> Score:
        """Return a score.

        In a run that is not finished, an episode without a score gets `NOT_SCORED`.

        Raises DataError where a finished run has no score of that episode.
        """
        location = self._locations.get(key)
        if location is not None:
            return self._run.episodes.record_at("scores", location, Score)
        if self._run.is_finished:
            raise DataError(f"{self._run.episodes.path('scores')}: no score of {key}")
        return absent_score(self._run.task(key[0]), key[1], NOT_SCORED)
