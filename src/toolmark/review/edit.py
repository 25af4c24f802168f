"""An edited trajectory is looked at before it is kept: every fault, each with its JSON path."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from toolmark import codec
from toolmark.errors import near

_LONGEST = 2**63
_ROOT = "$"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it must be, and where: `$[1].calls[0].name`."""

    path: str
    text: str


class BadSteps(ValueError):
    """Steps that cannot be kept."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{fault.path}: {fault.text}" for fault in faults))
        self.faults = faults


def read(text: str, tools: Collection[str] = ()) -> tuple[dict[str, Any], ...]:
    """Return steps written as JSON: a list of `{"calls": [{"name", "arguments"}]}`.

    Raises BadSteps as `check`, and for text that is not JSON.
    """
    try:
        value = codec.loads(text)
    except codec.BadJson as error:
        raise BadSteps([Fault(_ROOT, f"not JSON: {error}")]) from None
    return check(value, tools)


def check(value: Any, tools: Collection[str] = ()) -> tuple[dict[str, Any], ...]:
    """Return the steps, numbered from 1, if they have the published shape.

    `tools` are the names on offer; none given, none is checked. Raises BadSteps with all faults.
    """
    faults = list(_steps(value, tools))
    if faults:
        raise BadSteps(faults)
    return tuple(
        {
            "step": number,
            "calls": [
                {"name": call["name"], "arguments": call["arguments"]} for call in step["calls"]
            ],
        }
        for number, step in enumerate(value, 1)
    )


def _steps(value: Any, tools: Collection[str]) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault(_ROOT, f"expected a list of steps, got {_named(value)}")
        return
    if not value:
        yield Fault(_ROOT, "a reference has at least one step: nothing can be aligned with none")
    for i, step in enumerate(value):
        path = f"{_ROOT}[{i}]"
        yield from _keys(step, path, needed=("calls",), known=("step", "calls"))
        if not isinstance(step, dict):
            continue
        if "step" in step and step["step"] != i + 1:
            yield Fault(f"{path}.step", f"expected {i + 1}: steps are numbered in order")
        if "calls" in step:
            yield from _calls(step["calls"], f"{path}.calls", tools)


def _calls(value: Any, path: str, tools: Collection[str]) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault(path, f"expected a list of calls, got {_named(value)}")
        return
    if not value:
        yield Fault(path, "a step has at least one call")
    for i, call in enumerate(value):
        yield from _call(call, f"{path}[{i}]", tools)


def _call(call: Any, path: str, tools: Collection[str]) -> Iterator[Fault]:
    yield from _keys(call, path, needed=("name", "arguments"), known=("name", "arguments"))
    if not isinstance(call, dict):
        return
    name, arguments = call.get("name", ""), call.get("arguments", {})
    if not isinstance(name, str):
        yield Fault(f"{path}.name", f"expected text, got {_named(name)}")
    elif "name" in call and not name.strip():
        yield Fault(f"{path}.name", "expected the name of a tool")
    elif name and tools and name not in tools:
        yield Fault(f"{path}.name", f"no tool {name!r} was offered{near(name, tools)[:300]}")
    if not isinstance(arguments, dict):
        yield Fault(f"{path}.arguments", f"expected an object, got {_named(arguments)}")
        return
    yield from _numbers(arguments, f"{path}.arguments")


def _keys(
    value: Any, path: str, *, needed: tuple[str, ...], known: tuple[str, ...]
) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(path, f"expected an object with {' and '.join(needed)}, got {_named(value)}")
        return
    for key in needed:
        if key not in value:
            yield Fault(path, f"{key} is missing")
    for key in value:
        if key not in known:
            yield Fault(f"{path}{_member(key)}", f"not expected here; known: {', '.join(known)}")


def _numbers(value: Any, path: str) -> Iterator[Fault]:
    """Find the numbers that would not come back from the disk as they are."""
    match value:
        case float() if not math.isfinite(value):
            yield Fault(path, "expected a finite number")
        case int() if not -_LONGEST <= value < _LONGEST:
            yield Fault(path, "expected a number of at most 64 bits; write it as text")
        case dict():
            for key, item in value.items():
                yield from _numbers(item, f"{path}{_member(key)}")
        case list():
            for i, item in enumerate(value):
                yield from _numbers(item, f"{path}[{i}]")


def _member(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{codec.encode(key).decode()}]"


def _named(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
