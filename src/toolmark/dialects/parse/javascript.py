"""Calls written as JavaScript: `name(a = value, b = value)`; values stay source text.

The official BFCL decoder (specification section 3), node by node of the pinned grammar: only a call
that is a statement of its own counts, and one pair of equal quotes around a value is dropped.
"""

from __future__ import annotations

from typing import Any

from toolmark.dialects.parse import grammar, sketch
from toolmark.dialects.parse.frame import Decoded, Misshapen, Unreadable


def exact() -> bool:
    """Tell whether the pinned grammar is there; without it reading is approximate."""
    return grammar.parser("javascript") is not None


def parse(text: str) -> Decoded:
    """Read the call of a text in brackets; raises Unreadable, Misshapen if there is none."""
    found = grammar.parser("javascript")
    if found is None:
        return rough(text[1:-1])
    statements = grammar.tree(found, text[1:-1]).children
    bodies = [each for each in statements if each.type == "expression_statement"]
    nodes = (node for body in bodies for node in body.children)
    call = next((node for node in nodes if node.type == "call_expression"), None)
    if call is None:
        raise Misshapen("no call")
    return [(_text(call.children[0]), _arguments(call.children[1]))]


def rough(source: str) -> Decoded:
    """Read the one call by brackets and quotes alone."""
    name, given = sketch.call(source)
    arguments: dict[Any, Any] = {}
    for key, value in given:
        if key is None and not value.isidentifier():
            continue  # the grammar's reader passes over unnamed values that are no names
        _put(arguments, key, _bare(value) if key else value)
    return [(name, arguments)]


def _arguments(node: Any) -> dict[Any, Any]:
    arguments: dict[Any, Any] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            _put(arguments, _text(child.children[0]), _bare(_text(child.children[2])))
        elif child.type in ("identifier", "true"):
            _put(arguments, None, _text(child))
    return arguments


def _text(node: Any) -> str:
    return node.text.decode("utf-8")  # type: ignore[no-any-return]


def _bare(value: str) -> str:
    quoted = any(value.startswith(quote) and value.endswith(quote) for quote in "\"'")
    return value[1:-1] if quoted else value


def _put(arguments: dict[Any, Any], key: str | None, value: str) -> None:
    if key in arguments:
        raise Unreadable(f"the argument {key} is given twice")
    arguments[key] = value
