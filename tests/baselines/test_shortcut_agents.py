"""Each shortcut agent follows its one rule, on any request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from toolmark.baselines.lexical_matcher import DONE_TEXT, NO_TOOL_TEXT
from toolmark.baselines.shortcut_agents import SHORTCUT_NAMES, SHORTCUTS, make_shortcut
from toolmark.core.records import Message, Reply, Request, Text, Tool
from toolmark.suites.model_registry import make_model


def make_tool(name: str, description: str, *required: str) -> Tool:
    properties = {key: {"type": "integer"} for key in required}
    schema: dict[str, Any] = {
        "type": "object", "properties": properties, "required": list(required),
    }  # fmt: skip
    return Tool(name=name, description=description, parameters=schema)


TOOLS = (
    make_tool("multiply", "Multiplies.", "left_value", "right_value"),
    make_tool("add", "Adds two numbers, whatever they are.", "a", "b"),
    make_tool("wait", "Waits."),
)


def reply_of(name: str, *said: tuple[str, str], tools: tuple[Tool, ...] = TOOLS) -> Reply:
    messages = tuple(Message(role=role, parts=(Text(text),)) for role, text in said)  # type: ignore[arg-type]
    return asyncio.run(make_shortcut(name)(Request(messages=messages, tools=tools)))


QUESTION = ("user", "Add 12 and -3 to everything 7")


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("first-tool", ["multiply"]),
        ("last-tool", ["wait"]),
        ("longest-tool", ["add"]),
        ("shortest-tool", ["wait"]),
        ("every-tool", ["multiply", "add", "wait"]),
    ],
)
def test_tools_are_chosen_by_place_or_length_and_get_the_values_in_order(
    name: str, called: list[str]
) -> None:
    calls = reply_of(name, QUESTION).calls
    assert [call.name for call in calls] == called
    assert len({call.id for call in calls}) == len(called)
    for call in calls:
        values = {"multiply": {"left_value": 12, "right_value": -3}, "add": {"a": 12, "b": -3}}
        assert json.loads(call.arguments) == values.get(call.name, {})
    assert reply_of(name, QUESTION, ("tool", "9")) == Reply(text=DONE_TEXT)
    assert reply_of(name, QUESTION, tools=()) == Reply(text=DONE_TEXT)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("last-number", "7"),
        ("largest-number", "12"),
        ("longest-word", "everything"),
        ("last-word", "7"),
        ("ask-again", "Could you say that again, please?"),
        ("ask-value", "What is the left value?"),
        ("refuse", NO_TOOL_TEXT),
    ],
)
def test_texts_are_taken_from_the_request_or_always_the_same(name: str, text: str) -> None:
    assert reply_of(name, ("user", "earlier 99"), QUESTION) == Reply(text=text)
    assert reply_of(name).calls == ()  # a request without a question


def test_every_name_makes_the_model_that_it_names() -> None:
    for name in SHORTCUT_NAMES:
        assert make_model(f"baseline/{name}").name == f"baseline/{name}" in SHORTCUTS
    with pytest.raises(KeyError):
        make_shortcut("no-such")
