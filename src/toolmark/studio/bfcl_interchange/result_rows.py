"""One official result row read as an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Reply, Step, Task, ToolFormat, Trajectory, Usage
from toolmark.official_bfcl.handler_replies import (
    MalformedResult,
    ReplyReader,
    StoredReply,
    format_json,
    read_text_reply,
)
from toolmark.studio.bfcl_interchange.official_handlers import HandlerFormat
from toolmark.suites.bfcl.bfcl_scorer import INFERENCE_ERROR, NESTED_PREFIXES

USAGE_FIELDS = ("input_token_count", "output_token_count", "latency")
_MAX_COUNT = 2**53  # a higher count is an error, and JSON readers do not agree on it


class ResultRow(msgspec.Struct):
    """A line of an official result file; other fields (logs) are not read."""

    id: str
    result: Any = msgspec.UNSET
    input_token_count: Any = None
    output_token_count: Any = None
    latency: Any = None
    reasoning_content: Any = None
    traceback: Any = None


class RowReader:
    """Reads one model's rows.

    `underscores_for_dots` says whether its calls write the dots of tool names as underscores; None
    accepts either.
    """

    def __init__(
        self,
        tool_formats: Mapping[str, ToolFormat],
        handler_format: HandlerFormat,
        *,
        underscores_for_dots: bool | None = None,
    ) -> None:
        self.tool_formats = tool_formats
        self.handler_format = handler_format
        self.underscores_for_dots = underscores_for_dots

    def read_trajectory(self, task: Task, row: ResultRow) -> Trajectory:
        """Return the episode of a row. Raises MalformedResult."""
        tool_format = self.tool_formats[task.tool_format or self.handler_format.reply_form]
        if row.result is msgspec.UNSET:
            raise MalformedResult("no result")
        if _holds_error(row):
            return _error_trajectory(task, row, tool_format.name)
        turns = self._read_turns(task, row)
        names = {} if tool_format.calls_in_text else _tool_names(task, self.underscores_for_dots)
        steps: list[Step] = []
        for number, replies in enumerate(turns):
            for reply, fault in replies:
                renamed = _rename_calls(reply, names) if names and reply.calls else reply
                calls = tool_format.parse_reply(renamed, task.tools).calls
                steps.append(Step(reply=renamed, turn=number, calls=calls, fault=fault))
        last = steps[-1] if steps else None
        return Trajectory(
            task=task.id,
            tool_format=tool_format.name,
            steps=tuple(steps),
            answer="" if last is None or last.calls else last.reply.text,
            ending="answered" if len(turns) == len(task.turns) else "steps",
            usage=Usage(
                input=sum(step.reply.usage.input for step in steps),
                output=sum(step.reply.usage.output for step in steps),
            ),
            latency_s=sum(step.reply.latency_s for step in steps),
        )

    def _read_turns(self, task: Task, row: ResultRow) -> list[list[tuple[Reply, str]]]:
        """Return the replies turn by turn; in a single turn with what the handler makes of it."""
        if not task.category.startswith(NESTED_PREFIXES):
            stored = self._reply_reader(task)(row.result, False)
            return [[(_make_reply(stored, row, None), stored.handler_fault)]]
        if not isinstance(row.result, list):
            raise MalformedResult(
                f"a result is a list of turns here, not {format_json(row.result)}"
            )
        turns = []
        for i, steps in enumerate(row.result):
            if not isinstance(steps, list):
                raise MalformedResult(f"turn {i + 1} is a list of steps, not {format_json(steps)}")
            # a turn without a step still counts as one
            read_reply = self._reply_reader(task)
            replies = [
                (_make_reply(read_reply(stored, True), row, (i, j)), "")
                for j, stored in enumerate(steps)
            ]
            turns.append(replies or [(Reply(), "")])
        return turns

    def _reply_reader(self, task: Task) -> ReplyReader:
        if not task.tool_format:
            return self.handler_format.read_reply
        if not self.handler_format.reads_formats:
            raise MalformedResult(
                "the model's official handler reads no other formats than its own"
            )
        return (
            self.handler_format.read_reply
            if self.handler_format.reply_form == "prompt"
            else read_text_reply
        )


def _make_reply(stored: StoredReply, row: ResultRow, position: tuple[int, int] | None) -> Reply:
    reasoning = _value_at(row.reasoning_content, position)
    n_input, n_output, latency_s = (_read_number(row, name, position) for name in USAGE_FIELDS)
    return Reply(
        text=json_codec.escape_surrogates(stored.text),
        calls=stored.calls,
        reasoning=json_codec.escape_surrogates(reasoning) if isinstance(reasoning, str) else "",
        usage=Usage(input=int(n_input), output=int(n_output)),
        latency_s=latency_s,
    )


def _tool_names(task: Task, underscores_for_dots: bool | None) -> dict[str, str]:
    """Return the meaning of names in stored calls, where a name has another meaning than itself.

    Where the official evaluator expects underscores it refuses the dotted name, so the two are
    exchanged; a model of which nothing is known may use either.
    """
    if underscores_for_dots is False:
        return {}
    tools = [tool.name for tool in task.tools]
    dotted = {name: name.replace(".", "_") for name in tools if "." in name}
    original = {plain: name for name, plain in dotted.items() if plain not in tools}
    return original | dotted if underscores_for_dots else original


def _rename_calls(reply: Reply, names: Mapping[str, str]) -> Reply:
    calls = [
        msgspec.structs.replace(call, name=names.get(call.name, call.name)) for call in reply.calls
    ]
    return msgspec.structs.replace(reply, calls=tuple(calls))


def _value_at(value: Any, position: tuple[int, int] | None) -> Any:
    """Return the number or text of one step from a list of lists; the value itself for one turn."""
    if position is None:
        return value
    for index in position:
        if not isinstance(value, list) or index >= len(value):
            return None
        value = value[index]
    return value


def _read_number(row: ResultRow, name: str, position: tuple[int, int] | None) -> float:
    """Return a count or a time of one reply.

    A missing or implausible value is 0, which the official statistics leave out. Raises
    MalformedResult for anything but a number.
    """
    stored = getattr(row, name)
    lists = (
        [stored, *stored] if position and isinstance(stored, list) else [stored] if position else []
    )
    if any(each is not None and not isinstance(each, list) for each in lists):
        raise MalformedResult(
            f"{name} is a list of lists of numbers here, not {format_json(stored)}"
        )
    value = _value_at(stored, position)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedResult(f"{name} is a number, not {format_json(value)}")
    return value if 0 <= value <= _MAX_COUNT else 0


def _holds_error(row: ResultRow) -> bool:
    return isinstance(row.result, str) and (
        row.traceback is not None or row.result.startswith(INFERENCE_ERROR)
    )


def _error_trajectory(task: Task, row: ResultRow, tool_format: str) -> Trajectory:
    text = json_codec.escape_surrogates(row.result)
    step = Step(reply=Reply(text=text, stop="malformed"), fault=f"{INFERENCE_ERROR}, not a reply")
    return Trajectory(
        task=task.id, tool_format=tool_format, steps=(step,), answer=text, ending="malformed"
    )
