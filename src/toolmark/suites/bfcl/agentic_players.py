"""Test models for memory and web search: one that knows the answers and takes notes."""

from __future__ import annotations

import json

from toolmark.score import answer
from toolmark.types import Call, Model, Reply, Request, Task
from toolmark.worlds.memory import ARCHIVAL_CHARS

NOTED = "Noted."
_NOTE_CHARS = 300


def oracle(task: Task) -> Model:
    """Return the model that answers from the truth; in a set-up session, one that takes notes."""
    return Notes(task) if task.kind == "setup" else Answer(told(task.reference["truth"]))


def told(truth: list[str]) -> str:
    """Return an answer in the form asked for: the first alternative that both readings find."""
    replies = [
        str({"answer": each, "context": "The answer is known beforehand."}) for each in truth
    ]
    return next((text for text in replies if answer.official(text, truth)), replies[0])


class Answer:
    """Says one text, whatever is asked."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(self, request: Request, /) -> Reply:
        """Say it."""
        return Reply(text=self.text)


class Notes:
    """Stores what the user said, once per turn, then acknowledges."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.n_asked = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Store on the first request of a turn, acknowledge on the second."""
        turn, noted = divmod(self.n_asked, 2)
        self.n_asked += 1
        if noted or turn >= len(self.task.turns):
            return Reply(text=NOTED)
        return Reply(calls=(self._note(turn),))

    def _note(self, turn: int) -> Call:
        text = self.task.turns[turn].messages[-1].text
        match self.task.category:
            case "memory_rec_sum":
                name, given = "memory_append", {"text": text[:_NOTE_CHARS]}
            case "memory_vector":
                name, given = "archival_memory_add", {"text": text[:ARCHIVAL_CHARS]}
            case _:
                key = f"session_{self.task.id.rpartition('-')[2]}_turn_{turn}"
                name, given = "archival_memory_add", {"key": key, "value": text[:ARCHIVAL_CHARS]}
        return Call(name=name, arguments=json.dumps(given, ensure_ascii=False), id=f"note_{turn}")
