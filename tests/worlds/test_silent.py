"""The world in which nothing happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolmark.errors import WorldError
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


def test_what_calls_return_and_which_tasks_are_broken_can_be_told() -> None:
    noted = Result(parts=(Text("Noted."),))

    async def play(id: str) -> Result:
        broken = {"bad": "it has no picture"}
        opening = site(Media(Path()), result=noted, broken=lambda task: broken.get(task.id, ""))
        async with opening as opened, opened.world(Task(id=id, suite="s", turns=()), {}) as world:
            return await world.call(Call(name="any"))

    assert asyncio.run(play("good")) == noted
    with pytest.raises(WorldError, match=r"^it has no picture$"):
        asyncio.run(play("bad"))
