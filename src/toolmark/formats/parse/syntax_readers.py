"""Read the calls of a text in a known syntax, by its literals. Nothing is evaluated.

Each reader goes through the text once. It stops at the first call that it cannot read.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Tool
from toolmark.formats.call_syntaxes import CallSyntax, call_syntaxes
from toolmark.formats.parse import python_calls
from toolmark.formats.parse.foreign_calls import WINDOW_CHARS
from toolmark.formats.parse.reply_text import DecodedCalls, UnreadableCalls, check_length

_MAX_LITERAL_CHARS = 2**14
_BLANKS = " \t\r\n"
_FENCE_WORDS = ("```json", "```")
_BEGINS_LIKE_PYTHON = re.compile(r"[\[\s]*[A-Za-z_][\w.]*\(")
_DECODER = json.JSONDecoder()


def read_calls(syntax: CallSyntax, text: str, tools: Sequence[Tool] = ()) -> DecodedCalls:
    """Return the calls with their arguments, none where the text has no call in this syntax.

    `tools` give positional arguments their names, and say which values are texts. Raises
    UnreadableCalls for a call that begins as the syntax does and cannot be read.
    """
    check_length(text)
    match syntax.shape:
        case "json":
            return list(_read_json_calls(syntax, text))
        case "named_json":
            return list(_read_named_calls(syntax, text))
        case "tagged":
            return list(_read_tagged_calls(syntax, text, tools))
        case "python":
            return _read_python_calls(syntax, text, tools)
        case "unread":
            return []


# --- JSON -------------------------------------------------------------------------------


def _read_json_calls(syntax: CallSyntax, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    opening = syntax.call_open
    start = text.find(opening) if opening else -1
    if start >= 0:
        while start >= 0:
            value, end = _decode_json(syntax, text, start + len(opening))
            yield from _calls_of(value)
            start = _next_json(text, end, opening)
    elif syntax.may_be_bare:
        end = _skip_blanks(text, 0, _BLANKS)
        while text[end : end + 1] in ("{", "["):
            value, end = _decode_json(syntax, text, end)
            yield from _calls_of(value)
            end = _skip_blanks(text, end, _BLANKS + ";,")


def _next_json(text: str, end: int, opening: str) -> int:
    """Return where the next call opens; several may follow one opening literal."""
    following = _skip_blanks(text, end, _BLANKS + ";,")
    if text[following : following + 1] == "{":
        return following - len(opening)
    return text.find(opening, end)


def _decode_json(syntax: CallSyntax, text: str, at: int) -> tuple[Any, int]:
    """Return the JSON that begins here, and where it ends; a Python literal counts too."""
    at = _skip_blanks(text, at, _BLANKS)
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError, MemoryError) as error:
        end = text.find(syntax.call_close, at) if syntax.call_close else -1
        if 0 <= end - at <= _MAX_LITERAL_CHARS:
            try:
                return json_codec.parse_literal(text[at:end].strip()), end
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                pass
        raise UnreadableCalls(f"no JSON after {text[max(0, at - 20) : at]!r}: {error}") from None


def _skip_blanks(text: str, at: int, chars: str) -> int:
    while at < len(text) and text[at] in chars:
        at += 1
    return at


def _calls_of(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls of a JSON value: an object, a list of them, or one that holds the list."""
    if isinstance(value, list):
        for item in value:
            yield from _calls_of(item)
        return
    if not isinstance(value, dict):
        raise UnreadableCalls(f"a {type(value).__name__} where a call should be")
    if "tool_calls" in value:
        yield from _calls_of(value["tool_calls"])
        return
    table = call_syntaxes()
    name = next((value[key] for key in table.name_keys if key in value), None)
    if isinstance(name, dict):  # {"function": {"name": ..., "arguments": ...}}
        yield from _calls_of(name)
        return
    if not isinstance(name, str):
        raise UnreadableCalls("an object without a name")
    found: Any = next((value[key] for key in table.arguments_keys if key in value), {})
    yield name, _as_arguments(found)


def _as_arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json_codec.parse_json(value)
        except json_codec.InvalidJson as error:
            raise UnreadableCalls(f"the arguments are no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableCalls(f"the arguments are a {type(value).__name__}")
    return value


# --- a name, then JSON ------------------------------------------------------------------


def _read_named_calls(syntax: CallSyntax, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    at = _find_from(text, syntax.name_open, 0)
    while at >= 0:
        start = at + len(syntax.name_open)
        end = text.find(syntax.name_close, start, start + WINDOW_CHARS)
        if end < 0:
            if not syntax.name_open:
                return
            raise UnreadableCalls(f"no {syntax.name_close!r} after a name")
        name = _plain_name(syntax, text[start:end])
        arguments_at = _skip_blanks(text, end + len(syntax.name_close), _BLANKS)
        for fence in _FENCE_WORDS:
            if text.startswith(fence, arguments_at):
                arguments_at += len(fence)
                break
        value, end = _decode_json(syntax, text, arguments_at)
        yield name, _as_arguments(value)
        at = _find_from(text, syntax.name_open, end)


def _find_from(text: str, literal: str, at: int) -> int:
    """Find a literal; one that is empty stands at the start alone."""
    return text.find(literal, at) if literal else (0 if at == 0 else -1)


def _plain_name(syntax: CallSyntax, text: str) -> str:
    """Return the name in the text between two literals: its first word, without its number."""
    name = next(iter(text.replace("<", " <").split()), "")
    if not name:
        raise UnreadableCalls("a call without a name")
    if syntax.is_numbered:
        base, colon, index = name.rpartition(":")
        name = base if colon and index.isdigit() else name
        name = name.removeprefix("functions.")
    return name


# --- tags -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Finder:
    """Finds literals from left to right; what was found ahead is not looked for again."""

    text: str
    ahead: dict[str, int] = field(default_factory=dict)

    def find(self, literal: str, at: int) -> int:
        """Return where a literal is next, the text's length for nowhere."""
        known = self.ahead.get(literal, -1)
        if known < at:
            found = self.text.find(literal, at)
            known = self.ahead[literal] = len(self.text) if found < 0 else found
        return known


def _read_tagged_calls(
    syntax: CallSyntax, text: str, tools: Sequence[Tool]
) -> Iterator[tuple[str, dict[str, Any]]]:
    finder = _Finder(text)
    text_keys = {tool.name: _text_keys(tool) for tool in tools}
    at = text.find(syntax.name_open)
    while at >= 0:
        start = at + len(syntax.name_open)
        name, at = _tagged_name(syntax, finder, start)
        arguments, at = _tagged_arguments(syntax, finder, at, text_keys.get(name, frozenset()))
        yield name, arguments
        at = text.find(syntax.name_open, at)


def _tagged_name(syntax: CallSyntax, finder: _Finder, start: int) -> tuple[str, int]:
    """Return the name, and where it ends: at its literal, or at the first key or the call's end."""
    if syntax.name_close:
        end = finder.find(syntax.name_close, start)
        after = end + len(syntax.name_close)
    else:
        end = after = min(
            finder.find(syntax.key_open, start), finder.find(syntax.call_close, start)
        )
    name = finder.text[start:end].strip()
    if end >= len(finder.text) or not name or end - start > WINDOW_CHARS or len(name.split()) > 1:
        raise UnreadableCalls(f"no name after {syntax.name_open!r}")
    return name, after


def _tagged_arguments(
    syntax: CallSyntax, finder: _Finder, at: int, text_keys: frozenset[str]
) -> tuple[dict[str, Any], int]:
    """Return the arguments of a call, and where it ends."""
    arguments: dict[str, Any] = {}
    while True:
        key_at, close = finder.find(syntax.key_open, at), finder.find(syntax.call_close, at)
        between = finder.text[at : min(key_at, close)]
        if min(key_at, close) >= len(finder.text):
            raise UnreadableCalls(f"no {syntax.call_close!r} after a call")
        if between.strip():
            raise UnreadableCalls(f"{between.strip()[:40]!r} between two arguments")
        if close < key_at:
            return arguments, close + len(syntax.call_close)
        key_start = key_at + len(syntax.key_open)
        key_end = finder.find(syntax.key_close, key_start)
        value_at = finder.find(syntax.value_open, key_end) if syntax.value_open else key_end
        value_start = value_at + len(syntax.value_open or syntax.key_close)
        end = finder.find(syntax.value_close, value_start)
        if end >= len(finder.text):
            raise UnreadableCalls(f"no {syntax.value_close!r} after a value")
        key = _unescape_key(finder.text[key_start:key_end])
        is_text = key in text_keys or 'string="true"' in finder.text[key_end:value_start]
        raw = finder.text[value_start:end].removeprefix("\n").removesuffix("\n")
        arguments[key] = read_value_text(raw, is_text=is_text)
        at = end + len(syntax.value_close)


def _unescape_key(text: str) -> str:
    """Return a key without entities; Python cannot read a number of thousands of digits."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


def read_value_text(raw: str, *, is_text: bool) -> Any:
    """Return the value that a text between tags stands for.

    That is the text itself, unless it is JSON: a quoted text always is, other JSON only where no
    text is due.
    """
    is_quoted = len(raw) > 1 and raw[0] == raw[-1] == '"'
    if is_text and not is_quoted:
        return raw
    try:
        return json_codec.parse_json(raw)
    except json_codec.InvalidJson:
        return raw


def _text_keys(tool: Tool) -> frozenset[str]:
    """Return the arguments of a tool that are texts by its schema."""
    properties = tool.parameters.get("properties", {})
    return frozenset(
        key
        for key, schema in properties.items()
        if isinstance(schema, dict) and schema.get("type") == "string"
    )


# --- Python -----------------------------------------------------------------------------


def _read_python_calls(syntax: CallSyntax, text: str, tools: Sequence[Tool]) -> DecodedCalls:
    if syntax.call_open:
        start = text.find(syntax.call_open)
        if start < 0:
            return []
        text = text[start + len(syntax.call_open) :]
        text = text.partition(syntax.call_close)[0] if syntax.call_close else text
    elif not _BEGINS_LIKE_PYTHON.match(text):
        return []
    text = text.strip()
    if not text.startswith("["):
        text = f"[{text}]"
    written = python_calls.parse_written_calls(text)
    order = {tool.name: list(tool.parameters.get("properties", {})) for tool in tools}
    return [(call.name, bind_positional(call, order.get(call.name, []))) for call in written]


def bind_positional(call: python_calls.WrittenCall, names: Sequence[str]) -> dict[Any, Any]:
    """Return the arguments by name, positional ones by their order; raises UnreadableCalls."""
    if len(call.positional) > len(names):
        raise UnreadableCalls(f"{call.name}: more positional arguments than the tool has names")
    bound = dict(zip(names, call.positional, strict=False))
    if repeated := bound.keys() & call.keywords.keys():
        raise UnreadableCalls(f"{call.name}: the argument {min(repeated)} is given twice")
    return bound | call.keywords
