"""Errors of msgspec as a part of a sentence: field, what is expected, what was found.

`limit: expected int >= 1, got 0`, not "Expected `int` >= 1 - at `$.limit`".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_PLACE = re.compile(r" - at (?:`key` in )?`\$(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_PHRASES = (
    ("Object contains unknown field ", "unknown field "),
    ("Object missing required field ", "missing field "),
    ("Invalid enum value ", "unknown value "),
    ("Invalid value ", "unknown value "),
    ("Expected ", "expected "),
    ("Number out of range", "number out of range"),
    ("Invalid ", "invalid "),
    ("Input data was truncated", "the JSON ends early"),
    ("JSON is malformed: ", "not JSON: "),
)


def describe_decode_error(error: Exception, value: Any = None, *, where: str = "") -> str:
    """Return an error of msgspec as "FIELD: expected TYPE, got TYPE"; other errors unchanged.

    `where` is the place of the value itself, before the field. `value` is what was converted: where
    msgspec does not say what it found, a number there is shown. Texts are not, they may be secret.
    """
    if not isinstance(error, msgspec.DecodeError):
        return str(error)
    place = field_path(error)
    text = _PLACE.sub("", str(error)).replace("`", "")
    for phrase, plain in _PHRASES:
        if text.startswith(phrase):
            text = plain + text.removeprefix(phrase)
            break
    found = _value_at(value, place)
    if text.startswith("expected ") and ", got " not in text and isinstance(found, int | float):
        text += f", got {found!r}"
    field = where + place if where else place.removeprefix(".")
    return f"{field}: {text}" if field else text


def field_path(error: Exception) -> str:
    """Return the place of an error in what was decoded: ".steps[2].name", "" for the whole."""
    place = _PLACE.search(str(error))
    return place[1] if place else ""


def _value_at(value: Any, place: str) -> Any:
    """Return the value at a place, None where the place is not exact or not there."""
    end = 0
    while end < len(place):
        step = _STEP.match(place, end)
        if step is None:
            return None
        try:
            value = value[step[1]] if step[1] else value[int(step[2])]
        except (LookupError, TypeError):
            return None
        end = step.end()
    return value
