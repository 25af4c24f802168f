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
    whether the model has answered before. `at_once` requests are in flight together: refusals come
    sooner than answers, so that fewer of them do not tell that nothing will succeed.
    """

    def __init__(self, *, passed: bool = False, at_once: int = 1) -> None:
        self.shut = ""
        self.at_once = at_once
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
            alike, every = self._refusals[reason], self._refusals.total()
            enough = alike >= max(ALIKE, self.at_once) or every >= max(REFUSALS, self.at_once)
            if error.final or (enough and not self._passed):
                self.rejected = error
                self.shut = f"the endpoint refuses the requests: {reason}"
                return
        if self._failures >= BREAKER:
            self.shut = f"{BREAKER} failures in a row, the last one: {reason}"
