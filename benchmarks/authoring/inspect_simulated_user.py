"""A simulated user with a goal as a task of Inspect; the model of the user has the role `user`."""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, accuracy, ci_wilson, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver, use_tools
from inspect_ai.tool import Tool, tool
from inspect_ai.util import StoreModel, store_as

USER = """You are a customer who talks to an assistant. {goal} {knows} You do not know: {room}.
Write only what the customer says. Once your goal is reached, write only DONE."""


class Calendar(StoreModel):
    events: list[Any] = []


@tool
def add_event() -> Tool:
    async def execute(day: str, hour: int, title: str) -> str:
        """Add an event.

        Args:
            day: Weekday, in English.
            hour: Full hour, 0 to 23.
            title: What it is, in one word of lower case.
        """
        store_as(Calendar).events.append([day, hour, title])
        return "added"

    return execute


def read_row(row: dict[str, Any]) -> Sample:
    return Sample(id=row["id"], input=row["goal"], metadata=row)


def heard_by_user(messages: list[ChatMessage]) -> list[ChatMessage]:
    heard: list[ChatMessage] = [ChatMessageUser(content="Hello, what can I do for you?")]
    for message in messages:
        if message.role == "user":
            heard.append(ChatMessageAssistant(content=message.text))
        elif message.role == "assistant" and message.text:
            heard.append(ChatMessageUser(content=message.text))
    return heard


@solver
def converse(max_turns: int = 5) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        store_as(Calendar).events = list(state.metadata["events"])
        user = ChatMessageSystem(content=USER.format(**state.metadata))
        state.messages = []
        for _ in range(max_turns):
            said = await get_model(role="user").generate([user, *heard_by_user(state.messages)])
            if "DONE" in said.completion:
                break
            state.messages.append(ChatMessageUser(content=said.completion))
            state = await generate(state)
        return state

    return solve


@scorer(metrics=[accuracy(), ci_wilson()])
def right_state() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=sorted(store_as(Calendar).events) == state.metadata["expected"])

    return score


@task
def appointments(path: str = "simulated_user_rows.jsonl") -> Task:
    return Task(
        json_dataset(path, read_row),
        solver=[use_tools(add_event()), converse()],
        scorer=right_state(),
    )
