"""Records to bytes and back, and text from outside made safe to store.

Model text may contain lone surrogates, numbers that are not finite, or integers of any length. The
JSON of msgspec cannot store them. So text is escaped reversibly when it enters, and such numbers
inside free-form values become strings.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

SURROGATE_MARK = "\ufdd0"  # a noncharacter, before the four hex digits of a lone surrogate
_UNENCODABLE = re.compile("[\ud800-\udfff\ufdd0]")
_ESCAPED_SURROGATE = re.compile("\ufdd0([0-9a-f]{4})")

MAX_JSON_CHARS = 16 * 2**20
MAX_JSON_DEPTH = 200
_MAX_ROWS_CHARS = 10**6  # of a tool's result

_MEMORY_ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-f]{1,16}(?=>)")
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,4})?\s?%?", re.IGNORECASE)
_encoder = msgspec.json.Encoder()


class InvalidJson(ValueError):
    """Text that should be JSON and is not, or is beyond the limits."""


def escape_surrogates(text: str) -> str:
    """Return text that can be encoded: each lone surrogate (and the mark) becomes mark + 4 hex."""
    if text.isascii():
        return text
    return _UNENCODABLE.sub(lambda found: f"{SURROGATE_MARK}{ord(found[0]):04x}", text)


def restore_surrogates(text: str) -> str:
    """Undo `escape_surrogates`."""
    if SURROGATE_MARK not in text:
        return text
    return _ESCAPED_SURROGATE.sub(lambda found: chr(int(found[1], 16)), text)


def parse_json(text: str, parse_integer: Callable[[str], int] | None = None) -> Any:
    """Read JSON as Python's `json` does, within limits of size and depth.

    `parse_integer` reads integers, for callers that do not want Python's limit on their digits.
    Raises InvalidJson for anything unreadable: wrong syntax, more than 16 MiB, deeper than 200,
    integers beyond Python's digit limit.
    """
    check_json_size(text)
    try:
        return json.loads(text, parse_int=parse_integer)
    except (ValueError, RecursionError, MemoryError) as error:
        raise InvalidJson(str(error)) from None


def check_json_size(text: str) -> None:
    """Raise InvalidJson for text that is larger, or nests deeper, than JSON that is read."""
    if len(text) > MAX_JSON_CHARS:
        raise InvalidJson(f"{len(text)} characters; the limit is {MAX_JSON_CHARS}")
    if _nesting_bound(text) > MAX_JSON_DEPTH:
        raise InvalidJson(f"nested deeper than {MAX_JSON_DEPTH}")


def parse_rows(text: str) -> list[dict[str, Any]]:
    """Return the rows in a tool's result: JSON, or a list in Python's notation.

    Only the list itself is read; text inside it that looks like a list is not. A result that is not
    a list, or is longer than a million characters, has no rows.
    """
    if len(text) > _MAX_ROWS_CHARS:
        return []
    for parse in (json.loads, parse_literal):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return []


def parse_literal(source: str | ast.expr) -> Any:
    """Return the value of a Python literal, as `ast.literal_eval` does.

    Other text raises ValueError, SyntaxError, TypeError, RecursionError or MemoryError. No message
    contains a memory address, so that equal texts give equal messages.
    """
    try:
        return ast.literal_eval(source)
    except ValueError as error:
        raise ValueError(strip_memory_addresses(str(error))) from None


def strip_memory_addresses(text: str) -> str:
    """Return Python's descriptions of objects, "<Name object at 0x7f...>", without addresses.

    An address differs between processes, so that equal runs would store different texts.
    """
    return _MEMORY_ADDRESS.sub("", text)


def _nesting_bound(text: str) -> int:
    """Return an upper bound of the nesting depth; brackets inside strings are counted too."""
    n_opening = text.count("[") + text.count("{")
    if n_opening <= MAX_JSON_DEPTH:
        return n_opening
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
            if depth > MAX_JSON_DEPTH:  # deep enough to be refused
                return depth
        elif char in "]}":
            depth -= 1
    return deepest


def to_plain_json(value: Any) -> Any:
    """Return the value with only what JSON can store.

    Floats that are not finite and integers beyond 64 bits become strings. Tuples and sets become
    lists, keys become strings, and any other object its repr without the memory address.
    """
    match value:
        case None | bool():
            return value
        case str():
            return escape_surrogates(value)
        case int():
            return value if -(2**63) <= value < 2**63 else _format_large_integer(value)
        case float():
            return value if math.isfinite(value) else repr(value)
        case dict():
            return {escape_surrogates(str(key)): to_plain_json(item) for key, item in value.items()}
        case list() | tuple():
            return [to_plain_json(item) for item in value]
        case set() | frozenset():
            return sorted((to_plain_json(item) for item in value), key=repr)
        case _:
            return escape_surrogates(strip_memory_addresses(repr(value)))


def convert_to_json(value: Any) -> Any:
    """Return a value of the user's code as plain JSON values, sets and keys in a fixed order.

    Dataclasses, Structs, enums, dates and Pydantic models become what JSON has for them. Raises
    TypeError or ValueError for what JSON has nothing for, such as bytes and NaN.
    """
    plain = msgspec.to_builtins(
        value,
        order="deterministic",
        enc_hook=_convert_pydantic_model,
        builtin_types=(bytes, bytearray, memoryview),
    )
    _refuse_foreign_values(plain)
    return to_plain_json(plain)


def _refuse_foreign_values(value: Any) -> None:
    match value:
        case bytes() | bytearray() | memoryview():
            raise TypeError(f"{type(value).__name__} is not a JSON value; decode it")
        case float() if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        case dict():
            for key, item in value.items():
                if not isinstance(key, str | int | float):
                    raise TypeError(f"a key of an object is text, got {type(key).__name__}")
                _refuse_foreign_values(item)
        case list() | tuple() | set() | frozenset():
            for item in value:
                _refuse_foreign_values(item)


def _convert_pydantic_model(value: Any) -> Any:
    """Return a Pydantic model as plain values; Pydantic is not imported for it."""
    if not is_pydantic_model(type(value)):
        raise TypeError(f"{type(value).__name__} is not a JSON value")
    return value.model_dump(mode="json")


def is_pydantic_model(kind: object) -> bool:
    """Return whether a class is a Pydantic model; where there is one, Pydantic is imported."""
    pydantic: Any = sys.modules.get("pydantic")
    return pydantic is not None and inspect.isclass(kind) and issubclass(kind, pydantic.BaseModel)


def _format_large_integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond the digit limit of str(); hexadecimal has none
        return hex(value)


def csv_cell(value: str | float) -> str:
    """Return a value as one cell of a CSV file that no spreadsheet takes for a formula.

    Text that begins with = + - @, a tab or a line break (or the full-width form of a sign) gets an
    apostrophe before it. So does text that begins with apostrophes before one of these: removing
    one apostrophe restores every text. Numbers stay numbers, for example "-0.5" and "+3 %". Text
    with commas, quotes or line breaks is quoted.
    """
    if not isinstance(value, str):
        return str(value)
    text = f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
    if not any(sign in text for sign in ',"\r\n'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def encode_record(record: Any) -> bytes:
    """Write one record as one line of JSON, without the newline.

    msgspec writes an infinite float as null. Where a null appears, the record is checked by a
    slower function, and such floats become strings.
    """
    try:
        line = _encoder.encode(record)
    except (UnicodeEncodeError, OverflowError):
        return _encoder.encode(to_plain_json(msgspec.to_builtins(record)))
    if b"null" in line:
        return _encoder.encode(_replace_infinite(msgspec.to_builtins(record)))
    return line


def _replace_infinite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case dict():
            return {key: _replace_infinite(item) for key, item in value.items()}
        case list() | tuple():
            return [_replace_infinite(item) for item in value]
        case _:
            return value


def decode_record(line: bytes | str, kind: type[T]) -> T:
    """Read one record; a number written as a string is accepted.

    Raises msgspec.DecodeError for any other input, also for text that is not UTF-8 and for nesting
    deeper than the reader allows.
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
