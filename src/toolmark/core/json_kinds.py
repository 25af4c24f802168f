"""What a JSON value is, in the words of messages."""

from __future__ import annotations

from typing import Any


def kind_of(value: Any) -> str:
    """Return what JSON calls the kind of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return type(value).__name__
