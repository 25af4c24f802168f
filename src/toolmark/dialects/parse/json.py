"""Calls written as JSON: `[{"function": name, "parameters": {...}}, ...]`.

The official BFCL decoder, quirk by quirk (specification section 3): a list of objects ends at the
first `}` that is followed by `]`, also inside a parameter; text that is not JSON holds no call.
"""

from __future__ import annotations

import json
import re
from typing import Any

from toolmark import codec
from toolmark.dialects.parse.frame import Decoded, Misshapen, Unreadable

# the official `\[\s*{.*?}\s*(?:,\s*{.*?}\s*)*\]` finds exactly what begins with the first HEAD and
# ends with the first TAIL after it, but takes exponential time where there is no TAIL
_HEAD = re.compile(r"\[\s*\{")
_TAIL = re.compile(r"\}\s*\]")


def parse(text: str) -> Decoded:
    """Read the calls; text that is no JSON holds none, and items that are no objects are skipped.

    Raises Unreadable for a value that is no list, missing keys and JSON beyond `codec`'s limits,
    Misshapen where parameters are no object. A name that is no text becomes its spelling.
    """
    outer = _outer(text)
    head = _HEAD.search(outer)
    tail = _TAIL.search(outer, head.end()) if head else None
    return _calls(_load(outer[head.start() : tail.end()] if head and tail else outer))


def whole(text: str) -> Decoded:
    """Read the calls as `parse`, but a list of objects up to its own end."""
    outer = _outer(text)
    head = _HEAD.search(outer)
    if head is None:
        return parse(text)
    try:
        _, end = json.JSONDecoder().raw_decode(outer, head.start())
    except (ValueError, RecursionError, MemoryError):
        return parse(text)
    return _calls(_load(outer[head.start() : end]))


def _outer(text: str) -> str:
    """Return the text from the first opening to the last closing bracket, all of it for none."""
    start, end = text.find("["), text.rfind("]")
    return text[start : end + 1] if 0 <= start < end else text


def _load(text: str) -> Any:
    try:
        return codec.loads(text)
    except codec.BadJson as error:
        if isinstance(error.__context__, json.JSONDecodeError):
            return []
        raise Unreadable(str(error)) from None


def _calls(found: Any) -> Decoded:
    if not isinstance(found, list | dict | str):
        raise Unreadable(f"JSON, but a {type(found).__name__} and no list")
    objects = [item for item in found if isinstance(item, dict)]
    for item in objects:
        missing = [key for key in ("function", "parameters") if key not in item]
        if missing:
            raise Unreadable(f"an object without {missing[0]!r}")
        if isinstance(item["function"], list | dict):
            raise Unreadable("a function name that is no text")
    for item in objects:
        if not isinstance(item["parameters"], dict):
            raise Misshapen(f"parameters are a {type(item['parameters']).__name__}")
    return [(_name(item["function"]), item["parameters"]) for item in objects]


def _name(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
