"""Tasks of BFCL as rows of a file: question, published tools, accepted values of each argument."""

from __future__ import annotations

from typing import Any

from toolmark.core.errors import UsageError
from toolmark.core.records import Task, Text
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import fair_rule, official_data, tool_schemas
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData


def export_row(task: Task) -> dict[str, Any]:
    """Return the fields of a task of one reply, as `toolmark run FILE` reads them.

    The tools are the published docs, with the descriptions that the suite asks with. Raises
    UsageError for a task that no such row can hold: of several turns, of agents, of another format,
    and of Java and JavaScript, whose values are judged as source text.
    """
    if task.category not in official_data.CATEGORIES or task.category in fair_rule.VALUE_KINDS:
        raise UsageError(
            f"{task.category}: no rows of expected calls hold its tasks; next: -T category=NAME "
            "with a single-turn category in Python, such as simple_python"
        )
    docs = tool_schemas.published_docs(task)
    return {
        "id": task.id,
        "category": task.category,
        "messages": [
            {"role": message.role, "content": "".join(_texts(message.parts))}
            for message in task.turns[0].messages
        ],
        "tools": [
            {**doc, "description": tool.description}
            for doc, tool in zip(docs, task.tools, strict=True)
        ],
        **_expectation(task),
    }


def _expectation(task: Task) -> dict[str, Any]:
    if task.data is None:  # the question is whether to call at all
        return {"expected": []} if "irrelevance" in task.category else {"must_call": True}
    truth = read_task_data(task, BfclTaskData).truth
    calls = [{"name": name, "accepted": values} for each in truth for name, values in each.items()]
    return {"expected": calls}


def _texts(parts: tuple[Any, ...]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Text)]
