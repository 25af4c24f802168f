"""JavaScript values, written as JavaScript text, as the official BFCL checker converts them.

Text that a type's rule cannot read stays text: it then passes only where the truth holds text, for
the name of a variable. Nothing is evaluated (specification section 2, JavaScript).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.score import text
from toolmark.score.kinds import Typed, integer, number, typed
from toolmark.score.values import Unsound

TYPES: dict[str, type] = {
    "String": str,
    "integer": int,
    "float": float,
    "Bigint": int,
    "Boolean": bool,
    "dict": dict,
    "array": list,
    "any": str,
}
NESTED = ("array",)

_QUOTES = ('"', "'")
_INTEGER = re.compile(r"-?\d+$")
_FLOAT = re.compile(r"-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"-?\d+n$")
_ROWS = re.compile(r"(?:\[|new\s+Array\()\s*\[")
_NEXT = re.compile(r",\s*\[")
_ROW = re.compile(r"\[")
_ARRAY = re.compile(r"\[(.*?)\]|new\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")


class JavaScript:
    """Every value arrives as text and is converted by its type."""

    scalars: Mapping[str, type] = {"any": str}

    def read(self, spec: Mapping[str, Any], value: Any, /) -> Typed:
        """Return the types the doc asks for, and the value converted."""
        return typed(spec, value, TYPES, NESTED, convert, "type_error:js")


JAVASCRIPT = JavaScript()


def convert(value: str, kind: str, inner: str | None = None) -> Any:
    """Read the text as a value of the type; text that is none comes back as it is."""
    match kind:
        case "String":
            return value[1:-1] if _quoted(value) else value
        case "integer":
            return integer(value) if _INTEGER.match(value) else value
        case "float":
            return float(value) if _FLOAT.match(value) else value
        case "Bigint":
            return integer(value[:-1]) if _BIGINT.match(value) else value
        case "Boolean":
            return value == "true" if value in ("true", "false") else value
        case "array":
            return _array(value.strip(), inner)
        case "dict":
            return _object(value.strip())
        case _:
            return value


def _quoted(value: str) -> bool:
    return value[:1] in _QUOTES and value[-1] == value[0]


def _array(code: str, inner: str | None) -> Any:
    """Read rows of rows, then one row; elements that cannot be read leave the whole as text."""
    end = _rows(code)
    if end:
        first, *others = text.between(code[:end], _ROW, "]", least=0)
        # on one line the first row still has the bracket that opens the whole
        return [_row(row) for row in (first.strip().removeprefix("["), *others)]
    found = _ARRAY.match(code)
    if found is None:
        return code
    listed = (found[1] if found[1] is not None else found[2]).strip()
    parts = [part.strip() for part in listed.split(",")] if listed else []
    try:
        return [guess(part) if inner is None else convert(part, inner) for part in parts]
    except Unsound:  # the official code catches its own failure here
        return code


def _rows(code: str) -> int:
    """Return where an array of arrays at the start ends, 0 if there is none.

    After each closing bracket the next row or the end is looked for; anything else belongs to
    the row, as long as the line lasts.
    """
    head = _ROWS.match(code)
    if head is None:
        return 0
    last = "]" if code.startswith("[") else ")"
    start = head.end()
    end = -1
    while True:
        end = text.line(code, start) if start > end else end
        close = code.find("]", start, end)
        if close < 0:
            return 0
        after = text.skip(code, close + 1)
        following = _NEXT.match(code, after)
        if following:
            start = following.end()
        elif code.startswith(last, after):
            return after + 1
        else:
            start = close + 1


def _row(row: str) -> list[Any]:
    return [guess(part) for part in row.split(",")]


def _object(code: str) -> Any:
    """Read the pairs up to the first closing brace, which must come before the line ends."""
    if code == "{}":
        return {}
    found = _OBJECT.match(code)
    if found is None:
        return code
    made: dict[str, Any] = {}
    for key, value in _pairs(found[1]):
        made[key.strip().strip("'\"")] = _member(value.strip())
    return made


def _member(value: str) -> Any:
    if value.startswith("[") and value.endswith("]"):
        return _array(value, None)
    if value.startswith("{") and value.endswith("}"):
        return _object(value)
    return guess(value.strip("'\""))


def _pairs(content: str) -> Iterator[tuple[str, str]]:
    """Go through `key: value`; a value ends at a comma with a colon before the next comma."""
    start = 0
    while True:
        while content.startswith(":", start):
            start += 1  # a key has at least one character
        colon = content.find(":", start)
        if colon < 0:
            return
        first = text.skip(content, colon + 1)
        end, following = _value(content, first)
        yield content[start:colon], content[first:end]
        start = following


def _value(content: str, start: int) -> tuple[int, int]:
    """Return where a value that begins at `start` ends, and where the next key begins."""
    comma = content.find(",", start)
    while comma >= 0:
        after = content.find(",", comma + 1)
        colon = content.rfind(":", comma + 2, len(content) if after < 0 else after)
        if colon >= 0:
            return comma, min(text.skip(content, comma + 1), colon - 1)
        comma = after
    return len(content), len(content)


def guess(part: str) -> Any:
    """Read a value without knowing its type."""
    part = part.strip()
    if part in ("true", "false"):
        return part == "true"
    return part[1:-1] if _quoted(part) else number(part)
