"""Java collections parsed from Java text: lists, arrays and maps, in any way of construction.

The text is only split at commas and brackets; nothing is evaluated. Elements stay quoted until the
expected type decides their conversion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolmark.core import brackets
from toolmark.scoring import java_values
from toolmark.scoring.value_conversion import ConvertedValue, convert_typed_text

Node: TypeAlias = "str | list[Node] | dict[str, Node]"

MAX_CHARS = 65_536
MAX_DEPTH = 20

_NAME = r"(?:java\.util\.)?"
_ARRAY = re.compile(r"new\s+[\w.]+(?:<[^()]*>)?\s*(?:\[[\s\d]*\]\s*)+\{")
_CONSTRUCTOR = re.compile(rf"new\s+{_NAME}(?:\w*(List|Map))\s*(?:<[^()]*>\s*)?\(")
_FACTORY_CALL = re.compile(
    rf"{_NAME}(Arrays\.asList|List\.of|Collections\.(?:singletonList|emptyList|singletonMap|"
    r"emptyMap)|Map\.(?:ofEntries|of|entry))\s*\("
)
_LIST_FACTORIES = ("Arrays.asList", "List.of", "Collections.singletonList", "Collections.emptyList")
_STATEMENT = re.compile(r"(?:this\s*\.\s*)?(add|put)\s*\(")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class JavaCollectionConverter:
    """The official conversion, except that collections are parsed as Java defines them."""

    unconverted_types: Mapping[str, type] = java_values.JAVA_CONVERTER.unconverted_types

    def convert(self, spec: Mapping[str, Any], value: Any, /) -> ConvertedValue:
        """Return the types that the doc expects, and the value; type `any` of elements is None."""
        expected, inner, converted, native = convert_typed_text(
            spec,
            value,
            java_values.JAVA_TYPES,
            java_values.JAVA_COLLECTION_TYPES,
            convert_java_collection,
            "type_error:java",
        )
        untyped = (
            spec["type"] in java_values.JAVA_COLLECTION_TYPES and spec["items"]["type"] == "any"
        )
        return expected, None if untyped else inner, converted, native


JAVA_COLLECTION_CONVERTER = JavaCollectionConverter()


def convert_java_collection(value: str, kind: str, inner: str | None = None) -> Any:
    """Convert text to a collection; text that is not a collection is converted officially."""
    node = parse_collection(value) if kind in ("Array", "ArrayList", "HashMap") else None
    if isinstance(node, dict) and kind == "HashMap":
        return _convert_node(node, "any")
    if isinstance(node, list) and kind != "HashMap":
        return _convert_node(node, inner or "any")
    return java_values.convert_java_value(value, kind, inner)


def _convert_node(node: Node, inner: str) -> Any:
    if isinstance(node, dict):
        return {key: _convert_node(item, "any") for key, item in node.items()}
    if isinstance(node, list):
        return [_convert_node(item, inner) for item in node]
    if _is_quoted(node):
        return unescape_literal(node[1:-1])
    return (
        java_values.guess_java_value(node)
        if inner == "any"
        else java_values.convert_java_value(node, inner)
    )


def _is_quoted(piece: str) -> bool:
    return len(piece) > 1 and piece[0] == piece[-1] and piece[0] in "\"'"


def unescape_literal(text: str) -> str:
    """Return the value of a literal with this text between its quotes."""
    return _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2]), text
    )


def parse_collection(text: str, depth: int = 0) -> Node:
    """Return the collection that the text constructs; other text is returned without outer blanks.

    Text that is too long, nested too deeply or unbalanced is not parsed as a collection.
    """
    text = text.strip().removesuffix(";").rstrip()
    if depth > MAX_DEPTH or len(text) > MAX_CHARS or _is_quoted(text):
        return text
    for head, make in _NODE_PARSERS:
        found = head.match(text)
        pieces = split_elements(text, found.end()) if found else None
        if found is None or pieces is None:
            continue
        node = make(found, pieces[0], text[pieces[1] :].strip(), depth + 1)
        return text if node is None else node
    return text


def split_elements(text: str, start: int) -> tuple[list[str], int] | None:
    """Split at commas up to the closing bracket; return the pieces and the end position.

    The opening bracket is before `start`. Returns None where brackets or quotes do not close.
    """
    try:
        cut, end = brackets.split_at_commas(text, start, "\"'")
    except brackets.UnbalancedBrackets:
        return None
    pieces = [piece.strip() for piece in cut]
    # a comma may follow the last element of an array
    return (pieces[:-1] if pieces[-1] == "" else pieces), end


def _parse_array(_: re.Match[str], pieces: list[str], remainder: str, depth: int) -> Node | None:
    return None if remainder else [_parse_array_element(piece, depth) for piece in pieces]


def _parse_array_element(piece: str, depth: int) -> Node:
    """Return an element of an array; an element in braces is a nested array."""
    if depth > MAX_DEPTH or not piece.startswith("{"):
        return parse_collection(piece, depth)
    cut = split_elements(piece, 1)
    if cut is None or cut[1] < len(piece):
        return piece
    return [_parse_array_element(inner, depth + 1) for inner in cut[0]]


def _parse_constructor(
    found: re.Match[str], pieces: list[str], remainder: str, depth: int
) -> Node | None:
    """Return the collection of a constructor: a copy of its argument, plus its body's elements."""
    start: Node = {} if found[1] == "Map" else []
    if len(pieces) > 1:
        return None
    if pieces and not pieces[0].isdecimal():  # a number is a capacity
        start = parse_collection(pieces[0], depth)
    body = _double_brace_body(remainder)
    if body is None or isinstance(start, str):
        return None
    return start if _apply_statements(start, body, depth) else None


def _double_brace_body(remainder: str) -> str | None:
    """Return the text in double braces after a constructor, None where there is other text."""
    if not remainder:
        return ""
    if not (remainder.startswith("{") and remainder.endswith("}")):
        return None
    inner = remainder[1:-1].strip()
    if not inner:
        return ""
    return inner[1:-1] if inner.startswith("{") and inner.endswith("}") else None


def _apply_statements(node: Node, body: str, depth: int) -> bool:
    """Apply the statements `add(...)` and `put(...)`; return False if there is any other."""
    at = 0
    while at < len(body):
        if body[at].isspace() or body[at] == ";":
            at += 1
            continue
        found = _STATEMENT.match(body, at)
        pieces = split_elements(body, found.end()) if found else None
        if found is None or pieces is None:
            return False
        arguments, at = pieces
        if isinstance(node, list) and found[1] == "add" and len(arguments) == 1:
            node.append(parse_collection(arguments[0], depth))
        elif isinstance(node, dict) and found[1] == "put" and len(arguments) == 2:
            node[_parse_key(arguments[0])] = parse_collection(arguments[1], depth)
        else:
            return False
    return True


def _parse_key(piece: str) -> str:
    return unescape_literal(piece[1:-1]) if _is_quoted(piece) else piece


def _parse_factory_call(
    found: re.Match[str], pieces: list[str], remainder: str, depth: int
) -> Node | None:
    """Return the collection of a factory call, None where its arguments do not fit."""
    name = found[1]
    if remainder:
        return None
    if name in _LIST_FACTORIES:
        return [parse_collection(piece, depth) for piece in pieces]
    if name == "Map.ofEntries":
        entries = [parse_collection(piece, depth) for piece in pieces]
        return {k: v for entry in entries if isinstance(entry, dict) for k, v in entry.items()}
    if len(pieces) % 2:
        return None
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return {_parse_key(key): parse_collection(value, depth) for key, value in pairs}


_NodeParser: TypeAlias = Callable[[re.Match[str], list[str], str, int], "Node | None"]
_NODE_PARSERS: tuple[tuple[re.Pattern[str], _NodeParser], ...] = (
    (_ARRAY, _parse_array),
    (_CONSTRUCTOR, _parse_constructor),
    (_FACTORY_CALL, _parse_factory_call),
)
