"""Why an episode was not run, as data.

A Failure is made once, where something failed (`errors.failure_of`), and travels unchanged to
attempts, scores, the summary, the report, the advice and the exit code. Only its message is text,
and no code reads that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.record import Record

Stage: TypeAlias = Literal[
    "import", "preparation", "environment", "model", "user", "judge", "agent", "scorer", "store",
    "run",
]  # fmt: skip
"""Where it failed: whose turn it was. `run` is what concerns the run as a whole."""

Kind: TypeAlias = Literal[
    "rate_limited", "timeout", "time_limit", "unavailable", "torn", "rejected.auth",
    "rejected.billing", "rejected.not_found", "rejected.unsupported", "rejected.other",
    "environment", "sandbox", "preparation", "needs", "user", "judge", "agent", "scorer", "budget",
    "stopped", "not_reached", "bug",
]  # fmt: skip
"""What failed; `docs/failures.md` says what each means and what to do."""

Subject: TypeAlias = Literal["", "pictures", "sound", "tools", "setting", "length"]
"""What an endpoint refuses, where its complaint says so; "" elsewhere."""

FINAL: frozenset[Kind] = frozenset(("rejected.auth", "rejected.billing", "rejected.not_found"))
"""Refusals after which nothing can succeed at an endpoint: no key, no money, no model."""

REJECTED: frozenset[Kind] = FINAL | {"rejected.unsupported", "rejected.other"}
ENDPOINT: frozenset[Kind] = REJECTED | {"rate_limited", "timeout", "unavailable", "torn"}
"""Kinds that an endpoint causes."""


class Failure(Record, frozen=True, kw_only=True):
    """Why an episode was not run, or a judge gave no value.

    `status` is the HTTP status that the endpoint answered with, 0 where it gave none. `subject` is
    what it refuses. `message` is for people: its first line says it, a traceback may follow.
    """

    stage: Stage
    kind: Kind
    status: int = 0
    subject: Subject = ""
    message: str = ""

    @property
    def first(self) -> str:
        """The first line of the message, for people."""
        return self.message.partition("\n")[0]

    @property
    def line(self) -> str:
        """The kind with the first line of the message, for people."""
        return f"{self.kind}: {self.first}" if self.first else self.kind

    @property
    def text(self) -> str:
        """Stage, kind and the whole message, for people."""
        return f"{self.stage}: {self.kind}: {self.message}".rstrip(": ")

    @property
    def cause(self) -> Failure:
        """The failure without its message: those with one cause are counted together."""
        return replace(self, message="")


NEVER_FITS = Failure(
    stage="model",
    kind="rejected.other",
    subject="length",
    message="the first request of every single-turn task is too long for the model",
)
"""Why a run says nothing of the model: no request of it fits (`runs.scoring.never_fits`)."""
NOT_REACHED = Failure(stage="run", kind="not_reached", message="the run ended before it")
NO_VERDICT = Failure(stage="scorer", kind="not_reached", message="no verdict in this reading")


def grouped(failures: Iterable[Failure]) -> list[tuple[int, list[Failure]]]:
    """Group failures of one cause: how many, and the first of each message; the most first."""
    found: dict[Failure, dict[str, Failure]] = {}
    counts: dict[Failure, int] = {}
    for failure in failures:
        cause = failure.cause
        counts[cause] = counts.get(cause, 0) + 1
        messages = found.setdefault(cause, {})
        if len(messages) < _MESSAGES:
            messages.setdefault(failure.message, failure)
    ranked = sorted(found, key=lambda cause: -counts[cause])
    return [(counts[cause], list(found[cause].values())) for cause in ranked]


_MESSAGES = 20  # of one cause, that are kept for people
