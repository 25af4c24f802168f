"""The text about one parameter that all forms of docs share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def type_name(meta: Mapping[str, Any]) -> str:
    """Return the type's name; `string` if none is given, several joined by `|`."""
    name = meta.get("type", "string")
    return name if isinstance(name, str) else "|".join(map(str, name))


def description_text(meta: Mapping[str, Any]) -> str:
    """Return the description, with the accepted values if they are listed."""
    text = str(meta.get("description", ""))
    return f"{text} Enum values: {meta['enum']}." if "enum" in meta else text


def nested_schema(meta: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Return a schema inside a schema; None where there is none, or only true or false."""
    found = meta.get(key)
    return found if isinstance(found, Mapping) else None
