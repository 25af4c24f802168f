"""Calls written as Python: `[name(key=value, ...), ...]`, read from the syntax tree alone.

The official BFCL decoder, quirk by quirk (specification section 3): keyword arguments only, any
unary operator negates, a bare name is its own spelling. Where that code would evaluate an
expression, constant arithmetic is folded within limits and anything else is not readable.
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

from toolmark.dialects.parse.frame import Decoded as Decoded
from toolmark.dialects.parse.frame import Unreadable as Unreadable
from toolmark.dialects.parse.frame import bounded, bracketed

X = TypeVar("X")

MAX_BITS = 4096
MAX_TEXT = 65_536
KEPT_CHARS = 4096

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


class Unfolded(Unreadable):
    """An expression that a decoder using eval would have run; here it is never run."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A call as it was written, positional arguments included."""

    name: str
    positional: tuple[Any, ...]
    named: dict[Any, Any]


def calls(text: str) -> Decoded:
    """Read a whole reply: fences and blanks around it are dropped, missing brackets added.

    Values keep their Python types. `[]` is no call and no fault. Raises Unreadable, also for text
    beyond a million characters or nested too deeply for Python's own parser.
    """
    return parse(bracketed(text))


def parse(text: str) -> Decoded:
    """Read the calls of one Python expression: a call, or a list, tuple or set of calls."""
    return _guard(text, lambda body: [_call(node) for node in _nodes(body)])


def whole(text: str) -> list[Spoken]:
    """Read the calls as `parse`, but keep positional arguments and what signs mean."""
    return _guard(text, lambda body: [_spoken(node) for node in _nodes(_signed(body))])


def _guard(text: str, read: Callable[[ast.expr], X]) -> X:
    """Parse and read; whatever Python says about such text becomes Unreadable."""
    bounded(text)
    source = text.strip().strip("'")
    tree = _kept(source) if len(source) <= KEPT_CHARS else _tree(source)
    if isinstance(tree, str):
        raise Unreadable(tree)
    try:
        return read(tree)
    except Unreadable:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Unreadable(str(error)) from None
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deeply") from None


def _tree(text: str) -> ast.expr | str:
    """Return the syntax tree, or what Python says about such text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd literals warn, and under -W error would fail
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        return str(error)
    except (RecursionError, MemoryError):
        return "nested too deeply"


# a reply is read several times: by each reading, and by the rules that look for what is wrong
_kept = lru_cache(maxsize=1024)(_tree)


def _nodes(body: ast.expr) -> list[ast.Call]:
    match body:
        case ast.Call():
            return [body]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            pass
        case _:
            raise Unreadable("not a list of calls")
    found = [item for item in items if isinstance(item, ast.Call)]
    if len(found) < len(items):
        raise Unreadable("something in the list is not a call")
    return found


def _call(node: ast.Call) -> tuple[str, dict[Any, Any]]:
    """Return name and keyword arguments; positional and starred ones vanish, `**x` is key None."""
    return _name(node.func), {key.arg: _value(key.value) for key in node.keywords}


def _spoken(node: ast.Call) -> Spoken:
    name, named = _call(node)
    spread = named.pop(None, {})
    if not isinstance(spread, dict):
        raise Unreadable("** of something that is no dictionary")
    return Spoken(name, tuple(_value(each) for each in node.args), {**spread, **named})


def _signed(body: ast.expr) -> ast.expr:
    """Return the tree with signs folded; the tree itself is left as it is, others may read it."""
    if not any(isinstance(node, ast.UnaryOp) for node in ast.walk(body)):
        return body
    folded: ast.expr = _Signs().visit(copy.deepcopy(body))
    return folded


class _Signs(ast.NodeTransformer):
    """Put constants in place of signed constants, so that each sign does what Python says."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Fold one; `-x` and the like stay, and are unreadable as before."""
        self.generic_visit(node)
        match node.operand:
            case ast.Constant(value=int() | float() | complex() as value):
                return ast.copy_location(ast.Constant(_SIGNS[type(node.op)](value)), node)
        return node


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _value(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.Name(id=name):
            return name
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_value(k): _value(v) for k, v in zip(keys, values, strict=True)}
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value
        case ast.BinOp():
            return _fold(node)
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call():
            name, arguments = _call(node)
            return {name: arguments}
        case ast.Subscript(value=base, slice=index):
            return f"{ast.unparse(base)}[{ast.unparse(index)}]"
        case _:
            raise Unreadable(f"{type(node).__name__} is not a value")


def execution(calls: Decoded) -> list[str]:
    """Write calls as the strings that BFCL's executor is given (specification section 5).

    Values are written by repr. A dictionary of dictionaries becomes a call of its first key.
    Raises Unreadable for an empty dictionary and for integers too long to write, which end a turn.
    """
    try:
        return [f"{name}({_listed(given)})" for name, given in calls]
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"cannot be written as a call: {error}") from None


def _listed(given: dict[Any, Any]) -> str:
    return ", ".join(f"{key}={_nested(value)}" for key, value in given.items())


def _nested(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    if (
        not value
    ):  # the official code fails here: it takes any dictionary of dictionaries for a call
        raise Unreadable("an empty dictionary cannot be written as a call")
    if all(isinstance(item, dict) for item in value.values()):
        name = next(iter(value))
        return f"{name}({_listed(value[name])})"
    items = (f"'{key}': {_nested(item)}" for key, item in value.items())
    return f"{{{', '.join(items)}}}"


def _fold(node: ast.expr) -> Any:
    """Fold constant arithmetic as Python would; raises Unfolded for all else."""
    match node:
        case ast.Constant(value=int() | float() | complex() | str() as value):
            return value
        case ast.UnaryOp(op=op, operand=operand):
            return _SIGNS[type(op)](_fold(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _fold(left), _fold(right)
            _bound(op, a, b)
            return _OPERATORS[type(op)](a, b)
        case _:
            raise Unfolded(f"{type(node).__name__} in an expression is not evaluated")


def _bound(op: ast.operator, a: Any, b: Any) -> None:
    """Refuse what could grow without limit, and text formatting, which is a language of its own."""
    texts = [x for x in (a, b) if isinstance(x, str)]
    sizes = [x.bit_length() for x in (a, b) if isinstance(x, int)]
    if texts and isinstance(op, ast.Mod):
        raise Unfolded("text formatting is not evaluated")
    if texts and isinstance(op, ast.Mult):
        times = a if isinstance(a, int) else b
        size = len(texts[0]) * times if isinstance(times, int) else 0
    else:
        size = sum(map(len, texts))
    if size > MAX_TEXT or max(sizes, default=0) > MAX_BITS:
        raise Unfolded("the expression is too large to be evaluated")
    if isinstance(op, ast.Pow) and len(sizes) == 2 and abs(b) * a.bit_length() > MAX_BITS:
        raise Unfolded("the power is too large to be evaluated")
