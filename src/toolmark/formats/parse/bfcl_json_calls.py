"""BFCL's official decoding of calls as JSON: `[{"function": name, "parameters": {...}}, ...]`.

Copies the official decoder, including its errors (specification section 3). A list of objects
ends at the first `}` that is followed by `]`, also inside a parameter. Text that is not JSON
contains no call.
"""

from __future__ import annotations

import json
import re
from typing import Any

from toolmark.core import json_codec
from toolmark.formats.parse.reply_text import DecodedCalls, MisshapenCalls, UnreadableCalls

# the official `\[\s*{.*?}\s*(?:,\s*{.*?}\s*)*\]` finds exactly the text from the first
# _LIST_START to the first _LIST_END after it, but takes exponential time without a _LIST_END
_LIST_START = re.compile(r"\[\s*\{")
_LIST_END = re.compile(r"\}\s*\]")


def parse_calls(text: str) -> DecodedCalls:
    """Parse the calls; text that is not JSON has none, and items that are not objects are skipped.

    Raises UnreadableCalls for a value that is not a list, for missing keys and for JSON beyond the
    limits of `json_codec`. Raises MisshapenCalls if parameters are not an object. A name that is
    not text becomes its text form.
    """
    outer = _outer_brackets(text)
    head = _LIST_START.search(outer)
    tail = _LIST_END.search(outer, head.end()) if head else None
    return _read_calls(_load_json(outer[head.start() : tail.end()] if head and tail else outer))


def parse_complete_calls(text: str) -> DecodedCalls:
    """Parse the calls as `parse_calls` does, but a list of objects up to its own end."""
    outer = _outer_brackets(text)
    head = _LIST_START.search(outer)
    if head is None:
        return parse_calls(text)
    try:
        _, end = json.JSONDecoder().raw_decode(outer, head.start())
    except (ValueError, RecursionError, MemoryError):
        return parse_calls(text)
    return _read_calls(_load_json(outer[head.start() : end]))


def _outer_brackets(text: str) -> str:
    """Return the text from the first opening to the last closing bracket, or all of it for none."""
    start, end = text.find("["), text.rfind("]")
    return text[start : end + 1] if 0 <= start < end else text


def _load_json(text: str) -> Any:
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson as error:
        if isinstance(error.__context__, json.JSONDecodeError):
            return []
        raise UnreadableCalls(str(error)) from None


def _read_calls(found: Any) -> DecodedCalls:
    if not isinstance(found, list | dict | str):
        raise UnreadableCalls(f"JSON, but a {type(found).__name__} and no list")
    objects = [item for item in found if isinstance(item, dict)]
    for item in objects:
        missing = [key for key in ("function", "parameters") if key not in item]
        if missing:
            raise UnreadableCalls(f"an object without {missing[0]!r}")
        if isinstance(item["function"], list | dict):
            raise UnreadableCalls("a function name that is no text")
    for item in objects:
        if not isinstance(item["parameters"], dict):
            raise MisshapenCalls(f"parameters are a {type(item['parameters']).__name__}")
    return [(_call_name(item["function"]), item["parameters"]) for item in objects]


def _call_name(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
