"""A model that plays prepared steps."""

from __future__ import annotations

from toolmark.types import Call, Reply, Request


class Script:
    """Plays prepared steps, one per request, then answers. The request's history is the clock."""

    def __init__(self, name: str, steps: list[tuple[Call, ...]], answer: str) -> None:
        self.name = name
        self.steps = steps
        self.answer = answer

    async def __call__(self, request: Request, /) -> Reply:
        """Play the step that follows the replies so far."""
        at = sum(message.role == "assistant" for message in request.messages)
        if at < len(self.steps):
            return Reply(calls=self.steps[at])
        return Reply(text=self.answer)
