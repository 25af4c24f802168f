"""Accepted values as a model would write them: Java and JavaScript values are text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_JAVA = {
    "String": "String",
    "char": "Character",
    "integer": "Integer",
    "long": "Long",
    "any": "Object",
}
_BARE = {"Character": "char", "Integer": "int", "Long": "long"}


def spelled(value: Any, spec: Mapping[str, Any], category: str) -> list[Any]:
    """Return the ways to write a value, the natural one first.

    The others are those that the official checker understands where it does not understand that.
    """
    match category:
        case "simple_java":
            return [*dict.fromkeys(_java(value, spec))]
        case "simple_javascript":
            return [_javascript(value, spec["type"])]
        case _:
            return [value]


def _java(value: Any, spec: Mapping[str, Any]) -> list[str]:
    kind = spec["type"]
    match value:
        case dict():
            puts = " ".join(
                f"put({json.dumps(k)}, {_literal(v, 'any')});" for k, v in value.items()
            )
            return [f"new HashMap<String, Object>() {{{{ {puts} }}}}", "new HashMap<>()"]
        case list():
            inner = spec["items"]["type"]
            ways = (_literal, _bare)
            listed = [", ".join(way(item, inner) for item in value) for way in ways]
            return [_collected(each, kind, _JAVA.get(inner, "Object")) for each in listed]
        case _:
            return [_bare(value, kind)]


def _collected(listed: str, kind: str, inner: str) -> str:
    if kind == "Array":
        return f"new {_BARE.get(inner, inner)}[]{{{listed}}}"
    return f"new ArrayList<{inner}>(Arrays.asList({listed}))"


def _literal(value: Any, kind: str) -> str:
    return json.dumps(value) if isinstance(value, str) else _bare(value, kind)


def _bare(value: Any, kind: str) -> str:
    match value:
        case str():
            return value
        case int() if kind == "long" and not isinstance(value, bool):
            return f"{value}L"
        case float() if kind == "float":
            return f"{value}f"
        case _:
            return json.dumps(value)


def _javascript(value: Any, kind: str) -> str:
    if isinstance(value, str):
        return value
    return f"{value}n" if kind == "Bigint" else json.dumps(value)
