"""Tools as BFCL's rule reads them: docs with its names of types."""

from __future__ import annotations

from typing import Any

from toolmark.core.records import Tool
from toolmark.scoring.call_matching import FunctionDoc

_OFFICIAL_ROOT_TYPE = "dict"
_OWN_ROOT_TYPE = "object"
_OFFICIAL_TYPES = frozenset(
    ("string", "integer", "float", "boolean", "array", "tuple", "dict", "any")
)
_PYTHON_TYPE_BY_JSON = {
    "object": "dict", "array": "array", "string": "string", "integer": "integer",
    "number": "float", "boolean": "boolean",
}  # fmt: skip


def function_doc(tool: Tool) -> FunctionDoc:
    """Return a tool as BFCL describes functions; a whole doc of BFCL is used as it is."""
    if isinstance(tool.source, dict) and is_official(tool.source.get("parameters")):
        return tool.source
    schema = tool.parameters
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    return {
        "name": tool.name,
        "parameters": {
            "type": _OWN_ROOT_TYPE,
            "properties": {name: _parameter_doc(spec) for name, spec in properties.items()},
            "required": required if isinstance(required, list) else [],
        },
    }


def is_official(parameters: object) -> bool:
    """Return whether the parameters are those of a whole doc of BFCL: the rule reads all of it."""
    if not isinstance(parameters, dict) or parameters.get("type") != _OFFICIAL_ROOT_TYPE:
        return False
    properties, required = parameters.get("properties"), parameters.get("required")
    return (
        isinstance(properties, dict)
        and isinstance(required, list)
        and all(map(_is_official_type, properties.values()))
    )


def _is_official_type(spec: object) -> bool:
    if not isinstance(spec, dict) or spec.get("type") not in _OFFICIAL_TYPES:
        return False
    items = spec.get("items")
    is_list = spec["type"] in ("array", "tuple")
    return not is_list or (isinstance(items, dict) and items.get("type") in _OFFICIAL_TYPES)


def _parameter_doc(spec: object) -> dict[str, Any]:
    """Return the schema of a parameter with BFCL's name of its type, "any" for what has none."""
    if not isinstance(spec, dict):
        return {"type": "any"}
    kind = spec.get("type")
    doc: dict[str, Any] = {"type": "any"}
    if isinstance(kind, str):
        doc["type"] = _PYTHON_TYPE_BY_JSON.get(kind, "any")
    if doc["type"] == "array":
        doc["items"] = _parameter_doc(spec.get("items"))
    if "default" in spec:
        doc["default"] = spec["default"]
    return doc
