"""A scorer with further numbers of each episode, and further tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from toolmark.core.called_code import CodeHolder
from toolmark.core.records import Chart, Table, Verdict
from toolmark.scoring.episode import Episode
from toolmark.scoring.episode_scorer import EpisodeMetric, add_parts
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns

Scoring = Callable[[Episode], Mapping[str, Verdict]]
TableMaker = Callable[[Mapping[str, Columns]], Sequence[Table | Chart]]


class MeasuredScoring(CodeHolder):
    """The score function of a scorer, with the numbers of metrics in each of its verdicts."""

    def __init__(self, score: Scoring, metrics: Sequence[EpisodeMetric]) -> None:
        self._score = score
        self._metrics = tuple(metrics)

    def __call__(self, episode: Episode) -> dict[str, Verdict]:
        """Return the verdicts with the numbers as parts."""
        verdicts = self._score(episode)
        return {
            rule: add_parts(verdict, self._metrics, episode) for rule, verdict in verdicts.items()
        }

    def called_code(self) -> Iterable[Any]:
        """Return the score function and the measuring functions."""
        return (self._score, *(each.function for each in self._metrics))

    def settings(self) -> Any:
        """Return the names and kinds of the metrics."""
        return [[each.name, each.is_share] for each in self._metrics]


class MeasuredMetrics:
    """The metrics of a scorer, followed by further ones."""

    def __init__(
        self,
        list_metrics: Callable[[Columns], Sequence[Metric]],
        metrics: Sequence[EpisodeMetric],
    ) -> None:
        self._list_metrics = list_metrics
        self._metrics = tuple(metrics)

    def __call__(self, columns: Columns) -> list[Metric]:
        """Return the metrics."""
        return [*self._list_metrics(columns), *(each.formula() for each in self._metrics)]


class JoinedTables:
    """The tables of several makers, in their order."""

    def __init__(self, *makers: TableMaker) -> None:
        self._makers = makers

    def __call__(self, columns_by_rule: Mapping[str, Columns]) -> list[Table | Chart]:
        """Return the tables and charts."""
        return [each for make in self._makers for each in make(columns_by_rule)]
