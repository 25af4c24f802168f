"""The BFCL suite, and a way to play one reply."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import toolmark as tm
from toolmark.core.records import Reply, Step, Task, Trajectory, Verdict
from toolmark.runs.suite import Suite
from toolmark.scoring.episode import Episode

Judge = Callable[..., Verdict]


@pytest.fixture(scope="session")
def suite() -> Suite:
    return tm.load("bfcl", category=("single_turn",))


@pytest.fixture(scope="session")
def tasks(suite: Suite) -> dict[str, Task]:
    return {task.id: task for task in suite}


@pytest.fixture(scope="session")
def judge(suite: Suite) -> Judge:
    """Return the verdict on one reply, written in the tool_format where it holds calls."""

    def one(task: Task, reply: Reply, tool_format: str = "native") -> Verdict:
        spoken = suite.tool_formats[tool_format]
        if reply.calls:
            written = spoken.render_calls(reply.calls)
            reply = Reply(text=written.text, calls=written.calls, stop=reply.stop)
        step = Step(reply=reply, calls=spoken.parse_reply(reply, task.tools).calls)
        played = Trajectory(task=task.id, tool_format=spoken.name, steps=(step,))
        return suite.scorer.score(Episode(task, played))["official"]

    return one
