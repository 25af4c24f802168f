"""The simulated user: it receives a reply without calls, and may answer a question of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolmark.core.records import Message, Ruling, Step, Task


class SimulatedUser(Protocol):
    """The `user` of an Environment; raises EndpointError if a model that it asks does not answer.

    It limits its own answers in one turn: the tool loop does not count them.
    """

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        """Judge the text of the last step.

        With a message the turn continues, without one it ends.
        """
        ...


def count_user_answers(steps: Sequence[Step], turn: int) -> int:
    """Return how often the user has answered in this turn."""
    return sum(
        step.turn == turn and step.ruling is not None and step.ruling.allowed for step in steps
    )
