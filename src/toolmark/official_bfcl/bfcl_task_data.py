"""What the tasks of BFCL store for their environments, graders and controls."""

from __future__ import annotations

from typing import Any

from toolmark.core.records import Record


class BfclTaskData(Record, frozen=True, kw_only=True):
    """The data of an entry with a truth; entries that have none (relevance) store no data.

    `truth` is as published. Of a single turn it has one entry per expected call: the function's
    name with the accepted values of each parameter. Of a question to an agent it has the accepted
    answers. `docs` are the published function docs of a category whose tools are offered with other
    types (Java, JavaScript); all other tasks have them in the `source` of their tools.
    """

    truth: list[Any]
    docs: list[dict[str, Any]] = []


class MultiTurnTaskData(BfclTaskData, frozen=True, kw_only=True):
    """The data of a multi-turn entry.

    `truth` has the expected calls of each turn, as Python source. `classes` are the simulators of
    the episode, `config` the state in which each begins, by class.
    """

    truth: list[list[str]]
    classes: list[str]
    config: dict[str, dict[str, Any]]
