"""A calendar with three tools as a task of Inspect; the state at the end is judged."""

from typing import Any, Literal

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import Score, Scorer, Target, accuracy, ci_wilson, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver, use_tools
from inspect_ai.tool import Tool, ToolError, tool
from inspect_ai.util import StoreModel, store_as

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]


class Calendar(StoreModel):
    events: dict[str, Any] = {}


@tool
def add_event() -> Tool:
    async def execute(title: str, day: Day, hour: int) -> str:
        """Add an event.

        Args:
            title: What it is, in the words of the request.
            day: The weekday.
            hour: The full hour at which it begins, 0 to 23.
        """
        store_as(Calendar).events[title] = [day, hour]
        return f"{title} is on {day} at {hour}"

    return execute


@tool
def move_event() -> Tool:
    async def execute(title: str, day: Day, hour: int) -> str:
        """Move an event to another day or hour.

        Args:
            title: The event.
            day: The new weekday.
            hour: The new full hour, 0 to 23.
        """
        find_events(title)[title] = [day, hour]
        return f"{title} is on {day} at {hour}"

    return execute


@tool
def delete_event() -> Tool:
    async def execute(title: str) -> str:
        """Delete an event.

        Args:
            title: The event.
        """
        del find_events(title)[title]
        return f"{title} is deleted"

    return execute


def find_events(title: str) -> dict[str, Any]:
    events = store_as(Calendar).events
    if title not in events:
        raise ToolError(f"there is no event {title!r}, only: {', '.join(events)}")
    return events


def read_row(row: dict[str, Any]) -> Sample:
    return Sample(id=row["id"], input=row["question"], metadata=row)


@solver
def open_calendar() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store_as(Calendar).events = dict(state.metadata["data"]["events"])
        return state

    return solve


@scorer(metrics=[accuracy(), ci_wilson()])
def right_state() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=state.store_as(Calendar).events == state.metadata["expected"])

    return score


@task
def calendar(path: str = "../../examples/calendar_rows.jsonl") -> Task:
    return Task(
        json_dataset(path, read_row),
        setup=open_calendar(),
        solver=[use_tools(add_event(), move_event(), delete_event()), generate()],
        scorer=right_state(),
    )
