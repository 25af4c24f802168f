"""Calls written as JavaScript: `name(a = value, b = value)`; values stay source text.

The official BFCL decoder (specification section 3), node by node of the pinned grammar. Only a call
that is a statement of its own counts, and one pair of equal quotes around a value is dropped.
"""

from __future__ import annotations

from typing import Any

from toolmark.formats.parse import pinned_grammars, rough_call_parser
from toolmark.formats.parse.reply_text import (
    DecodedCalls,
    MisshapenCalls,
    add_argument,
    strip_quotes,
)


def is_grammar_installed() -> bool:
    """Return whether the pinned grammar is installed; without it parsing is approximate."""
    return pinned_grammars.parser_maker("javascript") is not None


def parse_call(text: str) -> DecodedCalls:
    """Parse the call of a text in brackets; raises UnreadableCalls or MisshapenCalls for none."""
    make_parser = pinned_grammars.parser_maker("javascript")
    if make_parser is None:
        return parse_roughly(text[1:-1])
    statements = pinned_grammars.parse_tree(make_parser, text[1:-1]).children
    bodies = [each for each in statements if each.type == "expression_statement"]
    nodes = (node for body in bodies for node in body.children)
    call = next((node for node in nodes if node.type == "call_expression"), None)
    if call is None:
        raise MisshapenCalls("no call")
    return [(_node_text(call.children[0]), _read_arguments(call.children[1]))]


def parse_roughly(source: str) -> DecodedCalls:
    """Parse the one call by brackets and quotes alone."""
    name, named_values = rough_call_parser.parse_call(source)
    arguments: dict[Any, Any] = {}
    for key, value in named_values:
        if key is None and not value.isidentifier():
            continue  # the grammar's parser skips unnamed values that are no names
        add_argument(arguments, key, strip_quotes(value) if key else value)
    return [(name, arguments)]


def _read_arguments(node: Any) -> dict[Any, Any]:
    arguments: dict[Any, Any] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            add_argument(
                arguments,
                _node_text(child.children[0]),
                strip_quotes(_node_text(child.children[2])),
            )
        elif child.type in ("identifier", "true"):
            add_argument(arguments, None, _node_text(child))
    return arguments


def _node_text(node: Any) -> str:
    return node.text.decode("utf-8")  # type: ignore[no-any-return]
