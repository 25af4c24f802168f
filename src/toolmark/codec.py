"""Records to bytes and back, and foreign text made safe to keep.

Model text may hold lone surrogates, numbers that are not finite or integers of any length.
None of them survives JSON as msgspec writes it, so text is escaped reversibly at the edge,
and odd numbers inside free-form values become strings.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

MARK = "\ufdd0"  # a noncharacter: what it precedes was a lone surrogate (four hex digits)
_UNSAFE = re.compile("[\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile("\ufdd0([0-9a-f]{4})")

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 200
_MAX_ROWS = 10**6  # characters

_ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-f]{1,16}(?=>)")
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,4})?\s?%?", re.IGNORECASE)
_encoder = msgspec.json.Encoder()


class BadJson(ValueError):
    """Text that should have been JSON and is not, or is beyond the limits."""


def escape(text: str) -> str:
    """Make text encodable: each lone surrogate (and the mark itself) becomes mark + 4 hex."""
    if text.isascii():
        return text
    return _UNSAFE.sub(lambda found: f"{MARK}{ord(found[0]):04x}", text)


def restore(text: str) -> str:
    """Undo `escape`."""
    if MARK not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def loads(text: str, whole: Callable[[str], int] | None = None) -> Any:
    """Read JSON as Python's `json` does, within limits of size and depth.

    `whole` reads whole numbers, where Python's own limit of their digits is not wanted.
    Raises BadJson for anything unreadable: syntax, more than 16 MiB, deeper than 200,
    integers beyond Python's digit limit.
    """
    if len(text) > MAX_BYTES:
        raise BadJson(f"{len(text)} characters; the limit is {MAX_BYTES}")
    if _depth(text) > MAX_DEPTH:
        raise BadJson(f"nested deeper than {MAX_DEPTH}")
    try:
        return json.loads(text, parse_int=whole)
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadJson(str(error)) from None


def rows(text: str) -> list[dict[str, Any]]:
    """Return the rows that a tool's result holds: JSON, or a list as Python writes it.

    Only the list itself counts, whatever the texts in it look like; what is none, or is longer
    than a million characters, holds no row.
    """
    if len(text) > _MAX_ROWS:
        return []
    for read in (json.loads, literal):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return []


def literal(source: str | ast.expr) -> Any:
    """Return the value of a Python literal, as `ast.literal_eval` does.

    What is none raises ValueError, SyntaxError, TypeError, RecursionError or MemoryError; no
    message holds an address in memory, so that equal texts are told of alike.
    """
    try:
        return ast.literal_eval(source)
    except ValueError as error:
        raise ValueError(without_addresses(str(error))) from None


def without_addresses(text: str) -> str:
    """Return what Python writes of objects, "<Name object at 0x7f...>", without their addresses.

    An address differs in every process, so that equal runs would store different texts.
    """
    return _ADDRESS.sub("", text)


def _depth(text: str) -> int:
    """Return an upper bound of the nesting depth: brackets, those in strings counted too."""
    opened = text.count("[") + text.count("{")
    if opened <= MAX_DEPTH:
        return opened
    depth = deepest = 0
    quoted = escaped = False
    for char in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if depth > MAX_DEPTH:  # deep enough to be refused
                return depth
        elif char in "]}":
            depth -= 1
    return deepest


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it.

    Odd floats and integers beyond 64 bits become strings, tuples and sets lists, keys
    strings, anything unknown its repr, without its address.
    """
    match value:
        case None | bool():
            return value
        case str():
            return escape(value)
        case int():
            return value if -(2**63) <= value < 2**63 else _digits(value)
        case float():
            return value if math.isfinite(value) else repr(value)
        case dict():
            return {escape(str(key)): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=repr)
        case _:
            return escape(without_addresses(repr(value)))


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond the digit limit of str(); hexadecimal has none
        return hex(value)


def csv_cell(value: str | float) -> str:
    """Return a value as one cell of a CSV file that no spreadsheet takes for a formula.

    Text that begins with = + - @, a tab or a line break (or the full-width form of a sign) gets an
    apostrophe before it, and so does text that begins with apostrophes before one of these: taking
    one apostrophe away gives every text back. Numbers stay numbers, "-0.5" and "+3 %" among them.
    Text with commas, quotes or line breaks is quoted.
    """
    if not isinstance(value, str):
        return str(value)
    text = f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
    if not any(sign in text for sign in ',"\r\n'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def encode(record: Any) -> bytes:
    """Write one record as one line of JSON, without the newline.

    msgspec writes an infinite float as null; where a null appears the record is looked at
    more slowly and such floats become strings.
    """
    try:
        line = _encoder.encode(record)
    except (UnicodeEncodeError, OverflowError):
        return _encoder.encode(plain(msgspec.to_builtins(record)))
    if b"null" in line:
        return _encoder.encode(_finite(msgspec.to_builtins(record)))
    return line


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


def decode(line: bytes | str, kind: type[T]) -> T:
    """Read one record; a number written as a string is accepted.

    Raises msgspec.DecodeError for whatever is none: also for text that is not UTF-8, and for
    nesting deeper than the reader goes.
    """
    try:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.ValidationError:
            return msgspec.json.decode(line, type=kind, strict=False)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"not UTF-8: {error.reason}") from None
    except RecursionError:
        raise msgspec.DecodeError("nested too deep") from None
