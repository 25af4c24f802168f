"""Calls within a text that only the handler's own decoder reads as calls."""

from __future__ import annotations

import ast
import builtins
import json
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Call
from toolmark.official_bfcl.handler_replies import (
    MalformedResult,
    StoredReply,
    format_json,
    read_text_reply,
)
from toolmark.official_bfcl.handler_structured_calls import (
    fault_of_iterating_decoder,
    make_call,
    text_without_calls,
)
from toolmark.official_bfcl.reply_decoding import (
    HANDLER_FAILS,
    HANDLER_READS_EMPTY,
)

_MAX_LITERAL_CHARS = 1_000_000  # a longer literal is not parsed, as for Python replies


def read_mining_reply(stored: Any, is_executed: bool) -> StoredReply:
    """Read a list of `{"name": ..., "arguments": ...}`, stored as its original JSON."""
    text = "" if not stored else text_without_calls(stored)
    if text is not None:
        return StoredReply(text, handler_fault=fault_of_iterating_decoder(stored))
    searched_text = _to_text(stored[0] if isinstance(stored, list) else stored)
    try:
        calls = tuple(_mining_calls(stored, is_executed))
    except DecodeFailure:
        return StoredReply(searched_text, handler_fault=HANDLER_FAILS)
    return StoredReply(calls=calls) if calls else StoredReply(searched_text)


def _to_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError) as error:  # such as an integer of any length
        raise MalformedResult(f"a value that cannot be written: {error}") from None


def _mining_calls(items: Any, is_executed: bool) -> Iterable[Call]:
    if not isinstance(items, list):
        raise DecodeFailure
    for item in items:
        if not is_executed:
            yield read_named_call("arguments", item, False)
        elif isinstance(item, dict):
            yield read_named_call("arguments", {"name": "", "arguments": {}} | item, True)


class DecodeFailure(ValueError):
    """The handler's decoder fails on the text."""


def read_calls_in_text(
    find_items: Callable[[str, bool], Iterable[Any]],
    read_call: Callable[[Any, bool], Call],
    stored: Any,
    is_executed: bool,
) -> StoredReply:
    """Read a text with the handler's own decoder; a text on which it fails has no calls."""
    found = read_text_reply(stored, is_executed)
    if stored is None:
        return found
    try:
        calls = tuple(read_call(item, is_executed) for item in find_items(found.text, is_executed))
    except DecodeFailure:
        return found._replace(handler_fault=HANDLER_FAILS)
    return found._replace(calls=calls, handler_fault="" if calls else HANDLER_READS_EMPTY)


def read_named_call(key: str, item: Any, is_executed: bool) -> Call:
    """Read `{"name": ..., key: ...}`."""
    if not isinstance(item, dict) or not {"name", key} <= item.keys():
        raise DecodeFailure
    name, arguments = item["name"], item[key]
    if is_executed and not isinstance(arguments, dict):
        raise DecodeFailure
    if not is_executed and isinstance(name, list | dict):
        raise DecodeFailure
    return make_call(str(name), arguments)


def read_tagged_call(item: Any, is_executed: bool) -> Call:
    """Read a tagged call: one object of arguments; where executed, also the text of one."""
    arguments = item.get("arguments") if isinstance(item, dict) else None
    if is_executed and isinstance(arguments, str):
        arguments = _parse_json(arguments)
    if not isinstance(arguments, dict) or isinstance(item.get("name"), list | dict):
        raise DecodeFailure
    return read_named_call("arguments", {**item, "arguments": arguments}, is_executed)


def _parse_json(text: str) -> Any:
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson:
        raise DecodeFailure from None


def find_tagged_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the values between tags on lines of their own; invalid JSON is skipped."""
    first, last = "<tool_call>\n", "\n</tool_call>"
    found: list[Any] = []
    start = text.find(first)
    while start >= 0:
        end = text.find(last, start + len(first))
        if end < 0:
            break
        with suppress(json_codec.InvalidJson):
            found.append(json_codec.parse_json(text[start + len(first) : end]))
        start = text.find(first, end + len(last))
    return found


def _as_list(found: Any) -> Iterable[Any]:
    return found if isinstance(found, list) else [found]


def find_json_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of a JSON list, or the one call."""
    return _as_list(_parse_json(text))


def find_semicolon_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of JSON, or of several pieces of JSON separated by semicolons."""
    try:
        return find_json_calls(text, is_executed)
    except DecodeFailure:
        return [_parse_json(part.strip()) for part in text.split(";")]


def find_first_tag_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls between the first tags, without fences around them."""
    _, tag, after = text.partition("<tool_call>")
    if not tag:
        raise DecodeFailure
    inner = after.partition("<tool_call>")[0].partition("</tool_call>")[0].strip()
    if inner.startswith("```") and inner.endswith("```"):
        inner = inner.strip("`").strip().removeprefix("json").strip()
    return find_json_calls(inner, is_executed)


def find_unfenced_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of JSON without its fences; a text that is not JSON has none."""
    try:
        found = json_codec.parse_json(text.replace("```", ""))
    except json_codec.InvalidJson:
        return []
    if is_executed:
        found = found.get("tool_calls", []) if isinstance(found, dict) else found
        return [
            {"name": "", "arguments": {}} | item
            for item in _as_list(found)
            if isinstance(item, dict)
        ]
    if not isinstance(found, list | dict | str):
        raise DecodeFailure
    return found


# what the official decoder that evaluates a text can see besides Python's own names
_VISIBLE_NAMES = frozenset(
    ("LlamaHandler_3_1", "OSSHandler", "has_tool_call_tag", "json", "language", "override",
     "result", "self", *vars(builtins))
)  # fmt: skip
# expressions of which a part may never be evaluated
_LAZY_NODES = (
    ast.Await, ast.BoolOp, ast.Compare, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.Lambda,
    ast.ListComp, ast.NamedExpr, ast.SetComp, ast.Yield, ast.YieldFrom,
)  # fmt: skip


def find_literal_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of a Python literal, or of JSON separated by semicolons.

    The official decoder evaluates the text. A literal is its own value, and a name such as JSON's
    `true` is an error there. Raises MalformedResult for anything that would do more.
    """
    text = text.replace("<|python_tag|>", "")
    if ";" in text:
        return [_parse_json(part) for part in text.split(";")]
    if len(text) > _MAX_LITERAL_CHARS:
        raise MalformedResult(
            f"{len(text)} characters of Python; the limit is {_MAX_LITERAL_CHARS}"
        )
    found = _evaluate_literal(text.lstrip(" \t"))
    if not isinstance(found, list | tuple | dict | str):
        raise DecodeFailure
    items = [found] if isinstance(found, dict) else list(found)
    if not _is_json(items):
        raise MalformedResult(f"values that JSON does not have, in {format_json(text)}")
    return items


def _evaluate_literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd literals warn, and under -W error would fail
            tree = ast.parse(text, mode="eval")
        nodes = list(ast.walk(tree))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if names - _VISIBLE_NAMES and not any(isinstance(node, _LAZY_NODES) for node in nodes):
            raise DecodeFailure
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise DecodeFailure from None
    try:
        return ast.literal_eval(tree)
    except TypeError:  # a list for a key
        raise DecodeFailure from None
    except (ValueError, MemoryError, RecursionError):
        message = (
            f"the official handler would evaluate {format_json(text)}; toolmark evaluates nothing"
        )
        raise MalformedResult(message) from None


def _is_json(items: list[Any]) -> bool:
    try:
        return bool(json.loads(json.dumps(items)) == items)
    except (TypeError, ValueError, RecursionError):
        return False
