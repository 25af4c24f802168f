"""The records of a tuning: request, versions of items, trials of the panel, people's marks.

Every record except the request is a line of a file, appended at once.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeAlias, get_args

from toolmark.core.failure import Failure
from toolmark.core.records import Record, Task, Trajectory, Usage
from toolmark.runs.run_plan import Plan
from toolmark.suites.mfcl_vision.item_records import Hop

TrialOutcome: TypeAlias = Literal["solved", "wrong", "over_long", "verbose", "refused", "not_run"]
ReviewVerdict: TypeAlias = Literal["solvable", "unsolvable", "unclear"]

FAILURE_OUTCOMES: tuple[TrialOutcome, ...] = ("wrong", "over_long", "verbose", "refused")
REVIEW_VERDICTS: tuple[ReviewVerdict, ...] = get_args(ReviewVerdict)


class TuningRequest(Record, frozen=True, kw_only=True):
    """The request of a tuning. A tuning with an equal request continues in the same folder.

    `plan` states the suite, its parameters, the tool format, the items, and in `repeats` the
    attempts that a model has at an item. `hashes` are those of the files read. `seed` is the random
    one where none was given.
    """

    plan: Plan
    models: tuple[str, ...]
    edits: tuple[str, ...]
    rounds: int
    seed: int
    hashes: dict[str, str] = {}


class ItemVersion(Record, frozen=True, kw_only=True):
    """A version of an item; `edit` is its last edit, `change` the description of the change.

    `failure` says why there is no picture, "" if there is one.
    """

    item: str
    number: int
    task: Task
    edit: str = ""
    change: str = ""
    failure: str = ""


class Trial(Record, frozen=True, kw_only=True):
    """One attempt of a model at a version.

    `mode` and `evidence` are those of a failure in scored runs. `failure` says why the attempt was
    not run.
    """

    item: str
    version: int
    model: str
    attempt: int
    outcome: TrialOutcome
    answer: str = ""
    mode: str = ""
    evidence: str = ""
    failure: Failure | None = None
    usage: Usage = Usage()
    trajectory: Trajectory | None = None


class OldTrial(Record, frozen=True, kw_only=True):
    """The old format of an attempt, without `failure`: the text says why it was not run."""

    reason: str = ""


class ReviewMark(Record, frozen=True, kw_only=True):
    """One person's verdict on whether a version can be solved. Time in UTC. The last one counts."""

    item: str
    version: int
    verdict: ReviewVerdict
    reviewer: str
    time: str
    note: str = ""

    @property
    def key(self) -> Hashable:
        """The subject of the mark: a later one with the same key replaces it."""
        return self.item, self.version


class HopPage(Record, frozen=True, kw_only=True):
    """The page of one hop to the answer, as fetched."""

    item: str
    version: int
    hop: Hop
    text: str
