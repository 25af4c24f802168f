"""Calls written as Java: `name(a = value, b = value)`; values stay source text.

The official BFCL decoder (specification section 3), node by node of the pinned grammar: literals
lose their quotes, an object's anonymous body is dropped, offsets count bytes but cut characters.
"""

from __future__ import annotations

import re
from typing import Any

from toolmark.dialects.parse import grammar, sketch
from toolmark.dialects.parse.frame import Decoded, Misshapen, Unreadable, bare, put

# what follows the blanks is no blank, but for the one that may be all there is
_BODY = re.compile(r"(new\s+(?:[\w.<>,][\w.<>, ]*| )\([^{}]*\))\s*\{.*\}\s*\Z", re.DOTALL)


def exact() -> bool:
    """Tell whether the pinned grammar is there; without it reading is approximate."""
    return grammar.parser("java") is not None


def parse(text: str) -> Decoded:
    """Read the first call of a text in brackets; raises Unreadable, Misshapen if there is none."""
    found = grammar.parser("java")
    source = text[1:-1]
    if found is None:
        return rough(source)
    try:
        call = _first(grammar.tree(found, source), source)
    except (AttributeError, IndexError) as error:
        raise Unreadable(f"an expression without a part that is due: {error}") from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    if call is None:
        raise Misshapen("no call")
    return [call]


def rough(source: str) -> Decoded:
    """Read the one call by brackets and quotes alone."""
    name, given = sketch.call(source)
    arguments: dict[Any, Any] = {}
    for key, value in given:
        if key is None and not value.replace(".class", "").isidentifier():
            continue  # the grammar's reader passes over unnamed values that are no names
        put(arguments, key, _bare(value))
    return [(name, arguments)]


def _bare(value: str) -> str:
    body = _BODY.match(value)
    return body[1] if body else bare(value)


# --- with the grammar -------------------------------------------------------------------


def _text(node: Any, source: str) -> str:
    return source[node.start_byte : node.end_byte]


def _first(root: Any, source: str) -> tuple[str, dict[Any, Any]] | None:
    """Return the first method invocation, outermost and leftmost."""
    node = next((node for node in grammar.walk(root) if node.type == "method_invocation"), None)
    if node is None:
        return None
    name = _text(node.child_by_field_name("name"), source)
    owner = node.child_by_field_name("object")
    if owner:
        name = f"{_text(owner, source)}.{name}"
    return name, _arguments(node.child_by_field_name("arguments"), source)


def _arguments(node: Any, source: str) -> dict[Any, Any]:
    arguments: dict[Any, Any] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            name, value = child.children[0], child.children[2]
            put(arguments, _text(name, source), _value(value, source))
        elif child.type in ("identifier", "class_literal"):
            put(arguments, None, _value(child, source))
    return arguments


def _value(node: Any, source: str) -> str:
    if node.type in ("string_literal", "character_literal"):
        return _text(node, source)[1:-1]
    return _inner(node, source)


def _inner(node: Any, source: str) -> str:
    """Spell an expression: its tokens without blanks, but for the kinds that keep their text."""
    match node.type:
        case (
            "string_literal" | "character_literal" | "identifier" | "class_literal"
            | "type_identifier" | "method_invocation"
        ):  # fmt: skip
            return _text(node, source)
        case "array_creation_expression":
            kind = _inner(node.child_by_field_name("type"), source)
            return f"new {kind}[]{_inner(node.child_by_field_name('value'), source)}"
        case "object_creation_expression":
            return _object(node, source)
        case _ if node.child_count > 0:
            return "".join(_inner(child, source) for child in node.children)
        case _:
            return _text(node, source)


def _object(node: Any, source: str) -> str:
    kind = _inner(node.child_by_field_name("type"), source)
    given = node.child_by_field_name("arguments")
    if given is None:
        return f"new {kind}()"
    inner = [child for child in given.children if child.type not in (",", "(", ")")]
    return f"new {kind}({', '.join(_inner(child, source) for child in inner)})"
