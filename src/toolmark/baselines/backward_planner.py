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
from toolmark.environments.function_graph import CHOICE_KEY

_VARIABLE_TEXT = re.compile(
    r"`(\w+)`(?: (?:of type|\(type:) (\w+)(?: and|,) subtype:? (\w+))?", re.ASCII
)
_CURSOR_TEXT = re.compile(r"pass 0 as `(\w+)` first", re.ASCII)
_CHOICE_TEXT = re.compile(r"`(\w+)`: `(\w+)` or `(\w+)`", re.ASCII)
_TARGET_TEXT = re.compile(r"(?:compute|value of) `(\w+)`", re.ASCII)
_GIVEN_VALUE = re.compile(r"^(\w+) = ([0-9]+)$", re.MULTILINE)


class Function(Struct, frozen=True):
    """A function as described: its output's name, and (type, subtype) of it and each parameter.

    Where names link functions, they stand in the place of the subtypes. `cursor` is the parameter
    that takes the token of a page. `alternatives` are the functions that its result chooses from.
    """

    name: str
    output: str
    output_type: tuple[str, str]
    parameter_types: dict[str, tuple[str, str]]
    cursor: str = ""
    alternatives: frozenset[str] = frozenset()


class Problem(Struct, frozen=True):
    """The facts known so far.

    `returned_values` by (type, subtype) are those returned, `known_values` by name are those in the
    prompt. `called` are the functions that returned their output, `tokens` the next pages of those
    that have more. `chosen` are the functions that results named.
    """

    target: str
    functions: list[Function]
    known_values: dict[str, int]
    returned_values: dict[tuple[str, str], int]
    called: set[str]
    tokens: dict[str, int]
    chosen: set[str]

    def is_open(self, function: Function) -> bool:
        """Tell whether a function may be used: none of two before a result names it."""
        alternatives = {name for other in self.functions for name in other.alternatives}
        return function.name not in alternatives or function.name in self.chosen

    def arguments_for(self, function: Function) -> dict[str, int] | None:
        """Return the arguments for a call, None while a value is unknown."""
        found = {
            parameter: self.known_values.get(parameter, self.returned_values.get(tag))
            for parameter, tag in function.parameter_types.items()
        }
        known = {parameter: value for parameter, value in found.items() if value is not None}
        if len(known) < len(found):
            return None
        page = {function.cursor: self.tokens.get(function.name, 0)} if function.cursor else {}
        return known | page


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
    producers: dict[tuple[str, str], list[Function]] = {}
    for function in problem.functions:
        producers.setdefault(function.output_type, []).append(function)
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
        stack.extend(producer for tag in unknown_tags for producer in producers.get(tag, []))
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
        if function.name not in problem.called and inputs is not None and problem.is_open(function):
            yield Call(name=function.name, arguments=json.dumps(inputs), id=function.name)


def parse_problem(request: Request) -> Problem:
    """Parse the problem from a request. Parts that cannot be parsed are skipped."""
    functions = [found for tool in request.tools if (found := _parse_function(tool)) is not None]
    prompt_text = "\n".join(x.text for x in request.messages if x.role in ("system", "user"))
    target = _TARGET_TEXT.search(prompt_text)
    values, called, tokens, chosen = _read_results(request.messages, {f.name: f for f in functions})
    return Problem(
        target=target[1] if target else "",
        functions=functions,
        known_values={name: int(value) for name, value in _GIVEN_VALUE.findall(prompt_text)},
        returned_values=values,
        called=called,
        tokens=tokens,
        chosen=chosen,
    )


def _parse_function(tool: Tool) -> Function | None:
    # the first two sentences name the output and the inputs; further ones pages and choices
    sentences = tool.description.split(". ")
    variables = _VARIABLE_TEXT.findall(". ".join(sentences[:2]))
    if not variables:
        return None
    (output, *_), *parameters = variables
    takes = {name: _variable_tag(name, kind, sub) for name, kind, sub in parameters}
    further = ". ".join(sentences[2:])
    cursor = found[1] if (found := _CURSOR_TEXT.search(further)) else ""
    if {*takes, cursor} - {""} != set(tool.parameters.get("properties", {})):
        return None
    alternatives = {name for _, *pair in _CHOICE_TEXT.findall(further) for name in pair}
    return Function(
        tool.name, output, _variable_tag(*variables[0]), takes, cursor, frozenset(alternatives)
    )


def _variable_tag(name: str, kind: str, subtype: str) -> tuple[str, str]:
    """Return what links a variable: type and subtype, or its name where it has none."""
    return (kind, subtype) if kind else ("", name)


def _read_results(
    messages: tuple[Message, ...], functions: dict[str, Function]
) -> tuple[dict[tuple[str, str], int], set[str], dict[str, int], set[str]]:
    """Return the values, the functions that returned them, the next pages, and what was chosen.

    Results are paired with calls by id, within one step: ids may be reused later.
    """
    values: dict[tuple[str, str], int] = {}
    called: set[str] = set()
    tokens: dict[str, int] = {}
    chosen: set[str] = set()
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
        found = _result_fields(message.text)
        token = found.get(function.cursor) if function.cursor else None
        if isinstance(token, int):
            tokens[function.name] = token
            continue
        called.add(function.name)
        value = found.get(function.output)
        if isinstance(value, int):
            values[function.output_type] = value
        named = found.get(CHOICE_KEY)
        if isinstance(named, dict):
            chosen.update(name for name in named.values() if isinstance(name, str))
    return values, called, tokens, chosen


def _result_fields(text: str) -> dict[str, object]:
    """Return the fields of a result; text after the JSON is ignored."""
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
