"""The headline of a run that is not over, by the formula that its summary uses."""

from __future__ import annotations

import time
from collections.abc import Callable

from toolmark.core.records import Estimate, Score
from toolmark.runs.suite import Scorer
from toolmark.statistics.score_columns import ColumnsBuilder

MIN_INTERVAL_S = 0.1
MOST_OF_THE_TIME = 0.02  # the share of the time that measuring may take


class LiveHeadline:
    """The scores so far, and the headline that they give.

    Repeats of a task and tasks of a group count as in the summary, since the same formula measures
    the same columns. Measuring takes time that grows with the scores, so that a result is used
    again until measuring costs at most `MOST_OF_THE_TIME`.
    """

    def __init__(self, scorer: Scorer, clock: Callable[[], float] = time.perf_counter) -> None:
        self._scorer = scorer
        self._clock = clock
        self._columns = ColumnsBuilder(scorer.rules[0])
        self._estimate = Estimate(name="")
        self._is_stale = False
        self._due_s = 0.0

    def add(self, score: Score) -> None:
        """Add the score of an episode; of one score of an episode after another both count."""
        self._columns.add(score)
        self._is_stale = True

    def measure(self, *, now: bool = False) -> Estimate:
        """Return the headline over the scores so far; all of them are counted with `now`."""
        start_s = self._clock()
        if self._is_stale and (now or start_s >= self._due_s):
            columns = self._columns.build_columns()
            self._estimate = self._scorer.metrics(columns)[0].measure(columns)
            end_s = self._clock()
            self._due_s = end_s + max(MIN_INTERVAL_S, (end_s - start_s) / MOST_OF_THE_TIME)
            self._is_stale = False
        return self._estimate
