"""Java values, written as Java text, as the official BFCL checker converts them.

Text that a type's rule cannot read stays text: it then passes only where the truth holds text, for
the name of a variable. Nothing is evaluated (specification section 2, Java).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from toolmark.score import text
from toolmark.score.kinds import Typed, integer, number, typed
from toolmark.score.values import Unsound

TYPES: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": bool,
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    "Set": set,
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
}
NESTED = ("Array", "ArrayList")

_INTEGER = re.compile(r"-?\d+$")
_LONG = re.compile(r"-?\d+[lL]$")
_DOUBLE = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
_BRACES = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*")
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADD = re.compile(r"add\(")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
_MAP = re.compile(r"new\s+HashMap<")
_BODY = re.compile(r">\s*\(\)\s*\{\s*\{?\s*")
_NO_BODY = re.compile(r">\s*\(\)")
_PUT = re.compile(r"put\(\"")


class Java:
    """Every value arrives as text and is converted by its type."""

    scalars: Mapping[str, type] = {"String": str, "any": str, "char": str}

    def read(self, spec: Mapping[str, Any], value: Any, /) -> Typed:
        """Return the types the doc asks for, and the value converted."""
        return typed(spec, value, TYPES, NESTED, convert, "type_error:java")


JAVA = Java()


def convert(value: str, kind: str, inner: str | None = None) -> Any:
    """Read the text as a value of the type; text that is none comes back as it is.

    Raises Unsound for types that the official code does not convert.
    """
    match kind:
        case "byte" | "short" | "integer":
            return integer(value) if _INTEGER.match(value) else value
        case "long":
            # `$` also matches before a final newline
            return integer(re.sub("[lL]$", "", value)) if _LONG.match(value) else value
        case "float":
            return float(re.sub("[fF]$", "", value)) if _FLOAT.match(value) else value
        case "double":
            return float(value) if _DOUBLE.match(value) else value
        case "boolean":
            return value == "true" if value in ("true", "false") else value
        case "ArrayList":
            return _list(value, inner)
        case "Array":
            found = next(text.between(value, _ARRAY, "}", least=0), None)
            return value if found is None else [_element(x, inner) for x in _parts(found) if x]
        case "HashMap":
            return _map(value)
        case "char" | "String" | "any":
            return value
        case _:
            raise Unsound(f"values of type {kind} are not converted")


def _parts(listed: str) -> list[str]:
    return [part.strip() for part in listed.split(",")]


def _element(part: str, inner: str | None) -> Any:
    return guess(part) if inner is None else convert(part, inner)


def _list(value: str, inner: str | None) -> Any:
    """Read `Arrays.asList` within a constructor, then added elements, then no elements."""
    listed = next(text.between(value, _AS_LIST, "))", least=1), None)
    if listed is not None:
        return [_unquoted(part, inner) for part in _parts(listed)]
    body = _added(value)
    if body is not None:
        adds = text.between(body, _ADD, ")", least=1)
        return [_unquoted(part.strip(), inner) for part in adds]
    return [] if _EMPTY_LIST.search(value) else value


def _unquoted(part: str, inner: str | None) -> Any:
    """Elements of text lose their first and last character, whatever these are."""
    return part[1:-1] if inner in ("char", "String") else _element(part, inner)


def _added(value: str) -> str | None:
    """Return what stands between double braces, None without any of it."""
    head = _BRACES.search(value)
    if head is None:
        return None
    end = value.find("}}", head.end() + 1)
    return None if end < 0 else value[head.end() : end].rstrip()


def _map(value: str) -> Any:
    """Read the `put` of an anonymous body, which ends at the first closing brace."""
    head = _MAP.search(value)
    if head is None:
        return value
    body = _BODY.search(value, head.end())
    end = value.find("}", body.end()) if body else -1
    if body is None or end < 0:
        return {} if _bodiless(value) else value
    return {key: guess(item.strip()) for key, item in _puts(value[body.end() : end].rstrip())}


def _bodiless(value: str) -> bool:
    """Tell whether somewhere a map is made, its type arguments on one line."""
    heads = [found.end() for found in _MAP.finditer(value)]
    end = -1
    for close in _NO_BODY.finditer(value):
        place = bisect_right(heads, close.start()) - 1
        if place >= 0 and heads[place] > end:
            end = text.line(value, heads[place])
        if place >= 0 and close.start() <= end:
            return True
    return False


def _puts(body: str) -> list[tuple[str, str]]:
    """Return the pairs of `put("key", value)`; key and value each stay on one line."""
    pairs: list[tuple[str, str]] = []
    done = dead = 0
    end = -1
    for found in _PUT.finditer(body):
        if found.start() < done or found.end() <= dead:
            continue
        end = text.line(body, found.end()) if found.end() > end else end
        pair = _pair(body, found.end(), end)
        if pair is None:
            dead = end
            continue
        key_end, start, end = pair
        pairs.append((body[found.end() : key_end], body[start:end]))
        done = end + 1
    return pairs


def _pair(body: str, start: int, end: int) -> tuple[int, int, int] | None:
    """Return where the key ends and where the value lies, for a key from `start` on.

    The line ends at `end`.
    """
    quote = body.find('",', start, end)
    dead = -1
    while quote >= 0:
        value = text.skip(body, quote + 2)
        if value > dead:
            dead = end if value <= end else text.line(body, value)
            close = body.find(")", value, dead)
            if close >= 0:
                return quote, value, close
        quote = body.find('",', quote + 1, end)
    return None


def guess(part: str) -> Any:
    """Read a value without knowing its type."""
    if part in ("true", "false"):
        return part == "true"
    if part.startswith('"') and part.endswith('"'):
        return part[1:-1]
    if _LONG.match(part):
        return integer(part[:-1])
    if _FLOAT.match(part):
        return float(part[:-1])
    return number(part)
