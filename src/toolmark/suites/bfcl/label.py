"""Official faults in toolmark's words: one cause of the closed list, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from toolmark.score import match
from toolmark.score.values import Unsound
from toolmark.types import Cause, StopReason

Found: TypeAlias = tuple[Cause, str, str]

MAX_CHARS = 400
_SHOWN_CHARS = 120

CRASHED = "checker_failed"  # where the official checker raises an error of its own

STOPS: dict[StopReason, Cause] = {
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}

_CAUSES: dict[str, Cause] = {
    "missing_required": "missing_argument",
    "missing_optional": "missing_argument",
    "unexpected_param": "unexpected_argument",
}


def found(
    fault: match.Fault,
    docs: Sequence[match.Doc],
    made: Sequence[match.Made],
    truth: Sequence[match.Truth],
) -> Found:
    """Return cause, official error type and evidence of a fault.

    For a parallel truth without a match the cause is that of the call that comes nearest.
    """
    shown = _nearest(fault, docs, made, truth) if fault.near else fault
    text = _tell(shown)
    if fault.near:
        text = f"expected call {fault.expected + 1} {fault.tool} has no match; nearest: {text}"
    return _cause(shown, docs), fault.native, text


def _cause(fault: match.Fault, docs: Sequence[match.Doc]) -> Cause:
    group, _, kind = fault.native.partition(":")
    if kind == "wrong_count":
        return "missing_call" if fault.got < fault.want else "extra_call"
    if kind == "wrong_func_name":
        known = any(doc["name"] == fault.got for doc in docs)
        return "wrong_tool" if known else "unknown_tool"
    if group == "type_error":
        return "wrong_type"
    return _CAUSES.get(kind, "wrong_value")


def _tell(fault: match.Fault) -> str:
    _, _, kind = fault.native.partition(":")
    if kind == "wrong_count":
        return f"{fault.got} calls, expected {fault.want}"
    where = f"call {fault.call + 1} {fault.tool}"
    if kind == "wrong_func_name":
        return f"{where}: expected {fault.want}"
    where = f"{where}: {fault.parameter}"
    if kind.startswith("missing_"):
        return f"{where} is missing, expected one of {_shown(fault.want)}"
    if kind == "unexpected_param":
        return f"{where} = {_shown(fault.got)} is not expected; known: {_shown(fault.want)}"
    return f"{where} = {_shown(fault.got)}, expected one of {_shown(fault.want)}"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer beyond the digit limit
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


def _nearest(
    fault: match.Fault,
    docs: Sequence[match.Doc],
    made: Sequence[match.Made],
    truth: Sequence[match.Truth],
) -> match.Fault:
    """Prefer calls that no other truth wants, then those of the right tool."""
    others = [t for i, t in enumerate(truth) if i != fault.expected]

    def distance(near: match.Fault) -> tuple[bool, bool, bool]:
        wanted = any(_fits(docs, made[near.call], other) for other in others)
        name = near.native.endswith(":wrong_func_name")
        known = name and any(doc["name"] == near.got for doc in docs)
        return wanted, name, known

    return min(fault.near, key=distance)


def _fits(docs: Sequence[match.Doc], made: match.Made, truth: match.Truth) -> bool:
    try:
        return match.check(docs, [made], [truth], "multiple") is None
    except Unsound:
        return False
