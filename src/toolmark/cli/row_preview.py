"""Rows as a model will see them, and what each expects, for a reader."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from toolmark.authoring.oracle import read_call_expectation
from toolmark.cli.episode_output import message_text
from toolmark.core.records import Task, Tool
from toolmark.reports.table_format import visible_text
from toolmark.scoring.expected_calls import OMITTABLE, CallExpectation, ExpectedCall

NO_CALL = "no call"


def print_rows(out: Console, tasks: Sequence[Task]) -> None:
    """Print tasks: messages, tools and what is expected."""
    for task in tasks:
        for line in row_lines(task):
            out.print(visible_text(line), highlight=False, markup=False, soft_wrap=True)


def row_lines(task: Task) -> Iterator[str]:
    """Yield the lines of a task."""
    yield ""
    yield f"{task.id} ({task.category})" if task.category else task.id
    for turn in task.turns:
        for message in turn.messages:
            yield f"  {message_text(message, None)}"
    for tool in task.tools:
        yield f"  tool: {_describe_tool(tool)}"
    expectation = read_call_expectation(task)
    if expectation is not None:
        yield from (f"  {line}" for line in _expectation_lines(expectation))


def _describe_tool(tool: Tool) -> str:
    """Return a tool as `name(city: string, days?: integer) - description`."""
    required = tool.parameters.get("required", [])
    shown = [
        f"{name}{'' if name in required else '?'}: {_describe_type(spec)}"
        for name, spec in tool.parameters.get("properties", {}).items()
    ]
    signature = f"{tool.name}({', '.join(shown)})"
    return f"{signature} - {tool.description}" if tool.description else signature


def _describe_type(spec: Any) -> str:
    if not isinstance(spec, Mapping):
        return "any"
    if isinstance(values := spec.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    kind = spec.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    return f"list of {_describe_type(spec['items'])}" if "items" in spec else str(kind)


def _expectation_lines(expectation: CallExpectation) -> Iterator[str]:
    choices = expectation.choices()
    if not choices:
        yield "expected: some call" if expectation.must_call else f"expected: {NO_CALL}"
    for at, choice in enumerate(choices):
        calls = "; ".join(map(_describe_call, choice)) or NO_CALL
        yield f"{'or' if at else 'expected'}: {calls}"
    if expectation.ignore:
        yield f"not counted: {', '.join(expectation.ignore)}"
    for name, spec in expectation.compare.items():
        how = spec if isinstance(spec, str) else json.dumps(spec, ensure_ascii=False)
        yield f"compared: {name} as {how}"


def _describe_call(call: ExpectedCall) -> str:
    shown = [f"{name}={_json_text(value)}" for name, value in call.arguments.items()]
    for name, values in call.accepted.items():
        given = [_json_text(value) for value in values if value != OMITTABLE]
        left_out = ["left out"] if OMITTABLE in values else []
        shown.append(f"{name}={' | '.join([*given, *left_out])}")
    return f"{call.name}({', '.join(shown)})"


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
