"""From replies to the calls that are executed, per turn and step.

The official evaluator writes each call as Python source and evaluates it. Here nothing is
evaluated: what that does to names, keywords and literals is reproduced, and a call whose
arguments would run code (a call inside a call) is an error.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.types import Call, Step, Trajectory

_PLAIN = (str, int, float, bool, type(None))
_WORD = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")
_BLANKS = " \t\n\r\f"
_LONG_BITS = 14_000  # integers beyond about 4,300 digits have no repr


@dataclass(frozen=True, slots=True)
class Act:
    """A call to execute; `why` says why it cannot be, then it is an error."""

    name: str
    arguments: Mapping[str, Any]
    why: str = ""


Acts: TypeAlias = list[Act]
Turns: TypeAlias = list[list[Acts]]
Rewrite: TypeAlias = Callable[[str], str]


class _Undecoded(ValueError):
    """The official decoder fails on the reply, so the whole step counts for nothing."""


# --- the calls of a trajectory ----------------------------------------------------------


def official(trajectory: Trajectory, rewrite: Rewrite) -> Turns:
    """Return the calls that the official evaluator finds; a step that it cannot decode is left out.

    Text is decoded as Python, the only form that the official multi-turn prompt asks for;
    any other dialect's calls are taken as the dialect read them.
    """
    read = _text if trajectory.dialect.partition(":")[0] == "prompt" else _structured
    turns = _empty(trajectory)
    for step in trajectory.steps:
        try:
            acts = read(step, rewrite)
        except _Undecoded:
            continue
        if acts:
            turns[step.turn].append(acts)
    return turns


def fair(trajectory: Trajectory) -> Turns:
    """Return the calls as the dialect read them; one that cannot be read spoils no other."""
    turns = _empty(trajectory)
    for step in trajectory.steps:
        if step.calls:
            turns[step.turn].append([_plain(call) for call in step.calls])
    return turns


def _empty(trajectory: Trajectory) -> Turns:
    n_turns = max((step.turn for step in trajectory.steps), default=-1) + 1
    return [[] for _ in range(n_turns)]


def _plain(call: Call) -> Act:
    name = codec.restore(call.name)
    try:
        arguments = codec.loads(codec.restore(call.arguments))
    except codec.BadJson as error:
        return Act(name, {}, f"the arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return Act(name, {}, "the arguments must be one JSON object")
    return Act(name, arguments)


def _structured(step: Step, rewrite: Rewrite) -> Acts:
    acts = [_plain(call) for call in step.reply.calls or step.calls]
    if any(act.why for act in acts):
        raise _Undecoded
    return [_settled(act.name, act.arguments, rewrite) for act in acts]


def _text(step: Step, rewrite: Rewrite) -> Acts:
    try:
        found = python.calls(codec.restore(step.reply.text))
    except python.Unreadable:
        raise _Undecoded from None
    return [_written(name, arguments, rewrite) for name, arguments in found]


# --- what writing a call down and evaluating it does to it ------------------------------


def _settled(name: str, given: Mapping[str, Any], rewrite: Rewrite) -> Act:
    """Return a call whose values were written by `repr`."""
    name = name.lstrip(" \t").rstrip()
    if all(key.isidentifier() and key.isascii() and _simple(x) for key, x in given.items()):
        return Act(name, given)
    return _read(name, [(key, _repr(value)) for key, value in given.items()], rewrite)


def _written(name: str, given: Mapping[Any, Any], rewrite: Rewrite) -> Act:
    """Return a call whose values were written by the prompt decoder: some dicts become calls."""
    if all(_simple(x) and not isinstance(x, dict) for x in given.values()) and None not in given:
        return Act(name, given)
    nested: list[str] = []
    written = [(str(key), _nested(value, nested)) for key, value in given.items()]
    if nested:
        return Act(name, {}, f"a call within a call is not executed: {nested[0]}")
    return _read(name, written, rewrite)


def _nested(value: Any, found: list[str]) -> str:
    """Write a value; a dict that holds nothing but dicts is written as a call of its first key."""
    if not isinstance(value, dict):
        return _repr(value)
    if all(isinstance(item, dict) for item in value.values()):
        if not value:
            raise _Undecoded
        first, inner = next(iter(value.items()))
        found.append(str(first))
        parts = [f"{key}={_nested(item, found)}" for key, item in inner.items()]
        return f"{first}({', '.join(parts)})"
    return "{" + ", ".join(f"'{key}': {_nested(x, found)}" for key, x in value.items()) + "}"


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer beyond the digit limit
        raise _Undecoded from None


def _read(name: str, written: Sequence[tuple[str, str]], rewrite: Rewrite) -> Act:
    """Read back what was written, keyword by keyword."""
    arguments: dict[str, Any] = {}
    for key, text in written:
        word = unicodedata.normalize("NFKC", key.strip(_BLANKS))
        if not word.isidentifier() or keyword.iskeyword(word) or word in arguments:
            return Act(name, {}, f"invalid syntax: {key}=...")
        try:
            arguments[word] = ast.literal_eval(rewrite(text))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            return Act(name, {}, str(error))
    return Act(name, arguments)


def _simple(value: Any) -> bool:
    """Tell whether a value comes back as it is, so that writing and reading can be left out."""
    kind: type = type(value)
    if kind is str:
        return "(" not in value
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return bool(value.bit_length() < _LONG_BITS)
    if kind is list:
        return all(map(_simple, value))
    if kind is dict:
        return all(map(_simple, value)) and all(map(_simple, value.values()))
    return kind in _PLAIN


@dataclass(slots=True)
class Rewriter:
    """What the official executor does to source text before it evaluates it.

    Every known method's name before a bracket gets its instance in front, and blanks between a
    word and a bracket vanish, within string literals too. `side` is the part of the instance's
    name that tells model from truth.
    """

    id: str
    side: str
    methods: Mapping[str, str]

    def __call__(self, text: str) -> str:
        """Return the text as it would be evaluated."""
        return _WORD.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        word = found[1]
        owner = self.methods.get(word)
        if owner is None:
            return word
        instance = re.sub(r"[-./:]", "_", f"{self.side}_eval_{self.id}_{owner}_instance")
        return f"{instance}.{word}"


# --- the truth --------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def expected(source: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Read one call of the truth: name, positional and keyword arguments, all literals.

    The answer is shared: copy it before it is used. Raises ValueError for anything else.
    """
    node = ast.parse(source.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"not a call: {source}")
    given = {key.arg or "**": ast.literal_eval(key.value) for key in node.keywords}
    return node.func.id, tuple(ast.literal_eval(item) for item in node.args), given


def truth(source: str, names: Mapping[str, Sequence[str]], rewrite: Rewrite) -> Act:
    """Return a call of the truth with its positional arguments bound to the method's names."""
    name, positional, given = expected(source)
    bound = dict(zip(names.get(name, ()), positional, strict=False)) | given
    if all(map(_simple, bound.values())):
        return Act(name, bound)
    return _read(name, [(key, repr(value)) for key, value in bound.items()], rewrite)
