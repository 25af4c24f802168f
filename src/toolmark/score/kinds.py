"""Published parameter types as Python types, one table per language of the docs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from toolmark.score.values import Unsound

Typed: TypeAlias = tuple[type, type | None, Any, str]


class Kinds(Protocol):
    """What a doc's language makes of its types.

    `scalars`: the types whose values stand for themselves, that is, are not converted.
    """

    scalars: Mapping[str, type]

    def read(self, spec: Mapping[str, Any], value: Any, /) -> Typed:
        """Return expected type, expected element type or None, the value, an error type or ""."""
        ...


_PYTHON: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


class Python:
    """Values arrive with their Python types; only int for float and tuple for tuple give way."""

    scalars: Mapping[str, type] = {
        name: kind for name, kind in _PYTHON.items() if kind not in (list, dict)
    }

    def read(self, spec: Mapping[str, Any], value: Any, /) -> Typed:
        """Return the types the doc asks for, and the value after the two conversions."""
        kind = spec["type"]
        expected = _PYTHON.get(kind)
        if expected is list:
            inner = _PYTHON.get(spec["items"]["type"])
            if inner is None:
                raise Unsound(f"the doc has elements of type {spec['items']['type']!r}")
            if kind == "tuple" and type(value) is tuple:
                value = list(value)
            return list, inner, value, ""
        if expected is None:
            raise Unsound(f"the doc has a type {kind!r}, which the rules do not know")
        if expected is float and type(value) is int:
            value = _float(value)
        return expected, None, value, ""


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Unsound("an integer too large for the float that is asked for") from None


PYTHON = Python()
