"""What the forms of docs say alike about one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kind(meta: Mapping[str, Any]) -> str:
    """Return the type's name; string where none is given, several joined by `|`."""
    name = meta.get("type", "string")
    return name if isinstance(name, str) else "|".join(map(str, name))


def described(meta: Mapping[str, Any]) -> str:
    """Return the description, with the accepted values if they are listed."""
    text = str(meta.get("description", ""))
    return f"{text} Enum values: {meta['enum']}." if "enum" in meta else text


def inner(meta: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Return a schema inside a schema; None where there is none, or only true or false."""
    found = meta.get(key)
    return found if isinstance(found, Mapping) else None
