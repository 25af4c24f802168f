"""JSON Schema of Python types: those of msgspec, and Pydantic models."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from toolmark.core import json_codec

_REFERENCE = "#/$defs/"


def object_schema(record: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a record, whole: references stay only where a type nests itself."""
    (reference,), components = msgspec.json.schema_components(
        [record], ref_template=_REFERENCE + "{name}", schema_hook=_foreign_schema
    )
    name = reference["$ref"].removeprefix(_REFERENCE)
    return inline_references(components[name], components)


def inline_references(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the schemas that it refers to in their places, without titles.

    A schema that contains itself stays a reference into `$defs`.
    """
    recursive: dict[str, Any] = {}

    def expand(value: Any, open_names: tuple[str, ...], *, is_names: bool = False) -> Any:
        if isinstance(value, list):
            return [expand(each, open_names) for each in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str) and reference.startswith(_REFERENCE) and not is_names:
            name = reference.removeprefix(_REFERENCE)
            if name in open_names:
                recursive.setdefault(name, None)
                return dict(value)
            inner = expand(components[name], (*open_names, name))
            siblings = {key: each for key, each in value.items() if key != "$ref"}
            if name in recursive:
                recursive[name] = inner
                return dict(value)
            return {**inner, **siblings}
        found = {
            key: expand(each, open_names, is_names=key == "properties" and not is_names)
            for key, each in value.items()
            if is_names or (key not in ("title", "$defs"))
        }
        choices = found.get("enum")
        if isinstance(choices, list) and not is_names and all(isinstance(x, str) for x in choices):
            found.setdefault("type", "string")  # some endpoints require it
        return found

    expanded: dict[str, Any] = expand(dict(schema), ())
    if recursive:
        expanded["$defs"] = recursive
    return expanded


def _foreign_schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a Pydantic model; Pydantic is not imported for it."""
    if not json_codec.is_pydantic_model(kind):
        name = kind.__qualname__ if inspect.isclass(kind) else kind
        raise TypeError(f"type {name} cannot be described by JSON Schema")
    schema: dict[str, Any] = kind.model_json_schema()
    return inline_references(schema, schema.get("$defs", {}))


def decode_foreign(kind: Any, value: Any) -> Any:
    """Return plain values as a Pydantic model."""
    try:
        return kind.model_validate(value)
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None
