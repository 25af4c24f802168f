"""Suites whose tools, environments, scorers or metrics are wrong, and a model that calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import toolmark as tm
from toolmark.core.failure import Failure
from toolmark.core.records import Call, Message, Reply, Request, Text, Turn

GOOD = "good"  # the task of the episode in which nothing goes wrong
BAD = "bad"


class Caller:
    """A model that calls a tool once and then answers; it calls `fine` in the good task."""

    def __init__(self, tool: str = "act", arguments: dict[str, Any] | None = None) -> None:
        self._call = Call(name=tool, arguments=json.dumps(arguments or {}), id="1")

    async def __call__(self, request: Request) -> Reply:
        if request.messages[-1].role == "tool":
            return Reply(text="Done.")
        if request.messages[-1].parts == (Text(GOOD),):
            return Reply(calls=(Call(name="fine", arguments="{}", id="1"),))
        return Reply(calls=(self._call,))


class Fine(tm.Environment):
    """An environment with a tool that works."""

    @tm.tool
    def fine(self) -> str:
        """Work."""
        return "fine"


def environment_with(function: Callable[..., Any]) -> type[tm.Environment]:
    """Return an environment that has a function as its tool `act`."""
    return type("Faulty", (Fine,), {"act": tm.tool(name="act", time_limit_s=0.5)(function)})


def tasks() -> list[tm.Task]:
    """Return a task in which the model meets the fault, and one in which it does not."""
    return [
        tm.Task(id=id, turns=(Turn(messages=(Message(role="user", parts=(Text(id),)),)),))
        for id in (BAD, GOOD)
    ]


def right(episode: tm.Episode) -> bool:
    """Judge every episode as right."""
    return True


def play(folder: Path, model: Any = None, **parts: Any) -> tm.Run:
    """Run a suite of the two tasks."""
    made = tm.Suite(name="faulty", tasks=tasks(), **{"scorer": right, "environment": Fine, **parts})
    return tm.run(made, model or Caller(), log_dir=folder)


def failures(run: tm.Run) -> dict[str, Failure]:
    """Return why episodes were not run or not scored, by task."""
    found = {attempt.task: attempt.failure for attempt in run.attempts()}
    for score in run.stored_scores():
        if score.failure is not None:
            found.setdefault(score.task, score.failure)
    return found


def outcomes(run: tm.Run) -> dict[str, str]:
    """Return the outcomes of the episodes that were run, by task."""
    return {
        score.task: score.verdicts["score"].outcome
        for score in run.stored_scores()
        if score.failure is None
    }
