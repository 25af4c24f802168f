"""Express official faults in toolmark's terms: one cause of the closed list, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from toolmark.core.records import Cause, StopReason
from toolmark.scoring import call_matching
from toolmark.scoring.value_matching import OfficialCheckerError

LabelledFault: TypeAlias = tuple[Cause, str, str]

MAX_EVIDENCE_CHARS = 400
_MAX_VALUE_CHARS = 120

CHECKER_FAILED = "checker_failed"  # where the official checker itself raises an error

CAUSE_OF_STOP: dict[StopReason, Cause] = {
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}

_CAUSE_OF_ERROR: dict[str, Cause] = {
    "missing_required": "missing_argument",
    "missing_optional": "missing_argument",
    "unexpected_param": "unexpected_argument",
}


def label_fault(
    fault: call_matching.MatchFault,
    docs: Sequence[call_matching.FunctionDoc],
    calls: Sequence[call_matching.MadeCall],
    truth: Sequence[call_matching.ExpectedCall],
) -> LabelledFault:
    """Return cause, official error type and evidence of a fault.

    For a parallel truth without a match, the cause is that of the nearest call.
    """
    nearest = _nearest_fault(fault, docs, calls, truth) if fault.candidates else fault
    text = _describe_fault(nearest)
    if fault.candidates:
        text = f"expected call {fault.expected_call + 1} {fault.tool} has no match; nearest: {text}"
    return _find_cause(nearest, docs), fault.error_type, text


def _find_cause(
    fault: call_matching.MatchFault, docs: Sequence[call_matching.FunctionDoc]
) -> Cause:
    group, _, kind = fault.error_type.partition(":")
    if kind == "wrong_count":
        return "missing_call" if fault.value < fault.accepted_values else "extra_call"
    if kind == "wrong_func_name":
        known = any(doc["name"] == fault.value for doc in docs)
        return "wrong_tool" if known else "unknown_tool"
    if group == "type_error":
        return "wrong_type"
    return _CAUSE_OF_ERROR.get(kind, "wrong_value")


def _describe_fault(fault: call_matching.MatchFault) -> str:
    _, _, kind = fault.error_type.partition(":")
    if kind == "wrong_count":
        return f"{fault.value} calls, expected {fault.accepted_values}"
    where = f"call {fault.call_index + 1} {fault.tool}"
    if kind == "wrong_func_name":
        return f"{where}: expected {fault.accepted_values}"
    where = f"{where}: {fault.parameter}"
    if kind.startswith("missing_"):
        return f"{where} is missing, expected one of {_format_value(fault.accepted_values)}"
    if kind == "unexpected_param":
        return (
            f"{where} = {_format_value(fault.value)} is not expected; known: "
            f"{_format_value(fault.accepted_values)}"
        )
    accepted_values = _format_value(fault.accepted_values)
    return f"{where} = {_format_value(fault.value)}, expected one of {accepted_values}"


def _format_value(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer beyond the digit limit
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _MAX_VALUE_CHARS else text[:_MAX_VALUE_CHARS] + "..."


def _nearest_fault(
    fault: call_matching.MatchFault,
    docs: Sequence[call_matching.FunctionDoc],
    calls: Sequence[call_matching.MadeCall],
    truth: Sequence[call_matching.ExpectedCall],
) -> call_matching.MatchFault:
    """Return the nearest fault: prefer calls that match no other truth, then the right tool."""
    others = [t for i, t in enumerate(truth) if i != fault.expected_call]

    def distance(near: call_matching.MatchFault) -> tuple[bool, bool, bool]:
        fits_other = any(_is_match(docs, calls[near.call_index], other) for other in others)
        name = near.error_type.endswith(":wrong_func_name")
        known = name and any(doc["name"] == near.value for doc in docs)
        return fits_other, name, known

    return min(fault.candidates, key=distance)


def _is_match(
    docs: Sequence[call_matching.FunctionDoc],
    call: call_matching.MadeCall,
    truth: call_matching.ExpectedCall,
) -> bool:
    try:
        return call_matching.check_calls(docs, [call], [truth], "multiple") is None
    except OfficialCheckerError:
        return False
