"""The breaker: when a model is asked no more, be it one that plays, judges or rewrites."""

from __future__ import annotations

from collections import Counter

from toolmark.errors import EndpointError, Rejected

BREAKER = 20  # failures in a row, with no success between, after which the rest is not run
REFUSALS = 5  # other refusals, with no success ever, after which the run stops
ALIKE = 3  # refusals in the same words that are enough for that


class Door:
    """Whether a model may still be asked; failures in a row, or refusals, shut it for good.

    `shut` says why, "" while it is open; `rejected` is the refusal that shut it. `passed` says
    whether the model has answered before.
    """

    def __init__(self, *, passed: bool = False) -> None:
        self.shut = ""
        self.rejected: Rejected | None = None
        self._failures = 0
        self._refusals: Counter[str] = Counter()
        self._passed = passed

    def passed(self) -> None:
        """Count a success."""
        self._passed = True
        self._failures = 0

    def failed(self, reason: str, error: EndpointError | None = None) -> None:
        """Count a failure: no answer, or with no `error` one that cannot be used."""
        self._failures += 1
        if self.shut:
            return
        if isinstance(error, Rejected):
            self._refusals[reason] += 1
            enough = self._refusals[reason] >= ALIKE or self._refusals.total() >= REFUSALS
            if error.final or (enough and not self._passed):
                self.rejected = error
                self.shut = f"the endpoint refuses the requests: {reason}"
                return
        if self._failures >= BREAKER:
            self.shut = f"{BREAKER} failures in a row, the last one: {reason}"
