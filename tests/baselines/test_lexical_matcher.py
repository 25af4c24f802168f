"""The lexical baseline: a real agent that sees the request and nothing else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from toolmark.baselines.lexical_matcher import LexicalMatcher
from toolmark.core.records import Call, Message, Reply, Request, Text, Tool


def tool(name: str, description: str, required: tuple[str, ...] = (), **specs: Any) -> Tool:
    properties = {
        key: spec if isinstance(spec, dict) else {"type": spec} for key, spec in specs.items()
    }
    return Tool(
        name=name,
        description=description,
        parameters={"type": "object", "properties": properties, "required": list(required)},
    )


AREA = tool(
    "triangle.area", "Calculate the area of a triangle.", ("base", "height"),
    base="integer", height="integer", unit={"type": "string", "enum": ["cm", "inch"]},
)  # fmt: skip
WEATHER = tool(
    "get_weather", "Retrieve the weather of a city.", ("city",),
    city="string", date={"type": "string", "description": "YYYY-MM-DD"},
)  # fmt: skip


def ask(text: str, *tools: Tool) -> Reply:
    said = Message(role="user", parts=(Text(text),))
    return asyncio.run(LexicalMatcher()(Request(messages=(said,), tools=tools)))


def calls(text: str, *tools: Tool) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in ask(text, *tools).calls]


def test_values_are_copied_from_the_text_in_its_order() -> None:
    assert calls("Area of a triangle with base 6 and height 2.5 inch", WEATHER, AREA) == [
        ("triangle.area", {"base": 6, "height": 2.5, "unit": "inch"})
    ]
    assert calls("What is the weather in New York today?", AREA, WEATHER) == [
        ("get_weather", {"city": "New York"})
    ]
    assert calls("Retrieve weather for the city 'paris'", WEATHER) == [
        ("get_weather", {"city": "paris"})
    ]


def test_a_list_takes_all_values_that_are_left() -> None:
    mean = tool(
        "mean", "Mean of numbers", ("decimals", "numbers"),
        decimals="integer", numbers={"type": "array", "items": {"type": "number"}},
    )  # fmt: skip
    assert calls("With 2 decimals, the mean of the numbers 4, 5 and 9", mean) == [
        ("mean", {"decimals": 2, "numbers": [4, 5, 9]})
    ]


def test_it_abstains_when_nothing_matches_or_something_is_missing() -> None:
    for text in ("Who wrote this symphony?", "Calculate the area of a triangle", ""):
        reply = ask(text, AREA, WEATHER)
        assert reply.calls == () and reply.text


def test_without_tools_or_after_results_it_only_talks() -> None:
    assert ask("weather in Paris").calls == ()
    said = Message(role="user", parts=(Text("weather in Paris"),))
    call = Message(role="assistant", calls=(Call(name="get_weather", id="1"),))
    heard = Message(role="tool", parts=(Text("sunny"),), call_id="1")
    reply = asyncio.run(LexicalMatcher()(Request(messages=(said, call, heard), tools=(WEATHER,))))
    assert reply.calls == () and reply.text


@pytest.mark.parametrize(
    "text", ["9" * 5000 + " area triangle base height", "\ud800 weather", "'" * 1000, "and " * 1000]
)
def test_odd_questions_do_not_break_it(text: str) -> None:
    assert isinstance(ask(text, AREA, WEATHER), Reply)


def test_odd_schemas_do_not_break_it() -> None:
    odd = [Tool(name="weather"), Tool(name="weather", parameters={"properties": {"city": True}})]
    odd += [Tool(name="weather", parameters={"properties": {"x": {"enum": []}}, "required": ["x"]})]
    for one in odd:
        assert isinstance(ask("the weather in Paris", one), Reply)
