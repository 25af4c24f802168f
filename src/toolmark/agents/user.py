"""Who hears a reply without calls: a simulated user, which may answer a question of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolmark.types import Message, Ruling, Step, Task


class User(Protocol):
    """The `user` of a World. Raises EndpointError where a model that it asks does not answer.

    It says itself how often it answers in one turn: the loop does not count its answers.
    """

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        """Rule on the text of the last of the steps; with a message the turn goes on, else ends."""
        ...


def answered(steps: Sequence[Step], turn: int) -> int:
    """Return how often the user has answered in this turn."""
    return sum(
        step.turn == turn and step.ruling is not None and step.ruling.allowed for step in steps
    )
