"""The executor's own JSON: `{"tool_calls": [{"name": "server/tool", "arguments": {...}}]}`.

Tools do not go with the request: the agent writes them into its prompts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from toolmark.core import json_codec
from toolmark.core.records import Call, Message, ParsedReply, Part, Reply, Result, Text, Tool

CODE_FENCE = "```"
BOX_TAGS = ("<|begin_of_box|>", "<|end_of_box|>")
THINK_TAGS = ("<think>", "</think>")
CALL_KEYS = ("name", "arguments")


class ParsedCalls(NamedTuple):
    """The calls of a text, and the reason why some of it could not be parsed."""

    calls: tuple[Call, ...]
    fault: str


class ExecutorJsonFormat:
    """Calls as JSON text.

    With `lenient`, parsed as leniently as by the executor of arXiv 2511.17729.

    Lenient: text that is JSON is used unchanged. Else thoughts are removed, and the JSON may be in
    the first code fence or in a box. It may be the list without the object around it. Keys other
    than name and arguments are ignored.
    """

    name = "executor"
    calls_in_text = True

    def __init__(self, *, lenient: bool = True) -> None:
        self.lenient = lenient

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages unchanged, and no tools."""
        return messages, ()

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages unchanged, and no tools."""
        return messages, ()

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Parse the calls; calls that an endpoint has parsed itself are returned unchanged.

        A fault that comes with calls is about the items of the list that are not calls.
        """
        if reply.calls:
            return ParsedReply(calls=reply.calls)
        found = parse_calls(json_codec.restore_surrogates(reply.text), lenient=self.lenient)
        return ParsedReply(calls=found.calls, fault=found.fault)

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the calls as they were parsed, then one user message with all results.

        A result has the number and name of its call, with pictures in their places. A call without
        a result is named too.
        """
        reply_message = Message(role="assistant", parts=(Text(self.render_calls(calls).text),))
        result_parts: list[Part] = []
        for number, call in enumerate(calls, 1):
            result = results[number - 1] if number <= len(results) else None
            result_parts += _result_parts(number, call, result)
        return reply_message, Message(role="user", parts=tuple(result_parts))

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the calls as JSON text; arguments that are not JSON go as a string."""
        listed = [
            {"name": json_codec.restore_surrogates(call.name), "arguments": _arguments_value(call)}
            for call in calls
        ]
        text = json.dumps({"tool_calls": listed}, ensure_ascii=False)
        return Reply(text=json_codec.escape_surrogates(text))


def strip_thoughts(text: str) -> str:
    """Remove thoughts from a text, also if the endpoint has removed their opening tag."""
    opening, closing = THINK_TAGS
    pieces: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        pieces.append(text[at:start])
        at = end + len(closing)
    pieces.append(text[at:])
    return "".join(pieces).rpartition(closing)[2].strip()


def parse_calls(text: str, *, lenient: bool = True) -> ParsedCalls:
    """Parse the calls of a text; an empty list is readable and contains no call.

    The candidates for JSON are tried in order, and the first that is JSON counts. The unchanged
    text is the first candidate, because tags and fences may be inside arguments too.
    """
    if not lenient:
        return _parse_candidate(text.strip(), lenient)
    stripped = strip_thoughts(text)
    for part in _json_candidates(text.strip(), stripped):
        found = _parse_candidate(part, lenient)
        if found.calls or not found.fault:
            return found
    return _parse_candidate(next(_fence_contents(stripped), stripped), lenient)


def _json_candidates(text: str, stripped: str) -> Iterator[str]:
    """Yield the texts that may be the JSON of a reply; `stripped` is the reply without thoughts."""
    after_thoughts = text.partition(THINK_TAGS[1])[
        2
    ].strip()  # later closing tags may be in an argument
    yield from (text, after_thoughts)
    # a tag inside a fence is in an argument; text before the tag is thoughts
    for each in (after_thoughts, text):
        yield from (part for part in _fence_contents(each) if THINK_TAGS[1] in part)
    yield stripped
    yield from _fence_contents(stripped)
    if BOX_TAGS[0] in stripped:
        box_content = _box_content(stripped)
        yield from (box_content, *_fence_contents(box_content))


def _fence_contents(text: str) -> Iterator[str]:
    """Yield the candidates in the first code fence: up to the last fence, then up to the next."""
    _, fence, remaining = text.partition(CODE_FENCE)
    if fence:
        for content in (remaining.rpartition(CODE_FENCE)[0], remaining.partition(CODE_FENCE)[0]):
            word, newline, body = content.partition("\n")
            yield body if newline and word.strip().isalnum() else content.removeprefix("json")


def _box_content(text: str) -> str:
    return text.partition(BOX_TAGS[0])[2].partition(BOX_TAGS[1])[0]


def _parse_candidate(text: str, lenient: bool) -> ParsedCalls:
    try:
        value = json_codec.parse_json(text.strip())
    except json_codec.InvalidJson as error:
        return ParsedCalls(
            (), f"the reply is not JSON: {json_codec.escape_surrogates(str(error))[:200]}"
        )
    if isinstance(value, dict):
        value = value.get("tool_calls")
    elif not lenient:
        value = None
    if not isinstance(value, list):
        return ParsedCalls((), 'the reply has no list "tool_calls"')
    calls = tuple(_make_call(item) for item in value if _is_valid_call(item, lenient))
    n_invalid = len(value) - len(calls)
    fault = f"{n_invalid} of {len(value)} items have no name or no arguments" if n_invalid else ""
    return ParsedCalls(calls, fault)


def _is_valid_call(item: Any, lenient: bool) -> bool:
    if not isinstance(item, dict) or not all(key in item for key in CALL_KEYS):
        return False
    if not isinstance(item["name"], str):
        return False
    return lenient or (len(item) == len(CALL_KEYS) and isinstance(item["arguments"], dict))


def _make_call(item: dict[str, Any]) -> Call:
    """Make a Call; null means no arguments, a string that contains JSON is used as that JSON."""
    arguments = item["arguments"]
    if arguments is None:
        text = "{}"
    elif isinstance(arguments, str):
        text = arguments
    else:
        text = json.dumps(arguments, ensure_ascii=False)
    return Call(
        name=json_codec.escape_surrogates(item["name"].strip()),
        arguments=json_codec.escape_surrogates(text),
    )


def _arguments_value(call: Call) -> Any:
    text = json_codec.restore_surrogates(call.arguments)
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson:
        return text


def _result_parts(number: int, call: Call, result: Result | None) -> list[Part]:
    head = f"[{number}] {call.name}"
    if result is None:
        return [Text(f"{head}: not executed, there were too many calls\n\n")]
    parts: list[Part] = [Text(f"{head} failed:\n" if result.is_error else f"{head}:\n")]
    parts += result.parts
    if not result.parts:
        structured = result.structured
        parts.append(
            Text(_dump_plain(structured) if structured is not None else "(nothing returned)")
        )
    parts.append(Text("\n\n"))
    return parts


def _dump_plain(value: Any) -> str:
    return json.dumps(json_codec.to_plain_json(value), ensure_ascii=False)


EXECUTOR_JSON_FORMAT = ExecutorJsonFormat()
