"""The generic instruments do one thing, always."""

from __future__ import annotations

import asyncio

import pytest

from toolmark.errors import Unavailable
from toolmark.models.baselines.instruments import Always, Dead, Null
from toolmark.types import Instrument, Message, Reply, Request, Task, Text, Tool, Turn

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
TOOLS = (Tool(name="a"), Tool(name="b"))


def test_null_says_nothing() -> None:
    assert asyncio.run(Null()(HELLO)) == Reply()


def test_dead_never_answers() -> None:
    with pytest.raises(Unavailable):
        asyncio.run(Dead()(HELLO))


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (Task(id="t", suite="s", turns=(), tools=TOOLS), "a"),
        (Task(id="t", suite="s", turns=(Turn(tools=TOOLS[1:]),)), "b"),
        (Task(id="t", suite="s", turns=()), "anything"),
    ],
)
def test_always_calls_even_where_the_prompt_holds_the_tools(task: Task, name: str) -> None:
    instrument = Always()
    assert isinstance(instrument, Instrument)
    (call,) = asyncio.run(instrument.bind(task, 0)(HELLO)).calls
    assert call.name == name


def test_always_calls_what_is_on_offer_now() -> None:
    model = Always().bind(Task(id="t", suite="s", turns=(), tools=TOOLS), 0)
    request = Request(messages=HELLO.messages, tools=TOOLS[1:])
    (call,) = asyncio.run(model(request)).calls
    assert call.name == "b"
