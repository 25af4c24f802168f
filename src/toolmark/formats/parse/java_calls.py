"""Calls written as Java: `name(a = value, b = value)`; values stay source text.

The official BFCL decoder (specification section 3), node by node of the pinned grammar. Literals
are left without their quotes, an object's anonymous body is dropped, offsets count bytes but cut
characters.
"""

from __future__ import annotations

import re
from typing import Any

from toolmark.formats.parse import pinned_grammars, rough_call_parser
from toolmark.formats.parse.reply_text import (
    DecodedCalls,
    MisshapenCalls,
    UnreadableCalls,
    add_argument,
    strip_quotes,
)

# a blank may not follow the first blanks, unless one blank is the whole name: linear time
_ANONYMOUS_CLASS = re.compile(
    r"(new\s+(?:[\w.<>,][\w.<>, ]*| )\([^{}]*\))\s*\{.*\}\s*\Z", re.DOTALL
)


def is_grammar_installed() -> bool:
    """Return whether the pinned grammar is installed; without it parsing is approximate."""
    return pinned_grammars.parser_maker("java") is not None


def parse_call(text: str) -> DecodedCalls:
    """Parse the first call of a text in brackets; raises UnreadableCalls or MisshapenCalls."""
    make_parser = pinned_grammars.parser_maker("java")
    source = text[1:-1]
    if make_parser is None:
        return parse_roughly(source)
    try:
        call = _first_call(pinned_grammars.parse_tree(make_parser, source), source)
    except (AttributeError, IndexError) as error:
        raise UnreadableCalls(f"an expression without a part that is due: {error}") from None
    except RecursionError:
        raise UnreadableCalls("nested too deeply") from None
    if call is None:
        raise MisshapenCalls("no call")
    return [call]


def parse_roughly(source: str) -> DecodedCalls:
    """Parse the one call by brackets and quotes alone."""
    name, named_values = rough_call_parser.parse_call(source)
    arguments: dict[Any, Any] = {}
    for key, value in named_values:
        if key is None and not value.replace(".class", "").isidentifier():
            continue  # the grammar's parser skips unnamed values that are no names
        add_argument(arguments, key, _strip_class_body(value))
    return [(name, arguments)]


def _strip_class_body(value: str) -> str:
    body = _ANONYMOUS_CLASS.match(value)
    return body[1] if body else strip_quotes(value)


# --- with the grammar -------------------------------------------------------------------


def _node_text(node: Any, source: str) -> str:
    return source[node.start_byte : node.end_byte]


def _first_call(root: Any, source: str) -> tuple[str, dict[Any, Any]] | None:
    """Return the first method invocation: the outermost and leftmost."""
    node = next(
        (node for node in pinned_grammars.walk_nodes(root) if node.type == "method_invocation"),
        None,
    )
    if node is None:
        return None
    name = _node_text(node.child_by_field_name("name"), source)
    owner = node.child_by_field_name("object")
    if owner:
        name = f"{_node_text(owner, source)}.{name}"
    return name, _read_arguments(node.child_by_field_name("arguments"), source)


def _read_arguments(node: Any, source: str) -> dict[Any, Any]:
    arguments: dict[Any, Any] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            name, value = child.children[0], child.children[2]
            add_argument(arguments, _node_text(name, source), _argument_value(value, source))
        elif child.type in ("identifier", "class_literal"):
            add_argument(arguments, None, _argument_value(child, source))
    return arguments


def _argument_value(node: Any, source: str) -> str:
    if node.type in ("string_literal", "character_literal"):
        return _node_text(node, source)[1:-1]
    return _expression_text(node, source)


def _expression_text(node: Any, source: str) -> str:
    """Return the tokens of an expression without blanks; some kinds are not split."""
    match node.type:
        case (
            "string_literal" | "character_literal" | "identifier" | "class_literal"
            | "type_identifier" | "method_invocation"
        ):  # fmt: skip
            return _node_text(node, source)
        case "array_creation_expression":
            kind = _expression_text(node.child_by_field_name("type"), source)
            return f"new {kind}[]{_expression_text(node.child_by_field_name('value'), source)}"
        case "object_creation_expression":
            return _object_text(node, source)
        case _ if node.child_count > 0:
            return "".join(_expression_text(child, source) for child in node.children)
        case _:
            return _node_text(node, source)


def _object_text(node: Any, source: str) -> str:
    kind = _expression_text(node.child_by_field_name("type"), source)
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        return f"new {kind}()"
    inner = [child for child in arguments.children if child.type not in (",", "(", ")")]
    return f"new {kind}({', '.join(_expression_text(child, source) for child in inner)})"
