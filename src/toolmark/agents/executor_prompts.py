"""The executor's prompts for the model in each phase."""

from __future__ import annotations

import json
from collections.abc import Iterable

from toolmark.core import json_codec
from toolmark.core.records import Tool

MAX_UNREADABLE_CHARS = 2000  # of a reply that could not be parsed

PHASE_MARKS = {
    "plan": "== Phase: plan ==",
    "process": "== Phase: process ==",
    "decide": "== Phase: decide ==",
    "final": "== Phase: answer ==",
}

_PLAN_TEMPLATE = """{mark}
This is round {number} of at most {n_rounds}. Decide which tools would bring you closer to the \
answer now, given what is known so far. Do not call them yet.

For each tool that you want in this round write one line:
server/tool: why it is needed and with what
Below these lines say in a few words how you will proceed. Tools that do not need each other's \
results can go into the same round.

Tools:
{tools}"""

_PROCESS_TEMPLATE = """{mark}
Now write the calls of this round, at least 1 and at most {most}. They are executed at the same \
time, so none of them can use the result of another.

Tools of this round:
{tools}
{pictures}
Reply with one JSON object and nothing else:
{{"tool_calls": [{{"name": "server/tool", "arguments": {{"parameter": "value"}}}}]}}"""

_RETRY_TEMPLATE = """

Your last reply could not be used: {fault}. Reply again with the JSON object alone, without any \
other text."""

_LOST_ROUND_TEMPLATE = "[TOOL_ERROR] No call was executed in this round: {fault}."

_DECIDE_TEMPLATE = """{mark}
The question was:
{question}

Do you know enough to answer it in full, with nothing left for a tool to do? Answer yes or no."""

FINAL_PROMPT = f"""{PHASE_MARKS["final"]}
Answer the question now, from what you have found. Give the answer itself; do not speak of tools, \
calls or rounds."""


def plan_prompt(number: int, n_rounds: int, tools: Iterable[Tool]) -> str:
    """Return the prompt that asks which tools to use."""
    listed = "\n".join(f"{tool.name}: {tool.description.strip()}" for tool in tools)
    return _PLAN_TEMPLATE.format(
        mark=PHASE_MARKS["plan"], number=number, n_rounds=n_rounds, tools=listed
    )


def process_prompt(tools: Iterable[Tool], max_calls: int, pictures: Iterable[str]) -> str:
    """Return the prompt that asks for the calls."""
    paths = "".join(f"- path: {path}\n" for path in pictures)
    return _PROCESS_TEMPLATE.format(
        mark=PHASE_MARKS["process"],
        most=max_calls,
        tools="\n\n".join(_describe_tool(tool) for tool in tools),
        pictures=f"\nImage list:\n{paths}" if paths else "",
    )


def retry_prompt(fault: str) -> str:
    """Return the prompt that repeats the form of the answer after a fault."""
    return _RETRY_TEMPLATE.format(fault=fault)


def lost_round_prompt(fault: str) -> str:
    """Return the prompt that reports a round without result."""
    return _LOST_ROUND_TEMPLATE.format(fault=fault)


def decide_prompt(question: str) -> str:
    """Return the prompt that asks whether the results are enough."""
    return _DECIDE_TEMPLATE.format(mark=PHASE_MARKS["decide"], question=question)


def _describe_tool(tool: Tool) -> str:
    schema = json.dumps(json_codec.to_plain_json(tool.parameters), ensure_ascii=False)
    return f"{tool.name}: {tool.description.strip()}\nArguments, as JSON Schema: {schema}"
