"""Parts of test models of several suites: prepared steps, and how often they make errors."""

from __future__ import annotations

from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request


class ScriptedModel(Model):
    """Plays prepared steps, one per request, then answers.

    The request's history gives the position.
    """

    def __init__(self, name: str, steps: list[tuple[Call, ...]], answer: str) -> None:
        self.name = name
        self.steps = steps
        self.answer = answer

    async def __call__(self, request: Request, /) -> Reply:
        """Play the step that follows the replies so far."""
        n_replies = sum(message.role == "assistant" for message in request.messages)
        if n_replies < len(self.steps):
            return Reply(calls=self.steps[n_replies])
        return Reply(text=self.answer)


def parse_error_rate(text: str) -> float:
    """Return the share of tasks in which a test model makes an error.

    Raises UsageError beyond 0 to 1.
    """
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0.0 <= rate <= 1.0:
        raise UsageError(f"rate must lie between 0 and 1, not {text!r}")
    return rate
