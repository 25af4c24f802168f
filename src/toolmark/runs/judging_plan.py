"""What judge models are asked about the episodes of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.model import Model
from toolmark.core.records import Judgement, Task, Trajectory

JudgeFunction: TypeAlias = Callable[[Model, str, Task, Trajectory], Awaitable[Judgement]]
"""Asks a judge for one kind of judgement; the caller fills in the judge's name.

Raises EndpointError.
"""


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """What judge models are asked about each episode.

    - `forms`: the kinds of judgement, each with the form in which it is asked. Judgements of
      another form do not count.
    - `ask`: asks a judge for one kind.
    - `is_required`: whether episodes have no score before a judge has answered. Such a suite is not
      run without a judge.
    - `rubric`, `shown`: the points of the rubric and the fields that judges see, for people who
      label episodes by the same rubric.
    - `default_model`: the judge where the user names none, "" for none.
    - `with_pictures`: the same, where judges see the pictures of tasks; None where they cannot.
    - `check_task`: called with one task before anything is asked. It raises UsageError where judges
      cannot be shown what they are meant to see.
    """

    forms: Mapping[str, str]
    ask: JudgeFunction
    is_required: bool = False
    rubric: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    default_model: str = ""
    with_pictures: JudgingPlan | None = None
    check_task: Callable[[Task], None] = lambda task: None

    def select_kinds(self, kinds: Sequence[str]) -> JudgingPlan:
        """Return the plan for these kinds, all of them for none. Raises UsageError."""
        for name in kinds:
            if name not in self.forms:
                raise UsageError(f"--kind: no judgement {name!r}{suggest_names(name, self.forms)}")
        if not kinds:
            return self
        return replace(self, forms={name: self.forms[name] for name in kinds})

    def show_pictures(self) -> JudgingPlan:
        """Return the plan with pictures. Raises UsageError where judges see none."""
        if self.with_pictures is None:
            raise UsageError("--see: judges of this suite see no pictures; leave it out")
        return self.with_pictures
