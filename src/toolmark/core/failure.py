"""Why an episode was not run, as data.

A Failure is made once, where the error occurs (`errors.failure_of`). It is passed unchanged to
attempts, scores, the summary, the report, the advice and the exit code. Only its message is free
text, and no code reads the message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.core.struct_base import Record

Stage: TypeAlias = Literal[
    "import", "preparation", "environment", "model", "user", "judge", "agent", "scorer", "store",
    "run",
]  # fmt: skip
"""The stage that failed; `run` is for failures of the run as a whole."""

Kind: TypeAlias = Literal[
    "rate_limited", "timeout", "time_limit", "unavailable", "torn", "rejected.auth",
    "rejected.billing", "rejected.not_found", "rejected.unsupported", "rejected.other",
    "not_recorded", "environment", "sandbox", "preparation", "needs", "user", "judge", "agent",
    "scorer", "budget", "stopped", "not_reached", "bug",
]  # fmt: skip
"""What failed; `docs/reference/failures.md` explains each kind and what to do."""

Subject: TypeAlias = Literal["", "pictures", "sound", "tools", "setting", "length", "quota"]
"""What an endpoint refuses, where its complaint names it; "" elsewhere.

`quota` is a limit that no wait within a run brings back, of a day or a month.
"""

FINAL_KINDS: frozenset[Kind] = frozenset(
    ("rejected.auth", "rejected.billing", "rejected.not_found")
)
"""Refusals after which no request can succeed at an endpoint: no key, no money or no such model."""

REJECTED_KINDS: frozenset[Kind] = FINAL_KINDS | {"rejected.unsupported", "rejected.other"}
ENDPOINT_KINDS: frozenset[Kind] = REJECTED_KINDS | {
    "rate_limited",
    "timeout",
    "unavailable",
    "torn",
}
"""Kinds that an endpoint causes."""


class Failure(Record, frozen=True, kw_only=True):
    """Why an episode was not run, or why a judge gave no value.

    `status` is the HTTP status of the endpoint's answer, 0 if there was none. `subject` is what the
    endpoint refuses. `message` is for people: the first line is the summary, a traceback may
    follow. `request_id` is the endpoint's name of the request, with which what people read ends.
    """

    stage: Stage
    kind: Kind
    status: int = 0
    subject: Subject = ""
    message: str = ""
    request_id: str = ""

    @property
    def first_line(self) -> str:
        """The first line of the message, for people."""
        return add_request_id(self.message.partition("\n")[0], self.request_id)

    @property
    def summary(self) -> str:
        """The kind with the first line of the message, for people."""
        return f"{self.kind}: {self.first_line}" if self.first_line else self.kind

    @property
    def full_text(self) -> str:
        """Stage, kind and the complete message, for people."""
        text = add_request_id(self.message, self.request_id)
        return f"{self.stage}: {self.kind}: {text}".rstrip(": ")

    @property
    def cause(self) -> Failure:
        """The failure without what differs from request to request.

        Failures with an equal cause are counted together.
        """
        return replace(self, message="", request_id="")


def add_request_id(text: str, request_id: str) -> str:
    """Return a message with the endpoint's name of the request at its end."""
    return f"{text} (request id {request_id})" if request_id else text


NEVER_FITS = Failure(
    stage="model",
    kind="rejected.other",
    subject="length",
    message="the first request of every task is too long for the model",
)
"""The failure of a run in which no request fits the model (see `runs.run_scoring`)."""
NOT_REACHED = Failure(stage="run", kind="not_reached", message="the run ended before it")
NO_VERDICT = Failure(stage="scorer", kind="not_reached", message="no verdict in this rule")


def group_failures(failures: Iterable[Failure]) -> list[tuple[int, list[Failure]]]:
    """Group failures by cause, the most frequent first: (count, one failure for each message)."""
    found: dict[Failure, dict[str, Failure]] = {}
    counts: dict[Failure, int] = {}
    for failure in failures:
        cause = failure.cause
        counts[cause] = counts.get(cause, 0) + 1
        messages = found.setdefault(cause, {})
        if len(messages) < _MAX_MESSAGES:
            messages.setdefault(failure.message, failure)
    ranked = sorted(found, key=lambda cause: -counts[cause])
    return [(counts[cause], list(found[cause].values())) for cause in ranked]


_MAX_MESSAGES = 20  # for one cause
