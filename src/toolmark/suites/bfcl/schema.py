"""Published function docs as tools: their types become JSON Schema, once, on reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolmark.types import Tool

# the sentence of the official loader; models are asked with it, so it must not differ
HINT = " Note that the provided function is in Python 3 syntax."
FLOAT = " This is a float type value."


def tool(doc: dict[str, Any], types: Mapping[str, str]) -> Tool:
    """Return the doc as a tool, with the language hint, its name's dots and the doc itself kept.

    `types` is the official table from published to schema types; a type outside it is a string.
    """
    parameters = {**doc["parameters"], "type": "object"}
    parameters["properties"] = _properties(parameters["properties"], types)
    return Tool(
        name=doc["name"],
        description=doc["description"] + HINT,
        parameters=parameters,
        source=doc,
    )


def _properties(properties: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    return {name: _property(spec, types) for name, spec in properties.items()}


def _property(spec: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    made = dict(spec)
    kind = spec.get("type")
    made["type"] = types.get(kind, "string") if kind else "string"
    if kind == "float":
        made["format"] = "float"
        made["description"] = spec.get("description", "") + FLOAT
    if made["type"] not in ("array", "object"):
        return made
    if "properties" in spec:
        made["properties"] = _properties(spec["properties"], types)
    elif "items" in spec:
        made["items"] = _items(spec["items"], types)
    return made


def _items(items: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Translate elements; elements of elements one level deeper, as the official code does."""
    made = {**items, "type": types.get(items["type"], "string")}
    if made["type"] == "array" and "items" in items:
        inner = items["items"]
        made["items"] = {**inner, "type": types.get(inner["type"], "string")}
    elif made["type"] == "object" and "properties" in items:
        made["properties"] = _properties(items["properties"], types)
    return made
