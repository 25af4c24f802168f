"""Any value of the system as plain JSON that a reader understands and `==` compares exactly."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from toolmark.core.errors import ToolmarkError

# what Python's own parser says of a text: its versions word it differently
_SYNTAX = re.compile(r"[^\n:]*\(<unknown>, line \d+\)")
_ADDRESS = re.compile(r"\b0x[0-9a-f]*")
LONG = 400
"""Characters of a text that is shown whole; of a longer one its end, length and digest are."""


def plain(value: Any) -> Any:
    """Return JSON: records and named tuples as objects, arrays as lists, odd floats as text."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else repr(value)
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case msgspec.Struct():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Mapping():
            return {str(plain(key)): plain(item) for key, item in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return {name: plain(getattr(value, name)) for name in value._fields}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=repr)
        case _:
            return repr(value)


def sparse(value: msgspec.Struct) -> dict[str, Any]:
    """Return a record without the fields that have their defaults."""
    return {
        name: plain(getattr(value, name))
        for name, default in zip(
            value.__struct_fields__[::-1], value.__struct_defaults__[::-1], strict=False
        )
        if getattr(value, name) != default
    } | {
        name: plain(getattr(value, name))
        for name in value.__struct_fields__[
            : len(value.__struct_fields__) - len(value.__struct_defaults__)
        ]
    }


def shortened(text: str) -> str:
    """Return a text, of a long one its beginning, its length and a digest."""
    if len(text) <= LONG:
        return str(plain(text))
    return f"{plain(text[:LONG])}... {len(text)} characters, {digest(text)}"


def digest(text: str) -> str:
    """Return twelve hexadecimal digits of the SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def tried(ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return what a function returns as JSON, or the error that it raises on purpose."""
    try:
        return plain(ask(*given, **named))
    except (ToolmarkError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def worded(message: str) -> str:
    """Return a message without the words of Python's own parser, and places in memory."""
    return shortened(_SYNTAX.sub("<syntax error>", _ADDRESS.sub("<address>", message)))
