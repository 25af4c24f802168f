"""A suite whose model talks to a simulated user: a calendar, and models that speak as planned."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import toolmark as tm
from toolmark.agents.simulated_user import UserDescription
from toolmark.core.function_tools import tool
from toolmark.core.model import Model
from toolmark.core.records import Call, Message, Reply, Request, Task, Text, Turn, Usage
from toolmark.scoring.episode import Episode

ADDED = "added to the calendar, secret result"
DONE, NOT_POSSIBLE = "[GOAL DONE]", "[GOAL NOT POSSIBLE]"
USER = tm.simulated_user(
    "Have {title} put on {day}.",
    persona="You are in a hurry.",
    knows="It begins at {hour}.",
    does_not_know="the {room}",
    max_turns=4,
)


class Calendar(tm.Environment):
    """A calendar of one week."""

    def __init__(self, task: Task) -> None:
        self.events = list(task.data["events"])

    @tool
    def add_event(self, day: str, hour: int, title: str) -> str:
        """Add an event.

        Args:
            day: Weekday, in English.
            hour: Full hour, 0 to 23.
            title: What it is.
        """
        self.events.append([day, hour, title])
        return ADDED

    def final_state(self) -> object:
        return sorted(self.events)


def has_expected_events(episode: Episode) -> bool:
    return bool(episode.state == episode.data["expected"])


def make_task(number: int, question: str = "Please add an event.", **fields: Any) -> Task:
    """Return a task; without a question its user opens the conversation."""
    said = Message(role="user", parts=(Text(question),))
    system = Message(role="system", parts=(Text("system prompt, secret"),))
    data = {
        "title": f"event {number}", "day": "Monday", "hour": 9, "room": "cellar", "events": [],
        "expected": [["Monday", 9, f"event {number}"]],
    }  # fmt: skip
    messages = (system, said) if question else (system,)
    return Task(
        id=f"event-{number}",
        item=f"event-{number}",
        suite="calendar",
        turns=(Turn(messages=messages),),
        data=data | fields,
    )


def make_suite(
    tasks: Sequence[Task] = (), user: UserDescription | None = USER, **parts: Any
) -> tm.Suite:
    """Return the suite, of two tasks where none are given."""
    return tm.Suite(
        name="calendar",
        tasks=list(tasks) or [make_task(1), make_task(2)],
        environment=Calendar,
        scorer=has_expected_events,
        user=user,
        **parts,
    )


class Clerk(Model):
    """Asks for the hour, adds the event when it has read one, and says that it is done."""

    name = "clerk"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        usage = Usage(input=10, output=1)
        if request.messages[-1].role == "tool":
            return Reply(text="It is in your calendar.", usage=usage)
        said = [message.text for message in request.messages if message.role == "user"]
        if "9" not in said[-1]:
            return Reply(text="<think>secret thought</think>At which hour?", usage=usage)
        title = next(word for word in ("event 1", "event 2") if any(word in s for s in said))
        arguments = json.dumps({"day": "Monday", "hour": 9, "title": title})
        return Reply(
            text="A moment, secret",
            calls=(Call(name="add_event", arguments=arguments, id="c"),),
            usage=usage,
        )


class Speaker(Model):
    """Speaks for a user: says texts in their order, of each episode by itself."""

    name = "speaker"

    def __init__(self, say: Callable[[Request, int], str | Reply | Exception]) -> None:
        self.say = say
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        n_said = sum(message.role == "assistant" for message in request.messages)
        said = self.say(request, n_said)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        return Reply(text=said, usage=Usage(input=100, output=7))


def says(*texts: str | Reply) -> Speaker:
    """Return a speaker whose first answer, after the task's question, is the first text."""
    return Speaker(lambda request, n_said: texts[min(n_said - 1, len(texts) - 1)])


def answers_well() -> Speaker:
    """Return a speaker that says the hour and the title that its goal names, then ends."""

    def say(request: Request, n_said: int) -> str:
        goal = request.messages[0].text
        title = "event 1" if "event 1" in goal else "event 2"
        return f"{title}, at 9" if n_said == 1 else f"Thank you.\n{DONE}"

    return Speaker(say)
