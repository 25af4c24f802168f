"""A scorer of one function: `(episode) -> bool | float | Verdict`, and metrics of functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.core.called_code import CodeHolder, check_takes, code_place, is_async
from toolmark.core.errors import UsageError, WrongResult
from toolmark.core.records import Cause, Ending, Label, Verdict
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import Mean, Metric, UnboundedMean
from toolmark.statistics.score_columns import Columns

RULE = "score"
"""The name of the only grading rule of such a scorer."""

JudgingFunction: TypeAlias = Callable[[Episode], "bool | float | Verdict"]
MeasuringFunction: TypeAlias = Callable[[Episode], "bool | float | None"]

_CAUSE_BY_ENDING: Mapping[Ending, Cause] = {
    "steps": "over_limit",
    "calls": "over_limit",
    "length": "no_answer",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}
_RETURNS = "a scorer returns True or False, a number from 0 to 1, or a Verdict"


class EpisodeMetric(NamedTuple):
    """A number of each episode, and how it is averaged.

    - `name`: what readers see.
    - `function`: measures an episode; None leaves it out.
    - `is_share`: the number is in [0, 1] and its mean is a share, shown in per cent.
    - `unit`: what the mean's n counts.
    """

    name: str
    function: MeasuringFunction
    is_share: bool = False
    unit: str = "episodes"

    def formula(self) -> Metric:
        """Return the metric over scores: the mean of a part of the verdicts."""
        formula = Mean(part=self.name) if self.is_share else UnboundedMean(part=self.name)
        return Metric(self.name, formula, unit=self.unit)

    def measure(self, episode: Episode) -> float | None:
        """Return the number of an episode. Raises WrongResult for any other value."""
        value = _plain_number(self.function(episode))
        if value is None:
            return None
        found = f"metric {self.name!r} returned {value!r:.80}{_place_suffix(self.function)}"
        if not isinstance(value, bool | int | float) or not _is_finite(value):
            raise WrongResult(f"{found}, which is not a finite number")
        if self.is_share and not 0 <= value <= 1:
            raise WrongResult(f"{found}, and is a share: a number from 0 to 1")
        return float(value)


def mean(name: str, function: MeasuringFunction, *, unit: str = "episodes") -> EpisodeMetric:
    """Return a metric: the mean of a number of each episode, such as its calls or seconds.

    Args:
        name: What readers see.
        function: Takes an episode; returns a number, or None where the episode has none.
        unit: What the mean's n counts.
    """
    return EpisodeMetric(name, function, unit=unit)


def share(name: str, function: MeasuringFunction, *, unit: str = "episodes") -> EpisodeMetric:
    """Return a metric: the share of episodes of which something holds, with its interval.

    Args:
        name: What readers see.
        function: Takes an episode; returns True or False, a number from 0 to 1, or None where the
            question does not arise.
        unit: What the share's n counts.
    """
    return EpisodeMetric(name, function, is_share=True, unit=unit)


class EpisodeScorer(CodeHolder):
    """Judges episodes by a function, and measures them by metrics."""

    def __init__(self, function: JudgingFunction, metrics: Sequence[EpisodeMetric] = ()) -> None:
        candidate: object = function
        if not callable(candidate):
            kind = type(candidate).__name__
            raise UsageError(f"a scorer is a function of an episode, got {kind}")
        if is_async(function):
            raise UsageError(f"scorer {_name_of(function)} is async: {_RETURNS}, at once")
        check_takes(function, [None], f"{_name_of(function)}: a scorer takes one episode")
        names = [each.name for each in metrics]
        if len({*names}) < len(names):
            raise UsageError(f"two metrics have the same name: {', '.join(names)}")
        for each in metrics:
            if is_async(each.function):
                raise UsageError(f"metric {each.name!r} is async: it returns a number, at once")
            check_takes(each.function, [None], f"metric {each.name!r}: it takes one episode")
        self._function = function
        self._metrics = tuple(metrics)

    def __call__(self, episode: Episode) -> dict[str, Verdict]:
        """Return the verdict on an episode, with its numbers as parts.

        Raises WrongResult for what is not a verdict.
        """
        found: object = self._function(episode)
        name = f"{_name_of(self._function)}{_place_suffix(self._function)}"
        verdict = make_verdict(found, episode, name=name)
        return {RULE: add_parts(verdict, self._metrics, episode)}

    def list_metrics(self, columns: Columns) -> list[Metric]:
        """Return the headline, then the metrics."""
        values = columns.value[columns.run]
        is_binary = all(value in (0.0, 1.0) for value in values.tolist())
        head = Metric("accuracy" if is_binary else "mean score")
        return [head, *(each.formula() for each in self._metrics)]

    def called_code(self) -> Iterable[Any]:
        """Return the judging and the measuring functions."""
        return (self._function, *(each.function for each in self._metrics))

    def settings(self) -> Any:
        """Return the names and kinds of the metrics."""
        return [[each.name, each.is_share] for each in self._metrics]


def add_parts(verdict: Verdict, metrics: Iterable[EpisodeMetric], episode: Episode) -> Verdict:
    """Return the verdict with the numbers of the metrics among its parts.

    Raises WrongResult where the verdict has a part of that name.
    """
    parts = dict(verdict.parts)
    for metric in metrics:
        if metric.name in parts:
            raise WrongResult(f"the verdict has a part {metric.name!r}, as a metric is named")
        if (value := metric.measure(episode)) is not None:
            parts[metric.name] = value
    return replace(verdict, parts=parts)


def make_verdict(value: object, episode: Episode, *, name: str) -> Verdict:
    """Return what a scorer returned as a Verdict. Raises WrongResult for what is none.

    Less than 1 counts as incorrect; the cause follows from how the episode ended.
    """
    value = _plain_number(value)
    if isinstance(value, Verdict):
        if (value.outcome == "correct") != (value.value == 1):
            raise WrongResult(
                f"{name} returned a verdict that is {value.outcome} with value "
                f"{value.value!r:.80}; 1 is correct, and less is incorrect"
            )
        return value
    if not isinstance(value, bool | int | float):
        raise WrongResult(f"{name} returned {type(value).__name__}; {_RETURNS}")
    if not 0 <= value <= 1:
        raise WrongResult(f"{name} returned {value!r:.80}; {_RETURNS}")
    if value == 1:
        return Verdict(outcome="correct", value=1.0)
    return incorrect(episode, f"{name} returned {value!r}", value=float(value))


def _plain_number(value: object) -> object:
    """Return a number or truth value of numpy as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def _place_suffix(function: object) -> str:
    place = code_place(function)
    return f" ({place})" if place else ""


def incorrect(
    episode: Episode, evidence: str, *, cause: Cause = "wrong_answer", value: float = 0.0
) -> Verdict:
    """Return a failed verdict; an episode that ended by a limit or a fault has that as its cause.

    Args:
        episode: The episode that is judged.
        evidence: A sentence that says what was wrong.
        cause: The cause where the model answered.
        value: What the answer is worth, from 0 to below 1.
    """
    found = _CAUSE_BY_ENDING.get(episode.ending, cause)
    if found == "wrong_answer" and not episode.answer.strip():
        found = "no_answer"
    label = Label(cause=found, evidence=evidence, primary=True)
    return Verdict(outcome="incorrect", value=value, labels=(label,))


def _name_of(function: object) -> str:
    """Return the name under which a message speaks of a scorer."""
    name = getattr(function, "__qualname__", "") or type(function).__qualname__
    return "the scorer" if name.endswith("<lambda>") else name
