"""The breaker: when a model is asked no more, be it one that plays, judges or rewrites."""

from __future__ import annotations

from collections import Counter

from toolmark.failure import FINAL, REJECTED, Failure

BREAKER = 20  # failures in a row, with no success between, after which the rest is not run
REFUSALS = 5  # other refusals, with no success ever, after which the run stops
ALIKE = 3  # refusals that say alike what is refused: enough for that


class Door:
    """Whether a model may still be asked; failures in a row, or refusals, shut it for good.

    It decides by kind, status and subject of the failures, never by their text. `shut` says why,
    "" while it is open; `rejected` is the refusal that shut it. `passed` says
    whether the model has answered before. `at_once` requests are in flight together: refusals come
    sooner than answers, so that fewer of them do not tell that nothing will succeed.
    """

    def __init__(self, *, passed: bool = False, at_once: int = 1) -> None:
        self.shut = ""
        self.at_once = at_once
        self.rejected: Failure | None = None
        self._failures = 0
        self._refusals: Counter[Failure] = Counter()
        self._passed = passed

    def passed(self) -> None:
        """Count a success."""
        self._passed = True
        self._failures = 0

    def failed(self, failure: Failure) -> None:
        """Count a failure: no answer, or one that cannot be used."""
        self._failures += 1
        if self.shut:
            return
        if failure.kind in REJECTED:
            self._refusals[failure.cause] += 1
            if failure.kind in FINAL or (self._refused_enough(failure) and not self._passed):
                self.rejected = failure
                self.shut = f"the endpoint refuses the requests: {failure.line}"
                return
        if self._failures >= BREAKER:
            self.shut = f"{BREAKER} failures in a row, the last one: {failure.line}"

    def _refused_enough(self, failure: Failure) -> bool:
        """Tell whether nothing will succeed; fewer tell it where they say what is refused."""
        if self._refusals.total() >= max(REFUSALS, self.at_once):
            return True
        alike = self._refusals[failure.cause]
        return failure.kind != "rejected.other" and alike >= max(ALIKE, self.at_once)
