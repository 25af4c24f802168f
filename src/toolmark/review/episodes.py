"""The completed episodes of a run in the order of its tasks, each read when it is shown."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from toolmark import codec
from toolmark.errors import DataError, UsageError, near
from toolmark.runs.store import Run
from toolmark.types import Image, Message, Task, Text, Tool, Trajectory


class Episodes:
    """Scored episodes by (task, repeat); only their places are held in memory."""

    def __init__(self, run: Run, ids: Sequence[str] = ()) -> None:
        """Find them; `ids` are task or item ids. Raises UsageError for an unknown id, or none."""
        self.run = run
        self._path = run.episodes.path("trajectories")
        run.verify()
        if not os.path.lexists(self._path):
            raise UsageError(f"{run.path}: no completed episode yet; run it first")
        ranks = _ranks(run, ids)
        found = run.episodes.places("trajectories")
        self._places = {key: place for key, place in found.items() if key[0] in ranks}
        self.keys = sorted(self._places, key=lambda key: (ranks[key[0]], key[1]))
        if not self.keys:
            raise UsageError(f"{run.path}: no completed episode of these tasks")

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such an episode."""
        return key in self._places

    def trajectory(self, key: tuple[str, int]) -> Trajectory:
        """Return one episode. Raises DataError if the file changed."""
        try:
            found = self.run.episodes.record_at("trajectories", self._places[key], Trajectory)
        except DataError as error:
            raise DataError(f"{self._path}: changed while it was read: {error}") from None
        if (found.task, found.repeat) != key:
            raise DataError(f"{self._path}: changed while it was read; start again")
        return found


def _ranks(run: Run, ids: Sequence[str]) -> dict[str, int]:
    """Return the place in the run of every scored task that is asked for."""
    missing = set(ids)
    known: set[str] = set()
    ranks: dict[str, int] = {}
    for rank, task in enumerate(run.tasks()):
        if task.kind != "scored":
            continue
        known |= {task.id, task.item or task.id}
        missing -= {task.id, task.item}
        if not ids or task.id in ids or task.item in ids:
            ranks[task.id] = rank
    if missing:
        name = sorted(missing)[0]
        raise UsageError(f"{run.path}: no task {name!r}{near(name, known)[:400]}")
    return ranks


def messages(task: Task) -> Iterator[Message]:
    """Go through what a task says, turn after turn."""
    return (message for turn in task.turns for message in turn.messages)


def offered(task: Task, trajectory: Trajectory) -> Collection[str]:
    """Return the names of the tools that were on offer."""
    tools: list[Tool] = [*trajectory.tools]
    if not tools:
        tools = [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]
    return {tool.name for tool in tools}


def question(task: Task) -> str:
    """Return what the user asks, as text."""
    said = (message for message in messages(task) if message.role == "user")
    return codec.restore("\n\n".join(message.text for message in said))


def pictures(task: Task) -> list[Image]:
    """Return the pictures that a task shows."""
    return [part for message in messages(task) for part in message.parts if isinstance(part, Image)]


def steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the calls that were executed, as published steps; what is no JSON stays text."""
    found: list[dict[str, Any]] = []
    for step in trajectory.steps:
        calls = step.calls[: len(step.results)]
        if calls:
            made = [
                {"name": codec.restore(call.name), "arguments": value(call.arguments)}
                for call in calls
            ]
            found.append({"step": len(found) + 1, "calls": made})
    return found


def value(arguments: str) -> Any:
    """Return what a call's arguments say; text that is not JSON as it is."""
    try:
        return codec.loads(codec.restore(arguments))
    except codec.BadJson:
        return codec.restore(arguments)


def reference(task: Task) -> tuple[list[dict[str, Any]], str]:
    """Return the reference steps and answer that a task carries, empty where it has none."""
    held = task.reference if isinstance(task.reference, dict) else {}
    stages = held.get("steps")
    answer = held.get("answer")
    sound = [
        {"step": i, "calls": [call for call in stage["calls"] if isinstance(call, dict)]}
        for i, stage in enumerate(stages if isinstance(stages, list | tuple) else (), 1)
        if isinstance(stage, dict) and isinstance(stage.get("calls"), list | tuple)
    ]
    return sound, answer if isinstance(answer, str) else ""


def spoken(message: Message) -> str:
    """Return a message's text, what is no text named."""
    return "".join(
        part.text if isinstance(part, Text) else f"[{part.mime}]" for part in message.parts
    )
