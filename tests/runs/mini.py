"""A suite of n sums: small, exact, and made lazily. Used by the tests of the runner."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import ToolEnvironmentError, ToolmarkError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import (
    Call,
    Label,
    Limits,
    Message,
    Reply,
    Request,
    Result,
    Task,
    Text,
    Tool,
    Turn,
    Usage,
    Verdict,
)
from toolmark.formats.native_format import NativeFormat
from toolmark.runs.suite import EnvironmentSource, Presentation, Scorer, Suite
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import Metric

ADD = Tool(name="add", description="Add two integers.", parameters={"type": "object"})


class Sums:
    """Item i asks for i + 1."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Task]:
        for i in range(self.n):
            said = Message(role="user", parts=(Text(f"What is {i} + 1?"),))
            yield Task(
                id=f"sum-{i}", item=f"sum-{i}", suite="mini", category="even" if i % 2 else "odd",
                tools=(ADD,), turns=(Turn(messages=(said,)),), data=i + 1,
                limits=Limits(steps=5, calls=3),
            )  # fmt: skip


class Chain:
    """Two set-up tasks, the second needing the first, then n sums that need both."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n + 2

    def __iter__(self) -> Iterator[Task]:
        sums = list(Sums(self.n + 2))
        for i, task in enumerate(sums):
            first = msgspec.structs.replace(
                task, needs=tuple(t.id for t in sums[: min(i, 2)]),
                kind="setup" if i < 2 else "scored",
            )  # fmt: skip
            yield first


class World(Environment):
    """Adds; `dead` loses its transport. The final state lists what this episode started from."""

    def __init__(self, needed: Mapping[str, Any], *, dead: bool = False) -> None:
        self.needed = needed
        self.dead = dead

    async def tools(self) -> tuple[Tool, ...]:
        return (ADD,)

    async def call(self, call: Call, /) -> Result:
        if self.dead:
            raise ToolEnvironmentError("the adder died")
        return Result(parts=(Text(str(sum(json.loads(call.arguments)["of"]))),))

    async def final_state(self) -> dict[str, Any]:
        return dict(self.needed)


class Site(EnvironmentFactory):
    """Gives worlds; the tasks named in `dead` get dead ones."""

    def __init__(self, dead: tuple[str, ...] = ()) -> None:
        self.dead = dead

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[World]:
        yield World(needed, dead=task.id in self.dead)


WRONG = Verdict(outcome="incorrect", value=0.0, labels=(Label(cause="wrong_answer", primary=True),))


def score(episode: Episode) -> dict[str, Verdict]:
    if episode.answer == "break the scorer":
        raise RuntimeError("the scorer broke")
    if episode.answer == str(episode.data):
        return {"exact": Verdict(outcome="correct", value=1.0)}
    return {"exact": WRONG}


SCORER = Scorer(
    rules=("exact",),
    score=score,
    metrics=lambda columns: (Metric("accuracy"),),
    presentation=Presentation(tables=lambda by_reading: ()),
)


def load(*, n: int = 20, dead: tuple[str, ...] = (), chain: bool = False) -> Suite:
    """Mini: sums.

    Args:
        n: how many.
        dead: tasks whose world dies.
        chain: sums that need two others.
    """

    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[Site]:
        yield Site(dead)

    return Suite(
        name="mini",
        tasks=Chain(n) if chain else Sums(n),
        scorer=SCORER,
        environment=EnvironmentSource(open=site),
        tool_formats={"native": NativeFormat()},
        parameters={"n": n, "dead": list(dead), "chain": chain},
    )


Trouble = Callable[[int, int], ToolmarkError | str | None]


class Adder(Model):
    """Calls add, then says what came back; `trouble(item, repeat)` may raise or answer instead."""

    name = "adder"

    def __init__(self, trouble: Trouble = lambda item, repeat: None, *, wait_s: float = 0) -> None:
        self.trouble = trouble
        self.wait_s = wait_s
        self.asked: list[tuple[int, int]] = []
        self.flying = self.most = 0

    async def __call__(self, request: Request, /) -> Reply:
        item = int(re.findall(r"\d+", request.messages[0].text)[0])
        if request.messages[-1].role == "tool":
            return Reply(text=request.messages[-1].text, usage=Usage(input=7, output=2))
        self.asked.append((item, request.repeat))
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            await asyncio.sleep(self.wait_s)
        finally:
            self.flying -= 1
        trouble = self.trouble(item, request.repeat)
        if isinstance(trouble, ToolmarkError):
            raise trouble
        if trouble is not None:
            return Reply(text=trouble)
        call = Call(name="add", arguments=json.dumps({"of": [item, 1]}), id="c")
        return Reply(calls=(call,), usage=Usage(input=5, output=3))
