"""From a reply to the calls it holds: as the official evaluator reads them, and without its losses.

Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmark import codec
from toolmark.dialects.parse import reply, sketch
from toolmark.dialects.parse.frame import Misshapen, Unreadable, bracketed
from toolmark.dialects.prompt import Format
from toolmark.score.literal import unescaped
from toolmark.suites.bfcl import formats, schema
from toolmark.types import Cause, Reply, Task, Trajectory

FAILED = "ast_decoder:decoder_failed"
MISSHAPEN = "ast_decoder:decoder_wrong_output_format"

# what a model's official handler makes of a stored reply without calls, as its step's `fault`
# says it, and the error type that comes of it
EMPTY = "the model's official handler reads an empty list of calls"
UNREAD = "the model's official handler fails on it"
ODD = "the model's official handler reads something else than calls"
TAKEN = {EMPTY: "", UNREAD: FAILED, ODD: MISSHAPEN}


@dataclass(frozen=True, slots=True)
class Made:
    """The calls of a reply; where there are none to judge, the official class of why, and why.

    `approximate` marks Java and JavaScript text that was read without the exact grammar.
    """

    calls: list[tuple[str, dict[Any, Any]]]
    native: str = ""
    why: str = ""
    cause: Cause = "format"
    approximate: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """The calls of a reply without the official decoder's losses, and which losses there were."""

    calls: list[tuple[str, dict[Any, Any]]]
    reasons: tuple[str, ...] = ()


def made(task: Task, trajectory: Trajectory) -> Made:
    """Read the one reply of a single-turn episode, by the trajectory's dialect."""
    said = said_in(trajectory)
    fault = trajectory.steps[0].fault if trajectory.steps else ""
    if fault in TAKEN:
        return Made([], TAKEN[fault], f"{fault}: {said.text[:120]!r}", "missing_call")
    if formats.form(trajectory.dialect) is None:
        return _native(said)
    return _written(task, trajectory.dialect, codec.restore(said.text))


def said_in(trajectory: Trajectory) -> Reply:
    """Return the one reply; an empty one where there was none."""
    return trajectory.steps[0].reply if trajectory.steps else Reply()


def _native(said: Reply) -> Made:
    """Read structured calls; words instead of calls cannot be read, no words at all are `[]`."""
    if not said.calls and said.text:
        return Made([], FAILED, f"words, no call: {said.text[:120]!r}", "missing_call")
    calls = []
    for index, call in enumerate(said.calls):
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


def _written(task: Task, dialect: str, text: str) -> Made:
    rough = formats.approximate(task, dialect)
    try:
        return Made(formats.calls(task, dialect, text), approximate=rough)
    except Unreadable as error:
        cause: Cause = "format" if reply.attempted(text) else "missing_call"
        native = MISSHAPEN if isinstance(error, Misshapen) else FAILED
        return Made([], native, f"{error}: {text[:120]!r}", cause, rough)


# --- without losses ---------------------------------------------------------------------

_SIGNS = re.compile(r"[+~*]|\bnot\b")
_HEAD = re.compile(r"\w\((?:\)|\w+=(?!=))")


def lossless(trajectory: Trajectory, official: Made) -> bool:
    """Tell at a glance that the official decoder cannot have lost anything of these calls.

    In Python positional arguments come first, so what follows each call's bracket tells. False
    where a second reading is needed to know, as with brackets inside the arguments.
    """
    shape = formats.form(trajectory.dialect)
    if shape is None:
        return True
    text = said_in(trajectory).text
    if shape.calls != "python" or _SIGNS.search(text):
        return False
    n = len(official.calls)
    return text.count("(") == n == len(_HEAD.findall(text))


def whole(task: Task, trajectory: Trajectory, official: Made) -> Whole:
    """Read a reply again without the losses of the official decoder.

    Where that is not possible, or makes no difference, the official calls stand.
    """
    shape = formats.form(trajectory.dialect)
    if shape is None or shape.calls in ("verbose_xml", "concise_xml"):
        return Whole(official.calls)  # the official reader of these loses nothing
    text = codec.restore(said_in(trajectory).text)
    try:
        if task.category in schema.LANGUAGES:
            spoken = [_sketched(text)]
        else:
            spoken = reply.whole(text, shape.calls, tag=shape.tag)
        calls = [_bound(one, schema.docs(task)) for one in spoken]
    except Unreadable:
        return Whole(official.calls)
    if calls == official.calls:
        return Whole(official.calls)
    return Whole(calls, (_loss(task, shape, spoken),))


def _loss(task: Task, shape: Format, spoken: Sequence[reply.Spoken]) -> str:
    """Name what the official decoder lost."""
    if any(one.positional for one in spoken):
        return "positional"
    if task.category in schema.LANGUAGES:
        return "foreign_text"
    return "sign" if shape.calls == "python" else "object_list"


def _sketched(text: str) -> reply.Spoken:
    """Read one call of Java or JavaScript, values as spelled, literals as meant."""
    name, given = sketch.call(bracketed(text)[1:-1])
    named = {key: _bare(value) for key, value in given if key is not None}
    return reply.Spoken(name, tuple(_bare(value) for key, value in given if key is None), named)


def _bare(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return unescaped(value[1:-1]) if quoted else value


def _bound(spoken: reply.Spoken, docs: Sequence[Mapping[str, Any]]) -> tuple[str, dict[Any, Any]]:
    """Give positional arguments the names of the schema, in its order; one too many has none."""
    doc = next((doc for doc in docs if doc["name"] == spoken.name), None)
    if not spoken.positional:
        return spoken.name, spoken.named
    names = list(doc["parameters"]["properties"]) if doc else []
    named: dict[Any, Any] = {}
    for at, value in enumerate(spoken.positional):
        named[names[at] if at < len(names) else f"positional argument {at + 1}"] = value
    doubled = [key for key in named if key in spoken.named]
    if doubled:
        raise Unreadable(f"the argument {doubled[0]} is given twice")
    return spoken.name, {**named, **spoken.named}
