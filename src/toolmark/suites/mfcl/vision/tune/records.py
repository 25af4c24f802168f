"""What a tuning keeps: the request, versions of items, what a panel made of them, people's marks.

Everything but the request is a line of a file, added as it comes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeAlias, get_args

from toolmark.failure import Failure
from toolmark.runs.plan import Plan
from toolmark.suites.mfcl.vision.item import Hop
from toolmark.types import Record, Task, Trajectory, Usage

Outcome: TypeAlias = Literal["solved", "wrong", "over_long", "verbose", "refused", "not_run"]
Verdict: TypeAlias = Literal["solvable", "unsolvable", "unclear"]

FAILURES: tuple[Outcome, ...] = ("wrong", "over_long", "verbose", "refused")
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Request(Record, frozen=True, kw_only=True):
    """What was asked for. Equal requests continue each other's folder.

    `plan` tells suite, knobs, dialect, which items, and in `repeats` the attempts that a model has
    at an item. `hashes` are those of what was read. `seed` is the one that was drawn where none
    was given.
    """

    plan: Plan
    models: tuple[str, ...]
    edits: tuple[str, ...]
    rounds: int
    seed: int
    hashes: dict[str, str] = {}


class Version(Record, frozen=True, kw_only=True):
    """An item as it is asked after so many edits; `edit` is the last of them, `told` what it did.

    `broken` says why there is no picture, "" if there is.
    """

    item: str
    number: int
    task: Task
    edit: str = ""
    told: str = ""
    broken: str = ""


class Trial(Record, frozen=True, kw_only=True):
    """One attempt of a model at a version.

    `mode` and `evidence` are those of a wrong answer as runs are scored, `failure` says why it was
    not run.
    """

    item: str
    version: int
    model: str
    attempt: int
    outcome: Outcome
    answer: str = ""
    mode: str = ""
    evidence: str = ""
    failure: Failure | None = None
    usage: Usage = Usage()
    trajectory: Trajectory | None = None


class Old(Record, frozen=True, kw_only=True):
    """What a line of an attempt held before there was `failure`: why it was not run, as a text."""

    reason: str = ""


class Mark(Record, frozen=True, kw_only=True):
    """One person's word on whether a version can be solved. UTC. The last one counts."""

    item: str
    version: int
    verdict: Verdict
    reviewer: str
    time: str
    note: str = ""

    @property
    def key(self) -> Hashable:
        """What the mark is about: a later one on the same replaces it."""
        return self.item, self.version


class Leaf(Record, frozen=True, kw_only=True):
    """The page of a step to the answer, as it can be fetched."""

    item: str
    version: int
    hop: Hop
    text: str
