"""From replies to the calls that are executed, per turn and step.

The official evaluator writes each call as Python source and evaluates it. Here nothing is
evaluated: what that does to names, keywords and literals is reproduced, and a call whose
arguments would run code (a call inside a call) is an error.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.errors import DataError
from toolmark.types import Call, Step, Trajectory

_WORD = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")
_SHOWN_CHARS = 160
_LONG_BITS = 14_000  # integers beyond about 4,300 digits have no repr


@dataclass(frozen=True, slots=True)
class Act:
    """A call to execute; `why` says why it cannot be, then it is an error."""

    name: str
    arguments: Mapping[str, Any]
    why: str = ""


Acts: TypeAlias = list[Act]
Turns: TypeAlias = list[list[Acts]]


class _Undecoded(ValueError):
    """The official decoder fails on the reply, so the whole step counts for nothing."""


# --- the calls of a trajectory ----------------------------------------------------------


def both(trajectory: Trajectory, rewrite: Rewriter) -> tuple[Turns, Turns]:
    """Return the calls that the official evaluator finds, and those that the dialect read.

    A step that the official decoder cannot decode is left out there; on the other side a call
    that cannot be read spoils no other. Text is decoded as Python, the only form that the official
    multi-turn prompt asks for; any other dialect's calls are taken as the dialect read them.
    """
    written = trajectory.dialect.partition(":")[0] == "prompt"
    official, fair = _empty(trajectory), _empty(trajectory)
    for step in trajectory.steps:
        acts = [_plain(call) for call in step.calls]
        if acts:
            fair[step.turn].append(acts)
        try:
            found = _text(step, rewrite) if written else _structured(step, acts, rewrite)
        except _Undecoded:
            continue
        if found:
            official[step.turn].append(found)
    return official, fair


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


def _structured(step: Step, acts: Acts, rewrite: Rewriter) -> Acts:
    if step.reply.calls and step.reply.calls != step.calls:
        acts = [_plain(call) for call in step.reply.calls]
    if any(act.why for act in acts):
        raise _Undecoded
    return [_settled(act, rewrite) for act in acts]


def _settled(act: Act, rewrite: Rewriter) -> Act:
    name, given = act.name, act.arguments
    if name.isidentifier() and all(map(_word, given)) and all(map(_simple, given.values())):
        return act
    try:
        parts = [f"{key}={value!r}" for key, value in given.items()]
    except ValueError:  # an integer beyond the digit limit
        raise _Undecoded from None
    return _read(f"{name}({','.join(parts)})", rewrite)


def _text(step: Step, rewrite: Rewriter) -> Acts:
    try:
        found = python.calls(codec.restore(step.reply.text))
        return [_written(name, given, rewrite) for name, given in found]
    except python.Unreadable:
        raise _Undecoded from None


def _written(name: str, given: Mapping[Any, Any], rewrite: Rewriter) -> Act:
    if all(map(_word, given)) and all(type(x) is not dict and _simple(x) for x in given.values()):
        return Act(name, given)
    return _read(python.execution([(name, dict(given))])[0], rewrite)


def _word(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.isidentifier()


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
    return kind in (bool, type(None))


# --- source text ------------------------------------------------------------------------


@dataclass(slots=True)
class Rewriter:
    """What the official executor does to source text before it evaluates it.

    Every known method's name before a bracket gets its instance in front, and blanks between a
    word and a bracket vanish, within string literals too. `side` is the part of the instance's
    name that tells model from truth; `methods` maps names to classes.
    """

    id: str
    side: str
    methods: Mapping[str, str]

    def __call__(self, text: str) -> str:
        """Return the text as it would be evaluated."""
        return _WORD.sub(lambda found: self.full(found[1]), text)

    def full(self, word: str) -> str:
        """Return a method's name with its instance; any other word as it is."""
        owner = self.methods.get(word)
        if owner is None:
            return word
        instance = re.sub(r"[-./:]", "_", f"{self.side}_eval_{self.id}_{owner}_instance")
        return f"{instance}.{word}"


def _read(source: str, rewrite: Rewriter) -> Act:
    """Read a call back from its rewritten source; anything but a call of a method is an error."""
    try:
        callee, positional, given = parsed(rewrite(source).strip(" \t"))
    except ValueError as error:
        return Act(source.partition("(")[0], {}, str(error))
    name = callee.rpartition(".")[2]
    if positional or rewrite.full(name) != callee:
        return Act(callee, {}, f"name '{callee}' is not defined")
    return Act(name, given)


@lru_cache(maxsize=8192)
def parsed(source: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Read one call whose arguments are literals: callee, positional and keyword arguments.

    The answer is shared: copy it before it is used. Raises ValueError for anything else.
    """
    try:
        node = ast.parse(source, mode="eval").body
        if not isinstance(node, ast.Call):
            raise ValueError("not a call")
        given = {key.arg: codec.literal(key.value) for key in node.keywords}
        positional = tuple(map(codec.literal, node.args))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"invalid syntax: {error}") from None
    named = {key: value for key, value in given.items() if key is not None}
    if len(named) < len(node.keywords):
        raise ValueError("keyword argument repeated, or a mapping spread")
    return ast.unparse(node.func), positional, named


def truth(source: str, names: Mapping[str, Sequence[str]], rewrite: Rewriter | None = None) -> Act:
    """Return a call of the truth with its positional arguments bound to the method's names.

    Raises DataError where the truth is anything but calls with literal arguments.
    """
    try:
        callee, positional, given = parsed(source.strip())
        if rewrite is not None and source.count("(") > 1:
            _, positional, given = parsed(rewrite(source).strip())
    except ValueError as error:
        raise DataError(f"the truth holds {source!r}, which cannot be read: {error}") from None
    return Act(callee, dict(zip(names.get(callee, ()), positional, strict=False)) | given)


# --- for readers ------------------------------------------------------------------------


def told(act: Act) -> str:
    """Return a call as a reader sees it, long values cut; or what is wrong with it."""
    if act.why:
        return f"{act.name}: {shown(act.why)}"
    given = ", ".join(f"{key}={shown(value)}" for key, value in act.arguments.items())
    return f"{act.name}({given})"


def shown(value: Any) -> str:
    """Return a value as a reader sees it, cut where it is long."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # an integer beyond the digit limit
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
