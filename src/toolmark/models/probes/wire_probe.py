"""Which of the wires answers at an address: each is asked once, for a word."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from toolmark.core.errors import EndpointError, UsageError
from toolmark.core.records import Check, Message, Request, Sampling, Text
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.http_client import HttpResponse
from toolmark.models.wire_names import WireName

WireFinding: TypeAlias = Literal["replies", "complains", "absent", "unclear", "unreachable"]
"""It replied; it complained as this wire does; there is nothing; it cannot be known; no answer."""

_NAME = "wire"
_CHEAP_REQUEST = Request(
    messages=(Message(role="user", parts=(Text("Reply with: ok"),)),),
    sampling=Sampling(max_tokens=16),
)
_REPLY_MEMBERS: Mapping[WireName, tuple[str, ...]] = MappingProxyType(
    {
        "chat": ("choices",),
        "responses": ("output",),
        "anthropic": ("content", "stop_reason"),
        "gemini": ("candidates",),
    }
)
_ABSENT_STATUSES = (404, 405, 501)
_ADDRESS_STEP = "is the address right? It usually ends in /v1"


class WireAnswer(NamedTuple):
    """What one wire's request led to; `status` is 0 where there was no answer."""

    wire: WireName
    finding: WireFinding
    status: int = 0


async def ask_wires(models: Sequence[EndpointModel]) -> list[WireAnswer]:
    """Ask the same endpoint by each of these models, which differ in their wires."""
    return await asyncio.gather(*map(_ask_wire, models))


def choose_wire(answers: Sequence[WireAnswer]) -> WireName | None:
    """Return the wire on which to go on: one that replied, else one that complained; else None."""
    for finding in ("replies", "complains"):
        found = [answer.wire for answer in answers if answer.finding == finding]
        if found:
            return found[0]
    return None


def check_wires(answers: Sequence[WireAnswer], asked: WireName, *, is_given: bool) -> Check | None:
    """Return what answers at the address; None where nothing could be reached.

    `asked` is the wire on which a run asks this address; `is_given` says that the user chose it.
    """
    if all(answer.finding == "unreachable" for answer in answers):
        return None
    present = [each for each in answers if each.finding in ("replies", "complains")]
    others = _group_answers([each for each in answers if each not in present])
    if not present:
        if any(each.finding != "absent" for each in answers):
            step = f"what follows is asked on the {asked} wire"
            return Check(
                name=_NAME, status="warn", detail=f"none answers as it should: {others}",
                next_step=step,
            )  # fmt: skip
        return Check(
            name=_NAME, status="fail", detail=f"none answers here: {others}",
            next_step=_ADDRESS_STEP,
        )  # fmt: skip
    named = " and ".join(
        each.wire if each.finding == "replies" else f"{each.wire} ({_describe(each)})"
        for each in present
    )
    detail = f"{named} answer{'s' if len(present) == 1 else ''}"
    if others:
        detail += f"; not by {others}"
    chosen = choose_wire(answers)
    findings = {each.wire: each.finding for each in answers}
    if chosen is not None and findings.get(asked) == findings[chosen]:
        return Check(name=_NAME, status="ok", detail=detail)
    step = (
        f"give --wire {chosen} instead of --wire {asked}"
        if is_given
        else f"add --wire {chosen} to each run; this examination goes on with it"
    )
    return Check(name=_NAME, status="warn", detail=detail, next_step=step)


def read_answer(wire: WireName, model: str, answer: HttpResponse) -> WireFinding:
    """Return what an answer says about a wire, by its status and the shape of its body."""
    decoded = _decode_body(answer.body)
    if answer.status == 200 and isinstance(decoded, dict):
        if all(member in decoded for member in _REPLY_MEMBERS[wire]):
            return "replies"
        return "complains" if _is_error_of(wire, decoded) else "absent"
    is_own_error = _is_error_of(wire, decoded)
    if answer.status in _ABSENT_STATUSES:
        # a model that is not there and a path that is not there share the status
        is_gemini = wire == "gemini" or not _is_error_of("gemini", decoded)
        names_model = is_own_error and is_gemini and _names_model(decoded, model)
        return "complains" if names_model else "absent"
    if is_own_error:
        return "complains"
    return "absent" if answer.status == 200 else "unclear"


async def _ask_wire(model: EndpointModel) -> WireAnswer:
    wire = model.wire.name
    try:
        answer = await model.post_request(_CHEAP_REQUEST)
    except (EndpointError, UsageError):
        return WireAnswer(wire, "unreachable")
    return WireAnswer(wire, read_answer(wire, model.model, answer), answer.status)


def _group_answers(answers: Sequence[WireAnswer]) -> str:
    """Return the wires with what each led to; those that led to the same are named together."""
    wires: dict[str, list[str]] = {}
    for answer in answers:
        wires.setdefault(_describe(answer), []).append(answer.wire)
    return "; ".join(f"{', '.join(names)} ({what})" for what, names in wires.items())


def _describe(answer: WireAnswer) -> str:
    if answer.status == 200:
        return "200 with another body"
    return str(answer.status) if answer.status else "gave no answer"


def _decode_body(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _is_error_of(wire: WireName, decoded: Any) -> bool:
    """Return whether a body is an error in the shape of a wire."""
    if wire == "gemini" and isinstance(decoded, list) and decoded:
        decoded = decoded[0]
    if not isinstance(decoded, dict):
        return False
    error, is_anthropic = decoded.get("error"), decoded.get("type") == "error"
    if wire == "anthropic":
        return is_anthropic and isinstance(error, dict)
    if wire == "gemini":
        return isinstance(error, dict) and isinstance(error.get("status"), str)
    is_object = isinstance(error, dict) and bool(error)
    return (is_object or decoded.get("object") == "error") and not is_anthropic


def _names_model(decoded: Any, model: str) -> bool:
    """Return whether an error is about the model and not about the path."""
    first = decoded[0] if isinstance(decoded, list) else decoded
    error = first.get("error")
    error = error if isinstance(error, dict) else first
    text = f"{error.get('message')} {error.get('code')}".casefold()
    return model.casefold() in text or "model_not_found" in text
