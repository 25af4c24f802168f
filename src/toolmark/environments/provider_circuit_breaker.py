"""Waits for a search provider that does not answer, and the shared decision to give it up.

All current waits of a run are in one mapping, which the runner creates with `watch_waits`.
Environments are wrapped in many ways, so a progress display need not search them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar

from toolmark.core.errors import ToolEnvironmentError

MAX_WAITS_UNANSWERED = 3
"""Waits of one question after which a provider that has never answered counts as down."""
MAX_FAILED_QUESTIONS = 3
"""Consecutive questions failed after all retries, after which any provider counts as down."""

_WAITS: ContextVar[dict[object, str]] = ContextVar("waits")


def watch_waits() -> Mapping[object, str]:
    """Return a live mapping of the reasons for current waits, by wait.

    It covers the environments that this asyncio task, or a task it starts, opens afterwards.
    """
    waits: dict[object, str] = {}
    _WAITS.set(waits)
    return waits


class ProviderCircuitBreaker:
    """State that all questions to a search provider share: does it answer, is it given up?"""

    def __init__(self, name: str) -> None:
        self.name = name
        self._has_answered = False
        self._n_failed = 0
        self._reason = ""
        self._tripped = asyncio.Event()

    def record_response(self) -> None:
        """Record that the provider sent any response."""
        self._has_answered = True

    def record_success(self) -> None:
        """Record that a question was answered."""
        self._n_failed = 0

    def raise_if_tripped(self) -> None:
        """Raise ToolEnvironmentError if the provider was given up."""
        if self._reason:
            raise ToolEnvironmentError(
                f"the search provider {self.name} is given up: {self._reason}"
            )

    async def wait_before_retry(self, n_waits: int, wait_s: float, reason: str) -> None:
        """Wait `wait_s` seconds before a question is asked again.

        `n_waits` is the number of earlier waits of this question. Raises ToolEnvironmentError as
        soon as the provider is given up.
        """
        if n_waits >= MAX_WAITS_UNANSWERED and not self._has_answered:
            self._open_circuit(f"it never answered; {reason}")
        self.raise_if_tripped()
        waits, token = _WAITS.get({}), object()
        waits[token] = f"{self.name}, {reason}"
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._tripped.wait(), wait_s)
        finally:
            del waits[token]
        self.raise_if_tripped()

    def record_failure(self, reason: str) -> ToolEnvironmentError:
        """Return the error to raise for a question that failed after all retries."""
        self._n_failed += 1
        if self._n_failed >= MAX_FAILED_QUESTIONS:
            self._open_circuit(f"{MAX_FAILED_QUESTIONS} searches in a row in vain; {reason}")
        return ToolEnvironmentError(f"the search provider {self.name}: {reason}")

    def _open_circuit(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._tripped.set()
