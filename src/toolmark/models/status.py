"""What an HTTP status and an error body mean: an error of ours, or a fault of the model."""

from __future__ import annotations

import json
import re
from typing import Any

from toolmark.codec import escape
from toolmark.errors import EndpointError, RateLimited, Rejected, Unavailable
from toolmark.models.http import Answer
from toolmark.models.mask import Mask, printable
from toolmark.types import Reply

_SHOWN = 500
_READ = 4000
_LATER = (408, 409, 425)
_CLIENT = range(400, 500)
_TYPES = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "bad_request": 400,
    "context_length_exceeded": 400,
}
_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error")
_BROKE_CODES = (
    "insufficient_quota",
    "insufficient_user_quota",
    "exceeded_current_quota_error",
    "insufficient_balance",
    "insufficient_credits",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
)
_BROKE = "the account has no credit left: add some, then give the same command again"
_FILTER_CODES = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
# how the common servers say that a conversation no longer fits
_LONG = re.compile(
    r"maximum context length|context[ _]length[ _]exceeded|available context size"
    r"|model'?s context length|maximum model length|prompt is too long|input is too long"
    r"|greater than the context length|exceeds? the (?:model'?s )?context"
    r"|inputs`? tokens \+ `?max_new_tokens|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
# the limit on the reply is itself beyond the model: a wrong setting, not a long conversation
_SETTING = re.compile(
    r"max(?:_completion)?_tokens\D{0,40}too large: (\d+).*?maximum context length is (\d+)",
    re.IGNORECASE | re.DOTALL,
)
# how servers say that they do not take a setting at all, or only its default
_UNTAKEN = re.compile(
    r"unsupported|n[o']t (?:be )?(?:support|allowed|permitted|accepted|available)|deprecated"
    r"|only the default|only \S+ is allowed|may only be|unknown (?:parameter|field|argument)"
    r"|unrecognized|unexpected keyword|cannot both|extra inputs|extra fields",
    re.IGNORECASE,
)
# a value that no model would take: the user's mistake, which leaving it out would hide
_RANGE = re.compile(
    r"above|below|maximum|minimum|greater|less than|between|at (?:least|most)|in the range"
    r"|must be|expected|too (?:large|small|high|low)",
    re.IGNORECASE,
)
_EITHER = re.compile(
    r"(?:cannot|not) both|use only one|mutually exclusive|at the same time", re.IGNORECASE
)
_NAMED = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "top_p": re.compile(r"\btop_?p\b", re.IGNORECASE),
}
_RENAMED = re.compile(r"\bmax_tokens\b.*\bmax_completion_tokens\b", re.DOTALL)


class Complaint:
    """An error body, read as far as it can be, without secrets."""

    def __init__(self, body: bytes, mask: Mask) -> None:
        read = _loads(body)
        error = _error(read)
        self.data = error
        self.kinds = [str(error.get(name)) for name in ("code", "type") if error.get(name)]
        text = error.get("message") or error.get("detail") or error.get("error")
        if not isinstance(text, str):
            text = json.dumps(text) if text else body.decode("utf-8", "replace")
        self.text = mask.hidden(text)

    @property
    def shown(self) -> str:
        """The message, on one line and cut."""
        line = escape(printable(" ".join(self.text[:_READ].split())))
        return line if len(line) <= _SHOWN else line[:_SHOWN] + " ..."

    def status(self) -> int:
        """Return the status that an error under 200 stands for; 502 if it does not say."""
        for kind in self.kinds:
            if kind.isdigit() and 400 <= int(kind) < 600:
                return int(kind)
            if kind in _TYPES:
                return _TYPES[kind]
        return 502


def fault(complaint: Complaint, status: int) -> Reply | None:
    """Return the Reply if the complaint is about what the model did or was shown, else None."""
    if status not in _CLIENT and status != 500:
        return None
    if any(kind in _FILTER_CODES for kind in complaint.kinds):
        return Reply(text=complaint.shown, stop="refused")
    if "tool_use_failed" in complaint.kinds:  # the server could not parse the model's call
        said = complaint.data.get("failed_generation")
        return Reply(text=escape(said) if isinstance(said, str) else "", stop="malformed")
    if _long(complaint):
        return Reply(text="", stop="over_long")
    return None


def _long(complaint: Complaint) -> bool:
    setting = _SETTING.search(complaint.text)
    if setting and int(setting[1]) >= int(setting[2]):
        return False
    if any(kind in _LONG_CODES for kind in complaint.kinds):
        return True
    return bool(_LONG.search(complaint.text))


def refused(complaint: Complaint) -> frozenset[str]:
    """Return the settings that the server does not take: temperature, top_p, max_tokens.

    A value beyond its range is not among them. Of two that exclude each other it is top_p.
    max_tokens is there only where the server names max_completion_tokens instead.
    """
    text = _told(complaint)
    untaken = bool(_UNTAKEN.search(text))
    if untaken and _RENAMED.search(text):
        return frozenset(("max_tokens",))
    param = complaint.data.get("param")
    if isinstance(param, str) and param:
        named = {param.rpartition(".")[2]} & _NAMED.keys()
        sure = untaken or not _RANGE.search(text)
    else:
        named = {name for name, pattern in _NAMED.items() if pattern.search(text)}
        sure = untaken or (len(named) > 1 and bool(_EITHER.search(text)))
    if len(named) > 1 and _EITHER.search(text):
        return frozenset(("top_p",))
    return frozenset(named if sure else ())


def _told(complaint: Complaint) -> str:
    """Return what the server said, with the code, and what a router passes on from behind it."""
    behind = complaint.data.get("metadata")
    raw = behind.get("raw") if isinstance(behind, dict) else None
    parts = [*complaint.kinds, complaint.text[:_READ], str(raw)[:_READ] if raw else ""]
    return " ".join(parts)


def error(answer: Answer, complaint: Complaint, key_name: str, status: int) -> EndpointError:
    """Return the error that a status stands for, with the next step where there is one."""
    text = f"{status}: {complaint.shown}"
    if any(kind in _BROKE_CODES for kind in complaint.kinds):
        return Rejected(f"{text}; {_BROKE}", 402)
    if status == 429:
        return RateLimited(text, answer.wait_s)
    if status in _LATER or status >= 500:
        return Unavailable(text, answer.wait_s)
    if 300 <= status < 400:
        return Rejected(f"{status}: redirected to {_place(answer)}; give that address", status)
    step = _step(status, key_name)
    return Rejected(f"{text}; {step}" if step else text, status)


def _step(status: int, key_name: str) -> str:
    match status:
        case 401 | 403:
            return f"check {key_name}"
        case 402:
            return _BROKE
        case 404 | 405:
            return "check the address (it usually ends in /v1) and the model name"
        case 413:
            return "the request is too large for this server"
        case _:
            return ""


def _place(answer: Answer) -> str:
    return answer.location.partition("?")[0] or "nowhere"


def _loads(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error(read: Any) -> dict[str, Any]:
    """Return the part that tells: {"error": {...}}, {"error": "text"} or the body itself."""
    if isinstance(read, list) and read:
        read = read[0]
    if not isinstance(read, dict):
        return {}
    inner = read.get("error")
    return inner if isinstance(inner, dict) else read
