"""Java collections as a reader of Java understands them: lists, arrays and maps, however made.

Pieces of text and brackets only, nothing is evaluated. Elements keep their quotes until the type
that is asked for says what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolmark import brackets
from toolmark.score import java
from toolmark.score.kinds import Typed, typed

Node: TypeAlias = "str | list[Node] | dict[str, Node]"

MAX_CHARS = 65_536
MAX_DEPTH = 20

_NAME = r"(?:java\.util\.)?"
_ARRAY = re.compile(r"new\s+[\w.]+(?:<[^()]*>)?\s*(?:\[[\s\d]*\]\s*)+\{")
_MAKER = re.compile(rf"new\s+{_NAME}(?:\w*(List|Map))\s*(?:<[^()]*>\s*)?\(")
_CALL = re.compile(
    rf"{_NAME}(Arrays\.asList|List\.of|Collections\.(?:singletonList|emptyList|singletonMap|"
    r"emptyMap)|Map\.(?:ofEntries|of|entry))\s*\("
)
_LISTS = ("Arrays.asList", "List.of", "Collections.singletonList", "Collections.emptyList")
_STATEMENT = re.compile(r"(?:this\s*\.\s*)?(add|put)\s*\(")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Natural:
    """As the official conversion, but collections are read as Java means them."""

    scalars: Mapping[str, type] = java.JAVA.scalars

    def read(self, spec: Mapping[str, Any], value: Any, /) -> Typed:
        """Return the types the doc asks for, and the value; elements of any type have none."""
        expected, inner, made, native = typed(
            spec, value, java.TYPES, java.NESTED, convert, "type_error:java"
        )
        untyped = spec["type"] in java.NESTED and spec["items"]["type"] == "any"
        return expected, None if untyped else inner, made, native


NATURAL = Natural()


def convert(value: str, kind: str, inner: str | None = None) -> Any:
    """Read a collection; whatever is none is converted as officially."""
    node = read(value) if kind in ("Array", "ArrayList", "HashMap") else None
    if isinstance(node, dict) and kind == "HashMap":
        return _plain(node, "any")
    if isinstance(node, list) and kind != "HashMap":
        return _plain(node, inner or "any")
    return java.convert(value, kind, inner)


def _plain(node: Node, inner: str) -> Any:
    if isinstance(node, dict):
        return {key: _plain(item, "any") for key, item in node.items()}
    if isinstance(node, list):
        return [_plain(item, inner) for item in node]
    if _quoted(node):
        return unescaped(node[1:-1])
    return java.guess(node) if inner == "any" else java.convert(node, inner)


def _quoted(piece: str) -> bool:
    return len(piece) > 1 and piece[0] == piece[-1] and piece[0] in "\"'"


def unescaped(text: str) -> str:
    """Return what a literal with these characters between its quotes means."""
    return _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2]), text
    )


def read(text: str, depth: int = 0) -> Node:
    """Return the collection that the text makes; text that makes none comes back without blanks.

    Too long, nested too deeply or unbalanced text is none.
    """
    text = text.strip().removesuffix(";").rstrip()
    if depth > MAX_DEPTH or len(text) > MAX_CHARS or _quoted(text):
        return text
    for head, make in _MAKERS:
        found = head.match(text)
        pieces = split(text, found.end()) if found else None
        if found is None or pieces is None:
            continue
        made = make(found, pieces[0], text[pieces[1] :].strip(), depth + 1)
        return text if made is None else made
    return text


def split(text: str, start: int) -> tuple[list[str], int] | None:
    """Cut at the commas up to the bracket that closes; return the pieces and where it ends.

    The opening bracket stands before `start`. None where brackets or quotes do not close.
    """
    try:
        cut, end = brackets.split(text, start, "\"'")
    except brackets.Unbalanced:
        return None
    pieces = [piece.strip() for piece in cut]
    # a comma may follow the last element of an array
    return (pieces[:-1] if pieces[-1] == "" else pieces), end


def _array(_: re.Match[str], pieces: list[str], rest: str, depth: int) -> Node | None:
    return None if rest else [_row(piece, depth) for piece in pieces]


def _row(piece: str, depth: int) -> Node:
    """Return an element of an array; bare braces are an array of their own."""
    if depth > MAX_DEPTH or not piece.startswith("{"):
        return read(piece, depth)
    cut = split(piece, 1)
    if cut is None or cut[1] < len(piece):
        return piece
    return [_row(inner, depth + 1) for inner in cut[0]]


def _made(found: re.Match[str], pieces: list[str], rest: str, depth: int) -> Node | None:
    """Return what a constructor makes: a copy of its argument, then what its body adds."""
    start: Node = {} if found[1] == "Map" else []
    if len(pieces) > 1:
        return None
    if pieces and not pieces[0].isdecimal():  # a number is a capacity
        start = read(pieces[0], depth)
    body = _body(rest)
    if body is None or isinstance(start, str):
        return None
    return start if _fill(start, body, depth) else None


def _body(rest: str) -> str | None:
    """Return what stands in the double braces after a constructor, None for anything else."""
    if not rest:
        return ""
    if not (rest.startswith("{") and rest.endswith("}")):
        return None
    inner = rest[1:-1].strip()
    if not inner:
        return ""
    return inner[1:-1] if inner.startswith("{") and inner.endswith("}") else None


def _fill(node: Node, body: str, depth: int) -> bool:
    """Carry out the statements `add(...)` and `put(...)`; False if there is any other."""
    at = 0
    while at < len(body):
        if body[at].isspace() or body[at] == ";":
            at += 1
            continue
        found = _STATEMENT.match(body, at)
        pieces = split(body, found.end()) if found else None
        if found is None or pieces is None:
            return False
        given, at = pieces
        if isinstance(node, list) and found[1] == "add" and len(given) == 1:
            node.append(read(given[0], depth))
        elif isinstance(node, dict) and found[1] == "put" and len(given) == 2:
            node[_key(given[0])] = read(given[1], depth)
        else:
            return False
    return True


def _key(piece: str) -> str:
    return unescaped(piece[1:-1]) if _quoted(piece) else piece


def _called(found: re.Match[str], pieces: list[str], rest: str, depth: int) -> Node | None:
    """Return what a factory makes."""
    name = found[1]
    if rest:
        return None
    if name in _LISTS:
        return [read(piece, depth) for piece in pieces]
    if name == "Map.ofEntries":
        entries = [read(piece, depth) for piece in pieces]
        return {k: v for entry in entries if isinstance(entry, dict) for k, v in entry.items()}
    if len(pieces) % 2:
        return None
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return {_key(key): read(value, depth) for key, value in pairs}


_Make: TypeAlias = Callable[[re.Match[str], list[str], str, int], "Node | None"]
_MAKERS: tuple[tuple[re.Pattern[str], _Make], ...] = (
    (_ARRAY, _array),
    (_MAKER, _made),
    (_CALL, _called),
)
