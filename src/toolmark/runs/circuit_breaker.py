"""The circuit breaker: when to stop asking a model, whether it plays, judges or rewrites."""

from __future__ import annotations

from collections import Counter

from toolmark.core.failure import FINAL_KINDS, REJECTED_KINDS, Failure

MAX_CONSECUTIVE_FAILURES = (
    20  # failures in a row, with no success between, after which the rest is not run
)
MAX_REFUSALS = 5  # other refusals, with no success ever, after which the run stops
# statuses of refusals after which no request of a simulated user can succeed: key, money, address
_FINAL_USER_STATUSES = frozenset((401, 402, 403, 404, 405))
MAX_SAME_REFUSALS = 3  # refusals with the same cause: enough where they say what is refused


class CircuitBreaker:
    """Decides whether a model may still be asked. Failures in a row, or refusals, trip it for good.

    It decides by kind, status and subject of the failures, never by their text. `trip_reason` says
    why it tripped, "" while requests are allowed. `rejection` is the refusal that tripped it;
    `is_cost_limit` says that the run may not cost more.
    `has_succeeded` says whether the model has answered before. `n_concurrent` requests are in
    flight together: refusals arrive sooner than answers, so fewer refusals than that do not prove
    that nothing will succeed.
    """

    def __init__(self, *, has_succeeded: bool = False, n_concurrent: int = 1) -> None:
        self.trip_reason = ""
        self.n_concurrent = n_concurrent
        self.rejection: Failure | None = None
        self.is_cost_limit = False
        self._n_consecutive_failures = 0
        self._refusals: Counter[Failure] = Counter()
        self._has_succeeded = has_succeeded

    def record_success(self) -> None:
        """Count a success."""
        self._has_succeeded = True
        self._n_consecutive_failures = 0

    def record_failure(self, failure: Failure) -> None:
        """Count a failure: no answer, or one that cannot be used."""
        self._n_consecutive_failures += 1
        if self.trip_reason:
            return
        if failure.kind == "budget":
            self.trip_reason = failure.first_line
            self.is_cost_limit = True
            return
        if failure.kind in REJECTED_KINDS:
            self._refusals[failure.cause] += 1
            if failure.kind in FINAL_KINDS or (
                self._is_hopeless(failure) and not self._has_succeeded
            ):
                self.rejection = failure
                self.trip_reason = f"the endpoint refuses the requests: {failure.summary}"
                return
        if failure.kind == "user" and (
            failure.status in _FINAL_USER_STATUSES or failure.subject == "quota"
        ):
            self.rejection = failure
            self.trip_reason = f"the endpoint of the simulated user refuses: {failure.summary}"
        elif self._n_consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
            self.trip_reason = (
                f"{MAX_CONSECUTIVE_FAILURES} failures in a row, the last one: {failure.summary}"
            )

    def _is_hopeless(self, failure: Failure) -> bool:
        """Return whether nothing will succeed.

        Fewer refusals are enough where they say what is refused.
        """
        if self._refusals.total() >= max(MAX_REFUSALS, self.n_concurrent):
            return True
        n_same = self._refusals[failure.cause]
        return failure.kind != "rejected.other" and n_same >= max(
            MAX_SAME_REFUSALS, self.n_concurrent
        )
