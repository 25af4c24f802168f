"""The completed episodes of a run in the order of its tasks, each read when it is shown."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import Image, Message, Record, Task, Text, Tool, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.runs.run_store import Run
from toolmark.suites.m3.m3_task_data import PlainStep


class ReviewEpisodes:
    """Scored episodes by (task, repeat); memory stores only their file positions."""

    def __init__(self, run: Run, ids: Sequence[str] = ()) -> None:
        """Find the episodes, of task or item `ids` if given.

        Raises UsageError for an unknown id, or if there is no episode.
        """
        self.run = run
        self._path = run.episodes.path("trajectories")
        run.verify_tasks()
        if not os.path.lexists(self._path):
            raise UsageError(f"{run.path}: no completed episode yet; run it first")
        ranks = _task_ranks(run, ids)
        found = run.episodes.locations("trajectories")
        self._locations = {key: place for key, place in found.items() if key[0] in ranks}
        self.keys = sorted(self._locations, key=lambda key: (ranks[key[0]], key[1]))
        if not self.keys:
            raise UsageError(f"{run.path}: no completed episode of these tasks")

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        """Return whether there is such an episode."""
        return key in self._locations

    def trajectory(self, key: tuple[str, int]) -> Trajectory:
        """Return one episode. Raises DataError if the file has changed."""
        try:
            found = self.run.episodes.record_at("trajectories", self._locations[key], Trajectory)
        except DataError as error:
            raise DataError(f"{self._path}: changed while it was read: {error}") from None
        if (found.task, found.repeat) != key:
            raise DataError(f"{self._path}: changed while it was read; start again")
        return found


def _task_ranks(run: Run, ids: Sequence[str]) -> dict[str, int]:
    """Return the position in the run of every requested scored task."""
    missing = set(ids)
    known: dict[str, None] = {}
    ranks: dict[str, int] = {}
    for rank, task in enumerate(run.tasks()):
        if task.kind != "scored":
            continue
        known |= {task.id: None, task.item or task.id: None}
        missing -= {task.id, task.item}
        if not ids or task.id in ids or task.item in ids:
            ranks[task.id] = rank
    if missing:
        name = sorted(missing)[0]
        nearest = suggest_names(name, known, listing=f"toolmark show {run.path}")
        raise UsageError(f"{run.path}: no task {name!r}{nearest}")
    return ranks


def task_messages(task: Task) -> Iterator[Message]:
    """Yield the messages of a task, turn after turn."""
    return (message for turn in task.turns for message in turn.messages)


def offered_tool_names(task: Task, trajectory: Trajectory) -> Collection[str]:
    """Return the names of the tools that were offered."""
    tools: list[Tool] = [*trajectory.tools]
    if not tools:
        tools = [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]
    return {tool.name for tool in tools}


def question_text(task: Task) -> str:
    """Return what the user asks, as text."""
    user_messages = (message for message in task_messages(task) if message.role == "user")
    return json_codec.restore_surrogates("\n\n".join(message.text for message in user_messages))


def task_pictures(task: Task) -> list[Image]:
    """Return the pictures that a task shows."""
    return [
        part for message in task_messages(task) for part in message.parts if isinstance(part, Image)
    ]


def executed_steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the executed calls as published steps; arguments that are not JSON stay text."""
    found: list[dict[str, Any]] = []
    for step in trajectory.steps:
        calls = step.calls[: len(step.results)]
        if calls:
            calls_made = [
                {
                    "name": json_codec.restore_surrogates(call.name),
                    "arguments": arguments_value(call.arguments),
                }
                for call in calls
            ]
            found.append({"step": len(found) + 1, "calls": calls_made})
    return found


def arguments_value(arguments: str) -> Any:
    """Return the parsed arguments of a call; text that is not JSON is returned unchanged."""
    try:
        return json_codec.parse_json(json_codec.restore_surrogates(arguments))
    except json_codec.InvalidJson:
        return json_codec.restore_surrogates(arguments)


class ReviewData(Record, frozen=True, kw_only=True):
    """The part of a task's data that reviewers see: the reference, and the pictures' names."""

    steps: list[PlainStep] = []
    answer: str = ""
    images: tuple[str, ...] = ()


def read_review_data(task: Task) -> ReviewData:
    """Return what reviewers see of a task's data; nothing of a task that stores something else."""
    try:
        return read_task_data(task, ReviewData)
    except DataError:
        return ReviewData()


def reference_steps(task: Task) -> tuple[list[dict[str, Any]], str]:
    """Return the reference steps and answer of a task, empty where it has none."""
    data = read_review_data(task)
    return [{"step": i, **step} for i, step in enumerate(data.steps, 1)], data.answer


def message_text(message: Message) -> str:
    """Return a message's text; other parts are replaced by their type in brackets."""
    return "".join(
        part.text if isinstance(part, Text) else f"[{part.mime}]" for part in message.parts
    )
