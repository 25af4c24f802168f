"""The executor's own JSON: `{"tool_calls": [{"name": "server/tool", "arguments": {...}}]}`.

Tools do not go with the request: the agent writes them into its prompts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from toolmark import codec
from toolmark.types import Call, Message, Part, Reading, Reply, Result, Text, Tool

FENCE = "```"
BOX = ("<|begin_of_box|>", "<|end_of_box|>")
THINK = ("<think>", "</think>")
KEYS = ("name", "arguments")


class Found(NamedTuple):
    """The calls of a text, and what of it could not be read."""

    calls: tuple[Call, ...]
    fault: str


class Staged:
    """Calls as JSON text. What is not strict is read as leniently as arXiv 2511.17729's executor.

    Lenient: what is JSON as it stands is taken; else thoughts are cut off, then JSON may stand in
    the first code fence or in a box. It may be the bare list; keys beside name and arguments are
    passed over.
    """

    name = "executor"

    def __init__(self, *, lenient: bool = True) -> None:
        self.lenient = lenient

    def open(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Send the messages as they are, and no tools."""
        return messages, ()

    def more(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Send the messages as they are, and no tools."""
        return messages, ()

    def read(self, reply: Reply, tools: tuple[Tool, ...], /) -> Reading:
        """Read the calls; those an endpoint has parsed itself are taken as they are.

        A fault beside calls is about the items of the list that are none.
        """
        if reply.calls:
            return Reading(calls=reply.calls)
        found = read(codec.restore(reply.text), lenient=self.lenient)
        return Reading(calls=found.calls, fault=found.fault)

    def answer(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the calls as they were read, then one user message with all results.

        A result stands under the number and name of its call, pictures in their places; a call
        without a result is named too.
        """
        said = Message(role="assistant", parts=(Text(self.write(calls).text),))
        heard: list[Part] = []
        for number, call in enumerate(calls, 1):
            result = results[number - 1] if number <= len(results) else None
            heard += _shown(number, call, result)
        return said, Message(role="user", parts=tuple(heard))

    def write(self, calls: Sequence[Call], /) -> Reply:
        """Return the calls as JSON text; arguments that are not JSON go as a string."""
        listed = [{"name": codec.restore(call.name), "arguments": _value(call)} for call in calls]
        text = json.dumps({"tool_calls": listed}, ensure_ascii=False)
        return Reply(text=codec.escape(text))


def thoughtless(text: str) -> str:
    """Cut off thoughts, also those whose opening tag the endpoint has kept to itself."""
    opening, closing = THINK
    kept: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(closing)
    kept.append(text[at:])
    return "".join(kept).rpartition(closing)[2].strip()


def read(text: str, *, lenient: bool = True) -> Found:
    """Read the calls of a text. An empty list is readable and holds no call.

    The first way of cutting that leaves JSON counts, the text as it is before all others: tags
    and fences may stand in arguments too.
    """
    if not lenient:
        return _found(text.strip(), lenient)
    bare = thoughtless(text)
    for part in _cuts(text.strip(), bare):
        found = _found(part, lenient)
        if found.calls or not found.fault:
            return found
    return _found(next(_fenced(bare), bare), lenient)


def _cuts(text: str, bare: str) -> Iterator[str]:
    """Go through what the JSON of a reply may be; `bare` is the reply without thoughts."""
    after = text.partition(THINK[1])[2].strip()  # a closing tag further on may be an argument's
    yield from (text, after)
    for each in (after, text):  # a tag inside a fence is an argument's; before the tag are thoughts
        yield from (part for part in _fenced(each) if THINK[1] in part)
    yield bare
    yield from _fenced(bare)
    if BOX[0] in bare:
        boxed = _boxed(bare)
        yield from (boxed, *_fenced(boxed))


def _fenced(text: str) -> Iterator[str]:
    """Go through what may be in the first code fence: up to the last fence, up to the next one."""
    _, fence, rest = text.partition(FENCE)
    if fence:
        for inside in (rest.rpartition(FENCE)[0], rest.partition(FENCE)[0]):
            word, newline, body = inside.partition("\n")
            yield body if newline and word.strip().isalnum() else inside.removeprefix("json")


def _boxed(text: str) -> str:
    return text.partition(BOX[0])[2].partition(BOX[1])[0]


def _found(text: str, lenient: bool) -> Found:
    try:
        value = codec.loads(text.strip())
    except codec.BadJson as error:
        return Found((), f"the reply is not JSON: {codec.escape(str(error))[:200]}")
    if isinstance(value, dict):
        value = value.get("tool_calls")
    elif not lenient:
        value = None
    if not isinstance(value, list):
        return Found((), 'the reply has no list "tool_calls"')
    calls = tuple(_call(item) for item in value if _is_call(item, lenient))
    odd = len(value) - len(calls)
    fault = f"{odd} of {len(value)} items have no name or no arguments" if odd else ""
    return Found(calls, fault)


def _is_call(item: Any, lenient: bool) -> bool:
    if not isinstance(item, dict) or not all(key in item for key in KEYS):
        return False
    if not isinstance(item["name"], str):
        return False
    return lenient or (len(item) == len(KEYS) and isinstance(item["arguments"], dict))


def _call(item: dict[str, Any]) -> Call:
    """Make a Call; null is no argument, a string that holds JSON is that JSON."""
    given = item["arguments"]
    if given is None:
        text = "{}"
    elif isinstance(given, str):
        text = given
    else:
        text = json.dumps(given, ensure_ascii=False)
    return Call(name=codec.escape(item["name"].strip()), arguments=codec.escape(text))


def _value(call: Call) -> Any:
    text = codec.restore(call.arguments)
    try:
        return codec.loads(text)
    except codec.BadJson:
        return text


def _shown(number: int, call: Call, result: Result | None) -> list[Part]:
    head = f"[{number}] {call.name}"
    if result is None:
        return [Text(f"{head}: not executed, there were too many calls\n\n")]
    parts: list[Part] = [Text(f"{head} failed:\n" if result.is_error else f"{head}:\n")]
    parts += result.parts
    if not result.parts:
        left = result.structured
        parts.append(Text(_plain(left) if left is not None else "(nothing returned)"))
    parts.append(Text("\n\n"))
    return parts


def _plain(value: Any) -> str:
    return json.dumps(codec.plain(value), ensure_ascii=False)


STAGED = Staged()
