"""Published function docs as tools: their types become JSON Schema, once, on reading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolmark.types import Task, Tool

Doc: TypeAlias = dict[str, Any]

# the sentences of the official loader; models are asked with them, so they must not differ
HINT = " Note that the provided function is in Python 3 syntax."
FLOAT = " This is a float type value."


@dataclass(frozen=True, slots=True)
class Language:
    """A language whose values are asked for as text: its name, its hint, its types of lists."""

    name: str
    hint: str
    lists: tuple[str, ...]


# by category; all others are in Python
LANGUAGES = {
    "simple_java": Language(
        "Java", " Note that the provided function is in Java 8 SDK syntax.", ("ArrayList", "Array")
    ),
    "simple_javascript": Language(
        "JavaScript", " Note that the provided function is in JavaScript syntax.", ("array",)
    ),
}


def tool(doc: Doc, types: Mapping[str, str], hint: str = HINT) -> Tool:
    """Return the doc as a tool, with the language hint, its name's dots and the doc itself kept.

    `types` is the official table from published to schema types; a type outside it is a string.
    """
    parameters = {**doc["parameters"], "type": "object"}
    parameters["properties"] = _properties(parameters["properties"], types)
    return Tool(
        name=doc["name"],
        description=doc["description"] + hint,
        parameters=parameters,
        source=doc,
    )


def foreign(doc: Doc, types: Mapping[str, str], language: Language) -> Tool:
    """Return the doc of another language as a tool: each parameter is text that tells its type.

    The source is what a prompt shows, so it has these parameters too; answers are judged by the
    doc as it was published (`docs`).
    """
    schema = doc["parameters"]
    properties = {name: _told(spec, language) for name, spec in schema["properties"].items()}
    return tool({**doc, "parameters": {**schema, "properties": properties}}, types, language.hint)


def _told(spec: Mapping[str, Any], language: Language) -> Doc:
    made = {**spec, "type": "string"}
    kind, name = spec["type"], language.name
    if kind == "any":
        told = f" This parameter can be of any type of {name} object in string representation."
    else:
        told = f" This is {name} {kind} type parameter in string representation."
    if kind in language.lists:
        inner = made.pop("items")["type"]
        told += f" The list elements are of type {inner}; they are not in string representation."
    if kind == "dict" and "properties" in made:
        inner = json.dumps(made.pop("properties"))
        told += (
            " The dictionary entries have the following schema; they are not in string "
            f"representation. {inner}"
        )
    made["description"] = spec["description"] + told
    return made


def docs(task: Task) -> list[Doc]:
    """Return the published docs that a task's answers are judged by."""
    kept = task.reference.get("docs") if task.reference else None
    return kept or [tool.source for tool in task.tools]


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
