"""Conversion of values by published parameter types, with one converter per language of docs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeAlias

from toolmark.scoring.value_matching import OfficialCheckerError

ConvertedValue: TypeAlias = tuple[type, type | None, Any, str]


class ValueConverter(Protocol):
    """Conversion of values by the types of a doc's language.

    `unconverted_types` are the types whose values are not converted.
    """

    unconverted_types: Mapping[str, type]

    def convert(self, spec: Mapping[str, Any], value: Any, /) -> ConvertedValue:
        """Return expected type, expected element type or None, value, and error type or ""."""
        ...


def convert_typed_text(
    spec: Mapping[str, Any],
    value: Any,
    types: Mapping[str, type],
    nested: Collection[str],
    convert: Callable[[str, str, str | None], Any],
    text_error: str,
) -> ConvertedValue:
    """Convert a value that must be text, by the types of a language.

    The error type is `text_error` if the value is not text. Raises OfficialCheckerError for an
    unknown type.
    """
    kind = spec["type"]
    expected = types.get(kind)
    if expected is None:
        raise OfficialCheckerError(f"the doc has a type {kind!r}, which the rules do not know")
    if type(value) is not str:
        return expected, None, value, text_error
    if kind not in nested:
        return expected, None, convert(value, kind, None), ""
    inner = spec["items"]["type"]
    if inner not in types:
        raise OfficialCheckerError(f"the doc has elements of type {inner!r}")
    return expected, types[inner], convert(value, kind, inner), ""


def parse_integer(text: str) -> int:
    """Convert digits to an integer.

    Raises OfficialCheckerError beyond Python's digit limit, where the official code fails too.
    """
    try:
        return int(text)
    except ValueError as error:
        raise OfficialCheckerError(str(error)) from None


def parse_number(text: str) -> int | float | str:
    """Convert a number as Python's `int` and `float` do; other text is returned unchanged."""
    if text[:1].isalpha() and text[0] not in "iInN":
        return text  # not infinity or nan: avoids two exceptions
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


_PYTHON_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


class PythonConverter:
    """Values have Python types; only an int for `float` and a tuple for `tuple` are converted."""

    unconverted_types: Mapping[str, type] = {
        name: kind for name, kind in _PYTHON_TYPES.items() if kind not in (list, dict)
    }

    def convert(self, spec: Mapping[str, Any], value: Any, /) -> ConvertedValue:
        """Return the types that the doc expects, and the value after these two conversions."""
        kind = spec["type"]
        expected = _PYTHON_TYPES.get(kind)
        if expected is list:
            inner = _PYTHON_TYPES.get(spec["items"]["type"])
            if inner is None:
                raise OfficialCheckerError(
                    f"the doc has elements of type {spec['items']['type']!r}"
                )
            if kind == "tuple" and type(value) is tuple:
                value = list(value)
            return list, inner, value, ""
        if expected is None:
            raise OfficialCheckerError(f"the doc has a type {kind!r}, which the rules do not know")
        if expected is float and type(value) is int:
            value = _to_float(value)
        return expected, None, value, ""


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise OfficialCheckerError("an integer too large for the float that is asked for") from None


PYTHON_CONVERTER = PythonConverter()
