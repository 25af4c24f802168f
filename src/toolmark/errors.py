"""Everything that can go wrong, by what the caller can do about it.

    ToolmarkError
      UsageError          the command or call is wrong: mend it (exit 2)
      DataError           a file is wrong: says file and line
      WorldError          a tool's transport was lost: the episode is not run
      EndpointError       no answer came: the episode is not run
        RateLimited       429; `wait_s` is what the server asked for
        Timeout           nothing, or not all, came in time
        Unavailable       refused, reset, 408, 5xx, dead proxy, bad TLS
        Torn              the body ended early, or is not JSON
        Rejected          401, 403, 404, 400: the run stops, the next step is in the text

A model's fault is none of these: it is a stop reason in the Reply.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from traceback import FrameSummary, extract_tb

_OURS = Path(__file__).parent
_LIBRARY = sysconfig.get_path("stdlib")


class ToolmarkError(Exception):
    """Base of all errors that toolmark raises on purpose."""


class UsageError(ToolmarkError):
    """The request itself is wrong; the text says what would be right."""


class DataError(ToolmarkError):
    """A file is not what it should be; the text says file and line."""


class WorldError(ToolmarkError):
    """The transport to a tool was lost, after one restart."""


class EndpointError(ToolmarkError):
    """The endpoint gave no answer."""


class RateLimited(EndpointError):
    """Too many requests; `wait_s` is the server's own wish, None if it said nothing."""

    def __init__(self, text: str, wait_s: float | None = None) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class Timeout(EndpointError):
    """The answer did not come in time."""


class Unavailable(EndpointError):
    """The endpoint could not be reached or failed; `wait_s` as in RateLimited."""

    def __init__(self, text: str, wait_s: float | None = None) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class Torn(EndpointError):
    """The answer's body is incomplete or is not JSON."""


class Rejected(EndpointError):
    """The endpoint refuses this kind of request; asking again will not help.

    `status` is the HTTP status. 401, 402, 403 and 404 stop a run at any time, others only if
    nothing succeeds: one item that a server cannot take must not end a run of thousands.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status
        self.run_dir = ""  # of the run that it ended

    @property
    def final(self) -> bool:
        """Whether nothing can succeed at this endpoint: no key, no money, no model."""
        return self.status in (401, 402, 403, 404)


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
    origin = error
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        origin = error.__cause__  # which Python turns into another error outside of where it arose
    frames = extract_tb(origin.__traceback__)
    own = [frame for frame in frames if _users(frame)]
    told = f"{type(error).__name__}: {error}"
    if not frames or isinstance(error, SyntaxError):  # which says itself where
        return told
    last = (own or frames)[-1]
    return f"{told} ({_place(last.filename)}, line {last.lineno})"


def _users(frame: FrameSummary) -> bool:
    path = Path(frame.filename)
    library = path.is_relative_to(_LIBRARY) or {"site-packages", "dist-packages"} & {*path.parts}
    return not (library or path.is_relative_to(_OURS) or frame.filename.startswith("<frozen"))


def _place(filename: str) -> str:
    """Return a file's name; of one of ours its place: the user may have one of that name."""
    path = Path(filename)
    return str(path.relative_to(_OURS.parent)) if path.is_relative_to(_OURS) else path.name
