"""A baseline that plans: it works back from the target over types to what is given.

It reads what a model reads, tool descriptions, schemas and messages, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from toolmark.types import Call, Message, Reply, Request, Tool

_VARIABLE = re.compile(r"`(\w+)` of type (\w+) and subtype (\w+)")
_TARGET = re.compile(r"compute `(\w+)`")
_GIVEN = re.compile(r"^(\w+) = ([0-9]+)$", re.MULTILINE)


class Function(Struct, frozen=True):
    """A function as described: its output's name, and (type, subtype) of it and each parameter."""

    name: str
    output: str
    yields: tuple[str, str]
    takes: dict[str, tuple[str, str]]


class Problem(Struct, frozen=True):
    """What is known so far.

    `values` by (type, subtype) are those returned, `given` by name those in the prompt; `called`
    are the functions whose value came back.
    """

    target: str
    functions: list[Function]
    given: dict[str, int]
    values: dict[tuple[str, str], int]
    called: set[str]

    def inputs(self, function: Function) -> dict[str, int] | None:
        """Return the arguments for a call, None while some value is unknown."""
        found = {
            parameter: self.given.get(parameter, self.values.get(tag))
            for parameter, tag in function.takes.items()
        }
        known = {parameter: value for parameter, value in found.items() if value is not None}
        return known if len(known) == len(found) else None


class Planner:
    """Calls, round by round, the needed functions that have become callable."""

    name = "baseline/planner"
    hears = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make every needed call that is possible now, else answer."""
        problem = read(request)
        return move(problem, needed(problem))


def needed(problem: Problem) -> list[Function]:
    """Return the functions that lead to the target, by type and subtype."""
    makers = {function.yields: function for function in problem.functions}
    stack = [function for function in problem.functions if function.output == problem.target]
    found: dict[str, Function] = {}
    while stack:
        function = stack.pop()
        if function.name in found:
            continue
        found[function.name] = function
        wanted = (x for parameter, x in function.takes.items() if parameter not in problem.given)
        stack.extend(makers[tag] for tag in wanted if tag in makers)
    return list(found.values())


def move(problem: Problem, candidates: list[Function]) -> Reply:
    """State the target's value if it is known, else call the candidates that can be called."""
    goal = next((f for f in problem.functions if f.output == problem.target), None)
    if goal and goal.yields in problem.values:
        return Reply(text=f"{problem.target} = {problem.values[goal.yields]}")
    calls = tuple(_calls(problem, candidates))
    if calls:
        return Reply(calls=calls)
    return Reply(text=f"I cannot find the value of {problem.target or 'the target'}.")


def _calls(problem: Problem, candidates: list[Function]) -> Iterator[Call]:
    for function in candidates:
        inputs = problem.inputs(function)
        if function.name not in problem.called and inputs is not None:
            yield Call(name=function.name, arguments=json.dumps(inputs), id=function.name)


def read(request: Request) -> Problem:
    """Read the problem out of a request. What is not understood is left out."""
    functions = [found for tool in request.tools if (found := _function(tool)) is not None]
    asked = "\n".join(x.text for x in request.messages if x.role in ("system", "user"))
    target = _TARGET.search(asked)
    values, called = _heard(request.messages, {f.name: f for f in functions})
    return Problem(
        target=target[1] if target else "",
        functions=functions,
        given={name: int(value) for name, value in _GIVEN.findall(asked)},
        values=values,
        called=called,
    )


def _function(tool: Tool) -> Function | None:
    said = _VARIABLE.findall(tool.description)
    if not said:
        return None
    (output, type_, subtype), *rest = said
    takes = {name: (kind, sub) for name, kind, sub in rest}
    if set(takes) != set(tool.parameters.get("properties", {})):
        return None
    return Function(tool.name, output, (type_, subtype), takes)


def _heard(
    messages: tuple[Message, ...], functions: dict[str, Function]
) -> tuple[dict[tuple[str, str], int], set[str]]:
    """Pair results with calls by id, within one step: ids may come again later."""
    values: dict[tuple[str, str], int] = {}
    called: set[str] = set()
    asked: dict[str, str] = {}
    for message in messages:
        if message.role == "assistant":
            asked = {call.id: call.name for call in message.calls}
        function = functions.get(asked.get(message.call_id, "")) if message.role == "tool" else None
        if function is None:
            continue
        called.add(function.name)
        value = _value(message.text, function.output)
        if value is not None:
            values[function.yields] = value
    return values, called


def _value(text: str, name: str) -> int | None:
    """Return the value of the variable in a result, which may go on after the JSON."""
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) else None
