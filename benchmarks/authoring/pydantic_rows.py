"""Rows of (question, tools, expected calls) as a data set of pydantic-evals."""

import json
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, ExternalToolset, ToolDefinition
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

ROWS = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
agent = Agent("openai:gpt-5-mini", output_type=[str, DeferredToolRequests])


async def ask_once(row: dict[str, Any]) -> list[dict[str, Any]]:
    tools = [
        ToolDefinition(
            name=tool["name"],
            description=tool["description"],
            parameters_json_schema=tool["parameters"],
        )
        for tool in row["tools"]
    ]
    result = await agent.run(row["question"], toolsets=[ExternalToolset(tools)])
    if isinstance(result.output, str):
        return []
    made = [{"name": c.tool_name, "arguments": c.args_as_dict()} for c in result.output.calls]
    return sorted(made, key=str)


dataset = Dataset(
    name="support",
    cases=[
        Case(name=row["id"], inputs=row, expected_output=sorted(row["expected"], key=str))
        for row in ROWS
    ],
    evaluators=[EqualsExpected()],
)

if __name__ == "__main__":
    dataset.evaluate_sync(ask_once).print()
