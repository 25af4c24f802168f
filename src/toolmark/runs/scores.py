"""The file of a run's scores, read by place: a page of many episodes need not hold them all."""

from __future__ import annotations

from toolmark.errors import DataError
from toolmark.runs.store import NOT_SCORED, Run, absent_score
from toolmark.types import Score


class Scores:
    """The scores of a run by (task, repeat), each read when it is asked for."""

    def __init__(self, run: Run) -> None:
        """Read the file once, for places. Raises DataError naming a broken line."""
        self._run = run
        self._places = run.episodes.places("scores")

    def __contains__(self, key: tuple[str, int]) -> bool:
        """Tell whether that episode has a score."""
        return key in self._places

    def __getitem__(self, key: tuple[str, int]) -> Score:
        """Return a score; of a run that is not finished also of an episode that has none yet.

        Raises DataError where there is none of that episode.
        """
        place = self._places.get(key)
        if place is not None:
            return self._run.episodes.record_at("scores", place, Score)
        if self._run.finished:
            raise DataError(f"{self._run.episodes.path('scores')}: no score of {key}")
        return absent_score(self._run.task(key[0]), key[1], NOT_SCORED)
