"""Is what was found what was expected: a subset, number by number and text by text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from scipy.optimize import linear_sum_assignment

NEAR = Decimal("1e-6")
ABSENT = {"absent": True}
REST = "*"  # the key under which a snapshot says that it left files out

_NUMBER = re.compile(r"\s*[+-]?\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?\s*", re.ASCII)


class _Missing:
    """What is found where nothing is."""

    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def check(expects: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return every difference as a sentence; none means that all expected is there.

    `found` may hold more. Lists must have the same length. Numbers agree within 1e-6, and a number
    with a text that spells it. `{"absent": true}` stands for nothing at all; `{"contains": [...]}`
    for a text that holds these texts, or a list that has for each of them an equal item or a text
    that holds it; `{"unordered": [...]}` for a list of these items alone, in any order; `{"near":
    ..., "within": x}` for a number, or lists of numbers, none of which is further off than x.
    """
    differences: list[str] = []
    for path, want in expects.items():
        if want == ABSENT and path not in found and REST in found:
            differences.append(f"{path}: cannot be told, {_short(found[REST])}")
        differences += _differences(want, found.get(path, _MISSING), path)
    return differences


def _differences(want: Any, got: Any, where: str) -> Iterator[str]:
    if want == ABSENT:
        if got is not _MISSING:
            yield f"{where}: should not be there, and is {_short(got)}"
    elif got is _MISSING:
        yield f"{where}: is not there; expected {_short(want)}"
    elif isinstance(want, Mapping):
        yield from _mapping(want, got, where)
    elif isinstance(want, Sequence) and not isinstance(want, str | bytes):
        yield from _sequence(want, got, where)
    elif not same(want, got):
        yield f"{where}: expected {_short(want)}, found {_short(got)}"


def _mapping(want: Mapping[str, Any], got: Any, where: str) -> Iterator[str]:
    if want.keys() == {"contains"}:
        yield from _contained(want["contains"], got, where)
        return
    if want.keys() == {"unordered"}:
        yield from _unordered(want["unordered"], got, where)
        return
    if want.keys() == {"near", "within"}:
        if not _near(want["near"], got, Decimal(repr(want["within"]))):
            yield f"{where}: {_short(got)} is not near {_short(want['near'])}"
        return
    if not isinstance(got, Mapping):
        yield f"{where}: expected {_short(dict(want))}, found {_short(got)}"
        return
    if "unreadable" in got and "unreadable" not in want:
        yield f"{where}: could not be read: {_short(got['unreadable'])}"
        return
    for key, value in want.items():
        yield from _differences(value, got.get(key, _MISSING), f"{where}, {key}")


def _sequence(want: Sequence[Any], got: Any, where: str) -> Iterator[str]:
    if not isinstance(got, Sequence) or isinstance(got, str) or len(got) != len(want):
        yield f"{where}: expected {_short(list(want))}, found {_short(got)}"
        return
    for place, (one, other) in enumerate(zip(want, got, strict=True), 1):
        yield from _differences(one, other, f"{where}, item {place}")


def _contained(wanted: Sequence[Any], got: Any, where: str) -> Iterator[str]:
    for want in wanted:
        if isinstance(got, str):
            inside = isinstance(want, str) and want in got
        elif isinstance(got, Sequence):
            inside = any(_holds(item, want) for item in got)
        else:
            inside = False
        if not inside:
            yield f"{where}: {_short(want)} is not in {_short(got)}"


def _unordered(wanted: Sequence[Any], got: Any, where: str) -> Iterator[str]:
    if not isinstance(got, Sequence) or isinstance(got, str) or len(got) != len(wanted):
        yield f"{where}: expected in any order {_short(list(wanted))}, found {_short(got)}"
        return
    apart = [
        [next(_differences(want, item, ""), None) is not None for item in got] for want in wanted
    ]
    if not apart:
        return
    rows, columns = linear_sum_assignment(apart)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if apart[row][column]:
            yield f"{where}: {_short(wanted[row])} is not among {_short(got)}"


def _near(want: Any, got: Any, within: Decimal) -> bool:
    if isinstance(want, Sequence) and not isinstance(want, str):
        if not isinstance(got, Sequence) or isinstance(got, str) or len(got) != len(want):
            return False
        return all(_near(one, other, within) for one, other in zip(want, got, strict=True))
    if isinstance(want, bool) or isinstance(got, bool):
        return False
    one, other = _number(want), _number(got)
    return one is not None and other is not None and abs(one - other) <= within


def _holds(item: Any, want: Any) -> bool:
    if isinstance(item, str) and isinstance(want, str):
        return want in item
    return next(_differences(want, item, ""), None) is None


def same(want: Any, got: Any) -> bool:
    """Say whether two values are equal: numbers within 1e-6, a number and a text that spells it.

    Two texts are compared letter by letter, true and false equal only themselves.
    """
    if isinstance(want, bool) or isinstance(got, bool) or (_text(want) and _text(got)):
        return type(want) is type(got) and bool(want == got)
    one, other = _number(want), _number(got)
    if one is None or other is None:
        return bool(want == got)
    return abs(one - other) <= NEAR


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> Decimal | None:
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


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 160 else f"{text[:150]}... ({len(text)} characters)"
