"""A calendar with three tools as a data set of pydantic-evals; the state at the end is judged."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic_ai import Agent, FunctionToolset, ModelRetry
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
ROWS = Path("../../examples/calendar_rows.jsonl")
agent = Agent("openai:gpt-5-mini")


class Calendar:
    def __init__(self, events: dict[str, Any]) -> None:
        self.events = dict(events)

    def add_event(self, title: str, day: Day, hour: int) -> str:
        """Add an event.

        Args:
            title: What it is, in the words of the request.
            day: The weekday.
            hour: The full hour at which it begins, 0 to 23.
        """
        self.events[title] = [day, hour]
        return f"{title} is on {day} at {hour}"

    def move_event(self, title: str, day: Day, hour: int) -> str:
        """Move an event to another day or hour.

        Args:
            title: The event.
            day: The new weekday.
            hour: The new full hour, 0 to 23.
        """
        self.delete_event(title)
        return self.add_event(title, day, hour)

    def delete_event(self, title: str) -> str:
        """Delete an event.

        Args:
            title: The event.
        """
        if title not in self.events:
            raise ModelRetry(f"there is no event {title!r}, only: {', '.join(self.events)}")
        del self.events[title]
        return f"{title} is deleted"


async def play(row: dict[str, Any]) -> dict[str, Any]:
    calendar = Calendar(row["data"]["events"])
    tools = FunctionToolset([calendar.add_event, calendar.move_event, calendar.delete_event])
    await agent.run(row["question"], toolsets=[tools])
    return calendar.events


rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
dataset = Dataset(
    name="calendar",
    cases=[
        Case(
            name=row["id"],
            inputs=row,
            expected_output=row["expected"],
            metadata={"weekday": row["category"]},
        )
        for row in rows
    ],
    evaluators=[EqualsExpected()],
)

if __name__ == "__main__":
    dataset.evaluate_sync(play).print()
