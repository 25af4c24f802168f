"""A user without a model: it says the texts of a row, or one sentence of our own."""

from __future__ import annotations

from toolmark.agents.simulated_user import UserDescription
from toolmark.agents.user_wording import user_wording
from toolmark.core.errors import DataError
from toolmark.core.model import Control, Model
from toolmark.core.records import Reply, Request, Task
from toolmark.core.struct_base import Record
from toolmark.core.task_data import read_task_data

SCRIPTED = "scripted"
"""What a run calls this user in the place of a model's name."""


class _ScriptData(Record, frozen=True, kw_only=True):
    """The field of a task that a scripted user reads."""

    user_script: tuple[str, ...] | None = None


class ScriptedUser(Control):
    """Speaks for the simulated user of each episode, without a model.

    The field `user_script` of a task has what it says, one text after the other; after the last one
    its goal is done. Without the field it opens a conversation with its goal, and then says the
    same neutral sentence until it may say no more.
    """

    name = SCRIPTED

    def __init__(self, description: UserDescription) -> None:
        self._description = description

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return what speaks in one episode."""
        script = read_script(task)
        if script is None:
            return _RepeatingSpeaker(self._description.write_profile(task).goal)
        return _ScriptSpeaker(script)


def read_script(task: Task) -> tuple[str, ...] | None:
    """Return the texts of `user_script`, None where a task has none. Raises DataError."""
    found = read_task_data(task, _ScriptData).user_script
    if found is not None and not all(text.strip() for text in found):
        raise DataError(f"task {task.id}: a text of user_script is empty")
    return found


class _ScriptSpeaker(Model):
    name = SCRIPTED

    def __init__(self, script: tuple[str, ...]) -> None:
        self._left = [*reversed(script)]

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(text=self._left.pop() if self._left else user_wording().done_marker)


class _RepeatingSpeaker(Model):
    name = SCRIPTED

    def __init__(self, goal: str) -> None:
        self._goal = goal

    async def __call__(self, request: Request, /) -> Reply:
        opens = not any(message.role == "assistant" for message in request.messages)
        return Reply(text=self._goal if opens else user_wording().neutral_answer)
