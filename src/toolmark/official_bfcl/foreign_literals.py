"""Accepted values as a model would write them: Java and JavaScript values are text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_JAVA_CLASSES = {
    "String": "String",
    "char": "Character",
    "integer": "Integer",
    "long": "Long",
    "any": "Object",
}
_JAVA_PRIMITIVES = {"Character": "char", "Integer": "int", "Long": "long"}


def spell_value(value: Any, spec: Mapping[str, Any], category: str) -> list[Any]:
    """Return the ways to write a value, the natural one first.

    The official checker understands the other ways where it does not understand the natural one.
    """
    match category:
        case "simple_java":
            return [*dict.fromkeys(_spell_java(value, spec))]
        case "simple_javascript":
            return [_spell_javascript(value, spec["type"])]
        case _:
            return [value]


def _spell_java(value: Any, spec: Mapping[str, Any]) -> list[str]:
    kind = spec["type"]
    match value:
        case dict():
            puts = " ".join(
                f"put({json.dumps(k)}, {_java_literal(v, 'any')});" for k, v in value.items()
            )
            return [f"new HashMap<String, Object>() {{{{ {puts} }}}}", "new HashMap<>()"]
        case list():
            inner = spec["items"]["type"]
            ways = (_java_literal, _java_value)
            lists = [", ".join(way(item, inner) for item in value) for way in ways]
            return [
                _java_collection(each, kind, _JAVA_CLASSES.get(inner, "Object")) for each in lists
            ]
        case _:
            return [_java_value(value, kind)]


def _java_collection(elements: str, kind: str, inner: str) -> str:
    if kind == "Array":
        return f"new {_JAVA_PRIMITIVES.get(inner, inner)}[]{{{elements}}}"
    return f"new ArrayList<{inner}>(Arrays.asList({elements}))"


def _java_literal(value: Any, kind: str) -> str:
    return json.dumps(value) if isinstance(value, str) else _java_value(value, kind)


def _java_value(value: Any, kind: str) -> str:
    match value:
        case str():
            return value
        case int() if kind == "long" and not isinstance(value, bool):
            return f"{value}L"
        case float() if kind == "float":
            return f"{value}f"
        case _:
            return json.dumps(value)


def _spell_javascript(value: Any, kind: str) -> str:
    if isinstance(value, str):
        return value
    return f"{value}n" if kind == "Bigint" else json.dumps(value)
