"""What an HTTP status and an error body mean: an error of ours, or a fault of the model."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from toolmark.codec import escape
from toolmark.errors import EndpointError, RateLimited, Rejected, Unavailable
from toolmark.failure import Subject
from toolmark.models import complaints
from toolmark.models.http import Answer
from toolmark.models.mask import Mask, printable
from toolmark.types import Audio, Image, Reply, Request

_SHOWN = 500
_UNSAID = 502


class Complaint:
    """An error body, read as far as it can be, without secrets."""

    def __init__(self, body: bytes, mask: Mask) -> None:
        read = _loads(body)
        error = _error(read)
        self.data = error
        self.codes = [str(error.get(name)) for name in ("code", "type") if error.get(name)]
        text = error.get("message") or error.get("detail") or error.get("error")
        if not isinstance(text, str):
            text = json.dumps(text) if text else body.decode("utf-8", "replace")
        self.text = mask.cut(text, complaints.READ)

    @property
    def shown(self) -> str:
        """The message, on one line and cut."""
        line = escape(printable(" ".join(self.text[: complaints.READ].split())))
        return line if len(line) <= _SHOWN else line[:_SHOWN] + " ..."

    @property
    def said(self) -> complaints.Said:
        """What the server said, and what a router passes on from behind it."""
        behind = self.data.get("metadata")
        raw = behind.get("raw") if isinstance(behind, dict) else None
        half = complaints.READ // 2
        text = f"{self.text[:half]} {str(raw)[:half]}" if raw else self.text
        return complaints.Said(text, self.codes)

    def status(self) -> int:
        """Return the status that an error under 200 stands for; 502 if it does not say."""
        known = complaints.table().statuses
        for code in self.codes:
            if code.isascii() and code.isdigit() and len(code) == 3 and 400 <= int(code) < 600:
                return int(code)
            if code in known:
                return known[code]
        return _UNSAID


def held(request: Request) -> set[Subject]:
    """Return what a request holds of what an endpoint may refuse."""
    found: set[Subject] = {"tools"} if request.tools else set()
    parts = [part for message in request.messages for part in message.parts]
    if any(isinstance(part, Image) for part in parts):
        found.add("pictures")
    if any(isinstance(part, Audio) for part in parts):
        found.add("sound")
    return found


def outcome(
    answer: Answer,
    complaint: Complaint,
    key_name: str,
    status: int,
    asked: Collection[Subject] = (),
) -> Reply | EndpointError:
    """Return the Reply if the complaint is about what the model did or was shown, else the error.

    `asked` is what the request held (`held`); the error's text ends with the next step, if any.
    """
    rule = complaints.meaning(status, complaint.said, asked)
    match rule.stop:
        case "refused":
            return Reply(text=complaint.shown, stop="refused")
        case "malformed":
            said = complaint.data.get("failed_generation")
            return Reply(text=escape(said) if isinstance(said, str) else "", stop="malformed")
        case "over_long":
            return Reply(text="", stop="over_long")
    text = f"{status}: {complaint.shown}"
    match rule.kind:
        case "rate_limited":
            return RateLimited(text, answer.wait_s, status)
        case "unavailable":
            return Unavailable(text, answer.wait_s, status)
    if 300 <= status < 400:
        text = f"{status}: redirected to {_place(answer)}; give that address"
    step = rule.step.format(key=key_name)
    return Rejected(
        f"{text}; {step}" if step else text, status, kind=rule.kind or None, subject=rule.subject
    )


def refused(complaint: Complaint) -> frozenset[str]:
    """Return the settings that the server does not take (`complaints.settings`)."""
    said = complaint.said
    # codes tell it too: "unsupported_parameter"
    known = complaints.Said(" ".join([*complaint.codes, said.text]), complaint.codes)
    return complaints.settings(known, complaint.data.get("param"))


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
