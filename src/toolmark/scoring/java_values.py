"""Values written as Java text, converted as the official BFCL checker does.

Text that a type's rule cannot convert stays text. It then passes only where the truth has text, for
the name of a variable. Nothing is evaluated (specification section 2, Java).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from toolmark.scoring import text_scanning
from toolmark.scoring.value_conversion import (
    ConvertedValue,
    convert_typed_text,
    parse_integer,
    parse_number,
)
from toolmark.scoring.value_matching import OfficialCheckerError

JAVA_TYPES: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": bool,
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    "Set": set,
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
}
JAVA_COLLECTION_TYPES = ("Array", "ArrayList")

_INTEGER = re.compile(r"-?\d+$")
_LONG = re.compile(r"-?\d+[lL]$")
_DOUBLE = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
_BRACES = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*")
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADD_CALL = re.compile(r"add\(")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
_MAP = re.compile(r"new\s+HashMap<")
_MAP_BODY = re.compile(r">\s*\(\)\s*\{\s*\{?\s*")
_MAP_WITHOUT_BODY = re.compile(r">\s*\(\)")
_PUT_CALL = re.compile(r"put\(\"")


class JavaConverter:
    """The converter of values that arrive as Java text, by type."""

    unconverted_types: Mapping[str, type] = {"String": str, "any": str, "char": str}

    def convert(self, spec: Mapping[str, Any], value: Any, /) -> ConvertedValue:
        """Return the types that the doc expects, and the converted value."""
        return convert_typed_text(
            spec, value, JAVA_TYPES, JAVA_COLLECTION_TYPES, convert_java_value, "type_error:java"
        )


JAVA_CONVERTER = JavaConverter()


def convert_java_value(value: str, kind: str, inner: str | None = None) -> Any:
    """Convert text to a value of type `kind`; text that does not fit is returned unchanged.

    Raises OfficialCheckerError for types that the official code does not convert.
    """
    match kind:
        case "byte" | "short" | "integer":
            return parse_integer(value) if _INTEGER.match(value) else value
        case "long":
            # `$` also matches before a final newline
            return parse_integer(re.sub("[lL]$", "", value)) if _LONG.match(value) else value
        case "float":
            return float(re.sub("[fF]$", "", value)) if _FLOAT.match(value) else value
        case "double":
            return float(value) if _DOUBLE.match(value) else value
        case "boolean":
            return value == "true" if value in ("true", "false") else value
        case "ArrayList":
            return _convert_list(value, inner)
        case "Array":
            found = next(text_scanning.find_between(value, _ARRAY, "}", least=0), None)
            return (
                value
                if found is None
                else [_convert_element(x, inner) for x in _split_elements(found) if x]
            )
        case "HashMap":
            return _convert_map(value)
        case "char" | "String" | "any":
            return value
        case _:
            raise OfficialCheckerError(f"values of type {kind} are not converted")


def _split_elements(listed: str) -> list[str]:
    return [part.strip() for part in listed.split(",")]


def _convert_element(part: str, inner: str | None) -> Any:
    return guess_java_value(part) if inner is None else convert_java_value(part, inner)


def _convert_list(value: str, inner: str | None) -> Any:
    """Convert a list: `Arrays.asList` in a constructor, else `add` calls, else an empty list."""
    listed = next(text_scanning.find_between(value, _AS_LIST, "))", least=1), None)
    if listed is not None:
        return [_convert_list_element(part, inner) for part in _split_elements(listed)]
    body = _double_brace_body(value)
    if body is not None:
        adds = text_scanning.find_between(body, _ADD_CALL, ")", least=1)
        return [_convert_list_element(part.strip(), inner) for part in adds]
    return [] if _EMPTY_LIST.search(value) else value


def _convert_list_element(part: str, inner: str | None) -> Any:
    """Convert an element; a text element is returned without its first and last character."""
    return part[1:-1] if inner in ("char", "String") else _convert_element(part, inner)


def _double_brace_body(value: str) -> str | None:
    """Return the text between double braces, None where it is empty or there are none."""
    head = _BRACES.search(value)
    if head is None:
        return None
    end = value.find("}}", head.end() + 1)
    return None if end < 0 else value[head.end() : end].rstrip()


def _convert_map(value: str) -> Any:
    """Convert a map from the `put` calls of its body, which ends at the first closing brace."""
    head = _MAP.search(value)
    if head is None:
        return value
    body = _MAP_BODY.search(value, head.end())
    end = value.find("}", body.end()) if body else -1
    if body is None or end < 0:
        return {} if _has_map_without_body(value) else value
    return {
        key: guess_java_value(item.strip())
        for key, item in _put_pairs(value[body.end() : end].rstrip())
    }


def _has_map_without_body(value: str) -> bool:
    """Tell whether the text constructs a map whose type arguments are on one line."""
    heads = [found.end() for found in _MAP.finditer(value)]
    end = -1
    for close in _MAP_WITHOUT_BODY.finditer(value):
        place = bisect_right(heads, close.start()) - 1
        if place >= 0 and heads[place] > end:
            end = text_scanning.find_line_end(value, heads[place])
        if place >= 0 and close.start() <= end:
            return True
    return False


def _put_pairs(body: str) -> list[tuple[str, str]]:
    """Return the pairs of `put("key", value)`; key and value are each on one line."""
    pairs: list[tuple[str, str]] = []
    done = dead = 0
    end = -1
    for found in _PUT_CALL.finditer(body):
        if found.start() < done or found.end() <= dead:
            continue
        end = text_scanning.find_line_end(body, found.end()) if found.end() > end else end
        pair = _find_put_pair(body, found.end(), end)
        if pair is None:
            dead = end
            continue
        key_end, start, end = pair
        pairs.append((body[found.end() : key_end], body[start:end]))
        done = end + 1
    return pairs


def _find_put_pair(body: str, start: int, end: int) -> tuple[int, int, int] | None:
    """Return the end of the key, and the start and end of the value; None without such a pair.

    The key begins at `start`, and its line ends at `end`.
    """
    quote = body.find('",', start, end)
    dead = -1
    while quote >= 0:
        value = text_scanning.skip_blanks(body, quote + 2)
        if value > dead:
            dead = end if value <= end else text_scanning.find_line_end(body, value)
            close = body.find(")", value, dead)
            if close >= 0:
                return quote, value, close
        quote = body.find('",', quote + 1, end)
    return None


def guess_java_value(part: str) -> Any:
    """Convert a value of unknown type."""
    if part in ("true", "false"):
        return part == "true"
    if part.startswith('"') and part.endswith('"'):
        return part[1:-1]
    if _LONG.match(part):
        return parse_integer(part[:-1])
    if _FLOAT.match(part):
        return float(part[:-1])
    return parse_number(part)
