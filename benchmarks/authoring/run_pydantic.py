"""Run the data sets of pydantic-evals that are written here, with pydantic-ai's FunctionModel.

`python benchmarks/authoring/run_pydantic.py oracle` answers what the rows say is right, `null`
answers nothing. One line of JSON is printed for each data set, with its averages by name.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, models
from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

HERE = Path(__file__).parent
RUNS = (
    ("pydantic_rows", "dataset", "ask_once"),
    ("pydantic_calendar", "dataset", "play"),
    ("pydantic_metric_and_table", "measured", "play"),
    ("pydantic_simulated_user", "dataset", "converse"),
)


def make_reply(calls: list[dict[str, Any]], text: str) -> ModelResponse:
    """Return what a model answers: calls, or a text where there are none."""
    if not calls:
        return ModelResponse(parts=[TextPart(text)])
    return ModelResponse(parts=[ToolCallPart(call["name"], call["arguments"]) for call in calls])


def first_prompt(messages: list[ModelMessage]) -> str:
    """Return the first text of the user."""
    return next(
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )


def make_oracle(rows: list[dict[str, Any]]) -> FunctionModel:
    """Return a model that finds its row by the first message and makes the next right step."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        first = first_prompt(messages)
        row = next(
            row for row in rows if first in (row.get("question"), row.get("user_script", [""])[0])
        )
        if "solution" not in row:
            return make_reply(row["expected"], "No tool fits.")
        n_made = sum(isinstance(message, ModelResponse) for message in messages)
        asked = [] if "question" in row else [None]  # a user is asked first
        step = [*asked, *row["solution"], None][n_made]
        return make_reply([step] if step else [], "When?")

    return FunctionModel(answer)


def make_user(rows: list[dict[str, Any]]) -> FunctionModel:
    """Return a model that says what the script of the row says, then that it is done."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        row = next(row for row in rows if row["goal"] in (info.instructions or ""))
        n_said = sum(isinstance(message, ModelResponse) for message in messages)
        return make_reply([], [*row["user_script"], "DONE"][n_said])

    return FunctionModel(answer)


def answer_nothing(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call nothing."""
    return make_reply([], "I do not know.")


def main(control: str) -> None:
    """Run every data set and print its averages."""
    os.chdir(HERE)
    os.environ["OPENAI_API_KEY"] = "none"  # an agent with the name of a model wants one when made
    models.ALLOW_MODEL_REQUESTS = False
    for module_name, dataset_name, task_name in RUNS:
        module = importlib.import_module(module_name)
        dataset = getattr(module, dataset_name)
        rows = [case.inputs for case in dataset.cases]
        model = make_oracle(rows) if control == "oracle" else FunctionModel(answer_nothing)
        with contextlib.ExitStack() as stack:
            stack.enter_context(module.agent.override(model=model))
            if "user" in vars(module):
                stack.enter_context(module.user.override(model=make_user(rows)))
            report = dataset.evaluate_sync(getattr(module, task_name), progress=False)
        averages = report.averages()
        if report.failures or averages is None:
            raise SystemExit(f"{module_name}: {[each.error_message for each in report.failures]}")
        found = {"right": averages.assertions, **averages.metrics}
        tables = [each.rows for each in report.analyses if each.type == "table"]
        print(json.dumps({"task": module_name, "metrics": found, "tables": tables}))


if __name__ == "__main__":
    main(sys.argv[1])
