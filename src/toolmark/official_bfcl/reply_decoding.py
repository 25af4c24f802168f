"""Turn a reply into its calls, by the official evaluator's rules and without their losses.

Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.records import Cause, Reply, Task, Trajectory
from toolmark.formats.parse import reply_parser, rough_call_parser
from toolmark.formats.parse.reply_text import MisshapenCalls, UnreadableCalls, add_brackets
from toolmark.formats.prompt_format import PromptVariant
from toolmark.formats.syntax_format import is_syntax_format
from toolmark.official_bfcl import prompt_formats, tool_schemas
from toolmark.scoring.java_collections import unescape_literal

DECODER_FAILED = "ast_decoder:decoder_failed"
WRONG_OUTPUT_FORMAT = "ast_decoder:decoder_wrong_output_format"

# what a model's official handler makes of a stored reply without calls, as in its step's `fault`,
# and the error type that follows
HANDLER_READS_EMPTY = "the model's official handler reads an empty list of calls"
HANDLER_FAILS = "the model's official handler fails on it"
HANDLER_READS_OTHER = "the model's official handler reads something else than calls"
ERROR_TYPE_OF_HANDLER_FAULT = {
    HANDLER_READS_EMPTY: "",
    HANDLER_FAILS: DECODER_FAILED,
    HANDLER_READS_OTHER: WRONG_OUTPUT_FORMAT,
}


@dataclass(frozen=True, slots=True)
class DecodedReply:
    """The calls of a reply; where there are none to judge, the official error class and the reason.

    `is_approximate` marks Java and JavaScript text that was read without the exact grammar.
    """

    calls: list[tuple[str, dict[Any, Any]]]
    error_type: str = ""
    reason: str = ""
    cause: Cause = "format"
    is_approximate: bool = False


@dataclass(frozen=True, slots=True)
class LosslessReply:
    """The calls of a reply without the official decoder's losses, and the names of those losses."""

    calls: list[tuple[str, dict[Any, Any]]]
    losses: tuple[str, ...] = ()


def decode_reply(task: Task, trajectory: Trajectory) -> DecodedReply:
    """Read the one reply of a single-turn episode, by the trajectory's tool format."""
    single = single_reply(trajectory)
    fault = trajectory.steps[0].fault if trajectory.steps else ""
    if fault in ERROR_TYPE_OF_HANDLER_FAULT:
        return DecodedReply(
            [],
            ERROR_TYPE_OF_HANDLER_FAULT[fault],
            f"{fault}: {single.text[:120]!r}",
            "missing_call",
        )
    if prompt_formats.variant_of_format(trajectory.tool_format) is None:
        if fault and is_syntax_format(trajectory.tool_format) and not single.calls:
            return DecodedReply([], DECODER_FAILED, f"{fault}: {single.text[:120]!r}")
        return _decode_native(single)
    return _decode_text(task, trajectory.tool_format, json_codec.restore_surrogates(single.text))


def single_reply(trajectory: Trajectory) -> Reply:
    """Return the one reply; an empty one where there was none.

    Calls that a tool format of open models has read count as structured calls, and not as text.
    """
    if not trajectory.steps:
        return Reply()
    step = trajectory.steps[0]
    if step.calls and is_syntax_format(trajectory.tool_format):
        return replace(step.reply, calls=step.calls, text="")
    return step.reply


def _decode_native(single: Reply) -> DecodedReply:
    """Read structured calls; text instead of calls is unreadable, no text at all is `[]`."""
    if not single.calls and single.text:
        return DecodedReply(
            [], DECODER_FAILED, f"words, no call: {single.text[:120]!r}", "missing_call"
        )
    calls = []
    for index, call in enumerate(single.calls):
        try:
            arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
        except json_codec.InvalidJson as error:
            return DecodedReply(
                [], DECODER_FAILED, f"call {index + 1} {call.name}: arguments: {error}"
            )
        calls.append((json_codec.restore_surrogates(call.name), arguments))
    for index, (name, arguments) in enumerate(calls):
        if not isinstance(arguments, dict):
            found = type(arguments).__name__
            return DecodedReply(
                [], WRONG_OUTPUT_FORMAT, f"call {index + 1} {name}: arguments are a {found}"
            )
    return DecodedReply(calls)


def _decode_text(task: Task, tool_format: str, text: str) -> DecodedReply:
    approximate = prompt_formats.is_approximate(task, tool_format)
    try:
        return DecodedReply(
            prompt_formats.parse_calls(task, tool_format, text), is_approximate=approximate
        )
    except UnreadableCalls as error:
        cause: Cause = "format" if reply_parser.looks_like_calls(text) else "missing_call"
        error_type = WRONG_OUTPUT_FORMAT if isinstance(error, MisshapenCalls) else DECODER_FAILED
        return DecodedReply([], error_type, f"{error}: {text[:120]!r}", cause, approximate)


# --- without losses ---------------------------------------------------------------------

_LOSSY_SIGNS = re.compile(r"[+~*]|\bnot\b")
_CALL_WITH_KEYWORDS = re.compile(r"\w\((?:\)|\w+=(?!=))")


def is_lossless(trajectory: Trajectory, official: DecodedReply) -> bool:
    """Return whether the official decoder certainly lost nothing of these calls, by a quick test.

    In Python positional arguments come first, so the text after each call's bracket decides. False
    where only a second decoding can decide, as with brackets inside the arguments.
    """
    variant = prompt_formats.variant_of_format(trajectory.tool_format)
    if variant is None:
        return True
    text = single_reply(trajectory).text
    if variant.call_form != "python" or _LOSSY_SIGNS.search(text):
        return False
    n = len(official.calls)
    return text.count("(") == n == len(_CALL_WITH_KEYWORDS.findall(text))


def decode_without_losses(
    task: Task, trajectory: Trajectory, official: DecodedReply
) -> LosslessReply:
    """Read a reply again without the losses of the official decoder.

    Where that is not possible, or makes no difference, the result is the official calls.
    """
    variant = prompt_formats.variant_of_format(trajectory.tool_format)
    if variant is None or variant.call_form in ("verbose_xml", "concise_xml"):
        return LosslessReply(official.calls)  # the official reader of these drops nothing
    text = json_codec.restore_surrogates(single_reply(trajectory).text)
    try:
        if task.category in tool_schemas.LANGUAGES:
            parsed = [_parse_foreign_call(text)]
        else:
            parsed = reply_parser.parse_written_calls(text, variant.call_form, tag=variant.has_tag)
        calls = [_bind_positional(call, tool_schemas.published_docs(task)) for call in parsed]
    except UnreadableCalls:
        return LosslessReply(official.calls)
    if calls == official.calls:
        return LosslessReply(official.calls)
    return LosslessReply(calls, (_loss_name(task, variant, parsed),))


def _loss_name(
    task: Task, variant: PromptVariant, parsed: Sequence[reply_parser.WrittenCall]
) -> str:
    """Return the name of what the official decoder lost."""
    if any(call.positional for call in parsed):
        return "positional"
    if task.category in tool_schemas.LANGUAGES:
        return "foreign_text"
    return "sign" if variant.call_form == "python" else "object_list"


def _parse_foreign_call(text: str) -> reply_parser.WrittenCall:
    """Read one call of Java or JavaScript: values by spelling, literals by meaning."""
    name, arguments = rough_call_parser.parse_call(add_brackets(text)[1:-1])
    by_name = {key: _unquoted_text(value) for key, value in arguments if key is not None}
    return reply_parser.WrittenCall(
        name, tuple(_unquoted_text(value) for key, value in arguments if key is None), by_name
    )


def _unquoted_text(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return unescape_literal(value[1:-1]) if is_quoted else value


def _bind_positional(
    call: reply_parser.WrittenCall, docs: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[Any, Any]]:
    """Give positional arguments the schema's names, in its order; a superfluous one has none."""
    doc = next((doc for doc in docs if doc["name"] == call.name), None)
    if not call.positional:
        return call.name, call.keywords
    names = list(doc["parameters"]["properties"]) if doc else []
    by_name: dict[Any, Any] = {}
    for index, value in enumerate(call.positional):
        by_name[names[index] if index < len(names) else f"positional argument {index + 1}"] = value
    repeated = [key for key in by_name if key in call.keywords]
    if repeated:
        raise UnreadableCalls(f"the argument {repeated[0]} is given twice")
    return call.name, {**by_name, **call.keywords}
