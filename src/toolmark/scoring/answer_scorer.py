"""Judge the answer of an episode by a comparator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolmark.core.called_code import CodeHolder
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Verdict
from toolmark.scoring.comparators import Comparator, Comparison, choose_comparator, from_row
from toolmark.scoring.episode import Episode
from toolmark.scoring.episode_scorer import incorrect


class AnswerMatches(CodeHolder):
    """A scorer of episodes: whether the answer states the expected value of the task.

    Args:
        field: The field of the task's data that has the expected value.
        comparator: How the two are compared: a comparator, its name, or its name with settings as
            in a row. Without one, the type of the expected value chooses.
        any_of: Whether the field is a list of values of which each is accepted.
    """

    def __init__(
        self,
        field: str = "expected",
        comparator: Comparator | str | Mapping[str, Any] | None = None,
        *,
        any_of: bool = False,
    ) -> None:
        self.field = field
        self.comparator = None if comparator is None else from_row(comparator)
        self.any_of = any_of

    def __call__(self, episode: Episode) -> Verdict:
        """Return the verdict. Raises UsageError where the task lacks the expected value."""
        expected = self._expected_answer(episode)
        accepted = expected if self.any_of else [expected]
        reasons = []
        for value in accepted:
            comparator = self.comparator or choose_comparator(value)
            found = comparator.find_in_answer(episode.answer, value)
            if found.matches:
                return Verdict(outcome="correct", value=1.0)
            reasons.append(_evidence(comparator, found))
        return incorrect(episode, "; ".join(dict.fromkeys(reasons)))

    def called_code(self) -> Iterable[Any]:
        """Return the comparator."""
        return () if self.comparator is None else (self.comparator,)

    def settings(self) -> Any:
        """Return the field, the comparator's settings, and whether one of several is enough."""
        comparator = None if self.comparator is None else self.comparator.settings()
        return {"field": self.field, "comparator": comparator, "any_of": self.any_of}

    def _expected_answer(self, episode: Episode) -> Any:
        data = episode.data
        if not isinstance(data, Mapping) or self.field not in data:
            known = data if isinstance(data, Mapping) else ()
            near = suggest_names(self.field, known)
            raise UsageError(f"task {episode.task.id} has no field {self.field!r}{near}")
        value = data[self.field]
        if self.any_of and (not isinstance(value, list | tuple) or not value):
            raise UsageError(
                f"task {episode.task.id}: {self.field!r} has to be a list of accepted values"
            )
        return value


def _evidence(comparator: Comparator, found: Comparison) -> str:
    """Return what the verdict says: how the answer was compared, and why it failed."""
    return f"compared as {comparator.kind}: {found.reason}"
