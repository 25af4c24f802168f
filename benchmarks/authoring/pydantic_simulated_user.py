"""A simulated user with a goal as a data set of pydantic-evals: a second agent is the user."""

import json
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, FunctionToolset, ModelMessage
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

ROWS = [json.loads(line) for line in Path("simulated_user_rows.jsonl").read_text().splitlines()]
USER = """You are a customer who talks to an assistant. {goal} {knows} You do not know: {room}.
Write only what the customer says. Once your goal is reached, write only DONE."""
agent = Agent("openai:gpt-5-mini")
user = Agent("openai:gpt-5-mini")


class Calendar:
    def __init__(self, events: list[Any]) -> None:
        self.events = list(events)

    def add_event(self, day: str, hour: int, title: str) -> str:
        """Add an event.

        Args:
            day: Weekday, in English.
            hour: Full hour, 0 to 23.
            title: What it is, in one word of lower case.
        """
        self.events.append([day, hour, title])
        return "added"


async def converse(row: dict[str, Any]) -> list[Any]:
    calendar = Calendar(row["events"])
    tools = FunctionToolset([calendar.add_event])
    heard: list[ModelMessage] = []
    said_by_user: list[ModelMessage] = []
    answer = "Hello, what can I do for you?"
    for _ in range(5):
        asked = await user.run(
            answer, instructions=USER.format(**row), message_history=said_by_user
        )
        if "DONE" in asked.output:
            break
        said_by_user = asked.all_messages()
        replied = await agent.run(asked.output, toolsets=[tools], message_history=heard)
        heard, answer = replied.all_messages(), replied.output
    return sorted(calendar.events)


dataset = Dataset(
    name="appointments",
    cases=[Case(name=row["id"], inputs=row, expected_output=row["expected"]) for row in ROWS],
    evaluators=[EqualsExpected()],
)

if __name__ == "__main__":
    dataset.evaluate_sync(converse).print()
