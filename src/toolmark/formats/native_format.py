"""Native tool calling: tools are sent with the request, and the endpoint parses the calls."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolmark.core.records import Call, Message, ParsedReply, Part, Reply, Result, Text, Tool

UNREAD_CALLS = "calls of the endpoint's own, where the tool format asks for calls in the text"
"""The fault of a reply with native calls in a tool format that reads its text alone."""


class NativeFormat:
    """Passes messages, tools and calls on unchanged."""

    name = "native"
    calls_in_text = False

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return messages and tools unchanged."""
        return messages, tools

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return messages and tools unchanged."""
        return messages, tools

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Return the reply's own calls."""
        return ParsedReply(calls=reply.calls)

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the assistant's message, then one tool message per result, paired by call id.

        Missing and repeated ids are replaced by fresh ones, so every result has one call.
        """
        parts: tuple[Part, ...] = (Text(reply.text),) if reply.text else ()
        calls_with_ids = with_unique_ids(calls)
        reply_message = Message(role="assistant", parts=parts, calls=calls_with_ids)
        result_messages = [
            Message(role="tool", parts=result.parts, call_id=call.id, is_error=result.is_error)
            for call, result in zip(calls_with_ids, results, strict=False)
        ]
        return reply_message, *result_messages

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return a reply that contains the calls."""
        return Reply(calls=tuple(calls))


def with_unique_ids(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Return the calls with fresh ids in the place of missing and repeated ones."""
    if not calls:
        return calls
    ids = {call.id for call in calls}
    if len(ids) == len(calls) and "" not in ids:
        return calls
    taken = ids - {""}
    used: set[str] = set()
    renamed: list[Call] = []
    for index, call in enumerate(calls):
        if not call.id or call.id in used:
            new_id = f"call_{index}"
            while new_id in taken:
                new_id += "_"
            taken.add(new_id)
            call = msgspec.structs.replace(call, id=new_id)
        used.add(call.id)
        renamed.append(call)
    return tuple(renamed)


NATIVE_FORMAT = NativeFormat()
