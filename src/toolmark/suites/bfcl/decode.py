"""From a reply to the calls it holds, as the official evaluator reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.dialects.prompt import attempted
from toolmark.types import Cause, Reply, Trajectory

FAILED = "ast_decoder:decoder_failed"
MISSHAPEN = "ast_decoder:decoder_wrong_output_format"


@dataclass(frozen=True, slots=True)
class Made:
    """The calls of a reply; where there are none to judge, the official class of why, and why."""

    calls: list[tuple[str, dict[Any, Any]]]
    native: str = ""
    why: str = ""
    cause: Cause = "format"


def made(trajectory: Trajectory) -> Made:
    """Read the one reply of a single-turn episode, by the trajectory's dialect."""
    reply = trajectory.steps[0].reply if trajectory.steps else Reply()
    if trajectory.dialect.partition(":")[0] == "prompt":
        return _written(codec.restore(reply.text))
    return _native(reply)


def _native(reply: Reply) -> Made:
    """Read structured calls; words instead of calls cannot be read, no words at all are `[]`."""
    if not reply.calls and reply.text:
        return Made([], FAILED, f"words, no call: {reply.text[:120]!r}", "missing_call")
    calls = []
    for index, call in enumerate(reply.calls):
        try:
            arguments = codec.loads(codec.restore(call.arguments))
        except codec.BadJson as error:
            return Made([], FAILED, f"call {index + 1} {call.name}: arguments: {error}")
        calls.append((codec.restore(call.name), arguments))
    for index, (name, arguments) in enumerate(calls):
        if not isinstance(arguments, dict):
            found = type(arguments).__name__
            return Made([], MISSHAPEN, f"call {index + 1} {name}: arguments are a {found}")
    return Made(calls)


def _written(text: str) -> Made:
    try:
        return Made(python.calls(text))
    except python.Unreadable as error:
        cause: Cause = "format" if attempted(text) else "missing_call"
        return Made([], FAILED, f"{error}: {text[:120]!r}", cause)
