"""The world in which nothing happens."""

from __future__ import annotations

import asyncio
from functools import partial

from toolmark.core.environment import read_final_state
from toolmark.core.records import Call, Result, Task, Text, Tool
from toolmark.environments.class_environments import ClassEnvironments
from toolmark.environments.no_op_environment import NoOpEnvironment


def test_any_call_returns_an_empty_result_and_leaves_no_state() -> None:
    task = Task(id="t", suite="s", turns=(), tools=(Tool(name="a"),))

    async def play() -> None:
        async with ClassEnvironments(NoOpEnvironment).open_environment(task, {}) as world:
            assert await world.tools() == task.tools
            assert await world.call(Call(name="nope", arguments="{")) == Result()
            assert await read_final_state(world) is None

    asyncio.run(play())


def test_what_calls_return_can_be_set() -> None:
    noted = Result(parts=(Text("Noted."),))

    async def play() -> Result:
        factory = ClassEnvironments(partial(NoOpEnvironment, result=noted))
        async with factory.open_environment(Task(id="t", turns=()), {}) as world:
            return await world.call(Call(name="any"))

    assert asyncio.run(play()) == noted
