"""Rows of (question, tools, expected calls) as a task of Inspect."""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, ci_wilson, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo


def read_row(row: dict[str, Any]) -> Sample:
    return Sample(id=row["id"], input=row["question"], metadata=row)


@solver
def ask_once() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        tools = [ToolInfo(**tool) for tool in state.metadata["tools"]]
        state.output = await get_model().generate(state.messages, tools=tools)
        return state

    return solve


@scorer(metrics=[accuracy(), ci_wilson()])
def same_calls() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        calls = state.output.message.tool_calls or []
        made = [{"name": call.function, "arguments": call.arguments} for call in calls]
        expected = state.metadata["expected"]
        return Score(value=sorted(made, key=str) == sorted(expected, key=str))

    return score


@task
def support(path: str = "rows.jsonl") -> Task:
    return Task(json_dataset(path, read_row), solver=ask_once(), scorer=same_calls())
