"""A suite of sums that a judge scores, and models for it. Used by the tests of judging."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

import toolmark as tm
from toolmark.core.model import Model
from toolmark.core.records import Message, Reply, Request, Task, Text, Turn

RUBRIC = ("The answer is the expected number.", "No other number is given.")


def tasks(n: int, group_size: int = 1) -> list[Task]:
    """Return n sums; `group_size` of them form a group."""
    return [
        Task(
            id=f"sum-{i}",
            suite="sums",
            turns=(Turn(messages=(Message(role="user", parts=(Text(f"What is {i} + 1?"),)),)),),
            data={"expected": i + 1, "hint": f"hint {i}"},
            axes={"group": f"g{i // group_size}"} if group_size > 1 else {},
        )
        for i in range(n)
    ]


def suite(n: int = 6, *, group_size: int = 1, **settings: Any) -> tm.Suite:
    """Return the suite; `settings` are those of `tm.judge`."""
    scorer = tm.judge(settings.pop("rubric", RUBRIC), **settings)
    return tm.Suite(name="sums", tasks=tasks(n, group_size), scorer=scorer)


class Adder(Model):
    """Answers sums; `change` turns (i, right answer) into what it says."""

    def __init__(self, change: Callable[[int, int], str] = lambda i, total: f"{total}") -> None:
        self.name = "adder"
        self.change = change

    async def __call__(self, request: Request, /) -> Reply:
        """Answer the last question."""
        await asyncio.sleep(0)  # as an endpoint, it lets others work
        found = re.search(r"\d+", request.messages[-1].text)
        assert found is not None
        i = int(found[0])
        return Reply(text=self.change(i, i + 1))


def is_right(evidence: Mapping[str, Any]) -> bool:
    """Return whether the answer is the expected number."""
    return bool(evidence["answer"] == str(evidence["expected"]))
