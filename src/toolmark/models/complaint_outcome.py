"""What an HTTP status and an error body mean: an EndpointError, or a fault of the model."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from toolmark.core.errors import EndpointError, RateLimited, Rejected, Unavailable
from toolmark.core.failure import Subject
from toolmark.core.http_status import describe_status, says_nothing
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.number_format import format_duration
from toolmark.core.records import Audio, Image, Reply, Request
from toolmark.models import complaint_rules, wait_headers
from toolmark.models.http_client import HttpResponse, is_request_id
from toolmark.models.secret_mask import SecretMask, escape_control_chars

_MAX_SHOWN_CHARS = 500
_MAX_FAULTS = 20  # of a list of faults that are read
_MAX_CODE_CHARS = 200
_MAX_DETAILS = 20
_DEFAULT_STATUS = 502
_DELAY = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?s", re.ASCII)
_LONG_WAIT_STEP = (
    "the endpoint asks to wait {wait}: give the same command again then, and what is stored is not "
    "asked again"
)
_SILENT_STEP = "see the server's log, or what toolmark doctor finds"


class Complaint:
    """An error body, parsed as far as possible, without secrets.

    `request_id` is the endpoint's name of the request, "" for none; it is masked with the error.
    """

    def __init__(self, body: bytes, mask: SecretMask) -> None:
        decoded = _parse_json(body)
        self.request_id = _read_request_id(decoded)
        error = _error_object(decoded)
        self.data = error
        self._details = _error_details(error)
        reasons = [each.get("reason") for each in self._details]
        codes = [*(error.get(name) for name in ("code", "type", "status")), *reasons]
        self.codes = [str(code)[:_MAX_CODE_CHARS] for code in codes if code]
        text = error.get("message") or error.get("detail") or error.get("error")
        if isinstance(text, list):
            text = _field_faults(text)
        if not isinstance(text, str):
            text = json.dumps(text) if text else body.decode("utf-8", "replace")
        self.text = mask.cut_text(text, complaint_rules.MAX_COMPLAINT_CHARS)

    @property
    def short_message(self) -> str:
        """The message, on one line and cut."""
        line = escape_surrogates(
            escape_control_chars(" ".join(self.text[: complaint_rules.MAX_COMPLAINT_CHARS].split()))
        )
        return line if len(line) <= _MAX_SHOWN_CHARS else line[:_MAX_SHOWN_CHARS] + " ..."

    @property
    def searchable_text(self) -> complaint_rules.ComplaintText:
        """The text of the server, and what a router passes on from the server behind it."""
        metadata = self.data.get("metadata")
        raw = metadata.get("raw") if isinstance(metadata, dict) else None
        half = complaint_rules.MAX_COMPLAINT_CHARS // 2
        more = [str(raw)[:half]] if raw else []
        more += [str(quota)[:_MAX_CODE_CHARS] for quota in self._quota_names()]
        text = " ".join([self.text[:half], *more]) if more else self.text
        return complaint_rules.ComplaintText(text, self.codes)

    @property
    def wait_s(self) -> float | None:
        """How long the body asks to wait.

        Google's APIs write `{"retryDelay": "34.5s"}`. OpenRouter repeats the headers of its limit.
        """
        for detail in self._details:
            delay = detail.get("retryDelay")
            if isinstance(delay, str) and _DELAY.fullmatch(delay):
                return float(delay[:-1])
        metadata = self.data.get("metadata")
        headers = metadata.get("headers") if isinstance(metadata, dict) else None
        reset = headers.get("X-RateLimit-Reset") if isinstance(headers, dict) else None
        return wait_headers.parse_wait(reset) if isinstance(reset, str) else None

    def _quota_names(self) -> Iterator[Any]:
        """Yield the names of the quotas that Google's APIs say are used up."""
        for detail in self._details:
            violations = detail.get("violations")
            for violation in (violations if isinstance(violations, list) else [])[:_MAX_DETAILS]:
                if isinstance(violation, dict) and violation.get("quotaId"):
                    yield violation["quotaId"]

    def status(self) -> int:
        """The status of an error that came with status 200; 502 if the body names none."""
        known = complaint_rules.load_table().statuses
        for code in self.codes:
            if code.isascii() and code.isdigit() and len(code) == 3 and 400 <= int(code) < 600:
                return int(code)
            if code in known:
                return known[code]
        return _DEFAULT_STATUS


def request_subjects(request: Request) -> set[Subject]:
    """Return the subjects in a request that an endpoint may refuse."""
    found: set[Subject] = {"tools"} if request.tools else set()
    parts = [part for message in request.messages for part in message.parts]
    if any(isinstance(part, Image) for part in parts):
        found.add("pictures")
    if any(isinstance(part, Audio) for part in parts):
        found.add("sound")
    return found


def reply_or_error(
    answer: HttpResponse,
    complaint: Complaint,
    key_name: str,
    status: int,
    subjects: Collection[Subject] = (),
) -> Reply | EndpointError:
    """Return a Reply if the complaint is about what the model did or was shown, else the error.

    `subjects` is what the request contains (`request_subjects`). The error's text ends with the
    next step, if there is one.
    """
    rule = complaint_rules.matching_rule(status, complaint.searchable_text, subjects)
    request_id = answer.request_id or complaint.request_id
    match rule.stop:
        case "refused":
            return Reply(text=complaint.short_message, stop="refused", request_id=request_id)
        case "malformed":
            generation = complaint.data.get("failed_generation")
            return Reply(
                text=escape_surrogates(generation) if isinstance(generation, str) else "",
                stop="malformed",
                request_id=request_id,
            )
        case "over_long":
            description = describe_status(status, complaint.short_message)
            return Reply(text="", stop="over_long", complaint=description, request_id=request_id)
    error = _make_error(answer, complaint, rule, key_name, status)
    error.request_id, error.may_retry = request_id, answer.may_retry
    return error


def _make_error(
    answer: HttpResponse,
    complaint: Complaint,
    rule: complaint_rules.ComplaintRule,
    key_name: str,
    status: int,
) -> EndpointError:
    """Return the error that a rule makes of a complaint."""
    text = describe_status(status, complaint.short_message)
    wait_s = complaint.wait_s if answer.wait_s is None else answer.wait_s
    match rule.kind:
        case "rate_limited" if wait_s is not None and wait_s > wait_headers.MAX_WAIT_S:
            step = _LONG_WAIT_STEP.format(wait=format_duration(wait_s))
            return Rejected(f"{text}; {step}", status, kind="rejected.billing", subject="quota")
        case "rate_limited":
            return RateLimited(text, wait_s, status)
        case "unavailable":
            return Unavailable(text, wait_s, status)
        case "rejected.other" if answer.may_retry:  # the endpoint knows that it may pass
            return Unavailable(text, wait_s, status)
    step = rule.next_step.format(key=key_name)
    if 300 <= status < 400:
        text = f"{status}: redirected to {_redirect_target(answer)}; give that address"
    elif not step and says_nothing(status, complaint.short_message):
        step = _SILENT_STEP
    return Rejected(
        f"{text}; {step}" if step else text, status, kind=rule.kind or None, subject=rule.subject
    )


def refused_settings(complaint: Complaint) -> frozenset[str]:
    """Return the settings that the server refuses (`complaint_rules.refused_settings`)."""
    searchable = complaint.searchable_text
    # codes name it too: "unsupported_parameter"
    with_codes = complaint_rules.ComplaintText(
        " ".join([*complaint.codes, searchable.text]), complaint.codes
    )
    return complaint_rules.refused_settings(with_codes, complaint.data.get("param"))


def names_parameter(complaint: Complaint) -> bool:
    """Return whether the server names what it refuses in a field of its own, not in a sentence."""
    param = complaint.data.get("param")
    return isinstance(param, str) and bool(param)


def blames_history(complaint: Complaint) -> bool:
    """Return whether the conversation is not readable (`complaint_rules.blames_history`)."""
    return complaint_rules.blames_history(complaint.searchable_text)


def room_for_reply(complaint: Complaint) -> int | None:
    """Return how many tokens of a reply there is room for (`complaint_rules.room_for_reply`)."""
    return complaint_rules.room_for_reply(complaint.searchable_text)


def names_model_limit(complaint: Complaint) -> bool:
    """Return whether that room is the model's own limit (`complaint_rules.names_model_limit`)."""
    return complaint_rules.names_model_limit(complaint.searchable_text)


def refused_reply_limit(
    complaint: Complaint, status: int, own_limit: int, limit: int | None
) -> Rejected | None:
    """Return the error where the limit of the reply is refused, and the conversation has room.

    `own_limit` is that which toolmark set where the user set none, 0 for none, and `limit` the
    user's. Where the complaint names no room, nothing shows that the user's is at fault.
    """
    room = room_for_reply(complaint)
    if own_limit:
        step = (
            f"max_tokens {own_limit} is toolmark's own, as the wire needs a limit; next: "
            "--max-tokens with a smaller one"
        )
    elif limit and room is not None:
        step = f"next: --max-tokens {room} or fewer"
    else:
        return None
    asked = own_limit or limit or 0
    if not complaint_rules.blames_reply_limit(complaint.searchable_text, asked):
        return None
    return Rejected(
        f"{status}: {complaint.short_message}; {step}",
        status,
        kind="rejected.other",
        subject="setting",
    )


def _field_faults(found: list[Any]) -> str | list[Any]:
    """Return the faults of a validating server by field, without the values that it repeats."""
    faults = [each for each in found[:_MAX_FAULTS] if isinstance(each, dict) and "loc" in each]
    return "; ".join(map(_field_fault, faults)) if faults else found


def _field_fault(fault: dict[str, Any]) -> str:
    kind = f" ({fault['type']})" if fault.get("type") else ""
    return f"{json.dumps(fault['loc'])}: {fault.get('msg')}{kind}"


def _redirect_target(answer: HttpResponse) -> str:
    return answer.redirect_location.partition("?")[0] or "nowhere"


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _read_request_id(decoded: Any) -> str:
    """Return the endpoint's name of the request, where the body has it; "" elsewhere."""
    found = decoded.get("request_id") if isinstance(decoded, dict) else None
    return found if isinstance(found, str) and is_request_id(found) else ""


def _error_object(decoded: Any) -> dict[str, Any]:
    """Return the part with the error: {"error": {...}}, {"error": "text"} or the body itself."""
    if isinstance(decoded, list) and decoded:
        decoded = decoded[0]
    if not isinstance(decoded, dict):
        return {}
    inner = decoded.get("error")
    return inner if isinstance(inner, dict) else decoded


def _error_details(error: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the details that Google's APIs add to an error."""
    details = error.get("details")
    found = details[:_MAX_DETAILS] if isinstance(details, list) else []
    return [each for each in found if isinstance(each, dict)]
