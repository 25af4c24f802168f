"""Errors of msgspec as a part of a sentence: field, what is expected, what was found.

`limit: expected int >= 1, got 0`, not "Expected `int` >= 1 - at `$.limit`".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_PLACE_MARK = " - at "  # msgspec ends a message with it and the place in backticks
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
    text, place = _split_message(error)
    text = text.replace("`", "")
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
    return _split_message(error)[1]


def _split_message(error: Exception) -> tuple[str, str]:
    """Return the message of msgspec without its place, and the place, "" for the whole."""
    message = str(error)
    text, mark, place = message.rpartition(_PLACE_MARK)
    place = place.removeprefix("`key` in ")
    if not mark or not (place.startswith("`$") and place.endswith("`")):
        return message, ""
    return text, place[2:-1]


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
