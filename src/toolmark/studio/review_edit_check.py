"""Checks an edited trajectory before it is stored: every fault, each with its JSON path."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from toolmark.core import json_codec
from toolmark.core.errors import suggest_names
from toolmark.core.json_kinds import kind_of

_INTEGER_LIMIT = 2**63
_ROOT = "$"


@dataclass(frozen=True, slots=True)
class StepFault:
    """A fault in the steps, and its path: `$[1].calls[0].name`."""

    path: str
    text: str


class InvalidSteps(ValueError):
    """Steps that cannot be stored."""

    def __init__(self, faults: list[StepFault]) -> None:
        super().__init__("; ".join(f"{fault.path}: {fault.text}" for fault in faults))
        self.faults = faults


def parse_steps(text: str, tools: Collection[str] = ()) -> tuple[dict[str, Any], ...]:
    """Return steps written as JSON: a list of `{"calls": [{"name", "arguments"}]}`.

    Raises InvalidSteps as `check_steps` does, and for text that is not JSON.
    """
    try:
        value = json_codec.parse_json(text)
    except json_codec.InvalidJson as error:
        raise InvalidSteps([StepFault(_ROOT, f"not JSON: {error}")]) from None
    return check_steps(value, tools)


def check_steps(value: Any, tools: Collection[str] = ()) -> tuple[dict[str, Any], ...]:
    """Return the steps, numbered from 1, if they have the published shape.

    `tools` are the offered names; if it is empty, names are not checked. Raises InvalidSteps with
    all faults.
    """
    faults = list(_step_faults(value, tools))
    if faults:
        raise InvalidSteps(faults)
    return tuple(
        {
            "step": number,
            "calls": [
                {"name": call["name"], "arguments": call["arguments"]} for call in step["calls"]
            ],
        }
        for number, step in enumerate(value, 1)
    )


def _step_faults(value: Any, tools: Collection[str]) -> Iterator[StepFault]:
    if not isinstance(value, list):
        yield StepFault(_ROOT, f"expected a list of steps, got {kind_of(value)}")
        return
    if not value:
        yield StepFault(
            _ROOT, "a reference has at least one step: nothing can be aligned with none"
        )
    for i, step in enumerate(value):
        path = f"{_ROOT}[{i}]"
        yield from _key_faults(step, path, required=("calls",), known=("step", "calls"))
        if not isinstance(step, dict):
            continue
        if "step" in step and step["step"] != i + 1:
            yield StepFault(f"{path}.step", f"expected {i + 1}: steps are numbered in order")
        if "calls" in step:
            yield from _call_list_faults(step["calls"], f"{path}.calls", tools)


def _call_list_faults(value: Any, path: str, tools: Collection[str]) -> Iterator[StepFault]:
    if not isinstance(value, list):
        yield StepFault(path, f"expected a list of calls, got {kind_of(value)}")
        return
    if not value:
        yield StepFault(path, "a step has at least one call")
    for i, call in enumerate(value):
        yield from _call_faults(call, f"{path}[{i}]", tools)


def _call_faults(call: Any, path: str, tools: Collection[str]) -> Iterator[StepFault]:
    yield from _key_faults(call, path, required=("name", "arguments"), known=("name", "arguments"))
    if not isinstance(call, dict):
        return
    name, arguments = call.get("name", ""), call.get("arguments", {})
    if not isinstance(name, str):
        yield StepFault(f"{path}.name", f"expected text, got {kind_of(name)}")
    elif "name" in call and not name.strip():
        yield StepFault(f"{path}.name", "expected the name of a tool")
    elif name and tools and name not in tools:
        yield StepFault(f"{path}.name", f"no tool {name!r} was offered{suggest_names(name, tools)}")
    if not isinstance(arguments, dict):
        yield StepFault(f"{path}.arguments", f"expected an object, got {kind_of(arguments)}")
        return
    yield from _number_faults(arguments, f"{path}.arguments")


def _key_faults(
    value: Any, path: str, *, required: tuple[str, ...], known: tuple[str, ...]
) -> Iterator[StepFault]:
    if not isinstance(value, dict):
        yield StepFault(
            path, f"expected an object with {' and '.join(required)}, got {kind_of(value)}"
        )
        return
    for key in required:
        if key not in value:
            yield StepFault(path, f"{key} is missing")
    for key in value:
        if key not in known:
            yield StepFault(
                f"{path}{_member_path(key)}", f"not expected here; known: {', '.join(known)}"
            )


def _number_faults(value: Any, path: str) -> Iterator[StepFault]:
    """Yield the numbers that would change when stored and read again."""
    match value:
        case float() if not math.isfinite(value):
            yield StepFault(path, "expected a finite number")
        case int() if not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
            yield StepFault(path, "expected a number of at most 64 bits; write it as text")
        case dict():
            for key, item in value.items():
                yield from _number_faults(item, f"{path}{_member_path(key)}")
        case list():
            for i, item in enumerate(value):
                yield from _number_faults(item, f"{path}[{i}]")


def _member_path(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{json_codec.encode_record(key).decode()}]"
