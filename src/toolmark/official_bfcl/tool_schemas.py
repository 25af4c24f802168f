"""Published function docs as tools: their types become JSON Schema, once, when they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolmark.core.records import Task, Tool
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData

Doc: TypeAlias = dict[str, Any]

# the sentences of the official loader; models are asked with them, so they must not differ
PYTHON_HINT = " Note that the provided function is in Python 3 syntax."
FLOAT_HINT = " This is a float type value."


@dataclass(frozen=True, slots=True)
class Language:
    """A language whose values are asked for as text: its name, its hint, its list types."""

    name: str
    hint: str
    list_types: tuple[str, ...]


# by category; all others are in Python
LANGUAGES = {
    "simple_java": Language(
        "Java", " Note that the provided function is in Java 8 SDK syntax.", ("ArrayList", "Array")
    ),
    "simple_javascript": Language(
        "JavaScript", " Note that the provided function is in JavaScript syntax.", ("array",)
    ),
}


def make_tool(doc: Doc, types: Mapping[str, str], hint: str = PYTHON_HINT) -> Tool:
    """Return the doc as a tool with the language hint; the name's dots and the doc are preserved.

    `types` is the official table from published to schema types; a type outside it is a string.
    """
    parameters = {**doc["parameters"], "type": "object"}
    parameters["properties"] = _convert_properties(parameters["properties"], types)
    return Tool(
        name=doc["name"],
        description=doc["description"] + hint,
        parameters=parameters,
        source=doc,
    )


def make_foreign_tool(doc: Doc, types: Mapping[str, str], language: Language) -> Tool:
    """Return a doc of another language as a tool: each parameter is text that states its type.

    The source is what a prompt shows, so it has these parameters too; answers are judged by the
    published doc (`docs`).
    """
    schema = doc["parameters"]
    properties = {
        name: _as_text_parameter(spec, language) for name, spec in schema["properties"].items()
    }
    return make_tool(
        {**doc, "parameters": {**schema, "properties": properties}}, types, language.hint
    )


def _as_text_parameter(spec: Mapping[str, Any], language: Language) -> Doc:
    parameter = {**spec, "type": "string"}
    kind, name = spec["type"], language.name
    if kind == "any":
        hint = f" This parameter can be of any type of {name} object in string representation."
    else:
        hint = f" This is {name} {kind} type parameter in string representation."
    if kind in language.list_types:
        inner = parameter.pop("items")["type"]
        hint += f" The list elements are of type {inner}; they are not in string representation."
    if kind == "dict" and "properties" in parameter:
        inner = json.dumps(parameter.pop("properties"))
        hint += (
            " The dictionary entries have the following schema; they are not in string "
            f"representation. {inner}"
        )
    parameter["description"] = spec["description"] + hint
    return parameter


def published_docs(task: Task) -> list[Doc]:
    """Return the published docs that a task's answers are judged by."""
    stored = None if task.data is None else read_task_data(task, BfclTaskData).docs
    return stored or [tool.source for tool in task.tools]


def _convert_properties(properties: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    return {name: _convert_property(spec, types) for name, spec in properties.items()}


def _convert_property(spec: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    converted = dict(spec)
    kind = spec.get("type")
    converted["type"] = types.get(kind, "string") if kind else "string"
    if kind == "float":
        converted["format"] = "float"
        converted["description"] = spec.get("description", "") + FLOAT_HINT
    if converted["type"] not in ("array", "object"):
        return converted
    if "properties" in spec:
        converted["properties"] = _convert_properties(spec["properties"], types)
    elif "items" in spec:
        converted["items"] = _convert_items(spec["items"], types)
    return converted


def _convert_items(items: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Translate element types, and nested ones one level deeper, as the official code does."""
    converted = {**items, "type": types.get(items["type"], "string")}
    if converted["type"] == "array" and "items" in items:
        inner = items["items"]
        converted["items"] = {**inner, "type": types.get(inner["type"], "string")}
    elif converted["type"] == "object" and "properties" in items:
        converted["properties"] = _convert_properties(items["properties"], types)
    return converted
