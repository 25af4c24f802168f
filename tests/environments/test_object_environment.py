"""A world of objects: calls by name and keyword, on instances of one episode."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from toolmark.core.records import Call, Result, Task, Tool
from toolmark.environments import object_environment
from toolmark.environments.object_environment import EpisodeObjects, ObjectEnvironment


class Counter:
    def __init__(self) -> None:
        self.count = 0
        self._secret = 1

    def add(self, n: int, twice: bool = False) -> dict[str, Any]:
        self.count += 2 * n if twice else n
        return {"count": self.count}

    def fail(self, error: str) -> None:
        raise {"key": KeyError("k"), "zero": ZeroDivisionError("z"), "deep": RecursionError("d")}[
            error
        ]

    def _hidden(self) -> str:
        return "hidden"


TASK = Task(id="t", suite="s", turns=(), tools=(Tool(name="add"),))


def opened() -> tuple[Counter, ObjectEnvironment]:
    counter = Counter()
    table = {name: getattr(counter, name) for name in object_environment.public_methods(Counter)}
    collected = EpisodeObjects({"Counter": counter}, table)
    return counter, ObjectEnvironment(
        TASK, collected, lambda x: object_environment.public_attributes(x.instances["Counter"])
    )


def played(environment: ObjectEnvironment, name: str, arguments: str = "{}") -> Result:
    return asyncio.run(environment.call(Call(name=name, arguments=arguments)))


def test_a_call_is_the_method_with_its_keywords() -> None:
    counter, world = opened()
    assert played(world, "add", '{"n": 2, "twice": true}').text == '{"count": 4}'
    assert counter.count == 4
    assert asyncio.run(world.final_state()) == {"count": 4}
    assert asyncio.run(world.tools()) == TASK.tools


@pytest.mark.parametrize(
    "name",
    ["_hidden", "__init__", "__class__", "count", "fail.__globals__", "open", "", "add()", "add "],
)
def test_only_public_methods_can_be_called(name: str) -> None:
    _, world = opened()
    said = played(world, name, '{"n": 1}')
    assert said.is_error
    assert said.text == f"Error during execution: name '{name}' is not defined"


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null", '"{}"', "9" * 5000, "[" * 5000])
def test_arguments_that_are_no_object_are_an_error_of_the_call(arguments: str) -> None:
    counter, world = opened()
    assert played(world, "add", arguments).is_error
    assert counter.count == 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", '{"m": 1}'),
        ("add", "{}"),
        ("add", '{"n": [1]}'),
        ("fail", '{"error": "key"}'),
        ("fail", '{"error": "zero"}'),
        ("fail", '{"error": "deep"}'),
    ],
)
def test_whatever_a_method_raises_is_an_error_of_the_call(name: str, arguments: str) -> None:
    _, world = opened()
    said = played(world, name, arguments)
    assert said.is_error
    assert said.text.startswith("Error during execution: ")


def test_results_are_text_json_or_str() -> None:
    assert object_environment.value_text("as it is") == "as it is"
    assert object_environment.value_text({"a": None, "b": [1.0]}) == '{"a": null, "b": [1.0]}'
    assert object_environment.value_text({"a": Decimal("1.50")}) == "{'a': Decimal('1.50')}"
    assert object_environment.value_text(None) == "None"
    assert object_environment.value_text([1, "a"]) == "[1, 'a']"


def test_copies_share_nothing_that_can_change() -> None:
    first: dict[str, Any] = {"a": [1, {"b": [2]}]}
    second = object_environment.copy_plain(first)
    second["a"][1]["b"].append(3)
    assert first == {"a": [1, {"b": [2]}]}


def test_counting_a_tree_stops_at_the_limit_even_in_a_loop() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert object_environment.count_nodes(loop, lambda x: x, 100) == 101
    assert object_environment.count_nodes([[], []], lambda x: x, 100) == 3
