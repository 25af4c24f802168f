"""Calls written as JavaScript: `name(a = value, b = value)`; values stay source text.

The official BFCL decoder (specification section 3), node by node of the pinned grammar: only a call
that is a statement of its own counts, and one pair of equal quotes around a value is dropped.
"""

from __future__ import annotations

from typing import Any

from toolmark.dialects.parse import grammar, sketch
from toolmark.dialects.parse.frame import Decoded, Misshapen, bare, put


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
        put(arguments, key, bare(value) if key else value)
    return [(name, arguments)]


def _arguments(node: Any) -> dict[Any, Any]:
    arguments: dict[Any, Any] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            put(arguments, _text(child.children[0]), bare(_text(child.children[2])))
        elif child.type in ("identifier", "true"):
            put(arguments, None, _text(child))
    return arguments


def _text(node: Any) -> str:
    return node.text.decode("utf-8")  # type: ignore[no-any-return]
