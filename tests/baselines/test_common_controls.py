"""The generic instruments do one thing, always."""

from __future__ import annotations

import asyncio

import pytest

from toolmark.baselines.common_controls import AlwaysCallControl, DeadControl, NullControl
from toolmark.core.errors import Unavailable
from toolmark.core.model import Control
from toolmark.core.records import Message, Reply, Request, Task, Text, Tool, Turn

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
TOOLS = (Tool(name="a"), Tool(name="b"))


def test_null_says_nothing() -> None:
    assert asyncio.run(NullControl()(HELLO)) == Reply()


def test_dead_never_answers() -> None:
    with pytest.raises(Unavailable):
        asyncio.run(DeadControl()(HELLO))


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (Task(id="t", suite="s", turns=(), tools=TOOLS), "a"),
        (Task(id="t", suite="s", turns=(Turn(tools=TOOLS[1:]),)), "b"),
        (Task(id="t", suite="s", turns=()), "anything"),
    ],
)
def test_always_calls_even_where_the_prompt_holds_the_tools(task: Task, name: str) -> None:
    gauge = AlwaysCallControl()
    assert isinstance(gauge, Control)
    (call,) = asyncio.run(gauge.bind(task, 0)(HELLO)).calls
    assert call.name == name


def test_always_calls_what_is_on_offer_now() -> None:
    model = AlwaysCallControl().bind(Task(id="t", suite="s", turns=(), tools=TOOLS), 0)
    request = Request(messages=HELLO.messages, tools=TOOLS[1:])
    (call,) = asyncio.run(model(request)).calls
    assert call.name == "b"
