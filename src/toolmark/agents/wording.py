"""What the executor says to the model in each phase."""

from __future__ import annotations

import json
from collections.abc import Iterable

from toolmark import codec
from toolmark.types import Tool

SHOWN = 2000  # characters of a reply that could not be read

MARKS = {
    "plan": "== Phase: plan ==",
    "process": "== Phase: process ==",
    "decide": "== Phase: decide ==",
    "final": "== Phase: answer ==",
}

_PLAN = """{mark}
This is round {number} of at most {n_rounds}. Decide which tools would bring you closer to the \
answer now, given what is known so far. Do not call them yet.

For each tool that you want in this round write one line:
server/tool: why it is needed and with what
Below these lines say in a few words how you will proceed. Tools that do not need each other's \
results can go into the same round.

Tools:
{tools}"""

_PROCESS = """{mark}
Now write the calls of this round, at least 1 and at most {most}. They are executed at the same \
time, so none of them can use the result of another.

Tools of this round:
{tools}
{pictures}
Reply with one JSON object and nothing else:
{{"tool_calls": [{{"name": "server/tool", "arguments": {{"parameter": "value"}}}}]}}"""

_AGAIN = """

Your last reply could not be used: {fault}. Reply again with the JSON object alone, without any \
other text."""

_LOST = "[TOOL_ERROR] No call was executed in this round: {fault}."

_DECIDE = """{mark}
The question was:
{question}

Do you know enough to answer it in full, with nothing left for a tool to do? Answer yes or no."""

FINAL = f"""{MARKS["final"]}
Answer the question now, from what you have found. Give the answer itself; do not speak of tools, \
calls or rounds."""


def plan(number: int, n_rounds: int, tools: Iterable[Tool]) -> str:
    """Ask which tools to use."""
    listed = "\n".join(f"{tool.name}: {tool.description.strip()}" for tool in tools)
    return _PLAN.format(mark=MARKS["plan"], number=number, n_rounds=n_rounds, tools=listed)


def process(tools: Iterable[Tool], most: int, pictures: Iterable[str]) -> str:
    """Ask for the calls."""
    paths = "".join(f"- path: {path}\n" for path in pictures)
    return _PROCESS.format(
        mark=MARKS["process"],
        most=most,
        tools="\n\n".join(_described(tool) for tool in tools),
        pictures=f"\nImage list:\n{paths}" if paths else "",
    )


def again(fault: str) -> str:
    """Remind of the form."""
    return _AGAIN.format(fault=fault)


def lost(fault: str) -> str:
    """Say that a round came to nothing."""
    return _LOST.format(fault=fault)


def decide(question: str) -> str:
    """Ask whether it is enough."""
    return _DECIDE.format(mark=MARKS["decide"], question=question)


def _described(tool: Tool) -> str:
    schema = json.dumps(codec.plain(tool.parameters), ensure_ascii=False)
    return f"{tool.name}: {tool.description.strip()}\nArguments, as JSON Schema: {schema}"
