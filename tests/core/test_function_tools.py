"""Laws of tools made from functions: what the schema says is what a call may give."""

from __future__ import annotations

import asyncio
import enum
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import jsonschema
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import user_modules
from toolmark.core.environment import Environment, method_tools
from toolmark.core.errors import ToolError, UsageError
from toolmark.core.function_tools import FunctionTool, tool
from toolmark.core.records import Call, Result
from toolmark.core.type_schemas import inline_references


class Day(enum.Enum):
    """A day that can be booked."""

    MONDAY = "Monday"
    TUESDAY = "Tuesday"


@dataclass
class Place:
    """A room in a house."""

    house: str
    room: int = 1


class Options(TypedDict, total=False):
    """What else may be said."""

    quiet: bool


class Tag(msgspec.Struct):
    """A word with a weight."""

    word: str
    weight: float = 1.0


class Guest(pydantic.BaseModel):
    """Somebody who comes."""

    name: str
    age: int = pydantic.Field(ge=0, description="In years.")


class Node(msgspec.Struct):
    """A tree."""

    name: str
    children: list[Node] = []


@tool
def book(  # noqa: D417 - some descriptions stand in the annotations
    day: Day,
    hour: Annotated[int, msgspec.Meta(ge=0, le=23), "Full hour."],
    place: Place,
    tags: list[Tag],
    guest: Guest | None = None,
    kind: Literal["talk", "meal"] = "talk",
    on: date | None = None,
    options: Options | None = None,
) -> str:
    """Book a place.

    It is free of charge.

    Args:
        day: The weekday.
        place: Where it is.
    """
    assert (type(day), type(place)) == (Day, Place)
    assert {type(each) for each in tags} <= {Tag}
    assert guest is None or isinstance(guest, Guest)
    assert on is None or isinstance(on, date)
    return f"{day.value} {hour}"


BOOK = FunctionTool(book)


def call(found: FunctionTool, arguments: Any, owner: object = None) -> Result:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return asyncio.run(found.execute_call(owner, Call(name=found.name, arguments=text)))


def test_names_descriptions_and_requirements_come_from_the_function() -> None:
    offered = BOOK.tool
    properties = offered.parameters["properties"]
    assert (offered.name, offered.description) == ("book", "Book a place.\n\nIt is free of charge.")
    assert offered.parameters["required"] == ["day", "hour", "place", "tags"]
    assert properties["day"] == {
        "type": "string", "enum": ["Monday", "Tuesday"], "description": "The weekday.",
    }  # fmt: skip
    assert properties["hour"]["description"] == "Full hour."
    assert properties["kind"]["default"] == "talk"
    assert "$ref" not in json.dumps(offered.parameters)


places = st.fixed_dictionaries({"house": st.text()}, optional={"room": st.integers(-9, 9)})
tags = st.lists(st.fixed_dictionaries({"word": st.text()}, optional={"weight": st.floats(0, 9)}))
guests = st.none() | st.fixed_dictionaries({"name": st.text(), "age": st.integers(-2, 9)})
arguments = st.fixed_dictionaries(
    {
        "day": st.sampled_from(["Monday", "Tuesday", "Sunday", 3]),
        "hour": st.integers(-3, 30) | st.sampled_from(["9", 9.5, True]),
        "place": places | st.just({"room": 3}),
        "tags": tags | st.just({}),
    },
    optional={
        "guest": guests,
        "kind": st.sampled_from(["talk", "meal", "walk"]),
        "options": st.none() | st.fixed_dictionaries({"quiet": st.booleans() | st.just(1)}),
        "more": st.integers(),
    },
)


@given(arguments)
def test_a_call_is_executed_if_and_only_if_its_arguments_fit_the_schema(given: Any) -> None:
    validator = jsonschema.Draft202012Validator(BOOK.tool.parameters)
    assert call(BOOK, given).is_error is not validator.is_valid(given)


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"day": NaN}', '"x"'])
def test_arguments_that_are_no_object_are_refused(text: str) -> None:
    assert call(BOOK, text).is_error


def test_a_type_that_nests_itself_stays_a_reference() -> None:
    def grow(tree: Node) -> None:
        """Grow."""

    schema = FunctionTool(grow).tool.parameters
    validator = jsonschema.Draft202012Validator(schema)
    deep = {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}
    assert validator.is_valid({"tree": deep})
    deep["children"][0]["children"][0]["children"] = [{}]  # type: ignore[index]
    assert not validator.is_valid({"tree": deep})


names = st.sampled_from(["a", "b", "c", "properties", "title", "$defs"])


@given(st.dictionaries(names, st.sampled_from([{"type": "integer"}, {"$ref": "#/$defs/a"}])))
def test_inlining_keeps_every_parameter_whatever_its_name(properties: dict[str, Any]) -> None:
    schema = {"type": "object", "title": "T", "properties": properties}
    found = inline_references(schema, {"a": {"type": "string", "title": "A"}})
    assert found["properties"].keys() == properties.keys()
    assert "$ref" not in json.dumps(found["properties"])
    assert "title" not in found


class Base(Environment):
    """Tools of a base class."""

    @tool
    def first(self) -> str:
        """First of the base."""
        return "base"

    @tool(name="renamed", description="Said otherwise.", read_only=True)
    def second(self) -> None:
        """Second."""

    @staticmethod
    @tool
    def third(n: int) -> int:
        """Third."""
        return n + 1

    def helper(self) -> str:
        return "no tool"


class Derived(Base):
    """Overrides one."""

    @tool
    def first(self) -> str:
        """First of the derived."""
        raise ToolError("not today")


def test_methods_of_base_classes_are_tools_and_can_be_overridden() -> None:
    tools = method_tools(Derived)
    assert [*tools] == ["first", "renamed", "third"]
    assert tools["first"].tool.description == "First of the derived."
    assert tools["renamed"].tool.read_only and not tools["third"].tool.read_only
    made = Derived()
    answers = [
        asyncio.run(made.call(Call(name=name, arguments=text)))
        for name, text in (
            ("first", "{}"),
            ("renamed", "{}"),
            ("third", '{"n": 4}'),
            ("helper", "{}"),
        )
    ]
    assert [each.is_error for each in answers] == [True, False, False, True]
    assert [each.text for each in answers[:3]] == ["not today", "ok", "5"]


def written(folder: Path, code: str) -> Any:
    """Return the function `f` of a file with this code."""
    (folder / "functions.py").write_text(code)
    return user_modules.import_attribute(f"{folder / 'functions.py'}:f")


def test_a_function_of_a_module_without_deferred_annotations_is_the_same_tool(
    tmp_path: Path,
) -> None:
    found = FunctionTool(written(tmp_path, "def f(a: int, b: int = 2) -> int:\n    return a + b\n"))
    assert found.tool.parameters["required"] == ["a"]
    assert call(found, {"a": 1}).text == "3"


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ("a", "a"),
        ("*a: int", "a"),
        ("**a: int", "a"),
        ("a: int, /", "a"),
        ("a: 'Unknown'", "Unknown"),
        ("a: object()", "f"),
    ],
)
def test_a_function_that_cannot_be_described_is_refused_with_its_name(
    parameters: str, place: str, tmp_path: Path
) -> None:
    function = written(tmp_path, f"def f({parameters}): ...\n")
    with pytest.raises(UsageError) as error:
        FunctionTool(function)
    assert "tool f" in str(error.value) and place in str(error.value)
