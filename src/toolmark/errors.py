"""Everything that can go wrong, by what the caller can do about it.

    ToolmarkError
      UsageError          the command or call is wrong: mend it (exit 2)
      DataError           a file is wrong: says file and line
      WorldError          a tool's transport was lost: the episode is not run
        PreparationError  what the task needs could not be made
        SandboxError      what a sandbox is needed for cannot be, or has been, contained
      EndpointError       no answer came: the episode is not run
        UserError         the simulated user gave nothing that can be used
        RateLimited       429; `wait_s` is what the server asked for
        Timeout           nothing, or not all, came in time
        Unavailable       refused, reset, 408, 5xx, dead proxy, bad TLS
        Torn              the body ended early, or is not JSON
        Rejected          401, 403, 404, 400: the run stops, the next step is in the text

Each knows the kind of Failure that it makes (`failure_of`), and the HTTP status where there is
one. A model's fault is none of these: it is a stop reason in the Reply.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import TracebackType

from toolmark.failure import FINAL, Failure, Kind, Stage, Subject

_OURS = Path(__file__).parent
_LIBRARY = sysconfig.get_path("stdlib")
_BY_STATUS: dict[int, Kind] = {
    401: "rejected.auth",
    402: "rejected.billing",
    403: "rejected.auth",
    404: "rejected.not_found",
    405: "rejected.not_found",
}


class ToolmarkError(Exception):
    """Base of all errors that toolmark raises on purpose.

    `kind`, `status` and `subject` are those of the Failure that it makes.
    """

    kind: Kind = "bug"
    status: int = 0
    subject: Subject = ""


class UsageError(ToolmarkError):
    """The request itself is wrong; the text says what would be right."""


class DataError(ToolmarkError):
    """A file is not what it should be; the text says file and line."""


class WorldError(ToolmarkError):
    """The transport to a tool was lost, after one restart."""

    kind: Kind = "environment"


class PreparationError(WorldError):
    """What the task needs, such as its sound or picture, could not be made."""

    kind: Kind = "preparation"


class SandboxError(WorldError):
    """A sandbox is needed and cannot be had, or something left it."""

    kind: Kind = "sandbox"


class EndpointError(ToolmarkError):
    """The endpoint gave no answer."""

    kind: Kind = "unavailable"


class UserError(EndpointError):
    """The simulated user answered, and what it said cannot be used."""

    kind: Kind = "user"


class RateLimited(EndpointError):
    """Too many requests; `wait_s` is the server's own wish, None if it said nothing."""

    kind: Kind = "rate_limited"

    def __init__(self, text: str, wait_s: float | None = None, status: int = 429) -> None:
        super().__init__(text)
        self.wait_s = wait_s
        self.status = status


class Timeout(EndpointError):
    """The answer did not come in time."""

    kind: Kind = "timeout"


class Unavailable(EndpointError):
    """The endpoint could not be reached or failed; `wait_s` as in RateLimited.

    `status` is 0 where no HTTP answer came.
    """

    def __init__(self, text: str, wait_s: float | None = None, status: int = 0) -> None:
        super().__init__(text)
        self.wait_s = wait_s
        self.status = status


class Torn(EndpointError):
    """The answer's body is incomplete or is not JSON."""

    kind: Kind = "torn"


class Rejected(EndpointError):
    """The endpoint refuses this kind of request; asking again will not help.

    `status` is the HTTP status, from which the kind follows where none is given. A `final` one
    stops a run at any time, others only if nothing succeeds: one item that a server cannot take
    must not end a run of thousands.
    """

    def __init__(
        self, text: str, status: int = 0, *, kind: Kind | None = None, subject: Subject = ""
    ) -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind or _BY_STATUS.get(status, "rejected.other")
        self.subject = subject
        self.run_dir = ""  # of the run that it ended

    @property
    def final(self) -> bool:
        """Whether nothing can succeed at this endpoint: no key, no money, no model."""
        return self.kind in FINAL


class ReplyError(TypeError):
    """The user's model returned what is no reply, or none that can be stored: its code's fault."""


# --- errors as data ---------------------------------------------------------------------


def failure_of(error: BaseException, stage: Stage) -> Failure:
    """Return what an exception comes to as data. A stage that it was marked with is its own."""
    where: Stage = getattr(error, _MARK, stage)
    if isinstance(error, ToolmarkError):
        return Failure(
            stage=where, kind=error.kind, status=error.status, subject=error.subject,
            message=str(error),
        )  # fmt: skip
    trace = "".join(traceback.format_exception(error))
    return Failure(stage=where, kind=_unexpected(error, where), message=f"{traced(error)}\n{trace}")


def _unexpected(error: BaseException, stage: Stage) -> Kind:
    """Return the kind of an exception that nobody raised on purpose: by whose code raised it."""
    if stage == "scorer" or stage == "user" or stage == "judge" or stage == "preparation":
        return stage
    if isinstance(error, ReplyError):  # found by us, in what the user's code returned
        return "agent"
    if not any(map(_users, extract_tb(_origin(error).__traceback__))):
        return "bug"
    if stage == "model" or stage == "agent":
        return "agent"
    return "environment" if stage == "environment" else "bug"


_MARK = "toolmark_stage"


def mark(error: Exception, stage: Stage) -> None:
    """Mark what was raised with its stage, unless it has one."""
    if not hasattr(error, _MARK):
        setattr(error, _MARK, stage)


class During:
    """A context that marks what is raised in it with its stage; the innermost one counts."""

    __slots__ = ("stage",)

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def __enter__(self) -> None:
        """Do nothing: the context is shared."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Mark the error."""
        if error is not None and isinstance(error, Exception):
            mark(error, self.stage)


def near(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean: a, b" or "; known: a, b, ..." for an unknown word."""
    names = sorted(known)
    close = get_close_matches(word, names, n=3, cutoff=0.5)
    if close:
        return f"; did you mean: {', '.join(close)}"
    return f"; known: {', '.join(names)}"


def alike(reasons: Mapping[str, str]) -> str:
    """Return reasons by name as one line; names that share a reason stand behind it, counted."""
    named: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        named.setdefault(reason.removeprefix(f"{name}: "), []).append(name)
    return "; ".join(
        f"{names[0]}: {reason}"
        if len(names) == 1
        else f"{reason} ({len(names)}: {', '.join(names)})"
        for reason, names in named.items()
    )


def traced(error: BaseException) -> str:
    """Say in one line what went wrong and where: in the user's own file where there is one.

    Else it is the last place, be it ours or a library's.
    """
    frames = extract_tb(_origin(error).__traceback__)
    own = [frame for frame in frames if _users(frame)]
    told = f"{type(error).__name__}: {error}"
    if not frames or isinstance(error, SyntaxError):  # which says itself where
        return told
    last = (own or frames)[-1]
    return f"{told} ({_place(last.filename)}, line {last.lineno})"


def _origin(error: BaseException) -> BaseException:
    """Return the StopIteration that Python turned into another error elsewhere, or the error."""
    ended = isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration)
    return error.__cause__ or error if ended else error


def _users(frame: FrameSummary) -> bool:
    path = Path(frame.filename)
    library = path.is_relative_to(_LIBRARY) or {"site-packages", "dist-packages"} & {*path.parts}
    return not (library or path.is_relative_to(_OURS) or frame.filename.startswith("<frozen"))


def _place(filename: str) -> str:
    """Return a file's name; of one of ours its place: the user may have one of that name."""
    path = Path(filename)
    return str(path.relative_to(_OURS.parent)) if path.is_relative_to(_OURS) else path.name
