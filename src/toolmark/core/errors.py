"""All errors that toolmark raises, by what the caller can do about them.

    ToolmarkError
      UsageError               the command or call is wrong: correct it (exit 2)
      DataError                a file is wrong: the text says file and line
      ToolError                a tool refuses a call: the model reads the text, and goes on
      ToolEnvironmentError     the connection to a tool failed: the episode is not run
        PreparationError       what the task needs could not be made
        SandboxError           a required sandbox is missing, or something left it
      EndpointError            no answer came: the episode is not run
        NotRecorded            only recorded replies are used, and this one is not recorded
        SimulatedUserError     the simulated user gave nothing that can be used
        RateLimited            429; `wait_s` is what the server asked for
        Timeout                nothing, or not all, came in time
        Unavailable            refused, reset, 408, 5xx, dead proxy, bad TLS
        TornReply              the body ended early, or is not JSON
        Rejected               401, 403, 404, 400: the run stops, the text says the next step

Each class has the kind of Failure that it becomes (`failure_of`), and the HTTP status where there
is one. A fault of the model is not an error: it is a stop reason in the Reply.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import TracebackType

from toolmark.core.failure import FINAL_KINDS, Failure, Kind, Stage, Subject, add_request_id
from toolmark.core.number_format import format_count

MAX_SUGGESTED_NAMES = 3
MAX_EXAMPLE_CHARS = 40  # of a name that is shown as an example
MAX_LISTED_NAMES = 8  # so many or fewer are all named where none is near
NEARLY_AS_CLOSE = 0.85  # a name that is less like the word than this share of the best is not near
MIN_LIKENESS = 0.65  # of a word and a name: one wrong letter of three, two of six
MAX_NAME_CHARS = 200  # of one name in a message; names of a server may be of any length
MIN_PART_CHARS = 3  # a word of so many characters may be a part of a name
_PACKAGE_FOLDER = Path(__file__).parents[1]
_STDLIB_FOLDER = sysconfig.get_path("stdlib")
_KIND_BY_STATUS: dict[int, Kind] = {
    401: "rejected.auth",
    402: "rejected.billing",
    403: "rejected.auth",
    404: "rejected.not_found",
    405: "rejected.not_found",
}


class ToolmarkError(Exception):
    """Base of all errors that toolmark raises on purpose.

    `kind`, `status`, `subject` and `request_id` are those of the Failure that it makes.
    """

    kind: Kind = "bug"
    status: int = 0
    subject: Subject = ""
    request_id: str = ""

    def __str__(self) -> str:
        return add_request_id(self.reason, self.request_id)

    @property
    def reason(self) -> str:
        """The text without the id of the request, which is another one each time."""
        return super().__str__()


class UsageError(ToolmarkError):
    """The request itself is wrong; the text says what would be right."""


class DataError(ToolmarkError):
    """A file is not what it should be; the text says file and line."""


class ToolError(ToolmarkError):
    """A tool refuses a call of the model; the text is the result that the model reads."""


class ToolEnvironmentError(ToolmarkError):
    """The connection to a tool failed, and one restart did not help."""

    kind: Kind = "environment"


class PreparationError(ToolEnvironmentError):
    """What the task needs, such as its sound or picture, could not be made."""

    kind: Kind = "preparation"


class SandboxError(ToolEnvironmentError):
    """A required sandbox cannot be started, or something left it."""

    kind: Kind = "sandbox"


class EndpointError(ToolmarkError):
    """The endpoint gave no answer; `may_retry`: what it says of asking again, None for nothing.

    `may_be_charged`: the request was sent and perhaps answered, so the provider may charge for it.
    """

    kind: Kind = "unavailable"
    may_retry: bool | None = None
    may_be_charged: bool = False


class NotRecorded(EndpointError):
    """Only recorded replies are used, and the reply to this request is not recorded."""

    kind: Kind = "not_recorded"


class CostLimitReached(EndpointError):
    """The request could cost more than is left of the run's limit, so it was not sent."""

    kind: Kind = "budget"


class SimulatedUserError(EndpointError):
    """The simulated user answered, but its answer cannot be used."""

    kind: Kind = "user"


class RateLimited(EndpointError):
    """Too many requests; `wait_s` is the wait that the server asks for, None if it names none."""

    kind: Kind = "rate_limited"

    def __init__(self, text: str, wait_s: float | None = None, status: int = 429) -> None:
        super().__init__(text)
        self.wait_s = wait_s
        self.status = status


class Timeout(EndpointError):
    """The answer did not come in time."""

    kind: Kind = "timeout"
    may_be_charged = True


class Unavailable(EndpointError):
    """The endpoint could not be reached or failed; `wait_s` as in RateLimited.

    `status` is 0 where no HTTP answer came.
    """

    def __init__(self, text: str, wait_s: float | None = None, status: int = 0) -> None:
        super().__init__(text)
        self.wait_s = wait_s
        self.status = status


class TornReply(EndpointError):
    """The answer's body is incomplete or is not JSON."""

    kind: Kind = "torn"
    may_be_charged = True


class Rejected(EndpointError):
    """The endpoint refuses this kind of request; asking again does not help.

    `status` is the HTTP status. It determines the kind where none is given. An error with
    `is_final` stops a run at any time. Others stop it only if no request succeeded: one item that a
    server refuses must not end a run of thousands.
    """

    def __init__(
        self, text: str, status: int = 0, *, kind: Kind | None = None, subject: Subject = ""
    ) -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind or _KIND_BY_STATUS.get(status, "rejected.other")
        self.subject = subject
        self.run_dir = ""  # folder of the run that this error ended

    @property
    def is_final(self) -> bool:
        """Whether no request can succeed at this endpoint: no key, no money or no such model."""
        return self.kind in FINAL_KINDS


class ReplyError(TypeError):
    """The user's model returned no reply, or one that cannot be stored.

    It is a fault of the user's code.
    """


# --- errors as data ---------------------------------------------------------------------


def failure_of(error: BaseException, stage: Stage) -> Failure:
    """Return an exception as a Failure; a stage that `mark_stage` has set replaces `stage`."""
    error_stage: Stage = getattr(error, _STAGE_ATTRIBUTE, stage)
    if isinstance(error, ToolmarkError):
        return Failure(
            stage=error_stage, kind=error.kind, status=error.status, subject=error.subject,
            message=error.reason, request_id=error.request_id,
        )  # fmt: skip
    trace = "".join(traceback.format_exception(error))
    return Failure(
        stage=error_stage,
        kind=_kind_of_unexpected(error, error_stage),
        message=f"{describe_error(error)}\n{trace}",
    )


def _kind_of_unexpected(error: BaseException, stage: Stage) -> Kind:
    """Return the kind of an unexpected exception, by the stage and by whose code raised it."""
    if stage == "scorer" or stage == "user" or stage == "judge" or stage == "preparation":
        return stage
    if isinstance(error, ReplyError):  # raised by toolmark about what the user's code returned
        return "agent"
    if not any(map(_is_user_frame, extract_tb(_root_error(error).__traceback__))):
        return "bug"
    if stage == "model" or stage == "agent":
        return "agent"
    return "environment" if stage == "environment" else "bug"


_STAGE_ATTRIBUTE = "toolmark_stage"


def mark_stage(error: BaseException, stage: Stage) -> None:
    """Mark an exception with its stage, unless it has one."""
    if getattr(error, _STAGE_ATTRIBUTE, None) is None:
        setattr(error, _STAGE_ATTRIBUTE, stage)


class StageContext:
    """A context that marks exceptions raised in it with its stage; the innermost context counts."""

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
        if error is not None:
            mark_stage(error, self.stage)


def suggest_names(word: str, known: Iterable[str], *, listing: str = "") -> str:
    """Return the names nearest to an unknown word: "; did you mean: a, b", three at most.

    Where none is near and few are known it is "; known: a, b, ...", else the number of names and
    three short ones. `listing` is the command that shows them all; it is named where not all are.
    """
    # the order of a list is the reader's; that of a set is not an order
    names = sorted(known) if isinstance(known, set | frozenset) else list(dict.fromkeys(known))
    if near := _near_names(word, names):
        text = f"; did you mean: {_join_names(near)}"
    elif len(names) <= MAX_LISTED_NAMES:
        return f"; known: {_join_names(names)}" if names else "; none is known"
    else:
        short = [name for name in names if len(name) <= MAX_EXAMPLE_CHARS] or names
        first = _join_names(short[:MAX_SUGGESTED_NAMES])
        text = f"; {format_count(len(names))} are known, such as: {first}"
    return f"{text}; next: {listing}" if listing else text


def suggest_near_names(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean: a", "" where no name is near: for lists that a message shows."""
    near = _near_names(word, list(dict.fromkeys(known)))
    return f"; did you mean: {_join_names(near)}" if near else ""


def _near_names(word: str, names: Sequence[str]) -> list[str]:
    """Return the names that the word may have been meant for, best first, ties in their order.

    The word itself in other case or with other separators is alone. Names that begin with the word
    come before names that contain it, and these before names that are spelt alike.
    """
    wanted = _comparable_text(word)
    if not wanted:
        return []
    same, extended, similar = [], [], []
    matcher = SequenceMatcher(b=wanted, autojunk=False)
    for name in names:
        text = _comparable_text(name)
        if text == wanted:
            same.append(name)
        elif text.startswith(wanted):
            extended.append((0, len(text), name))
        elif wanted in text and len(wanted) >= MIN_PART_CHARS:
            extended.append((1, len(text), name))
        elif (likeness := _likeness(matcher, text)) >= MIN_LIKENESS:
            similar.append((likeness, name))
    best = max((likeness for likeness, _ in similar), default=0.0)
    near = [
        *same,
        *(name for *_, name in sorted(extended, key=itemgetter(0, 1))),
        *(
            name
            for likeness, name in sorted(similar, key=itemgetter(0), reverse=True)
            if likeness >= NEARLY_AS_CLOSE * best
        ),
    ]
    return (same or near)[:MAX_SUGGESTED_NAMES]


def _comparable_text(name: str) -> str:
    return name[:MAX_NAME_CHARS].strip().casefold().replace("_", "-").replace(" ", "-")


def _likeness(matcher: SequenceMatcher[str], text: str) -> float:
    """Return the share of equal characters, 0 to 1; 0 where a bound shows that it is too low."""
    matcher.set_seq1(text)
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio)
    return matcher.ratio() if all(bound() >= MIN_LIKENESS for bound in bounds) else 0.0


def _join_names(names: Iterable[str]) -> str:
    """Return names as a list, whole so that they can be copied; one without end is cut."""
    return ", ".join(
        name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…" for name in names
    )


def join_reasons(reasons: Mapping[str, str]) -> str:
    """Return reasons by name as one line.

    Names with the same reason follow it, with their number.
    """
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names_by_reason.setdefault(reason.removeprefix(f"{name}: "), []).append(name)
    return "; ".join(
        f"{names[0]}: {reason}"
        if len(names) == 1
        else f"{reason} ({len(names)}: {', '.join(names)})"
        for reason, names in names_by_reason.items()
    )


class WrongResult(TypeError, ValueError):
    """A function of the user returned what cannot be used; the message names it and its place."""


def describe_error(error: BaseException) -> str:
    """Describe an error in one line: what went wrong and where.

    The place is in the user's own file if a frame of the traceback is there, else it is the last
    frame.
    """
    frames = extract_tb(_root_error(error).__traceback__)
    user_frames = [frame for frame in frames if _is_user_frame(frame)]
    if isinstance(error, WrongResult):
        return error_text(error)
    text = f"{type(error).__name__}: {error_text(error)}"
    if not frames or isinstance(error, SyntaxError):  # a SyntaxError names its own place
        return text
    last = (user_frames or frames)[-1]
    return f"{text} ({_display_path(last.filename)}, line {last.lineno})"


def error_text(error: BaseException) -> str:
    """Return the message of an error; that of a user's class may fail to write it."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be read"


def _root_error(error: BaseException) -> BaseException:
    """Return the error, or the StopIteration that Python wrapped in a RuntimeError."""
    is_wrapped = isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration)
    return error.__cause__ or error if is_wrapped else error


def _is_user_frame(frame: FrameSummary) -> bool:
    path = Path(frame.filename)
    library = path.is_relative_to(_STDLIB_FOLDER) or {"site-packages", "dist-packages"} & {
        *path.parts
    }
    return not (
        library or path.is_relative_to(_PACKAGE_FOLDER) or frame.filename.startswith("<frozen")
    )


def _display_path(filename: str) -> str:
    """Return a file's name, for a file of toolmark its path in the package.

    A user's file may have the same name as a file of toolmark.
    """
    path = Path(filename)
    return (
        str(path.relative_to(_PACKAGE_FOLDER.parent))
        if path.is_relative_to(_PACKAGE_FOLDER)
        else path.name
    )
