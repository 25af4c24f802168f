"""What test models of several suites are made of: prepared steps, and how often they err."""

from __future__ import annotations

from toolmark.errors import UsageError
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


def rate_of(text: str) -> float:
    """Read the share of tasks in which a test model errs. Raises UsageError beyond 0 to 1."""
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0.0 <= rate <= 1.0:
        raise UsageError(f"rate must lie between 0 and 1, not {text!r}")
    return rate
