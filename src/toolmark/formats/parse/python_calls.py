"""Calls written as Python: `[name(key=value, ...), ...]`, read from the syntax tree alone.

Copies the official BFCL decoder, including its errors (specification section 3): keyword arguments
only, any unary operator negates, a bare name becomes its own text. Where that code would evaluate
an expression, constant arithmetic is folded within limits and anything else is not readable.
"""

from __future__ import annotations

import ast
import copy
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from toolmark.formats.parse.reply_text import DecodedCalls as DecodedCalls
from toolmark.formats.parse.reply_text import UnreadableCalls as UnreadableCalls
from toolmark.formats.parse.reply_text import add_brackets, check_length

X = TypeVar("X")

MAX_BITS = 4096
MAX_TEXT_CHARS = 65_536
MAX_CACHED_CHARS = 4096

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


class UnevaluatedExpression(UnreadableCalls):
    """An expression that a decoder using eval would have run; it is never run here."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it was written, with its positional arguments."""

    name: str
    positional: tuple[Any, ...]
    keywords: dict[Any, Any]


def parse_reply(text: str) -> DecodedCalls:
    """Parse a complete reply: fences and blanks around it are dropped, missing brackets added.

    Values have their Python types. `[]` is no call and no fault. Raises UnreadableCalls, also for
    text beyond a million characters or nested too deeply for Python's own parser.
    """
    return parse_calls(add_brackets(text))


def parse_calls(text: str) -> DecodedCalls:
    """Parse the calls of one Python expression: a call, or a list, tuple or set of calls."""
    return _parse_safely(text, lambda body: [_read_call(node) for node in _call_nodes(body)])


def parse_written_calls(text: str) -> list[WrittenCall]:
    """Parse the calls as `parse_calls` does, but with positional arguments and correct signs."""
    return _parse_safely(
        text, lambda body: [_read_written_call(node) for node in _call_nodes(_fold_signs(body))]
    )


def _parse_safely(text: str, convert: Callable[[ast.expr], X]) -> X:
    """Parse and convert; any error of Python about such text becomes UnreadableCalls."""
    check_length(text)
    source = text.strip().strip("'")
    tree = _cached_syntax_tree(source) if len(source) <= MAX_CACHED_CHARS else _syntax_tree(source)
    if isinstance(tree, str):
        raise UnreadableCalls(tree)
    try:
        return convert(tree)
    except UnreadableCalls:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:
        raise UnreadableCalls(str(error)) from None
    except (RecursionError, MemoryError):
        raise UnreadableCalls("nested too deeply") from None


def _syntax_tree(text: str) -> ast.expr | str:
    """Return the syntax tree, or Python's error message about such text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd literals warn, and under -W error would fail
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        return str(error)
    except (RecursionError, MemoryError):
        return "nested too deeply"


# a reply is parsed several times: by each grading rule, and by the rules that look for faults
_cached_syntax_tree = lru_cache(maxsize=1024)(_syntax_tree)


def _call_nodes(body: ast.expr) -> list[ast.Call]:
    match body:
        case ast.Call():
            return [body]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            pass
        case _:
            raise UnreadableCalls("not a list of calls")
    found = [item for item in items if isinstance(item, ast.Call)]
    if len(found) < len(items):
        raise UnreadableCalls("something in the list is not a call")
    return found


def _read_call(node: ast.Call) -> tuple[str, dict[Any, Any]]:
    """Return name and keyword arguments.

    Positional and starred ones are lost, `**x` is key None.
    """
    return _dotted_name(node.func), {key.arg: _node_value(key.value) for key in node.keywords}


def _read_written_call(node: ast.Call) -> WrittenCall:
    name, keywords = _read_call(node)
    spread = keywords.pop(None, {})
    if not isinstance(spread, dict):
        raise UnreadableCalls("** of something that is no dictionary")
    return WrittenCall(name, tuple(_node_value(each) for each in node.args), {**spread, **keywords})


def _fold_signs(body: ast.expr) -> ast.expr:
    """Return the tree with signs folded; the given tree is not changed, because it is cached."""
    if not any(isinstance(node, ast.UnaryOp) for node in ast.walk(body)):
        return body
    folded: ast.expr = _SignFolder().visit(copy.deepcopy(body))
    return folded


class _SignFolder(ast.NodeTransformer):
    """Replaces signed constants by constants, so that each sign means what it means in Python."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Fold one operator; `-x` and similar stay, and are unreadable as before."""
        self.generic_visit(node)
        match node.operand:
            case ast.Constant(value=int() | float() | complex() as value):
                return ast.copy_location(ast.Constant(_SIGNS[type(node.op)](value)), node)
        return node


def _dotted_name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _node_value(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.Name(id=name):
            return name
        case ast.List(elts=items):
            return [_node_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_node_value(k): _node_value(v) for k, v in zip(keys, values, strict=True)}
        case ast.Tuple(elts=items):
            return tuple(_node_value(item) for item in items)
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value
        case ast.BinOp():
            return _fold_arithmetic(node)
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call():
            name, arguments = _read_call(node)
            return {name: arguments}
        case ast.Subscript(value=base, slice=index):
            return f"{ast.unparse(base)}[{ast.unparse(index)}]"
        case _:
            raise UnreadableCalls(f"{type(node).__name__} is not a value")


def executor_strings(calls: DecodedCalls) -> list[str]:
    """Write calls as the strings that BFCL's executor gets (specification section 5).

    Values are written by repr. A dictionary of dictionaries becomes a call of its first key. Raises
    UnreadableCalls for an empty dictionary and for integers too long to write, which end a turn.
    """
    try:
        return [f"{name}({_arguments_text(given)})" for name, given in calls]
    except UnreadableCalls:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableCalls(f"cannot be written as a call: {error}") from None


def _arguments_text(arguments: dict[Any, Any]) -> str:
    return ", ".join(f"{key}={_value_text(value)}" for key, value in arguments.items())


def _value_text(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    # the official code fails here: it treats any dictionary of dictionaries as a call
    if not value:
        raise UnreadableCalls("an empty dictionary cannot be written as a call")
    if all(isinstance(item, dict) for item in value.values()):
        name = next(iter(value))
        return f"{name}({_arguments_text(value[name])})"
    items = (f"'{key}': {_value_text(item)}" for key, item in value.items())
    return f"{{{', '.join(items)}}}"


def _fold_arithmetic(node: ast.expr) -> Any:
    """Fold constant arithmetic as Python would; raises UnevaluatedExpression for all else."""
    match node:
        case ast.Constant(value=int() | float() | complex() | str() as value):
            return value
        case ast.UnaryOp(op=op, operand=operand):
            return _SIGNS[type(op)](_fold_arithmetic(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _fold_arithmetic(left), _fold_arithmetic(right)
            _check_operand_sizes(op, a, b)
            return _OPERATORS[type(op)](a, b)
        case _:
            raise UnevaluatedExpression(f"{type(node).__name__} in an expression is not evaluated")


def _check_operand_sizes(op: ast.operator, a: Any, b: Any) -> None:
    """Refuse operands whose result could be too large, and text formatting, which can run code."""
    texts = [x for x in (a, b) if isinstance(x, str)]
    sizes = [x.bit_length() for x in (a, b) if isinstance(x, int)]
    if texts and isinstance(op, ast.Mod):
        raise UnevaluatedExpression("text formatting is not evaluated")
    if texts and isinstance(op, ast.Mult):
        times = a if isinstance(a, int) else b
        size = len(texts[0]) * times if isinstance(times, int) else 0
    else:
        size = sum(map(len, texts))
    if size > MAX_TEXT_CHARS or max(sizes, default=0) > MAX_BITS:
        raise UnevaluatedExpression("the expression is too large to be evaluated")
    if isinstance(op, ast.Pow) and len(sizes) == 2 and abs(b) * a.bit_length() > MAX_BITS:
        raise UnevaluatedExpression("the power is too large to be evaluated")
