"""Published parameter types as Python types, one table per language of the docs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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


def typed(
    spec: Mapping[str, Any],
    value: Any,
    types: Mapping[str, type],
    nested: Collection[str],
    convert: Callable[[str, str, str | None], Any],
    native: str,
) -> Typed:
    """Read a value that must arrive as text, by a language's table; `native` if it is no text."""
    kind = spec["type"]
    expected = types.get(kind)
    if expected is None:
        raise Unsound(f"the doc has a type {kind!r}, which the rules do not know")
    if type(value) is not str:
        return expected, None, value, native
    if kind not in nested:
        return expected, None, convert(value, kind, None), ""
    inner = spec["items"]["type"]
    if inner not in types:
        raise Unsound(f"the doc has elements of type {inner!r}")
    return expected, types[inner], convert(value, kind, inner), ""


def integer(text: str) -> int:
    """Read digits. Raises Unsound beyond Python's digit limit, where the official code fails."""
    try:
        return int(text)
    except ValueError as error:
        raise Unsound(str(error)) from None


def number(text: str) -> int | float | str:
    """Read a number as Python's own `int` and `float` do; other text stays text."""
    if text[:1].isalpha() and text[0] not in "iInN":
        return text  # no infinity, no nan: spares two exceptions
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


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
