"""Comparison of a found state with the expected one: a subset, by values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from scipy.optimize import linear_sum_assignment

TOLERANCE = Decimal("1e-6")
ABSENT = {"absent": True}
# The key under which a snapshot reports files that it left out.
REST_KEY = "*"

_NUMBER = re.compile(r"\s*[+-]?\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?\s*", re.ASCII)


class _Nothing:
    """The value found at a missing key."""

    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Nothing()


def find_differences(expects: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return every difference as a sentence; empty if everything expected is found.

    `found` may have more keys. Lists must have the same length. Numbers are equal within 1e-6, and
    a number equals a text that spells it. `{"absent": true}` matches a missing value. `{"contains":
    [...]}` matches a text that contains these texts, or a list that has for each of them an equal
    item or a text that contains it. `{"unordered": [...]}` matches a list of exactly these items in
    any order. `{"near": ..., "within": x}` matches a number, or lists of numbers, none of which
    differs by more than x.
    """
    differences: list[str] = []
    for path, expected in expects.items():
        if expected == ABSENT and path not in found and REST_KEY in found:
            differences.append(f"{path}: cannot be compared, {_short_repr(found[REST_KEY])}")
        differences += _value_differences(expected, found.get(path, _MISSING), path)
    return differences


def _value_differences(expected: Any, value: Any, where: str) -> Iterator[str]:
    if expected == ABSENT:
        if value is not _MISSING:
            yield f"{where}: should not be there, and is {_short_repr(value)}"
    elif value is _MISSING:
        yield f"{where}: is not there; expected {_short_repr(expected)}"
    elif isinstance(expected, Mapping):
        yield from _mapping_differences(expected, value, where)
    elif isinstance(expected, Sequence) and not isinstance(expected, str | bytes):
        yield from _sequence_differences(expected, value, where)
    elif not is_equal(expected, value):
        yield f"{where}: expected {_short_repr(expected)}, found {_short_repr(value)}"


def _mapping_differences(expected: Mapping[str, Any], actual: Any, where: str) -> Iterator[str]:
    if expected.keys() == {"contains"}:
        yield from _missing_items(expected["contains"], actual, where)
        return
    if expected.keys() == {"unordered"}:
        yield from _unordered_differences(expected["unordered"], actual, where)
        return
    if expected.keys() == {"near", "within"}:
        if not _is_near(expected["near"], actual, Decimal(repr(expected["within"]))):
            yield f"{where}: {_short_repr(actual)} is not near {_short_repr(expected['near'])}"
        return
    if not isinstance(actual, Mapping):
        yield f"{where}: expected {_short_repr(dict(expected))}, found {_short_repr(actual)}"
        return
    if "unreadable" in actual and "unreadable" not in expected:
        yield f"{where}: could not be read: {_short_repr(actual['unreadable'])}"
        return
    for key, value in expected.items():
        yield from _value_differences(value, actual.get(key, _MISSING), f"{where}, {key}")


def _sequence_differences(expected: Sequence[Any], actual: Any, where: str) -> Iterator[str]:
    if not isinstance(actual, Sequence) or isinstance(actual, str) or len(actual) != len(expected):
        yield f"{where}: expected {_short_repr(list(expected))}, found {_short_repr(actual)}"
        return
    for place, (one, other) in enumerate(zip(expected, actual, strict=True), 1):
        yield from _value_differences(one, other, f"{where}, item {place}")


def _missing_items(expected: Sequence[Any], actual: Any, where: str) -> Iterator[str]:
    for want in expected:
        if isinstance(actual, str):
            inside = isinstance(want, str) and want in actual
        elif isinstance(actual, Sequence):
            inside = any(_contains_item(item, want) for item in actual)
        else:
            inside = False
        if not inside:
            yield f"{where}: {_short_repr(want)} is not in {_short_repr(actual)}"


def _unordered_differences(expected: Sequence[Any], actual: Any, where: str) -> Iterator[str]:
    if not isinstance(actual, Sequence) or isinstance(actual, str) or len(actual) != len(expected):
        wanted, found = _short_repr(list(expected)), _short_repr(actual)
        yield f"{where}: expected in any order {wanted}, found {found}"
        return
    mismatches = [
        [next(_value_differences(want, item, ""), None) is not None for item in actual]
        for want in expected
    ]
    if not mismatches:
        return
    rows, columns = linear_sum_assignment(mismatches)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if mismatches[row][column]:
            yield f"{where}: {_short_repr(expected[row])} is not among {_short_repr(actual)}"


def _is_near(expected: Any, actual: Any, within: Decimal) -> bool:
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        if (
            not isinstance(actual, Sequence)
            or isinstance(actual, str)
            or len(actual) != len(expected)
        ):
            return False
        return all(
            _is_near(one, other, within) for one, other in zip(expected, actual, strict=True)
        )
    if isinstance(expected, bool) or isinstance(actual, bool):
        return False
    one, other = _to_decimal(expected), _to_decimal(actual)
    return one is not None and other is not None and abs(one - other) <= within


def _contains_item(item: Any, expected: Any) -> bool:
    if isinstance(item, str) and isinstance(expected, str):
        return expected in item
    return next(_value_differences(expected, item, ""), None) is None


def is_equal(expected: Any, actual: Any) -> bool:
    """Tell whether two values are equal: numbers within 1e-6, a number and a text that spells it.

    Two texts are compared character by character. True and false equal only themselves.
    """
    if (
        isinstance(expected, bool)
        or isinstance(actual, bool)
        or (_is_text(expected) and _is_text(actual))
    ):
        return type(expected) is type(actual) and bool(expected == actual)
    one, other = _to_decimal(expected), _to_decimal(actual)
    if one is None or other is None:
        return bool(expected == actual)
    return abs(one - other) <= TOLERANCE


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _to_decimal(value: Any) -> Decimal | None:
    match value:
        case Decimal() | int():
            found = Decimal(value)
        case float():
            found = Decimal(repr(value))
        case str() if _NUMBER.fullmatch(value):
            found = Decimal(value.strip())
        case _:
            return None
    return found if found.is_finite() else None


def _short_repr(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:
        # The integer has more digits than Python converts.
        return "a number of thousands of digits"
    return text if len(text) <= 160 else f"{text[:150]}... ({len(text)} characters)"
