"""Tools on the Anthropic Messages wire, whose schemas are objects without a choice at the root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolmark.core.records import Adaptation, Tool
from toolmark.models.wires.request_parts import encode_json

Json = dict[str, Any]

_COMBINATORS = ("allOf", "anyOf", "oneOf")
_NO_PARAMETERS: Json = {"type": "object", "properties": {}}


def encode_tools(tools: tuple[Tool, ...], sent: dict[str, str]) -> bytes:
    """Encode the tools under their names as sent."""
    return b',"tools":' + encode_json(
        [_encode_tool(tool, sent.get(tool.name, tool.name)) for tool in tools]
    )


def find_schema_changes(tools: tuple[Tool, ...]) -> tuple[Adaptation, ...]:
    """Return what is sent of schemas in another form."""
    return tuple(
        Adaptation(kind="tool_schema", detail=f"{tool.name}: {change}")
        for tool in tools
        for change in _schema_changes(tool.parameters)
    )


def root_object(schema: Json) -> Json:
    """Return a schema of an object without allOf, anyOf and oneOf at its root.

    It accepts what the schema accepts, of properties as a branch describes them: those of all
    branches may be given, and those are required that every branch requires. The environment still
    checks the schema itself.
    """
    if not schema:
        return _NO_PARAMETERS
    if schema.get("type") == "object" and not any(name in schema for name in _COMBINATORS):
        return schema
    merged: Json = {key: each for key, each in schema.items() if key not in _COMBINATORS}
    merged["type"] = "object"
    properties = _joint_properties(schema)
    required = _required_names(schema)
    for name in _COMBINATORS:
        branches = [root_object(each) for each in _root_branches(schema, name)]
        if not branches:
            continue
        for branch in branches:
            for key, each in _joint_properties(branch).items():
                properties[key] = (
                    _either_schema(properties[key], each) if key in properties else each
                )
            merged.setdefault("$defs", {}).update(branch.get("$defs", {}))
        sets = [set(_required_names(branch)) for branch in branches]
        common = set.union(*sets) if name == "allOf" else set.intersection(*sets)
        required += [key for branch in branches for key in _required_names(branch) if key in common]
        if any(branch.get("additionalProperties") is not False for branch in branches):
            continue
        merged.setdefault("additionalProperties", False)
    if not merged.get("$defs", True):
        del merged["$defs"]
    merged["properties"] = properties
    if required:
        merged["required"] = list(dict.fromkeys(required))
    return merged


def _encode_tool(tool: Tool, name: str) -> Json:
    encoded: Json = {"name": name}
    if tool.description:
        encoded["description"] = tool.description
    encoded["input_schema"] = root_object(tool.parameters)
    return encoded


def _schema_changes(schema: Json) -> Iterator[str]:
    found = [name for name in _COMBINATORS if name in schema]
    if found:
        yield f"{', '.join(found)} at the root merged into one object"
    elif schema and schema.get("type") != "object":
        yield "the type of the root is object"


def _root_branches(schema: Json, name: str) -> list[Json]:
    branches = schema.get(name)
    if not isinstance(branches, list):
        return []
    return [each for each in branches if isinstance(each, dict)]


def _joint_properties(schema: Json) -> Json:
    found = schema.get("properties")
    return dict(found) if isinstance(found, dict) else {}


def _required_names(schema: Json) -> list[str]:
    found = schema.get("required")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _either_schema(one: Any, other: Any) -> Any:
    """Return a schema for a property that two branches define."""
    if one == other:
        return one
    known = one["anyOf"] if isinstance(one, dict) and set(one) == {"anyOf"} else [one]
    return {"anyOf": known if other in known else [*known, other]}
