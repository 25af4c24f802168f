"""Values written as JavaScript text, converted as the official BFCL checker does.

Text that a type's rule cannot convert stays text. It then passes only where the truth has text, for
the name of a variable. Nothing is evaluated (specification section 2, JavaScript).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.scoring import text_scanning
from toolmark.scoring.value_conversion import (
    ConvertedValue,
    convert_typed_text,
    parse_integer,
    parse_number,
)
from toolmark.scoring.value_matching import OfficialCheckerError

JAVASCRIPT_TYPES: dict[str, type] = {
    "String": str,
    "integer": int,
    "float": float,
    "Bigint": int,
    "Boolean": bool,
    "dict": dict,
    "array": list,
    "any": str,
}
JAVASCRIPT_COLLECTION_TYPES = ("array",)

_QUOTES = ('"', "'")
_INTEGER = re.compile(r"-?\d+$")
_FLOAT = re.compile(r"-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"-?\d+n$")
_ROWS = re.compile(r"(?:\[|new\s+Array\()\s*\[")
_NEXT_ROW = re.compile(r",\s*\[")
_ROW = re.compile(r"\[")
_ARRAY = re.compile(r"\[(.*?)\]|new\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")


class JavaScriptConverter:
    """The converter of values that arrive as JavaScript text, by type."""

    unconverted_types: Mapping[str, type] = {"any": str}

    def convert(self, spec: Mapping[str, Any], value: Any, /) -> ConvertedValue:
        """Return the types that the doc expects, and the converted value."""
        return convert_typed_text(
            spec,
            value,
            JAVASCRIPT_TYPES,
            JAVASCRIPT_COLLECTION_TYPES,
            convert_javascript_value,
            "type_error:js",
        )


JAVASCRIPT_CONVERTER = JavaScriptConverter()


def convert_javascript_value(value: str, kind: str, inner: str | None = None) -> Any:
    """Convert text to a value of type `kind`; text that does not fit is returned unchanged."""
    match kind:
        case "String":
            return value[1:-1] if _is_quoted(value) else value
        case "integer":
            return parse_integer(value) if _INTEGER.match(value) else value
        case "float":
            return float(value) if _FLOAT.match(value) else value
        case "Bigint":
            return parse_integer(value[:-1]) if _BIGINT.match(value) else value
        case "Boolean":
            return value == "true" if value in ("true", "false") else value
        case "array":
            return _convert_array(value.strip(), inner)
        case "dict":
            return _convert_object(value.strip())
        case _:
            return value


def _is_quoted(value: str) -> bool:
    return value[:1] in _QUOTES and value[-1] == value[0]


def _convert_array(code: str, inner: str | None) -> Any:
    """Convert an array of arrays, or else one array; text where an element cannot be converted."""
    end = _nested_array_end(code)
    if end:
        first, *others = text_scanning.find_between(code[:end], _ROW, "]", least=0)
        # on one line the first row still has the outer opening bracket
        return [_convert_row(row) for row in (first.strip().removeprefix("["), *others)]
    found = _ARRAY.match(code)
    if found is None:
        return code
    listed = (found[1] if found[1] is not None else found[2]).strip()
    parts = [part.strip() for part in listed.split(",")] if listed else []
    try:
        return [
            guess_javascript_value(part) if inner is None else convert_javascript_value(part, inner)
            for part in parts
        ]
    except OfficialCheckerError:  # the official code catches its own failure here
        return code


def _nested_array_end(code: str) -> int:
    """Return where an array of arrays at the start ends, 0 if there is none.

    After each closing bracket the next row or the end is expected. Any other text belongs to the
    row, up to the end of the line.
    """
    head = _ROWS.match(code)
    if head is None:
        return 0
    last = "]" if code.startswith("[") else ")"
    start = head.end()
    end = -1
    while True:
        end = text_scanning.find_line_end(code, start) if start > end else end
        close = code.find("]", start, end)
        if close < 0:
            return 0
        after = text_scanning.skip_blanks(code, close + 1)
        following = _NEXT_ROW.match(code, after)
        if following:
            start = following.end()
        elif code.startswith(last, after):
            return after + 1
        else:
            start = close + 1


def _convert_row(row: str) -> list[Any]:
    return [guess_javascript_value(part) for part in row.split(",")]


def _convert_object(code: str) -> Any:
    """Convert the pairs up to the first closing brace, which must be on the same line."""
    if code == "{}":
        return {}
    found = _OBJECT.match(code)
    if found is None:
        return code
    members: dict[str, Any] = {}
    for key, value in _member_pairs(found[1]):
        members[key.strip().strip("'\"")] = _convert_member(value.strip())
    return members


def _convert_member(value: str) -> Any:
    if value.startswith("[") and value.endswith("]"):
        return _convert_array(value, None)
    if value.startswith("{") and value.endswith("}"):
        return _convert_object(value)
    return guess_javascript_value(value.strip("'\""))


def _member_pairs(content: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of `key: value`; a value ends at a comma with a colon before the next comma."""
    start = 0
    while True:
        while content.startswith(":", start):
            start += 1  # a key has at least one character
        colon = content.find(":", start)
        if colon < 0:
            return
        first = text_scanning.skip_blanks(content, colon + 1)
        end, following = _value_end(content, first)
        yield content[start:colon], content[first:end]
        start = following


def _value_end(content: str, start: int) -> tuple[int, int]:
    """Return the end of the value that begins at `start`, and the start of the next key."""
    comma = content.find(",", start)
    while comma >= 0:
        after = content.find(",", comma + 1)
        colon = content.rfind(":", comma + 2, len(content) if after < 0 else after)
        if colon >= 0:
            return comma, min(text_scanning.skip_blanks(content, comma + 1), colon - 1)
        comma = after
    return len(content), len(content)


def guess_javascript_value(part: str) -> Any:
    """Convert a value of unknown type."""
    part = part.strip()
    if part in ("true", "false"):
        return part == "true"
    return part[1:-1] if _is_quoted(part) else parse_number(part)
