"""Turn replies into the calls that are executed, per turn and step.

The official evaluator writes each call as Python source and evaluates it. Nothing is evaluated
here: the effects on names, keywords and literals are reproduced, and a call whose arguments would
run code (a call inside a call) is an error.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.records import Call, Step, Trajectory
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl import prompt_formats

_NAME_BEFORE_BRACKET = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")
_MAX_SHOWN_CHARS = 160
_MAX_INT_BITS = 14_000  # integers beyond about 4,300 digits have no repr


@dataclass(frozen=True, slots=True)
class ExecutableCall:
    """A call to execute; `error` says why it cannot be executed, "" if it can."""

    name: str
    arguments: Mapping[str, Any]
    error: str = ""


CallList: TypeAlias = list[ExecutableCall]
CallsByTurn: TypeAlias = list[list[CallList]]


class _DecodeFailure(ValueError):
    """The official decoder fails on the reply, so no call of the step counts."""


# --- the calls of a trajectory ----------------------------------------------------------


def decode_both_ways(
    trajectory: Trajectory, rewrite: SourceRewriter
) -> tuple[CallsByTurn, CallsByTurn]:
    """Return the calls that the official evaluator finds, and those that the tool format read.

    A step that the official decoder cannot decode is left out of the first; in the second, a call
    that cannot be read spoils no other. Text is decoded as Python, the only form that the official
    multi-turn prompt asks for; calls of any other tool format are taken as that format read them.
    """
    is_text = prompt_formats.is_default_text(trajectory.tool_format)
    official_turns, fair_turns = _empty_turns(trajectory), _empty_turns(trajectory)
    for step in trajectory.steps:
        # the official loop executes nothing of a reply in which a call cannot be read
        calls = [_parse_call(call) for call in step.calls or (() if is_text else step.reply.calls)]
        if calls:
            fair_turns[step.turn].append(calls)
        try:
            found = (
                _official_from_text(step, rewrite)
                if is_text
                else _official_from_structured(step, calls, rewrite)
            )
        except _DecodeFailure:
            continue
        if found:
            official_turns[step.turn].append(found)
    return official_turns, fair_turns


def _empty_turns(trajectory: Trajectory) -> CallsByTurn:
    n_turns = max((step.turn for step in trajectory.steps), default=-1) + 1
    return [[] for _ in range(n_turns)]


def _parse_call(call: Call) -> ExecutableCall:
    name = json_codec.restore_surrogates(call.name)
    try:
        arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    except json_codec.InvalidJson as error:
        return ExecutableCall(name, {}, f"the arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return ExecutableCall(name, {}, "the arguments must be one JSON object")
    return ExecutableCall(name, arguments)


def _official_from_structured(step: Step, calls: CallList, rewrite: SourceRewriter) -> CallList:
    if step.reply.calls and step.reply.calls != step.calls:
        calls = [_parse_call(call) for call in step.reply.calls]
    if any(executable.error for executable in calls):
        raise _DecodeFailure
    return [_rewrite_call(executable, rewrite) for executable in calls]


def _rewrite_call(call: ExecutableCall, rewrite: SourceRewriter) -> ExecutableCall:
    name, arguments = call.name, call.arguments
    if (
        name.isidentifier()
        and all(map(_is_identifier, arguments))
        and all(map(_round_trips, arguments.values()))
    ):
        return call
    try:
        parts = [f"{key}={value!r}" for key, value in arguments.items()]
    except ValueError:  # an integer beyond the digit limit
        raise _DecodeFailure from None
    return _read_source(f"{name}({','.join(parts)})", rewrite)


def _official_from_text(step: Step, rewrite: SourceRewriter) -> CallList:
    try:
        found = python_calls.parse_reply(json_codec.restore_surrogates(step.reply.text))
        return [_rewrite_written_call(name, arguments, rewrite) for name, arguments in found]
    except python_calls.UnreadableCalls:
        raise _DecodeFailure from None


def _rewrite_written_call(
    name: str, arguments: Mapping[Any, Any], rewrite: SourceRewriter
) -> ExecutableCall:
    if all(map(_is_identifier, arguments)) and all(
        type(x) is not dict and _round_trips(x) for x in arguments.values()
    ):
        return ExecutableCall(name, arguments)
    return _read_source(python_calls.executor_strings([(name, dict(arguments))])[0], rewrite)


def _is_identifier(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.isidentifier()


def _round_trips(value: Any) -> bool:
    """Return whether a value survives writing and reading unchanged: then both can be left out."""
    value_type: type = type(value)
    if value_type is str:
        return "(" not in value
    if value_type is float:
        return math.isfinite(value)
    if value_type is int:
        return bool(value.bit_length() < _MAX_INT_BITS)
    if value_type is list:
        return all(map(_round_trips, value))
    if value_type is dict:
        return all(map(_round_trips, value)) and all(map(_round_trips, value.values()))
    return value_type in (bool, type(None))


# --- source text ------------------------------------------------------------------------


@dataclass(slots=True)
class SourceRewriter:
    """What the official executor does to source text before it evaluates it.

    The name of every known method before a bracket gets its instance in front, and blanks between a
    word and a bracket are removed, within string literals too. `instance_suffix` is the part of the
    instance's name that distinguishes model from truth; `methods` maps names to classes.
    """

    id: str
    instance_suffix: str
    methods: Mapping[str, str]

    def __call__(self, text: str) -> str:
        """Return the text that would be evaluated."""
        return _NAME_BEFORE_BRACKET.sub(lambda found: self.qualify_method(found[1]), text)

    def qualify_method(self, word: str) -> str:
        """Return a method's name with its instance, any other word unchanged."""
        owner = self.methods.get(word)
        if owner is None:
            return word
        instance = re.sub(r"[-./:]", "_", f"{self.instance_suffix}_eval_{self.id}_{owner}_instance")
        return f"{instance}.{word}"


def _read_source(source: str, rewrite: SourceRewriter) -> ExecutableCall:
    """Read a call back from its rewritten source; anything but a call of a method is an error."""
    try:
        callee, positional, arguments = parse_literal_call(rewrite(source).strip(" \t"))
    except ValueError as error:
        return ExecutableCall(source.partition("(")[0], {}, str(error))
    name = callee.rpartition(".")[2]
    if positional or rewrite.qualify_method(name) != callee:
        return ExecutableCall(callee, {}, f"name '{callee}' is not defined")
    return ExecutableCall(name, arguments)


@lru_cache(maxsize=8192)
def parse_literal_call(source: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Read one call whose arguments are literals: callee, positional and keyword arguments.

    The result is shared: copy it before you change it. Raises ValueError for anything else.
    """
    try:
        node = ast.parse(source, mode="eval").body
        if not isinstance(node, ast.Call):
            raise ValueError("not a call")
        by_keyword = {key.arg: json_codec.parse_literal(key.value) for key in node.keywords}
        positional = tuple(map(json_codec.parse_literal, node.args))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"invalid syntax: {error}") from None
    arguments = {key: value for key, value in by_keyword.items() if key is not None}
    if len(arguments) < len(node.keywords):
        raise ValueError("keyword argument repeated, or a mapping spread")
    return ast.unparse(node.func), positional, arguments


def read_truth_call(
    source: str, names: Mapping[str, Sequence[str]], rewrite: SourceRewriter | None = None
) -> ExecutableCall:
    """Return a call of the truth with its positional arguments bound to the method's names.

    Raises DataError where the truth is not calls with literal arguments.
    """
    try:
        callee, positional, arguments = parse_literal_call(source.strip())
        if rewrite is not None and source.count("(") > 1:
            _, positional, arguments = parse_literal_call(rewrite(source).strip())
    except ValueError as error:
        raise DataError(f"the truth holds {source!r}, which cannot be read: {error}") from None
    return ExecutableCall(
        callee, dict(zip(names.get(callee, ()), positional, strict=False)) | arguments
    )


# --- for readers ------------------------------------------------------------------------


def format_call(call: ExecutableCall) -> str:
    """Return a call as text for a reader, with long values cut; or what is wrong with it."""
    if call.error:
        return f"{call.name}: {format_value(call.error)}"
    arguments = ", ".join(f"{key}={format_value(value)}" for key, value in call.arguments.items())
    return f"{call.name}({arguments})"


def format_value(value: Any) -> str:
    """Return a value as text for a reader, cut where it is long."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # an integer beyond the digit limit
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."
