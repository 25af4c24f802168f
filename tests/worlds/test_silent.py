"""The world in which nothing happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

from toolmark.media import Media
from toolmark.types import Call, Result, Task, Text, Tool
from toolmark.worlds.silent import site


def test_any_call_returns_an_empty_result_and_leaves_no_state() -> None:
    task = Task(id="t", suite="s", turns=(), tools=(Tool(name="a"),))

    async def play() -> None:
        async with site(Media(Path())) as opened, opened.world(task, {}) as world:
            assert await world.tools() == task.tools
            assert await world.call(Call(name="nope", arguments="{")) == Result()
            assert await world.final_state() is None

    asyncio.run(play())


def test_what_calls_return_can_be_set() -> None:
    noted = Result(parts=(Text("Noted."),))

    async def play() -> Result:
        opening = site(Media(Path()), result=noted)
        async with opening as opened, opened.world(Task(id="t", suite="s", turns=()), {}) as world:
            return await world.call(Call(name="any"))

    assert asyncio.run(play()) == noted
