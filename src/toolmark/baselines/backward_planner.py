"""A baseline that plans: it works back from the target over types to the given values.

It reads only what a model reads: tool descriptions, schemas and messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from toolmark.core.model import Model
from toolmark.core.records import Call, Message, Reply, Request, Tool

_VARIABLE_TEXT = re.compile(r"`(\w+)` of type (\w+) and subtype (\w+)")
_TARGET_TEXT = re.compile(r"compute `(\w+)`")
_GIVEN_VALUE = re.compile(r"^(\w+) = ([0-9]+)$", re.MULTILINE)


class Function(Struct, frozen=True):
    """A function as described: its output's name, and (type, subtype) of it and each parameter."""

    name: str
    output: str
    output_type: tuple[str, str]
    parameter_types: dict[str, tuple[str, str]]


class Problem(Struct, frozen=True):
    """The facts known so far.

    `returned_values` by (type, subtype) are those returned, `known_values` by name are those in the
    prompt. `called` are the functions that returned a result.
    """

    target: str
    functions: list[Function]
    known_values: dict[str, int]
    returned_values: dict[tuple[str, str], int]
    called: set[str]

    def arguments_for(self, function: Function) -> dict[str, int] | None:
        """Return the arguments for a call, None while a value is unknown."""
        found = {
            parameter: self.known_values.get(parameter, self.returned_values.get(tag))
            for parameter, tag in function.parameter_types.items()
        }
        known = {parameter: value for parameter, value in found.items() if value is not None}
        return known if len(known) == len(found) else None


class BackwardPlanner(Model):
    """Calls, round by round, the needed functions whose inputs are known."""

    name = "baseline/planner"
    calls_natively = True
    accepts_audio = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make every needed call that is possible now, else answer."""
        problem = parse_problem(request)
        return next_reply(problem, needed_functions(problem))


def needed_functions(problem: Problem) -> list[Function]:
    """Return the functions that lead to the target, by type and subtype."""
    function_by_tag = {function.output_type: function for function in problem.functions}
    stack = [function for function in problem.functions if function.output == problem.target]
    found: dict[str, Function] = {}
    while stack:
        function = stack.pop()
        if function.name in found:
            continue
        found[function.name] = function
        unknown_tags = (
            x
            for parameter, x in function.parameter_types.items()
            if parameter not in problem.known_values
        )
        stack.extend(function_by_tag[tag] for tag in unknown_tags if tag in function_by_tag)
    return list(found.values())


def next_reply(problem: Problem, candidates: list[Function]) -> Reply:
    """State the target's value if it is known, else call the candidates that can be called."""
    target_function = next((f for f in problem.functions if f.output == problem.target), None)
    if target_function and target_function.output_type in problem.returned_values:
        return Reply(
            text=f"{problem.target} = {problem.returned_values[target_function.output_type]}"
        )
    calls = tuple(_possible_calls(problem, candidates))
    if calls:
        return Reply(calls=calls)
    return Reply(text=f"I cannot find the value of {problem.target or 'the target'}.")


def _possible_calls(problem: Problem, candidates: list[Function]) -> Iterator[Call]:
    for function in candidates:
        inputs = problem.arguments_for(function)
        if function.name not in problem.called and inputs is not None:
            yield Call(name=function.name, arguments=json.dumps(inputs), id=function.name)


def parse_problem(request: Request) -> Problem:
    """Parse the problem from a request. Parts that cannot be parsed are skipped."""
    functions = [found for tool in request.tools if (found := _parse_function(tool)) is not None]
    prompt_text = "\n".join(x.text for x in request.messages if x.role in ("system", "user"))
    target = _TARGET_TEXT.search(prompt_text)
    values, called = _values_and_called(request.messages, {f.name: f for f in functions})
    return Problem(
        target=target[1] if target else "",
        functions=functions,
        known_values={name: int(value) for name, value in _GIVEN_VALUE.findall(prompt_text)},
        returned_values=values,
        called=called,
    )


def _parse_function(tool: Tool) -> Function | None:
    variables = _VARIABLE_TEXT.findall(tool.description)
    if not variables:
        return None
    (output, type_, subtype), *parameters = variables
    takes = {name: (kind, sub) for name, kind, sub in parameters}
    if set(takes) != set(tool.parameters.get("properties", {})):
        return None
    return Function(tool.name, output, (type_, subtype), takes)


def _values_and_called(
    messages: tuple[Message, ...], functions: dict[str, Function]
) -> tuple[dict[tuple[str, str], int], set[str]]:
    """Pair results with calls by id, within one step: ids may be reused later."""
    values: dict[tuple[str, str], int] = {}
    called: set[str] = set()
    name_by_call_id: dict[str, str] = {}
    for message in messages:
        if message.role == "assistant":
            name_by_call_id = {call.id: call.name for call in message.calls}
        function = (
            functions.get(name_by_call_id.get(message.call_id, ""))
            if message.role == "tool"
            else None
        )
        if function is None:
            continue
        called.add(function.name)
        value = _result_value(message.text, function.output)
        if value is not None:
            values[function.output_type] = value
    return values, called


def _result_value(text: str, name: str) -> int | None:
    """Return the value of the variable in a result; text after the JSON is ignored."""
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) else None
