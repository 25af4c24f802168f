"""The text of a row: bytes to text, and text to JSON values that can be stored as they are."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from toolmark.core import json_codec

_MAX_DIGITS = 20  # of a 64-bit integer, with its sign
_MARK = "\ufeff"


class UnreadableText(ValueError):
    """Text of a row that cannot be read; the message says why, and what to do."""


def decode_text(line: bytes, *, is_first: bool) -> str:
    """Return the text of a line. Raises UnreadableText for what is not UTF-8."""
    if b"\0" in line:
        raise UnreadableText("a NUL byte, so this is no UTF-8 text; save it as UTF-8")
    try:
        text = line.decode("utf-8-sig" if is_first else "utf-8")
    except UnicodeDecodeError as error:
        byte, column = line[error.start], error.start + 1
        raise UnreadableText(
            f"not UTF-8 (byte {byte:#04x} at column {column}); save it as UTF-8"
        ) from None
    if text.startswith(_MARK):
        raise UnreadableText("a byte order mark, which belongs to the first line; remove it")
    return text


def decode_json(text: str, *, is_one_line: bool) -> Any:
    """Return a JSON value.

    Raises UnreadableText, also for a key that an object has twice, and for numbers that would be
    stored as others. `is_one_line` says whether a place is a column, or a line.
    """
    try:
        json_codec.check_json_size(text)
        return _DECODER.decode(text)
    except UnreadableText:
        raise
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if is_one_line else f"line {error.lineno}"
        raise UnreadableText(f"not JSON: {error.msg} ({place})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableText(f"not JSON: {error}") from None


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableText(f"the field {twice!r} is there twice; remove one")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise UnreadableText(f"{name} is no JSON; write null or a number")


def _read_fraction(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise UnreadableText(f"the number {digits:.20} is too large; write it as text")
    return value


def _read_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS or abs(int(digits)) >= 2**63:
        raise UnreadableText(f"the number {digits:.20} is beyond 64 bits; write it as text")
    return int(digits)


# made once: `json.loads` makes a decoder for each text
_DECODER = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_constant=_refuse_constant,
    parse_float=_read_fraction,
    parse_int=_read_integer,
)
