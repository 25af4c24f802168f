"""The oracle of a suite of rows: it makes the expected calls, or plays a row's `solution`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core.errors import DataError, UsageError
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.scoring.expected_calls import (
    OMITTABLE,
    CallExpectation,
    ExpectedCall,
    plain_value,
)

NO_CALL = "None of the tools fits."
DONE = "Done."


class OracleData(msgspec.Struct, frozen=True):
    """What an oracle reads of a task: its `solution`, one list for each turn or one for all."""

    solution: Any = None


class ScriptedReplies(Model):
    """Gives replies in their order; after the last one it says its last answer again."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = list(replies)
        answers = [reply.text for reply in replies if reply.text and not reply.calls]
        self._last = Reply(text=answers[-1] if answers else DONE)

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next reply."""
        return self._replies.pop(0) if self._replies else self._last


def make_oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that does what is right, as the row says.

    Raises UsageError for a row that does not say it.
    """
    solution = read_task_data(task, OracleData).solution
    if solution is not None:
        return ScriptedReplies(_solution_replies(task, solution))
    expectation = read_call_expectation(task)
    if expectation is None:
        raise UsageError(
            f"task {task.id} has no solution, so the suite has no oracle; next: add `solution` to "
            "its row, the list of calls that are right and then the answer"
        )
    return ScriptedReplies([_expected_reply(task, expectation)])


def has_solution(task: Task) -> bool:
    """Return whether a row says what is right, so that `make_oracle` can play it."""
    if read_call_expectation(task) is not None:
        return True
    return isinstance(task.data, Mapping) and task.data.get("solution") is not None


def read_call_expectation(task: Task) -> CallExpectation | None:
    """Return what a task expects of its calls, None where its data are of another kind."""
    try:
        found = read_task_data(task, CallExpectation)
    except DataError:
        return None
    return None if found.must_call is None and not found.choices() else found


def _expected_reply(task: Task, expectation: CallExpectation) -> Reply:
    if choices := expectation.choices():
        schemas = {tool.name: tool.parameters for tool in task.tools}
        calls = [
            Call(name=each.name, arguments=json.dumps(solve(each, schemas.get(each.name, {}))))
            for each in choices[0]
        ]
    elif expectation.must_call and task.tools:
        calls = [Call(name=task.tools[0].name)]
    else:
        calls = []
    return Reply(calls=tuple(calls)) if calls else Reply(text=NO_CALL)


def solve(call: ExpectedCall, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that an expected call accepts: the first accepted value of each.

    What the tool's schema lacks, and may be left out, is left out.
    """
    found = dict(call.arguments)
    properties = schema.get("properties", {})
    for name, values in call.accepted.items():
        if name not in properties and OMITTABLE in values:
            continue
        first = next((value for value in values if value != OMITTABLE), None)
        if first is not None:
            found[name] = plain_value(first)
    return found


def _solution_replies(task: Task, solution: Any) -> list[Reply]:
    """Return the replies of a solution: each call alone, a text as the answer of a turn."""
    steps = solution if isinstance(solution, list) else [solution]
    if steps and all(isinstance(each, list) for each in steps):
        return [reply for turn in steps for reply in _turn_replies(task, turn)]
    return _turn_replies(task, steps)


def _turn_replies(task: Task, steps: Sequence[Any]) -> list[Reply]:
    replies = []
    for step in steps:
        if isinstance(step, str):
            replies.append(Reply(text=step))
        elif isinstance(step, dict) and isinstance(step.get("name"), str):
            arguments = json.dumps(step.get("arguments", {}))
            replies.append(Reply(calls=(Call(name=step["name"], arguments=arguments),)))
        else:
            raise DataError(
                f"task {task.id}: solution: expected calls {{'name', 'arguments'}} and texts, got "
                f"{step!r:.80}"
            )
    if not steps or not isinstance(steps[-1], str):
        replies.append(Reply(text=DONE))
    return replies
